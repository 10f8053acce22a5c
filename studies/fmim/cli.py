"""The command line: `fmim COMMAND …`, and `python studies/run.py STUDY …` for `fmim run STUDY …`."""

from __future__ import annotations

import sys
from importlib.metadata import version
from io import TextIOWrapper
from typing import Annotated

import typer

from fmim.commands.across import compare, overview
from fmim.commands.data import app as data_app
from fmim.commands.matching import embed, match
from fmim.commands.paper import paper
from fmim.commands.program import Program, warn
from fmim.commands.studies import list_studies, new, plan, report, run, status
from fmim.commands.tracking import mirror, ui
from fmim.runner.backends.home import usable_home
from fmim.runner.ending.signals import ends_as_by_ctrl_c

app = typer.Typer(
    cls=Program,
    help="Hyperparameter and ablation studies for deep metric learning.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("list")(list_studies)
for command in (new, plan, run, paper, status, report, compare, overview, embed, match, mirror, ui):
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
    with ends_as_by_ctrl_c(), usable_home(warn):
        app(prog_name="fmim")
