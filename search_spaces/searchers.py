"""Ways to search a space, as frozen data: how many configurations, chosen how. Imports neither torch nor Optuna.

The runner turns them into proposals. The n-th proposal of an arm is a function of the study's seed, the arm's name
and, for `TPE` alone, of the results it declares to wait for; never of the order in which parallel trials end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, PositiveInt, model_validator

from search_spaces.domain import Configuration, Frozen, Space, Value


def _pairs(given: Any) -> Any:
    return tuple(given.items()) if isinstance(given, Mapping) else given


# A configuration as hashable data: given, and written to study.json, as a mapping.
Point = Annotated[tuple[tuple[str, Value], ...], BeforeValidator(_pairs), PlainSerializer(dict)]


class _Searcher(Frozen):
    adaptive: ClassVar[bool] = False  # whether proposals wait for the results of earlier ones
    screens: ClassVar[bool] = False  # whether the first fold alone decides which configurations go on
    note: ClassVar[str] = ""  # what another run with the same seed may do otherwise

    @property
    def facts(self) -> dict[str, bool]:
        """What study.json says of it, so that nobody asks for its kind.

        uses_results: its proposals depend on earlier results. screens: only configurations that come to the end of the
        first fold are trained on the others. ordered: its configurations cannot be taken in another order.
        """
        ordered = self.adaptive or self.screens
        return {"uses_results": self.adaptive, "screens": self.screens, "ordered": ordered}

    def rung_epochs(self, epochs: int) -> tuple[int, ...]:
        """Epochs after which a search trial of the first fold may be stopped."""
        return ()

    def warnings(self, space: Space) -> list[str]:
        """What is allowed, but is hardly meant."""
        return []


class Grid(_Searcher):
    """Every configuration of the choices; with ranges, each of them `samples` times with other draws of the ranges.

    The runner lists grids itself: Optuna's GridSampler repeats points when several workers ask at once.
    """

    kind: Literal["grid"] = "grid"
    samples: PositiveInt | None = None

    def __str__(self) -> str:
        return "grid"

    def check(self, space: Space) -> None:
        """Raise a `ValueError` for a range without a number of draws."""
        if not space.finite and self.samples is None:
            ranges = ", ".join(map(str, space.ranges))
            raise ValueError(
                f"a grid cannot list {ranges}: give Grid(samples=n) for n draws at each of {space.size} grid "
                "points, choices instead of ranges, or another searcher"
            )

    def budget(self, space: Space) -> int:
        """Configurations it trains."""
        return space.size if space.finite else space.size * (self.samples or 0)

    def listed(self, space: Space) -> list[Configuration] | None:
        """All configurations beforehand; None if some of their values are drawn."""
        return list(space.configurations()) if space.finite else None

    def warnings(self, space: Space) -> list[str]:
        if not space.finite or self.samples in (None, 1):
            return []
        return [
            f"Grid(samples={self.samples}) over choices alone trains each of the {space.size} configurations once: "
            "there is nothing to draw. To repeat trainings with other seeds, use replicates (--replicates)"
        ]


class _Sampled(_Searcher):
    """Configurations one by one, no two the same.

    Args:
        samples: how many; a space with fewer is trained whole. It may be raised later: the first ones stay.
        start: configurations that come first, e.g. `({"epsilon": 0.25, "beta": 0.1},)`.
    """

    samples: PositiveInt
    start: tuple[Point, ...] = ()

    def __str__(self) -> str:
        given = f", {len(self.start)} given" if self.start else ""
        return f"{type(self).__name__}{given}"

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
        """Configurations it trains; of those that ASHA starts, few are trained to the end."""
        return min(self.samples, space.size) if space.finite else self.samples

    def listed(self, space: Space) -> list[Configuration] | None:
        """None: its configurations are known once they are proposed."""
        return None


class Random(_Sampled):
    """Configurations drawn independently."""

    kind: Literal["random"] = "random"


class QMC(_Sampled):
    """The points of a scrambled Sobol sequence, which fill the space evenly. Powers of two do so best.

    The sequence is taken as it is; Optuna's QMCSampler takes its first point at random, and one twice when two
    workers ask at once.
    """

    kind: Literal["qmc"] = "qmc"


class TPE(_Sampled):
    """Tree-structured Parzen estimator (Bergstra et al. 2011; Optuna's, multivariate).

    Proposal n is based on the results of the configurations 0 … n − in_flight, and on no others even if more are
    known by then, so that parallel runs and interrupted ones propose the same. A result is the mean over folds.

    Args:
        startup: results to draw at random for before the estimator takes over.
        in_flight: configurations that may be at work at once; 1 is one after the other, and each has its folds to
            keep several slots busy.
    """

    adaptive: ClassVar[bool] = True
    kind: Literal["tpe"] = "tpe"
    startup: PositiveInt = 10
    in_flight: PositiveInt = 2

    def __str__(self) -> str:
        return f"{super().__str__()}, {self.startup} random, {self.in_flight} at once"

    def warnings(self, space: Space) -> list[str]:
        adapted = self.budget(space) - self.startup - self.in_flight + 1
        return [] if adapted > 0 else [f"TPE(samples={self.samples}, startup={self.startup}) is a random search"]


class ASHA(_Sampled):
    """Random configurations stopped early by asynchronous successive halving (Li et al. 2020).

    The first fold screens. After ⌈E / r^k⌉ of E epochs, with r = reduction and k = rungs … 1, its trial goes on if
    its validation mAP is among the best 1/r of those that came so far in the same arm, and the best one always; else
    it ends there. What survives the first fold is trained on the others, and only that can be selected.

    Rungs are shares of the training, not epochs, since one declaration serves presets of 2 to 100 epochs.
    """

    note: ClassVar[str] = (
        "the configurations that ASHA offers follow from the seed, but which of them are stopped depends on the order "
        "in which parallel trials reach a rung, so another run may stop others"
    )
    screens: ClassVar[bool] = True
    kind: Literal["asha"] = "asha"
    reduction: Annotated[int, Field(ge=2)] = 3
    rungs: PositiveInt = 2

    def __str__(self) -> str:
        return f"{super().__str__()}, best 1/{self.reduction} at {self.rungs} rungs"

    def rung_epochs(self, epochs: int) -> tuple[int, ...]:
        shares = (math.ceil(epochs / self.reduction**k) for k in range(self.rungs, 0, -1))
        return tuple(sorted({epoch for epoch in shares if epoch < epochs}))

    def expected_epochs(self, epochs: int, folds: int) -> float:
        """Epochs of the whole search if exactly one in `reduction` goes on at each rung: to plan equal budgets."""
        ends = (*self.rung_epochs(epochs), epochs)
        begins = (0, *ends[:-1])
        first = sum((end - begin) / self.reduction**k for k, (begin, end) in enumerate(zip(begins, ends, strict=True)))
        return self.samples * (first + (folds - 1) * epochs / self.reduction ** (len(ends) - 1))


Searcher = Annotated[Grid | Random | QMC | TPE | ASHA, Field(discriminator="kind")]
