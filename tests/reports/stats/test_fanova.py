"""Importance of hyperparameters, beside Optuna's own fANOVA of the same configurations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import optuna
import pytest

from fmim_reports.stats import importance


def by_optuna(points: np.ndarray, scores: np.ndarray, levels: Sequence[int], choices: bool) -> list[float]:
    study = optuna.create_study(direction="maximize")
    for point, score in zip(points, scores, strict=True):
        space: dict[str, optuna.distributions.BaseDistribution] = {}
        for place, count in enumerate(levels):
            whole, part = (
                optuna.distributions.IntDistribution(0, count - 1),
                optuna.distributions.FloatDistribution(0, 1),
            )
            space[str(place)] = whole if choices else part
        values = {str(i): int(x * levels[i]) if choices else float(x) for i, x in enumerate(point)}
        study.add_trial(optuna.trial.create_trial(params=values, distributions=space, value=float(score)))
    found = optuna.importance.FanovaImportanceEvaluator(seed=0).evaluate(study)
    return [found[str(place)] for place in range(len(levels))]


@pytest.mark.parametrize("choices", [True, False])
def test_shares_are_those_of_optuna(choices: bool) -> None:
    rng = np.random.default_rng(0)
    levels = (4, 3) if choices else (32, 32, 32)
    axes = [(np.arange(count) + 0.5) / count for count in levels]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2) if choices else rng.random((40, 3))
    scores = 0.7 + 0.1 * points[:, 0] + 0.06 * points[:, 1] ** 2 + 0.1 * points[:, 0] * points[:, 1]
    found = importance(points, scores, levels)
    assert found is not None
    assert found.shares == pytest.approx(by_optuna(points, scores, levels, choices), abs=0.02)
    assert found == importance(points, scores, levels)
    assert found.marginals[0][-1] - found.marginals[0][0] > found.marginals[1][-1] - found.marginals[1][0] > 0


def test_noise_is_known_by_r_squared_and_equal_scores_say_nothing() -> None:
    rng = np.random.default_rng(1)
    points = rng.random((16, 2))
    noise, signal = importance(points, rng.random(16), (10, 10)), importance(points, points[:, 1], (10, 10))
    assert noise is not None
    assert signal is not None
    assert noise.r_squared < 0 < 0.8 < signal.r_squared
    assert signal.shares[0] < 0.05 < 0.8 < signal.shares[1]
    assert importance(points, np.full(16, 0.5), (10, 10)) is None
    near_an_end = 0.04 * points
    assert importance(near_an_end, near_an_end[:, 1], (10, 10)) is None  # every split is beyond the first part
