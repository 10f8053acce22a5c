"""Runs the studies of the paper one after the other, and writes the report of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fmim.commands.options import Options
from fmim.paper.studies import PAPER_STUDIES, PaperStudy
from fmim.printing.console import TextConsole
from fmim.runner.backends.ray_cluster import RayCluster, cluster_for
from fmim.runner.ending.exit_codes import DONE, INTERRUPTED, SOME_FAILED


@dataclass(frozen=True)
class PaperOptions:
    """What the command line says of the whole paper.

    out: the folder in which each study has a folder of its own, beside the report of all.
    each: the options of every study, but for its name and folder.
    """

    out: Path
    each: Options

    def of(self, study: PaperStudy) -> Options:
        """The options of one study; with the winners of another one as soon as that has any."""
        selected = self.out / study.selected_from
        takes = bool(study.selected_from) and (selected / "selection.json").is_file()
        return self.each.model_copy(
            update={
                "study": study.name,
                "out": self.out / study.name,
                "studies": self.out.absolute().parent,
                "selected": selected if takes else None,
            }
        )

    def check(self) -> None:
        """Look up every name and file of every study.

        Raises:
            ValueError: one is not there; or the folder is a study's, or a folder in it another study's.
        """
        if (self.out / "study.json").exists():
            raise ValueError(f"--out {self.out} is a study's folder: give another one for the studies of the paper")
        for study in PAPER_STUDIES:
            self.of(study).check()


def run_paper(options: PaperOptions, console: TextConsole) -> int:
    """Run, or go on with, every study, all on one cluster; returns the exit code: the first that is not 0, of an
    interruption at once.

    Where a study cannot be run any more (its arms take winners that another study has not got, for example), the
    others are, and it is told.

    Raises:
        ValueError: bad input; nothing has started.
    """
    from fmim_reports.whole_paper.build import build_paper

    for study in PAPER_STUDIES:
        options.of(study).plan()  # raises where one cannot be made
    with cluster_for(options.each.backend, options.each.address) as cluster:
        codes = _run_each(options, cluster, console)
    if INTERRUPTED in codes:
        console.say("interrupted: the same fmim paper goes on with all studies")
        return INTERRUPTED
    page = build_paper(options.out)
    console.say(f"\nreport of the whole paper: {page}")
    return next((code for code in codes if code != DONE), DONE)


def _run_each(options: PaperOptions, cluster: RayCluster | None, console: TextConsole) -> list[int]:
    """The exit code of each study, up to one that is interrupted."""
    from fmim.runner.run import run_started

    codes: list[int] = []
    for number, study in enumerate(PAPER_STUDIES, start=1):
        console.say(f"({study.shows})", lead=f"\n{number} of {len(PAPER_STUDIES)}: {study.name}", style="bold")
        try:
            of_it = options.of(study)
            codes.append(run_started(of_it.plan(), of_it.setup, cluster, console))
        except ValueError as error:
            if not codes:  # of the first one: nothing has started
                raise
            console.say(f"{study.name}: {error}", lead="error:", style="red")
            codes.append(SOME_FAILED)
        if codes[-1] == INTERRUPTED:
            break
    return codes
