"""The comparisons that a study declared: the difference of two arms, and what the arms' searches cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fmim_reports.parts.comparisons.difference import Difference, TestedArm, corrected
from fmim_reports.reading.results import Results, once
from fmim_reports.reading.summary import ArmSummary, arm_summaries
from fmim_reports.stats import Bounded, PairedDifference, Power, Variances, cost_ratio, power_of
from fmim_reports.writing.formats import in_percent


@dataclass(frozen=True, kw_only=True)
class Comparison(Difference):
    """Arm a minus arm b in the study's primary metric, paired by seed.

    Args:
        paired: over seeds.
        chance: the metric of a random ranking for a.
        seconds: search device-seconds of b over those of a; None without a search.
    """

    margin: float
    a: ArmSummary
    b: ArmSummary
    paired: PairedDifference
    chance: float
    seconds: Bounded | None

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
        return None if self.variances is None else power_of(self.variances, self.paired.n, self.margin)


@once
def comparisons(results: Results) -> tuple[Comparison, ...]:
    """Return every comparison of the study, in the order in which it declared them, corrected for their number."""
    arms = {arm.name: TestedArm(results, arm) for arm in arm_summaries(results)}
    return corrected([_comparison(results, arms[a], arms[b]) for a, b in results.comparisons])


def _comparison(results: Results, a: TestedArm, b: TestedArm) -> Comparison:
    paired, crossed = a.minus(b)
    return Comparison(
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
        seconds=device_ratio(results, b.arm.name, a.arm.name) if results.searched else None,
    )


def device_ratio(results: Results, a: str, b: str) -> Bounded:
    """Return the search device-seconds of arm a over those of b, by fold; no interval where folds differ by design."""
    found = cost_ratio(_seconds_by_fold(results, a), _seconds_by_fold(results, b))
    screening = [sign for sign, name in (("a", a), ("b", b)) if results.arm(name).searcher_facts.screens]
    if not screening:
        return found
    which = " and ".join(screening)
    why = f"the first fold of {which} screens its configurations, so folds differ by design: no interval"
    return replace(found, low=None, high=None, note=why)


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
    if not others:
        return ""
    return (
        f"{', '.join(others)}: scored on another task than the arm it is compared with, since a random ranking scores "
        "differently. The difference is not an effect of training and is not tested."
    )
