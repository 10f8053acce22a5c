"""The command line: `fmim COMMAND …`, and `python studies/run.py STUDY …` for `fmim run STUDY …`."""

from __future__ import annotations

import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup

from fmim import catalogue
from fmim.commands.data import app as data_app
from fmim.commands.paper import paper
from fmim.commands.results import compare, embed, match, mirror, overview, ui
from fmim.commands.robust import robust
from fmim.commands.studies import list_studies, new, plan, report, run, status
from fmim.own.study_file import is_study_file
from fmim.printing import TextConsole, warn
from fmim.process import ends_as_by_ctrl_c, ends_without_cluster, usable_home
from fmim_core.config import in_words
from fmim_core.records import BAD_INPUT, INTERRUPTED, words_of
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
            console.error(in_words(error) if isinstance(error, ValidationError) else words_of(error))
            raise typer.Exit(BAD_INPUT) from error
        except (KeyboardInterrupt, Exception) as error:
            if not _from_interrupt(error):
                raise
            console.error("interrupted: the same command resumes")
            raise typer.Exit(INTERRUPTED) from error


def _from_interrupt(error: BaseException | None) -> bool:
    """Look whether an interruption led to it: one within a lock of Python's own raises "release unlocked lock"."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


app = typer.Typer(
    cls=Program,
    help="Hyperparameter and ablation studies for deep metric learning.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # its boxes cut long words, such as examples
    pretty_exceptions_enable=False,
)
app.command("list")(list_studies)
for command in (new, plan, run, robust, paper, status, report, compare, overview, embed, match, mirror, ui):
    app.command()(command)
app.add_typer(data_app, name="data")


def _print_version(asked: bool) -> None:
    if asked:
        print(version("fmim-studies"))
        raise typer.Exit


@app.callback()
def program(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 trials or the disk failed, 2 bad usage or input, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal has no letters for is no error
            stream.reconfigure(errors="replace")
    with ends_without_cluster(), ends_as_by_ctrl_c(), usable_home(warn):
        app(prog_name="fmim")
