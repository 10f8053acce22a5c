"""Every number of ours beside the published one, with the difference and what may explain it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from scipy.stats import spearmanr

from fmim_reports.reading.results import Results
from fmim_reports.studies import contents_of
from fmim_reports.whole_paper.items import PUBLISHED_NUMBERS, PublishedNumbers
from fmim_reports.whole_paper.reasons import REASONS, Compared
from fmim_reports.writing.tables import Column, Table

WITHIN, UNEXPLAINED = "within 2 SE", "unexplained"
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Difference:
    """One value, in percent, beside the published one.

    se: of ours over its replicates; published_se: as printed. Either may not be known.
    reasons: the name of each known difference from the paper, with what it is.
    """

    item: str
    study: str
    arm: str
    setting: str
    metric: str
    time: str
    ours: float
    se: float | None
    n: int
    published: float
    published_se: float | None
    reasons: Mapping[str, str]

    @property
    def points(self) -> float:
        """Ours minus the published value, percentage points."""
        return self.ours - self.published

    @property
    def within(self) -> bool:
        """|ours − published| ≤ 2 √(SE² + published SE²), a published SE that is not known being 0; not without ours."""
        if self.se is None:
            return False
        return abs(self.points) <= STANDARD_ERRORS * math.hypot(self.se, self.published_se or 0.0)

    @property
    def explanation(self) -> str:
        """That it is within its uncertainty; or what may explain it; or that nothing does."""
        return WITHIN if self.within else ", ".join(self.reasons) or UNEXPLAINED


def differences(studies: Mapping[str, Results]) -> list[Difference]:
    """All values of these studies, by name, that have a published one, in the paper's order."""
    found = []
    for numbers in PUBLISHED_NUMBERS:
        if numbers.study in studies:
            found += list(_of_study(studies[numbers.study], numbers))
    return found


def _of_study(results: Results, numbers: PublishedNumbers) -> Iterator[Difference]:
    table = contents_of(results).every_value(results)
    for row in table.rows:
        if row["published_mean"] is None or row["mean"] is None or math.isnan(row["mean"]):
            continue
        arm = results.arm(row["arm"].name)
        of = Compared(results, numbers, arm)
        told = {reason.name: reason.about(of) for reason in REASONS}
        yield Difference(
            item=numbers.label,
            study=numbers.study,
            arm=arm.label,
            setting=row["setting"],
            metric=row["metric"],
            time=row["time"],
            ours=_percent(row["mean"]),
            se=None if row["se"] is None else _percent(row["se"]),
            n=row["n"],
            published=_percent(row["published_mean"]),
            published_se=None if row["published_se"] is None else _percent(row["published_se"]),
            reasons={name: about for name, about in told.items() if about},
        )


def _percent(fraction: float) -> float:
    """Without the digits that multiplying adds."""
    return round(100 * fraction, 9)


def differences_table(found: list[Difference]) -> Table:
    """One row a value."""
    rows = [_row(one, number > 0 and one.item != found[number - 1].item) for number, one in enumerate(found)]
    columns = [
        Column("item", "In the paper"),
        Column("arm", "Arm"),
        Column("setting", "Setting"),
        Column("metric", "Metric"),
        Column("time", "Time after baseline"),
        Column("ours", "Mean", "number", "Ours, %"),
        Column("se", "SE", "number", "Ours, %"),
        Column("n", "n", "count", "Ours, %"),
        Column("published", "Mean", "number", "Published (OAI), %"),
        Column("published_se", "SE", "number", "Published (OAI), %"),
        Column("difference", "Difference, points", "number"),
        Column("explanation", "What may explain it"),
    ]
    text = (
        "Every number of ours that has a published one. Difference: ours minus published, percentage points. Within "
        "2 SE: at most 2 √(SE² + published SE²), where a published SE that is not printed counts as 0. Else what is "
        "known to be different here, which may explain it and need not; unexplained where nothing is."
    )
    return Table("differences", "Ours beside the published values", text, columns, rows, empty="No value is there yet.")


def _row(one: Difference, rule: bool) -> dict[str, Any]:
    same = {name: getattr(one, name) for name in ("item", "arm", "setting", "metric", "time", "ours", "se", "n")}
    published = {"published": one.published, "published_se": one.published_se}
    return same | published | {"difference": one.points, "explanation": one.explanation, "rule": rule}


def overview_table(found: list[Difference]) -> Table:
    """One row for each table or figure of the paper with numbers: how many differ by how much, and why."""
    rows = []
    for item in dict.fromkeys(one.item for one in found):
        of_item = [one for one in found if one.item == item]
        why = Counter(one.explanation for one in of_item)
        named = {name for name in why if name not in (WITHIN, UNEXPLAINED)}
        rows.append(
            {
                "item": item,
                "study": of_item[0].study,
                "values": len(of_item),
                "within": why[WITHIN],
                "known": sum(why[name] for name in named),
                "unexplained": why[UNEXPLAINED],
                "median": median(abs(one.points) for one in of_item),
                "order": order_agreement(of_item),
            }
        )
    columns = [
        Column("item", "In the paper"),
        Column("study", "Study"),
        Column("values", "Values", "count"),
        Column("within", "Within 2 SE", "count"),
        Column("known", "Known difference", "count"),
        Column("unexplained", "Unexplained", "count"),
        Column("median", "Distance, points", "number"),
        Column("order", "Order, ρ", "number"),
    ]
    text = (
        "How far our numbers are from the published ones, and how many of them something known may explain. Where few "
        "seeds or folds make an SE wide, within 2 SE says little. Distance: the median. Order: Spearman's rank "
        "correlation of our mAP over all times with the published one over that table's or figure's rows, 1 where both "
        "have the same order."
    )
    return Table("agreement", "Agreement with the paper", text, columns, rows, empty="No value is there yet.")


def order_agreement(found: Sequence[Difference]) -> float | None:
    """Spearman's ρ of mAP over all times, ours against published; None of fewer than three, or where all are equal."""
    pairs = [(one.ours, one.published) for one in found if (one.metric, one.time) == ("mAP", "all")]
    ours, published = zip(*pairs, strict=True) if pairs else ((), ())
    if len(pairs) < 3 or len(set(ours)) == 1 or len(set(published)) == 1:
        return None
    return float(spearmanr(ours, published).statistic)


def reason_sentences(found: list[Difference]) -> list[str]:
    """What each known difference is, once for all studies that it is the same in."""
    told: dict[tuple[str, str], list[str]] = {}
    for one in found:
        for name, about in one.reasons.items():
            told.setdefault((name, about), []).append(one.item)
    return [
        f"{name.capitalize()} ({', '.join(dict.fromkeys(items))}): {about.rstrip('.')}."
        for (name, about), items in told.items()
    ]
