"""Invented OAI folders of exactly the documented layouts: nobody in them exists, and their knees are drawn."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
from PIL import Image

from fmim_core.data.sets.base import Listing
from fmim_core.data.sets.oai import OAI
from fmim_core.data.sets.oai_tables import VISITS

Columns = Mapping[str, Sequence[Any]]
MISSING = ".: Missing Form/Incomplete Workbook"
PEOPLE = [
    ("9000001", "A", "1: Male"),
    ("9000002", "B", "2: Female"),
    ("9000003", "C", "2: Female"),
    ("9000004", "C", "1: Male"),
]
IDS = [subject for subject, _, _ in PEOPLE]


def text(
    separator: str, newline: str = "\n", dictionary: bool = False, last: str = "\n"
) -> Callable[[Path, Columns], Path]:
    """A writer of separated text, with a line that describes the columns if there is to be a `dictionary`."""

    def write(path: Path, columns: Columns) -> Path:
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        if dictionary:
            rows.insert(1, [f"Description of {name}, 1 = yes" for name in columns])
        lines = (separator.join("" if cell is None else str(cell) for cell in row) for row in rows)
        path.with_suffix(".txt").write_bytes((newline.join(lines) + last).encode())
        return path.with_suffix(".txt")

    return write


def xpt(path: Path, columns: Columns) -> Path:
    codes = {name.upper(): _codes(cells) for name, cells in columns.items()}
    pyreadstat.write_xport(pd.DataFrame(codes), str(path.with_suffix(".xpt")))
    return path.with_suffix(".xpt")


def parquet(path: Path, columns: Columns) -> Path:
    pd.DataFrame(columns, dtype=object).astype(str).to_parquet(path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def _codes(cells: Sequence[Any]) -> list[Any]:
    """Cells as SAS holds them: numbers without labels, None where missing; text stays."""
    codes = [str(cell).split(":")[0].strip() for cell in cells]
    numbers = [None if code in ("", "None") or code.startswith(".") else code for code in codes]
    if all(code is None or code.replace(".", "", 1).isdigit() for code in numbers):
        return [None if code is None else float(code) for code in numbers]
    return codes


def gzipped(path: Path) -> Path:
    """Pack a file; its name then has other letters in upper case."""
    packed = path.with_name(f"{path.stem.upper()}.TXT.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return packed


WRITERS: dict[str, Callable[[Path, Columns], Path]] = {
    "pipes": text("|"),
    "commas": text(","),
    "tabs and a dictionary": text("\t", dictionary=True),
    "Windows": text("|", newline="\r\n", last=""),
    "gzipped": lambda path, columns: gzipped(text("|")(path, columns)),
    "xpt": xpt,
    "parquet": parquet,
}


pipes = WRITERS["pipes"]


def tables(
    folder: Path, people: Sequence[tuple[str, str, str]], write: Callable[[Path, Columns], Path] = pipes
) -> None:
    """Tables of `people`, (ID, site, sex "1: Male" or "2: Female"), who came to every visit, 60 years old at first.

    Right knees have grade 0 to 4 by the visit's place, left ones 4 to 0.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ids, sites, sexes = zip(*people, strict=True)
    write(folder / "Enrollees", {"ID": ids, "VERSION": ["25"] * len(ids), "V00SITE": sites, "P02SEX": sexes})
    for place, (visit, months) in enumerate(VISITS.items()):
        age = [60 + months // 12] * len(ids)
        write(folder / f"AllClinical{visit}", {"ID": ids, "VERSION": ["1.2"] * len(ids), f"V{visit}AGE": age})
        grade = min(4, place)
        readings = {
            "ID": [i for i in ids for _ in "RL"],
            "SIDE": ["1: Right", "2: Left"] * len(ids),
            "READPRJ": ["15"] * 2 * len(ids),
            # Case differs between the OAI's files.
            f"{'v' if visit == '03' else 'V'}{visit}XRKL": [grade, 4 - grade] * len(ids),
        }
        write(folder / f"kxr_sq_bu{visit}", readings)


def knee(size: int = 40, mark: int = 250) -> np.ndarray:
    """A grey square with a bright left column, so that mirroring shows."""
    pixels = np.full((size, size), 50, np.uint8)
    pixels[:, 0] = mark
    return pixels


def crops(folder: Path, subjects: Sequence[str], months: Sequence[int] = (0, 12), sides: str = "LR") -> None:
    """A crop of each knee at each visit."""
    folder.mkdir(parents=True, exist_ok=True)
    for subject in subjects:
        for month in months:
            for side in sides:
                Image.fromarray(knee()).save(folder / f"{subject}_{month:02d}_1234_{side}.png")


def film_path(root: Path, subject: str, months: int, name: str = "001") -> Path:
    return root / f"{months:02d}m" / "0.C.2" / subject / "20050101" / "00000001" / name


def film(path: Path, right: tuple[int, int] = (30, 40), left: tuple[int, int] = (90, 50)) -> Path:
    """A film of 120 × 80 pixels, black but for one pixel at the middle of each knee: right 200, left 100."""
    pixels = np.zeros((80, 120), np.uint8)
    pixels[right[1], right[0]], pixels[left[1], left[0]] = 200, 100
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".png":
        Image.fromarray(pixels).save(path)
    return path


def oai(root: Path, metadata_only: bool = False) -> Listing:
    """List the folder as the command line does."""
    return OAI().listing(root, metadata_only)


def people_folder(root: Path) -> Path:
    """The four `PEOPLE`, two of them of site C, with crops of both knees at months 0 and 12."""
    tables(root / "metadata", PEOPLE)
    crops(root / "ResizedImages", IDS)
    return root


def found(listing: Listing, severity: str | None = None) -> dict[str, tuple[str, ...]]:
    """Return what was found → its places; without the note that the tables know more visits than have images."""
    silent = "knees with a row in a clinical table but no image"
    return {f.what: f.places for f in listing.findings if f.what != silent and severity in (None, f.severity)}


def expected_index() -> pd.DataFrame:
    """The index of `people_folder`."""
    rows = []
    for subject, site, sex in PEOPLE:
        for months in (0, 12):
            for side in "LR":
                grade = months // 12 if side == "R" else 4 - months // 12
                about = (sex[3:][0], str(60 + months // 12), "yes" if grade > 1 else "no", str(grade), "")
                name = f"ResizedImages/{subject}_{months:02d}_1234_{side}.png"
                rows.append((name, subject, side, float(months), "test" if site == "C" else "train", *about))
    names = ["image", "subject", "side", "months", "split", "sex", "age", "disease", "grade", "tkr"]
    return pd.DataFrame(rows, columns=names)
