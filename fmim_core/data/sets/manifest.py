"""A user's own images: a table with one row per image, checked as a whole before anything starts."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import Field, ValidationError

from fmim_core.config import Config, in_words
from fmim_core.data.image_set import ROLES, matched_subjects, protocol_of
from fmim_core.data.sets.base import Listing, check_index
from fmim_core.data.source import ABOUT_COLUMNS, EVERY_COLUMN, SourceDescription
from fmim_core.data.splits import shuffled_subjects
from fmim_core.data.tables.cells import (
    ANSWERS,
    MAX_AGE,
    MAX_MONTHS,
    MISSING,
    MISSING_NAMES,
    SEXES,
    SIDES,
    SPLITS,
    CellParser,
    age_of,
    caseless,
    check_identifiers,
    months_of,
    one_of,
    one_spelling,
)
from fmim_core.data.tables.findings import Findings, shortened
from fmim_core.data.tables.reading import ReadTable, read_table
from fmim_core.metric_names import YEAR, Unit
from fmim_core.records import other_than_file

REQUIRED = ("image", "subject", "months")
OPTIONAL = ("role", "side", "split", *ABOUT_COLUMNS)


def manifest(
    path: str | Path,
    test_fraction: float = 1 / 3,
    seed: int = 0,
    mirror_right: bool = True,
    metadata_only: bool = False,
    for_study: bool = True,
) -> Listing:
    """List the images named by a CSV or Parquet table with the columns image, subject, months and, where known, others.

    A TOML file of the table's name beside it may hold settings (`ManifestSettings`).

    `image` is relative to the table's folder, with / or \\ between folders, and never leads out of it, through links
    neither. `subject` is text, as it is written; what a program seems to have spoilt is told (`check_identifiers`).
    `months` is a number that counts from the subject's baseline (0), blank where unknown: such images are trained on
    and not evaluated. With the column `role` (gallery, query, both or blank) that says what is evaluated,
    and `months` may be blank or lacking. `side` is L, R, left, right or blank; with `mirror_right` the R images are
    mirrored, so that both sides look alike. `split` is train (or train_val, dev, development) or test; without that
    column, `test_fraction` of the subjects are drawn for the test by `seed`, alike among those with a query that has a
    match and those without. `sex`, `age` (years), `view`, `disease`, `grade` and `tkr` serve tables; what they hold
    beyond the known values is blank and warned of. Words for a missing value (`MISSING`) are blanks. Other columns are
    ignored. `for_study` is as in `check_index`: a table of images to search, or to search with, need not be one.

    Raises:
        ValueError: the table or its settings cannot be read, or `test_fraction` is not between 0 and 1. What is wrong
            with its rows and their files is in the listing's findings.
    """
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction {test_fraction!r} is not allowed: give a number between 0 and 1")
    # Images are found beside the table, wherever the program is started or a worker runs.
    path = Path(path).parent.resolve() / Path(path).name
    table = read_table(path, REQUIRED, OPTIONAL, instead={"months": "role"})
    settings, settings_file = read_settings(path.with_name(f"{_stem(path)}.toml"))
    findings = Findings()
    index = _index(path, table, findings)
    _check_subjects(set(index["subject"].dropna()), findings)
    known = index[["subject", "image"]].fillna("")
    check_identifiers(known["subject"].tolist(), known["image"].tolist(), table.places, findings)
    findings.note("columns that are not used", table.unused)
    rule: dict[str, Any] = {"rule": "column"}
    if "split" not in table.cells:
        rule = {"rule": "drawn", "fraction": test_fraction, "seed": seed}
        if not findings.errors:
            index["split"] = _drawn_split(index, test_fraction, seed)
            test = index["subject"][index["split"] == "test"].drop_duplicates()
            findings.note(f"subjects drawn for the test (no column split; {test_fraction:.0%}, seed {seed})", test)
    images = [image or None for image in known["image"]]
    if not metadata_only:
        _check_files(path.parent, images, table.places, findings)
    check_index(index, findings, for_study)
    listing = Listing(
        description=SourceDescription(
            name=_name(path),
            kind="manifest",
            synthetic=False,
            about=f"{len(index)} images of {index['subject'].nunique()} subjects, from {path.name}"
            f"{protocol_of(index).about}.",
            files={path.name: table.sha256, **settings_file},
            settings=settings.training,
            details={
                "split": rule,
                "months_unknown": int(index["months"].isna().sum()),
                "right_images_mirrored": int((index["side"] == "R").sum()) if mirror_right else 0,
            },
            interval=settings.interval,
        ),
        origin=path,
        root=path.parent,
        index=index,
        paths=images,
        findings=findings,
        mirror_right=mirror_right,
        metadata_only=metadata_only,
        written_by_user=True,
    )
    return listing.with_channels(settings.channels)


def _index(path: Path, table: ReadTable, findings: Findings) -> pd.DataFrame:
    """Return the index with None for cells that cannot be used, of which an error tells."""
    roles = {role: role for role in ROLES}
    parsers: dict[str, tuple[CellParser, str, str | None]] = {  # what is told of mistakes, and what stands instead
        "image": (lambda cell: _inside(path.parent, cell), f"images outside {path.parent}", None),
        "subject": (lambda cell: cell or None, "rows without a subject", None),
        "months": (
            months_of,
            f"months that are neither blank nor a number from 0 to {MAX_MONTHS} (12.5, not 12,5 or a date)",
            None,
        ),
        "side": (one_of(SIDES), "sides other than L, R, left, right or blank", None),
        "split": (one_of(SPLITS), f"splits other than {', '.join(SPLITS)}", None),
        "role": (one_of(roles), f"roles other than {', '.join(ROLES[1:])} or blank", None),
        "sex": (one_of(SEXES), "sexes other than M, F, male, female, set to unknown", ""),
        "age": (age_of, f"ages that are not a number from 0 to {MAX_AGE}, set to unknown", ""),
        "view": (str, "", ""),
        "disease": (one_of(ANSWERS), "diseases other than yes, no, true, false, 1, 0, set to unknown", ""),
        "grade": (one_spelling, "", ""),
        "tkr": (one_of(ANSWERS), "tkr other than yes, no, true, false, 1, 0, set to unknown", ""),
    }
    columns: dict[str, list[Any]] = {"split": ["train"] * len(table)}
    for name, (known, what, instead) in parsers.items():
        if name not in table.cells and name not in ("months", "side"):
            continue
        cells, missing = table.column(name), MISSING_NAMES if name == "subject" else MISSING
        blank = [cell.lower() in missing for cell in cells]
        values = [known("" if is_blank else cell) for cell, is_blank in zip(cells, blank, strict=True)]
        findings.note(f"{name} cells read as blank", table.where(blank, name))
        wrong = table.where((value is None for value in values), name)
        (findings.error if instead is None else findings.warning)(what, wrong)
        columns[name] = [instead if value is None else value for value in values]
    return pd.DataFrame({name: columns[name] for name in EVERY_COLUMN if name in columns})


def _inside(root: Path, name: str) -> str | None:
    """Return `name` relative to `root`, or None where it is blank or leads out."""
    path, inside = os.path.normpath(os.path.join(root, name.replace("\\", "/"))), os.path.join(root, "")
    return path.removeprefix(inside).replace(os.sep, "/") if path.startswith(inside) else None


def _kind_there(path: Path) -> str | None:
    """Return what is there in place of a file; None where nothing is."""
    try:
        return other_than_file(path)
    except PermissionError:
        return "in a folder whose permissions forbid it to be read"
    except OSError:
        return None


def _check_files(root: Path, images: Sequence[str | None], places: Sequence[str], findings: Findings) -> None:
    """Add the images that are not there, are no files, or lie outside `root` behind a link; nothing is opened."""
    missing = [image for image in images if image and not os.path.isfile(root / image)]
    other = {image: kind for image in missing if (kind := _kind_there(root / image))}
    findings.error("missing image files", [shortened(image) for image in missing if image not in other])
    findings.error("images that cannot be read", [f"{shortened(image)} ({kind})" for image, kind in other.items()])
    on_disk = cache(lambda folder: {caseless(path.name): path.name for path in folder.glob("*")})  # none if unreadable
    there = [(image, on_disk((root / image).parent).get(caseless(Path(image).name))) for image in missing]
    otherwise = [f"{image} (found {name!r})" for image, name in there if name and name != Path(image).name]
    findings.error("missing files whose names are spelt differently on disk", otherwise)
    what = f"images that are links to files outside {root}: copy the files into it, or move the table above them"
    real_folder, inside, led_out = cache(os.path.realpath), os.path.join(root, ""), []
    for place, image in zip(places, images, strict=True):
        if image:
            folder, name = os.path.split(inside + image)
            real = os.path.join(real_folder(folder), name)
            real = os.path.realpath(real) if os.path.islink(real) else real
            led_out += [] if real.startswith(inside) else [f"{place} {shortened(image)!r} leads to {real}"]
    findings.error(what, led_out)


def _check_subjects(subjects: Iterable[str], findings: Findings) -> None:
    """Add subjects that are hardly two people: one person under two names could be on both sides of a split."""

    def alike(by: Callable[[str], str]) -> list[str]:
        groups: dict[str, list[str]] = defaultdict(list)
        for subject in sorted(subjects):
            groups[by(subject)].append(subject)
        return [" = ".join(repr(shortened(name)) for name in names) for names in groups.values() if len(names) > 1]

    what = "subjects written in several ways (as 7 and 007, or Ä in two encodings): write each in one way"
    findings.error(what, alike(one_spelling))
    findings.warning("subjects that differ only in upper and lower case, treated as different people", alike(caseless))
    called_na = sorted(repr(subject) for subject in subjects if caseless(subject) == "na")
    findings.warning("subjects called NA, treated as one person of that name", called_na)


def _drawn_split(index: pd.DataFrame, fraction: float, seed: int) -> list[str]:
    matched = matched_subjects(index)
    test: set[str] = set()
    for subjects in (matched, set(index["subject"]) - matched):
        count = min(max(1, round(fraction * len(subjects))), max(0, len(subjects) - 1))
        test.update(shuffled_subjects(subjects, "test", seed)[:count])
    return ["test" if subject in test else "train" for subject in index["subject"]]


def _stem(path: Path) -> str:
    """Return the table's name without its endings."""
    return Path(path.name.removesuffix(".gz")).stem


def _name(path: Path) -> str:
    """Return a name for folders and reports: the table's, or its folder's where the table is just called manifest."""
    stem = _stem(path)
    name = path.parent.name if stem.lower() == "manifest" else stem
    return re.sub(r"[^\w.-]+", "_", name) or "manifest"


class ManifestSettings(Config):
    """The keys that such a file may have.

    Args:
        mean, std: of the training's normalisation (grey − mean)/std; where one is left out, the preset's counts.
        interval: the unit of time by which queries are grouped.
        channels: 1 to read images in grey, 3 in colour; by default as the files are (`Listing.with_channels`).
    """

    mean: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    std: Annotated[float, Field(strict=True, gt=0, le=1)] | None = None
    interval: Unit = YEAR.unit
    channels: Literal[1, 3] | None = None

    @property
    def training(self) -> dict[str, float]:
        """Return the training fields that are given, by their dotted names."""
        given = self.model_dump(include={"mean", "std"}, exclude_none=True)
        return {f"augmentation.{name}": value for name, value in given.items()}


def read_settings(path: Path) -> tuple[ManifestSettings, dict[str, str]]:
    """Read the settings in a file, and its name → the SHA-256 of its bytes; without a file the defaults, and nothing.

    Raises:
        ValueError: it cannot be read, is not TOML, or has a key or a value that is not allowed; says what is.
    """
    if not path.exists():
        return ManifestSettings(), {}
    if other := other_than_file(path):
        raise ValueError(f"{path} cannot be read: it must be a file with settings of the table, but it is {other}")
    try:
        content = path.read_bytes()
        settings = ManifestSettings.model_validate(tomllib.loads(content.decode("utf-8-sig")))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise ValueError(f"{path}: {in_words(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file (with lines such as mean = 0.5): {error}") from None
    return settings, {path.name: hashlib.sha256(content).hexdigest()}
