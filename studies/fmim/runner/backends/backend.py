"""The places where trials run, how many at once, and the one in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.machine import cores, keep_freed_memory
from fmim_core.records import EpochRow, Place, Record
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped


class TrialObserver(Protocol):
    """Someone who watches trials: the progress of the run, the MLflow mirror."""

    def started(self, spec: TrialSpec) -> None:
        """Take note that a trial begins."""

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None:
        """Take note of an epoch that a trial has run."""

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """Take note that a trial is over, whatever its status."""


class TrialSource(TrialObserver, Protocol):
    """Who hands out trials to a backend and is told what becomes of them."""

    @property
    def exhausted(self) -> bool:
        """Return whether no trial is left and none can follow."""

    def next(self) -> TrialSpec | None:
        """Return the next trial to run; None if there is none now."""

    def goes_on(self, spec: TrialSpec, history: Sequence[EpochRow]) -> bool:
        """Return whether a trial with rungs goes on; asked after each of its epochs."""


@dataclass(frozen=True)
class Backend(ABC):
    """A place where trials run: `slots` at once, with these CPU cores and GPUs each."""

    slots: int
    cpus: float
    gpus: float

    @property
    def device(self) -> str:
        """The device of each trial in words."""
        return f"{self.gpus:g} GPU each" if self.gpus else "the CPU (no GPU is used)"

    @property
    def share(self) -> float:
        """The share of a device that each trial has: of a GPU, or of a CPU core."""
        return self.gpus or self.cpus

    @property
    def threads(self) -> int:
        """The threads of each trial."""
        return max(1, int(self.cpus))

    def settings(self, out: Path) -> RunSettings:
        """Return the settings of trials whose records lie in a folder."""
        return RunSettings(out, "cuda" if self.gpus else "cpu", device_share=self.share, place=Place.of(out))

    @abstractmethod
    def check(self, bank: Bank) -> None:
        """Raise a `ValueError` unless the bank that was checked here is there, to the bit, wherever trials may run."""

    @abstractmethod
    def run(self, trials: TrialSource, out: Path, number: int) -> None:
        """Run all trials that are handed out, at most `number`; an interrupt passes through."""


def allot(cpus: float, gpus: float | None, nodes: Sequence[Mapping[str, float]]) -> tuple[int, float, float]:
    """Return how many trials run at once on nodes that have so many "CPU" and "GPU", and each trial's CPUs and GPUs.

    A fraction of a GPU shares one between trials; memory is not limited by it. Where nothing is said of GPUs, each
    trial gets one if there are any, else none.

    Raises:
        ValueError: no node can run even one trial; names what was asked for and what there is.
    """
    available = {kind: sum(node.get(kind, 0.0) for node in nodes) for kind in ("CPU", "GPU")}
    gpus = float(available["GPU"] > 0) if gpus is None else gpus
    slots = sum(_slots(node, cpus, gpus) for node in nodes)
    if slots == 0:
        raise ValueError(
            f"each trial needs {cpus:g} CPU and {gpus:g} GPU (--cpus-per-trial, --gpus-per-trial), "
            f"but {len(nodes)} node(s) have {available['CPU']:g} CPU and {available['GPU']:g} GPU: ask for less"
        )
    return slots, cpus, gpus


def _slots(node: Mapping[str, float], cpus: float, gpus: float) -> int:
    """Return how many trials fit on a node; a fraction of a GPU is of one GPU, so 0.15 fits six times on each."""
    by_cpu = int(node.get("CPU", 0.0) / cpus + 1e-9)
    if gpus == 0:
        return by_cpu
    count = int(node.get("GPU", 0.0))
    by_gpu = count * int(1 / gpus + 1e-9) if gpus < 1 else int(count / gpus + 1e-9)
    return min(by_cpu, by_gpu)


class Inline(Backend):
    """Trials in this process, one by one."""

    @classmethod
    def of(cls, cpus: float, gpus: float | None) -> Inline:
        """Return that of this machine.

        Raises:
            ValueError: it has not what a trial asks for.
        """
        here = {"CPU": float(cores()), "GPU": float(torch.cuda.device_count())}
        return replace(cls(*allot(cpus, gpus, [here])), slots=1)

    def check(self, bank: Bank) -> None:
        """Check nothing more: this process has checked it."""

    def run(self, trials: TrialSource, out: Path, number: int) -> None:
        """Run one trial after the other."""
        torch.set_num_threads(self.threads)
        keep_freed_memory()
        settings = self.settings(out)
        while (spec := trials.next()) is not None:
            trials.started(spec)
            trials.finished(spec, self._record_of(spec, settings, trials))

    def _record_of(self, spec: TrialSpec, settings: RunSettings, trials: TrialSource) -> Record:
        trial = Trial(spec, settings)
        while trial.record is None:
            row = trial.step()
            settings.check()
            if row is not None:
                trials.epoch(spec, row)
            if spec.rungs and trial.record is None:
                so_far = trial.stopped()
                if not trials.goes_on(spec, so_far.history):
                    keep_stopped(settings.out, so_far)
                    return so_far
        return trial.record
