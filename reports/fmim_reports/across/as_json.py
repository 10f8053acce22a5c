"""A comparison of studies as plain values, for programs: fractions and seconds in full precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fmim_reports.across.differences import StudyDifference
from fmim_reports.across.settings import differing
from fmim_reports.across.studies import ComparedStudy, arm_groups
from fmim_reports.reading.summary import ArmSummary, Estimate


def comparison_as_json(studies: Sequence[ComparedStudy], found: Sequence[StudyDifference]) -> dict[str, Any]:
    """Return `studies` by letter, the `settings` that differ, `arms` side by side, and the `differences` to the first.

    What is not known is null, and so is what is not a number: JSON knows none.
    """
    content = {
        "studies": {one.key: _study(one) for one in studies},
        "settings": [{"about": one.about, "setting": one.name, "values": one.values} for one in differing(studies)],
        "arms": [
            {"label": group.label, "studies": {one.study.key: _arm(one.arm) for one in group.members}}
            for group in arm_groups(studies)
        ],
        "differences": [_difference(one) for one in found],
    }
    return dict(_without_nan(content))


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


def _arm(arm: ArmSummary) -> dict[str, Any]:
    return {
        "arm": arm.name,
        "configuration": arm.configuration,
        "n_s": arm.cost.n_s,
        "search_epochs": arm.cost.epochs,
        "search_device_seconds": arm.cost.device_seconds,
        "validation": _estimate(arm.validation),
        "test": _estimate(arm.test),
    }


def _estimate(value: Estimate) -> dict[str, Any]:
    return {"mean": value.stat.mean, "se": value.stat.se, "n": value.stat.n, "planned": value.of}


def _difference(one: StudyDifference) -> dict[str, Any]:
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
        "over": "" if one.value is None else one.over,
        "paired_by": one.pairing,
        "sample": one.sample,
        "p": one.p,
        "p_holm": one.p_holm,
        "p_equivalence": one.p_equivalence,
        "p_equivalence_holm": one.p_equivalence_holm,
        "equivalence_margin": one.margin,
        "result": one.answer,
        "note": one.note,
    }


def _without_nan(value: Any) -> Any:
    """Return the same with None for numbers that are none."""
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
