"""The references beside the arms: rows of tables, and the sentence that says where the arms stand.

References are no arms: nothing is selected from them, and no comparison, correction or cost of a search counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fmim_core.records import ReferenceEntry
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, on_reference
from fmim_reports.writing.columns import Named, RowName
from fmim_reports.writing.formats import in_percent


def reference_rows(
    results: Results, of: Callable[[ReferenceEntry], Mapping[str, Any]], column: str = "arm"
) -> list[dict[str, Any]]:
    """Return a row for each reference, to stand below the arms' and a line; `column` is the one that names the arms."""
    return [
        {"rule": number == 0, "reference": True, column: row.label, "arm": row, **of(reference)}
        for number, reference in enumerate(results.references)
        for row in [reference_row(reference)]
    ]


def reference_row(reference: ReferenceEntry) -> RowName:
    """Return the name of a row of a reference."""
    return RowName(reference.name, f"Reference: {reference.label}")


def row_name(results: Results, name: str) -> Named:
    """Return the arm, or the name of the row of the reference, by the name that a record has."""
    references = {reference.name: reference_row(reference) for reference in results.references}
    return references[name] if name in references else results.arm(name)


def references_note(results: Results) -> str:
    """Say what the references of a table are; empty where there are none."""
    if not results.references:
        return ""
    listed = "; ".join(f"{reference.label}: {reference.about}" for reference in results.references)
    return f"References are no arms: no training made them, and nothing is selected by them. {listed}."


def sentences_on_references(results: Results) -> list[str]:
    """Say which references are beaten by all arms beside them, by none or not by some, by the means over seeds.

    Only arms and references with a result count; nothing is said before there are both.
    """
    metric = results.metric
    sign = 1 if metric.higher_is_better else -1
    tested = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    found: dict[tuple[bool, tuple[str, ...]], list[str]] = {}  # references with the same arms behind them
    for reference in results.references:
        stat = on_reference(results, reference, metric.name).stat
        beside = [arm for arm in tested if arm.name in reference.arms]
        behind = [arm for arm in beside if not sign * arm.test.stat.mean > sign * stat.mean]  # not-a-number is behind
        if stat.n and beside:
            names = tuple(f"{arm.label} ({in_percent(arm.test.stat.mean)} %)" for arm in behind)
            value = f"{reference.label} ({in_percent(stat.mean)} %)"
            found.setdefault((len(behind) == len(beside), names), []).append(value)
    who = "Every arm" if len(tested) == len(results.arms) else "Every arm that was tested"
    return [_standing(who, metric.label, values, *key) for key, values in found.items()]


def _standing(who: str, metric: str, values: list[str], none: bool, behind: tuple[str, ...]) -> str:
    """Say what beats references with these values: not the arms `behind`, and if `none` no other either."""
    listed = ", ".join(values)
    if not behind:
        return f"{who} has a better test {metric} than the references beside it, which no training made: {listed}."
    if none:
        return f"No arm has a better test {metric} than these references, which no training made: {listed}."
    return f"Not every arm has a better test {metric} than {listed}, which no training made: not {', '.join(behind)}."
