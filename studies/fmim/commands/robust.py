"""`fmim robust STUDY --vary FIELD=A,B,C`: the whole study at each setting of what it held fixed, and one report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, unquote

import typer
from pydantic import ValidationError

from fmim.commands.arguments import DryRun
from fmim.commands.options import STUDIES, Options, takes_options
from fmim.commands.several import Member, Several
from fmim.printing import TextConsole
from fmim_core.config import in_words
from fmim_spaces.domain import as_meant

OF_RUN = ("data", "cohort", "epochs", "seed")
"""What may be varied and is an option of a run; every other field is one of `--set`."""
AS_IT_IS = Member("as_it_is", "the study as it is")


@takes_options("out", "studies", "fresh")
def robust(
    each: Options,
    *,
    vary: Annotated[
        list[str], typer.Option("--vary", metavar="FIELD=A,B,C", help="A field of --set, data, cohort, epochs or seed.")
    ],
    out: Annotated[Path | None, typer.Option(help="The folder of all; default runs/STUDY_robust.")] = None,
    dry_run: DryRun = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move the settings' folders aside and start over.")] = False,
) -> None:
    """Run a whole study as it is and at every value of each --vary, and write one report: does its answer hold?

    Each setting differs from the study as it is in one field. It has a folder in OUT, in which it can be looked at and
    gone on with as any other. What studies beside OUT have trained is reused. Ctrl-C is safe: the same command goes on.
    """
    folder = out or STUDIES / f"{each.setup.folder.name}_robust"
    Robust(folder, each.but(fresh=fresh), TextConsole(), [AS_IT_IS]).varied(vary).start(dry_run)


@dataclass(frozen=True)
class Robust(Several[Member]):
    """A study at several settings: as it is, and with another value of one field each, called FIELD=VALUE."""

    command = "fmim robust"

    def varied(self, vary: Sequence[str]) -> Robust:
        """Return the study as it is and at each of the values `FIELD=A,B,C` that it has not itself, all checked.

        Raises:
            ValueError: a field or a value that is refused, a study without comparisons, or a folder of another one.
        """
        self.check()
        study, _ = self.each.declared()
        if not study.comparison_pairs:
            raise ValueError(
                f"study {study.name!r} compares no arms, so there is no answer to look at: give it a baseline"
            )
        return replace(self, members=[AS_IT_IS, *dict.fromkeys(one for text in vary for one in self._others(text))])

    def _others(self, text: str) -> Iterator[Member]:
        field, _, listed = text.partition("=")
        values = [value.strip() for value in listed.split(",")]
        if not field or not all(values) or len(set(map(as_meant, values))) < max(2, len(values)):
            raise ValueError(f"--vary {text}: write a field and two or more different values, e.g. epochs=20,60")
        for value in values:
            member = Member(quote(f"{field}={value}", safe="="), "the rest as it is")
            try:
                self.options(member).check()
                if self._trained(member) != self._trained(AS_IT_IS):
                    yield member
            except ValueError as error:
                why = in_words(error) if isinstance(error, ValidationError) else error
                raise ValueError(f"--vary {field}={value}: {why}") from error

    def _trained(self, member: Member) -> tuple[object, ...]:
        """Return what decides the results of a setting, equal for equal ones."""
        options = self.options(member)
        plan = options.plan()
        preset = plan.preset.model_copy(update={"settings": (), "changed": ()})
        return options.data, plan.seed, preset, plan.train_configs()

    def changes(self, member: Member) -> Options:
        """Return the options of one setting."""
        field, given, value = unquote(member.name).partition("=")
        changes = [change for change in self.each.changes if change.partition("=")[0] != field]
        if field in OF_RUN:
            return self.each.but(changes=changes, **{field: as_meant(value)})
        return self.each.but(changes=[*changes, f"{field}={value}"] if given else changes)

    def report(self) -> Path:
        """Write the report of all settings."""
        from fmim_reports.robust.build import build_robust

        return build_robust(self.out, [one.name for one in self.members])
