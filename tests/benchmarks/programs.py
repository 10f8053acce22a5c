"""What must begin at once: the commands that answer, and a worker; with the packages that none of them may import."""

from __future__ import annotations

from pathlib import Path

SLOW = frozenset({"torch._dynamo", "mlflow", "optuna", "matplotlib", "seaborn", "scipy"})
"""What takes a second or more to import, and neither a command nor a training needs at its start."""
COMMANDS = SLOW | {"torch", "ray", "pandas"}


def programs(out: Path) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
    """Python's arguments, and modules that are not imported, by what is started; `out` is a study's folder."""
    return {
        "fmim --help": (("-m", "fmim", "--help"), COMMANDS),
        "fmim list": (("-m", "fmim", "list"), COMMANDS),
        "fmim status OUT": (("-m", "fmim", "status", str(out)), COMMANDS),
        "a trial's worker": (("-c", "import fmim_core.trial.trial"), SLOW | {"ray"}),  # a bank's index is pandas'
    }
