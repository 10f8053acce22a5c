"""The paper's published values, as files in `reports/paper`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd

from reports.stats import MeanSE, mean_se

LABEL = "published (OAI, 5-fold CV)"


@cache
def paper_table(name: str) -> pd.DataFrame:
    """`reports/paper/NAME.csv` as published."""
    with resources.files("reports.paper").joinpath(f"{name}.csv").open("r", encoding="utf-8") as stream:
        return pd.read_csv(stream)


def ablation_value(loss: str, search: str, metric: str) -> float | None:
    """Tables 1b and 1c in percent, by loss, search and metric (mAP, CMC@1); None where the paper has none."""
    table = paper_table("ablation")
    rows = table[
        table["table"].str.startswith("automargin")
        & (table["method"] == loss)
        & (table["setting"] == search)
        & (table["metric"] == metric)
    ]
    return float(rows["value_percent"].iloc[0]) if len(rows) else None


def grid_value(search: str, configuration: Mapping[str, Any], dataset: str) -> float | None:
    """Suppl. Table 3 in percent: mAP of one configuration of "grid" or "automargin"; None where it has none."""
    for row in grid_rows(search, dataset).itertuples():
        if configuration == {row.parameter_1: row.value_1, row.parameter_2: row.value_2}:
            return float(str(row.mAP_percent))
    return None


def grid_mean_se(search: str, dataset: str) -> MeanSE:
    """Mean ± SE (ddof = 1) in percent over the configurations of Suppl. Table 3."""
    return mean_se(grid_rows(search, dataset)["mAP_percent"].tolist())


def grid_rows(search: str, dataset: str) -> pd.DataFrame:
    table = paper_table("grid_vs_automargin")
    return table[(table["search"] == search) & (table["dataset"] == dataset)]


def dynamics(series: str) -> pd.Series:
    """Fig. 3a: "epsilon", "beta" or "loss" by epoch, 0 being the first one."""
    table = paper_table("training_dynamics")
    return table[table["series"] == series].set_index("epoch")["value"]
