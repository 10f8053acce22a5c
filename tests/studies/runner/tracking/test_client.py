"""A sqlite database of the tracker: a damaged one of the study's own is set aside, one that somebody named is left."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fmim.runner.tracking.client import prepare
from fmim_core.records import Damaged
from tests.support.mini_study import tracked_in

PAGE = 4096  # bytes


def with_flipped_bit(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["zeros", "text", "bit", "bit of the start", "cut"])
def test_a_damaged_database_is_set_aside_if_it_is_the_studys_own(damage: str, tmp_path: Path) -> None:
    tracked_in(tmp_path)
    path = tmp_path / "mlflow.db"
    whole = path.read_bytes()
    content = {
        "zeros": bytes(len(whole)),
        "text": b"This is not a database.\n" * 100,
        "bit": with_flipped_bit(whole, 2 * PAGE),
        "bit of the start": with_flipped_bit(whole, 3),
        "cut": whole[: len(whole) // 2],
    }[damage]
    path.write_bytes(content)
    with pytest.raises(Damaged, match=r"mlflow\.db is damaged \(.+\) and is left as it is: put"):
        prepare(path, False, print)
    assert path.read_bytes() == content
    path.with_name("mlflow.db-wal").write_bytes(b"of the old one")
    told: list[str] = []
    prepare(path, True, told.append)
    assert not path.with_name("mlflow.db-wal").exists()
    (aside,) = tmp_path.glob("mlflow.db.damaged-*")
    assert aside.read_bytes() == content
    assert [one.endswith(f"moved to {aside.name}, and written anew from the records") for one in told] == [True]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone() == (0,)


def test_whole_and_busy_databases_are_taken_as_they_are(tmp_path: Path) -> None:
    tracked_in(tmp_path)
    path = tmp_path / "mlflow.db"
    before = path.read_bytes()
    prepare(path, True, pytest.fail)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        prepare(path, False, pytest.fail)
    assert path.read_bytes() == before
