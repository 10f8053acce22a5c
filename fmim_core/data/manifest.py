"""A user's own images: a table with one row an image, checked as a whole before anything starts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from fmim_core.data.findings import Findings
from fmim_core.data.listing import Listing, check_index, file_state, matched_subjects
from fmim_core.data.source import ABOUT_COLUMNS, SourceDescription
from fmim_core.data.splits import shuffled_subjects
from fmim_core.data.tables import TextTable, read_table

REQUIRED = ("image", "subject", "months")
OPTIONAL = ("side", "split", *ABOUT_COLUMNS)
SPLITS = {"train": "train", "train_val": "train", "dev": "train", "development": "train", "test": "test"}
SIDES = {"": "", "l": "L", "left": "L", "r": "R", "right": "R"}
SEXES = {"": "", "m": "M", "male": "M", "f": "F", "female": "F"}
ANSWERS = {"": "", "yes": "yes", "true": "yes", "1": "yes", "no": "no", "false": "no", "0": "no"}
MAX_AGE = 120
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

Known = Callable[[str], Any]


def manifest(
    path: str | Path,
    test_fraction: float = 1 / 3,
    seed: int = 0,
    mirror_right: bool = True,
    metadata_only: bool = False,
) -> Listing:
    """The images named by a CSV or Parquet table with the columns image, subject, months and, where known, others.

    `image` is relative to the table's folder and stays inside it; `subject` is text; `months` counts from the
    subject's baseline (0), blank where unknown: such images are trained on and not evaluated. `side` is L, R, left,
    right or blank; with `mirror_right` the R images are mirrored, so that both sides look alike. `split` is train
    (or train_val, dev, development) or test; without that column, `test_fraction` of the subjects are drawn for the
    test by `seed`, alike among those with a query that has a match and those without. `sex`, `age` (years), `view`,
    `disease`, `grade` and `tkr` serve tables; what they hold beyond the known values is blank and warned of. Other
    columns are ignored.

    Raises:
        ValueError: the table cannot be read, or `test_fraction` is not between 0 and 1. What is wrong with its rows
            and their files is in the listing's findings.
    """
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction {test_fraction!r} is not allowed: give a number between 0 and 1")
    # Images are found beside the table, wherever the program is started or a worker runs.
    path = Path(path).parent.resolve() / Path(path).name
    table = read_table(path, REQUIRED, OPTIONAL)
    findings = Findings()
    index = _index(path, table, findings)
    rule: dict[str, Any] = {"rule": "column"}
    if "split" not in table.cells:
        rule = {"rule": "drawn", "fraction": test_fraction, "seed": seed}
        if not findings.errors:
            index["split"] = _drawn_split(index, test_fraction, seed)
            test = index["subject"][index["split"] == "test"].drop_duplicates()
            findings.note(f"subjects drawn for the test, as no column says ({test_fraction:.0%}, seed {seed})", test)
    images = [image if isinstance(image, str) else None for image in index["image"]]  # pandas makes None a NaN
    if not metadata_only:
        missing = [image for image in images if image and not file_state(path.parent / image)]
        findings.error("missing image files", missing)
    check_index(index, findings)
    return Listing(
        description=SourceDescription(
            name=_name(path),
            kind="manifest",
            synthetic=False,
            about=f"{len(index)} images of {index['subject'].nunique()} subjects, from {path.name}.",
            files={path.name: table.sha256},
            details={
                "split": rule,
                "months_unknown": int(index["months"].isna().sum()),
                "right_images_mirrored": int((index["side"] == "R").sum()) if mirror_right else 0,
            },
        ),
        origin=path,
        root=path.parent,
        index=index,
        paths=images,
        findings=findings,
        mirror_right=mirror_right,
        metadata_only=metadata_only,
    )


def _index(path: Path, table: TextTable, findings: Findings) -> pd.DataFrame:
    def column(name: str, known: Known, what: str, fallback: str | None = None) -> list[Any]:
        """The column's values through `known`, whose None marks a mistake: an error, or a warning and `fallback`."""
        cells = table.column(name)
        values = [known(cell) for cell in cells]
        wrong = [
            f"{place} {cell!r}" for value, place, cell in zip(values, table.places, cells, strict=True) if value is None
        ]
        if fallback is None:
            findings.error(what, wrong)
            return values
        findings.warning(what, wrong)
        return [fallback if value is None else value for value in values]

    columns = {
        "image": column("image", lambda cell: _inside(path.parent, cell), f"images not inside {path.parent}"),
        "subject": column("subject", lambda cell: cell or None, "rows without a subject"),
        "months": column("months", _months, "months that are not a number from 0 up, or blank"),
        "side": column("side", _one_of(SIDES), "sides other than L, R, left, right, blank"),
        "split": ["train"] * len(table),
    }
    if "split" in table.cells:
        columns["split"] = column("split", _one_of(SPLITS), f"splits other than {', '.join(SPLITS)}")
    about: dict[str, tuple[Known, str]] = {
        "sex": (_one_of(SEXES), "sexes other than M, F, male, female, taken as unknown"),
        "age": (_age, f"ages that are not a number from 0 to {MAX_AGE}, taken as unknown"),
        "view": (str, ""),
        "disease": (_one_of(ANSWERS), "diseases other than yes, no, true, false, 1, 0, taken as unknown"),
        "grade": (str, ""),
        "tkr": (_one_of(ANSWERS), "tkr other than yes, no, true, false, 1, 0, taken as unknown"),
    }
    for name, (known, what) in about.items():
        if name in table.cells:
            columns[name] = column(name, known, what, fallback="")
    ordered = ("image", "subject", "side", "months", "split", *about)
    return pd.DataFrame({name: columns[name] for name in ordered if name in columns})


def _one_of(known: dict[str, str]) -> Known:
    return lambda cell: known.get(cell.lower())


def _inside(root: Path, name: str) -> str | None:
    """`name` relative to `root`, or None where it is blank or leads out; links within are the user's own."""
    path, inside = os.path.normpath(os.path.join(root, name)), os.path.join(root, "")
    return path.removeprefix(inside).replace(os.sep, "/") if path.startswith(inside) else None


def _months(cell: str) -> float | None:
    if cell.lower() in ("", "nan"):
        return math.nan
    months = _number(cell)
    return months if months is not None and 0 <= months < math.inf else None


def _age(cell: str) -> str | None:
    if cell.lower() in ("", "nan"):
        return ""
    age = _number(cell)
    return f"{age:g}" if age is not None and 0 <= age <= MAX_AGE else None


def _number(cell: str) -> float | None:
    """A plain decimal number; `float` alone would also take "1_2" and digits of other scripts."""
    return float(cell) if NUMBER.fullmatch(cell) else None


def _drawn_split(index: pd.DataFrame, fraction: float, seed: int) -> list[str]:
    matched = matched_subjects(index)
    test: set[str] = set()
    for subjects in (matched, set(index["subject"]) - matched):
        count = min(max(1, round(fraction * len(subjects))), max(0, len(subjects) - 1))
        test.update(shuffled_subjects(subjects, "test", seed)[:count])
    return ["test" if subject in test else "train" for subject in index["subject"]]


def _name(path: Path) -> str:
    """A name for folders and reports: the table's, or its folder's where the table is just called manifest."""
    name = path.parent.name if path.stem.lower() == "manifest" else path.stem
    return re.sub(r"[^\w.-]+", "_", name) or "manifest"
