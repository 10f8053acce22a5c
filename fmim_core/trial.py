"""One trial of a study: configuration × replicate, trained, evaluated and written down as a record."""

from __future__ import annotations

import platform
import resource
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import Field

from fmim_core import checkpoint
from fmim_core.config import Config, fingerprint
from fmim_core.data.bank import Bank
from fmim_core.data.splits import subject_folds
from fmim_core.records import SCHEMA, Record, now, record_path, write_json
from fmim_core.samples import retrieval_samples
from fmim_core.seeding import derive_seed
from fmim_core.train_config import TrainConfig
from fmim_core.trainer import Diverged, Row, Training, pick_device

# Part of every trial's fingerprint. Raise it whenever the same configuration would give other numbers.
RESULTS_VERSION = 2


class TrialSpec(Config):
    """Everything that decides a trial's result, and where it stands in its study.

    Args:
        number: of the configuration in its arm's space.
        replicate: the fold in the search stage, the number of the fresh seed in the replicate stage.
        folds: of the cross-validation; the replicate stage trains on all development subjects.
        data: name, release and checksums of the data set's tables, for the record.
        study_seed: folds and every trial's seed derive from it, alike for all arms, so that comparisons are paired.
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
        self._begun, self._started_at = time.perf_counter(), now()
        self._saved = time.perf_counter()
        self._startup = 0.0
        self._training: Training | None = None
        self.record: Record | None = None

    @property
    def over(self) -> bool:
        """Whether the record is written."""
        return self.record is not None

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

    def run(self) -> Record:
        """All steps in one go."""
        while self.record is None:
            self.step()
        return self.record

    def _start(self) -> Training:
        bank = self._bank()
        train, validation = bank.development(), None
        if self.spec.fold is not None:
            per_side = self.spec.train.identity == "side"
            folds = subject_folds(train, self.spec.folds, derive_seed(self.spec.study_seed, "folds"), per_side)
            train, validation = folds[self.spec.fold].train, folds[self.spec.fold].validation
        device = pick_device(self._place.device)
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        training = Training(self.spec.train, train, validation, self.spec.seed, device)
        self._resume(training)
        self._startup = time.perf_counter() - self._begun
        return training

    def _bank(self) -> Bank:
        bank = Bank.open(self.spec.bank)
        if bank.fingerprint != self.spec.bank_fingerprint:
            raise ValueError(f"the bank in {self.spec.bank} has changed since the study was planned: use --fresh")
        return bank

    def _checkpoint_path(self) -> Path:
        return self._place.out / "checkpoints" / f"{self.spec.id}.pt"

    def _checkpoint(self) -> None:
        assert self._training is not None
        content = {"fingerprint": self.spec.fingerprint, "complete": False} | self._training.state()
        checkpoint.save(self._checkpoint_path(), content)
        self._saved = time.perf_counter()

    def _resume(self, training: Training) -> None:
        if not self._checkpoint_path().exists():
            return
        state = checkpoint.load(self._checkpoint_path(), training.device)
        if state["fingerprint"] == self.spec.fingerprint and not state["complete"]:
            training.load_state(state)

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
        training = self._training
        record = blank_record(self.spec, self._started_at) | {
            "status": status,
            "history": training.history if training else [],
            "cost": self._cost(),
            "peak_memory": _peak_memory(training.device if training else None),
            "warnings": training.warnings if training else [],
            "ended_at": now(),
        }
        self.record = record | parts
        write_json(record_path(self._place.out, self.spec.id), self.record)

    def _cost(self) -> dict[str, Any]:
        training = self._training
        if training is None:
            return _no_cost() | {"startup_s": time.perf_counter() - self._begun}
        return {
            "startup_s": self._startup + training.seconds.startup,
            "data_s": training.seconds.data,
            "train_s": training.seconds.train,
            "eval_s": training.seconds.eval,
            "device": _device_name(training.device),
            "device_share": self._place.device_share,
            "epochs": len(training.history),
            "images": training.images_seen,
        }


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
        "kept_epoch": None,
        "samples": [],
        "history": [],
        "cost": _no_cost(),
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


def describe_error(error: BaseException) -> dict[str, str]:
    """An error as a record keeps it; running out of memory is called that, whoever noticed it."""
    memory = isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(error)
    return {
        "kind": "out of memory" if memory else type(error).__name__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error)),
    }


def environment() -> dict[str, str]:
    """The machine and versions a trial ran with."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "host": platform.node(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    }


def _no_cost() -> dict[str, Any]:
    seconds = dict.fromkeys(("startup_s", "data_s", "train_s", "eval_s"), 0.0)
    return seconds | {"device": "none", "device_share": 0.0, "epochs": 0, "images": 0}


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def _peak_memory(device: torch.device | None) -> int:
    """Bytes: of this trial on a GPU; on a CPU of the process so far, which may have run other trials before."""
    if device is not None and device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
