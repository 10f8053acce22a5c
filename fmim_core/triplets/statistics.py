"""Statistics of Δ, φ_an and φ_ap over one epoch, kept on the device until the epoch ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from fmim_core.triplets.similarities import Similarities, TripletIndex

HISTOGRAMS = ("delta_histogram", "phi_an_histogram")


@dataclass(frozen=True)
class EpochStatistics:
    """Means over all triplets (Δ), all negative pairs (φ_an) and all positive pairs (φ_ap) of an epoch.

    delta_values, phi_an_values: the sorted values themselves, only where a schedule asked for quantiles.
    histograms: counts of Δ in equal bins over [−2, 2] and of φ_an over [−1, 1], where bins were asked for.
    A mean over nothing is NaN.
    """

    delta_mean: float
    phi_an_mean: float
    phi_ap_mean: float
    delta_values: Tensor | None = None
    phi_an_values: Tensor | None = None
    histograms: dict[str, list[int]] = field(default_factory=dict)


def quantile(ordered: Tensor, q: float) -> float:
    """Return the q-quantile of sorted values `(n,)` with linear interpolation, as `numpy.quantile`.

    For any n (torch's own stops at 2^24); NaN where there are no values.
    """
    if ordered.numel() == 0:
        return float("nan")
    position = q * (ordered.numel() - 1)
    low = int(position)
    high = min(low + 1, ordered.numel() - 1)
    a, b = ordered[[low, high]].double().tolist()
    return a + (b - a) * (position - low)


class StatisticsCollector:
    """Accumulates batches without a host synchronisation; `finish` reads the sums once.

    The sums of Δ, φ_an and φ_ap are weighted sums of φ (`TripletIndex.sum_weights`), in float64: no triplet is looked
    at. As long as batches have the same index, as in a training, φ is only added up, and weighted at the end.
    With `keep_values` an epoch holds 4 bytes per triplet and negative pair (0.2 MB for a batch of 32 × 4).
    """

    def __init__(self, device: torch.device, keep_values: bool = False, bins: int = 0) -> None:
        self._sums = torch.zeros(3, dtype=torch.float64, device=device)
        self._index: TripletIndex | None = None
        self._phi = torch.zeros(0, device=device)  # the sum since `_index` is this one
        self._triplets = self._negatives = self._positives = 0
        self._keep_values = keep_values
        self._bins = bins
        self._counts = torch.zeros(2, bins, dtype=torch.float64, device=device)
        self._delta: list[Tensor] = []
        self._phi_an: list[Tensor] = []

    def add(self, batch: Similarities) -> None:
        """Add one batch; gradients are not followed."""
        phi, index = batch.phi.detach(), batch.index
        if index is not self._index:
            self._weigh()
            self._index, self._phi = index, torch.zeros_like(phi, dtype=torch.float64)
        self._phi += phi
        self._triplets += index.triplets
        self._negatives += index.negatives
        self._positives += len(index.anchor)
        if self._bins:
            self._counts[0] += torch.histc(batch.triplet_values, self._bins, -2, 2)
            self._counts[1] += torch.histc(batch.negative_values, self._bins, -1, 1)
        if self._keep_values:
            self._delta.append(batch.triplet_values)
            self._phi_an.append(batch.negative_values)

    def _weigh(self) -> None:
        if self._index is not None:
            self._sums += self._index.sum_weights @ self._phi.flatten()
            self._phi.zero_()

    def finish(self) -> EpochStatistics:
        """Return the statistics of everything added."""
        self._weigh()
        delta_sum, phi_an_sum, phi_ap_sum = self._sums.tolist()
        return EpochStatistics(
            delta_mean=_mean(delta_sum, self._triplets),
            phi_an_mean=_mean(phi_an_sum, self._negatives),
            phi_ap_mean=_mean(phi_ap_sum, self._positives),
            delta_values=torch.cat(self._delta).sort().values if self._delta else None,
            phi_an_values=torch.cat(self._phi_an).sort().values if self._phi_an else None,
            histograms=dict(zip(HISTOGRAMS, self._counts.long().tolist(), strict=True)) if self._bins else {},
        )


def _mean(total: float, count: int) -> float:
    return total / count if count else math.nan
