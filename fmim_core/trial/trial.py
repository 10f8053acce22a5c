"""One trial of a study: configuration × replicate, trained, evaluated and written down as a record."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field

from fmim_core.config import Config, fingerprint
from fmim_core.data.bank.bank import Bank
from fmim_core.data.splits import subject_folds
from fmim_core.records import SCHEMA, Record, now, read_json, record_path, write_json
from fmim_core.seeding import derive_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.trainer import Diverged, Row, Training, pick_device
from fmim_core.trial import checkpoint
from fmim_core.trial.cost import Cost, Meter, carried_cost, earlier_attempts, no_cost
from fmim_core.trial.machine import describe_error, environment, peak_memory
from fmim_core.trial.samples import retrieval_samples

# Part of every trial's fingerprint. Raise it whenever the same configuration would give other numbers.
RESULTS_VERSION = 3


class TrialSpec(Config):
    """Everything that decides a trial's result, and where it stands in its study.

    Args:
        number: of the configuration in its arm's space.
        replicate: the fold in the search stage, the number of the fresh seed in the replicate stage.
        folds: of the cross-validation; the replicate stage trains on all development subjects.
        data: name, release and checksums of the data set's tables, for the record.
        study_seed: folds and every trial's seed derive from it, alike for all arms, so that comparisons are paired.
        rungs: epochs after which its search may stop it.
    """

    study: str
    preset: str
    arm: str
    number: int
    configuration: dict[str, Any]
    stage: Literal["search", "replicate"]
    replicate: int = Field(ge=0)
    folds: int
    study_seed: int
    train: TrainConfig
    bank: Path
    bank_fingerprint: str
    data: dict[str, Any]
    rungs: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """Short, unique in the study, and a file name, e.g. `triplet_grid.c02.fold1`."""
        unit = "fold" if self.stage == "search" else "seed"
        return f"{self.arm}.c{self.number:02d}.{unit}{self.replicate}"

    @property
    def fold(self) -> int | None:
        """The fold held out, if any."""
        return self.replicate if self.stage == "search" else None

    @property
    def seed(self) -> int:
        """The trial's seed: shared by all configurations of all arms with the same replicate."""
        return derive_seed(self.study_seed, self.stage, self.replicate)

    @property
    def fingerprint(self) -> str:
        """Equal for trials with equal results: the folder's place and the trial's name do not count."""
        # What is not compiled is named as it was before there was a choice, so that its records stay valid.
        train = self.train.model_dump(mode="json", exclude=set() if self.train.compile != "none" else {"compile"})
        parts = {"results_version": RESULTS_VERSION, "train": train}
        names = {"stage", "replicate", "folds", "study_seed", "bank_fingerprint"}
        return fingerprint(parts | self.model_dump(mode="json", include=names))


@dataclass(frozen=True)
class Place:
    """Where and with what a trial runs; none of it may change a result.

    device_share: of the device that the trial has to itself, 1 for all of it.
    checkpoint_every_s: seconds between two checkpoints, at the end of an epoch; 0 for every epoch.
    """

    out: Path
    device: str = "auto"
    device_share: float = 1.0
    checkpoint_every_s: float = 30.0


class Trial:
    """Runs a trial an epoch at a time and ends in a record, whatever happens: `while not t.over: t.step()`.

    A trial that was interrupted goes on from its last checkpoint. An error in training or evaluation becomes a
    `failed` record, a non-finite loss a `diverged` one; only an interrupt passes through.
    """

    def __init__(self, spec: TrialSpec, place: Place) -> None:
        self.spec, self._place = spec, place
        self._meter, self._started_at = Meter(place.device_share), now()
        self._saved = time.perf_counter()
        self._attempts: list[dict[str, Any]] = []
        self._peak_before = 0
        self._training: Training | None = None
        self.record: Record | None = None

    @property
    def over(self) -> bool:
        """Whether the record is written."""
        return self.record is not None

    @property
    def so_far(self) -> Record:
        """The part of the record that is to be kept if this process dies."""
        return {"started_at": self._started_at, "cost": self._cost(), "attempts": self._attempts}

    def step(self) -> Row | None:
        """Run one epoch, or the end of the trial after the last; returns the epoch's row, None without one."""
        try:
            if self._training is None:
                self._training = self._start()
            row = None if self._training.done else self._training.run_epoch()
            if self._training.done:
                self._complete()
            elif time.perf_counter() - self._saved >= self._place.checkpoint_every_s:
                self._checkpoint()
            return row
        except Diverged as error:
            self._write("diverged", error=describe_error(error))
        except Exception as error:
            self._write("failed", error=describe_error(error))
        return None

    def stopped(self) -> Record:
        """The record as it is if the trial's search stops it now, with what was measured on validation so far.

        That is no result: `metrics` stay empty, so that nothing compares it with trials that ran to the end.
        """
        assert self._training is not None
        epoch, validation = self._training.kept
        after = len(self._training.history)
        stopped = {"after_epoch": after, "kept_epoch": epoch, "validation": validation}
        return self._record("stopped") | {"stopped": stopped}

    def run(self) -> Record:
        """All steps in one go."""
        while self.record is None:
            self.step()
        return self.record

    def _start(self) -> Training:
        device = pick_device(self._place.device)
        self._meter.on(device)
        state = self._checkpointed(device)
        bank = self._bank()
        train, validation = bank.development(), None
        if self.spec.fold is not None:
            per_side = self.spec.train.identity == "side"
            folds = subject_folds(train, self.spec.folds, derive_seed(self.spec.study_seed, "folds"), per_side)
            train, validation = folds[self.spec.fold].train, folds[self.spec.fold].validation
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        training = Training(self.spec.train, train, validation, self.spec.seed, device)
        if state is not None:
            training.load_state(state)
        self._meter.ready()
        return training

    def _bank(self) -> Bank:
        bank = Bank.open(self.spec.bank)
        if bank.fingerprint != self.spec.bank_fingerprint:
            raise ValueError(f"the bank in {self.spec.bank} has changed since the study was planned: use --fresh")
        return bank

    def _checkpoint_path(self) -> Path:
        return checkpoint_path(self._place.out, self.spec.id)

    def _checkpoint(self) -> None:
        assert self._training is not None
        content = {"fingerprint": self.spec.fingerprint, "complete": False} | self._training.state()
        checkpoint.save(self._checkpoint_path(), content | self.so_far | {"peak_memory": self._peak_memory()})
        self._saved = time.perf_counter()

    def _checkpointed(self, device: torch.device) -> dict[str, Any] | None:
        """The state to go on from, if there is one; what was paid for it, and for earlier attempts, is taken over."""
        old, path = record_path(self._place.out, self.spec.id), self._checkpoint_path()
        record = read_json(old) if old.exists() else None
        self._attempts = earlier_attempts(record, self.spec.fingerprint)
        state = checkpoint.load(path, device) if path.exists() else None
        if state is None or state["fingerprint"] != self.spec.fingerprint or state["complete"]:
            return None
        carried, known = carried_cost(state), state.get("attempts", [])
        self._attempts = earlier_attempts(record, self.spec.fingerprint, carried, known)
        self._meter.go_on_from(carried, interrupted=self._attempts == known)
        self._peak_before = state.get("peak_memory", 0)
        return state

    def _complete(self) -> None:
        """Evaluate the kept model. The test set is opened here and nowhere else, and only in the replicate stage."""
        assert self._training is not None
        result = self._training.finish()
        metrics: dict[str, Any] = {"validation": result.validation, "test": None}
        opened, samples = None, []
        if self.spec.stage == "replicate":
            opened, test = now(), self._bank().open_test()
            embeddings = self._training.embed(test)
            metrics["test"] = self._training.score(test, embeddings)
            if self.spec.replicate == 0:
                samples = retrieval_samples(embeddings, test, self.spec.train.identity == "side")
        self._keep_model(result.model)
        self._write("completed", metrics=metrics, test_opened_at=opened, kept_epoch=result.kept_epoch, samples=samples)

    def _keep_model(self, model: torch.nn.Module) -> None:
        """The replicates' models stay, as weights alone; a search trial's resumption state has served its purpose."""
        if self.spec.stage == "replicate":
            weights = {name: value.cpu() for name, value in model.state_dict().items()}
            content = {"fingerprint": self.spec.fingerprint, "complete": True, "model": weights}
            checkpoint.save(self._checkpoint_path(), content)
        else:
            self._checkpoint_path().unlink(missing_ok=True)

    def _write(self, status: str, **parts: Any) -> None:
        self.record = self._record(status) | parts
        write_json(record_path(self._place.out, self.spec.id), self.record)

    def _record(self, status: str) -> Record:
        training = self._training
        parts = {
            "status": status,
            "history": training.history if training else [],
            "peak_memory": self._peak_memory(),
            "warnings": training.warnings if training else [],
            "ended_at": now(),
        }
        return blank_record(self.spec, self._started_at) | self.so_far | parts

    def _cost(self) -> Cost:
        return self._meter.cost(self._training)

    def _peak_memory(self) -> int:
        return max(self._peak_before, peak_memory(self._training.device if self._training else None))


def checkpoint_path(out: Path, trial: str) -> Path:
    """Where a trial's checkpoint lies."""
    return out / "checkpoints" / f"{trial}.pt"


def keep_stopped(out: Path, record: Record) -> None:
    """Write the record of a trial that its search has stopped; what it would have been resumed from goes."""
    write_json(record_path(out, record["trial"]), record)
    checkpoint_path(out, record["trial"]).unlink(missing_ok=True)


def blank_record(spec: TrialSpec, started_at: str) -> Record:
    """A record with all that is known of a trial before it runs."""
    return {
        "schema": SCHEMA,
        "trial": spec.id,
        **spec.model_dump(mode="json", include={"study", "preset", "arm", "configuration", "stage", "replicate"}),
        "fold": spec.fold,
        "seed": spec.seed,
        "status": "failed",
        "fingerprint": spec.fingerprint,
        "metrics": {"validation": None, "test": None},
        "stopped": None,
        "kept_epoch": None,
        "samples": [],
        "history": [],
        "cost": no_cost(),
        "attempts": [],
        "peak_memory": None,
        "error": None,
        "warnings": [],
        "test_opened_at": None,
        "started_at": started_at,
        "ended_at": started_at,
        "environment": environment(),
        "config": spec.train.model_dump(mode="json"),
        "data": spec.data | {"bank": spec.bank_fingerprint},
    }
