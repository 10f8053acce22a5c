"""The records' numbers of each epoch of training, over the seeds of an arm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fmim_core.records import EpochRow
from fmim_reports.reading.results import Results
from fmim_reports.stats import MeanSE, mean_se

History = Mapping[int, EpochRow]  # by epoch
Histories = Mapping[int, History]  # seed → history


def histories(results: Results, arm: str) -> Histories:
    """Return seed → epoch → row, of the arm's completed replicates."""
    return {
        trial.replicate: {row.epoch: row for row in trial.record.history}
        for trial in results.of(arm, "replicate")
        if trial.status == "completed" and trial.record and trial.record.history
    }


def histories_by_arm(results: Results) -> dict[str, Histories]:
    """Return the histories of every arm that has one, in plan order."""
    return {arm.name: found for arm in results.arms if (found := histories(results, arm.name))}


def epochs_of(found: Histories) -> list[int]:
    """Return the epochs that any seed trained, in order."""
    return sorted({epoch for history in found.values() for epoch in history})


def at(found: Histories, name: str, epoch: int) -> MeanSE:
    """Return mean ± SE over seeds of one number of an epoch; a seed that lacks it makes it not-a-number."""
    return mean_se(values_at(found, name, epoch))


def values_at(found: Histories, name: str, epoch: int) -> dict[int, float]:
    """Return seed → one number of an epoch, of the seeds that trained it; not-a-number where a seed lacks it."""
    return {seed: history[epoch].number(name) for seed, history in found.items() if epoch in history}


def milestones(epochs: Iterable[int], most: int = 5) -> list[int]:
    """Return at most `most` of the epochs, the first and the last among them, evenly apart."""
    listed = sorted(epochs)
    places = np.linspace(0, len(listed) - 1, min(most, len(listed))).round().astype(int)
    return [listed[place] for place in places]


def density(found: Histories, name: str, epoch: int, low: float, high: float) -> np.ndarray | None:
    """Return the histogram `name` of an epoch, added over seeds, as a density on [low, high] that integrates to 1.

    None where no seed counted anything.
    """
    counts = [getattr(history[epoch], name) for history in found.values() if epoch in history]
    total = np.sum([np.asarray(c, dtype=float) for c in counts if c], axis=0)
    if not np.any(total > 0):
        return None
    return total / (total.sum() * (high - low) / len(total))
