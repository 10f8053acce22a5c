"""The outcomes of a plan's trials, by the records in a study's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from fmim.plan import Plan
from fmim.runner.folder.differences import check_arms, differences
from fmim.runner.folder.study_file import new_study, read_study
from fmim.runner.search.proposals import Proposals, proposals_path
from fmim.runner.search.proposed_again import proposed_again
from fmim.runner.search.selection import Outcome
from fmim_core.data.bank.bank import Bank
from fmim_core.records import (
    CalibrationFile,
    Damaged,
    Record,
    calibration_path,
    queries_path,
    read_records,
    set_aside,
)


def outcomes_of_plan(
    out: Path, plan: Plan, bank: Bank, warn: Callable[[str], None] = lambda warning: None
) -> dict[str, Outcome]:
    """Return the outcomes of the plan's trials that have a record in the folder, by trial; others are left alone.

    A damaged record is set aside, and so are damaged queries, with a warning. Then its trial has no outcome, nor has a
    replicate whose queries are gone from beside its record: it runs again, and writes both.

    Raises:
        ValueError: a record has the name of a planned trial, but another configuration, data set or seed; or an arm
            was searched otherwise.
    """
    proposals, old = _proposals(out, plan, bank, warn), read_study(out)
    check_arms(out, old, plan, proposals)
    planned = {spec.id: spec for spec in plan.possible(bank, proposals.of)}
    sampled = {arm.name for arm in plan.arms if arm.listed is None}
    outcomes: dict[str, Outcome] = {}
    lost, foreign = [], []

    def move(path: Path, damaged: Damaged) -> None:
        warn(f"{damaged}: moved to {set_aside(path).name}, and its trial runs again")

    for record in read_records(out, move):
        spec = planned.get(record.trial)
        if spec is not None:
            if _has_its_queries(out, record, warn):
                outcomes[spec.id] = Outcome.of(record)
            if record.fingerprint != spec.fingerprint:
                foreign.append(spec.id)
        elif record.arm in sampled and record.search_split < plan.search_splits:
            lost.append(record.trial)
    if lost:
        raise ValueError(
            f"{out} holds records of configurations that its proposals.json does not have (e.g. {lost[0]}): put the "
            "file back, or --fresh to move the folder aside and start over"
        )
    if foreign:
        what = f"; {told}" if old and (told := differences(old, new_study(plan, bank))) else ""
        raise ValueError(
            f"{out} holds {len(foreign)} records of another plan (e.g. {foreign[0]}{what}): "
            "give another --out, or --fresh to move them aside and start over"
        )
    return outcomes


def _has_its_queries(out: Path, record: Record, warn: Callable[[str], None]) -> bool:
    """Say whether a record that names a file of queries has it, whole."""
    if record.queries_sha256 is None:
        return True
    path = queries_path(out, record.trial)
    if not path.exists():
        return False
    if hashlib.sha256(path.read_bytes()).hexdigest() == record.queries_sha256:
        return True
    warn(f"{path} is damaged (another SHA-256): moved to {set_aside(path).name}, and its trial runs again")
    return False


def _proposals(out: Path, plan: Plan, bank: Bank, warn: Callable[[str], None]) -> Proposals:
    """Return what searches proposed; a damaged file is set aside, and made again from the records."""
    try:
        return Proposals(out)
    except Damaged as damaged:
        try:
            again = proposed_again(plan, bank, read_records(out, lambda path, damaged: None))
        except ValueError as error:
            raise ValueError(
                f"{damaged}. The records do not give it back ({error}): put a copy of it back, or --fresh to move the "
                "folder aside and start over"
            ) from damaged
        warn(f"{damaged}: moved to {set_aside(proposals_path(out)).name}, and made again from the records")
        again.write(proposals_path(out))
        return Proposals(out)


def set_damaged_forecast_aside(out: Path, warn: Callable[[str], None]) -> None:
    """Set a damaged calibration.json aside, so that another can take its place; until then the report has none."""
    path = calibration_path(out)
    try:
        if path.exists():
            CalibrationFile.read(path)
    except Damaged as damaged:
        warn(f"{damaged}: moved to {set_aside(path).name}, and the report has no forecast until the next one")
