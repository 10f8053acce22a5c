"""The tidy file of a study, `tables/STUDY.csv`: one row a value, the published one beside it, all as fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.parts.overview import caption
from reports.reading.results import Results
from reports.reading.summary import Estimate
from reports.stats import MeanSE
from reports.writing.tables import Column, Table


def tidy_row(
    arm: str,
    setting: str,
    metric: str,
    value: Estimate,
    published: MeanSE | float | None,
    year: int | str | None = None,
) -> dict[str, Any]:
    """One value; `published` is in percent as printed, `year` None stands for all years together."""
    stat = value.stat
    mean, se = (published.mean, published.se) if isinstance(published, MeanSE) else (published, None)
    return {
        "arm": arm,
        "setting": setting,
        "metric": metric,
        "year": "all" if year is None else str(year),
        "mean": stat.mean if stat.n else None,
        "se": stat.se,
        "n": stat.n,
        "published_mean": _fraction(mean),
        "published_se": _fraction(se),
    }


def _fraction(percent: float | None) -> float | None:
    """Printed percent as a fraction, without the digits that dividing by 100 adds: 95.6 becomes 0.956."""
    return None if percent is None else round(percent / 100, 9)


def tidy_table(results: Results, rows: Sequence[Mapping[str, Any]], unit: str) -> Table:
    """The table named after the study; its columns are a contract."""
    columns = [
        Column("arm", "Arm"),
        Column("setting", "Setting"),
        Column("metric", "Metric"),
        Column("year", "Years"),
        Column("mean", "Mean", "percent", "Ours, %"),
        Column("se", "SE", "percent", "Ours, %"),
        Column("n", "n", "count", "Ours, %"),
        Column("published_mean", "Mean", "percent", "Published (OAI), %"),
        Column("published_se", "SE", "percent", "Published (OAI), %"),
    ]
    text = (
        f"Every value of the study in one file, mean and SE over {unit}s; the published values are on other images. "
        "The CSV file has fractions."
    )
    name = results.study["study"]
    return Table(name, "Every value", caption(results, text), columns, rows)
