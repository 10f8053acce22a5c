"""How the mean of a table by seed and by subject varies: its mean squares, and the variances behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of a two-way table by seed, by subject, and of their interaction; numbers, or arrays of them.

    Only the `differing` of the subjects tell how much subjects vary: degrees of freedom count these alone. Where most
    values are equal, plain t intervals of 20 subjects cover 82 to 99 % in simulations, these 93 to 99 %.
    """

    seed: Any
    subject: Any
    interaction: Any
    seeds: int
    subjects: int
    differing: int

    def over_seeds(self) -> tuple[Any, Any]:
        """Return SE and degrees of freedom over seeds alone."""
        return self._error(self.seed), self.seeds - 1

    def over_subjects(self) -> tuple[Any, Any]:
        """Return them over subjects alone."""
        return self._error(self.subject), self._free_subjects

    def over_both(self) -> tuple[Any, Any]:
        """Return them over both, with variances not below 0 of seeds and subjects; one that is 0 has no part."""
        seeds_vary, subjects_vary = self.seed > self.interaction, self.subject > self.interaction
        free_seeds, free_subjects = self.seeds - 1, self._free_subjects
        spread = (
            np.where(seeds_vary, self.seed, 0) ** 2 / free_seeds
            + np.where(subjects_vary, self.subject, 0) ** 2 / free_subjects
            + np.where(seeds_vary == subjects_vary, self.interaction, 0) ** 2 / (free_seeds * free_subjects)
        )
        total = np.maximum(self.seed, self.interaction) + np.maximum(self.subject - self.interaction, 0)
        return self._error(total), total**2 / np.maximum(spread, np.finfo(float).tiny)

    def variances(self) -> Variances:
        """Return the variance of each, not below 0."""
        by_seed, by_subject = (max(square - self.interaction, 0.0) for square in (self.seed, self.subject))
        return Variances(
            by_seed / self.subjects, by_subject / self.seeds, self.interaction, self.subjects, self.differing
        )

    @property
    def note(self) -> str:
        """Return which variances are estimated as 0, and what the SE over both is then; empty where none is."""
        found = {"seeds": self.seed, "subjects": self.subject} if min(self.seeds, self.subjects) > 1 else {}
        none = [name for name, square in found.items() if square <= self.interaction]
        left = [f"that over {name}" for name in found if name not in none] or ["that of their interaction"]
        return (
            f"the variance of {' and of '.join(none)} is estimated as 0: the SE over both is {left[0]}" if none else ""
        )

    def at(self, share: float) -> MeanSquares:
        """Return what is expected of them if by chance these are larger than so great a share of others would be."""
        seeds, subjects = self.seeds - 1, self._free_subjects
        free = {"seed": seeds, "subject": subjects, "interaction": seeds * subjects}
        expected = {name: getattr(self, name) * df / special.chdtri(df, 1 - share) for name, df in free.items()}
        return replace(self, **expected)

    @property
    def _free_subjects(self) -> int:
        return max(self.differing - 1, 1)

    def _error(self, square: Any) -> Any:
        return np.sqrt(square / (self.seeds * self.subjects))


@dataclass(frozen=True)
class Variances:
    """The variances that make a mean over queries vary, in the unit of the mean squared.

    Args:
        seed, subject: of what a seed, and what a subject, adds to all its values.
        interaction: of what a seed adds to one subject's, with all that is left.
        subjects: in the test set. With one, and a variance of seeds alone, it is the variance between seeds on a test
            set that stays as it is.
        differing: of these subjects; None where all differ.
    """

    seed: float
    subject: float = 0.0
    interaction: float = 0.0
    subjects: int = 1
    differing: int | None = None

    def precision(self, seeds: int) -> tuple[float, float]:
        """Return the SE over both that so many seeds are expected to give, and its degrees of freedom.

        se² = seed/n + subject/S + interaction/(n S) for n seeds and S subjects.
        """
        se, df = self.expected(seeds).over_both()
        return float(se), float(df)

    def expected(self, seeds: int) -> MeanSquares:
        """Return the mean squares that so many seeds are expected to have."""
        by_seed, by_subject, rest = self.subjects * self.seed, seeds * self.subject, self.interaction
        differing = self.subjects if self.differing is None else self.differing
        return MeanSquares(by_seed + rest, by_subject + rest, rest, seeds, self.subjects, differing)

    @property
    def least_se(self) -> float:
        """Return the SE that these subjects leave, however many seeds there are."""
        return math.sqrt(self.subject / self.subjects)
