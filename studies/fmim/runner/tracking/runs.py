"""The runs of one study in MLflow: an experiment is a study, a parent run a study folder, a child run a trial."""

from __future__ import annotations

import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fmim.runner.tracking import pages, trial_run
from fmim.runner.tracking.address import ARTIFACTS, TrackingAddress
from fmim.runner.tracking.database import prepare
from fmim.runner.tracking.summary import Summary
from fmim.runner.tracking.trial_run import milliseconds
from fmim_core.records import DONE, INTERRUPTED, SOME_FAILED, DataEntry, Record, StudyFile, flat, study_path

# A stopped trial ended as it was meant to; the tag fmim.status tells it from a completed one.
STATUS = {"completed": "FINISHED", "stopped": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
STATUS_OF_STUDY = {DONE: "FINISHED", SOME_FAILED: "FAILED", INTERRUPTED: "KILLED", None: "KILLED"}
"""By the exit code of its last execution; none where that was killed."""

NOTE = "mlflow.note.content"  # the tag that is shown as a run's description
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""Tell versions of MLflow that go by it that the experiment is one of training."""
METRICS_AT_ONCE = 800  # MLflow takes no more than 1,000 values of all kinds
LONGEST_PARAMETER = 500  # MLflow cuts longer ones; the whole configuration is in the artifact record.json
ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",  # nothing leaves this machine but to the server that somebody named
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",  # seconds; MLflow's own settings wait for many minutes
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # a request for a new run that is sent again may make two
}
"""Settings of MLflow, unless the user has set them otherwise."""


def client_of(address: TrackingAddress) -> Any:
    """Return an MLflow client that raises errors and prints nothing, since it may hold secrets."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] = "true"
    from mlflow import MlflowClient

    logging.getLogger("mlflow").setLevel(logging.CRITICAL)
    return MlflowClient(address.whole)


@dataclass(frozen=True)
class Identity:
    """The names of a study in the tracker: its experiment, its parent run, and the id that recognises them.

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
        """Return that of a study's folder."""
        parameters = {"preset": study.preset, "seed": study.seed, "data": study.data.name, **dict(flat(study.train))}
        labels = {arm.name: arm.label for arm in study.arms} | {one.name: one.label for one in study.references}
        return cls(study.study, study.id, study.preset, parameters, study.created_at, labels, study.data)


class Runs:
    """The runs of one study folder.

    A resumed study continues in the same runs; runs that a killed process left RUNNING are closed as KILLED. Runs begin
    and end when their trials do, whenever that is written. Everything new of a trial goes into as few calls as there
    can be: each is a transaction, which a database on a disk takes milliseconds for.
    """

    def __init__(self, address: TrackingAddress, identity: Identity, tell: Callable[[str], None]) -> None:
        self._address, self._identity, self._tell = address, identity, tell
        self._found: dict[str, Any] = {}  # trial → what MLflow knew of its run, until its record is caught up with
        self._runs: dict[str, Any] = {}  # trial → what MLflow knows of its run: its id, where its artifacts lie
        self._logged: dict[str, int] = {}  # trial → last epoch logged
        self.caught_up: Counter[str] = Counter()  # trials that were created, updated, unchanged or killed

    def connect(self) -> Iterator[None]:
        """Find or make the experiment and the parent run, and look up which trials have runs; yield now and then.

        Raises:
            Exception: whatever MLflow, its database or its server has to say.
        """
        prepare(self._address, self._tell)
        self._client = client_of(self._address)
        self._experiment = self._find_experiment()
        yield
        self._found = {}
        for run in self._own_runs():
            self._found[run.data.tags.get("fmim.trial", "")] = run.info
            yield
        self._parent = self._open_parent(self._found.pop("", None))
        self._runs = dict(self._found)
        self._logged = {}
        self.caught_up.clear()

    def catch_up(self, record: Record) -> None:
        """Write a record, unless it was written before, to its end."""
        found = self._found.pop(record.trial, None)
        end = (STATUS[record.status], milliseconds(record.ended_at))
        if found is not None and (found.status, found.end_time) == end:  # which is what is written last
            self.caught_up["unchanged"] += 1
        else:
            self.write(record, over=True)
            self.caught_up["created" if found is None else "updated"] += 1

    def close_left_running(self) -> None:
        """End the runs of trials without a record that a killed process left RUNNING."""
        for info in self._found.values():
            if info.status == "RUNNING":
                self._client.set_terminated(info.run_id, "KILLED")
                self.caught_up["killed"] += 1
        self._found = {}

    def _find_experiment(self) -> str:
        from mlflow.exceptions import MlflowException

        name, file = self._identity.study, self._address.file
        # Beside the database: MLflow's own default is a folder wherever the program was started.
        place = None if file is None else (file.parent / ARTIFACTS / name).as_uri()
        found = self._client.get_experiment_by_name(name)
        if found is None:
            try:
                return str(self._client.create_experiment(name, artifact_location=place, tags=EXPERIMENT_TAGS))
            except MlflowException:  # another program has made it just now
                found = self._client.get_experiment_by_name(name)
                if found is None:
                    raise
        if found.lifecycle_stage == "deleted":
            # Whoever mirrors a study to this tracker wants it there, and deleting can be repeated, unlike a lost run.
            self._client.restore_experiment(found.experiment_id)
            self._tell(f"MLflow: the experiment {name!r} had been deleted there, and is restored with all its runs")
        return str(found.experiment_id)

    def _own_runs(self, more: str = "") -> Iterator[Any]:
        query = f"tags.`fmim.study_id` = '{self._identity.study_id}'{more}"
        return pages.of(self._client.search_runs, [self._experiment], query, max_results=1000)

    def _open_parent(self, found: Any) -> str:
        identity = self._identity
        if found is not None:
            self._client.update_run(found.run_id, "RUNNING")
            run = self._client.get_run(found.run_id)
        else:
            tags = {"fmim.study_id": identity.study_id, "fmim.preset": identity.preset}
            began = None if identity.began_at is None else milliseconds(identity.began_at)
            name = f"{identity.study} ({identity.preset})"
            run = self._client.create_run(self._experiment, start_time=began, tags=tags, run_name=name)
        if not run.data.params:
            self._log(run.info.run_id, parameters=identity.parameters)
            self._log_data(run.info.run_id, "development, test")
        return str(run.info.run_id)

    def write(self, record: Record, over: bool) -> None:
        """Write what is new of a trial: of its record so far, or of the record with which it is over."""
        trial = record.trial
        parameters = self._open(record) if trial not in self._logged else {}
        run, logged = self._runs[trial], self._logged[trial]
        metrics = trial_run.metrics_of_epochs(record.history, after=logged)
        if not over:
            self._log(run.run_id, metrics, parameters)
        else:
            metrics += trial_run.metrics_of_the_end(record)
            self._log(run.run_id, metrics, parameters, trial_run.tags_of_the_end(record))
            self._write_record(record, run.artifact_uri)
            self._client.set_terminated(run.run_id, STATUS[record.status], milliseconds(record.ended_at))
        self._logged[trial] = max([logged, *(row.epoch for row in record.history)])

    def _open(self, record: Record) -> dict[str, Any]:
        """Make a trial's run, or open it again; return those of its parameters that it has not got.

        A killed process may not have written them, and none can be written over, though a field that decides no result
        may have changed since.
        """
        parameters, found = trial_run.parameters_of(record), self._runs.get(record.trial)
        self._logged[record.trial] = 0
        if found is not None:
            self._client.update_run(found.run_id, "RUNNING")
            history = self._client.get_metric_history(found.run_id, "loss")
            self._logged[record.trial] = max((metric.step for metric in history), default=0)
            known = self._client.get_run(found.run_id).data.params
            parameters = {name: value for name, value in parameters.items() if name not in known}
        else:
            tags = {"fmim.study_id": self._identity.study_id, "mlflow.parentRunId": self._parent}
            name, began = trial_run.run_name(record, self._identity.labels), milliseconds(record.started_at)
            tags |= trial_run.tags_of(record)
            found = self._client.create_run(self._experiment, start_time=began, tags=tags, run_name=name).info
            self._runs[record.trial] = found
        self._log_data(found.run_id, trial_run.context_of(record))
        return parameters

    def _log_data(self, run: str, context: str) -> None:
        from mlflow.entities import DatasetInput, InputTag

        if self._identity.data is not None:
            dataset = trial_run.dataset_of(self._identity.data)
            self._client.log_inputs(run, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])

    def _log(
        self,
        run: str,
        metrics: Sequence[Any] = (),
        parameters: Mapping[str, Any] = MappingProxyType({}),
        tags: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        from mlflow.entities import Param, RunTag

        params = [Param(name, str(value)[:LONGEST_PARAMETER]) for name, value in parameters.items()]
        if params or tags or metrics:
            first = metrics[:METRICS_AT_ONCE]
            self._client.log_batch(run, first, params, [RunTag(name, value) for name, value in tags.items()])
        for start in range(METRICS_AT_ONCE, len(metrics), METRICS_AT_ONCE):
            self._client.log_batch(run, metrics[start : start + METRICS_AT_ONCE])

    def _write_record(self, record: Record, place: str) -> None:
        """Write a record as an artifact: `MlflowClient.log_text` would read the run first, to find the place."""
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        with tempfile.TemporaryDirectory(prefix="fmim-artifact-") as folder:
            file = Path(folder, "record.json")
            file.write_text(record.text, encoding="utf-8")
            get_artifact_repository(place, tracking_uri=self._address.whole).log_artifact(str(file))

    def write_results(self, out: Path) -> Iterator[None]:
        """Write a study's results to its parent run, as far as they go, and yield after each thing that is written.

        Its arms' means, the answer with links to pages of the UI, the report and the files that the study's results
        follow from, and the winners' models.
        """
        if not study_path(out).exists():
            return
        from fmim.runner.tracking.winners import write_winners

        summary = Summary.of(out)
        links = pages.links(self._experiment, self._identity.study_id, self._parent)
        tags = {NOTE: summary.description(links), "fmim.answer": " ".join(summary.sentences)}
        self._log(self._parent, summary.metrics, tags=tags)
        yield
        for path in (out / name for name in ("report", "study.json", "selection.json")):
            if path.is_dir():
                self._client.log_artifacts(self._parent, str(path), path.name)
            elif path.exists():
                self._client.log_artifact(self._parent, str(path))
            yield
        runs = {trial: run.run_id for trial, run in self._runs.items()}
        yield from write_winners(self._client, self._experiment, runs, out, summary.study)

    def finish(self, status: str, ended_at: str | None = None) -> None:
        """Close what still runs, and end the parent run with `status`, at a time or now."""
        for run in list(
            self._own_runs(" and attributes.status = 'RUNNING'")
        ):  # an interrupted study leaves some behind
            if "fmim.trial" in run.data.tags:
                self._client.set_terminated(run.info.run_id, "KILLED")
        self._client.set_terminated(self._parent, status, None if ended_at is None else milliseconds(ended_at))
