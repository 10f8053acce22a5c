"""Seeds by name: every source of randomness gets its own, derived by a hash, and nothing touches a global generator."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


def derive_seed(*parts: object) -> int:
    """Return a 63-bit seed from any printable parts, e.g. `derive_seed(study_seed, "fold", 2, "augment", epoch)`.

    SHA-256 of the parts, so that neighbouring seeds share nothing and results do not depend on `PYTHONHASHSEED`.
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def torch_generator(*parts: object, device: str | torch.device = "cpu") -> torch.Generator:
    """Return a torch generator on `device`, seeded with `derive_seed(*parts)`."""
    import torch

    return torch.Generator(device=device).manual_seed(derive_seed(*parts))


@dataclass(frozen=True)
class Draws:
    """Random numbers that follow from the parts of `base` and those given, the same at each call."""

    base: tuple[object, ...]

    def seed(self, *parts: object) -> int:
        """Return a seed of 63 bits, for your own generator."""
        return derive_seed(*self.base, *parts)

    def uniform(self, dimensions: int, *parts: object) -> list[float]:
        """Return a point of the unit cube."""
        import torch

        generator = torch_generator(*self.base, *parts)
        return list(torch.rand(dimensions, generator=generator, dtype=torch.float64).tolist())

    def sobol(self, dimensions: int, number: int) -> list[list[float]]:
        """Return the first points of a scrambled Sobol sequence in the unit cube."""
        import torch

        engine = torch.quasirandom.SobolEngine(dimensions, scramble=True, seed=self.seed())
        return list(engine.draw(number, dtype=torch.float64).tolist())

    def order(self, number: int, *parts: object) -> list[int]:
        """Return the numbers from 0 to `number` − 1 in random order."""
        import torch

        return list(torch.randperm(number, generator=torch_generator(*self.base, *parts)).tolist())


@contextmanager
def scoped_torch_seed(*parts: object, device: torch.device | None = None) -> Iterator[None]:
    """Seed torch's global generators for the block only, for what knows no other: layers' initialisers, and libraries.

    Of a GPU `device`, where it is given, the generator is afterwards what it was, as the CPU's is always.
    """
    import torch

    gpus = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(derive_seed(*parts))
        yield
