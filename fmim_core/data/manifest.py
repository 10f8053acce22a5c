"""A user's own images: a table with one row an image, checked as a whole before anything starts."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.config import fingerprint
from fmim_core.data.images import read_grey
from fmim_core.data.source import SourceDescription
from fmim_core.data.splits import shuffled_subjects

REQUIRED = ("image", "subject", "months")
SEPARATORS = (",", ";", "\t", "|")
SPLITS = {"train": "train", "train_val": "train", "dev": "train", "development": "train", "test": "test"}
SIDES = {"": "", "l": "L", "left": "L", "r": "R", "right": "R"}
SHOWN = 5  # places named of each kind of mistake


class ManifestSource:
    """The images named by a CSV or Parquet table with the columns image, subject, months and, where known, side, split.

    `image` is relative to the table's folder and stays inside it; `subject` is text; `months` counts from the
    subject's baseline (0), blank where unknown: such images are trained on and not evaluated. `side` is L, R, left,
    right or blank; with `mirror_right` the R images are mirrored, so that both sides look alike. `split` is train
    (or train_val, dev, development) or test; without that column, `test_fraction` of the subjects are drawn for the
    test by `seed`, alike among those with a query that has a match and those without. Other columns are ignored.

    Raises:
        ValueError: one error with everything that is wrong with the table and its files.
    """

    def __init__(
        self, path: str | Path, test_fraction: float = 1 / 3, seed: int = 0, mirror_right: bool = True
    ) -> None:
        if not 0 < test_fraction < 1:
            raise ValueError(f"test_fraction {test_fraction!r} is not allowed: give a number between 0 and 1")
        # Images are found beside the table, wherever the program is started or a worker runs.
        self._path = Path(path).parent.resolve() / Path(path).name
        content = _content(self._path)
        table = _table(self._path, content)
        self._index, stats = _checked(self._path, table, test_fraction, seed)
        rule: dict[str, Any] = {"rule": "column"}
        if "split" not in table:
            rule = {"rule": "drawn", "fraction": test_fraction, "seed": seed}
        names, sides = self._index["image"].tolist(), self._index["side"].tolist()
        self._files = [
            (f"{self._path.parent}/{n}", mirror_right and s == "R") for n, s in zip(names, sides, strict=True)
        ]
        self._stats = stats
        checksum = hashlib.sha256(content).hexdigest()
        # Size and time of change stand for the content, which takes minutes to read in a large collection. A copied
        # folder is thus decoded again, to a bank of the same fingerprint, which covers content alone.
        self.fingerprint = fingerprint([checksum, rule, mirror_right, names, stats])
        self.description = SourceDescription(
            name=_name(self._path),
            kind="manifest",
            synthetic=False,
            about=f"{len(self._index)} images of {self._index['subject'].nunique()} subjects, from {self._path.name}.",
            details={
                "manifest": self._path.name,
                "manifest_sha256": checksum,
                "split": rule,
                "months_unknown": int(self._index["months"].isna().sum()),
                "right_images_mirrored": int((self._index["side"] == "R").sum()) if mirror_right else 0,
            },
        )

    @property
    def index(self) -> pd.DataFrame:
        """One row an image, in the order of the table."""
        return self._index.copy()

    @property
    def image_keys(self) -> list[str]:
        """One text an image: where it is, its size and time of change, and whether it is mirrored."""
        return [f"{path} {mirror} {stat}" for (path, mirror), stat in zip(self._files, self._stats, strict=True)]

    def read(self, row_number: int, size: int) -> np.ndarray:
        """Grey uint8 `(size, size)` by `images.read_grey` and `images.square`; raises `images.ImageProblem`."""
        path, mirror = self._files[row_number]
        return read_grey(path, size, mirror)


class _Mistakes:
    """Collects what is wrong, to tell it at once."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, list[str]()

    def add(self, what: str, places: list[str]) -> None:
        """One kind of mistake at `places`, of which the first few are named; nothing where there are none."""
        if places:
            more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
            self.lines.append(f"{what} ({len(places)}): {', '.join(places[:SHOWN])}{more}")

    def tell(self) -> None:
        if self.lines:
            raise ValueError("\n  ".join([f"{self.path} cannot be used:", *self.lines]))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}. Give the path of a CSV or Parquet table.") from None


def _table(path: Path, content: bytes) -> pd.DataFrame:
    """All cells as stripped text, with a column `place` that says where a row stands."""
    parquet = content[:4] == b"PAR1" or path.suffix.lower() == ".parquet"
    header, rows, places = _parquet(path, content) if parquet else _csv(path, content)
    header = [name.strip().lower() for name in header]
    if missing := [name for name in REQUIRED if name not in header]:
        raise ValueError(f"{path} lacks the columns {missing}; found: {header}; optional: ['side', 'split']")
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        raise ValueError(f"{path} has the columns {twice} more than once: keep one of each")
    if not rows:
        raise ValueError(f"{path} has a header and no rows: give one row an image")
    table = pd.DataFrame([[cell.strip() for cell in row] for row in rows], columns=header, dtype=object)
    return table[[name for name in (*REQUIRED, "side", "split") if name in header]].assign(place=places)


def _csv(path: Path, content: bytes) -> tuple[list[str], list[list[str]], list[str]]:
    wide = content[:2] in (b"\xff\xfe", b"\xfe\xff")  # a spreadsheet's "Unicode text"
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path} is not UTF-8 text (line {line}): save it as CSV UTF-8") from None
    first = next((line for line in io.StringIO(text, newline="") if line.strip()), "")
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows, places = [], []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append(row)
                places.append(f"line {reader.line_num}")
    except csv.Error as error:
        raise ValueError(f"{path} is not a readable table (line {reader.line_num}): {error}") from None
    if not rows:
        raise ValueError(f"{path} is empty: its first line must name the columns {list(REQUIRED)}")
    header = rows[0]
    mistakes = _Mistakes(path)
    odd = [f"{place} has {len(row)}" for row, place in zip(rows, places, strict=True) if len(row) != len(header)]
    mistakes.add(f"rows without the {len(header)} cells of the header", odd)
    mistakes.tell()
    return header, rows[1:], places[1:]


def _parquet(path: Path, content: bytes) -> tuple[list[str], list[list[str]], list[str]]:
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except (ImportError, OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    cells = frame.astype(object).where(frame.notna(), "").map(str)
    return (
        [str(name) for name in frame.columns],
        cells.to_numpy().tolist(),
        [f"row {n + 1}" for n in range(len(cells))],
    )


def _checked(
    path: Path, table: pd.DataFrame, test_fraction: float, seed: int
) -> tuple[pd.DataFrame, list[tuple[int, int] | None]]:
    """The index, and size and time of change of each file; raises with all mistakes of all rows."""
    mistakes = _Mistakes(path)

    def column(name: str, known: Callable[[str], Any], what: str) -> list[Any]:
        """The column's values through `known`, whose None marks a mistake."""
        cells = table[name].tolist() if name in table else [""] * len(table)
        values = [known(cell) for cell in cells]
        wrong = zip(values, table["place"], cells, strict=True)
        mistakes.add(what, [f"{place} {cell!r}" for value, place, cell in wrong if value is None])
        return values

    images = column("image", lambda cell: _inside(path.parent, cell), f"images not inside {path.parent}")
    subjects = column("subject", lambda cell: cell or None, "rows without a subject")
    months = column("months", _months, "months that are not a number from 0 up, or blank")
    sides = column("side", lambda cell: SIDES.get(cell.lower()), "sides other than L, R, left, right, blank")
    splits = ["train"] * len(table)
    if "split" in table:
        splits = column("split", lambda cell: SPLITS.get(cell.lower()), f"splits other than {', '.join(SPLITS)}")
    stats = [image and _stat(os.path.join(path.parent, image)) for image in images]
    missing = [image for image, found in zip(images, stats, strict=True) if image and not found]
    mistakes.add("missing image files", missing)
    mistakes.add("images named more than once", [name for name, n in Counter(images).items() if name and n > 1])
    index = pd.DataFrame({"image": images, "subject": subjects, "side": sides, "months": months, "split": splits})
    train, test = (set(index["subject"][index["split"] == split].dropna()) for split in ("train", "test"))
    mistakes.add("subjects in both train and test", sorted(train & test))
    if None not in (*subjects, *months, *splits):
        if "split" not in table:
            index["split"] = _drawn_split(index, test_fraction, seed)
        _check_queries(index, mistakes)
    mistakes.tell()
    return index, stats


def _inside(root: Path, name: str) -> str | None:
    """`name` relative to `root`, or None where it is blank or leads out; links within are the user's own."""
    path, inside = os.path.normpath(os.path.join(root, name)), os.path.join(root, "")
    return path.removeprefix(inside).replace(os.sep, "/") if path.startswith(inside) else None


def _months(cell: str) -> float | None:
    if cell.lower() in ("", "nan"):
        return math.nan
    try:
        months = float(cell)
    except ValueError:
        return None
    return months if 0 <= months < math.inf else None


def _stat(path: str) -> tuple[int, int] | None:
    """Size and time of change of a file, None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # a name the file system refuses is a missing file too
        return None
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _matched_subjects(index: pd.DataFrame) -> set[str]:
    """Subjects with a baseline image and a later one."""
    return set(index["subject"][index["months"] == 0]) & set(index["subject"][index["months"] > 0])


def _drawn_split(index: pd.DataFrame, fraction: float, seed: int) -> list[str]:
    matched = _matched_subjects(index)
    test: set[str] = set()
    for subjects in (matched, set(index["subject"]) - matched):
        count = min(max(1, round(fraction * len(subjects))), max(0, len(subjects) - 1))
        test.update(shuffled_subjects(subjects, "test", seed)[:count])
    return ["test" if subject in test else "train" for subject in index["subject"]]


def _check_queries(index: pd.DataFrame, mistakes: _Mistakes) -> None:
    for split in ("train", "test"):
        part = index[index["split"] == split]
        if not _matched_subjects(part):
            what = f"no subject in {split} has an image at month 0 and a later one, so retrieval cannot be scored"
            mistakes.add(what, [f"{len(part)} images"])


def _name(path: Path) -> str:
    """A name for folders and reports: the table's, or its folder's where the table is just called manifest."""
    name = path.parent.name if path.stem.lower() == "manifest" else path.stem
    return re.sub(r"[^\w.-]+", "_", name) or "manifest"
