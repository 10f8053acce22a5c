"""Differences between like arms of studies: paired where seeds and data agree, unpaired where seeds do not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fmim_core.metric_names import Metric
from fmim_reports.across.studies import ComparedStudy, StudyArm, arm_groups
from fmim_reports.parts.comparisons import ALPHA
from fmim_reports.reading.summary import chance_name
from fmim_reports.stats import (
    Holm,
    Uncertainty,
    crossed_difference,
    holm,
    mean_se,
    paired_difference,
    unpaired_difference,
)
from fmim_reports.writing.formats import in_percent


@dataclass(frozen=True)
class Difference:
    """An arm of a later study minus the like arm of the first, in the primary metric on the test set.

    Args:
        margin: of equivalence; None where the two studies declare different ones.
        value: None where no difference can be given, and `note` says why.
        pairing: what it is paired by, `seed and query` or `seed`; empty where it is not.
        over: what the interval and the tests are over. sample: of how many.
    """

    first: StudyArm
    later: StudyArm
    metric: Metric
    margin: float | None
    value: float | None = None
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    pairing: str = ""
    over: str = ""
    sample: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """`B − A`."""
        return f"{self.later.study.key} − {self.first.study.key}"

    @property
    def better(self) -> bool:
        """Whether the later study scored better, in the direction of the metric."""
        return self.value is not None and (self.value > 0) == self.metric.higher_is_better

    @property
    def identical(self) -> bool:
        """Whether every seed that both have scored the same in both."""
        ours, theirs = self.first.tested, self.later.tested
        both = ours.keys() & theirs.keys()
        return self.pairing != "" and bool(both) and all(ours[seed] == theirs[seed] for seed in both)

    @property
    def p(self) -> float | None:
        """That there is no difference; None where it is not tested."""
        return None if self.value is None else self.uncertainty.p(self.value)

    @property
    def p_equivalence(self) -> float | None:
        """That the difference is not within the margin; None where it is not tested."""
        if self.value is None or self.margin is None:
            return None
        return self.uncertainty.equivalence_p(self.value, self.margin)


@dataclass(frozen=True)
class Differences:
    """All like arms, and Holm's corrections over their differences, one for each of the two questions."""

    all: tuple[Difference, ...]

    @property
    def numbered(self) -> list[tuple[int, Difference]]:
        """Those that there are, with their numbers in `all`."""
        return [(number, one) for number, one in enumerate(self.all) if one.value is not None]

    @property
    def not_compared(self) -> list[str]:
        """Why others are not given, one sentence for all arms of a study of which it is true."""
        labels: dict[tuple[str, str], list[str]] = {}
        for one in self.all:
            if one.value is None:
                labels.setdefault((one.name, one.note), []).append(one.later.arm.label)
        alike = Counter(one.name for one in self.all)
        return [
            f"{name} is not given{'' if len(arms) == alike[name] else ' for ' + ', '.join(arms)}: {why}."
            for (name, why), arms in labels.items()
        ]

    @property
    def notes(self) -> list[str]:
        """What to know of them, each once: why some are not given, and what could not be computed or was left out."""
        said = dict.fromkeys(f"{one.name}: {one.note}." for _, one in self.numbered if one.note)
        return [*self.not_compared, *said]

    @cached_property
    def by_holm(self) -> Holm:
        """Of the tests of a difference, in the order of `all`."""
        return holm([one.p for one in self.all], ALPHA)

    @cached_property
    def equivalences_by_holm(self) -> Holm:
        """Of the tests of equivalence, in the order of `all`."""
        return holm([one.p_equivalence for one in self.all], ALPHA)

    def answer(self, number: int) -> str:
        """What is shown of a difference, in a word or two, by the corrected p values."""
        one = self.all[number]
        if one.value is None:
            return "not compared"
        if one.identical:
            return "the same in every seed"
        if one.p is None:
            return "not tested"
        differs, equivalent = self.by_holm.rejected[number], self.equivalences_by_holm.rejected[number]
        scored = f"{one.later.study.key} {'better' if one.better else 'worse'}"
        if equivalent:
            return f"equivalent, {scored}" if differs else "equivalent"
        return scored if differs else "inconclusive"


def differences(studies: Sequence[ComparedStudy]) -> Differences:
    """The later studies' arms minus those of the first that they are like, study by study."""
    (first, *others), groups = studies, arm_groups(studies)
    pairs = [(group.of(first.key), group.of(other.key)) for other in others for group in groups]
    return Differences(tuple(_difference(a, b) for a, b in pairs if a is not None and b is not None))


def _difference(a: StudyArm, b: StudyArm) -> Difference:
    one, other = a.study.results, b.study.results
    same_margin = one.equivalence_margin == other.equivalence_margin
    none = Difference(a, b, one.metric, one.equivalence_margin if same_margin else None)
    if why := _not_comparable(a, b):
        return replace(none, note=why)
    if a.seeds_agree(b):
        return _paired(none)
    found = unpaired_difference(b.tested, a.tested)
    return replace(
        none,
        value=found.difference,
        uncertainty=Uncertainty(found.se, found.df, found.low, found.high),
        over="seeds",
        sample=f"{len(b.tested)} and {len(a.tested)} seeds",
        note=found.note,
    )


def _paired(none: Difference) -> Difference:
    """By seed and query where the queries of each pair of seeds are known, else by seed."""
    a, b, metric = none.first, none.later, none.metric
    paired = paired_difference(b.tested, a.tested)
    ours, theirs = (one.study.results.queries.values(one.arm.name, metric) for one in (b, a))
    crossed = crossed_difference(ours, theirs, a.study.results.queries.subjects)
    if crossed.seeds == paired.n and crossed.over_both.low is not None:
        return replace(
            none,
            value=paired.difference,
            uncertainty=crossed.over_both,
            pairing="seed and query",
            over="seeds and subjects",
            sample=f"{paired.n} seeds × {crossed.subjects} subjects",
            note=crossed.note,
        )
    found = Uncertainty() if paired.low is None else Uncertainty(paired.se, paired.n - 1, paired.low, paired.high)
    sample = f"{paired.n} seed{'' if paired.n == 1 else 's'}"
    return replace(
        none,
        value=paired.difference,
        uncertainty=found,
        pairing="seed",
        over="seeds",
        sample=sample,
        note=paired.note,
    )


def _not_comparable(a: StudyArm, b: StudyArm) -> str:
    """Why there is no difference of the two; empty where there is one."""
    one, other = a.study.results, b.study.results
    data, others = one.study.data, other.study.data
    if one.metric != other.metric:
        return f"another primary metric: {other.metric.label}, not {one.metric.label}"
    if data.name != others.name:
        return f"another test set: of {others.name}, not of {data.name}"
    if data.fingerprint != others.fingerprint:
        return f"another test set: the data set {data.name} has another content (fingerprint)"
    chances = [mean_se(arm.of_replicates(chance_name(one))).mean for arm in (a, b)]
    if not any(map(math.isnan, chances)) and not math.isclose(*chances, abs_tol=1e-6):
        return f"another task: a random ranking scores {in_percent(chances[1])} %, not {in_percent(chances[0])} %"
    without = [arm.study.key for arm in (a, b) if not arm.tested]
    return f"no completed seed in {' and '.join(without)}" if without else ""
