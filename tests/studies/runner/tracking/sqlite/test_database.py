"""Damaged databases of the tracker: the study's own is set aside, one that somebody named is left."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fmim.runner.tracking.address import TrackingAddress
from fmim.runner.tracking.sqlite.database import opening
from fmim_core.records import Damaged

PAGE = 4096  # bytes


def whole(path: Path) -> bytes:
    """Make a database of a table of some pages."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA page_size = {PAGE}")
        database.execute("CREATE TABLE runs (name TEXT PRIMARY KEY)")
        database.executemany("INSERT INTO runs VALUES (?)", [(f"{number:0100}",) for number in range(500)])
        database.commit()
    return path.read_bytes()


def with_flipped_bit(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize("damage", ["zeros", "text", "bit", "bit of the start", "cut"])
def test_a_damaged_database_is_set_aside_if_it_is_the_studys_own(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    content = whole(path)
    content = {
        "zeros": bytes(len(content)),
        "text": b"This is not a database.\n" * 100,
        "bit": with_flipped_bit(content, 2 * PAGE),
        "bit of the start": with_flipped_bit(content, 3),
        "cut": content[: len(content) // 2],
    }[damage]
    path.write_bytes(content)
    named = TrackingAddress.of(f"sqlite:///{path}")
    with pytest.raises(Damaged, match=r"mlflow\.db is damaged \(.+\) and is left as it is: put"), opening(named, print):
        pass
    assert path.read_bytes() == content
    path.with_name("mlflow.db-wal").write_bytes(b"of the old one")
    told: list[str] = []
    with opening(TrackingAddress.beside(tmp_path / "study"), told.append):
        assert not path.exists()
        assert not path.with_name("mlflow.db-wal").exists()
    (aside,) = tmp_path.glob("mlflow.db.damaged-*")
    assert aside.read_bytes() == content
    assert [one.endswith(f"moved to {aside.name}, and written anew from the records") for one in told] == [True]


@pytest.mark.parametrize("content", [None, b""])
def test_a_new_an_empty_and_a_whole_database_are_taken(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    whole(path) if content is None else path.write_bytes(content)
    before = path.read_bytes()
    for address in (TrackingAddress.beside(tmp_path / "x"), TrackingAddress.of(f"sqlite:///{tmp_path}/new/y.db")):
        with opening(address, pytest.fail):
            pass
    assert path.read_bytes() == before


def test_a_database_that_another_program_writes_to_is_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "mlflow.db"
    whole(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with opening(TrackingAddress.beside(tmp_path / "x"), pytest.fail):
            assert path.exists()
