"""Documents of a study: study.json, selection.json, proposals.json, calibration.json and records."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from fmim_core.records import (
    SCHEMA,
    CalibrationFile,
    Document,
    ProposalsFile,
    Record,
    SelectionFile,
    StudyFile,
    json_text,
    read_json,
)
from fmim_reports.build import build_report, write_tables
from fmim_reports.reading.results import read_results
from tests.stress.fuzz.guard import Input, Wrong, fmim
from tests.stress.fuzz.mutations import damaged, harmed, same_types
from tests.support.calibration import CALIBRATION
from tests.support.factories import make_out

ARMS = ("triplet_grid", "triplet_automargin")
KINDS: dict[str, type[Document]] = {
    "study.json": StudyFile,
    "selection.json": SelectionFile,
    "proposals.json": ProposalsFile,
    "calibration.json": CalibrationFile,
}


def drawn(random: Random, folder: Path) -> Input:
    """One input."""
    out = folder / "out"
    if not out.exists():
        make_out(out, arms=ARMS, folds=2, replicates=2)
        proposals = {"triplet_grid": [{"configuration": {"epsilon": 0.1}, "values": [0.5, None]}]}
        save(out / "proposals.json", {"schema": SCHEMA, "arms": proposals, "other_splits": {"1": proposals}})
        save(out / "calibration.json", CALIBRATION)
    names = [*KINDS, *KINDS, *(f"records/{path.name}" for path in sorted((out / "records").glob("*.json"))[::4])]
    name = random.choice(names)
    content = json.loads((out / name).read_text())
    if random.random() < 0.1:
        text = random.choice((damaged(json.dumps(content).encode(), random), b"[" * 100_000, b'{"a":' * 100_000))
    else:
        text = written(harmed(content, random)).encode()
    read = random.choices((one, status, tables, report), (60, 30, 8, 2))[0]

    def call() -> None:
        good = (out / name).read_bytes()
        (out / name).write_bytes(text)
        try:
            read(out, name)
        finally:
            (out / name).write_bytes(good)

    return Input(f"{read.__name__} of {name}: {difference(content, text)}", call, out)


def one(out: Path, name: str) -> None:
    """The document by itself."""
    document = KINDS.get(name, Record).read(out / name)
    content = read_json(out / name)
    content.pop("sha256")
    if not same_types(content, document):
        raise Wrong(f"became {document!r}"[:300])


def status(out: Path, name: str) -> None:
    """`fmim status`."""
    fmim("status", str(out))


def tables(out: Path, name: str) -> None:
    """The tables of the report, and what it says."""
    write_tables(read_results(out), out / "report")


def report(out: Path, name: str) -> None:
    """The whole report."""
    build_report(out)


def save(path: Path, content: Any) -> None:
    """A document of this content."""
    path.write_text(written(content))


def written(content: Any) -> str:
    """As a program would have written it: of an object, with the SHA-256 that fits, or else that alone is refused."""
    return json_text(content) if isinstance(content, dict) else json.dumps(content)


def difference(before: Any, text: bytes) -> str:
    """The places in which a document was harmed."""
    try:
        after = json.loads(text)
    except (ValueError, RecursionError):
        return f"{text[:300]!r}…"
    return "; ".join(_differences(before, after, ""))[:600]


def _differences(before: Any, after: Any, at: str) -> list[str]:
    if type(before) is type(after) is dict and before.keys() == after.keys():
        return [one for key in before for one in _differences(before[key], after[key], f"{at}.{key}")]
    if type(before) is type(after) is list and len(before) == len(after):
        return [one for n in range(len(before)) for one in _differences(before[n], after[n], f"{at}.{n}")]
    return [] if repr(before) == repr(after) else [f"{at} was {str(before)[:60]!r}, is {str(after)[:150]!r}"]
