"""Small folders like a download of ChestX-ray14, in either release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from fmim_core.data.sets.base import Listing

# Lines of the two releases as the NIH wrote them: headers that split into 11 named cells and a blank one.
HEADER_2017 = (
    "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position,"
    "OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],"
)
HEADER_2020 = HEADER_2017.replace("Gender", "Sex")
V2017 = f"""{HEADER_2017}
00000001_000.png,Cardiomegaly,000,00000001,058Y,M,PA,2682,2749,0.143,0.143
00000001_001.png,Cardiomegaly|Emphysema,001,00000001,058Y,M,PA,2894,2729,0.143,0.143
00000002_000.png,No Finding,000,00000002,081Y,M,PA,2500,2048,0.171,0.171
00000003_000.png,Hernia,000,00000003,081Y,F,PA,2582,2991,0.143,0.143
00000003_001.png,Hernia,001,00000003,074Y,F,PA,2500,2048,0.168,0.168
00000008_000.png,Cardiomegaly,000,00000008,069Y,F,PA,2048,2500,0.171,0.171
00000008_001.png,No Finding,001,00000008,070Y,F,AP,2048,2500,0.171,0.171
"""
V2020 = f"""{HEADER_2020}
00000001_000.png,Cardiomegaly,0,1,57,M,PA,2682,2749,0.14300000000000002,0.14300000000000002,
00000001_001.png,Cardiomegaly|Emphysema,1,1,58,M,PA,2894,2729,0.14300000000000002,0.14300000000000002,
00000002_000.png,No Finding,0,2,80,M,PA,2500,2048,0.171,0.171,
00000003_001.png,Hernia,0,3,74,F,PA,2500,2048,0.168,0.168,
00000003_000.png,Hernia,7,3,81,F,PA,2582,2991,0.14300000000000002,0.14300000000000002,
00000008_000.png,Cardiomegaly,0,8,69,F,PA,2048,2500,0.171,0.171,
00000008_001.png,No Finding,1,8,70,F,AP,2048,2500,0.171,0.171,
"""
TRAIN = ["00000001_000.png", "00000001_001.png", "00000002_000.png", "00000008_000.png", "00000008_001.png"]
TEST = ["00000003_000.png", "00000003_001.png"]


def write(root: Path, table: str | bytes = V2020, name: str = "Data_Entry_2017_v2020.csv") -> Path:
    """The table and both lists in `root`; the lists end without a newline, as the real ones do."""
    root.mkdir(exist_ok=True)
    (root / name).write_bytes(table.encode() if isinstance(table, str) else table)
    (root / "train_val_list.txt").write_text("\n".join(TRAIN))
    (root / "test_list.txt").write_text("\n".join(TEST))
    return root


def add_images(root: Path, folder_of: Callable[[str], str] = lambda name: ".") -> Path:
    """An image for each name, of its own grey level."""
    for level, name in enumerate([*TRAIN, *TEST]):
        folder = root / folder_of(name)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), 30 * level, np.uint8)).save(folder / name)
    return root


def told(listing: Listing) -> dict[str, tuple[str, ...]]:
    """Return what is found wrong, by severity and the first words before a colon."""
    return {f"{f.severity}: {f.what.partition(':')[0]}": f.places for f in listing.findings}


def longitudinal(root: Path, subjects: int, visits: int) -> None:
    """A download of so many subjects with an image a year each; every third subject is in the official test list."""
    root.mkdir(parents=True, exist_ok=True)
    rows = [HEADER_2020]
    lists: dict[str, list[str]] = {"train_val_list.txt": [], "test_list.txt": []}
    for subject in range(1, subjects + 1):
        for visit in range(visits):
            name = f"{subject:08d}_{visit:03d}.png"
            rows.append(f"{name},No Finding,{visit},{subject},{40 + visit},M,PA,2500,2048,0.171,0.171,")
            lists["test_list.txt" if subject % 3 == 0 else "train_val_list.txt"].append(name)
            image = np.random.default_rng(100 * subject + visit).integers(0, 256, (40, 40), dtype=np.uint8)
            Image.fromarray(image).save(root / name)
    (root / "Data_Entry_2017_v2020.csv").write_text("\n".join(rows), encoding="utf-8")
    for name, images in lists.items():
        (root / name).write_text("\n".join(images), encoding="utf-8")
