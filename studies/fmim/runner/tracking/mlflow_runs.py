"""What MLflow is told: one experiment a study, a parent run a study folder, a child run a trial."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_core.records import EpochRow, Record

# A stopped trial ended as it was meant to; the tag fmim.status tells it from a completed one.
STATUS = {"completed": "FINISHED", "stopped": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
ARTIFACTS = "mlflow-artifacts"  # a folder beside a sqlite file
METRICS_AT_ONCE = 800  # MLflow takes no more than 1,000 values of all kinds
LONGEST_PARAMETER = 500  # MLflow cuts longer ones; the whole configuration is in the artifact record.json
EPOCH_METRICS = (
    "loss",
    "epsilon",
    "beta",
    "delta_mean",
    "phi_an_mean",
    "phi_ap_mean",
    "active_share",
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
        ValueError: a folder, which MLflow no longer takes, a path that no address can hold, or a scheme it does not
            know.
    """
    safe_names((*METRICS, *EPOCH_METRICS, *COST_METRICS))
    scheme = uri.partition(":")[0]
    if uri.startswith("sqlite:///"):
        path = Path(uri.removeprefix("sqlite:///")).absolute()
        if found := [letter for letter in "?#%" if letter in str(path)]:
            raise ValueError(
                f"MLflow's database {path}: an address cannot hold {' and '.join(found)}; give --tracking-uri "
                "sqlite:///FILE.db in a folder without"
            )
        return f"sqlite:///{path}"
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


def database_files(uri: str, folder: Path) -> set[str]:
    """Names of what the mirror keeps directly in a folder: a sqlite file with what belongs to it, and artifacts."""
    path = Path(uri.removeprefix("sqlite:///"))
    if not uri.startswith("sqlite:///") or path.parent != folder:
        return set()
    return {ARTIFACTS, *(f"{path.name}{ending}" for ending in ("", ".lock", "-wal", "-shm", "-journal"))}


LoggedValue = tuple[str, float, int]  # name, value, step


@dataclass(frozen=True)
class Identity:
    """What a study is called in the tracker: its experiment, its parent run, and the id that recognises them."""

    study: str
    study_id: str
    preset: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class TrialUpdate:
    """What is to be written of one trial.

    beginning: as much of its record as is known when it begins, if it has. rows: of new epochs. record: if it is over.
    """

    trial: str
    beginning: Record | None = None
    rows: list[EpochRow] = field(default_factory=list)
    record: Record | None = None


class Runs:
    """The runs of one study folder.

    A resumed study continues in the same runs; runs that a killed process left RUNNING are closed as KILLED. Runs begin
    and end when their trials do, whenever that is written. Everything new of a trial goes into as few calls as there
    can be: each is a transaction, which a database on a disk takes milliseconds for.
    """

    def __init__(self, uri: str, identity: Identity) -> None:
        self._uri, self._identity = uri, identity
        self._runs: dict[str, str] = {}  # trial → MLflow run
        self._logged: dict[str, int] = {}  # trial → last epoch logged

    def connect(self, records: Iterable[Record]) -> None:
        """Find or make the experiment and the parent run; write those of the records that are not there yet."""
        # One attempt more is enough for a mirror that catches up at the next start.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
        from mlflow import MlflowClient

        logging.getLogger("mlflow").setLevel(logging.WARNING)
        with _locked(self._uri):
            self._client = MlflowClient(self._uri)
            self._experiment = self._find_experiment()
        runs = self._own_runs()
        self._parent = self._open_parent(runs.pop("", None))
        self._runs = {trial: info.run_id for trial, info in runs.items()}
        for info in runs.values():
            if info.status == "RUNNING":  # its process was killed before it could say so
                self._client.set_terminated(info.run_id, "KILLED")
        for record in records:
            name = record.trial
            if record.final and (name not in runs or runs[name].status != STATUS[record.status]):
                self.write(TrialUpdate(name, record, record=record))

    def _find_experiment(self) -> str:
        name = self._identity.study
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return str(found.experiment_id)
        if not self._uri.startswith("sqlite:///"):
            return str(self._client.create_experiment(name))
        # Beside the database: MLflow's own default is a folder wherever the program was started.
        artifacts = Path(self._uri.removeprefix("sqlite:///")).parent / ARTIFACTS / name
        return str(self._client.create_experiment(name, artifact_location=artifacts.as_uri()))

    def _own_runs(self, only: str = "") -> dict[str, Any]:
        """What MLflow knows of the study's runs by trial, the parent under "", `only` those of a further condition."""
        infos: dict[str, Any] = {}
        token: str | None = None
        query = f"tags.`fmim.study_id` = '{self._identity.study_id}'{only and f' and {only}'}"
        while True:  # a page has at most 1,000
            page = self._client.search_runs([self._experiment], query, max_results=1000, page_token=token)
            infos |= {run.data.tags.get("fmim.trial", ""): run.info for run in page}
            token = page.token
            if not token:
                return infos

    def _open_parent(self, found: Any) -> str:
        if found is not None:
            self._client.update_run(found.run_id, "RUNNING")
            return str(found.run_id)
        name = f"{self._identity.study} ({self._identity.preset})"
        tags = {"fmim.study_id": self._identity.study_id, "fmim.preset": self._identity.preset}
        run = self._client.create_run(self._experiment, tags=tags, run_name=name)
        self._log(run.info.run_id, parameters=self._identity.parameters)
        return str(run.info.run_id)

    def write(self, update: TrialUpdate) -> None:
        """Write what is new of a trial."""
        trial, record, beginning = update.trial, update.record, update.beginning
        if trial not in self._logged:  # a worker may die before its trial begins
            beginning = beginning or record
        parameters = {} if beginning is None else self._open(trial, beginning)
        rows = update.rows if record is None else record.history
        values = _of_rows(rows, after=self._logged[trial])
        if record is None:
            self._log(self._runs[trial], values, parameters)
        else:
            values += _of_the_end(record)
            self._log(self._runs[trial], values, parameters, {"fmim.status": record.status})
            self._client.log_text(self._runs[trial], record.text, "record.json")
            self._client.set_terminated(self._runs[trial], STATUS[record.status], _milliseconds(record.ended_at))
        self._logged[trial] = max([self._logged[trial], *(row.epoch for row in rows)])

    def _open(self, trial: str, beginning: Record) -> dict[str, Any]:
        """Make a trial's run, or open it again; returns the parameters that it still lacks."""
        if trial in self._runs:
            self._client.update_run(self._runs[trial], "RUNNING")
            history = self._client.get_metric_history(self._runs[trial], "loss")
            self._logged[trial] = max((metric.step for metric in history), default=0)
            return {}
        names = {"trial", "arm", "stage", "replicate", "search_split", "seed", "fingerprint"}
        tags = {f"fmim.{name}": str(value) for name, value in beginning.model_dump(include=names).items()}
        tags |= {"fmim.study_id": self._identity.study_id, "mlflow.parentRunId": self._parent}
        began = _milliseconds(beginning.started_at)
        run = self._client.create_run(self._experiment, start_time=began, tags=tags, run_name=trial)
        self._runs[trial], self._logged[trial] = run.info.run_id, 0
        initial = beginning.config.get("margins", {}).get("initial")  # of schedules that begin without statistics
        named = beginning.model_dump(include={"arm", "stage", "replicate"}) | beginning.configuration
        return named | ({"initial_margins": initial} if initial else {})

    def _log(
        self,
        run: str,
        values: Iterable[LoggedValue] = (),
        parameters: Mapping[str, Any] = MappingProxyType({}),
        tags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        at = int(time.time() * 1000)
        metrics = [Metric(name, float(value), at, step) for name, value, step in values]
        params = [Param(name, str(value)[:LONGEST_PARAMETER]) for name, value in parameters.items()]
        if params or tags or metrics:
            first = metrics[:METRICS_AT_ONCE]
            self._client.log_batch(run, first, params, [RunTag(name, value) for name, value in tags.items()])
        for start in range(METRICS_AT_ONCE, len(metrics), METRICS_AT_ONCE):
            self._client.log_batch(run, metrics[start : start + METRICS_AT_ONCE])

    def finish_parent(self, status: str, artifacts: Iterable[Path]) -> None:
        """Write the artifacts, close what still runs, and end the parent run with `status`."""
        for path in artifacts:
            if path.is_dir():
                self._client.log_artifacts(self._parent, str(path), path.name)
            elif path.exists():
                self._client.log_artifact(self._parent, str(path))
        for info in self._own_runs("attributes.status = 'RUNNING'").values():  # an interrupted study leaves some behind
            self._client.set_terminated(info.run_id, "KILLED")
        self._client.set_terminated(self._parent, status)


def _of_rows(rows: Iterable[EpochRow], after: int) -> list[LoggedValue]:
    """The metrics of the epochs after one, each with its epoch as the step; of a fold ensemble the first member's."""
    values: list[LoggedValue] = []
    for row in rows:
        if row.epoch > after:  # the next member's epochs begin with 1 again
            after = row.epoch
            values += [(name, value, after) for name, value in row.model_dump(include=set(EPOCH_METRICS)).items()]
    return values


def _of_the_end(record: Record) -> list[LoggedValue]:
    """The cost and the final metrics, those of each member of a fold ensemble too, and the triplet term's beginning."""
    last, cost = len(record.history), record.cost.model_dump(include=set(COST_METRICS))
    values = [(f"cost/{name}", value, last) for name, value in cost.items() if value is not None]
    for first in record.history[:1]:
        rows = [row for history in record.histories for row in history]
        empty, batches = (sum(getattr(row, name) for row in rows) for name in ("empty_batches", "batches"))
        values += [("initial_epsilon", first.epsilon, last), ("initial_beta", first.beta, last)]
        values += [("empty_batches_share", empty / max(1, batches), last)]
    measured = record.metrics.model_dump() | {f"fold{one.fold}/validation": one.validation for one in record.members}
    values += [(f"fold{one.fold}/kept_epoch", one.kept_epoch, last) for one in record.members]
    for part, metrics in measured.items():
        names = safe_names(metrics or {})
        values += [(f"{part}/{names[name]}", value, last) for name, value in (metrics or {}).items()]
    return values


def _milliseconds(time: str) -> int:
    """A record's time as MLflow has it."""
    return int(datetime.fromisoformat(time).timestamp() * 1000)


@contextlib.contextmanager
def _locked(uri: str) -> Iterator[None]:
    """For a sqlite file: nobody else of ours in the block, since two programs cannot create its tables at once."""
    if not uri.startswith("sqlite:///"):
        yield
        return
    path = Path(uri.removeprefix("sqlite:///"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
