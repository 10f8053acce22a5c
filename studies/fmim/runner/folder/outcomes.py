"""The outcomes of a plan's trials, by the records in a study's folder, if it was started with the same settings."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fmim.plan import Plan
from fmim.runner.folder.study_file import new_study
from fmim.runner.search.arm_search import Proposals, proposals_path, proposed_again, sampled_trials
from fmim.runner.search.selection import Outcome
from fmim_core.data.bank.bank import Bank
from fmim_core.records import (
    Damaged,
    Record,
    StudyFile,
    flat,
    queries_path,
    read_file,
    read_records,
    set_aside,
    study_path,
    trial_name,
)
from fmim_core.trial.checkpoint import checkpoint_path, ends_whole, kept_weights


def outcomes_of_plan(
    out: Path,
    plan: Plan,
    bank: Bank,
    warn: Callable[[str], None] = lambda warning: None,
    remake_weights: bool = False,
) -> dict[str, Outcome]:
    """Return the outcomes of the plan's trials that have a record in the folder, by trial; others are left alone.

    A damaged record is set aside, and so are damaged queries, with a warning. Then its trial has no outcome, nor has a
    replicate whose queries are gone from beside its record: it runs again, and writes both. Where weights are lost or
    damaged, it does so only if they are to be made again; else a warning says so.

    Raises:
        ValueError: a record has the name of a planned trial, but another configuration, data set or seed; or an arm
            was searched otherwise.
    """
    proposals, old = _proposals(out, plan, bank, warn), StudyFile.find(study_path(out))
    _check_arms(out, old, plan, proposals)
    # To make the trials that follow a winner takes seconds for thousands of configurations: only where one was.
    names = [path.stem.split(".") for path in (out / "records").glob("*.json")]
    won = {".".join(name[:2]) for name in names if len(name) > 3 or not name[-1].startswith("fold")}

    def has_won(arm: str, number: int) -> bool:
        return trial_name(arm, number, "search", 0).rpartition(".")[0] in won

    planned = {spec.id: spec for spec in plan.possible(bank, proposals.of, has_won)}
    sampled = {arm.name for arm in plan.arms if arm.listed is None}
    outcomes: dict[str, Outcome] = {}
    lost, foreign, weightless = [], [], list[str]()

    def move(path: Path, damaged: ValueError) -> None:
        warn(f"{damaged}. It was moved to {set_aside(path).name}, and its trial runs again")

    for record in read_records(out, move):
        spec = planned.get(record.trial)
        if spec is not None:
            if _has_its_queries(out, record, move):
                kept = not spec.keeps_model or record.status != "completed" or _has_weights(out, record, remake_weights)
                weightless += [] if kept else [spec.id]
                if kept or not remake_weights:
                    outcomes[spec.id] = Outcome.of(record)
            if record.fingerprint != spec.fingerprint:
                foreign.append(spec.id)
        elif record.arm in sampled and record.search_split < plan.search_splits:
            lost.append(record.trial)
    if lost:
        raise ValueError(
            f"{out} has records of configurations that its proposals.json does not have (e.g. {lost[0]}): put the "
            "file back, or give --fresh to move the folder aside and start over"
        )
    if foreign:
        what = f"; {told}" if old and (told := _differences(old, new_study(plan, bank))) else ""
        raise ValueError(
            f"{out} has {len(foreign)} records of another plan (e.g. {foreign[0]}{what}): "
            "give another --out, or --fresh to move the folder aside and start over"
        )
    if weightless:
        then = "they run again" if remake_weights else "their results stand, and --remake-weights trains them again"
        warn(f"finished trials without weights: {len(weightless)} (e.g. {weightless[0]}); {then}")
    return outcomes


def _has_weights(out: Path, record: Record, remade: bool) -> bool:
    """Return whether the weights of a completed replicate are there.

    Reading them takes seconds a gigabyte: only where lost ones are to be made again, and damaged ones are set aside.
    """
    path = checkpoint_path(out, record.trial)
    whole = ends_whole(path)  # raises where this user may not read it
    if not remade:
        return whole
    try:
        kept_weights(out, record)
    except Damaged:
        set_aside(path)
        return False
    except ValueError:
        return False
    return True


def _has_its_queries(out: Path, record: Record, move: Callable[[Path, ValueError], None]) -> bool:
    """Return whether a record that names a file of queries has it, whole; a damaged one is moved."""
    if record.queries_sha256 is None:
        return True
    path = queries_path(out, record.trial)
    try:
        if hashlib.sha256(read_file(path)).hexdigest() != record.queries_sha256:
            raise Damaged(f"{path} is damaged (wrong SHA-256)")
    except FileNotFoundError:
        return False
    except Damaged as damaged:
        move(path, damaged)
        return False
    return True


def _proposals(out: Path, plan: Plan, bank: Bank, warn: Callable[[str], None]) -> Proposals:
    """Return what searches proposed; a damaged file is set aside, and made again from the records, as a lost one is."""
    path = proposals_path(out)

    def searched() -> dict[str, Record]:
        return sampled_trials(plan, read_records(out, lambda path, damaged: None))

    try:
        if not os.path.lexists(path) and searched():
            raise Damaged(f"{path} is missing")
        return Proposals(out)
    except Damaged as damaged:
        try:
            again = proposed_again(plan, bank, searched())
        except ValueError as error:
            raise ValueError(
                f"{damaged}. It cannot be rebuilt from the records ({error}): put a copy back, or --fresh to move the "
                "folder aside and start over"
            ) from damaged
        moved = f"It was moved to {set_aside(path).name}. " if os.path.lexists(path) else ""
        warn(f"{damaged}. {moved}It is rebuilt from the records")
        again.write(path)
        return Proposals(out)


def _check_arms(out: Path, study: StudyFile | None, plan: Plan, proposals: Proposals) -> None:
    """Check that each arm resumes in the space and with the searcher it started with; it may only take more samples.

    Raises:
        ValueError: another space, searcher or seed than `study` has, or fewer samples than are proposed.
    """
    before = {arm.name: arm for arm in study.arms} if study else {}
    for arm in plan.arms:
        if study is None or arm.name not in before:
            continue
        old, new = before[arm.name], arm.entry(plan.replicates_of(arm))
        proposed = max(len(proposals.of(arm.name, split)) for split in range(plan.search_splits))
        changed = _changes(old.space, new.space)
        searcher = {name: value for name, value in old.searcher.items() if value != []}  # `start` of earlier versions
        changed += _changes(searcher, new.searcher, without="samples")
        if proposed and study.seed != plan.seed:
            changed.append(f"seed was {study.seed}, is {plan.seed}")
        if arm.budget < proposed:
            changed.append(f"{proposed} configurations were proposed, but only {arm.budget} are allowed now")
        if changed:
            raise ValueError(
                f"arm {arm.name!r} of {out} was started with different settings: {'; '.join(changed)}. A search "
                "continues only with more samples: give another --out, or --fresh to move it aside and start over"
            )


def _differences(old: StudyFile, new: StudyFile) -> str:
    """Name what differs of all that decides a trial's result: `seed was 0, is 1, epochs was 50, is 100`."""
    return ", ".join(_changes(_deciding(old), _deciding(new)))


def _deciding(study: StudyFile) -> dict[str, Any]:
    data, files = study.data, study.code.files if study.code else ()
    return (
        {"preset": study.preset, "--set": study.changed, "seed": study.seed, "data": data.name, "release": data.release}
        | dict(flat({"files": data.files}))
        | {"data fingerprint": data.fingerprint[:12], "image size": data.image_size, "interval": data.interval}
        | dict(flat(study.train))
        | {"test protocol": study.test_protocol, "version of results": study.results_version}
        | {file.path: file.sha256[:12] for file in files}
    )


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], without: str = "") -> list[str]:
    names = [name for name in {**old, **new} if name != without and old.get(name) != new.get(name)]
    return [f"{name} was {old.get(name, 'not there')}, is {new.get(name, 'not there')}" for name in names]
