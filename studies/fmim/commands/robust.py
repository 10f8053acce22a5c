"""`fmim robust STUDY --vary FIELD=A,B,C`: the whole study at each setting of what it held fixed, and one report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
"""Fields that can be varied and are options of a run; all others are fields of `--set`."""


@takes_options("out", "studies", "fresh")
def robust(
    each: Options,
    *,
    vary: Annotated[
        list[str],
        typer.Option(
            "--vary", metavar="FIELD=A,B,C", help="A field of --set, or data, cohort, epochs or seed, with its values."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder of all settings; default runs/STUDY_robust.")] = None,
    dry_run: DryRun = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Move the settings' folders aside and start over.")] = False,
) -> None:
    """Run a study at several settings: does its answer hold?

    The whole study runs as it is, and at every value of each --vary; one report compares the answers.

    Each setting changes one field of the study. Its folder in OUT is a study's folder, which every command takes.
    Trials that studies beside OUT have trained are reused. Ctrl-C is safe: the same command continues.
    """
    folder = out or STUDIES / f"{each.setup.folder.name}_robust"
    at_settings(folder, each.but(fresh=fresh), vary, TextConsole()).start(dry_run)


def at_settings(out: Path, each: Options, vary: Sequence[str], console: TextConsole) -> Several:
    """Return the study as it is and at each of the values `FIELD=A,B,C` that it has not itself, all checked.

    Raises:
        ValueError: a field or a value that is refused, a study without comparisons, or a folder of another one.
    """
    members = {"as_it_is": Member("as_it_is", "the study as it is", each)}

    def report() -> Path:
        from fmim_reports.robust.build import build_robust

        return build_robust(out, list(members))

    several = Several("fmim robust", out, list(members.values()), report, console)
    several.check()
    study, _ = each.declared()
    if not study.comparison_pairs:
        raise ValueError(f"study {study.name!r} compares no arms, so there is no result to check: give it a baseline")
    for text in vary:
        field, _, listed = text.partition("=")
        values = [value.strip() for value in listed.split(",")]
        if not field or not all(values) or len(set(map(as_meant, values))) < max(2, len(values)):
            raise ValueError(f"--vary {text}: write a field and two or more different values, e.g. epochs=20,60")
        for value in values:
            name = quote(f"{field}={value}", safe="=")
            try:
                member = Member(name, "the rest as it is", _changed(each, field, value))
                several.options(member).check()
                if _trained(member.given) != _trained(each):
                    members[name] = member
            except ValueError as error:
                why = in_words(error) if isinstance(error, ValidationError) else error
                raise ValueError(f"--vary {field}={value}: {why}") from error
    return replace(several, members=list(members.values()))


def _changed(each: Options, field: str, value: str) -> Options:
    changes = [change for change in each.changes if change.partition("=")[0] != field]
    if field in OF_RUN:
        return each.but(changes=changes, **{field: as_meant(value)})
    return each.but(changes=[*changes, f"{field}={value}"])


def _trained(options: Options) -> tuple[object, ...]:
    """Return what decides the results of a setting, equal for equal ones."""
    plan = options.plan()
    preset = plan.preset.model_copy(update={"settings": (), "changed": ()})
    return options.data, plan.seed, preset, plan.train_configs()
