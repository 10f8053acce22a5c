"""A comparison of studies as a page, and as plain values for programs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_core.records import write_bytes
from fmim_reports.across.differences import StudyDifference, not_compared
from fmim_reports.across.studies import ComparedStudy, arm_groups, differing
from fmim_reports.page.files import write_table
from fmim_reports.page.templates import filled
from fmim_reports.parts.comparisons.tables import P_COLUMNS
from fmim_reports.parts.comparisons.words import capital
from fmim_reports.reading.summary import ArmSummary
from fmim_reports.writing.columns import under
from fmim_reports.writing.formats import configuration_text, p_text, points
from fmim_reports.writing.tables import Column, Table


def write_comparison(folder: Path, studies: Sequence[ComparedStudy], found: Sequence[StudyDifference]) -> Path:
    """Write `folder`/index.html, and each table under tables/ as CSV, Markdown and LaTeX; return the page."""
    tables = [studies_table(studies), settings_table(studies), arms_table(studies), differences_table(found)]
    for table in tables:
        write_table(table, folder)
    page = filled(
        "comparison.html.j2",
        studies=studies,
        reports={
            one.key: Path(os.path.relpath(report.resolve(), folder.resolve())).as_posix() if report.is_file() else ""
            for one in studies
            for report in [one.folder / "report" / "index.html"]
        },
        sentences=[_sentence(one) for one in found if one.value is not None],
        not_compared=not_compared(found),
        tables=tables,
    )
    write_bytes(folder / "index.html", page)
    return folder / "index.html"


def _sentence(one: StudyDifference) -> str:
    """Return `Triplet + Q1, B − A: +0.50 percentage points of test mAP (95 % CI …). Inconclusive; …`."""
    low, high = one.uncertainty.low, one.uncertainty.high
    interval = "" if low is None else f" (95 % CI over {one.over} {points(low)} to {points(high)}"
    interval += f"; {p_text(one.p_holm)} by Holm over {one.family})" if interval else ""
    size = f"{points(one.value)} percentage points of test {one.metric.label}{interval}"
    return f"{one.later.arm.label}, {one.name}: {size}. {capital(one.answer)}; {one.way}, {one.sample}."


def studies_table(studies: Sequence[ComparedStudy]) -> Table:
    """Show the studies with the letters by which the other tables call them."""
    columns = [
        *under("", "text", key="Letter", folder="Folder", study="Study", preset="Preset"),
        Column("seed", "Seed", "count"),
        Column("data", "Data"),
        *under("", "count", subjects="Test subjects", queries="Test queries"),
        Column("created", "Created"),
    ]
    rows = [
        {"key": one.key, "folder": str(one.folder), "data": study.data.name, "created": study.created_at[:10]}
        | {"study": study.study, "preset": study.preset, "seed": study.seed}
        | {"subjects": study.data.test.subjects, "queries": study.data.test.queries}
        for one in studies
        for study in [one.results.study]
    ]
    text = "Differences are those to the first study, A. The next table lists what else differs between the studies."
    return Table("studies", "Studies", text, columns, rows)


def settings_table(studies: Sequence[ComparedStudy]) -> Table:
    """Show in what the studies differ."""
    columns = [Column("about", "About"), Column("setting", "Setting"), *(Column(s.key, s.key) for s in studies)]
    rows: list[dict[str, Any]] = []
    for one in differing(studies):
        values = {study.key: one.text(study.key) for study in studies}
        new = bool(rows) and rows[-1]["about"] != one.about
        rows.append({"about": one.about, "setting": one.name, "rule": new} | values)
    text = "Every setting of study.json that differs between these studies. Arms are listed below."
    return Table("settings", "What differs", text, columns, rows, empty="Nothing: these studies have equal settings.")


def arms_table(studies: Sequence[ComparedStudy]) -> Table:
    """Show the arms side by side: what was selected, what its search cost, and how it scored."""
    metrics = [METRICS[name] for name in dict.fromkeys(one.results.metric.name for one in studies)]
    scored = " or ".join(metric.label for metric in metrics)
    columns = [
        *under("", "text", arm="Arm", study="Study", configuration="Configuration"),
        *under("Search", "count", n_s="N_s", epochs="Epochs"),
        Column("device_seconds", "Device time, s", "seconds", "Search"),
        Column("metric", "Metric"),
        *under(f"{scored}, %, mean ± SE", "estimate", validation="Validation", test="Test"),
    ]
    rows = [
        {**vars(one.arm.cost), "arm": one.arm.label, "study": one.study.key, "rule": one is group.members[0]}
        | {"configuration": configuration_text(one.arm.configuration), "metric": one.results.metric.label}
        | {"validation": one.arm.validation, "test": one.arm.test}
        for group in arm_groups(studies)
        for one in group.members
    ]
    text = (
        "Arms with the same name or the same configuration share rows. Validation: over the folds of the search; "
        "test: over seeds. Device time: seconds × the share of a GPU, or of a CPU core."
    )
    return Table("arms", "Arms side by side", text, columns, rows)


def differences_table(found: Sequence[StudyDifference]) -> Table:
    """Show the difference of each arm to the like one of the first study, with its interval and tests."""
    columns = [
        *under("", "text", arm="Arm", which="Studies", metric="Metric"),
        Column("difference", "Difference", "points", "Test, percentage points"),
        Column("se", "SE", "percent", "Test, percentage points"),
        *under("95 % CI", "points", low="Low", high="High"),
        Column("sample", "Over", "text", "95 % CI"),
        Column("pairing", "Paired by"),
        *P_COLUMNS,
        Column("result", "Result"),
    ]
    rows = [
        {"arm": one.later.arm.label, "which": one.name, "metric": one.metric.label, "result": one.answer}
        | {"pairing": one.pairing or "nothing", "sample": one.sample, **one.cells}
        for one in found
        if one.value is not None
    ]
    text = (
        "The later study’s arm minus that of A, on the test set. If the data and the seeds agree, it is paired by "
        "seed, and by query where queries are known. If only the data agree, it is not paired (Welch), and its "
        "interval is over seeds on this test set."
    )
    how = (
        "With another test set or metric there is no difference. Holm corrects the differences and the equivalences "
        "separately; nothing corrects them for looks (--until-decided)."
    )
    empty = "No two arms of A and another are alike."
    return Table("differences", "Differences to A", text, columns, rows, empty=empty, how=how)


def comparison_as_json(studies: Sequence[ComparedStudy], found: Sequence[StudyDifference]) -> dict[str, Any]:
    """Return `studies` by letter, the `settings` that differ, `arms` side by side, and the `differences` to the first.

    What is not known is null, and so is what is not a number: JSON knows none.
    """
    content = {
        "studies": {
            one.key: {"folder": str(one.folder), "study": study.study, "preset": study.preset, "seed": study.seed}
            | {"data": study.data.name, "data_fingerprint": study.data.fingerprint}
            | {"metric": study.metric, "created_at": study.created_at}
            for one in studies
            for study in [one.results.study]
        },
        "settings": [{"about": one.about, "setting": one.name, "values": one.values} for one in differing(studies)],
        "arms": [
            {"label": group.label, "studies": {one.study.key: _arm(one.arm) for one in group.members}}
            for group in arm_groups(studies)
        ],
        "differences": [_difference(one) for one in found],
    }
    return dict(_without_nan(content))


def _arm(arm: ArmSummary) -> dict[str, Any]:
    cost = {"n_s": arm.cost.n_s, "search_epochs": arm.cost.epochs, "search_device_seconds": arm.cost.device_seconds}
    estimates = {
        name: {"mean": value.stat.mean, "se": value.stat.se, "n": value.stat.n, "planned": value.of}
        for name, value in (("validation", arm.validation), ("test", arm.test))
    }
    return {"arm": arm.name, "configuration": arm.configuration, **cost, **estimates}


def _difference(one: StudyDifference) -> dict[str, Any]:
    names = {"arm": one.later.arm.name, "study": one.later.study.key, "minus": one.first.study.key}
    over = {"over": "" if one.value is None else one.over, "df": one.uncertainty.df}
    sample = {"paired_by": one.pairing, "sample": one.sample, "equivalence_margin": one.margin}
    said = {"result": one.answer, "note": one.note}
    return names | {"metric": one.metric.name} | one.cells | over | sample | said


def _without_nan(value: Any) -> Any:
    """Return the same with None for numbers that are none."""
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
