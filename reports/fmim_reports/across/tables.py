"""The tables of a comparison of studies: which they are, in what they differ, their arms, and the differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_reports.across.differences import Differences
from fmim_reports.across.settings import differing
from fmim_reports.across.studies import ArmGroup, ComparedStudy, arm_groups
from fmim_reports.writing.formats import configuration_text
from fmim_reports.writing.tables import Column, Table


def studies_table(studies: Sequence[ComparedStudy]) -> Table:
    """The studies with the letters by which the other tables call them."""
    columns = [
        Column("key", "Letter"),
        Column("folder", "Folder"),
        Column("study", "Study"),
        Column("preset", "Preset"),
        Column("seed", "Seed", "count"),
        Column("data", "Data"),
        Column("subjects", "Test subjects", "count"),
        Column("queries", "Test queries", "count"),
        Column("created", "Created"),
    ]
    rows = [
        {
            "key": one.key,
            "folder": str(one.folder),
            "study": study.study,
            "preset": study.preset,
            "seed": study.seed,
            "data": study.data.name,
            "subjects": study.data.test.subjects,
            "queries": study.data.test.queries,
            "created": study.created_at[:10],
        }
        for one in studies
        for study in [one.results.study]
    ]
    text = "Differences are those to the first, A. What else is different between them stands in the next table."
    return Table("studies", "Studies", text, columns, rows)


def settings_table(studies: Sequence[ComparedStudy]) -> Table:
    """In what the studies differ."""
    columns = [Column("about", "About"), Column("setting", "Setting"), *(Column(s.key, s.key) for s in studies)]
    rows: list[dict[str, Any]] = []
    for one in differing(studies):
        values = {study.key: one.text(study.key) for study in studies}
        rows.append({"about": one.about, "setting": one.name, "rule": _new(rows, "about", one.about)} | values)
    text = "Every setting of study.json that is not the same in all of these studies; all others are. Arms stand below."
    return Table("settings", "What differs", text, columns, rows, empty="Nothing: these studies have equal settings.")


def arms_table(studies: Sequence[ComparedStudy]) -> Table:
    """The arms side by side: what was selected, what its search cost, and how it scored."""
    metrics = [METRICS[name] for name in dict.fromkeys(one.results.metric.name for one in studies)]
    scored = " or ".join(metric.label for metric in metrics)
    columns = [
        Column("arm", "Arm"),
        Column("study", "Study"),
        Column("configuration", "Configuration"),
        Column("n_s", "N_s", "count", "Search"),
        Column("epochs", "Epochs", "count", "Search"),
        Column("device_seconds", "Device time, s", "seconds", "Search"),
        Column("metric", "Metric"),
        Column("validation", "Validation", "estimate", f"{scored}, %, mean ± SE (n)"),
        Column("test", "Test", "estimate", f"{scored}, %, mean ± SE (n)"),
    ]
    rows = [row for group in arm_groups(studies) for row in _arm_rows(group)]
    text = (
        "Arms of one name, or trained by one configuration, stand together. Validation: over the folds of the search; "
        "test: over seeds. Device time: seconds × the share of a GPU, or of a CPU core."
    )
    return Table("arms", "Arms side by side", text, columns, rows)


def _arm_rows(group: ArmGroup) -> list[dict[str, Any]]:
    return [
        {
            "arm": one.arm.label,
            "study": one.study.key,
            "configuration": configuration_text(one.arm.configuration),
            "n_s": one.arm.cost.n_s,
            "epochs": one.arm.cost.epochs,
            "device_seconds": one.arm.cost.device_seconds,
            "metric": one.study.results.metric.label,
            "validation": one.arm.validation,
            "test": one.arm.test,
            "rule": one is group.members[0],
        }
        for one in group.members
    ]


def differences_table(found: Differences) -> Table:
    """The difference of each arm to the like one of the first study, with its interval and tests."""
    columns = [
        Column("arm", "Arm"),
        Column("which", "Studies"),
        Column("metric", "Metric"),
        Column("difference", "Difference", "points", "Test, percentage points"),
        Column("se", "SE", "percent", "Test, percentage points"),
        Column("low", "Low", "points", "95 % CI"),
        Column("high", "High", "points", "95 % CI"),
        Column("sample", "Over", "text", "95 % CI"),
        Column("pairing", "Paired by"),
        Column("p", "t test", "p", "p, difference"),
        Column("p_holm", "Holm", "p", "p, difference"),
        Column("p_equivalence", "TOST", "p", "p, equivalence"),
        Column("p_equivalence_holm", "Holm", "p", "p, equivalence"),
        Column("result", "Result"),
    ]
    rows = [
        {
            "arm": one.later.arm.label,
            "which": one.name,
            "metric": one.metric.label,
            "difference": one.value,
            "se": one.uncertainty.se,
            "low": one.uncertainty.low,
            "high": one.uncertainty.high,
            "pairing": one.pairing or "nothing",
            "sample": one.sample,
            "p": one.p,
            "p_holm": _defined(found.by_holm.adjusted[number]),
            "p_equivalence": one.p_equivalence,
            "p_equivalence_holm": _defined(found.equivalences_by_holm.adjusted[number]),
            "result": found.answer(number),
        }
        for number, one in found.numbered
    ]
    text = (
        "The later study’s arm minus that of A, on the test set. Where the data and the seeds agree, it is paired by "
        "seed, and by query where queries are known. Where the data agree and seeds do not, it is not paired (Welch), "
        "and its interval is over seeds on this test set. On another test set, or by another metric, there is no "
        "difference. Holm corrects all differences that are shown, and by themselves all equivalences."
    )
    return Table(
        "differences", "Differences to A", text, columns, rows, empty="No two arms of A and another are alike."
    )


def _new(rows: Sequence[dict[str, Any]], name: str, value: str) -> bool:
    return bool(rows) and rows[-1][name] != value


def _defined(p: float) -> float | None:
    return None if math.isnan(p) else p
