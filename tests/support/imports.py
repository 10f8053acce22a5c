"""What a Python program imports, and how long that takes: `python -X importtime`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

SOURCES = ("studies", "search_spaces", "reports", ".")


@dataclass(frozen=True)
class Imported:
    """Seconds that a module took: `alone`, and with all that it imports."""

    alone: float
    whole: float


def imports_of(arguments: Sequence[str], folder: Path) -> dict[str, Imported]:
    """What a program imports, by module, with Python's arguments for it; it must end well."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(str(ROOT / source) for source in SOURCES)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, Imported] = {}
    for line in done.stderr.splitlines():
        alone, _, rest = line.removeprefix("import time:").partition("|")
        whole, _, module = rest.partition("|")
        if alone.strip().isdecimal():  # not the head of the columns
            found[module.strip()] = Imported(int(alone) / 1e6, int(whole) / 1e6)
    return found
