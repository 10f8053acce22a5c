"""What MLflow is told: one experiment a study, a parent run a study folder, a child run a trial."""

from __future__ import annotations

import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fmim.runner.ending.exit_codes import DONE, INTERRUPTED, SOME_FAILED
from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.sqlite.database import ARTIFACTS, make_if_new, opening
from fmim.runner.tracking.sqlite.known_runs import KnownRun, known_runs
from fmim.runner.tracking.sqlite.relocation import find_artifacts_again
from fmim.runner.tracking.summary import Summary
from fmim.runner.tracking.trial_runs import context_of, dataset_of, parameters_of, run_name, tags_of
from fmim.runner.tracking.values import LoggedValue, milliseconds, of_rows, of_the_end
from fmim.runner.tracking.views import EXPERIMENT_TAGS, view_tag
from fmim_core.records import DataEntry, EpochRow, Record, StudyFile, flat, study_path

# A stopped trial ended as it was meant to; the tag fmim.status tells it from a completed one.
STATUS = {"completed": "FINISHED", "stopped": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
STATUS_OF_STUDY = {DONE: "FINISHED", SOME_FAILED: "FAILED", INTERRUPTED: "KILLED", None: "KILLED"}
"""By the exit code of its last execution; none where that was killed."""

NOTE = "mlflow.note.content"  # the tag that is shown as a run's description
METRICS_AT_ONCE = 800  # MLflow takes no more than 1,000 values of all kinds
LONGEST_PARAMETER = 500  # MLflow cuts longer ones; the whole configuration is in the artifact record.json
ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",  # nothing leaves this machine but to the server that somebody named
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",  # seconds; MLflow's own settings wait for many minutes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # a request for a new run that is sent again may make two
}
"""Settings of MLflow, unless the user has set them otherwise."""


def client_of(address: TrackingAddress) -> Any:
    """An MLflow client, with our settings: errors are raised, and nothing is printed, since it may hold secrets."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.CRITICAL)
    return MlflowClient(address.whole)


def write_text(text: str, name: str, place: str, address: TrackingAddress) -> None:
    """Write an artifact of a run whose place for them is known: `MlflowClient.log_text` would read the run for it."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    with tempfile.TemporaryDirectory(prefix="fmim-artifact-") as folder:
        file = Path(folder) / name
        file.write_text(text, encoding="utf-8")
        get_artifact_repository(place, tracking_uri=address.whole).log_artifact(str(file))


def artifacts_of(out: Path) -> list[Path]:
    """What a study's parent run has as artifacts, as far as it is there."""
    return [out / name for name in ("report", "study.json", "selection.json")]


@dataclass(frozen=True)
class Identity:
    """What a study is called in the tracker: its experiment, its parent run, and the id that recognises them.

    labels: what reports call its arms and references, by their names. data: what its trials read.
    """

    study: str
    study_id: str
    preset: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    began_at: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    data: DataEntry | None = None

    @classmethod
    def of(cls, study: StudyFile) -> Identity:
        """That of a study's folder."""
        parameters = {"preset": study.preset, "seed": study.seed, "data": study.data.name, **dict(flat(study.train))}
        labels = {arm.name: arm.label for arm in study.arms} | {one.name: one.label for one in study.references}
        return cls(study.study, study.id, study.preset, parameters, study.created_at, labels, study.data)


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

    def __init__(self, address: TrackingAddress, identity: Identity, tell: Callable[[str], None]) -> None:
        self._address, self._identity, self._tell = address, identity, tell
        self._found: dict[str, KnownRun] = {}  # trial → what MLflow knew of its run, until its record is caught up with
        self._runs: dict[str, str] = {}  # trial → MLflow run
        self._artifacts: dict[str, str] = {}  # trial → where its run's artifacts lie
        self._logged: dict[str, int] = {}  # trial → last epoch logged
        self.caught_up: Counter[str] = Counter()  # trials that were created, updated, unchanged or killed

    def connect(self) -> None:
        """Find or make the experiment and the parent run, and look up which trials have runs.

        Raises:
            Exception: whatever MLflow, its database or its server has to say.
        """
        with opening(self._address, self._tell):
            make_if_new(self._address)
            self._client = client_of(self._address)
            find_artifacts_again(self._address, self._tell)
            self._experiment = self._find_experiment()
        self._found = self._own_runs()
        self._parent = self._open_parent(self._found.pop("", None))
        self._runs = {trial: info.run_id for trial, info in self._found.items()}
        self._artifacts = {trial: info.artifact_uri for trial, info in self._found.items()}
        self._logged = {}
        self.caught_up.clear()

    def catch_up(self, record: Record) -> None:
        """Write a record, unless it was written before, to its end."""
        found = self._found.pop(record.trial, None)
        end = (STATUS[record.status], milliseconds(record.ended_at))
        if found is not None and (found.status, found.end_time) == end:  # which is what is written last
            self.caught_up["unchanged"] += 1
        else:
            self.write(TrialUpdate(record.trial, record, record=record))
            self.caught_up["created" if found is None else "updated"] += 1

    def close_left_running(self) -> None:
        """End the runs of trials without a record that a killed process left RUNNING."""
        for info in self._found.values():
            if info.status == "RUNNING":
                self._client.set_terminated(info.run_id, "KILLED")
                self.caught_up["killed"] += 1
        self._found = {}

    def _find_experiment(self) -> str:
        name, file = self._identity.study, self._address.file
        found = self._client.get_experiment_by_name(name)
        if found is not None and found.lifecycle_stage == "deleted":
            # Whoever mirrors a study to this tracker wants it there, and deleting can be repeated, unlike a lost run.
            self._client.restore_experiment(found.experiment_id)
            self._tell(f"MLflow: the experiment {name!r} had been deleted there, and is restored with all its runs")
        if found is not None:
            return str(found.experiment_id)
        # Beside the database: MLflow's own default is a folder wherever the program was started.
        place = None if file is None else (file.parent / ARTIFACTS / name).as_uri()
        return str(self._client.create_experiment(name, artifact_location=place, tags=EXPERIMENT_TAGS))

    def _own_runs(self) -> dict[str, KnownRun]:
        return known_runs(self._client, self._address, self._experiment, self._identity.study_id)

    def _open_parent(self, found: Any) -> str:
        if found is not None:
            self._client.update_run(found.run_id, "RUNNING")
        run = self._new_parent() if found is None else self._client.get_run(found.run_id)
        if not run.data.params:
            self._log(run.info.run_id, parameters=self._identity.parameters)
            self._log_data(run.info.run_id, "development, test")
        return str(run.info.run_id)

    def _new_parent(self) -> Any:
        name = f"{self._identity.study} ({self._identity.preset})"
        tags = {"fmim.study_id": self._identity.study_id, "fmim.preset": self._identity.preset}
        began = _milliseconds(self._identity.began_at)
        return self._client.create_run(self._experiment, start_time=began, tags=tags, run_name=name)

    def write(self, update: TrialUpdate) -> None:
        """Write what is new of a trial."""
        trial, record, beginning = update.trial, update.record, update.beginning
        if trial not in self._logged:  # a worker may die before its trial begins
            beginning = beginning or record
        parameters = {} if beginning is None else self._open(trial, beginning)
        rows = update.rows if record is None else record.history
        values = of_rows(rows, after=self._logged[trial])
        if record is None:
            self._log(self._runs[trial], values, parameters)
        else:
            values += of_the_end(record)
            self._log(self._runs[trial], values, parameters, _tags_of_the_end(record))
            write_text(record.text, "record.json", self._artifacts[trial], self._address)
            self._client.set_terminated(self._runs[trial], STATUS[record.status], milliseconds(record.ended_at))
        self._logged[trial] = max([self._logged[trial], *(row.epoch for row in rows)])

    def _open(self, trial: str, beginning: Record) -> dict[str, Any]:
        """Make a trial's run, or open it again; returns those of its parameters that it has not got.

        A killed process may not have written them, and none can be written over, though a field that decides no result
        may have changed since.
        """
        parameters = parameters_of(beginning)
        if trial in self._runs:
            self._client.update_run(self._runs[trial], "RUNNING")
            history = self._client.get_metric_history(self._runs[trial], "loss")
            self._logged[trial] = max((metric.step for metric in history), default=0)
            self._log_data(self._runs[trial], context_of(beginning))
            known = self._client.get_run(self._runs[trial]).data.params
            return {name: value for name, value in parameters.items() if name not in known}
        tags = {"fmim.study_id": self._identity.study_id, "mlflow.parentRunId": self._parent, **tags_of(beginning)}
        began, name = milliseconds(beginning.started_at), run_name(beginning, self._identity.labels)
        run = self._client.create_run(self._experiment, start_time=began, tags=tags, run_name=name)
        self._runs[trial], self._artifacts[trial], self._logged[trial] = run.info.run_id, run.info.artifact_uri, 0
        self._log_data(run.info.run_id, context_of(beginning))
        return parameters

    def _log_data(self, run: str, context: str) -> None:
        from mlflow.entities import Dataset, DatasetInput, InputTag

        if self._identity.data is not None:
            dataset = Dataset(**dataset_of(self._identity.data))
            self._client.log_inputs(run, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])

    def _log(
        self,
        run: str,
        values: Iterable[LoggedValue] = (),
        parameters: Mapping[str, Any] = MappingProxyType({}),
        tags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        from mlflow.entities import Metric, Param, RunTag

        metrics = [Metric(name, float(value), at, step) for name, value, at, step in values]
        params = [Param(name, str(value)[:LONGEST_PARAMETER]) for name, value in parameters.items()]
        if params or tags or metrics:
            first = metrics[:METRICS_AT_ONCE]
            self._client.log_batch(run, first, params, [RunTag(name, value) for name, value in tags.items()])
        for start in range(METRICS_AT_ONCE, len(metrics), METRICS_AT_ONCE):
            self._client.log_batch(run, metrics[start : start + METRICS_AT_ONCE])

    def write_results(self, out: Path) -> Iterator[None]:
        """Write a study's results to its parent run, as far as they go, and yield after each thing that is written.

        Its arms' means, the answer with links to pages of the UI, the report and the files that the study's results
        follow from, and the winners' models.
        """
        if not study_path(out).exists():
            return
        from fmim.runner.tracking.models.winners import LoggedModels

        summary, parent, experiment = Summary.of(out), self._parent, self._experiment
        self._client.set_experiment_tag(experiment, view_tag(self._identity.study_id), summary.view)
        tags = {NOTE: summary.description(experiment, parent), "fmim.answer": " ".join(summary.sentences)}
        self._log(parent, summary.metrics, tags=tags)
        yield
        for path in artifacts_of(out):
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    folder = file.parent.relative_to(out).as_posix()
                    self._client.log_artifact(parent, str(file), None if folder == "." else folder)
                    yield
        yield from LoggedModels(self._client, experiment, self._identity.study_id, self._runs).write(out, summary.study)

    def finish(self, status: str, ended_at: str | None = None) -> None:
        """Close what still runs, and end the parent run with `status`, at a time or now."""
        for trial, info in self._own_runs().items():  # an interrupted study leaves some behind
            if trial and info.status == "RUNNING":
                self._client.set_terminated(info.run_id, "KILLED")
        self._client.set_terminated(self._parent, status, _milliseconds(ended_at))


def _tags_of_the_end(record: Record) -> dict[str, str]:
    origin = record.reused_from
    reused = {} if origin is None else {"fmim.reused_from": f"{origin.where}: {origin.trial}"}
    return {"fmim.status": record.status} | reused


def _milliseconds(time: str | None) -> int | None:
    return None if time is None else milliseconds(time)
