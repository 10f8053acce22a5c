"""One number beside another of the same run, with their ratio and the ratio that was asked for; and how to measure."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch


@dataclass(frozen=True)
class Measurement:
    """`ours` beside `theirs`, of a peer or a bound (`against`), in `unit`s of which fewer are better.

    asked: the largest ratio, or None.
    """

    level: str
    what: str
    ours: float
    against: str
    theirs: float
    asked: float | None = None
    note: str = ""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Ours / theirs: the smaller the better."""
        return self.ours / self.theirs

    @property
    def ok(self) -> bool | None:
        """Say if the ratio is as asked; None where nothing was."""
        return None if self.asked is None else self.ratio <= self.asked

    def to_json(self) -> dict[str, Any]:
        """Plain values, the ratio and the verdict among them."""
        return asdict(self) | {"ratio": self.ratio, "ok": self.ok}


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


def median_pair(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Return both of the run with the median ratio, of runs in turn: whatever else ran then slowed both."""
    return sorted(zip(ours, theirs, strict=True), key=lambda pair: pair[0] / pair[1])[len(ours) // 2]


def resident_mib(what: Literal["VmRSS", "VmHWM"]) -> float:
    """This process's memory now (VmRSS) or at its peak (VmHWM), which getrusage mixes with its parent's; on Linux."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition(f"{what}:")[2].split()[0]) / 2**10


def alone(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """Call it in a new process; return its result, its seconds without the start, and the process's most GiB."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(_watched, function, *arguments).result()


def _watched(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    begun = time.perf_counter()
    result = function(*arguments)
    return result, time.perf_counter() - begun, resident_mib("VmHWM") / 2**10


def synchronise() -> None:
    """Wait for the GPU, if there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
