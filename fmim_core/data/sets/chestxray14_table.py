"""The table of ChestX-ray14: its two releases, its ages, and the index it gives."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from fmim_core.data.tables.cells import MAX_AGE
from fmim_core.data.tables.findings import Findings
from fmim_core.data.tables.reading import ReadTable

COLUMNS = ("image index", "finding labels", "patient id", "patient age", "view position")
SEX, GENDER, FOLLOW_UP = "patient sex", "patient gender", "follow-up #"
OPTIONAL = (SEX, GENDER, FOLLOW_UP)
IMAGE = re.compile(r"(\d{8})_(\d{3})\.png", re.ASCII)
"""Patient ID and number of an image."""

_AGE = re.compile(r"(\d{1,6})(?:\.0+)?([YMD]?)", re.ASCII)
_PER_YEAR = {"": 1, "Y": 1, "M": 12, "D": 365}
_NUMBER = re.compile(r"\d{1,12}", re.ASCII)
_FIRST_IMAGE, _FIRST_AGES = "00000001_000.png", {58.0: "v2017", 57.0: "v2020"}


def years_of_age(table: ReadTable) -> list[float]:
    """Return each row's age in whole years, from `57`, `058Y`, `013M` or `005D`; NaN where it is none from 0 to 120."""
    cells = table.column("patient age")
    known = {cell: _years(cell) for cell in set(cells)}
    return [known[cell] for cell in cells]


def _years(cell: str) -> float:
    match = _AGE.fullmatch(cell.upper())
    years = int(match[1]) // _PER_YEAR[match[2]] if match else math.inf
    return float(years) if years <= MAX_AGE else math.nan


def listed_index(
    table: ReadTable, ages: Sequence[float], lists: Mapping[str, Sequence[str]], findings: Findings
) -> pd.DataFrame:
    """Return the index of all rows of `table`; what is wrong with them is added to `findings`.

    Args:
        ages: by `years_of_age`.
        lists: split → names of its images.

    Raises:
        ValueError: no column for the sex, or two.
    """
    images = [cell or None for cell in table.column("image index")]
    findings.error("rows without an image", table.where(not image for image in images))
    subjects = _subjects(table, findings)
    columns = {
        "image": images,
        "subject": subjects,
        "side": [""] * len(table),
        "months": _months(table, subjects, ages, findings),
        "split": _splits(images, lists, findings),
        "sex": _sexes(table, findings),
        "age": ["" if math.isnan(age) else f"{age:.0f}" for age in ages],
        "view": table.column("view position"),
        "disease": _diseases(table, findings),
    }
    return pd.DataFrame(columns)


def release_of(table: ReadTable, ages: Sequence[float]) -> tuple[str, str]:
    """Return the release a table is of, "v2017", "v2020" or "unknown", from what it holds, and the evidence in words.

    v2020 corrected the ages and put the follow-up numbers into the order of the ages. Signs of v2017 are thus ages
    with a unit or above 120 and ages that fall from one follow-up to the next; a sign of v2020 is a follow-up number
    that is not the number in the image's name (24,106 rows; those of v2017 are all equal). The first image tells, too:
    58 years in v2017, 57 in v2020. These hold in a part of a table as well. The name "Patient Sex", new in v2020,
    decides only where nothing else does, since copies rename it.
    """
    images = table.column("image index")
    odd = sum(count for cell, count in Counter(table.column("patient age")).items() if _is_of_v2017(cell))
    falling, renumbered = _follow_ups(table, ages)
    counted = (
        ("v2017", f"ages with a unit or above {MAX_AGE}", odd),
        ("v2017", "ages that fall from one follow-up to the next", falling),
        ("v2020", "follow-up numbers other than in the image's name", renumbered),
    )
    signs = [(release, f"{what}: {count}") for release, what, count in counted if count]
    first = ages[images.index(_FIRST_IMAGE)] if _FIRST_IMAGE in images else None
    if first in _FIRST_AGES:
        signs.append((_FIRST_AGES[first], f"age of {_FIRST_IMAGE}: {first:.0f}"))
    if not signs and SEX in table.cells:
        signs = [("v2020", "a column Patient Sex")]
    if len({release for release, _ in signs}) == 1:
        return signs[0][0], "; ".join(sign for _, sign in signs)
    return "unknown", "; ".join(f"{sign}, as in {release}" for release, sign in signs) or "no sign of either release"


def _is_of_v2017(age: str) -> bool:
    match = _AGE.fullmatch(age.upper())
    return match is not None and (match[2] != "" or int(match[1]) > MAX_AGE)


def _follow_ups(table: ReadTable, ages: Sequence[float]) -> tuple[int, int]:
    """Count the ages that are below that of the subject's follow-up before, and the follow-ups that are renumbered."""
    cells, images = table.column(FOLLOW_UP), table.column("image index")
    number = {cell: float(cell) if _NUMBER.fullmatch(cell) else math.nan for cell in set(cells)}
    renumbered = sum(
        image[9:12] != cell.zfill(3) and IMAGE.fullmatch(image) is not None and number[cell] != int(image[9:12])
        for cell, image in zip(cells, images, strict=True)
        if not math.isnan(number[cell])
    )
    subject = pd.factorize(table.cells["patient id"])[0]
    rows = pd.DataFrame({"subject": subject, "number": [number[cell] for cell in cells], "age": ages}).dropna()
    rows = rows.sort_values(["subject", "number"])
    return int((rows.groupby("subject")["age"].diff() < 0).sum()), renumbered


def _subjects(table: ReadTable, findings: Findings) -> list[str | None]:
    """Return patient IDs without the leading zeros that v2017 has; an image's name must begin with the same number."""
    cells, images = table.column("patient id"), table.column("image index")
    subject = {cell: str(int(cell)) if _NUMBER.fullmatch(cell) else cell or None for cell in set(cells)}
    findings.error("rows without a Patient ID", table.where(not cell for cell in cells))
    other = [
        f"{image} of {cell}"
        for cell, image in zip(cells, images, strict=True)
        if cell and not image.startswith(cell.zfill(8)) and IMAGE.fullmatch(image)
    ]
    findings.error("images whose name and Patient ID are of two patients", other)
    return [subject[cell] for cell in cells]


def _months(
    table: ReadTable, subjects: Sequence[str | None], ages: Sequence[float], findings: Findings
) -> Sequence[float]:
    """Return 12 × (age − the subject's smallest age); NaN for all images of a subject with an age that is unknown.

    Not from follow-up 0: that is one image of the first year at best, and in v2017 often not of the first year.
    """
    frame = pd.DataFrame({"subject": subjects, "age": ages})
    unknown = frame["subject"].isin(set(frame["subject"][frame["age"].isna()].dropna()))
    rows = zip(table.column("image index"), table.column("patient age"), ages, strict=True)
    findings.warning(
        f"ages outside 0 to {MAX_AGE} years: the first visits of these subjects are unknown, so their "
        f"{int(unknown.sum())} images are not evaluated, only trained on if they are in train",
        [f"{image} {cell!r}" for image, cell, age in rows if math.isnan(age)],
    )
    months = 12 * (frame["age"] - frame.groupby("subject")["age"].transform("min"))
    return months.mask(unknown).tolist()


def _splits(images: Sequence[str | None], lists: Mapping[str, Sequence[str]], findings: Findings) -> list[str | None]:
    """Return the list each image is in, None where it is in none or in several."""
    split_of = {name: split for split, names in lists.items() for name in names}
    counts = Counter(name for names in lists.values() for name in set(names))
    both = {name for name, count in counts.items() if count > 1}
    findings.error("images in both lists", sorted(both))
    known = set(images)
    findings.error("images in neither list", [image for image in images if image and image not in split_of])
    findings.error(
        "images in the lists without a row in the table: with rows missing, first visits are unknown",
        [name for name in split_of if name not in known],
    )
    return [None if image in both else split_of.get(image or "") for image in images]


def _sexes(table: ReadTable, findings: Findings) -> list[str]:
    named = [name for name in (SEX, GENDER) if name in table.cells]
    if len(named) != 1:
        raise ValueError(f"{table.path} has {len(named)} of the columns Patient Sex and Patient Gender: it needs one")
    sexes = [cell.upper() if cell.upper() in ("M", "F") else "" for cell in table.column(named[0])]
    findings.warning("sexes other than M and F, set to unknown", table.where((not sex for sex in sexes), named[0]))
    return sexes


def _diseases(table: ReadTable, findings: Findings) -> list[str]:
    labels = table.column("finding labels")
    without = table.where(not label for label in labels)
    findings.warning("rows without a finding label: their disease is unknown", without)
    return [label and ("no" if label.lower() == "no finding" else "yes") for label in labels]
