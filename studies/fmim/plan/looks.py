"""Seeds that are added until comparisons are decided: when to look, and where that has got to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fmim_core.records import StudyFile


@dataclass(frozen=True)
class Looks:
    """Numbers of fresh seeds at which the run checks whether every comparison is decided.

    They are fixed before the run: each look spends a share of the error rate, so that looking often stays honest.

    Args:
        seeds: with the first look's at the beginning, rising.
        passed: looks that left a comparison undecided.
    """

    seeds: tuple[int, ...]
    passed: int = 0

    @classmethod
    def between(cls, first: int, most: int | None) -> Looks:
        """Return those from `first` seeds to `most`, or three times as many, by blocks of half as many as the first.

        Raises:
            ValueError: fewer than two seeds at first, or no more at last.
        """
        most = 3 * first if most is None else most
        if not 2 <= first < most:
            raise ValueError(
                f"--until-decided starts with {first} seeds and adds more, up to --max-seeds {most}: start with two or "
                "more (--replicates), and give a larger --max-seeds"
            )
        return cls((*range(first, most, -(-first // 2)), most))

    @property
    def now(self) -> int:
        """The seeds of the compared arms by the next look."""
        return self.seeds[self.passed]

    @property
    def next(self) -> Looks | None:
        """Those after one more look that left a comparison undecided; None after the last."""
        return replace(self, passed=self.passed + 1) if self.now < self.seeds[-1] else None

    def resumed(self, study: StudyFile) -> Looks:
        """Return them where a study that was begun with them has got to."""
        compared = {name for pair in (*study.comparisons, *study.claims) for name in pair}
        seeds = max(arm.replicates for arm in study.arms if arm.name in compared)
        return replace(self, passed=sum(look < seeds for look in self.seeds))
