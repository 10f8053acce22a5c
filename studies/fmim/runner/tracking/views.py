"""Pages of MLflow's UI: a study's saved view, which shows its arms side by side, and links to it and to runs.

Since version 3.5 MLflow opens in a view for language models unless a link says otherwise (`workflowType`), and shows a
table of runs as an experiment's tag `mlflow.sharedViewState.KEY` says where the link has that KEY.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

TRAINING = {"workflowType": "machine_learning"}
NAMES = "attributes.`Run Name`"  # the column of runs' names
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""Tell versions of MLflow that go by it that the experiment is one of training."""


def view_tag(study_id: str) -> str:
    """The experiment's tag that holds the saved view of a study."""
    return f"mlflow.sharedViewState.{study_id}"


def arms_view(study_id: str, name: str, at: int, metric: str, arms: Iterable[str], varied: Iterable[str]) -> str:
    """The view, as MLflow keeps it: replicates of the study's arms, one row an arm with means over seeds, best first.

    Args:
        name: what the UI's list of saved views calls it.
        at: milliseconds; when it was made.
        metric: the test metric in MLflow's name, e.g. `test/mAP`.
        varied: parameters that have a column.
    """
    columns = [f"metrics.`{one}`" for one in dict.fromkeys([metric, "test/CMC_1"])]
    state = {
        "searchFilter": f"tags.`fmim.study_id` = '{study_id}' and tags.`fmim.stage` = 'replicate'",
        "orderByKey": columns[0],
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": [*columns, *(f"params.`{one}`" for one in varied)],
        "columnOrder": [NAMES],
        "columnWidths": {NAMES: 300},  # pixels; MLflow's own would cut the names of arms
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "param", "groupByData": "arm"}]},
        "groupsExpanded": {f"param.arm.{arm}": False for arm in arms},
    }
    return json.dumps({"name": name, "createdAt": at, "updatedAt": at, "state": json.dumps(state)})


def arms_page(experiment: str, study_id: str) -> str:
    """The saved view's page, from the UI's address on."""
    return _page(("experiments", experiment, "runs"), {"viewStateShareKey": study_id} | TRAINING)


def study_page(experiment: str, study_id: str, has_view: bool) -> str:
    """The saved view if there is one, as after the end of a study; else a list of the study's runs."""
    if has_view:
        return arms_page(experiment, study_id)
    query = {"searchFilter": f"tags.`fmim.study_id` = '{study_id}'"}
    return _page(("experiments", experiment, "runs"), query | TRAINING)


def run_page(experiment: str, run: str, *within: str) -> str:
    """A run's page, or one within it, e.g. of an artifact."""
    return _page(("experiments", experiment, "runs", run, *within), TRAINING)


def _page(path: Sequence[str], query: dict[str, str]) -> str:
    return f"#/{'/'.join(path)}?{urlencode(query)}"
