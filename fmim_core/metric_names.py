"""The retrieval metrics as data, and the intervals by which they are grouped. Importing this needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

CMC_RANKS = (1, 5, 10)


@dataclass(frozen=True)
class Metric:
    """A metric's name in records, its label in reports, the direction that is better, and its unit.

    mean_of: the name of a query's value, whose mean over queries is the metric, if it has a separate name.
    """

    name: str
    label: str
    higher_is_better: bool = True
    unit: str = "fraction"
    mean_of: str = ""

    @property
    def of_query(self) -> str:
        """The name of one query's value in a replicate's file of queries: `ap` for mAP."""
        return self.mean_of or self.name


# CMC_k asks for the first hit: whether a match is among the first k images. CMC_1_all_shots counts every match, as the
# paper's authors do (`fmim_core.metrics.score_queries`): published CMC values compare with that one alone.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("mAP", "mAP", mean_of="ap"),
        Metric("mAP_at_R", "mAP@R", mean_of="ap_at_R"),
        *(Metric(f"CMC_{k}", f"CMC top-{k}") for k in CMC_RANKS),
        Metric("CMC_1_all_shots", "CMC top-1, all matches"),
    )
}

Unit = Literal["day", "week", "month", "year"]


@dataclass(frozen=True)
class Interval:
    """A unit of the time after baseline, by which queries are grouped and metrics are named.

    unit: its name in keys, columns and texts. symbol: its abbreviation. months: its length.
    """

    unit: Unit
    symbol: str
    months: float

    @property
    def plural(self) -> str:
        """`years`."""
        return f"{self.unit}s"

    @property
    def after_baseline(self) -> str:
        """`years after baseline`."""
        return f"{self.plural} after baseline"

    def name(self, time: int | None) -> str:
        """Return the name of a time: 4 -> `"year_4"`, and None, for all times together, -> `"all"`."""
        return "all" if time is None else f"{self.unit}_{time}"

    def key(self, metric: str, time: int) -> str:
        """Return the record's key of `metric` over the queries of one time: `("mAP", 4)` -> `"mAP/year_4"`."""
        return f"{metric}/{self.name(time)}"

    def short(self, time: int | None) -> str:
        """Return `4 y`; blank where the time is unknown."""
        return "" if time is None else f"{time} {self.symbol}"


DAYS_PER_MONTH = 365.25 / 12
YEAR = Interval("year", "y", 12)
INTERVALS: dict[str, Interval] = {
    interval.unit: interval
    for interval in (
        Interval("day", "d", 1 / DAYS_PER_MONTH),
        Interval("week", "w", 7 / DAYS_PER_MONTH),
        Interval("month", "mo", 1),
        YEAR,
    )
}
"""By their units."""


@cache
def split_key(key: str) -> tuple[str, int | None]:
    """Invert `Interval.key`: `"mAP/year_4"` -> `("mAP", 4)`; a key over all times: `"mAP"` -> `("mAP", None)`.

    Raises:
        ValueError: the part after the metric is not an interval's unit and a whole number.
    """
    metric, slash, rest = key.partition("/")
    if not slash:
        return metric, None
    unit, _, time = rest.partition("_")
    if unit not in INTERVALS or not time.isdecimal():
        raise ValueError(
            f"metric key {key!r}: expected a name, or a name and a time as in 'mAP/year_4' ({', '.join(INTERVALS)})"
        )
    return metric, int(time)
