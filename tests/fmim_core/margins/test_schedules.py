"""Margin schedules against the formulas, computed from all values of an epoch by numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fmim_core.margins.automargin import AutoMargin
from fmim_core.margins.base import MarginConfig, Margins
from fmim_core.margins.fixed import FixedMargins
from fmim_core.margins.quartile import Quartile
from fmim_core.margins.wat import WAT
from fmim_core.triplets.similarities import Similarities, TripletIndex
from fmim_core.triplets.statistics import EpochStatistics, StatisticsCollector, quantile
from tests.fmim_core.losses.test_losses import LABELS, random_embeddings, similarities
from tests.oracles.losses import epoch_values

BATCHES = [(random_embeddings(seed).detach(), LABELS) for seed in range(4)]
DELTA, PHI_AN, PHI_AP = epoch_values(BATCHES)


def collect(keep_values: bool = True, bins: int = 0) -> EpochStatistics:
    """The statistics of all batches; three of them have the same index, and one between them another one."""
    collector, classes = StatisticsCollector(torch.device("cpu"), keep_values, bins), torch.tensor(LABELS)
    index = TripletIndex.of(classes)
    for number, (e, _) in enumerate(BATCHES):
        collector.add(Similarities.of(e, TripletIndex.of(classes) if number == 2 else index, classes))
    return collector.finish()


def test_statistics_are_means_over_all_triplets_and_pairs_of_the_epoch() -> None:
    statistics = collect(keep_values=False)
    assert statistics.delta_mean == pytest.approx(DELTA.mean(), abs=1e-12)
    assert statistics.phi_an_mean == pytest.approx(PHI_AN.mean(), abs=1e-12)
    assert statistics.phi_ap_mean == pytest.approx(PHI_AP.mean(), abs=1e-12)
    assert statistics.delta_values is None
    assert math.isnan(StatisticsCollector(torch.device("cpu")).finish().delta_mean)


@pytest.mark.parametrize(
    ("config", "epsilon", "beta"),
    [
        *(
            (AutoMargin(k_delta=k, k_an=j), DELTA.mean() / k, 1 + (PHI_AN.mean() - 1) / j)
            for k, j in ((1, 1), (2, 4), (4, 2))
        ),
        (AutoMargin(k_delta=2, k_an=4, update="average"), DELTA.mean() / 2, 1 + (PHI_AN.mean() - 1) / 4),
        (AutoMargin(k_delta=2, k_an=4, statistic="median"), np.median(DELTA) / 2, 1 + (np.median(PHI_AN) - 1) / 4),
        (Quartile(quartile=1), np.quantile(DELTA, 0.25), np.quantile(PHI_AN, 0.75)),
        (Quartile(quartile=2), np.quantile(DELTA, 0.5), np.quantile(PHI_AN, 0.5)),
    ],
)
def test_margins_are_equations_7_and_8_or_quartiles_as_hard_for_both(
    config: MarginConfig, epsilon: float, beta: float
) -> None:
    schedule = config.build()
    assert schedule.measures_first
    schedule.observe(0, collect(schedule.needs_values))
    assert schedule.margins.epsilon == pytest.approx(max(0.0, epsilon), abs=1e-12)
    assert schedule.margins.beta == pytest.approx(beta, abs=1e-12)


def test_automargin_never_goes_below_zero_and_keeps_not_a_number() -> None:
    schedule = AutoMargin(k_delta=2, k_an=2, initial="released").build()
    assert schedule.margins == Margins(0.25, 0.0)
    schedule.observe(1, EpochStatistics(delta_mean=-0.2, phi_an_mean=0.5, phi_ap_mean=0.3))
    assert schedule.margins == Margins(0.0, 0.75)
    schedule.observe(1, EpochStatistics(math.nan, math.nan, math.nan))
    assert math.isnan(schedule.margins.epsilon)


@pytest.mark.parametrize("statistic", ["mean", "median"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_margins_can_follow_every_batch_or_their_moving_average(statistic: str, momentum: float) -> None:
    update = "average" if momentum else "batch"
    config = AutoMargin(k_delta=2, k_an=4, statistic=statistic, update=update, initial="released")
    schedule = config.build()
    epsilon, beta = 0.25, 0.0
    for e, labels in BATCHES:
        delta, phi_an, _ = epoch_values([(e, labels)])
        middle = {"mean": np.mean, "median": np.median}[statistic]
        epsilon = momentum * epsilon + (1 - momentum) * max(0.0, middle(delta)) / 2
        beta = momentum * beta + (1 - momentum) * (1 + (middle(phi_an) - 1) / 4)
        margins = schedule.for_batch(similarities(e, labels))
        assert float(margins.epsilon) == pytest.approx(epsilon, abs=1e-12)
        assert float(margins.beta) == pytest.approx(beta, abs=1e-12)


def test_histograms_count_every_triplet_and_negative_pair() -> None:
    counts = collect(bins=40).histograms
    assert counts["delta_histogram"] == np.histogram(DELTA, 40, (-2, 2))[0].tolist()
    assert counts["phi_an_histogram"] == np.histogram(PHI_AN, 40, (-1, 1))[0].tolist()
    assert collect().histograms == {}


@pytest.mark.parametrize("n", [1, 2, 5, 100])
@pytest.mark.parametrize("q", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_quantile_is_numpys(n: int, q: float) -> None:
    values = torch.randn(n, generator=torch.Generator().manual_seed(n), dtype=torch.float64).sort().values
    assert quantile(values, q) == pytest.approx(np.quantile(values.numpy(), q), abs=1e-15)


@pytest.mark.parametrize(
    ("config", "values"),
    [
        (FixedMargins, {"epsilon": 2.0}),
        (FixedMargins, {"epsilon": -0.1}),
        (FixedMargins, {"epsilon": math.nan}),
        (FixedMargins, {"epsilon": 0.1, "beta": 1.1}),
        (WAT, {"beta": 4.0}),
        (AutoMargin, {"k_delta": 0}),
        (AutoMargin, {"k_delta": 2.5}),
        (Quartile, {"quartile": 3}),
    ],
)
def test_values_out_of_range_are_refused_by_name(config: type[MarginConfig], values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=list(values)[-1]):
        config(**values)
