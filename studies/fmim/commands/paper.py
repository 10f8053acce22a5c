"""`fmim paper`: every study of the paper one after the other, and one report of them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.arguments import DryRun
from fmim.commands.options import Options, takes_options
from fmim.commands.several import Member, Several
from fmim.printing import TextConsole


@dataclass(frozen=True)
class PaperStudy(Member):
    """A study of the catalogue as the paper has it; what it shows are tables and figures there.

    selected_from: the study before it whose winners it takes for its arms; blank where it has its own.
    """

    selected_from: str = ""


SELECTION = PaperStudy("hyperparameter_selection", "Suppl. Table 1(b)")
PAPER_STUDIES = (
    SELECTION,
    PaperStudy("automargin_vs_grid", "Tables 1(b) and 1(c), Suppl. Table 3"),
    PaperStudy("lambda_sweep", "Table 1(a)"),
    PaperStudy("margin_sensitivity", "Fig. 2(a)"),
    PaperStudy("training_dynamics", "Figs. 1(b, c), 2(b, c) and 3"),
    PaperStudy(
        "baselines",
        f"Fig. 4, Suppl. Tables 4 and 5; configurations from {SELECTION.name}",
        selected_from=SELECTION.name,
    ),
)
"""The selection comes first, and what takes its winners last, so that whatever they share is trained once."""


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
    whole = Paper(out, each.but(fresh=fresh), TextConsole())
    whole.check()
    whole.start(dry_run)


@dataclass(frozen=True)
class Paper(Several[PaperStudy]):
    """The studies of the paper."""

    command = "fmim paper"
    members: Sequence[PaperStudy] = PAPER_STUDIES

    def changes(self, member: PaperStudy) -> Options:
        """Return the options of one study; with the winners of another one as soon as that has any."""
        selected = self.out / member.selected_from
        takes = bool(member.selected_from) and (selected / "selection.json").is_file()
        return self.each.but(study=member.name, selected=selected if takes else None)

    def report(self) -> Path:
        """Write the report of the whole paper."""
        from fmim_reports.whole_paper.build import build_paper

        return build_paper(self.out)
