"""Sources of small pictures that count what is read of them, and banks that are built from them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmim_core.data.bank.bank import FILES, Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.images.reading import ImageProblem
from fmim_core.data.source import Source, SourceDescription
from tests.support.paths import ROOT

SIZE = 8
COUNT = 1000  # four blocks: 256, 256, 256, 232

ROWS = [  # subject, side, months, split; the names are what a careless reader turns into NaN or numbers
    ("NA", "L", 0.0, "train"),
    ("NA", "R", 17.999999999999996, "train"),
    ("007", "", 0.0, "train"),
    ("t,1", "", 0.0, "test"),
    ("7", "", np.nan, "train"),
    ('t"2"', "", 30.0, "test"),
    ("007", "", 18.0, "train"),
    ("名", "", 0.1 + 0.2, "train"),
]


class Tiny(Source):
    """A source of eight images, each of a level that tells its row."""

    fingerprint = "tiny"
    description = SourceDescription("tiny", "phantom", True, "Eight images.", {"noise": 0.5})

    def __init__(self, rows: list = ROWS, bad: tuple[int, ...] = ()) -> None:
        self.index = pd.DataFrame(rows, columns=["subject", "side", "months", "split"])
        self.index["image"] = [f"i{n}.png" for n in range(len(rows))]
        self.bad, self.reads = bad, 0

    def read(self, row_number: int, size: int) -> np.ndarray:
        self.reads += 1
        if row_number in self.bad:
            raise ImageProblem(f"i{row_number}.png", "empty")
        image = np.full((size, size), 10 * (row_number % 8) + 100, np.uint8)
        image[0] = 255
        return image


class Pictures(Source):
    """Images that tell their name; counts what is read. `names` are those of the images in the index."""

    description = SourceDescription("pictures", "manifest", True, "Pictures of numbers.")

    def __init__(self, names: Sequence[int] = range(COUNT), bad: Sequence[int] = (), version: str = "1") -> None:
        count = len(names)
        self.index = pd.DataFrame({"image": [f"{n}.png" for n in names], "subject": [f"s{n // 4}" for n in names]})
        self.index = self.index.assign(side="", months=0.0, split=["train"] * (count - 40) + ["test"] * 40)
        self.names, self.bad, self.version = list(names), set(bad), version
        self.fingerprint = f"{version} {self.names}"
        self.reads: list[int] = []

    def read(self, row_number: int, size: int) -> np.ndarray:
        name = self.names[row_number]
        self.reads.append(name)
        if name in self.bad:
            raise ImageProblem(f"{name}.png", "empty")
        if name % 100 == 7:
            return np.full((size, size), 9, np.uint8)
        return np.random.default_rng(name).integers(0, 256, (size, size), np.uint8)


class Files(Pictures):
    """Pictures in files: those whose name is in `mended` were written anew after the others."""

    def __init__(
        self, names: Sequence[int] = range(COUNT), bad: Sequence[int] = (), mended: Sequence[int] = ()
    ) -> None:
        super().__init__(names, bad, version=f"mended {mended}")
        self.image_keys = [f"{n} {n in mended}" for n in names]


def content(bank: Bank) -> dict[str, bytes]:
    """The bytes of each file of a bank."""
    return {name: (bank.path / name).read_bytes() for name in FILES}


def interrupted(source: Pictures, root: Path, after: int) -> Path:
    """The folder that a build leaves which Ctrl-C stops after so many images."""

    def stop(done: int, total: int) -> None:
        if done == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_bank(source, SIZE, root, stop)
    (folder,) = root.glob("*.partial")
    return folder


def start(code: str, root: Path) -> subprocess.Popen[str]:
    """Python code that runs in a process of its own, with the folder as its argument."""
    command = [sys.executable, "-c", code, str(root)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
