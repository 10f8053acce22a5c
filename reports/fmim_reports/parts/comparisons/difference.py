"""A difference of two arms with its uncertainty and tests, and Holm's correction over several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from fmim_core.metric_names import Metric
from fmim_reports.stats import UNKNOWN, Crossed, Uncertainty, holm, smallest_margins

ALPHA = 0.05
CHANGING = "changing with length"
D = TypeVar("D", bound="Difference")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The mean of one arm's test metric minus another's.

    Args:
        margin: of equivalence; None where there is none that both declare.
        value: None where no difference can be given.
        seeds: its uncertainty over seeds alone.
        crossed: over seeds and subjects, too, paired by query; None without the queries of each of these seeds.
        tested: false for arms that are scored on different tasks: the difference is not one of training.
        answers: false where a preset's numbers say nothing about methods: nothing is shown then.
        moves: true where longer training changes the difference by more than the margin: nothing is shown yet.
        share: of the error rate that a look at these seeds may spend; 1 where their number was fixed beforehand.
        earlier: the difference as it was at each earlier look, with fewer seeds.
        p_holm, p_equivalence_holm: corrected over all differences, and by themselves over all equivalences, of which
            there are `family` and `equivalence_family`.
        smallest_margin: within which equivalence is shown, likewise corrected.
    """

    metric: Metric
    margin: float | None
    value: float | None = None
    seeds: Uncertainty = UNKNOWN
    crossed: Crossed | None = None
    tested: bool = True
    answers: bool = True
    moves: bool = False
    share: float = 1.0
    earlier: tuple[Difference, ...] = ()
    p_holm: float | None = None
    p_equivalence_holm: float | None = None
    family: int = 0
    equivalence_family: int = 0
    smallest_margin: float | None = None

    @property
    def uncertainty(self) -> Uncertainty:
        """Return that over seeds and subjects where it is known, else over seeds."""
        return self.seeds if self.crossed is None else self.crossed.over_both

    @property
    def over(self) -> str:
        """Name what the interval and the tests are over."""
        return "seeds" if self.crossed is None else "seeds and subjects"

    @property
    def better(self) -> bool:
        """Say if the first arm is better, in the direction of the metric."""
        return self.value is not None and (self.value > 0) == self.metric.higher_is_better

    @property
    def p(self) -> float | None:
        """Return the p value of no difference, over all looks with its sign; None where it is not tested."""
        return self._over_looks(lambda value, found: found.p(value) if value * (self.value or 0.0) >= 0 else None)

    @property
    def p_equivalence(self) -> float | None:
        """Return the p value of a difference that is not within the margin; None where it is not tested."""
        return None if self.margin is None else self.p_within(self.margin)

    def p_within(self, margin: float) -> float | None:
        """Return the p value of a difference that is not within such a margin, over all looks; None if not tested."""
        return self._over_looks(lambda value, found: found.equivalence_p(value, margin))

    def _over_looks(self, test: Callable[[float, Uncertainty], float | None]) -> float | None:
        """Return the smallest p value of all looks, each divided by its look's share of the error rate, at most 1.

        Shares add up to 1, so that by Bonferroni the error rate over all looks is what is asked, however they depend on
        each other: the spending function of Lan and DeMets (1983) that is linear in the number of seeds.
        """
        if not self.tested or self.value is None:
            return None
        looks = [
            (one.share, test(one.value, one.uncertainty)) for one in (*self.earlier, self) if one.value is not None
        ]
        return min((min(1.0, p / share) for share, p in looks if p is not None), default=None)

    @property
    def differs(self) -> bool:
        """Say if a difference is shown, by the corrected p value, that longer training does not change."""
        return self._may_show and self.p_holm is not None and self.p_holm < ALPHA

    @property
    def equivalent(self) -> bool:
        """Say if the arms are shown to be equivalent, by the corrected p value, and stay so with longer training."""
        return self._may_show and self.p_equivalence_holm is not None and self.p_equivalence_holm < ALPHA

    @property
    def _may_show(self) -> bool:
        return self.answers and not self.moves

    @property
    def undecided(self) -> bool:
        """Say if it is tested and nothing is shown, so that more seeds might show it."""
        return self._may_show and self.p is not None and not self.differs and not self.equivalent

    @property
    def shown(self) -> str:
        """Say what is shown of it, in a word or two, by the corrected p values."""
        if self.value is None:
            return "not compared"
        if not self.answers:
            return "no answer about methods"
        if self.moves:
            return CHANGING
        if self.p is None:
            return "not tested"
        if self.equivalent:
            return "equivalent"
        return ("better" if self.better else "worse") if self.differs else "inconclusive"

    @property
    def interval(self) -> tuple[float | None, float | None] | None:
        """Return the ends of its 95 % interval; None where there is none."""
        return None if self.uncertainty.low is None else (self.uncertainty.low, self.uncertainty.high)

    @property
    def cells(self) -> dict[str, Any]:
        """Return what every table of differences has of it, by the key of its column."""
        found = self.uncertainty
        return {
            "difference": self.value,
            "se": found.se,
            "low": found.low,
            "high": found.high,
            "over": self.over,
            "p": self.p,
            "p_holm": self.p_holm,
            "p_equivalence": self.p_equivalence,
            "p_equivalence_holm": self.p_equivalence_holm,
            "smallest_margin": self.smallest_margin,
        }


def corrected(found: Sequence[D]) -> tuple[D, ...]:
    """Return the differences with Holm's correction, over all of them and, as a family of its own, all equivalences.

    They are two families, since they answer two questions: at most one difference in 20 reports is claimed where there
    is none at all, and likewise of equivalences. What is not tested is in neither.
    """
    by_holm = holm({i: one.p for i, one in enumerate(found) if one.tested}, ALPHA)
    equivalences = holm({i: one.p_equivalence for i, one in enumerate(found) if one.tested}, ALPHA)
    equivalent = {i: one for i, one in enumerate(found) if one.p_equivalence is not None}
    margins = smallest_margins({i: one.p_within for i, one in equivalent.items()}, ALPHA)

    def defined(p: float) -> float | None:
        return None if math.isnan(p) else p

    return tuple(
        replace(
            one,
            p_holm=defined(by_holm.adjusted.get(i, math.nan)),
            p_equivalence_holm=defined(equivalences.adjusted.get(i, math.nan)),
            family=by_holm.family,
            equivalence_family=equivalences.family,
            smallest_margin=margins.get(i),
        )
        for i, one in enumerate(found)
    )


def family_note(found: Sequence[Difference]) -> str:
    """Return how many of the tested differences have no p value; empty if all have one."""
    return holm([one.p for one in found if one.tested]).note
