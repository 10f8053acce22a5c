"""The retrieval metrics as data: what reports print, compare and rank by. Importing this needs no torch."""

from __future__ import annotations

from dataclasses import dataclass

CMC_RANKS = (1, 5, 10)


@dataclass(frozen=True)
class Metric:
    """A metric's name in records, its label in reports, the direction that is better, and its unit.

    mean_of: what a query has, whose mean over queries is the metric, where that has a name of its own.
    """

    name: str
    label: str
    higher_is_better: bool = True
    unit: str = "fraction"
    mean_of: str = ""

    @property
    def of_query(self) -> str:
        """What one query's value is called in a replicate's file of queries: `ap` for mAP."""
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

_YEAR = "/year_"


def year_key(metric: str, year: int) -> str:
    """The record's key of `metric` over the queries of one year: `("mAP", 4)` -> `"mAP/year_4"`."""
    return f"{metric}{_YEAR}{year}"


def split_key(key: str) -> tuple[str, int | None]:
    """The inverse of `year_key`: `"mAP/year_4"` -> `("mAP", 4)`; a key over all years: `"mAP"` -> `("mAP", None)`.

    Raises:
        ValueError: the part after the metric is not `/year_` and a whole number.
    """
    metric, slash, _ = key.partition("/")
    year = key.removeprefix(metric + _YEAR)
    if not slash:
        return metric, None
    try:
        return metric, int(year)
    except ValueError:
        raise ValueError(f"metric key {key!r}: expected a name, or a name and a year as in 'mAP/year_4'") from None
