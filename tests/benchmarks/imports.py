"""What importing takes before a command answers, or a worker begins with its first trial, beside torch alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from tests.benchmarks.measurement import Measurement
from tests.support.factories import make_out
from tests.support.program import Imported, imports_of

BARE = ("-c", "import torch")
SHOWN = 15  # modules, those that take longest
SLOW = frozenset({"torch._dynamo", "mlflow", "optuna", "matplotlib", "seaborn", "scipy"})
"""What takes a second or more to import, and neither a command nor a training needs at its start."""
FIRST_STEP = """
import torch, fmim_core.trial.trial
from fmim_core.optimizers.base import Adam
weights = torch.ones(1, requires_grad=True)
optimizer = Adam().build([{"params": [weights]}], 0.0, captured=False)
optimizer.zero_grad()
weights.sum().backward()
optimizer.step()
optimizer.load_state_dict(optimizer.state_dict())
"""
COMMANDS = SLOW | {"torch", "ray", "pandas"}


def programs(out: Path) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
    """Python's arguments, and modules that are not imported, by what is started; `out` is a study's folder."""
    return {
        "fmim --help": (("-m", "fmim", "--help"), COMMANDS),
        "fmim list": (("-m", "fmim", "list"), COMMANDS),
        "fmim status OUT": (("-m", "fmim", "status", str(out)), COMMANDS),
        "a study's start": (("-c", "import fmim.runner.run, fmim.terminal.run_display"), SLOW | {"statsmodels", "ray"}),
        "a trial's worker": (("-c", FIRST_STEP), SLOW | {"ray"}),  # a bank's index is pandas'
    }


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
