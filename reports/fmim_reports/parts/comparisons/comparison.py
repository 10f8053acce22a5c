"""A declared comparison: the difference of two arms with its uncertainty, and what the arms' searches cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from fmim_core.metric_names import Metric
from fmim_reports.parts.comparisons.costs import device_ratio
from fmim_reports.reading.once import once
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries, chance_name, completed
from fmim_reports.stats import (
    CostRatio,
    Crossed,
    EffectSize,
    Holm,
    MeanSE,
    PairedDifference,
    Power,
    Uncertainty,
    Variances,
    crossed_difference,
    effect_size,
    holm,
    mean_se,
    paired_difference,
    power_of,
)
from fmim_reports.writing.formats import in_percent

ALPHA = 0.05


@dataclass(frozen=True)
class Comparison:
    """Arm a minus arm b in the study's primary metric on the test set, paired by seed.

    Args:
        margin: of equivalence.
        paired: over seeds. crossed: over seeds and subjects, paired by query too; None without the queries of each of
            these seeds.
        chance_a, chance_b: the metric of a random ranking for either; without values where it is not known.
        seconds: search device-seconds of b over those of a.
    """

    metric: Metric
    margin: float
    a: ArmSummary
    b: ArmSummary
    paired: PairedDifference
    crossed: Crossed | None
    effect: EffectSize
    chance_a: MeanSE
    chance_b: MeanSE
    seconds: CostRatio

    @property
    def group(self) -> str:
        """The group of both arms, which says once what they share; empty if they are of different groups."""
        return self.a.group if self.a.group == self.b.group else ""

    @property
    def names(self) -> tuple[str, str]:
        """What tells a from b in a sentence: their labels without the group that they share."""
        a, b = (arm.label.removeprefix(f"{self.group} + ") if self.group else arm.label for arm in (self.a, self.b))
        return a, b

    def heading(self, between: str = "against") -> str:
        """`Triplet: AutoMargin against grid search`, for display."""
        a, b = self.names
        return f"{self.group}: {a} {between} {b}" if self.group else f"{a} {between} {b}"

    @property
    def better(self) -> bool:
        """Whether the mean difference favours a, in the direction of the metric."""
        return (self.paired.difference > 0) == self.metric.higher_is_better

    @property
    def same_task(self) -> bool:
        """Whether a random ranking scores the same for both, or it is not known for one.

        Otherwise the arms are scored on different tasks: with each knee its own identity, for example, a query has
        half the matches, so the metric differs without any difference in training.
        """
        chances = (self.chance_a.mean, self.chance_b.mean)
        return any(map(math.isnan, chances)) or math.isclose(*chances, abs_tol=1e-6)

    @property
    def over(self) -> str:
        """What the interval and the tests are over."""
        return "seeds" if self.crossed is None else "seeds and subjects"

    @property
    def scope(self) -> str:
        """For whom a difference holds that these tests show."""
        return "other seeds, on this test set" if self.crossed is None else "other seeds and other subjects like these"

    @property
    def note(self) -> str:
        """What could not be computed, and what was left out."""
        notes = [self.paired.note, "" if self.crossed is None else self.crossed.note]
        return "; ".join(dict.fromkeys(filter(None, notes)))

    @property
    def uncertainty(self) -> Uncertainty:
        """Over seeds and subjects where that is known, else over seeds."""
        if self.crossed is not None:
            return self.crossed.over_both
        if self.paired.low is None:
            return Uncertainty()
        return Uncertainty(self.paired.se, self.paired.n - 1, self.paired.low, self.paired.high)

    @property
    def p(self) -> float | None:
        """That there is no difference; None where it is not tested."""
        return self.uncertainty.p(self.paired.difference) if self.same_task else None

    @property
    def p_equivalence(self) -> float | None:
        """That the difference is not within the margin; None where it is not tested."""
        return self.uncertainty.equivalence_p(self.paired.difference, self.margin) if self.same_task else None

    @property
    def variances(self) -> Variances | None:
        """What makes the difference vary; None where it is not known."""
        if self.crossed is not None:
            return self.crossed.variances
        return Variances(self.paired.sd**2) if self.paired.low is not None and self.paired.sd is not None else None

    @cached_property
    def power(self) -> Power | None:
        """Of both tests, if the difference varies as it does here; None where that is not known."""
        return None if self.variances is None else power_of(self.variances, self.paired.n, self.margin)

    @property
    def epochs_ratio(self) -> float | None:
        """Search epochs of b over those of a; None where a has none."""
        return self.b.cost.epochs / self.a.cost.epochs if self.a.cost.epochs else None


@dataclass(frozen=True)
class Corrected:
    """Holm's corrections of all comparisons of a study, one for each kind of claim, by the names of the arms."""

    differences: Holm
    equivalences: Holm

    def p(self, one: Comparison) -> float | None:
        """The corrected p value of a difference; None where it is not tested."""
        return _defined(self.differences, one)

    def p_equivalence(self, one: Comparison) -> float | None:
        """The corrected p value of an equivalence; None where it is not tested."""
        return _defined(self.equivalences, one)

    def differs(self, one: Comparison) -> bool:
        """Whether a difference is shown."""
        p = self.p(one)
        return p is not None and p < ALPHA

    def equivalent(self, one: Comparison) -> bool:
        """Whether the arms are shown to be equivalent."""
        p = self.p_equivalence(one)
        return p is not None and p < ALPHA


def _defined(found: Holm, one: Comparison) -> float | None:
    p: float = found.adjusted.get((one.a.name, one.b.name), math.nan)
    return None if math.isnan(p) else p


@once
def comparisons(results: Results) -> tuple[Comparison, ...]:
    """Every comparison of the study, in the order in which it declared them."""
    arms = {arm.name: arm for arm in arm_summaries(results)}
    return tuple(_comparison(results, arms[a], arms[b]) for a, b in results.comparisons)


def _comparison(results: Results, a: ArmSummary, b: ArmSummary) -> Comparison:
    trials = [results.of(arm.name, "replicate") for arm in (a, b)]
    ours, theirs = (completed(of_arm, results.metric.name) for of_arm in trials)
    chance_a, chance_b = (mean_se(completed(of_arm, chance_name(results))) for of_arm in trials)
    paired = paired_difference(ours, theirs)
    return Comparison(
        metric=results.metric,
        margin=results.equivalence_margin,
        a=a,
        b=b,
        paired=paired,
        crossed=_crossed(results, a, b, paired.n),
        effect=effect_size(ours, theirs),
        chance_a=chance_a,
        chance_b=chance_b,
        seconds=device_ratio(results, results.arm(b.name), results.arm(a.name)),
    )


def _crossed(results: Results, a: ArmSummary, b: ArmSummary, pairs: int) -> Crossed | None:
    """The difference by seed and query, if the queries of each of the pairs of seeds are known."""
    ours, theirs = (results.queries.values(arm.name, results.metric) for arm in (a, b))
    found = crossed_difference(ours, theirs, results.queries.subjects)
    return found if found.seeds == pairs and found.over_both.low is not None else None


def corrected(found: Sequence[Comparison]) -> Corrected:
    """Holm's correction, over the differences and, as a family of its own, over the equivalences.

    Both are claims of the verdict. They are two families, since they answer two questions: at most one difference in
    20 reports is claimed where there is none at all, and likewise of equivalences. Comparisons of arms that are scored
    on different tasks test no effect of training, and are left out.
    """
    tested = {(one.a.name, one.b.name): one for one in found if one.same_task}
    return Corrected(
        differences=holm({names: one.p for names, one in tested.items()}, ALPHA),
        equivalences=holm({names: one.p_equivalence for names, one in tested.items()}, ALPHA),
    )


def different_tasks_note(found: Sequence[Comparison]) -> str:
    """Which comparisons are of arms that are scored on different tasks, and what follows; empty if none."""
    others = [
        f"“{one.names[0]}” (chance {one.metric.label} {in_percent(one.chance_a.mean)} %)"
        for one in found
        if not one.same_task
    ]
    if not others:
        return ""
    return (
        f"{', '.join(others)}: scored on another task than the arm it is compared with, since a random ranking scores "
        "differently. The difference is not an effect of training and is not tested."
    )
