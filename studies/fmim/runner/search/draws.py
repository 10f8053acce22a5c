"""Where a search's random numbers come from: torch's generators, seeded by the study's seed and the arm's name."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from fmim_core.seeding import derive_seed, torch_generator


@dataclass(frozen=True)
class TorchDraws:
    """The runner's `fmim_spaces.searcher.Draws`; on another search split than the study's own it draws anew."""

    study_seed: int
    arm: str
    search_split: int

    @property
    def _base(self) -> tuple[object, ...]:
        other = ("split", self.search_split) if self.search_split else ()
        return self.study_seed, "search", self.arm, *other

    def seed(self, *parts: object) -> int:
        """A seed of 63 bits."""
        return derive_seed(*self._base, *parts)

    def uniform(self, dimensions: int, *parts: object) -> list[float]:
        """A point of the unit cube."""
        generator = torch_generator(*self._base, *parts)
        return list(torch.rand(dimensions, generator=generator, dtype=torch.float64).tolist())

    def sobol(self, dimensions: int, number: int) -> list[list[float]]:
        """The first points of a scrambled Sobol sequence."""
        engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=self.seed())
        return list(engine.draw(number, dtype=torch.float64).tolist())

    def order(self, number: int, *parts: object) -> list[int]:
        """The numbers below `number` in random order."""
        return list(torch.randperm(number, generator=torch_generator(*self._base, *parts)).tolist())
