"""What importing takes before a command answers, or a worker begins with its first trial, beside torch alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from tests.benchmarks.measurement import Measurement
from tests.support.factories import make_out
from tests.support.imports import Imported, imports_of

BARE = ("-c", "import torch")
SHOWN = 15  # modules, those that take longest


def programs(out: Path) -> dict[str, tuple[str, ...]]:
    """What must begin at once, with Python's arguments; `out` is a study's folder."""
    return {
        "fmim --help": ("-m", "fmim", "--help"),
        "fmim list": ("-m", "fmim", "list"),
        "fmim status OUT": ("-m", "fmim", "status", str(out)),
        "a worker of Ray, before its first trial": ("-c", "import fmim.runner.backends.ray_backend"),
    }


def measure(device: torch.device, repeats: int = 5) -> Iterator[Measurement]:
    """The fastest of several processes each; nothing on a GPU."""
    if device.type != "cpu":
        return
    with tempfile.TemporaryDirectory(prefix="fmim-imports-") as folder:
        out = make_out(Path(folder) / "study", arms=["triplet_grid"])
        bare = min(imports_of(BARE, out)["torch"].whole for _ in range(repeats))
        for name, arguments in programs(out).items():
            fastest = min((imports_of(arguments, out) for _ in range(repeats)), key=_seconds)
            slowest = sorted(fastest.items(), key=lambda entry: -entry[1].whole)[:SHOWN]
            note = ", ".join(f"{module} {1000 * took.whole:.0f} ms" for module, took in slowest)
            yield Measurement("imports", f"imports of {name}", _seconds(fastest), "import torch", bare, note=note)


def _seconds(imported: Mapping[str, Imported]) -> float:
    return sum(took.alone for took in imported.values())
