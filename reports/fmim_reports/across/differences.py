"""Differences between like arms of studies: paired where seeds and data agree, unpaired where seeds do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fmim_reports.across.studies import ComparedStudy, StudyArm, arm_groups
from fmim_reports.parts.comparisons.difference import Difference, corrected
from fmim_reports.stats import unpaired_difference
from fmim_reports.writing.formats import in_percent


@dataclass(frozen=True, kw_only=True)
class StudyDifference(Difference):
    """An arm of a later study minus the like arm of the first, in the primary metric on the test set.

    Args:
        pairing: what it is paired by, `seed and query` or `seed`; empty where it is not.
        sample: of how many the interval and the tests are.
        note: why there is no difference, or what could not be computed and what was left out.
    """

    first: StudyArm
    later: StudyArm
    pairing: str = ""
    sample: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """Return `B − A`."""
        return f"{self.later.study.key} − {self.first.study.key}"

    @property
    def identical(self) -> bool:
        """Say if every seed that both have scored the same in both."""
        ours, theirs = self.first.arm.test.values, self.later.arm.test.values
        both = ours.keys() & theirs.keys()
        return self.pairing != "" and bool(both) and all(ours[seed] == theirs[seed] for seed in both)

    @property
    def way(self) -> str:
        """Say how it is paired."""
        return f"paired by {self.pairing}" if self.pairing else "not paired, because seeds differ"

    @property
    def answer(self) -> str:
        """Say what is shown of it and of which study, in a few words, by the corrected p values."""
        if self.identical:
            return "the same in every seed"
        scored = f"{self.later.study.key} {'better' if self.better else 'worse'}"
        if self.differs:
            return f"equivalent, {scored}" if self.equivalent else scored
        return self.shown


def differences(studies: Sequence[ComparedStudy]) -> tuple[StudyDifference, ...]:
    """Return the later studies' arms minus those of the first that they are like, study by study, corrected by Holm."""
    (first, *others), groups = studies, arm_groups(studies)
    pairs = [(group.of(first.key), group.of(other.key)) for other in others for group in groups]
    return corrected([_difference(a, b) for a, b in pairs if a is not None and b is not None])


def not_compared(found: Sequence[StudyDifference]) -> list[str]:
    """Return why some are not given, one sentence for all arms of a study of which it is true."""
    labels: dict[tuple[str, str], list[str]] = {}
    for one in found:
        if one.value is None:
            labels.setdefault((one.name, one.note), []).append(one.later.arm.label)
    alike = Counter(one.name for one in found)
    return [
        f"{name} is not given{'' if len(arms) == alike[name] else ' for ' + ', '.join(arms)}: {why}."
        for (name, why), arms in labels.items()
    ]


def _difference(a: StudyArm, b: StudyArm) -> StudyDifference:
    one, other = a.results, b.results
    margin = one.equivalence_margin if one.equivalence_margin == other.equivalence_margin else None
    answers = one.study.answers and other.study.answers
    nothing = StudyDifference(metric=one.metric, margin=margin, answers=answers, first=a, later=b)
    if why := _not_comparable(a, b):
        return replace(nothing, note=why)
    if not a.seeds_agree(b):
        ours, theirs = b.arm.test.values, a.arm.test.values
        unpaired, sample = unpaired_difference(ours, theirs), f"{len(ours)} and {len(theirs)} seeds"
        return replace(
            nothing, value=unpaired.difference, seeds=unpaired.uncertainty, sample=sample, note=unpaired.note
        )
    paired, crossed = b.minus(a)
    subjects = "" if crossed is None else f" × {crossed.subjects} subjects"
    return replace(
        nothing,
        value=paired.difference,
        seeds=paired.uncertainty,
        crossed=crossed,
        pairing="seed" if crossed is None else "seed and query",
        sample=f"{paired.n} seed{'' if paired.n == 1 else 's'}{subjects}",
        note=paired.note if crossed is None else crossed.note,
    )


def _not_comparable(a: StudyArm, b: StudyArm) -> str:
    """Return why there is no difference of the two; empty where there is one."""
    one, other = a.results, b.results
    data, others = one.study.data, other.study.data
    if one.metric != other.metric:
        return f"the primary metric is {other.metric.label}, not {one.metric.label}"
    if data.name != others.name:
        return f"the test set is that of {others.name}, not of {data.name}"
    if data.fingerprint != others.fingerprint:
        return f"the content of the data set {data.name} differs (fingerprint)"
    if not a.same_task(b):
        return f"the tasks differ: a random ranking scores {in_percent(b.chance)} %, not {in_percent(a.chance)} %"
    without = [arm.study.key for arm in (a, b) if not arm.arm.test.values]
    return f"no completed seed in {' and '.join(without)}" if without else ""
