"""Several studies run one after the other on one cluster, each in a folder of its own beside one report of them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from fmim.commands.options import Options
from fmim.printing import TextConsole, TextTable
from fmim_core.records import DONE, INTERRUPTED, SOME_FAILED


@dataclass(frozen=True)
class Member:
    """One of several studies: the name of its folder, what it shows, and its options but for the folder.

    winners_of: the name of one before it, whose winners it takes.
    """

    name: str
    shows: str
    given: Options
    winners_of: str | None = None


@dataclass(frozen=True)
class Several:
    """Several studies in the folder `out`, each of which can be looked at and gone on with as any other.

    What studies beside `out`, and those before it here, have trained is reused.

    Args:
        members: the studies, in the order in which they run.
        report: writes the report of all, as far as they go, and returns its page.
    """

    command: str
    out: Path
    members: Sequence[Member]
    report: Callable[[], Path]
    console: TextConsole

    def options(self, member: Member, its_turn: bool = False) -> Options:
        """Return the options of one, with the winners that it takes: before its turn, only if they are all there.

        Raises:
            ValueError: it is its turn, and a winner is not there.
        """
        alone = member.given.but(out=self.out / member.name, studies=self.out.absolute().parent)
        if member.winners_of is None:
            return alone
        with_winners = alone.but(selected=self.out / member.winners_of)
        try:
            with_winners.declared()
        except ValueError:
            if its_turn:
                raise
            return alone
        return with_winners

    def check(self) -> None:
        """Look up every name and file of every study.

        Raises:
            ValueError: one is not there; or the folder is a study's, or a folder in it another study's.
        """
        if (self.out / "study.json").exists():
            raise ValueError(f"--out {self.out} is a study's folder: give another one for {self.command}")
        for member in self.members:
            self.options(member).check()

    def start(self, dry_run: bool) -> None:
        """Show or run them, as a command does."""
        if dry_run:
            self.show()
        else:
            raise typer.Exit(self.run())

    def show(self) -> None:
        """Print the studies in order, with their trials and how many of these are reused."""
        from fmim.runner.reuse.equal_trials import reused_before
        from fmim.runner.run import check_plan

        numbers, rows, planned, reused = ("trials", "reused"), [], 0, list[int]()
        for member in self.members:
            options, most = self.options(member), "not known"
            setup, checked = options.setup, check_plan(options.plan(), options.setup)
            found = reused_before(checked.plan, checked.source, setup.banks, setup.studies, setup.folder, setup.reuse)
            planned += checked.plan.trials
            if found.others_known:
                reused.append(found.trials)
                most = f"≤ {found.trials}"
            rows.append((member.name, member.shows, str(checked.plan.trials), most))
        rows.append(("all", "", str(planned), f"≤ {sum(reused)}" if reused else "not known"))
        self.console.show(TextTable(("study", "for", *numbers), rows, frozenset(numbers)))
        self.console.say(
            "A trial is reused if an equal one has run, here or in an earlier study. These are the most there can be, "
            "since they depend on the selected configurations. The first study that has a trial runs it for all."
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

        for member in self.members:
            self.options(member).plan()  # raises where one cannot be made
        first, codes = self.options(self.members[0]), list[int]()
        with cluster_for(first.backend, first.address) as cluster, RunDisplay(self.console) as display:
            for number, member in enumerate(self.members, start=1):
                lead = f"\n{number} of {len(self.members)}: {member.name}"
                self.console.say(f"({member.shows})", lead=lead, style="bold")
                code = SOME_FAILED
                try:
                    options = self.options(member, its_turn=True)
                    code = run_plan(options.plan(), options.setup, display, cluster)
                except ValueError as error:
                    if not codes:  # nothing has started
                        raise
                    self.console.error(f"{member.name}: {error}")
                if code == INTERRUPTED:
                    self.console.say(f"interrupted: the same {self.command} resumes all studies")
                    return INTERRUPTED
                codes.append(code)
        self.console.say(f"\nreport of all: {self.report()}")
        return next((code for code in codes if code != DONE), DONE)
