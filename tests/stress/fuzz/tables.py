"""Tables: manifests of every format with their settings, and those of ChestX-ray14 and the OAI."""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Callable
from pathlib import Path
from random import Random

import pandas as pd

from fmim_core.data.listings.listing import Listing
from fmim_core.data.sets.base import DATA_SETS
from fmim_core.data.sets.manifest import manifest
from tests.stress.fuzz.guard import Input, Wrong
from tests.stress.fuzz.mutations import TEXTS, damaged, misspelt, value
from tests.support import nih_folders, oai_folders

COLUMNS = ("image", "subject", "months", "side", "split", "role", "sex", "age", "view", "disease", "tkr", "grade")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-7", "shift-jis")
ROWS = [
    [
        f"x/{n}_{m}.png",
        f"p{n}",
        str(m),
        "LR"[n % 2],
        ("train", "test")[n % 2],
        "",
        "MF"[n % 2],
        "60",
        "PA",
        "yes",
        "",
        "2",
    ]
    for n in range(8)
    for m in (0, 12)
]
TOML = 'mean = 0.5\nstd = 0.25\ninterval = "week"\n'


def drawn(random: Random, folder: Path) -> Input:
    """One input."""
    return random.choices((of_manifest, of_settings, of_parquet, of_nih, of_oai), (10, 2, 4, 3, 1))[0](random, folder)


def of_manifest(random: Random, folder: Path) -> Input:
    """A CSV file whose cells, columns, text or bytes are harmed."""
    rows = [list(COLUMNS), *(list(row) for row in ROWS)]
    if random.random() < 0.8:
        rows = [row[:5] + row[6:] for row in rows]  # without roles the months say what is evaluated
    for _ in range(random.randint(0, 3)):
        harm_rows(rows, random)
    content = as_csv(rows, random).encode(random.choice(ENCODINGS) if random.random() < 0.2 else "utf-8", "replace")
    content = damaged(content, random) if random.random() < 0.5 else content
    content = gzip.compress(content) if random.random() < 0.05 else content
    return read_as(folder, "table.csv", content)


def of_settings(random: Random, folder: Path) -> Input:
    """The settings beside a good table."""
    name, written = random.choice(("mean", "std", "interval", "x")), random.choice(TEXTS)[:50]
    toml = TOML.replace("0.5", str(value(random))[:400]) if random.random() < 0.5 else f"{TOML}{name} = {written}"
    content = (
        damaged(toml.encode("utf-8", "replace"), random) if random.random() < 0.5 else toml.encode("utf-8", "replace")
    )
    return read_as(
        folder,
        "table.toml",
        content,
        {"table.csv": as_csv([row[:5] for row in (list(COLUMNS), *ROWS)], random).encode()},
    )


def of_parquet(random: Random, folder: Path) -> Input:
    """A Parquet file of odd columns, or one with bytes harmed."""
    frame = pd.DataFrame(ROWS, columns=list(COLUMNS)).drop(columns="role").head(random.choice((0, 5, 16)))
    for _ in range(random.randint(0, 2)):
        name = random.choice(COLUMNS)
        if name in frame:
            cells = [random.choice((*TEXTS[:20], None)) for _ in range(len(frame))]
            numbers = [random.choice((0, 1.5, math.nan, math.inf, -1, 2**60)) for _ in cells]
            frame[name] = random.choice((cells, numbers, [[cell] for cell in cells], [b"\xff\x00"] * len(cells), True))
    stream = io.BytesIO()
    frame.to_parquet(stream)
    content = damaged(stream.getvalue(), random) if random.random() < 0.6 else stream.getvalue()
    return read_as(folder, "table.parquet", content)


def harm_rows(rows: list[list[str]], random: Random) -> None:
    """Harm a table's cells, a column or a row."""
    what, row, column = random.randrange(7), random.choice(rows), random.randrange(max(1, len(rows[0])))
    if what == 0:
        for one in rows:
            del one[column : column + 1]
    elif what == 1:
        for one in rows:
            one.insert(column, one[column] if column < len(one) else "")
    elif what == 2 and column < len(rows[0]):
        rows[0][column] = misspelt(rows[0][column], random)
    elif what == 3:
        rows.remove(row)
        rows[:] = rows or [[""]]
    elif what == 4:
        row.append(random.choice(TEXTS))
    elif column < len(row):
        row[column] = random.choice(TEXTS) if random.random() < 0.7 else str(value(random))


def as_csv(rows: list[list[str]], random: Random) -> str:
    """As some program writes it."""
    stream = io.StringIO(newline="")
    separator, newline = random.choice(",,,;\t|"), random.choice(("\n", "\n", "\r\n", "\r"))
    if random.choice((False, True)):
        csv.writer(stream, delimiter=separator, lineterminator=newline, quoting=csv.QUOTE_ALL).writerows(rows)
    else:
        csv.writer(stream, delimiter=separator, lineterminator=newline).writerows(rows)
    return stream.getvalue()


def read_as(folder: Path, name: str, content: bytes, beside: dict[str, bytes] | None = None) -> Input:
    """A file of this content, read as a manifest or as what stands beside one."""

    def call() -> None:
        for path in folder.iterdir():
            if path.is_file():
                path.unlink()
        for other, text in {**(beside or {}), name: content}.items():
            (folder / other).write_bytes(text)
        check(manifest(folder / ("table.csv" if beside else name), metadata_only=True))

    return Input(f"{name} of {content[:3000]!r}", call, folder)


def of_nih(random: Random, folder: Path) -> Input:
    """A download of the NIH's with one of its tables harmed."""

    def write(root: Path) -> list[Path]:
        nih_folders.write(root, random.choice((nih_folders.V2017, nih_folders.V2020)))
        return sorted(root.iterdir())

    return of_named("chestxray14", write, random, folder)


def of_oai(random: Random, folder: Path) -> Input:
    """A folder of the OAI's with one of its tables harmed."""

    def write(root: Path) -> list[Path]:
        if not root.exists():
            oai_folders.people_folder(root)
        oai_folders.tables(root / "metadata", oai_folders.PEOPLE)
        return sorted((root / "metadata").iterdir())

    return of_named("oai", write, random, folder)


def of_named(name: str, write: Callable[[Path], list[Path]], random: Random, folder: Path) -> Input:
    """A named data set in a folder, one of whose tables is harmed."""
    root = folder / name
    path = random.choice(write(root))
    content = damaged(path.read_bytes(), random)

    def call() -> None:
        write(root)
        path.write_bytes(content)
        check(DATA_SETS.make({"kind": name}).listing(root, True))

    return Input(f"{name}: {path.name} of {content[:3000]!r}", call, folder)


def check(listing: Listing) -> None:
    """Refuse what is refused; everything else must be typed, and inside its folder."""
    listing.findings.refuse_errors(listing.origin)
    for row in listing.index.to_dict("records"):
        names = [row["image"], row["subject"], row["split"], row["side"]]
        if not all(isinstance(name, str) for name in names) or not row["image"] or not row["subject"]:
            raise Wrong(f"row {row}")
        if row["split"] not in ("train", "test") or row["side"] not in ("", "L", "R"):
            raise Wrong(f"row {row}")
        if not isinstance(row["months"], float) or not (math.isnan(row["months"]) or 0 <= row["months"] <= 1440):
            raise Wrong(f"row {row}")
        if row["image"].startswith("/") or ".." in Path(row["image"]).parts or "\0" in "".join(names):
            raise Wrong(f"row {row}")
    for setting in listing.description.settings.values():
        if not isinstance(setting, float) or not 0 <= setting <= 1:
            raise Wrong(f"setting {setting!r}")
