"""The program that the commands are of: what one raises is told in words, and becomes the exit code."""

from __future__ import annotations

from typing import Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from fmim import catalogue
from fmim.own.study_file import is_study_file
from fmim.printing.console import TextConsole
from fmim.runner.ending.exit_codes import BAD_INPUT, INTERRUPTED
from fmim_core.config import in_words
from fmim_core.suggestions import did_you_mean


class Program(TyperGroup):
    """The commands; what one raises is told in words, and becomes the exit code.

    What is no command is the study of `fmim run STUDY`.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names."""
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            studies = catalogue.names()
            if name not in studies and not is_study_file(name):
                known = f"the studies are {', '.join(studies)}, or a file of your own, such as my_study.py"
                near = did_you_mean(name, (*self.commands, *studies))
                raise ValueError(f"no command or study {name!r}; {known}{near}")
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        console = TextConsole(stderr=True)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # who reads our output has seen enough: no error of ours
            raise
        except (ValueError, OSError) as error:
            console.error(in_words(error) if isinstance(error, ValidationError) else error)
            raise typer.Exit(BAD_INPUT) from error
        except (KeyboardInterrupt, Exception) as error:
            if not _from_interrupt(error):
                raise
            console.error("interrupted: the same command goes on")
            raise typer.Exit(INTERRUPTED) from error


def _from_interrupt(error: BaseException | None) -> bool:
    """Look whether an interruption led to it: one within a lock of Python's own raises "release unlocked lock"."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def warn(problem: str) -> None:
    """Say on standard error what to know of, though nothing ends by it."""
    TextConsole(stderr=True).say(problem, lead="warning:", style="yellow")
