"""What a way to search a space is: an abstract base as frozen data, torch-free, whole in this file.

A searcher is declared as data, and proposes by itself. The n-th proposal of an arm is a function of its `History`
alone: the study's seed, the arm's name, what was proposed before and the results that the searcher waits for; never of
the order in which parallel trials end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, ClassVar, Protocol, Self, overload

from pydantic import BeforeValidator, PlainSerializer, PositiveInt, model_validator

from fmim_core.config import Config
from fmim_spaces.domain import Configuration, Space, Value
from fmim_spaces.stopping import StoppingRule

REDRAWS = 100  # draws for one proposal, since the first ones may have been proposed before


class Draws(Protocol):
    """Random numbers that follow from the study's seed, the arm's name and the `parts` given, the same at each call."""

    def seed(self, *parts: object) -> int:
        """A seed of 63 bits, for a generator of one's own."""

    def uniform(self, dimensions: int, *parts: object) -> list[float]:
        """A point of the unit cube."""

    def sobol(self, dimensions: int, number: int) -> list[list[float]]:
        """The first points of a scrambled Sobol sequence in the unit cube."""

    def order(self, number: int, *parts: object) -> list[int]:
        """The numbers from 0 to `number` − 1 in random order."""


class Proposed(Sequence[Configuration]):
    """Configurations by their numbers; whether one is among them is known at once, however many there are."""

    def __init__(self, configurations: Iterable[Configuration] = ()) -> None:
        self._all: list[Configuration] = []
        self._known: set[frozenset[tuple[str, Any]]] = set()
        for configuration in configurations:
            self.append(configuration)

    def append(self, configuration: Configuration) -> None:
        """Add the next one."""
        self._all.append(configuration)
        self._known.add(frozenset(configuration.items()))

    def __len__(self) -> int:
        return len(self._all)

    @overload
    def __getitem__(self, number: int) -> Configuration: ...

    @overload
    def __getitem__(self, number: slice) -> list[Configuration]: ...

    def __getitem__(self, number: int | slice) -> Configuration | list[Configuration]:
        return self._all[number]

    def __contains__(self, configuration: object) -> bool:
        return isinstance(configuration, Mapping) and frozenset(configuration.items()) in self._known


@dataclass(frozen=True)
class History:
    """All that a proposal may depend on.

    configurations: all proposed so far. values: of the first of them, those that the searcher waits for
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
        """The number of the configuration that is proposed next."""
        return len(self.configurations)

    @property
    def results(self) -> list[tuple[Configuration, float | None]]:
        """The configurations whose results are known, and these."""
        return list(zip(self.configurations, self.values, strict=False))

    def random(self, *parts: object, space: Space | None = None) -> Iterator[Configuration]:
        """`REDRAWS` configurations drawn independently, of `space` if it is another one."""
        drawn_from = self.space if space is None else space
        for attempt in range(REDRAWS):
            yield drawn_from.at(self.draws.uniform(len(drawn_from.parameters), *parts, attempt))

    def untried(self) -> Iterator[Configuration]:
        """What is left of a finite space in random order; random configurations of any other."""
        if not self.space.finite:
            yield from self.random(self.number, "untried")
            return
        left = [each for each in self.space.configurations() if each not in self.configurations]
        yield from (left[position] for position in self.draws.order(len(left), self.number, "untried"))


class Searcher(Config, ABC):
    """A way to search a space: how many configurations, chosen how, and which of their trials are stopped.

    kind: its name in study.json; each class has its own, as `kind: Literal["random"] = "random"`.
    """

    kind: str
    note: ClassVar[str] = ""  # what another run with the same seed may do otherwise

    @abstractmethod
    def check(self, space: Space) -> None:
        """Raise a `ValueError` for a space that it cannot search."""

    @abstractmethod
    def budget(self, space: Space) -> int:
        """Configurations that it begins to train."""

    @abstractmethod
    def candidates(self, history: History) -> Iterable[Configuration]:
        """Configurations in the order in which it would have them; the first that is new is taken."""

    def listed(self, space: Space) -> list[Configuration] | None:
        """All its configurations, where they are known before anything runs."""
        return None

    def warnings(self, space: Space) -> list[str]:
        """What is allowed, but is hardly meant."""
        return []

    def results_needed(self, number: int) -> int:
        """How many of the earliest configurations' results proposal `number` (from 0) is based on, and waits for.

        At most `number`. No more than these are given even if more are known by then, so that parallel runs and
        interrupted ones propose the same.
        """
        return 0

    @property
    def stopping_rule(self) -> StoppingRule | None:
        """What stops trials of the first fold early, if anything does."""
        return None

    # What follows from these, for whoever runs, shows or reports a search.

    def propose(self, history: History) -> Configuration | None:
        """The next configuration, one that was not there before; None where there is no other."""
        return next((each for each in self.candidates(history) if each not in history.configurations), None)

    def uses_results(self, space: Space) -> bool:
        """Whether any proposal is based on results."""
        return self.results_needed(self.budget(space) - 1) > 0

    @property
    def screens(self) -> bool:
        """Whether the first fold screens: only what comes to its end there is trained on the other folds."""
        return self.stopping_rule is not None

    def ordered(self, space: Space) -> bool:
        """Whether its configurations cannot be taken in another order, since what came earlier had a say."""
        return self.uses_results(space) or self.screens

    def stopping_points(self, validations: int) -> tuple[int, ...]:
        """After which of so many validations a trial of the first fold may be stopped."""
        rule = self.stopping_rule
        return () if rule is None else rule.stopping_points(validations)


def _pairs(given: Any) -> Any:
    return tuple(given.items()) if isinstance(given, Mapping) else given


# A configuration as hashable data: given, and written to study.json, as a mapping.
Point = Annotated[tuple[tuple[str, Value], ...], BeforeValidator(_pairs), PlainSerializer(dict)]


class Sampled(Searcher):
    """A searcher that suggests configurations one by one, no two the same: the base of all but a grid.

    Args:
        samples: how many; a space with fewer is trained whole. It may be raised later: the first ones stay.
        start: configurations that come first, e.g. `({"epsilon": 0.25, "beta": 0.1},)`.
    """

    samples: PositiveInt
    start: tuple[Point, ...] = ()

    def __str__(self) -> str:
        given = f", {len(self.start)} given" if self.start else ""
        return f"{type(self).__name__}{given}"

    @abstractmethod
    def suggest(self, history: History) -> Iterable[Configuration]:
        """Configurations in the order in which it would have them; a few, where the first may have been there before.

        Behind them come those that are untried, in random order.
        """

    def candidates(self, history: History) -> Iterable[Configuration]:
        return chain(map(dict, self.start[history.number :]), self.suggest(history), history.untried())

    @model_validator(mode="after")
    def _start_is_distinct(self) -> Self:
        if len(set(self.start)) < len(self.start):
            raise ValueError("start: a configuration comes more than once; name each once")
        if len(self.start) > self.samples:
            raise ValueError(f"start: {len(self.start)} configurations, but samples = {self.samples}")
        return self

    def check(self, space: Space) -> None:
        """Raise a `ValueError` for a space in which nothing varies, or a start that is not in the space."""
        if not space.parameters:
            raise ValueError(f"{type(self).__name__} has nothing to draw: the space is empty; leave the searcher out")
        for point in self.start:
            space.check(dict(point))

    def budget(self, space: Space) -> int:
        """Configurations it begins to train; where trials are stopped, few are trained to the end."""
        return min(self.samples, space.size) if space.finite else self.samples
