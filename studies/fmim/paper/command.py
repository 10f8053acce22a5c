"""`fmim paper`: every study of the paper, and one report of them all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.arguments import DryRun, takes_options
from fmim.commands.options import Options
from fmim.paper.studies import SELECTION
from fmim.printing.console import TextConsole


@takes_options("out", "cohort", "search_splits", "selected", "studies", "fresh", study=SELECTION.name)
def paper(
    each: Options,
    out: Annotated[Path, typer.Option(help="The folder of the paper, with a folder for each study.")] = Path(
        "runs/paper"
    ),
    dry_run: DryRun = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move the studies' folders aside and start over.")] = False,
) -> None:
    """Run every study of the paper, or go on with them, and write one report beside the published values.

    Each study has a folder in OUT, in which it can be looked at and gone on with as any other. What studies beside OUT
    have trained is reused. Ctrl-C is safe: the same command goes on.
    """
    from fmim.paper.run import PaperOptions, run_paper

    options = PaperOptions(out, each.model_copy(update={"fresh": fresh}))
    options.check()
    if dry_run:
        from fmim.paper.show import show_paper

        show_paper(options, TextConsole())
        return
    raise typer.Exit(run_paper(options, TextConsole()))
