"""The paper's published values, as files in `reports/fmim_reports/paper`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd

from fmim_core.records import ArmEntry
from fmim_reports.reading.results import Results
from fmim_reports.stats import MeanSE, mean_se

REPLICATES = 5  # folds of a published mean on validation, seeds of one on the test set
LABEL = "published (OAI, 5-fold CV)"
TABLE_1A = (
    "The paper's text calls Table 1(a) “test set”; its caption says 5-fold CV, and the authors' eval_ablation.py "
    "searches for a validation fold's visits from the query time on among its baseline images."
)
# The paper's names of what records call otherwise.
METRIC_NAMES = {"mAP": "mAP", "mAP_at_R": "mAP@R", "CMC_1_all_shots": "CMC@1"}
CMC_NOTE = (
    "CMC top-1 here is the share of a query's matches before which no other person's image comes (CMC_1_all_shots), as "
    "the paper's authors count; of the first match alone it is higher."
)
_FOOTNOTES = {
    "SCT": "its miner compared Euclidean distances as if they were similarities, so hard and easy were swapped",
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
# What Tables 1b and 1c call ways to set a margin, by the end of an arm's name.
_SETTINGS = {"q1": "Q1", "q2": "Q2", "wat": "WAT", "grid": "Grid search", "automargin": "AutoMargin"}


@dataclass(frozen=True)
class PaperData:
    """A data set of the paper: its kind here, its name and images there, and the table of its test values by year."""

    kind: str
    name: str
    images: str
    by_year: str

    @property
    def test_label(self) -> str:
        return f"published ({self.name}, {REPLICATES} seeds)"


OAI = PaperData("oai", "OAI", "knee radiographs of the OAI", "Suppl. Table 4")
CXR = PaperData("chestxray14", "CXR", "chest radiographs of ChestX-ray14", "Suppl. Table 5")


def paper_data(results: Results) -> PaperData:
    """Return whose published values stand beside ours: those of the same images, or the OAI's."""
    return CXR if results.study.data.kind == CXR.kind else OAI


@cache
def paper_table(name: str) -> pd.DataFrame:
    """Return `reports/fmim_reports/paper/NAME.csv` as published."""
    with resources.files("fmim_reports.paper").joinpath(f"{name}.csv").open("r", encoding="utf-8") as stream:
        return pd.read_csv(stream)


def _rows(name: str, **values: Any) -> pd.DataFrame:
    """Return the rows of a published table that have these values in the columns of these names."""
    table = paper_table(name)
    for column, value in values.items():
        table = table[table[column].astype(object) == value]  # a name of others may be no UTF-8
    return table


def loss_name(arm: ArmEntry) -> str | None:
    """Return the paper's name of an arm's loss, by the kinds of its loss and margins; None if it has none."""
    return "WAT" if arm.margins_kind == "wat" else _LOSS_NAMES.get(arm.loss_kind)


def search_name(arm: ArmEntry) -> str:
    """Return the name that the paper's files have for how an arm's values are set: "grid" or "automargin"."""
    return "automargin" if arm.margins_kind == "automargin" else "grid"


def footnotes(losses: Iterable[str | None], metrics: Iterable[str] = ()) -> list[str]:
    """Return what to know of the published values of these losses, by the paper's names, and of records' metrics."""
    named = {*losses}
    found = [f"Published {name}: in the released code {text}." for name, text in _FOOTNOTES.items() if name in named]
    if "mAP_at_R" in metrics:
        found.append("Published mAP@R: in the released code from the mean of the fold models' embeddings.")
    return found


@cache  # a report asks for each value several times, and a selection from a table takes milliseconds
def _ablation_value(method: str, setting: str, metric: str) -> float | None:
    rows = _rows("ablation", method=method, setting=setting, metric=metric)
    return float(rows["value_percent"].iloc[0]) if len(rows) else None


def ablation_value(arm: ArmEntry, metric: str) -> float | None:
    """Return a value of Tables 1b and 1c, on validation folds, in percent; None where the paper has none."""
    method, setting = _LOSS_NAMES.get(arm.loss_kind), _SETTINGS.get(arm.name.rpartition("_")[2])
    if method is None or setting is None or metric not in METRIC_NAMES:
        return None
    return _ablation_value(method, setting, METRIC_NAMES[metric])


def lambda_value(lam: float, metric: str, apart: bool) -> float | None:
    """Return a value of Table 1a in percent, by λ and a record's metric; if `apart`, over queries 6 years or more."""
    return _ablation_value("AdaTriplet", f"lambda={lam:g}", METRIC_NAMES[metric] + ("_6y" if apart else ""))


def grid_value(search: str, configuration: Mapping[str, Any], dataset: str) -> float | None:
    """Return the mAP of a configuration of "grid" or "automargin" in Suppl. Table 3, in percent; None without one."""
    for row in _rows("grid_vs_automargin", search=search, dataset=dataset).itertuples():
        if configuration == {row.parameter_1: row.value_1, row.parameter_2: row.value_2}:
            return float(str(row.mAP_percent))
    return None


def grid_mean_se(search: str, dataset: str) -> MeanSE:
    """Return the mean ± SE (ddof = 1) in percent over the configurations of Suppl. Table 3."""
    return mean_se(_rows("grid_vs_automargin", search=search, dataset=dataset)["mAP_percent"].tolist())


def dynamics(series: str) -> pd.Series:
    """Return Fig. 3a: "epsilon", "beta" or "loss" by epoch, 0 being the first one."""
    return _rows("training_dynamics", series=series).set_index("epoch")["value"]


def margin_curve() -> dict[float, float]:
    """Return Fig. 2a: ε → mAP as a fraction."""
    curve = paper_table("margin_sensitivity").astype(float)
    return dict(zip(curve["margin_epsilon"].tolist(), curve["mAP"].tolist(), strict=True))


def selected(arm: ArmEntry, names: Iterable[str], dataset: str) -> dict[str, float]:
    """Return the values of named hyperparameters that the paper selected on "OAI" or "CXR" (Suppl. Table 1b)."""
    rows = _rows("hyperparameters", method=loss_name(arm), search=search_name(arm))
    values = dict(zip(rows["parameter"], rows[f"selected_{dataset.lower()}"], strict=True))
    found = {name: values.get("lambda" if name == "lam" else name) for name in names}
    return {name: float(value) for name, value in found.items() if value is not None}


@cache
def by_year(loss: str | None, metric: str, year: int | None, dataset: str) -> MeanSE | None:
    """Return a value of Suppl. Tables 4 (OAI) and 5 (CXR) in percent, by the paper's name of a loss; None without one.

    The metric is a record's; the year None stands for all years.
    """
    when, named = "all" if year is None else str(year), METRIC_NAMES.get(metric, metric)
    rows = _rows("by_year", dataset=dataset, metric=named, loss=loss, years_after_baseline=when)
    if rows.empty:
        return None
    mean, se = (float(rows[name].iloc[0]) for name in ("mean_percent", "se_percent"))
    return MeanSE(mean, se, REPLICATES, se * REPLICATES**0.5)
