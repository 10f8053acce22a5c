"""The difference of two arms, within a study or across two, and the comparisons that a study declared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fmim_core.records import VariationEntry
from fmim_reports.parts.comparisons.difference import Difference, corrected
from fmim_reports.parts.comparisons.tested import TestedArm
from fmim_reports.parts.comparisons.varied import change_with_length
from fmim_reports.reading.results import Results, once
from fmim_reports.reading.summary import ArmSummary, arm_summaries
from fmim_reports.stats import Bounded, PairedDifference, Power, Variances, cost_ratio, power_of
from fmim_reports.writing.formats import in_percent, listed, points


@dataclass(frozen=True)
class Claim:
    """The subject of a comparison: its name, what a verdict adds to say so, and what its pairs of values share."""

    name: str
    added: str
    pair: str


CONFIGURATIONS = Claim("selected configurations", "", "seed")


@dataclass(frozen=True, kw_only=True)
class Comparison(Difference):
    """Arm a minus arm b in the study's primary metric, paired by seed or search split, as the claim says.

    Args:
        paired: over these, of which there are as many as `planned` or fewer.
        chance: the metric of a random ranking for a.
        seconds: search device-seconds of b over those of a; None without a search.
        bound: the difference with every diverged seed scored at chance, over seeds; None where none diverged.
        longer: how much the difference on the folds changes with longer training; None where that was not looked at.
    """

    margin: float
    a: ArmSummary
    b: ArmSummary
    paired: PairedDifference
    planned: int
    chance: float
    seconds: Bounded | None
    bound: PairedDifference | None = None
    longer: tuple[VariationEntry, float] | None = None
    claim: Claim = CONFIGURATIONS

    @property
    def over(self) -> str:
        """Name what the interval and the tests are over."""
        return f"{self.claim.pair}s{'' if self.crossed is None else ' and subjects'}"

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
    def searches_are_over(self) -> bool:
        """Say if no search of the two has anything left to train."""
        return self.a.search_is_over and self.b.search_is_over

    @property
    def undecided(self) -> bool:
        """Say if more seeds might show something, also where they would give the first two pairs of both arms."""
        few = self.paired.n < 2 and self.a.test.values and self.b.test.values
        return super().undecided or (self._may_show and self.tested and bool(few))

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
    return compared(results, [TestedArm(results, arm) for arm in arm_summaries(results)], CONFIGURATIONS)


def compared(results: Results, tested: Sequence[TestedArm], claim: Claim) -> tuple[Comparison, ...]:
    """Return the declared comparisons of these arms, corrected for their number."""
    arms, found = {one.arm.name: one for one in tested}, []
    for name, other in results.comparisons:
        a, b = arms[name], arms[other]
        paired, measured = _measured(results, a, b)
        planned, longer = min(a.planned, b.planned), change_with_length(results, name, other)
        share, looks = results.study.share_of_look, [look for look in results.study.looks if look < planned]
        before = [(look, _measured(results, replace(a, seeds=look), replace(b, seeds=look))[1]) for look in looks]
        one = Comparison(
            **measured,
            moves=longer is not None and abs(longer[1]) > results.equivalence_margin,
            share=share(planned),
            earlier=tuple(Difference(**then, share=share(look)) for look, then in before),
            tested=a.same_task(b),
            answers=results.study.answers,
            a=a.arm,
            b=b.arm,
            paired=paired,
            planned=planned,
            chance=a.chance,
            seconds=device_ratio(results, other, name) if results.searched else None,
            bound=a.bound(b),
            longer=longer,
            claim=claim,
        )
        found.append(one)
    return corrected_by_family(results, found)


def _measured(results: Results, a: TestedArm, b: TestedArm) -> tuple[PairedDifference, dict[str, Any]]:
    """Return the difference by pairs, and all of a `Difference` that follows from the seeds of both arms."""
    paired, crossed = a.minus(b)
    of_both = {"value": paired.difference if paired.n else None, "seeds": paired.uncertainty, "crossed": crossed}
    return paired, {"metric": results.metric, "margin": results.equivalence_margin} | of_both


def is_claim(results: Results, one: Comparison) -> bool:
    """Say if the study declared a comparison that its question is not about."""
    return (one.a.name, one.b.name) in results.study.claims


def corrected_by_family(results: Results, found: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Return them with Holm's correction, separately for those of the question and for the other claims."""
    families = ([one for one in found if is_claim(results, one) is claim] for claim in (False, True))
    return tuple(one for family in families for one in corrected(family))


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
    others = [f"{one.names[0]} (chance: {in_percent(one.chance)} %)" for one in found if not one.tested]
    why = "A random ranking scores differently on the other arm's task, so the difference is not tested"
    return f"{why}: {listed(others)}." if others else ""
