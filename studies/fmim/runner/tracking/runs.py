"""A study in MLflow: an experiment is a study, a parent run a study folder, a child run a trial or an arm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmim.runner.tracking import contents
from fmim.runner.tracking.address import ARTIFACTS, TrackingAddress
from fmim.runner.tracking.charts import COLOUR, COLOURS, STAGES, VIEW, view_of
from fmim.runner.tracking.client import found_by, links, open_client
from fmim.runner.tracking.contents import milliseconds
from fmim_core.records import (
    DONE,
    INTERRUPTED,
    ON_FOLDS,
    SOME_FAILED,
    DataEntry,
    Record,
    StudyFile,
    flat,
    study_path,
)

if TYPE_CHECKING:
    from fmim_reports.reading.results import Results

# A stopped trial ended as it was meant to; the tag fmim.status tells it from a completed one.
STATUS = {"completed": "FINISHED", "stopped": "FINISHED", "diverged": "FAILED", "failed": "FAILED"}
STATUS_OF_STUDY = {DONE: "FINISHED", SOME_FAILED: "FAILED", INTERRUPTED: "KILLED", None: "KILLED"}
"""By the exit code of its last execution; none where that was killed."""

EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""Tell versions of MLflow that go by it that the experiment is one of training."""
METRICS_AT_ONCE = 800  # MLflow takes no more than 1,000 values of all kinds
LONGEST_PARAMETER = 500  # MLflow cuts longer ones; the whole configuration is in the artifact record.json


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
        self._runs: dict[str, str] = {}  # trial → its run
        self._logged: dict[str, int] = {}  # trial → last epoch logged
        self.caught_up: Counter[str] = Counter()  # trials that were created, updated, unchanged or killed

    def connect(self) -> Iterator[None]:
        """Find or make the experiment and the parent run, and look up which trials have runs; yield now and then.

        Raises:
            Exception: whatever MLflow, its database or its server has to say.
        """
        self._client = open_client(self._address, self._tell)
        self._experiment = self._find_experiment()
        yield
        self._found = {}
        for run in self._own_runs():  # of a trial, of an arm, or the parent
            tags = run.data.tags
            self._found[tags.get("fmim.trial") or tags.get("fmim.arm", "")] = run.info
            yield
        self._parent = self._open_parent(self._found.pop("", None))
        self._arms = {name: self._found.pop(name).run_id for name in self._identity.labels if name in self._found}
        self._runs = {trial: info.run_id for trial, info in self._found.items()}
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
        return found_by(self._client.search_runs, [self._experiment], query, max_results=1000)

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
        metrics = contents.metrics_of_epochs(record.history, after=logged)
        if not over:
            self._log(run, metrics, parameters)
        else:
            metrics += contents.metrics_of_the_end(record)
            self._log(run, metrics, parameters, contents.tags_of_the_end(record))
            self._client.log_text(run, record.text, "record.json")
            self._client.set_terminated(run, STATUS[record.status], milliseconds(record.ended_at))
        self._logged[trial] = max([logged, *(row.epoch for row in record.history)])

    def _open(self, record: Record) -> dict[str, Any]:
        """Make a trial's run, or open it again; return those of its parameters that it has not got.

        A killed process may not have written them, and none can be written over, though a field that decides no result
        may have changed since.
        """
        parameters, run = contents.parameters_of(record), self._runs.get(record.trial)
        self._logged[record.trial] = 0
        if run is not None:
            self._client.update_run(run, "RUNNING")
            history = self._client.get_metric_history(run, "loss")
            self._logged[record.trial] = max((metric.step for metric in history), default=0)
            known = self._client.get_run(run).data.params
            parameters = {name: value for name, value in parameters.items() if name not in known}
        else:
            tags = {"fmim.study_id": self._identity.study_id, "mlflow.parentRunId": self._parent}
            name, began = contents.run_name(record, self._identity.labels), milliseconds(record.started_at)
            tags |= contents.tags_of(record)
            made = self._client.create_run(self._experiment, start_time=began, tags=tags, run_name=name)
            run = self._runs[record.trial] = str(made.info.run_id)
        self._log_data(run, "development" if record.stage in ON_FOLDS else "development, test")
        return parameters

    def _log_data(self, run: str, context: str) -> None:
        """Write which side of the data set a run reads."""
        from mlflow.entities import DatasetInput, InputTag

        if self._identity.data is not None:
            dataset = contents.dataset_of(self._identity.data)
            self._client.log_inputs(run, [DatasetInput(dataset, [InputTag("mlflow.data.context", context)])])

    def _log(
        self,
        run: str,
        metrics: Sequence[Any] = (),
        parameters: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        from mlflow.entities import Param, RunTag

        params = [Param(name, str(value)[:LONGEST_PARAMETER]) for name, value in (parameters or {}).items()]
        run_tags = [RunTag(name, value) for name, value in (tags or {}).items()]
        if params or run_tags or metrics:
            self._client.log_batch(run, metrics[:METRICS_AT_ONCE], params, run_tags)
        for start in range(METRICS_AT_ONCE, len(metrics), METRICS_AT_ONCE):
            self._client.log_batch(run, metrics[start : start + METRICS_AT_ONCE])

    def write_results(self, out: Path) -> Iterator[None]:
        """Write a study's results, as far as they go, and yield after each thing that is written.

        Its arms' runs, the view with their charts, and to the parent run the answer with links to pages of the UI, the
        report and the files that the study's results follow from; then the winners' models.
        """
        if not study_path(out).exists():
            return
        from fmim.runner.tracking.winners import write_winners
        from fmim_reports.reading.results import read_results

        results, study_id = read_results(out), self._identity.study_id
        yield from self._write_arms(results)
        view = view_of(results.study, contents.metric_name(results))
        self._client.set_experiment_tag(self._experiment, f"{VIEW}{study_id}", view)
        experiment = self._client.get_experiment(self._experiment)
        metrics, tags = contents.results_of(results, links(experiment, study_id, self._parent))
        self._log(self._parent, metrics, tags=tags)
        yield
        for path in (out / name for name in ("report", "study.json", "selection.json")):
            if path.is_dir():
                self._client.log_artifacts(self._parent, str(path), path.name)
            elif path.exists():
                self._client.log_artifact(self._parent, str(path))
            yield
        yield from write_winners(self._client, self._experiment, self._runs, out)

    def _write_arms(self, results: Results) -> Iterator[None]:
        """Write each arm's run, all begun with the study, so that the page sorts them in this order."""
        began = milliseconds(results.study.created_at) + len(results.arms)
        for place, (arm, metrics, ended) in enumerate(contents.arms_of(results)):
            if arm.name not in self._arms:
                tags = {"fmim.study_id": self._identity.study_id, "mlflow.parentRunId": self._parent}
                tags |= {"fmim.arm": arm.name, "fmim.stage": STAGES["arm"], COLOUR: COLOURS[place % len(COLOURS)]}
                start = began - place  # milliseconds: the latest is the first
                made = self._client.create_run(self._experiment, start_time=start, tags=tags, run_name=arm.label)
                self._arms[arm.name] = str(made.info.run_id)
            self._log(self._arms[arm.name], metrics, {"arm": arm.name, **(arm.configuration or {})})
            self._client.set_terminated(self._arms[arm.name], "FINISHED", ended)
            yield

    def finish(self, status: str, ended_at: str | None = None) -> None:
        """Close what still runs, such as an interrupted study leaves, and end the parent run, at a time or now."""
        for run in list(self._own_runs(" and attributes.status = 'RUNNING'")):
            if "fmim.trial" in run.data.tags:
                self._client.set_terminated(run.info.run_id, "KILLED")
        self._client.set_terminated(self._parent, status, None if ended_at is None else milliseconds(ended_at))
