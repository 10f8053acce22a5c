"""One trial of a study: configuration × replicate, trained, evaluated and written down as a record."""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.utils._pytree import tree_map_only

from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import ABOUT_COLUMNS
from fmim_core.data.splits import subject_folds
from fmim_core.metric_names import METRICS
from fmim_core.metrics import QueryScores
from fmim_core.records import (
    Attempt,
    Damaged,
    EpochRow,
    Metrics,
    MetricValues,
    Place,
    Record,
    SoFar,
    Status,
    Stopped,
    TrialError,
    now,
    read_record,
    set_aside,
    write_queries,
)
from fmim_core.training.ensemble import FoldEnsemble
from fmim_core.training.evaluation import Diverged, Evaluator
from fmim_core.training.trainer import Training, check_images, pick_device
from fmim_core.trial.checkpoint import checkpoint_path, read_checkpoint, write_checkpoint
from fmim_core.trial.cost import Meter, earlier_attempts, peak_memory
from fmim_core.trial.spec import TrialSpec


@dataclass(frozen=True)
class RunSettings:
    """Settings with which a trial runs; none of them may change a result.

    device_share: of the device that the trial has to itself, 1 for all of it.
    checkpoint_every_s: seconds between two checkpoints, at the end of an epoch; 0 for every epoch.
    place: the folder `out` as it was; where that is another one by now, nothing is written.
    """

    out: Path
    device: str = "auto"
    device_share: float = 1.0
    checkpoint_every_s: float = 30.0
    place: Place | None = None

    def check(self) -> None:
        """Check, as `Place.check`, that the folder is the one that the study began in."""
        if self.place is not None:
            self.place.check()


def training_of(spec: TrialSpec, development: ImageSet, device: torch.device) -> Evaluator:
    """Return what the trial trains: a fold of a search, one model of all development subjects, or one model a fold.

    A reference trains nothing.
    """
    if spec.reference is not None:
        check_images(spec.train, development)
        return spec.reference.evaluator(spec.train, development, spec.seed, device)
    if spec.stage == "replicate" and spec.test_protocol == "retrained":
        return Training(spec.train, development, None, spec.seed, device)
    folds = subject_folds(development, spec.folds, spec.folds_seed, spec.train.identity == "side")
    if spec.fold is None:
        return FoldEnsemble(spec.train, folds, spec.seed, device)
    return Training(spec.train, folds[spec.fold].train, folds[spec.fold].validation, spec.seed, device)


class Trial:
    """Runs a trial an epoch at a time and ends in a record, whatever happens: `while not t.over: t.step()`.

    A trial that was interrupted resumes from its last checkpoint. An error in training or evaluation becomes a
    `failed` record, a non-finite loss a `diverged` one; only an interrupt passes through.
    """

    def __init__(self, spec: TrialSpec, settings: RunSettings) -> None:
        self.spec, self._settings = spec, settings
        self._checkpoint = checkpoint_path(settings.out, spec.id)
        self._meter, self._started_at = Meter(settings.device_share), now()
        self._saved = time.perf_counter()
        self._attempts: tuple[Attempt, ...] = ()
        self._peak_before = 0
        self._warnings: list[str] = []
        self._training: Evaluator | None = None
        self.record: Record | None = None

    @property
    def over(self) -> bool:
        """True as soon as the record is written."""
        return self.record is not None

    @property
    def so_far(self) -> SoFar:
        """The part of the record that is to be kept if this process dies."""
        return SoFar(started_at=self._started_at, cost=self._meter.cost(self._training), attempts=self._attempts)

    def step(self) -> EpochRow | None:
        """Run one epoch, or the end of the trial after the last; return the epoch's row, None without one."""
        try:
            return self._advance()
        except Diverged as error:
            self._write("diverged", error=_described(error))
        except Exception as error:
            self._write("failed", error=_described(error))
        return None

    def stopped(self) -> Record:
        """Return the record as it is if the trial's search stops it now, with what was measured on validation so far.

        That is no result: `metrics` stay empty, so that nothing compares it with trials that ran to the end.
        """
        assert self._training is not None
        epoch, validation = self._training.kept
        after = len(self._training.history)
        return self._record("stopped", stopped=Stopped(after_epoch=after, kept_epoch=epoch, validation=validation))

    def run(self) -> Record:
        """Run all steps in one go."""
        while self.record is None:
            self.step()
        return self.record

    def _advance(self) -> EpochRow | None:
        if self._training is None:
            self._training = self._start()
        training = self._training
        row = None if training.done else training.run_epoch()
        if training.done:
            self._complete(training)
        elif self.spec.train.resumable and time.perf_counter() - self._saved >= self._settings.checkpoint_every_s:
            self._save(training)
        return row

    def _start(self) -> Evaluator:
        """Return what is trained, as far as an earlier attempt has come; the device is measured from here."""
        device = pick_device(self._settings.device)
        self._meter.on(device)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        self.spec.check_weights()
        state = self._state_to_resume_from(device)
        training = training_of(self.spec, self._bank().development(), device)
        if state is not None:
            training.load_state(state)
        self._meter.ready()
        return training

    def _bank(self) -> Bank:
        bank = Bank.open(self.spec.bank)
        if bank.fingerprint != self.spec.bank_fingerprint:
            raise ValueError(f"the bank in {self.spec.bank} has changed since the study was planned: use --fresh")
        return bank

    def _save(self, training: Evaluator) -> None:
        self._settings.check()
        about = {"fingerprint": self.spec.fingerprint, "complete": False, "peak_memory": self._peak_memory()}
        content = about | {"training": training.state(), "so_far": self.so_far.model_dump(mode="json")}
        write_checkpoint(self._checkpoint, content)
        self._saved = time.perf_counter()

    def _state_to_resume_from(self, device: torch.device) -> dict[str, Any] | None:
        """Return the state in a checkpoint, if any; what was spent by then and on earlier attempts is taken over."""
        fingerprint, record = self.spec.fingerprint, read_record(self._settings.out, self.spec.id)
        self._attempts = earlier_attempts(record, fingerprint)
        found = self._last_checkpoint(device)
        if found is None or found["fingerprint"] != fingerprint or found["complete"]:
            return None
        carried = SoFar.model_validate(found["so_far"])
        self._attempts = earlier_attempts(record, fingerprint, carried.cost, carried.attempts)
        self._meter.resume_from(carried.cost, interrupted=self._attempts == carried.attempts)
        self._peak_before = found["peak_memory"]
        state: dict[str, Any] = found["training"]
        return state

    def _last_checkpoint(self, device: torch.device) -> dict[str, Any] | None:
        """Return what the last attempt saved; a damaged file is set aside, and the training begins anew."""
        try:
            return read_checkpoint(self._checkpoint, device)
        except Damaged as damaged:
            aside = set_aside(self._checkpoint)
            self._warnings.append(f"{damaged}: moved to {aside.name}, and the training begun anew")
            return None

    def _complete(self, training: Evaluator) -> None:
        """Evaluate the kept model, and keep it where it is a replicate's; then the record is written."""
        model, (epoch, validation) = training.finish(), training.kept
        self._settings.check()
        measured = self._measured(training, validation)
        if self.spec.keeps_model:
            # Weights alone; of a fold ensemble named by the number of the fold's model, and not those of its losses.
            loss = training.state().get("loss")
            kept = {"model": dict(model.state_dict())} | ({"loss": dict(loss)} if loss else {})
            content = {"fingerprint": self.spec.fingerprint, "complete": True}
            write_checkpoint(self._checkpoint, content | tree_map_only(torch.Tensor, torch.Tensor.cpu, kept))
        else:  # what it would have resumed from has served its purpose
            self._checkpoint.unlink(missing_ok=True)
        self._write("completed", kept_epoch=epoch, **measured)

    def _measured(self, evaluator: Evaluator, validation: MetricValues | None) -> dict[str, Any]:
        """Measure on both sets. The test set is opened here and nowhere else, never in the search stage."""
        if not self.spec.reads_test_set:
            return {"metrics": Metrics(validation=validation)}
        opened, bank = now(), self._bank()
        test = bank.open_test()
        scores = evaluator.scores(test, evaluator.embed(test), find_first=True)
        columns = query_columns(test, bank.about_test(), scores)
        return {
            "metrics": Metrics(validation=validation, test=scores.means()),
            "queries_sha256": write_queries(self._settings.out, self.spec.id, columns),  # before the record
            "test_opened_at": opened,
        }

    def _write(self, status: Status, **parts: Any) -> None:
        self._settings.check()
        self.record = self._record(status, **parts)
        self.record.save(self._settings.out)

    def _record(self, status: Status, **parts: Any) -> Record:
        training = self._training
        ended = {
            "status": status,
            "history": tuple(training.history) if training else (),
            "members": training.members if training else (),
            "peak_memory": self._peak_memory(),
            "warnings": (*self._warnings, *(training.warnings if training else ())),
            "ended_at": now(),
        }
        return self.spec.record(self._started_at).changed(dict(self.so_far) | ended | parts)

    def _peak_memory(self) -> int:
        return max(self._peak_before, peak_memory(self._training.device if self._training else None))


def _described(error: BaseException) -> TrialError:
    """Return an error as a record keeps it; running out of memory is called that, whoever noticed it."""
    memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
    return TrialError(
        kind="out of memory" if memory else type(error).__name__,
        message=str(error),
        traceback="".join(traceback.format_exception(error)),
    )


def keep_stopped(out: Path, record: Record) -> None:
    """Write the record of a trial that its search has stopped; what it would have been resumed from goes."""
    record.save(out)
    checkpoint_path(out, record.trial).unlink(missing_ok=True)


def query_columns(images: ImageSet, about: pd.DataFrame, scores: QueryScores) -> dict[str, Any]:
    """Return an array `(Q,)` for each column of `records.QUERY_COLUMNS` that the data set has.

    Args:
        images: the set whose queries were scored, in the order of its `query_mask`, against its gallery.
        about: all that is known of the same images, in the same order.
        scores: what was found, the image at rank 1 included.
    """
    assert scores.first_found is not None
    queries, gallery_rows = images.query_mask, images.rows[images.gallery_mask]
    asked, times = about[queries], images.times[queries]
    found = scores.matches > 0
    return {
        "query": asked["image"].to_numpy(),
        "subject": images.subjects[queries],
        "side": images.sides[queries],
        "months": images.months[queries],
        images.interval.unit: np.where(times < 0, np.nan, times),
        "matches": scores.matches,
        "rank": np.where(found, scores.first_rank, np.nan),
        **{metric.of_query: scores.values[metric.name] for metric in METRICS.values()},
        "chance_ap": scores.values["chance_mAP"],
        "query_row": images.rows[queries],
        "truth_row": np.where(found, gallery_rows[scores.nearest_match], np.nan),
        "top_row": np.where(found, gallery_rows[scores.first_found], np.nan),
        **{name: asked[name].to_numpy() for name in ABOUT_COLUMNS if name in asked},
    }
