"""The comparisons that a study declared: paired differences, and what the searches of the arms cost side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fmim_core.metric_names import Metric
from fmim_core.records import ArmEntry
from reports.reading.cost import cost_of
from reports.reading.results import PlannedTrial, Results
from reports.reading.summary import ArmSummary, arm_summaries, chance_name, completed
from reports.sections import Section, a_choice, declared_comparisons, in_every_study
from reports.stats import (
    CostRatio,
    EffectSize,
    Equivalence,
    Holm,
    MeanSE,
    PairedDifference,
    cost_ratio,
    effect_size,
    equivalence,
    holm,
    mean_se,
    paired_difference,
    smallest_difference,
    smallest_margin,
)
from reports.writing.captions import caption
from reports.writing.formats import percent
from reports.writing.tables import Column, Table


@dataclass(frozen=True)
class Comparison:
    """Arm a minus arm b in the study's primary metric on the test set, paired by seed.

    chance_a, chance_b: the metric of a random ranking for either; without values where it is not known.
    """

    metric: Metric
    a: ArmSummary
    b: ArmSummary
    paired: PairedDifference
    equivalence: Equivalence
    effect: EffectSize
    chance_a: MeanSE
    chance_b: MeanSE

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
    def seconds_ratio(self) -> float:
        """Search device-seconds of b over those of a; not-a-number where those of a are not known."""
        seconds = self.a.cost.device_seconds
        return self.b.cost.device_seconds / seconds if seconds > 0 else math.nan

    @property
    def same_task(self) -> bool:
        """Whether a random ranking scores the same for both, or it is not known for one.

        Otherwise the arms are scored on different tasks: with each knee its own identity, for example, a query has
        half the matches, so the metric differs without any difference in training.
        """
        chances = (self.chance_a.mean, self.chance_b.mean)
        return any(map(math.isnan, chances)) or math.isclose(*chances, abs_tol=1e-6)


def comparisons(results: Results) -> list[Comparison]:
    """Every comparison of the study, in the order in which it declared them."""
    arms = {arm.name: arm for arm in arm_summaries(results)}
    return [_comparison(results, arms[a], arms[b]) for a, b in results.comparisons]


def _comparison(results: Results, a: ArmSummary, b: ArmSummary) -> Comparison:
    trials = [results.of(arm.name, "replicate") for arm in (a, b)]
    ours, theirs = (completed(of_arm, results.metric.name) for of_arm in trials)
    chance_a, chance_b = (mean_se(completed(of_arm, chance_name(results))) for of_arm in trials)
    return Comparison(
        metric=results.metric,
        a=a,
        b=b,
        paired=paired_difference(ours, theirs),
        equivalence=equivalence(ours, theirs, results.equivalence_margin),
        effect=effect_size(ours, theirs),
        chance_a=chance_a,
        chance_b=chance_b,
    )


def corrected(found: Sequence[Comparison]) -> Holm:
    """Holm's correction of the paired t tests, by the names of the arms.

    Comparisons of arms that are scored on different tasks test no effect of training, and are left out.
    """
    return holm({(one.a.name, one.b.name): one.paired.p for one in found if one.same_task})


def different_tasks_note(found: Sequence[Comparison]) -> str:
    """Which comparisons are of arms that are scored on different tasks, and what follows; empty if none."""
    others = [
        f"“{one.names[0]}” (chance {one.metric.label} {percent(one.chance_a.mean)} %)"
        for one in found
        if not one.same_task
    ]
    if not others:
        return ""
    return (
        f"{', '.join(others)}: scored on another task than the arm it is compared with, since a random ranking scores "
        "differently. The difference is not an effect of training and is not tested."
    )


@in_every_study(Section.TABLES, declared_comparisons)
def paired_table(results: Results) -> Table:
    """Each declared difference by seed, with Holm's correction over all of them and the equivalence test."""
    found, label = comparisons(results), results.metric.label
    holm_of = corrected(found)
    interval, least = "95 % CI", "Minimum detectable, percentage points"
    difference = f"a − b, {label}, percentage points"
    columns = [
        Column("a", "Arm a"),
        Column("b", "Arm b"),
        Column("n", "Pairs", "count"),
        Column("difference", "Difference", "points", difference),
        Column("se", "SE", "percent", difference),
        Column("low", "Low", "points", interval),
        Column("high", "High", "points", interval),
        Column("g", "Effect size g", "number"),
        Column("p", "Paired t", "p", "p"),
        Column("p_holm", "Holm", "p", "p"),
        Column("p_equivalence", "Equivalence", "p", "p"),
        Column("smallest_difference", "Difference", "percent", least),
        Column("smallest_margin", "Equivalence margin", "percent", least),
        Column("note", "Note"),
    ]
    text = (
        f"Test {label}, paired by seed (both arms share a seed's initial weights and sampling). Equivalence: two "
        f"one-sided t tests within ±{margin_text(results.equivalence_margin)}; a small p there supports equivalence. "
        "A large p in the first two columns does not. Effect size g: the difference over the spread of differences "
        "between seeds (Hedges). Minimum detectable, with this many pairs and this much variation, at a power of 80 %: "
        "the true difference that the paired t test detects, and the margin within which equal arms are shown to be "
        "equivalent."
    )
    notes = [holm_of.note, different_tasks_note(found)]
    rows = [_paired_row(one, holm_of) for one in found]
    return Table("paired_differences", "Paired differences", caption(results, text), columns, rows, notes)


def margin_text(margin: float) -> str:
    """A margin of equivalence in words: `1 percentage point`, `2.5 percentage points`."""
    return f"{100 * margin:g} percentage point{'' if 100 * margin == 1 else 's'}"


def _paired_row(one: Comparison, holm_of: Holm) -> dict[str, Any]:
    tested = one.same_task and one.paired.p is not None
    return {
        "a": one.a.name,
        "b": one.b.name,
        "n": one.paired.n,
        "difference": one.paired.difference if one.paired.n else None,
        "se": one.paired.se,
        "low": one.paired.low,
        "high": one.paired.high,
        "g": one.effect.g,
        "p": one.paired.p if one.same_task else None,
        "p_holm": holm_of.adjusted[one.a.name, one.b.name] if tested else None,
        "p_equivalence": one.equivalence.p if one.same_task else None,
        "smallest_difference": smallest_difference(one.paired.sd, one.paired.n).value,
        "smallest_margin": smallest_margin(one.paired.sd, one.paired.n).value,
        "note": one.paired.note,
    }


@in_every_study(Section.MORE, declared_comparisons, a_choice)
def ratios_table(results: Results) -> Table:
    """How many times as much the search of one arm cost as that of another."""
    rows, notes = [], []
    for name, other in compared_costs(results):
        arm, against = results.arm(name), results.arm(other)
        cost, cost_against = (cost_of(results.of(one, "search")) for one in (name, other))
        ratio = device_ratio(results, against, arm)
        rows.append(
            {
                "arm": arm.label,
                "against": against.label,
                "n_s": _over(cost_against.n_s, cost.n_s),
                "epochs": _over(cost_against.epochs, cost.epochs),
                "ratio": ratio.ratio,
                "low": ratio.low,
                "high": ratio.high,
                "n": ratio.n,
            }
        )
        if ratio.note:
            notes.append(f"a = {against.label}, b = {arm.label}: {ratio.note}.")
    ratio_group, group = "Compared with ÷ arm", "Device-seconds, compared with ÷ arm"
    columns = [
        Column("arm", "Arm"),
        Column("against", "Compared with"),
        Column("n_s", "N_s", "number", ratio_group),
        Column("epochs", "Epochs", "number", ratio_group),
        Column("ratio", "Ratio", "number", group),
        Column("low", "95 % CI, low", "number", group),
        Column("high", "high", "number", group),
        Column("n", "Folds", "count", group),
    ]
    text = (
        "How many times as much the search of the arm compared with cost as the arm's own, failed, repeated and "
        "stopped trials included; above 1 it cost more. Each arm is compared with the one that its group is first "
        "compared with, and as the study declared. N_s and epochs are exact; device-seconds depend on what else the "
        "machine was doing, and their interval is Fieller's, paired by fold."
    )
    return Table("cost_ratios", "Search costs compared", caption(results, text), columns, rows, notes)


def compared_costs(results: Results) -> list[tuple[str, str]]:
    """Pairs of arms whose search costs stand side by side: within each group, and every declared comparison.

    Within a group every arm stands beside the one that an arm of the group is first compared with.
    """
    reference: dict[str, str] = {}
    for a, b in results.comparisons:
        if results.arm(a).group == results.arm(b).group:
            reference.setdefault(results.arm(b).group, b)
    within = [
        (arm.name, reference[arm.group])
        for arm in results.arms
        if arm.group in reference and arm.name != reference[arm.group]
    ]
    return list(dict.fromkeys([*within, *results.comparisons]))


def device_ratio(results: Results, a: ArmEntry, b: ArmEntry) -> CostRatio:
    """Search device-seconds of arm a over those of b, by fold; no interval where folds differ by design."""
    ours, theirs = ({fold: _seconds(results, arm, fold) for fold in _folds(results, arm)} for arm in (a, b))
    found = cost_ratio(ours, theirs)
    screening = [name for name, arm in (("a", a), ("b", b)) if arm.searcher_facts.screens]
    if not screening:
        return found
    which = " and ".join(screening)
    why = f"the first fold of {which} screens its configurations, so folds differ by design: no interval"
    return CostRatio(found.ratio, found.n, None, None, found.level, found.missing, why)


def _folds(results: Results, arm: ArmEntry) -> list[int]:
    return sorted({trial.replicate for trial in _ran(results, arm)})


def _seconds(results: Results, arm: ArmEntry, fold: int) -> float:
    return math.fsum(trial.device_seconds for trial in _ran(results, arm) if trial.replicate == fold)


def _ran(results: Results, arm: ArmEntry) -> list[PlannedTrial]:
    return [trial for trial in results.of(arm.name, "search") if trial.record is not None]


def _over(a: float, b: float) -> float | None:
    return a / b if b else None
