"""The charts that MLflow's page of a study opens with: the state of a shared view, in a tag of its experiment.

MLflow opens such a view only by its address, which `fmim ui` and the links in the parent run have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fmim_core.records import StudyFile

VIEW = "mlflow.sharedViewState."  # and the key of a view: here the study's id
TRAINING = {"workflowType": "machine_learning"}
"""Since version 3.5 MLflow opens in a view for language models unless a link says otherwise."""
BY_EPOCH = {
    "validation_mAP": "validation mAP",
    "loss": "training loss",
    "epsilon": "margin epsilon",
    "beta": "margin beta",
}
COSTS = {"n_s": "N_s", "device_seconds": "search device seconds", "epochs": "search epochs"}
TEST = "test {}"
"""Metrics of an arm's run, means over folds or seeds: MLflow has the name of a metric as the title of its chart."""
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf")
"""Of arms' runs, by their place: MLflow's own are often alike."""
STAGES = {"study": "study", "arm": "selected"}
"""Tags `fmim.stage` of the parent run and of arms' runs; with those of search trials they are sorted as in the view."""


def view_of(study: StudyFile, metric: str) -> str:
    """Return the view of a study: its parent run, its arms' runs and its search trials, in this order, with charts.

    Curves by epoch are of the first ten runs, which are the parent run and arms, the compared ones first. Parallel
    coordinates are of all search trials, for each set of hyperparameters that an arm searched. What the search cost is
    last; sections that MLflow makes of all other metrics are folded.

    Args:
        metric: the study's, as MLflow names it.
    """
    searched = {tuple(arm.configurations[0]) for arm in study.arms if arm.n_s > 1 and arm.configurations}
    parallel = [
        {"selectedParams": ["arm", *names], "selectedMetrics": [f"validation/{metric}"], "showAllRuns": True}
        for names in sorted(searched, key=lambda names: (-len(names), names))
    ]
    sections = {
        "Selected configuration of each arm": [
            *_charts("LINE", BY_EPOCH.values()),
            *_charts("BAR", [TEST.format(metric)]),
        ],
        "Search trials": [{"type": "PARALLEL"} | one for one in parallel],
        "Cost of each search": _charts("BAR", COSTS.values()),
    }
    folded = ("Model metrics", "System metrics", "cost", "system", "test", "validation")
    shown = [(f"fmim-{number}", name) for number, name in enumerate(sections)]
    state = {
        "searchFilter": f"tags.`fmim.study_id` = '{study.id}' AND tags.`fmim.stage` LIKE 's%'",
        "orderByKey": "tags.`fmim.stage`",
        "orderByAsc": False,
        "runsHiddenMode": "FIRST_10_RUNS",
        "isAccordionReordered": True,  # sections keep this order
        "hideEmptyCharts": True,
        "compareRunSections": [_section(uuid, name, True) for uuid, name in shown]
        + [_section(f"fmim-{name}", name, False) for name in folded],
        "compareRunCharts": _placed(dict(zip(dict(shown), sections.values(), strict=True))),
    }
    return json.dumps(state, ensure_ascii=False)


def _charts(kind: str, metrics: Iterable[str]) -> list[dict[str, Any]]:
    """Return a chart of each metric."""
    line = {"xAxisKey": "step", "useGlobalXaxisKey": True, "useGlobalLineSmoothing": True, "scaleType": "linear"}
    line |= {"xAxisScaleType": "linear", "range": {}, "yAxisKey": "metric"}
    return [{"type": kind, "metricKey": name} | (line if kind == "LINE" else {}) for name in metrics]


def _placed(sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Return the charts of all sections, each with its section and a name of its own."""
    of: dict[str, Any] = {"runsCountToCompare": 10, "deleted": False, "isGenerated": False}
    placed = [(uuid, one) for uuid, found in sections.items() for one in found]
    return [
        of | {"uuid": f"{uuid}-{number}", "metricSectionId": uuid, **one} for number, (uuid, one) in enumerate(placed)
    ]


def _section(uuid: str, name: str, shown: bool) -> dict[str, Any]:
    return {"uuid": uuid, "name": name, "display": shown, "isReordered": shown, "deleted": False, "isGenerated": False}
