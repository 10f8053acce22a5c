"""The contents of runs in MLflow: of a trial its name, parameters, data set and numbers, and a study's results."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from fmim.runner.tracking.charts import BY_EPOCH, COSTS, STAGES, TEST
from fmim_core.records import DataEntry, EpochRow, Record, flat

if TYPE_CHECKING:
    from mlflow.entities import Dataset, Metric

    from fmim_reports.reading.results import PlannedTrial, Results
    from fmim_reports.reading.summary import ArmSummary

LONGEST_DIGEST = 32  # letters of the fingerprint; MLflow takes 36 of a data set's digest
LONGEST_TAG = 8000  # letters; MLflow cuts longer ones
NOTE = "mlflow.note.content"  # the tag that is shown as a run's description
UNITS = {"search": "fold", "variation": "fold", "replicate": "seed", "reference": "seed"}
"""What a replicate is in each stage."""
EPOCH_METRICS = (
    *("epsilon", "beta", "delta_mean", "phi_an_mean", "phi_ap_mean", "active_share", "empty_batches"),
    *("validation_mAP", "learning_rate", "loss"),  # the last: an epoch that has it was written whole
)
COST_METRICS = ("startup_s", "data_s", "train_s", "eval_s", "wall_s", "energy_j", "epochs", "images")


def run_name(record: Record, labels: Mapping[str, str]) -> str:
    """Return `AdaTriplet + AutoMargin, K_Δ = 2, K_an = 4 · seed 3`.

    Args:
        labels: what reports call each arm and reference, by its name.
    """
    from fmim_reports.writing.formats import configuration_text

    label = labels.get(record.arm, record.arm)
    values = f", {configuration_text(record.configuration)}" if record.configuration else ""
    split = f" of search split {record.search_split}" if record.search_split else ""
    varied = f" with {record.variation}" if record.variation else ""
    return f"{label}{values} · {UNITS[record.stage]} {record.replicate}{split}{varied}"


def parameters_of(record: Record) -> dict[str, Any]:
    """Return what the trial is of, its hyperparameters by the names of their arm, and every field of its training."""
    return {
        **record.model_dump(include={"arm", "stage", "replicate", "seed"}),
        **dict(flat(record.config)),
        **record.configuration,
    }


def tags_of(record: Record) -> dict[str, str]:
    """Return by what the trial's run is found."""
    names = {"trial", "arm", "stage", "replicate", "search_split", "seed", "fingerprint"}
    return {f"fmim.{name}": str(value) for name, value in record.model_dump(include=names).items()}


def tags_of_the_end(record: Record) -> dict[str, str]:
    """Return how a trial has ended, and whose result it has where that was another trial's."""
    origin = record.reused_from
    reused = {} if origin is None else {"fmim.reused_from": f"{origin.where}: {origin.trial}"}
    return {"fmim.status": record.status} | reused


def dataset_of(data: DataEntry) -> Dataset:
    """Return MLflow's entry of a data set: its digest is the beginning of the fingerprint of the decoded images.

    The source is what the data set's tables are, by their checksums; where they lie on a machine is not told.
    """
    from mlflow.entities import Dataset

    shape = [-1, data.image_size, data.image_size, *([data.channels] if data.channels > 1 else [])]
    images = {"type": "tensor", "name": "images", "tensor-spec": {"dtype": "uint8", "shape": shape}}
    source = {"kind": data.kind, "release": data.release, "files": data.files, "fingerprint": data.fingerprint}
    profile = {
        "about": data.about,
        "images": data.images,
        "development": data.development.model_dump(exclude={"by_time"}),
        "test": data.test.model_dump(exclude={"by_time"}),
    }
    return Dataset(
        name=data.name,
        digest=data.fingerprint[:LONGEST_DIGEST],
        source_type="code",
        source=json.dumps({"tags": source}),
        schema=json.dumps({"mlflow_tensorspec": {"features": json.dumps([images]), "targets": None}}),
        profile=json.dumps(profile),
    )


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name in the letters MLflow allows: `mAP@R` → `mAP_at_R`, anything else → `_`.

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


def metrics_of_epochs(rows: Iterable[EpochRow], after: int) -> list[Metric]:
    """Return the numbers of the epochs after one, with the epoch as step; of a fold ensemble the first member's."""
    from mlflow.entities import Metric

    found: list[Metric] = []
    at = int(time.time() * 1000)
    for row in rows:
        if row.epoch > after:  # the next member's epochs begin with 1 again
            after = row.epoch
            measured = row.model_dump(include=set(EPOCH_METRICS))
            found += [Metric(name, float(measured[name]), at, after) for name in EPOCH_METRICS if name in measured]
    return found


def metrics_of_the_end(record: Record) -> list[Metric]:
    """Return the final numbers of a trial, with its last epoch as step.

    Metrics by part (and fold, of an ensemble), cost by kind, the initial margins, the share of empty batches, and as
    `system/…` what MLflow's page of system metrics shows: the trial's own share of the machine, measured by its worker,
    where MLflow's monitor would count what other trials take at the same time. They are of the record's time, so that
    what is written again is the same to MLflow, and not kept twice.
    """
    from mlflow.entities import Metric

    cost = record.cost.model_dump(include=set(COST_METRICS))
    values: dict[str, float | None] = {f"cost/{name}": value for name, value in cost.items()}
    for first in record.history[:1]:
        rows = [row for history in record.histories for row in history]
        empty, batches = (sum(getattr(row, name) for row in rows) for name in ("empty_batches", "batches"))
        values |= {"initial_epsilon": first.epsilon, "initial_beta": first.beta}
        values["empty_batches_share"] = empty / max(1, batches)
    values["system/device_seconds"] = record.cost.device_seconds
    if record.peak_memory is not None:
        values["system/peak_memory_megabytes"] = record.peak_memory / 1e6
    if record.cost.train_s > 0:
        values["system/training_images_per_second"] = record.cost.images / record.cost.train_s
    values |= {f"fold{one.fold}/kept_epoch": one.kept_epoch for one in record.members}
    measured = record.metrics.model_dump() | {f"fold{one.fold}/validation": one.validation for one in record.members}
    for part, metrics in measured.items():
        safe = safe_names(metrics or {})
        values |= {f"{part}/{safe[name]}": value for name, value in (metrics or {}).items()}
    at, last = milliseconds(record.ended_at), len(record.history)
    return [Metric(name, float(value), at, last) for name, value in values.items() if value is not None]


def milliseconds(moment: str) -> int:
    """Return a record's time as MLflow has it."""
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


def arms_of(results: Results) -> Iterator[tuple[ArmSummary, list[Metric], int]]:
    """Yield each arm that has a selected configuration, its means, and when their trials ended; compared arms first.

    Means by epoch are over the folds of the search, or over fresh seeds without a search. All have six digits, so that
    a mean of 0.1 reads so.
    """
    from mlflow.entities import Metric

    from fmim_reports.reading.summary import arm_summaries, at, epochs_of

    compared = {name for pair in results.comparisons for name in pair}
    for arm in sorted(arm_summaries(results), key=lambda arm: arm.name not in compared):
        if arm.configuration is None:
            continue
        searched, tested = results.of(arm.name, "search", arm.configuration), results.of(arm.name, "replicate")
        trials = searched or tested
        found = {n: {row.epoch: row for row in one.record.history} for n, one in enumerate(trials) if one.record}
        means = [(title, e, at(found, name, e).mean) for e in epochs_of(found) for name, title in BY_EPOCH.items()]
        curves = [Metric(title, _six(mean), _ended(results, trials), e) for title, e, mean in means if mean == mean]
        ends = {title: getattr(arm.cost, name) for name, title in COSTS.items() if searched}
        ends |= {TEST.format(metric_name(results)): arm.test.stat.mean} if arm.test.stat.n else {}
        last = _ended(results, [*searched, *tested])
        yield arm, curves + [Metric(title, _six(value), last, 0) for title, value in ends.items()], last


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def _ended(results: Results, trials: Iterable[PlannedTrial]) -> int:
    """Return when the last of these trials ended."""
    return milliseconds(max((one.record.ended_at for one in trials if one.record), default=results.study.created_at))


def metric_name(results: Results) -> str:
    """Return the study's metric as MLflow names it."""
    return safe_names([results.metric.name])[results.metric.name]


def results_of(results: Results, links: str) -> tuple[list[Metric], dict[str, str]]:
    """Return a study's results as far as they go, in short: metrics of each arm, and as tags the answer in sentences.

    One of them is a description in Markdown, which the run's page shows; `links` first, since MLflow folds away all but
    some lines. The metrics, `test_mAP/ARM` and others, are of the time of the last record.
    """
    from mlflow.entities import Metric

    from fmim_reports.reading.summary import arm_summaries
    from fmim_reports.studies import contents_of
    from fmim_reports.writing.formats import to_md

    arms = arm_summaries(results)
    at = _ended(results, results.every_trial)
    name_of = metric_name(results)
    metrics = [Metric(name, float(value), at, 0) for arm in arms for name, value in _values(arm, name_of)]
    sentences = contents_of(results).verdict(results).sentences
    answer = "\n".join(f"- {to_md(sentence)}" for sentence in sentences)
    text = "\n\n".join([links, to_md(results.study.question), answer, _table(results, arms)])
    if len(text) > LONGEST_TAG:
        rest = "\n\nThe report has the rest."
        text = text[: LONGEST_TAG - len(rest)].rpartition("\n")[0] + rest
    return metrics, {NOTE: text, "fmim.answer": " ".join(sentences), "fmim.stage": STAGES["study"]}


def _values(arm: Any, metric: str) -> Iterator[tuple[str, float]]:
    """Yield an arm's means ± SE; nothing of what has no value yet."""
    for part, stat in (("test", arm.test.stat), ("validation", arm.validation.stat)):
        if stat.n:
            yield f"{part}_{metric}/{arm.name}", stat.mean
        if stat.n and stat.se is not None:
            yield f"{part}_{metric}_se/{arm.name}", stat.se


def _table(results: Any, arms: Sequence[Any]) -> str:
    """Return the arms with what was selected, their means and what their searches cost."""
    from fmim_reports.writing.formats import configuration_text
    from fmim_reports.writing.markup import markdown
    from fmim_reports.writing.tables import Column, Table

    label = f"{results.metric.label}, %"
    columns = [
        Column("arm", "Arm"),
        Column("configuration", "Selected"),
        Column("test", f"Test {label}, mean ± SE over seeds", "estimate"),
        Column("validation", f"Validation {label}, mean ± SE over folds", "estimate"),
        Column("n_s", "N_s", "count"),
        Column("epochs", "Epochs of the search", "count"),
    ]
    rows = [
        {"arm": arm.label, "configuration": configuration_text(arm.configuration)}
        | {"test": arm.test, "validation": arm.validation, "n_s": arm.cost.n_s, "epochs": arm.cost.epochs}
        for arm in arms
    ]
    return markdown(Table("arms", "Arms", "", columns, rows))
