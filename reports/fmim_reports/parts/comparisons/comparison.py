"""The difference of two arms, within a study or across two, and the comparisons that a study declared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from fmim_core.metric_names import Metric
from fmim_core.records import VariationEntry
from fmim_reports.parts.comparisons.tested import TestedArm
from fmim_reports.parts.comparisons.varied import change_with_length
from fmim_reports.reading.results import Results, once
from fmim_reports.reading.summary import ArmSummary, arm_summaries
from fmim_reports.stats import (
    UNKNOWN,
    Bounded,
    Crossed,
    PairedDifference,
    Power,
    Uncertainty,
    Variances,
    cost_ratio,
    holm,
    power_of,
    smallest_margins,
)
from fmim_reports.writing.formats import in_percent, points

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
        """Return the p value of no difference; None where it is not tested."""
        return self.uncertainty.p(self.value) if self.tested and self.value is not None else None

    @property
    def p_equivalence(self) -> float | None:
        """Return the p value of a difference that is not within the margin; None where it is not tested."""
        if not self.tested or self.value is None or self.margin is None:
            return None
        return self.uncertainty.equivalence_p(self.value, self.margin)

    @property
    def differs(self) -> bool:
        """Say if a difference is shown, by the corrected p value."""
        return self.p_holm is not None and self.p_holm < ALPHA

    @property
    def equivalent(self) -> bool:
        """Say if the arms are shown to be equivalent, by the corrected p value."""
        return self.p_equivalence_holm is not None and self.p_equivalence_holm < ALPHA

    @property
    def shown(self) -> str:
        """Say what is shown of it, in a word or two, by the corrected p values."""
        if self.value is None:
            return "not compared"
        if self.p is None:
            return "not tested"
        if self.equivalent:
            return "equivalent"
        return ("better" if self.better else "worse") if self.differs else "inconclusive"

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
    margins = smallest_margins({i: (one.value or 0.0, one.uncertainty) for i, one in equivalent.items()}, ALPHA)

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


@dataclass(frozen=True, kw_only=True)
class Comparison(Difference):
    """Arm a minus arm b in the study's primary metric, paired by seed.

    Args:
        paired: over seeds.
        chance: the metric of a random ranking for a.
        seconds: search device-seconds of b over those of a; None without a search.
        bound: the difference with every diverged seed scored at chance, over seeds; None where none diverged.
        longer: how much the difference on the folds changes with longer training; None where that was not looked at.
    """

    margin: float
    a: ArmSummary
    b: ArmSummary
    paired: PairedDifference
    chance: float
    seconds: Bounded | None
    bound: PairedDifference | None = None
    longer: tuple[VariationEntry, float] | None = None

    @property
    def moves(self) -> bool:
        """Say if longer training changes the difference by more than the margin, so that nothing is shown yet."""
        return self.longer is not None and abs(self.longer[1]) > self.margin

    @property
    def differs(self) -> bool:
        """Say if a difference is shown that longer training does not change by more than the margin."""
        return super().differs and not self.moves

    @property
    def equivalent(self) -> bool:
        """Say if an equivalence is shown that longer training does not change by more than the margin."""
        return super().equivalent and not self.moves

    @property
    def shown(self) -> str:
        """Say what is shown of it, in a word or two, unless longer training still changes it."""
        return CHANGING if self.moves else super().shown

    @property
    def group(self) -> str:
        """Return the group of both arms, which says once what they share; empty if they are of different groups."""
        return self.a.group if self.a.group == self.b.group else ""

    @property
    def names(self) -> tuple[str, str]:
        """Return what tells a from b in a sentence: their labels without the group that they share."""
        a, b = (arm.label.removeprefix(f"{self.group} + ") if self.group else arm.label for arm in (self.a, self.b))
        return a, b

    @property
    def heading(self) -> str:
        """Return `Triplet: AutoMargin against grid search`, for display."""
        a, b = self.names
        return f"{self.group}: {a} against {b}" if self.group else f"{a} against {b}"

    @property
    def note(self) -> str:
        """Return what could not be computed, and what was left out."""
        notes = [self.paired.note, "" if self.crossed is None else self.crossed.note]
        if self.bound is not None:
            at_chance = f"with it at chance the difference is {points(self.bound.difference)} percentage points"
            notes.append(f"a diverged seed is in no pair, which favours its arm: {at_chance}")
        return "; ".join(dict.fromkeys(filter(None, notes)))

    @property
    def variances(self) -> Variances | None:
        """Return what makes the difference vary; None where it is not known."""
        if self.crossed is not None:
            return self.crossed.variances
        return None if self.seeds.low is None or self.paired.sd is None else Variances(self.paired.sd**2)

    @cached_property
    def power(self) -> Power | None:
        """Return that of both tests, if the difference varies as it does here; None where that is not known."""
        return None if self.variances is None else power_of(self.variances, self.paired.n, self.margin, self.paired.n)


@once
def comparisons(results: Results) -> tuple[Comparison, ...]:
    """Return every comparison of the study, in the order in which it declared them, corrected for their number."""
    arms, found = {arm.name: TestedArm(results, arm) for arm in arm_summaries(results)}, []
    for name, other in results.comparisons:
        a, b = arms[name], arms[other]
        paired, crossed = a.minus(b)
        one = Comparison(
            metric=results.metric,
            margin=results.equivalence_margin,
            value=paired.difference if paired.n else None,
            seeds=paired.uncertainty,
            crossed=crossed,
            tested=a.same_task(b),
            a=a.arm,
            b=b.arm,
            paired=paired,
            chance=a.chance,
            seconds=device_ratio(results, other, name) if results.searched else None,
            bound=a.bound(b),
            longer=change_with_length(results, name, other),
        )
        found.append(one)
    return corrected(found)


def device_ratio(results: Results, a: str, b: str) -> Bounded:
    """Return the search device-seconds of arm a over those of b, by fold; no interval where folds differ by design."""
    found = cost_ratio(_seconds_by_fold(results, a), _seconds_by_fold(results, b))
    which = " and ".join(sign for sign, name in (("a", a), ("b", b)) if results.arm(name).searcher_facts.screens)
    why = f"the first fold of {which} screens its configurations, so folds differ by design: no interval"
    return replace(found, low=None, high=None, note=why) if which else found


def _seconds_by_fold(results: Results, arm: str) -> dict[int, float]:
    found: dict[int, list[float]] = {}
    for trial in results.of(arm, "search"):
        if trial.record is not None:
            found.setdefault(trial.replicate, []).append(trial.device_seconds)
    return {fold: math.fsum(found[fold]) for fold in sorted(found)}


def different_tasks_note(found: Sequence[Comparison]) -> str:
    """Return which comparisons are of arms that are scored on different tasks, and what follows; empty if none."""
    others = [
        f"“{one.names[0]}” (chance {one.metric.label} {in_percent(one.chance)} %)" for one in found if not one.tested
    ]
    why = (
        "scored on another task than the arm it is compared with, since a random ranking scores differently. The "
        "difference is not an effect of training and is not tested."
    )
    return f"{', '.join(others)}: {why}" if others else ""
