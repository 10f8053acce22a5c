"""A comparison of studies as plain values, for programs: fractions and seconds in full precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fmim_reports.across.differences import Differences
from fmim_reports.across.settings import differing
from fmim_reports.across.studies import ArmGroup, ComparedStudy, arm_groups
from fmim_reports.reading.summary import Estimate


def comparison_as_json(studies: Sequence[ComparedStudy], found: Differences) -> dict[str, Any]:
    """`studies` by letter, the `settings` that differ, `arms` side by side, and the `differences` to the first study.

    What is not known is null, and so is what is not a number: JSON knows none.
    """
    content = {
        "studies": {one.key: _study(one) for one in studies},
        "settings": [{"about": one.about, "setting": one.name, "values": one.values} for one in differing(studies)],
        "arms": [_group(group) for group in arm_groups(studies)],
        "differences": [_difference(found, number) for number in range(len(found.all))],
    }
    return dict(_known(content))


def _study(one: ComparedStudy) -> dict[str, Any]:
    study = one.results.study
    return {
        "folder": str(one.folder),
        "study": study.study,
        "preset": study.preset,
        "seed": study.seed,
        "data": study.data.name,
        "data_fingerprint": study.data.fingerprint,
        "metric": study.metric,
        "created_at": study.created_at,
    }


def _group(group: ArmGroup) -> dict[str, Any]:
    by_study = {
        one.study.key: {
            "arm": one.arm.name,
            "configuration": one.arm.configuration,
            "n_s": one.arm.cost.n_s,
            "search_epochs": one.arm.cost.epochs,
            "search_device_seconds": one.arm.cost.device_seconds,
            "validation": _estimate(one.arm.validation),
            "test": _estimate(one.arm.test),
        }
        for one in group.members
    }
    return {"label": group.label, "studies": by_study}


def _estimate(value: Estimate) -> dict[str, Any]:
    return {"mean": value.stat.mean, "se": value.stat.se, "n": value.stat.n, "planned": value.of}


def _difference(found: Differences, number: int) -> dict[str, Any]:
    one = found.all[number]
    return {
        "arm": one.later.arm.name,
        "study": one.later.study.key,
        "minus": one.first.study.key,
        "metric": one.metric.name,
        "difference": one.value,
        "se": one.uncertainty.se,
        "df": one.uncertainty.df,
        "low": one.uncertainty.low,
        "high": one.uncertainty.high,
        "over": one.over,
        "paired_by": one.pairing,
        "sample": one.sample,
        "p": one.p,
        "p_holm": found.by_holm.adjusted[number],
        "p_equivalence": one.p_equivalence,
        "p_equivalence_holm": found.equivalences_by_holm.adjusted[number],
        "equivalence_margin": one.margin,
        "result": found.answer(number),
        "note": one.note,
    }


def _known(value: Any) -> Any:
    """The same without numbers that are none."""
    if isinstance(value, Mapping):
        return {name: _known(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_known(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
