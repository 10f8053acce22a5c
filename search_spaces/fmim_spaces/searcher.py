"""A way to search a space: an abstract base as frozen data, torch-free, whole in this file.

A searcher is declared as data and makes the proposals. The n-th proposal of an arm is a function of its `History`
only: the study's seed, the arm's name, earlier proposals and the results that it waits for. It never depends on
the order in which parallel trials end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from pydantic import PositiveInt

from fmim_core.config import Config
from fmim_core.seeding import Draws
from fmim_spaces.domain import Configuration, Space
from fmim_spaces.stopping import StoppingRule

REDRAWS = 100  # draws for one proposal, since the first ones may have been proposed before


@dataclass(frozen=True)
class History:
    """Everything that a proposal may depend on.

    configurations: all proposals so far. values: the results of the first of them, those that the searcher waits for
    (`Searcher.results_needed`), in order: the mean over folds of the study's metric, None where a fold has failed or
    was stopped.
    """

    space: Space
    configurations: Sequence[Configuration]
    values: Sequence[float | None]
    higher_is_better: bool
    draws: Draws

    @property
    def number(self) -> int:
        """Return the number of the configuration that is proposed next."""
        return len(self.configurations)

    @property
    def results(self) -> list[tuple[Configuration, float | None]]:
        """Return the configurations whose results are known, and these."""
        return list(zip(self.configurations, self.values, strict=False))

    def random(self, *parts: object) -> Iterator[Configuration]:
        """Yield `REDRAWS` configurations drawn independently."""
        for attempt in range(REDRAWS):
            yield self.space.at(self.draws.uniform(len(self.space.parameters), *parts, attempt))

    def untried(self) -> Iterator[Configuration]:
        """Yield what is left of a finite space in random order; random configurations of any other."""
        if not self.space.finite:
            yield from self.random(self.number, "untried")
            return
        left = [each for each in self.space.configurations() if each not in self.configurations]
        yield from (left[position] for position in self.draws.order(len(left), self.number, "untried"))


class Searcher(Config, ABC):
    """A way to search a space: the number of configurations, their choice, and the rule that stops their trials.

    kind: its name in study.json; each class has its own, as `kind: Literal["random"] = "random"`.
    """

    kind: str
    note: ClassVar[str] = ""  # what another run with the same seed may do otherwise

    @abstractmethod
    def check(self, space: Space) -> None:
        """Raise a `ValueError` for a space that it cannot search."""

    @abstractmethod
    def budget(self, space: Space) -> int:
        """Return the number of configurations that it begins to train."""

    @abstractmethod
    def candidates(self, history: History) -> Iterable[Configuration]:
        """Return configurations in order of preference; the first new one is used."""

    def listed(self, space: Space) -> list[Configuration] | None:
        """Return all its configurations, where they are known before anything runs."""
        return None

    def warnings(self, space: Space) -> list[str]:
        """Return warnings about a choice that is allowed but probably not intended."""
        return []

    def results_needed(self, number: int) -> int:
        """Return how many of the earliest configurations' results proposal `number` (from 0) is based on, at most all.

        It waits for these. No others are given even if more are known by then, so that parallel runs and interrupted
        ones propose the same.
        """
        return 0

    @property
    def stopping_rule(self) -> StoppingRule | None:
        """Return the rule that stops trials of the first fold early, if there is one."""
        return None

    # What follows from these, for whoever runs, shows or reports a search.

    def propose(self, history: History) -> Configuration | None:
        """Return the next new configuration; None if there is none."""
        return next((each for each in self.candidates(history) if each not in history.configurations), None)

    def uses_results(self, space: Space) -> bool:
        """Return whether any proposal is based on results."""
        return self.results_needed(self.budget(space) - 1) > 0

    @property
    def screens(self) -> bool:
        """Return whether the first fold screens: only those that finish there are trained on the others."""
        return self.stopping_rule is not None

    def ordered(self, space: Space) -> bool:
        """Return whether the order of its configurations matters, because earlier ones influence later ones."""
        return self.uses_results(space) or self.screens

    def stopping_points(self, validations: int) -> tuple[int, ...]:
        """Return after which of so many validations a trial of the first fold may be stopped."""
        rule = self.stopping_rule
        return () if rule is None else rule.stopping_points(validations)


class Sampled(Searcher):
    """A searcher that suggests distinct configurations one by one: the base of all searchers but the grid.

    samples: number of configurations; a smaller space is trained whole. It may be raised later; the first ones stay.
    """

    samples: PositiveInt

    def __str__(self) -> str:
        return type(self).__name__

    @abstractmethod
    def suggest(self, history: History) -> Iterable[Configuration]:
        """Return a few configurations in order of preference, since the first may have been proposed before.

        Untried configurations follow in random order.
        """

    def candidates(self, history: History) -> Iterable[Configuration]:
        return chain(self.suggest(history), history.untried())

    def check(self, space: Space) -> None:
        """Raise a `ValueError` for a space in which nothing varies."""
        if not space.parameters:
            raise ValueError(f"{type(self).__name__} has nothing to search: the space is empty; leave the searcher out")

    def budget(self, space: Space) -> int:
        """Return how many configurations it begins to train; where trials are stopped, few are trained to the end."""
        return min(self.samples, space.size) if space.finite else self.samples
