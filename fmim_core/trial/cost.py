"""The cost of a trial, and what earlier attempts at it cost on top.

All that was spent on a trial is `cost` + Σ `attempts`: a failed attempt's cost that a later one resumed from (by its
checkpoint) is part of the later one's and no longer of the failed one's.
"""

from __future__ import annotations

import platform
import resource
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import torch

from fmim_core.machine import processor
from fmim_core.records import Attempt, Cost, Record, TrialError
from fmim_core.registry import load_plugins
from fmim_core.training.evaluation import Evaluator


def environment() -> dict[str, str]:
    """Return the machine and versions a trial runs with, those of packages that register kinds among them."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "pytorch_metric_learning": version("pytorch-metric-learning"),
        "platform": platform.platform(),
        "host": platform.node(),
        "processor": processor(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),  # the instruction set of torch's own kernels
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
    } | load_plugins()


def device_name(device: torch.device) -> str:
    """Return the GPU's name, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def peak_memory(device: torch.device | None) -> int:
    """Return bytes: of this trial on a GPU; on a CPU of the process so far, which may have run other trials before."""
    if device is not None and device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def energy_counter(device: torch.device) -> float | None:
    """Return the joules that a GPU has drawn since its driver was loaded; None where nothing tells (a CPU, an old GPU).

    NVML counts the whole card, its idle power and whatever else runs there; the package nvidia-ml-py reads it.
    """
    if device.type != "cuda":
        return None
    try:
        import pynvml
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
        card = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(card)) / 1000
    except pynvml.NVMLError:
        return None


SUMS = ("startup_s", "data_s", "train_s", "eval_s", "lost_s", "wall_s", "epochs", "images", "resumed")


class Meter:
    """Measures one trial from the moment it is made, on top of what a checkpoint says was spent before."""

    def __init__(self, device_share: float) -> None:
        self._share = device_share
        self._begun = time.perf_counter()
        self._startup: float | None = None
        self._device: torch.device | None = None
        self._energy: float | None = None
        self._before = Cost(energy_j=0.0)

    def on(self, device: torch.device) -> None:
        """Count the energy of this device from here."""
        self._device, self._energy = device, energy_counter(device)

    def resume_from(self, cost: Cost, interrupted: bool) -> None:
        """Begin with the cost up to a checkpoint, from which the trial resumes after an interruption or a failure."""
        self._before = cost.model_copy(update={"resumed": cost.resumed + interrupted})

    def ready(self) -> None:
        """Note that start-up is over."""
        self._startup = self._elapsed()

    def cost(self, evaluator: Evaluator | None) -> Cost:
        """Return the cost so far of a training, or of what is only evaluated; without either all was start-up."""
        before, elapsed = self._before, self._elapsed()
        startup = elapsed if self._startup is None else self._startup
        own: dict[str, Any] = {
            "wall_s": before.wall_s + elapsed,
            "energy_j": self._joules(),
            "device": "none" if self._device is None else device_name(self._device),
            "device_share": self._share,
        }
        if evaluator is None:
            return before.model_copy(update=own | {"startup_s": before.startup_s + startup})
        seconds, rows = evaluator.seconds, evaluator.rows
        return Cost(
            startup_s=before.startup_s + seconds.startup + startup,
            data_s=seconds.data,
            train_s=seconds.train,
            eval_s=seconds.eval,
            epochs=len(rows),
            images=sum(row.batches for row in rows) * evaluator.config.batches.size,
            resumed=before.resumed,
            **own,
        )

    def _joules(self) -> float | None:
        """Return the trial's share of what the device has drawn, with what was before; None where it is not known."""
        drawn = None if self._device is None else energy_counter(self._device)
        if drawn is None or self._energy is None or self._before.energy_j is None:
            return None
        return self._before.energy_j + (drawn - self._energy) * min(self._share, 1.0)

    def _elapsed(self) -> float:
        return time.perf_counter() - self._begun


def cut_off(cost: Cost, seconds: float) -> Cost:
    """Return the cost of a trial whose worker died `seconds` after it last told: lost, nobody knows to what."""
    lost = {"lost_s": cost.lost_s + seconds, "wall_s": cost.wall_s + seconds, "energy_j": None}
    return cost.model_copy(update=lost)


def earlier_attempts(
    record: Record | None, fingerprint: str, carried: Cost | None = None, known: Sequence[Attempt] = ()
) -> tuple[Attempt, ...]:
    """Return the failed attempts that a new one has to list.

    Args:
        record: the one that the new attempt will replace.
        carried: the cost up to the checkpoint that the new attempt resumes from; None if it starts anew.
        known: the attempts that this checkpoint lists; where the record is among them, an interruption followed it.
    """
    failed = record is not None and not record.final and record.fingerprint == fingerprint
    if record is None or not failed or any(one.ended_at == record.ended_at for one in known):
        return tuple(known)
    error = record.error or TrialError()
    attempt = Attempt(
        status=record.status,
        cost=_beyond(record.cost, carried),
        error=TrialError(kind=error.kind, message=error.message),
        started_at=record.started_at,
        ended_at=record.ended_at,
    )
    return (*record.attempts, attempt)


def _beyond(cost: Cost, carried: Cost | None) -> Cost:
    """Return the part of a cost that is not in the other."""
    if carried is None:
        return cost
    left = {name: max(0, getattr(cost, name) - getattr(carried, name)) for name in SUMS}
    # The checkpoint may be newer than what was last heard of the worker: then some of these seconds are in it.
    left["lost_s"] = min(left["lost_s"], left["wall_s"])
    drawn, before = cost.energy_j, carried.energy_j
    energy = None if drawn is None or before is None else max(0.0, drawn - before)
    return cost.model_copy(update=left | {"energy_j": energy})
