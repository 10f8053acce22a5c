"""The differences between a study as its folder has it and the plan that is to go on with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmim.plan import Plan
from fmim.runner.search.proposals import Proposals
from fmim_core.records import StudyFile, flat

NAMED = 8  # differences in a message


def check_arms(out: Path, study: StudyFile | None, plan: Plan, proposals: Proposals) -> None:
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
            changed.append(f"{proposed} configurations are proposed, only {arm.budget} allowed now")
        if changed:
            raise ValueError(
                f"arm {arm.name!r} of {out} was started with different settings: {'; '.join(changed)}. More samples "
                "continue a search, anything else is another one: give another --out, or --fresh to move this one "
                "aside and start over"
            )


def differences(old: StudyFile, new: StudyFile) -> str:
    """Name what differs of all that decides a trial's result: `seed was 0, is 1, epochs was 50, is 100`."""
    found = _changes(_deciding(old), _deciding(new))
    return ", ".join([*found[:NAMED], *([f"and {len(found) - NAMED} more"] if len(found) > NAMED else [])])


def _deciding(study: StudyFile) -> dict[str, Any]:
    return {
        "preset": study.preset,
        "--set": study.changed,
        "seed": study.seed,
        "data": study.data.name,
        "release": study.data.release,
        **dict(flat({"files": study.data.files})),
        "data fingerprint": study.data.fingerprint[:12],
        "image size": study.data.image_size,
        "interval": study.data.interval,
        **dict(flat(study.train)),
        "test protocol": study.test_protocol,
        "version of results": study.results_version,
        **{file.path: file.sha256[:12] for file in (study.code.files if study.code else ())},
    }


def _changes(old: Mapping[str, Any], new: Mapping[str, Any], without: str = "") -> list[str]:
    names = [name for name in {**old, **new} if name != without and old.get(name) != new.get(name)]
    return [f"{name} was {old.get(name, 'not there')}, is {new.get(name, 'not there')}" for name in names]
