"""Every number of ours beside the published one, with the difference and what may explain it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from scipy.stats import spearmanr

from fmim_reports.reading.results import Results
from fmim_reports.studies import contents_of
from fmim_reports.whole_paper.items import PUBLISHED_NUMBERS, PublishedNumbers
from fmim_reports.whole_paper.reasons import reasons
from fmim_reports.writing.columns import under
from fmim_reports.writing.tables import Column, Table

WITHIN, UNEXPLAINED = "within 2 SE", "unexplained"
STANDARD_ERRORS = 2.0
Row = Mapping[str, Any]


def differences(studies: Mapping[str, Results]) -> list[Row]:
    """Return a row for each value of these studies, by name, that has a published one, in the paper's order.

    Values are in percent: `ours` with its `se` over `n` replicates, `published` with its SE as printed, and the
    `difference`; `reasons` are the names of known differences from the paper with what they are.
    """
    found = [numbers for numbers in PUBLISHED_NUMBERS if numbers.study in studies]
    return [row for numbers in found for row in _of_study(studies[numbers.study], numbers)]


def _of_study(results: Results, numbers: PublishedNumbers) -> Iterator[Row]:
    for row in contents_of(results).every_value(results).rows:
        if row["published_mean"] is None or row["mean"] is None or math.isnan(row["mean"]):
            continue
        ours, published = _percent(row["mean"]), _percent(row["published_mean"])
        se, published_se = (None if row.get(key) is None else _percent(row[key]) for key in ("se", "published_se"))
        arm = results.arm(row["arm"].name)
        known = reasons(results, numbers, arm)
        yield {
            **{name: row[name] for name in ("setting", "metric", "time", "n")},
            "item": numbers.label,
            "study": numbers.study,
            "arm": arm.label,
            "reasons": known,
            "ours": ours,
            "se": se,
            "published": published,
            "published_se": published_se,
            "difference": ours - published,
            "explanation": explanation(ours - published, se, published_se, known),
        }


def _percent(fraction: float) -> float:
    """Return it without the digits that multiplying adds."""
    return round(100 * fraction, 9)


def explanation(difference: float, se: float | None, published_se: float | None, known: Mapping[str, str]) -> str:
    """Say that a difference is within its uncertainty, or what may explain it, or that nothing does.

    It is within |ours − published| ≤ 2 √(SE² + published SE²), a published SE that is not known being 0; not without
    ours.
    """
    if se is not None and abs(difference) <= STANDARD_ERRORS * math.hypot(se, published_se or 0.0):
        return WITHIN
    return ", ".join(known) or UNEXPLAINED


def differences_table(found: Sequence[Row]) -> Table:
    """Return one row a value."""
    rows = [{**row, "rule": row["item"] != before["item"]} for before, row in pairwise([*found[:1], *found])]
    columns = [
        Column("item", "In the paper"),
        *under("", "text", arm="Arm", setting="Setting", metric="Metric", time="Time after baseline"),
        *under("Ours, %", "number", ours="Mean", se="SE"),
        Column("n", "n", "count", "Ours, %"),
        *under("Published (OAI), %", "number", published="Mean", published_se="SE"),
        Column("difference", "Difference, points", "number"),
        Column("explanation", "What may explain it"),
    ]
    text = (
        "Every number of ours that has a published one. Difference: ours minus published, percentage points. Within "
        "2 SE: at most 2 √(SE² + published SE²), where a published SE that is not printed counts as 0. Else what is "
        "known to be different here, which may explain it and need not; unexplained where nothing is."
    )
    return Table("differences", "Ours beside the published values", text, columns, rows, empty="No value is there yet.")


def agreement_table(found: Sequence[Row]) -> Table:
    """Return one row for each table or figure of the paper with numbers: how many differ by how much, and why."""
    rows = []
    for item in dict.fromkeys(row["item"] for row in found):
        of_item = [row for row in found if row["item"] == item]
        distance = median(abs(row["difference"]) for row in of_item)
        rows.append(
            {"item": item, "study": of_item[0]["study"], "median": distance, "order": order_agreement(of_item)}
            | counted(of_item)
        )
    columns = [
        *under("", "text", item="In the paper", study="Study"),
        *under("", "count", values="Values", within="Within 2 SE", known="Known difference", unexplained="Unexplained"),
        *under("", "number", median="Distance, points", order="Order, ρ"),
    ]
    text = (
        "How far our numbers are from the published ones, and how many of them something known may explain. Where few "
        "seeds or folds make an SE wide, within 2 SE says little. Distance: the median. Order: Spearman's rank "
        "correlation of our mAP over all times with the published one over that table's or figure's rows, 1 where both "
        "have the same order."
    )
    return Table("agreement", "Agreement with the paper", text, columns, rows, empty="No value is there yet.")


def counted(found: Sequence[Row]) -> dict[str, int]:
    """Return how many values there are, are within their uncertainty, have a known difference, and are unexplained."""
    why = Counter(row["explanation"] for row in found)
    known = len(found) - why[WITHIN] - why[UNEXPLAINED]
    return {"values": len(found), "within": why[WITHIN], "known": known, "unexplained": why[UNEXPLAINED]}


def order_agreement(found: Sequence[Row]) -> float | None:
    """Return Spearman's ρ of mAP over all times, ours against published; None of fewer than three or all equal ones."""
    pairs = [(row["ours"], row["published"]) for row in found if (row["metric"], row["time"]) == ("mAP", "all")]
    if len(pairs) < 3 or any(len(set(values)) == 1 for values in zip(*pairs, strict=True)):
        return None
    return float(spearmanr(*zip(*pairs, strict=True)).statistic)


def reason_sentences(found: Sequence[Row]) -> list[str]:
    """Say what each known difference is, once for all studies that it is the same in."""
    told: dict[tuple[str, str], list[str]] = {}
    for row in found:
        for reason in row["reasons"].items():
            told.setdefault(reason, []).append(row["item"])
    return [
        f"{name.capitalize()} ({', '.join(dict.fromkeys(items))}): {about.rstrip('.')}."
        for (name, about), items in told.items()
    ]
