"""The paper's published values, as files in `reports/fmim_reports/paper`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.records import ArmEntry
from fmim_reports.stats import MeanSE, mean_se

LABEL = "published (OAI, 5-fold CV)"
TEST_LABEL = "published (OAI, 5 seeds)"
TEST_SEEDS = 5
POOLED_TOLERANCE = 0.06  # percentage points: half a digit of the printed mean, and as much again from those it averages
# The paper's names of what records call otherwise.
METRIC_NAMES = {"mAP": "mAP", "mAP_at_R": "mAP@R", "CMC_1_all_shots": "CMC@1"}
CMC_NOTE = (
    "CMC top-1 here is the share of a query's matches before which no other person's image comes (CMC_1_all_shots), as "
    "the paper's authors count; of the first match alone it is higher."
)
_FOOTNOTES = {
    "SCT": "its miner compared Euclidean distances as if they were similarities, so that hard and easy were exchanged",
    "ArcFace": "its class vectors were not given to the optimizer and stayed as drawn",
    "SoftTriplet": "its class vectors were not given to the optimizer and stayed as drawn",
}
_LOSS_NAMES = {
    "softtriple": "SoftTriplet",
    "arcface": "ArcFace",
    "sct": "SCT",
    "contrastive": "Contrastive",
    "triplet": "Triplet",
    "adatriplet": "AdaTriplet",
}
_NAMED_BY_MARGINS = {"wat": "WAT"}  # the triplet loss with these margins has a name of its own
_PARAMETER_NAMES = {"lam": "lambda"}
_SEARCH_NAMES = {"automargin": "automargin"}  # by kind of margins; everything else is the search "grid"


@cache
def paper_table(name: str) -> pd.DataFrame:
    """`reports/fmim_reports/paper/NAME.csv` as published."""
    with resources.files("fmim_reports.paper").joinpath(f"{name}.csv").open("r", encoding="utf-8") as stream:
        return pd.read_csv(stream)


def loss_name(arm: ArmEntry) -> str | None:
    """What the paper calls an arm's loss, which follows from the kinds of its loss and margins; None if it has none."""
    return _NAMED_BY_MARGINS.get(arm.margins_kind, _LOSS_NAMES.get(arm.loss_kind))


def footnotes(losses: Iterable[str | None], metrics: Iterable[str] = ()) -> list[str]:
    """What to know of the published values of these losses, by the paper's names, and of records' metrics."""
    named = {*losses}
    found = [f"Published {name}: in the released code {text}." for name, text in _FOOTNOTES.items() if name in named]
    if "mAP_at_R" in metrics:
        found.append("Published mAP@R: in the released code from the mean of the fold models' embeddings.")
    return found


def search_name(arm: ArmEntry) -> str:
    """What the paper's files call the way an arm's values are set: "grid" or "automargin"."""
    return _SEARCH_NAMES.get(arm.margins_kind, "grid")


PublishedRow = tuple[str, str]
"""A row of Tables 1b and 1c by the names printed there: (loss, setting), e.g. ("Triplet", "Q1")."""


@cache  # a report asks for each value several times, and a selection from a table takes milliseconds
def ablation_value(row: PublishedRow | None, metric: str) -> float | None:
    """Tables 1b and 1c in percent, by row and a record's metric; None where the paper has none."""
    table, name = paper_table("ablation"), METRIC_NAMES.get(metric)
    if row is None or name is None:
        return None
    rows = table[
        table["table"].str.startswith("automargin")
        & (table["method"] == row[0])
        & (table["setting"] == row[1])
        & (table["metric"] == name)
    ]
    return float(rows["value_percent"].iloc[0]) if len(rows) else None


def of_rows(rows: Mapping[str, PublishedRow]) -> Callable[[ArmEntry, str, int | None], float | None]:
    """Return the values of Tables 1b and 1c by arm, metric and time: over all times, of arms whose row is named."""
    return lambda arm, metric, time: None if time is not None else ablation_value(rows.get(arm.name), metric)


def grid_value(search: str, configuration: Mapping[str, Any], dataset: str) -> float | None:
    """Suppl. Table 3 in percent: mAP of one configuration of "grid" or "automargin"; None where it has none."""
    for row in grid_rows(search, dataset).itertuples():
        if configuration == {row.parameter_1: row.value_1, row.parameter_2: row.value_2}:
            return float(str(row.mAP_percent))
    return None


def grid_mean_se(search: str, dataset: str) -> MeanSE:
    """Mean ± SE (ddof = 1) in percent over the configurations of Suppl. Table 3."""
    return mean_se(grid_rows(search, dataset)["mAP_percent"].tolist())


@cache
def grid_rows(search: str, dataset: str) -> pd.DataFrame:
    table = paper_table("grid_vs_automargin")
    return table[(table["search"] == search) & (table["dataset"] == dataset)]


def dynamics(series: str) -> pd.Series:
    """Fig. 3a: "epsilon", "beta" or "loss" by epoch, 0 being the first one."""
    table = paper_table("training_dynamics")
    return table[table["series"] == series].set_index("epoch")["value"]


def lambda_value(lam: float, metric: str, apart: bool) -> float | None:
    """Table 1a in percent, by λ and a record's metric, over queries at least 6 years apart if `apart`."""
    table = paper_table("ablation")
    name = METRIC_NAMES[metric] + ("_6y" if apart else "")
    rows = table[(table["table"] == "lambda") & (table["setting"] == f"lambda={lam:g}") & (table["metric"] == name)]
    return float(rows["value_percent"].iloc[0]) if len(rows) else None


def margin_curve() -> dict[float, float]:
    """Fig. 2a: ε → mAP as a fraction."""
    table = paper_table("margin_sensitivity")
    return {float(epsilon): float(value) for epsilon, value in zip(table["margin_epsilon"], table["mAP"], strict=True)}


def selected(arm: ArmEntry, names: Iterable[str], dataset: str) -> dict[str, float]:
    """Suppl. Table 1b: the value the paper selected on "OAI" or "CXR" for each named hyperparameter it lists."""
    table = paper_table("hyperparameters")
    rows = table[(table["method"] == loss_name(arm)) & (table["search"] == search_name(arm))]
    values = dict(zip(rows["parameter"], rows[f"selected_{dataset.lower()}"], strict=True))
    found = {name: values.get(_PARAMETER_NAMES.get(name, name)) for name in names}
    return {name: float(value) for name, value in found.items() if value is not None}


@cache
def by_year(loss: str | None, metric: str, year: int | None, dataset: str = "OAI") -> MeanSE | None:
    """Suppl. Tables 4 (OAI) and 5 (CXR) in percent, by the paper's name of a loss, a record's metric and year.

    The year None stands for all years; the value is None where the paper has none.
    """
    table = paper_table("by_year")
    rows = table[
        (table["dataset"] == dataset)
        & (table["metric"] == METRIC_NAMES.get(metric, metric))
        & (table["loss"] == loss)
        & (table["years_after_baseline"] == ("all" if year is None else str(year)))
    ]
    if rows.empty:
        return None
    mean, se = (float(rows[name].iloc[0]) for name in ("mean_percent", "se_percent"))
    return MeanSE(mean, se, TEST_SEEDS, se * TEST_SEEDS**0.5)


@dataclass(frozen=True)
class AllYears:
    """A printed "All" of Suppl. Tables 4 and 5 in percent, and the two means it could be."""

    dataset: str
    metric: str
    loss: str
    printed: float
    pooled: float  # each query counts once
    plain: float  # each year counts once


@cache
def all_years() -> list[AllYears]:
    """Every "All" of the paper beside the mean of its years, weighted by their queries and unweighted."""
    queries = paper_table("query_counts").set_index(["dataset", "years_after_baseline"])["images"]
    found = []
    for key, rows in paper_table("by_year").groupby(["dataset", "metric", "loss"]):
        dataset, metric, loss = map(str, key)
        values = dict(zip(rows["years_after_baseline"], rows["mean_percent"], strict=True))
        printed = values.pop("all")
        sizes = [queries[dataset, int(year)] for year in values]
        by_year = np.array(list(values.values()), dtype=float)
        pooled, plain = float(np.average(by_year, weights=sizes)), float(by_year.mean())
        found.append(AllYears(dataset, metric, loss, printed, pooled, plain))
    return found
