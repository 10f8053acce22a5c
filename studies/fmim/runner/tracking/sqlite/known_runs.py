"""Which runs of a study MLflow has: of 20,000 in a sqlite file in 3 s, where MLflow's own search needs over 90 s."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from functools import partial
from typing import Any

from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.pages import all_pages

# MLflow's search reads all metrics, parameters and tags of each run that it finds, and nobody looks at them here.
_QUERY = """
SELECT coalesce(trial.value, ''), runs.run_uuid, runs.status, runs.end_time, runs.artifact_uri FROM runs
JOIN tags AS study ON study.run_uuid = runs.run_uuid AND study.key = 'fmim.study_id' AND study.value = ?
LEFT JOIN tags AS trial ON trial.run_uuid = runs.run_uuid AND trial.key = 'fmim.trial'
WHERE runs.experiment_id = ? AND runs.lifecycle_stage = 'active'
"""


@dataclass(frozen=True)
class KnownRun:
    """A run that MLflow has; end_time in ms."""

    run_id: str
    status: str
    end_time: int | None
    artifact_uri: str


def known_runs(client: Any, address: TrackingAddress, experiment: str, study_id: str) -> dict[str, KnownRun]:
    """The runs of a study by trial, the parent under ""."""
    if address.file is not None:
        with contextlib.closing(sqlite3.connect(address.file, timeout=20.0)) as database:
            return {trial: KnownRun(*rest) for trial, *rest in database.execute(_QUERY, (study_id, int(experiment)))}
    query = f"tags.`fmim.study_id` = '{study_id}'"
    runs = all_pages(partial(client.search_runs, [experiment], query, max_results=1000))  # a page has no more
    found = ((run.data.tags.get("fmim.trial", ""), run.info) for run in runs)
    return {trial: KnownRun(one.run_id, one.status, one.end_time, one.artifact_uri) for trial, one in found}
