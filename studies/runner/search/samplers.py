"""The next configuration of a search, as a function of its seed and of what came before, and of nothing else."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import chain
from typing import Any

import torch

from fmim_core.seeding import derive_seed, torch_generator
from search_spaces.domain import Choice, Configuration, LogUniform, Space, Uniform
from search_spaces.searchers import ASHA, QMC, TPE, Grid, Random, Searcher

REDRAWS = 100  # of a configuration that was proposed before
TPE_REDRAWS = 10  # it may insist on a point; what it would take next is not worth its time


@dataclass(frozen=True)
class Before:
    """What a proposal may depend on.

    seed: (study seed, "search", arm's name). configurations: all proposed so far. values: of the first of them, those
    that the searcher waits for, in order: the mean over folds of the study's metric, None where a fold has failed.
    """

    space: Space
    seed: tuple[object, ...]
    configurations: Sequence[Configuration]
    values: Sequence[float | None]
    higher_is_better: bool

    @property
    def number(self) -> int:
        """The number of the configuration that is proposed next."""
        return len(self.configurations)


def propose(searcher: Searcher, before: Before) -> Configuration | None:
    """The next configuration, one that was not there before; None where there is no other."""
    found: Iterable[Configuration] = _candidates(searcher, before)
    if not isinstance(searcher, Grid):
        found = chain(map(dict, searcher.start[before.number :]), found, _untried(before))
    return next((candidate for candidate in found if candidate not in before.configurations), None)


@singledispatch
def _candidates(searcher: Any, before: Before) -> Iterator[Configuration]:
    """Configurations in the order in which the searcher would have them; never without end."""
    raise TypeError(f"no engine for {searcher!r}")


@_candidates.register
def _(searcher: Random | ASHA, before: Before) -> Iterator[Configuration]:
    return _random(before.space, *before.seed, before.number)


@_candidates.register
def _(searcher: QMC, before: Before) -> Iterator[Configuration]:
    sequence = torch.quasirandom.SobolEngine(
        len(before.space.parameters), scramble=True, seed=derive_seed(*before.seed)
    )
    return map(before.space.at, sequence.draw(before.number + REDRAWS, dtype=torch.float64).tolist())


@_candidates.register
def _(searcher: Grid, before: Before) -> Iterator[Configuration]:
    """The grid round after round, so that more samples later leave the first as they are; no draw comes twice."""
    point = list(before.space.configurations())[before.number % before.space.size]
    ranges = Space(ranges=before.space.ranges)
    drawn = [{name: c[name] for name in ranges.values()} for c in before.configurations]
    for draw in _random(ranges, *before.seed, before.number):
        if draw not in drawn:
            yield point | draw


@_candidates.register
def _(searcher: TPE, before: Before) -> Iterator[Configuration]:
    import optuna

    logging.getLogger("optuna").setLevel(logging.WARNING)
    space = before.space
    distributions = {parameter.name: _distribution(parameter) for parameter in space.parameters}
    told = [
        optuna.trial.create_trial(
            state=optuna.trial.TrialState.FAIL if value is None else optuna.trial.TrialState.COMPLETE,
            value=value,
            params=configuration,
            distributions=distributions,
        )
        for configuration, value in zip(before.configurations, before.values, strict=False)
    ]
    for attempt in range(TPE_REDRAWS):
        sampler = optuna.samplers.TPESampler(
            n_startup_trials=searcher.startup,
            multivariate=True,
            seed=derive_seed(*before.seed, before.number, attempt) % 2**32,  # as many bits as NumPy's takes
        )
        study = optuna.create_study(sampler=sampler, direction="maximize" if before.higher_is_better else "minimize")
        study.add_trials(told)
        asked = study.ask(distributions).params
        yield {p.name: asked[p.name] if isinstance(p, Choice) else p.rounded(asked[p.name]) for p in space.parameters}


def _distribution(parameter: Choice | Uniform | LogUniform) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    if isinstance(parameter, Choice):
        return CategoricalDistribution(parameter.values)
    return FloatDistribution(parameter.low, parameter.high, log=isinstance(parameter, LogUniform))


def _random(space: Space, *seed: object) -> Iterator[Configuration]:
    for attempt in range(REDRAWS):
        generator = torch_generator(*seed, attempt)
        yield space.at(torch.rand(len(space.parameters), generator=generator, dtype=torch.float64).tolist())


def _untried(before: Before) -> Iterator[Configuration]:
    """Where the engine finds nothing new: what is left of a finite space, in random order, or any random point."""
    if not before.space.finite:
        return _random(before.space, *before.seed, before.number, "untried")
    left = [c for c in before.space.configurations() if c not in before.configurations]
    order = torch.randperm(len(left), generator=torch_generator(*before.seed, before.number, "untried"))
    return (left[position] for position in order.tolist())
