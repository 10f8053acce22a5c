"""Records: one JSON file per trial that says everything about it. They are the truth; everything else is a view."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Record = dict[str, Any]
SCHEMA = 1

# A trial with one of these is over: running it again would give the same (a stopped one: its search decided, and that
# stands). A failed one may be tried again.
FINAL = ("completed", "diverged", "stopped")


def now() -> str:
    """The time in UTC, ISO 8601, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that a reader, or a crash, sees the old file or the new one, never half of one.

    NaN and infinities are written as Python's json does (`NaN`, `Infinity`), so that they stay what they are.
    """
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically and durably; folders are made as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        ValueError: not JSON; the message names the file.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not readable JSON ({error}): move it aside to go on") from error


def record_path(out: Path, trial: str) -> Path:
    """Where a trial's record lies."""
    return out / "records" / f"{trial}.json"


def read_records(out: Path) -> Iterator[Record]:
    """All records of a study's folder, by name."""
    for path in sorted((out / "records").glob("*.json")):
        yield read_json(path)
