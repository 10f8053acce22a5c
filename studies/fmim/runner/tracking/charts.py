"""The charts that MLflow's page of a study opens with: the state of a shared view, in a tag of its experiment.

MLflow opens such a view only by its address, which `fmim ui` and the links in the parent run have.
"""

from __future__ import annotations

import json
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
COLOUR = "mlflow.runColor"
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf")
"""Of arms' runs, by their place: MLflow's own are often alike."""
STAGES = {"study": "study", "arm": "selected"}
"""Tags `fmim.stage` of the parent run and of arms' runs; with those of search trials they are sorted as in the view."""
LINE: dict[str, Any] = {"xAxisKey": "step", "yAxisKey": "metric", "xAxisScaleType": "linear", "scaleType": "linear"}
LINE |= {"range": {}, "useGlobalXaxisKey": True, "useGlobalLineSmoothing": True}
FOLDED = ("Model metrics", "System metrics", "cost", "system", "test", "validation")
"""Sections that MLflow makes of all other metrics."""


def view_of(study: StudyFile, metric: str) -> str:
    """Return the view of a study: its parent run, its arms' runs and its search trials, in this order, with charts.

    Curves by epoch are of the first ten runs, which are the parent run and arms, the compared ones first. Parallel
    coordinates are of all search trials, for each set of hyperparameters that an arm searched. Costs come last.

    Args:
        metric: the study's, as MLflow names it.
    """
    searched = {tuple(arm.configurations[0]) for arm in study.arms if arm.n_s > 1 and arm.configurations}
    sections: dict[str, list[dict[str, Any]]] = {
        "Selected configurations": [
            *({"type": "LINE", "metricKey": name, **LINE} for name in BY_EPOCH.values()),
            {"type": "BAR", "metricKey": TEST.format(metric)},
        ],
        "Search trials": [
            {"type": "PARALLEL", "selectedParams": ["arm", *names], "selectedMetrics": [f"validation/{metric}"]}
            for names in sorted(searched, key=lambda names: (-len(names), names))
        ],
        "Cost of each search": [{"type": "BAR", "metricKey": name} for name in COSTS.values()],
    }
    charts = [{"metricSectionId": name, **chart} for name, found in sections.items() for chart in found]
    of_chart = {"runsCountToCompare": 10, "showAllRuns": True, "deleted": False, "isGenerated": False}
    of_section = {"deleted": False, "isGenerated": False}
    state = {
        "searchFilter": f"tags.`fmim.study_id` = '{study.id}' AND tags.`fmim.stage` LIKE 's%'",
        "orderByKey": "tags.`fmim.stage`",
        "orderByAsc": False,
        "runsHiddenMode": "FIRST_10_RUNS",
        "isAccordionReordered": True,  # sections keep this order
        "hideEmptyCharts": True,
        "compareRunSections": [
            {"uuid": name, "name": name, "display": name in sections, "isReordered": name in sections, **of_section}
            for name in (*(name for name, found in sections.items() if found), *FOLDED)
        ],
        "compareRunCharts": [{"uuid": f"fmim-{number}", **of_chart, **chart} for number, chart in enumerate(charts)],
    }
    return json.dumps(state, ensure_ascii=False)
