"""What a trial costs, and what earlier attempts at it cost on top.

All that was paid for a trial is `cost` + Σ `attempts`: a failed attempt's cost that a later one resumed from (by its
checkpoint) is part of the later one's and no longer of the failed one's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from fmim_core.records import Attempt, Cost, Record, TrialError
from fmim_core.training.evaluation import Evaluator
from fmim_core.trial.energy import EnergyMeter, energy_meter
from fmim_core.trial.machine import device_name

SUMS = ("startup_s", "data_s", "train_s", "eval_s", "lost_s", "wall_s", "epochs", "images", "resumed")


class Meter:
    """Measures one trial from the moment it is made, on top of what a checkpoint says was paid before."""

    def __init__(self, device_share: float) -> None:
        self._share = device_share
        self._begun = time.perf_counter()
        self._startup: float | None = None
        self._energy: EnergyMeter | None = None
        self._device: torch.device | None = None
        self._before = Cost(energy_j=0.0)

    def on(self, device: torch.device) -> None:
        """The device is known: its energy counts from here."""
        self._device = device
        self._energy = energy_meter(device, self._share)

    def resume_from(self, cost: Cost, interrupted: bool) -> None:
        """The trial resumes from a checkpoint up to which it had cost this, after an interruption or else a failure."""
        self._before = cost.model_copy(update={"resumed": cost.resumed + interrupted})

    def ready(self) -> None:
        """Start-up is over."""
        self._startup = self._elapsed()

    def cost(self, evaluator: Evaluator | None) -> Cost:
        """The cost so far of a training, or of what is only evaluated; without either all of it was start-up."""
        before, elapsed = self._before, self._elapsed()
        seconds = evaluator.seconds if evaluator else None
        compiling = seconds.startup if seconds else 0.0
        return Cost(
            startup_s=before.startup_s + compiling + (elapsed if self._startup is None else self._startup),
            data_s=seconds.data if seconds else before.data_s,
            train_s=seconds.train if seconds else before.train_s,
            eval_s=seconds.eval if seconds else before.eval_s,
            wall_s=before.wall_s + elapsed,
            energy_j=_add(before.energy_j, self._energy.joules() if self._energy else None),
            device="none" if self._device is None else device_name(self._device),
            device_share=self._share,
            epochs=evaluator.epochs_run if evaluator else before.epochs,
            images=evaluator.images_seen if evaluator else before.images,
            resumed=before.resumed,
        )

    def _elapsed(self) -> float:
        return time.perf_counter() - self._begun


def cut_off(cost: Cost, seconds: float) -> Cost:
    """The cost of a trial whose worker died `seconds` after it had last told its cost: lost, nobody knows to what."""
    lost = {"lost_s": cost.lost_s + seconds, "wall_s": cost.wall_s + seconds, "energy_j": None}
    return cost.model_copy(update=lost)


def earlier_attempts(
    record: Record | None, fingerprint: str, carried: Cost | None = None, known: Sequence[Attempt] = ()
) -> tuple[Attempt, ...]:
    """The failed attempts that a new one has to list.

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
    """What of a cost is not in the other."""
    if carried is None:
        return cost
    whole, part = cost.model_dump(), carried.model_dump()
    left = {name: max(0, whole[name] - part[name]) for name in SUMS}
    # The checkpoint may be newer than what was last heard of the worker: then some of these seconds are in it.
    left["lost_s"] = min(left["lost_s"], left["wall_s"])
    energy = _add(cost.energy_j, None if carried.energy_j is None else -carried.energy_j)
    return cost.model_copy(update=left | {"energy_j": None if energy is None else max(0.0, energy)})


def _add(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
