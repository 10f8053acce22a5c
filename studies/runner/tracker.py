"""The MLflow mirror: every trial as a run, written by one thread, and never in the way of training."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_core.records import FINAL, Record, now
from fmim_core.trainer import Row
from fmim_core.trial import TrialSpec, blank_record

logger = logging.getLogger(__name__)

GIVE_UP_AFTER = 3  # troubles in a row
# A stopped trial ended as it was meant to; the tag fmim.status tells it from a completed one.
STATUS = {"completed": "FINISHED", "stopped": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
LONGEST_PARAMETER = 500  # MLflow cuts longer ones; the whole configuration is in the artifact record.json
EPOCH_METRICS = (
    "loss",
    "epsilon",
    "beta",
    "delta_mean",
    "phi_an_mean",
    "phi_ap_mean",
    "selected_share",
    "empty_batches",
    "validation_mAP",
)
COST_METRICS = ("startup_s", "data_s", "train_s", "eval_s", "wall_s", "energy_j", "epochs", "images")


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Each name in the letters MLflow allows: `mAP@R` → `mAP_at_R`, anything else → `_`.

    Raises:
        ValueError: two names would become one.
    """
    safe: dict[str, str] = {}
    for name in dict.fromkeys(names):
        candidate = re.sub(r"[^\w\-. /:]", "_", name.replace("@", "_at_"))
        clash = [other for other, taken in safe.items() if taken == candidate]
        if clash:
            raise ValueError(f"metrics {clash[0]!r} and {name!r} are both {candidate!r} to MLflow: rename one")
        safe[name] = candidate
    return safe


def check_tracking_uri(uri: str) -> str:
    """The URI with a sqlite file's path made absolute, checked as far as can be without connecting.

    Raises:
        ValueError: a folder, which MLflow no longer takes, or a scheme it does not know.
    """
    safe_names((*METRICS, *EPOCH_METRICS, *COST_METRICS))
    scheme = uri.partition(":")[0]
    if uri.startswith("sqlite:///"):
        return f"sqlite:///{Path(uri.removeprefix('sqlite:///')).absolute()}"
    if "://" in uri and scheme in (
        "http",
        "https",
        "postgresql",
        "mysql",
        "mssql",
        "postgresql+psycopg2",
        "mysql+pymysql",
    ):
        return uri
    raise ValueError(
        f"--tracking-uri {uri!r}: MLflow keeps runs in a database or on a server, not in a folder; "
        "give sqlite:///FILE.db, a database URL, or http(s)://HOST:PORT"
    )


@dataclass(frozen=True)
class Identity:
    """What a study is called in the tracker: its experiment, its parent run, and the id that recognises them."""

    study: str
    study_id: str
    preset: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


class Tracker:
    """Mirrors trials into MLflow from a thread of its own.

    One experiment per study, a parent run per study folder, child runs per trial. A resumed study goes on in the
    same runs; runs that a killed process left RUNNING are closed as KILLED; records that never reached the tracker
    are mirrored at the next start. Trouble is logged and counted, and after three in a row the mirror gives up:
    records are the truth.
    """

    def __init__(self, uri: str, identity: Identity, records: Iterable[Record]) -> None:
        self._uri, self._identity = uri, identity
        self._tasks: queue.Queue[Callable[[], None] | None] = queue.Queue()
        self._troubles: list[str] = []
        self._in_a_row = 0
        self._runs: dict[str, str] = {}  # trial → MLflow run
        self._logged: dict[str, int] = {}  # trial → last epoch logged
        self._thread = threading.Thread(target=self._work, name="mlflow-mirror", daemon=True)
        self._tasks.put(lambda: self._connect(list(records)))
        self._thread.start()

    # The observer's part: called in the runner, returns at once.

    def started(self, spec: TrialSpec) -> None:
        """A trial begins: its run is made, or opened again."""
        self._tasks.put(lambda: self._start_run(blank_record(spec, now())))

    def epoch(self, spec: TrialSpec, row: Row) -> None:
        """A trial has run an epoch: its row, with the epoch as the step."""
        self._tasks.put(lambda: self._log_rows(spec.id, [row]))

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """A trial is over: what is still missing, final metrics, cost, the record itself, and the status."""
        self._tasks.put(lambda: self._finish_run(record))

    def settle(self, timeout_s: float = 120.0) -> None:
        """Wait until what was to be mirrored so far is mirrored, or has failed."""
        settled = threading.Event()
        self._tasks.put(settled.set)
        settled.wait(timeout_s)

    def close(self, status: str, artifacts: Iterable[Path], timeout_s: float = 120.0) -> list[str]:
        """Mirror the artifacts, end the parent run with `status`, and return the troubles there were, in words."""
        self._tasks.put(lambda: self._finish_parent(status, list(artifacts)))
        self._tasks.put(None)
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            self._troubles.append(f"the mirror was still busy after {timeout_s:g} s")
        return self._troubles

    # The thread's part.

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self._in_a_row >= GIVE_UP_AFTER:
                continue
            try:
                task()
                self._in_a_row = 0
            except Exception as error:
                self._in_a_row += 1
                self._troubles.append(f"{type(error).__name__}: {str(error).strip()[:200]}")
                logger.warning("MLflow: %s", self._troubles[-1])

    def _connect(self, records: list[Record]) -> None:
        # One attempt more is enough for a mirror that catches up at the next start.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
        self._in_a_row = GIVE_UP_AFTER - 1  # without a connection nothing else can work
        from mlflow import MlflowClient

        logging.getLogger("mlflow").setLevel(logging.WARNING)
        with _sole_user_of(self._uri):
            self._client = MlflowClient(self._uri)
            self._experiment = self._find_experiment()
        runs = self._own_runs()
        self._parent = self._open_parent(runs.pop("", None))
        self._runs = {trial: run.info.run_id for trial, run in runs.items()}
        for run in runs.values():
            if run.info.status == "RUNNING":  # its process was killed before it could say so
                self._client.set_terminated(run.info.run_id, "KILLED")
        for record in records:
            run = runs.get(record["trial"])
            mirrored = run is not None and run.info.status == STATUS[record["status"]]
            if record["status"] in FINAL and not mirrored:
                self._start_run(record)
                self._finish_run(record)

    def _find_experiment(self) -> str:
        name = self._identity.study
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        if not self._uri.startswith("sqlite:///"):
            return str(self._client.create_experiment(name))
        # Beside the database: MLflow's own default is a folder wherever the program was started.
        artifacts = Path(self._uri.removeprefix("sqlite:///")).parent / "mlflow-artifacts" / name
        return str(self._client.create_experiment(name, artifact_location=artifacts.as_uri()))

    def _own_runs(self) -> dict[str, Any]:
        """The study's runs so far by trial, the parent under ""; all pages of them (a page has at most 1,000)."""
        runs: dict[str, Any] = {}
        token: str | None = None
        query = f"tags.`fmim.study_id` = '{self._identity.study_id}'"
        while True:
            page = self._client.search_runs([self._experiment], query, max_results=1000, page_token=token)
            runs |= {run.data.tags.get("fmim.trial", ""): run for run in page}
            token = page.token
            if not token:
                return runs

    def _open_parent(self, found: Any) -> str:
        if found is not None:
            self._client.update_run(found.info.run_id, "RUNNING")
            return str(found.info.run_id)
        name = f"{self._identity.study} ({self._identity.preset})"
        tags = {"fmim.study_id": self._identity.study_id, "fmim.preset": self._identity.preset}
        run = self._client.create_run(self._experiment, tags=tags, run_name=name)
        self._log_parameters(run.info.run_id, self._identity.parameters)
        return str(run.info.run_id)

    def _start_run(self, trial: Mapping[str, Any]) -> None:
        """Open a trial's run; `trial` is a record, or as much of one as is known at the start."""
        name = trial["trial"]
        if name in self._runs:
            self._client.update_run(self._runs[name], "RUNNING")
            history = self._client.get_metric_history(self._runs[name], "loss")
            self._logged[name] = max((metric.step for metric in history), default=0)
            return
        tags = {f"fmim.{key}": str(trial[key]) for key in ("trial", "arm", "stage", "replicate", "seed", "fingerprint")}
        tags |= {"fmim.study_id": self._identity.study_id, "mlflow.parentRunId": self._parent}
        run = self._client.create_run(self._experiment, tags=tags, run_name=name)
        self._runs[name], self._logged[name] = run.info.run_id, 0
        stage = {key: trial[key] for key in ("arm", "stage", "replicate")}
        self._log_parameters(run.info.run_id, stage | dict(trial["configuration"]))

    def _log_parameters(self, run: str, parameters: Mapping[str, Any]) -> None:
        from mlflow.entities import Param

        values = [Param(name, str(value)[:LONGEST_PARAMETER]) for name, value in parameters.items()]
        self._client.log_batch(run, params=values)

    def _log_rows(self, trial: str, rows: Iterable[Row]) -> None:
        """The rows not logged yet, each with its epoch as the step."""
        fresh = [row for row in rows if row["epoch"] > self._logged[trial]]
        values = [(name, row[name], row["epoch"]) for row in fresh for name in EPOCH_METRICS if name in row]
        self._log_metrics(trial, values)
        self._logged[trial] = max([self._logged[trial], *(row["epoch"] for row in fresh)])

    def _log_metrics(self, trial: str, values: Iterable[tuple[str, float, int]]) -> None:
        from mlflow.entities import Metric

        time_ms = int(time.time() * 1000)
        metrics = [Metric(name, float(value), time_ms, step) for name, value, step in values]
        for start in range(0, len(metrics), 1000):  # MLflow takes no more at once
            self._client.log_batch(self._runs[trial], metrics=metrics[start : start + 1000])

    def _finish_run(self, record: Record) -> None:
        trial = record["trial"]
        self._log_rows(trial, record["history"])
        last = len(record["history"])
        cost = record["cost"]
        values = [(f"cost/{name}", cost[name], last) for name in COST_METRICS if cost.get(name) is not None]
        for part, metrics in record["metrics"].items():
            names = safe_names(metrics or {})
            values += [(f"{part}/{names[name]}", value, last) for name, value in (metrics or {}).items()]
        self._log_metrics(trial, values)
        self._client.set_tag(self._runs[trial], "fmim.status", record["status"])
        self._client.log_dict(self._runs[trial], json.loads(json.dumps(record, default=str)), "record.json")
        self._client.set_terminated(self._runs[trial], STATUS[record["status"]])

    def _finish_parent(self, status: str, artifacts: list[Path]) -> None:
        for path in artifacts:
            if path.is_dir():
                self._client.log_artifacts(self._parent, str(path), path.name)
            elif path.exists():
                self._client.log_artifact(self._parent, str(path))
        for run in self._own_runs().values():
            if run.info.status == "RUNNING":  # an interrupted study leaves trials behind
                self._client.set_terminated(run.info.run_id, "KILLED")
        self._client.set_terminated(self._parent, status)


@contextlib.contextmanager
def _sole_user_of(uri: str) -> Iterator[None]:
    """For a sqlite file: nobody else of ours in the block, since two programs cannot create its tables at once."""
    if not uri.startswith("sqlite:///"):
        yield
        return
    path = Path(uri.removeprefix("sqlite:///"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
