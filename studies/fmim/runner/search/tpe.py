"""The tree-structured Parzen estimator (Bergstra et al. 2011), by Optuna; the model for an adaptive searcher.

It is here and not in `fmim_spaces` since it needs Optuna, which is imported when it first proposes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import PositiveInt

from fmim_spaces.domain import Configuration, Space
from fmim_spaces.searcher import History, Sampled

REDRAWS = 10  # it may insist on a point; what it would take next is not worth its time


class TPE(Sampled):
    """Optuna's multivariate estimator.

    Proposal n is based on the results of the configurations 0 … n − in_flight, and on no others. A result is the mean
    over folds.

    Args:
        startup: number of random configurations before the estimator takes over.
        in_flight: number of configurations that may run at once; 1 is one after the other, and each has its folds to
            keep several slots busy.
    """

    kind: Literal["tpe"] = "tpe"
    startup: PositiveInt = 10
    in_flight: PositiveInt = 2

    def __str__(self) -> str:
        return f"{super().__str__()}, {self.startup} random, {self.in_flight} at once"

    def results_needed(self, number: int) -> int:
        """Return all but those that may be at work."""
        return max(0, number - self.in_flight + 1)

    def warnings(self, space: Space) -> list[str]:
        """Warn of an estimator that never takes over."""
        adapted = self.results_needed(self.budget(space)) - self.startup
        return [] if adapted > 0 else [f"TPE(samples={self.samples}, startup={self.startup}) is only a random search"]

    def suggest(self, history: History) -> Iterator[Configuration]:
        """Yield what the estimator asks for, with a new seed each time."""
        import optuna

        logging.getLogger("optuna").setLevel(logging.WARNING)
        distributions = _distributions(history.space)
        told = [
            optuna.trial.create_trial(
                state=optuna.trial.TrialState.FAIL if value is None else optuna.trial.TrialState.COMPLETE,
                value=value,
                params=configuration,
                distributions=distributions,
            )
            for configuration, value in history.results
        ]
        for attempt in range(REDRAWS):
            sampler = optuna.samplers.TPESampler(
                n_startup_trials=self.startup,
                multivariate=True,
                seed=history.draws.seed(history.number, attempt) % 2**32,  # as many bits as NumPy's takes
            )
            study = optuna.create_study(
                sampler=sampler, direction="maximize" if history.higher_is_better else "minimize"
            )
            study.add_trials(told)
            asked = study.ask(distributions).params
            chosen = {choice.name: asked[choice.name] for choice in history.space.choices}
            yield chosen | {each.name: each.rounded(asked[each.name]) for each in history.space.ranges}


def _distributions(space: Space) -> dict[str, Any]:
    """Return a space's parameters as Optuna has them, by name."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    choices = {choice.name: CategoricalDistribution(choice.values) for choice in space.choices}
    return choices | {
        each.name: FloatDistribution(each.low, each.high, log=each.scale == "log") for each in space.ranges
    }
