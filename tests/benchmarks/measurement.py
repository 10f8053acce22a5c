"""What a benchmark says: one time beside another of the same run, their ratio, and the ratio that was asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Measurement:
    """`seconds` of ours and of a peer or bound, both measured in this run. asked: the largest ratio, or None."""

    level: str
    what: str
    seconds: float
    against: str
    other_seconds: float
    asked: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours / theirs: the smaller the better."""
        return self.seconds / self.other_seconds

    def to_json(self) -> dict[str, Any]:
        """Plain values, the ratio among them."""
        return asdict(self) | {"ratio": self.ratio}


def fastest(functions: dict[str, Callable[[], Any]], repeats: int, warm_up: int = 3) -> dict[str, float]:
    """Seconds of the fastest of `repeats` calls of each, in turn, so that whatever else runs slows all of them."""
    for function in functions.values():
        for _ in range(warm_up):
            function()
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(repeats):
        for name, function in functions.items():
            synchronise()
            start = time.perf_counter()
            function()
            synchronise()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def synchronise() -> None:
    """Wait for the GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
