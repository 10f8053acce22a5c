"""Folders of small pictures with their manifest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image


def picture(seed: int, height: int = 24, width: int = 20) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)


def folder_of(folder: Path, rows: list[str], header: str = "image,subject,months,side,split") -> Path:
    """A manifest of these lines, with a picture of its own for each image that is not there yet."""
    folder.mkdir(exist_ok=True)
    for number, row in enumerate(rows):
        path = folder / row.partition(",")[0]
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            Image.fromarray(picture(number)).save(path)
    (folder / "manifest.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return folder / "manifest.csv"


GOOD = [f"{split}{n}_{months}.png,{split}{n},{months},,{split}" for split in ("train", "test") for n in range(3)
        for months in (0, 12)]  # fmt: skip
