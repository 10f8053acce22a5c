"""`fmim paper`: every study of the paper one after the other, and one report of them all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.arguments import DryRun
from fmim.commands.options import Options, takes_options
from fmim.commands.several import Member, Several
from fmim.printing import TextConsole

SELECTION = "hyperparameter_selection"
PAPER_STUDIES = {
    SELECTION: "Suppl. Table 1(b)",
    "automargin_vs_grid": "Tables 1(b) and 1(c), Suppl. Table 3",
    "lambda_sweep": "Table 1(a)",
    "margin_sensitivity": "Fig. 2(a)",
    "training_dynamics": "Figs. 1(b, c), 2(b, c) and 3",
    "baselines": f"Fig. 4, Suppl. Tables 4 and 5; configurations from {SELECTION}",
}
"""Studies of the catalogue and what of the paper each shows.

The selection comes first, and what takes its winners last, so that whatever they share is trained once.
"""
TAKES_WINNERS = "baselines"


DECIDE = ("until_decided", "max_seeds")  # not all of its studies compare arms


@takes_options("out", "cohort", "search_splits", *DECIDE, "selected", "studies", "fresh", study=SELECTION)
def paper(
    each: Options,
    out: Annotated[Path, typer.Option(help="Folder of the paper, with a folder for each study.")] = Path("runs/paper"),
    dry_run: DryRun = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move the studies' folders aside and start over.")] = False,
) -> None:
    """Run every study of the paper, and write one report of them.

    The report shows the published values beside the new ones.

    Each study has a folder in OUT, which every command takes. Trials that studies beside OUT have trained are reused.
    Ctrl-C is safe: the same command continues.
    """
    whole = whole_paper(out, each.but(fresh=fresh), TextConsole())
    whole.check()
    whole.start(dry_run)


def whole_paper(out: Path, each: Options, console: TextConsole) -> Several:
    """Return the studies of the paper, one of them with the winners of the selection."""

    def report() -> Path:
        from fmim_reports.whole_paper.build import build_paper

        return build_paper(out)

    winners = {TAKES_WINNERS: SELECTION}
    members = [Member(name, shows, each.but(study=name), winners.get(name)) for name, shows in PAPER_STUDIES.items()]
    return Several("fmim paper", out, members, report, console)
