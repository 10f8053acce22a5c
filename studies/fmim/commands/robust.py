"""`fmim robust STUDY --vary FIELD=A,B,C`: the whole study at each setting of what it held fixed, and one report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

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


@takes_options("out", "studies", "fresh")
def robust(
    each: Options,
    *,
    vary: Annotated[
        list[str], typer.Option("--vary", metavar="FIELD=A,B,C", help="A field of --set, data, cohort, epochs or seed.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="The folder of all settings, with one for each; default runs/STUDY_robust.")
    ] = None,
    dry_run: DryRun = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move the settings' folders aside and start over.")] = False,
) -> None:
    """Run a whole study as it is and at every value of each --vary, and write one report: does its answer hold?

    Each setting differs from the study as it is in one field. It has a folder in OUT, in which it can be looked at and
    gone on with as any other study. What studies beside OUT have trained is reused. Ctrl-C is safe: the same command
    goes on.
    """
    fields, folder = read_vary(vary), out or STUDIES / f"{each.setup.folder.name}_robust"
    whole = Robust.of(folder, each.but(fresh=fresh), TextConsole(), fields)
    if dry_run:
        whole.show()
    else:
        raise typer.Exit(whole.run())


def read_vary(given: Sequence[str]) -> dict[str, list[str]]:
    """Read `FIELD=A,B,C` as a field's values, as they are written.

    Raises:
        ValueError: one is written otherwise, has one value or the same twice, or a field is given twice.
    """
    fields: dict[str, list[str]] = {}
    for text in given:
        field, _, listed = text.partition("=")
        values = [value.strip() for value in listed.split(",")]
        if not field or not all(values) or len(values) < 2:
            raise ValueError(f"--vary {text}: write a field and two or more values, FIELD=A,B,C, e.g. epochs=20,60")
        if field in fields or len(set(map(as_meant, values))) < len(values):
            raise ValueError(f"--vary {text}: {field} or one of its values is given twice")
        fields[field] = values
    return fields


@dataclass(frozen=True)
class Setting(Member):
    """The study with another value of one field; without a field, as it is."""

    field: str = ""
    value: str = ""

    @classmethod
    def of(cls, field: str, value: str) -> Setting:
        """Return that of a field and its value, with a folder called after both."""
        return cls(quote(f"{field}={value}", safe="="), f"{field} = {value}, the rest as it is", field, value)

    def changes(self, each: Options) -> Options:
        """Return the options with this value instead of their own.

        Raises:
            ValueError: it has another type or is too small, or another option does not fit it.
        """
        others = [change for change in each.changes if change.partition("=")[0] != self.field]
        if self.field in OF_RUN:
            return each.but(changes=others, **{self.field: as_meant(self.value)})
        return each.but(changes=[*others, f"{self.field}={self.value}"]) if self.field else each


AS_IT_IS = Setting("as_it_is", "the study as it is")


@dataclass(frozen=True)
class Robust(Several[Setting]):
    """A study at several settings, the study as it is first."""

    command = "fmim robust"

    @classmethod
    def of(cls, out: Path, each: Options, console: TextConsole, fields: Mapping[str, Sequence[str]]) -> Robust:
        """Return the study as it is and at each value of these fields that it has not itself, all of them checked.

        Raises:
            ValueError: a field or a value that is refused, or a folder that is not the study's.
        """
        alone = cls(out, each, console, [AS_IT_IS])
        alone.check()
        return cls(out, each, console, [AS_IT_IS, *alone.others(fields)])

    def others(self, fields: Mapping[str, Sequence[str]]) -> Iterator[Setting]:
        """Yield the settings that are not the study as it is.

        Raises:
            ValueError: a field or a value that is refused.
        """
        for field, values in fields.items():
            for value in values:
                setting = Setting.of(field, value)
                try:
                    self.options(setting).check()
                    if self._trained(setting) != self._trained(AS_IT_IS):
                        yield setting
                except ValueError as error:
                    why = in_words(error) if isinstance(error, ValidationError) else str(error)
                    raise ValueError(f"--vary {field}={value}: {why}") from error

    def _trained(self, setting: Setting) -> tuple[object, ...]:
        """Return what decides the results of a setting, equal for equal ones."""
        plan, options = self.options(setting).plan(), self.options(setting)
        preset = plan.preset.model_copy(update={"settings": (), "changed": ()})
        return options.data, plan.seed, preset, plan.train_configs()

    def changes(self, member: Setting) -> Options:
        """Return the options of one setting."""
        return member.changes(self.each)

    def report(self) -> Path:
        """Write the report of all settings."""
        from fmim_reports.robust.build import build_robust

        return build_robust(self.out, {one.name: (one.field, one.value) for one in self.members})
