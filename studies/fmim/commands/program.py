"""The program that the commands are of: what one raises is told in words, and becomes the exit code."""

from __future__ import annotations

from typing import Any

import typer
from pydantic import ValidationError
from rich.console import Console
from typer.core import TyperGroup

from fmim.exit_codes import BAD_INPUT, INTERRUPTED
from fmim_core.config import in_words
from fmim_core.records import in_terminal


class Program(TyperGroup):
    """The commands; what one raises is told in words, and becomes the exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            tell("interrupted: the same command goes on")
            raise typer.Exit(INTERRUPTED) from error
        except ValidationError as error:
            tell(in_words(error))
            raise typer.Exit(BAD_INPUT) from error
        except (ValueError, OSError) as error:
            tell(str(error))
            raise typer.Exit(BAD_INPUT) from error


def tell(problem: str, word: str = "[red]error:[/]") -> None:
    """Say on standard error what is wrong."""
    Console(stderr=True).print(f"{word} {in_terminal(problem)}", highlight=False, soft_wrap=True)


def warn(problem: str) -> None:
    """Say on standard error what to know of, though nothing ends by it."""
    tell(problem, "[yellow]warning:[/]")
