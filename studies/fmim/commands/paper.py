"""`fmim paper`: every study of the paper one after the other, and one report of them all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fmim.commands.arguments import DryRun
from fmim.commands.options import Options, takes_options
from fmim.printing import TextConsole, TextTable
from fmim_core.records import DONE, INTERRUPTED, SOME_FAILED


@dataclass(frozen=True)
class PaperStudy:
    """A study of the catalogue as the paper has it.

    shows: the tables and figures that it is for.
    selected_from: the study before it whose winners it takes for its arms; blank where it has its own.
    """

    name: str
    shows: str
    selected_from: str = ""


SELECTION = PaperStudy("hyperparameter_selection", "Suppl. Table 1(b)")
PAPER_STUDIES = (
    SELECTION,
    PaperStudy("automargin_vs_grid", "Tables 1(b) and 1(c), Suppl. Table 3"),
    PaperStudy("lambda_sweep", "Table 1(a)"),
    PaperStudy("margin_sensitivity", "Fig. 2(a)"),
    PaperStudy("training_dynamics", "Figs. 1(b, c), 2(b, c) and 3"),
    PaperStudy("baselines", "Fig. 4, Suppl. Tables 4 and 5", selected_from=SELECTION.name),
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
    if dry_run:
        whole.show()
    else:
        raise typer.Exit(whole.run())


@dataclass(frozen=True)
class Paper:
    """The studies of the paper in a folder, where each has a folder of its own beside the report of all.

    each: the options of every study, but for its name and folder.
    """

    out: Path
    each: Options
    console: TextConsole

    def options(self, study: PaperStudy) -> Options:
        """Return the options of one study; with the winners of another one as soon as that has any."""
        selected = self.out / study.selected_from
        takes = bool(study.selected_from) and (selected / "selection.json").is_file()
        return self.each.but(
            study=study.name,
            out=self.out / study.name,
            studies=self.out.absolute().parent,
            selected=selected if takes else None,
        )

    def check(self) -> None:
        """Look up every name and file of every study.

        Raises:
            ValueError: one is not there; or the folder is a study's, or a folder in it another study's.
        """
        if (self.out / "study.json").exists():
            raise ValueError(f"--out {self.out} is a study's folder: give another one for the studies of the paper")
        for study in PAPER_STUDIES:
            self.options(study).check()

    def show(self) -> None:
        """Print the studies in order, with their trials and how many of these are reused."""
        from fmim.runner.reuse.equal_trials import reused_before
        from fmim.runner.run import check_plan

        numbers, rows, planned, reused = ("trials", "reused"), [], 0, list[int]()
        for study in PAPER_STUDIES:
            options, most = self.options(study), "not known"
            setup, checked = options.setup, check_plan(options.plan(), options.setup)
            found = reused_before(checked.plan, checked.source, setup.banks, setup.studies, setup.reuse)
            planned += checked.plan.trials
            if found.others_known:
                reused.append(found.trials)
                most = f"≤ {found.trials}"
            takes = f"; configurations from {study.selected_from}" if study.selected_from else ""
            rows.append((study.name, study.shows + takes, str(checked.plan.trials), most))
        rows.append(("all", "", str(planned), f"≤ {sum(reused)}" if reused else "not known"))
        self.console.show(TextTable(("study", "for", *numbers), rows, frozenset(numbers)))
        self.console.say(
            "reused: equal to a trial that has run, or to another one of its study; the most there can be, since "
            "winners decide. What several of these studies share is trained by the first of them and reused by the "
            "others"
        )

    def run(self) -> int:
        """Run, or go on with, every study, all on one cluster; return the exit code: the first that is not 0.

        Where a study cannot be run any more (its arms take winners that another study has not got, for example), the
        others are, and it is told. An interruption ends the whole.

        Raises:
            ValueError: bad input; nothing has started.
        """
        from fmim.runner.backends.ray_cluster import cluster_for
        from fmim.runner.run import run_plan
        from fmim.terminal.run_display import RunDisplay
        from fmim_reports.whole_paper.build import build_paper

        for study in PAPER_STUDIES:
            self.options(study).plan()  # raises where one cannot be made
        codes = []
        with cluster_for(self.each.backend, self.each.address) as cluster, RunDisplay(self.console) as display:
            for number, study in enumerate(PAPER_STUDIES, start=1):
                lead = f"\n{number} of {len(PAPER_STUDIES)}: {study.name}"
                self.console.say(f"({study.shows})", lead=lead, style="bold")
                code = SOME_FAILED
                try:
                    options = self.options(study)
                    code = run_plan(options.plan(), options.setup, display, cluster)
                except ValueError as error:
                    if study is SELECTION:  # nothing has started
                        raise
                    self.console.error(f"{study.name}: {error}")
                if code == INTERRUPTED:
                    self.console.say("interrupted: the same fmim paper goes on with all studies")
                    return INTERRUPTED
                codes.append(code)
        self.console.say(f"\nreport of the whole paper: {build_paper(self.out)}")
        return next((code for code in codes if code != DONE), DONE)
