"""What importing takes before a command answers, or a worker begins with its first trial, beside torch alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from tests.benchmarks.measurement import Measurement
from tests.benchmarks.programs import programs
from tests.support.factories import make_out
from tests.support.imports import Imported, imports_of

BARE = ("-c", "import torch")
SHOWN = 15  # modules, those that take longest


def measure(device: torch.device, repeats: int = 5) -> Iterator[Measurement]:
    """The fastest of several processes each; nothing on a GPU."""
    if device.type != "cpu":
        return
    with tempfile.TemporaryDirectory(prefix="fmim-imports-") as folder:
        out = make_out(Path(folder) / "study", arms=["triplet_grid"])
        bare = min(imports_of(BARE, out)["torch"].whole for _ in range(repeats))
        for name, (arguments, _) in programs(out).items():
            fastest = min((imports_of(arguments, out) for _ in range(repeats)), key=_seconds)
            slowest = sorted(fastest.items(), key=lambda entry: -entry[1].whole)[:SHOWN]
            note = ", ".join(f"{module} {1000 * took.whole:.0f} ms" for module, took in slowest)
            yield Measurement("imports", f"imports of {name}", _seconds(fastest), "import torch", bare, note=note)


def _seconds(imported: Mapping[str, Imported]) -> float:
    return sum(took.alone for took in imported.values())
