"""Seeds by name: every source of randomness gets its own, derived by a hash, and nothing touches a global generator."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


def derive_seed(*parts: object) -> int:
    """A 63-bit seed from any printable parts, e.g. `derive_seed(study_seed, "fold", 2, "augment", epoch)`.

    SHA-256 of the parts, so that neighbouring seeds share nothing and results do not depend on `PYTHONHASHSEED`.
    """
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def torch_generator(*parts: object, device: str | torch.device = "cpu") -> torch.Generator:
    """A torch generator on `device`, seeded with `derive_seed(*parts)`."""
    import torch

    return torch.Generator(device=device).manual_seed(derive_seed(*parts))


@contextmanager
def scoped_torch_seed(*parts: object) -> Iterator[None]:
    """Seed torch's global CPU generator for the block only: torch's own layer initialisers know no other."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(*parts))
        yield
