"""The bank: content, identity, refused indexes, its image sets; a damaged one is found, a sound one not read twice."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmim_core.data.bank import bank as bank_module
from fmim_core.data.bank.bank import FILES, Bank, sha256_of
from fmim_core.data.bank.building import build_bank
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import SourceDescription
from fmim_core.records import read_json, write_json
from tests.support.pictures import ROWS, SIZE, Tiny


def test_content_and_indexes_come_back_exactly(tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    bank = build_bank(Tiny(), SIZE, tmp_path / "new" / "banks", progress=lambda *step: done.append(step))
    assert done == [(n + 1, 8) for n in range(8)]
    assert (bank.count, bank.size, bank.warnings, bank.description) == (8, SIZE, (), Tiny.description)
    development, test = bank.development(), bank.open_test()
    for images, expected in ((development, [0, 1, 2, 4, 6, 7]), (test, [3, 5])):
        subjects, sides, months, _ = zip(*[ROWS[n] for n in expected], strict=True)
        assert images.rows.tolist() == expected
        assert images.subjects.tolist() == list(subjects)
        assert images.sides.tolist() == list(sides)
        np.testing.assert_array_equal(images.months, months)
        assert images.images[images.rows, 1, 1].tolist() == [10 * n + 100 for n in expected]
    assert bank.summary["test"] == test.summary()
    assert development.summary() == {
        "images": 6,
        "subjects": 4,
        "queries": 3,
        "queries_without_match": 1,
        "gallery": 2,
        "years": {"unknown": 1, "0": 2, "1": 2, "2": 1},
    }


def test_fingerprint_is_that_of_the_content(tmp_path: Path) -> None:
    def built(change: Callable[[Tiny], object], size: int = SIZE) -> Bank:
        source = Tiny()
        change(source)
        return build_bank(source, size, tmp_path)

    plain = built(lambda source: None)
    moved = built(lambda source: setattr(source, "fingerprint", "same images, other place"))
    assert moved.path != plain.path
    assert moved.fingerprint == plain.fingerprint

    def later(source: Tiny) -> None:
        source.fingerprint = "later"
        source.index.loc[6, "months"] = 19.0

    assert len({plain.fingerprint, built(later).fingerprint, built(lambda source: None, 16).fingerprint}) == 3


def test_the_test_index_is_read_only_when_opened(tmp_path: Path) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    (bank.path / "test.csv").unlink()
    assert len(Bank.open(bank.path).development()) == 6
    with pytest.raises(ValueError, match=r"test\.csv cannot be read"):
        bank.open_test()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*ROWS, ("007", "", 60.0, "test"), ("7", "", 1.0, "test")], r"2 subjects are in both.*:\n  007\n  7$"),
        ([row for row in ROWS if row[3] == "train"], "no image has the split 'test'"),
    ],
)
def test_a_broken_index_is_refused_before_reading(tmp_path: Path, rows: list, message: str) -> None:
    source = Tiny(rows)
    with pytest.raises(ValueError, match=message):
        build_bank(source, SIZE, tmp_path)
    assert source.reads == 0


@pytest.mark.parametrize("size", [0, 7, 4096, 64.5, "64"])
def test_sizes_out_of_range_are_refused(tmp_path: Path, size: object) -> None:
    with pytest.raises(ValueError, match="from 8 to 2048"):
        build_bank(Tiny(), size, tmp_path)  # type: ignore[arg-type]


def test_workers_get_a_path_not_the_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = Tiny()
    source.description = SourceDescription("a name", "phantom", True, "x")
    bank = build_bank(source, 1024, "banks")
    parcel, part = pickle.dumps(bank), pickle.dumps(bank.development())
    assert max(len(parcel), len(part)) < 2000
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # a worker's folder is not the driver's
    assert pickle.loads(parcel).fingerprint == bank.fingerprint
    images = pickle.loads(part)
    assert isinstance(images.images, np.memmap)
    assert images.images[6, 5, 5] == 160
    assert not images.images.flags.writeable


def test_image_set_identities_years_and_matches() -> None:
    columns = {
        "row": range(8),
        "subject": ["b", "b", "a", "a", "10", "10", "9", "9"],
        "side": ["R", "L", "L", "L", "", "", "", ""],
        "months": [0.0, 6.0, 0.0, 17.9, 3.0, np.nan, 18.0, 150.0],
    }
    images = ImageSet.of(pd.DataFrame(columns), np.zeros((8, 1, 1), np.uint8))
    assert images.identities().tolist() == [3, 3, 2, 2, 0, 0, 1, 1]
    assert images.identities(per_side=True).tolist() == [4, 3, 2, 2, 0, 0, 1, 1]
    assert images.times.tolist() == [0, 1, 0, 1, 1, -1, 2, 13]
    assert images.gallery_mask.tolist() == [True, False, True] + [False] * 5
    assert images.query_mask.tolist() == [False, True, False, True, True, False, True, True]
    assert np.flatnonzero(images.matched_query_mask()).tolist() == [1, 3]
    assert np.flatnonzero(images.matched_query_mask(per_side=True)).tolist() == [3]
    assert images.select(images.sides == "L").rows.tolist() == [1, 2, 3]
    assert images.identities().dtype == images.times.dtype == np.int64


def edit(path: Path, change: Callable[[dict], object]) -> None:
    """Change the content of a JSON file, and its SHA-256 with it."""
    about = read_json(path)
    change(about)
    write_json(path, about)


def contents(folder: Path) -> dict[str, bytes]:
    """What is in each file of a bank, its stamp apart."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "checked.json"}


def flip(path: Path, position: int) -> None:
    """Change one bit of a file, and pretend that nothing was written to it."""
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=times)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda path: (path / "images.u8").write_bytes(b"123"), "images.u8 has 3 bytes instead of 512"),
        (lambda path: (path / "images.u8").write_bytes(bytes(512)), "images.u8 (rows 0 to 7) changed after the bank"),
        (lambda path: (path / "images.u8").unlink(), "images.u8 has 0 bytes"),
        (lambda path: (path / "test.csv").unlink(), "test.csv is missing"),
        (lambda path: (path / "bank.json").unlink(), "bank.json is missing"),
        (lambda path: (path / "bank.json").write_text(""), "bank.json is not readable JSON"),
        (lambda path: (path / "bank.json").write_text("[]"), "bank.json has schema []"),
        (lambda path: (path / "bank.json").write_text('{"schema": 3}'), "bank.json has a missing or an unknown entry"),
        (lambda path: flip(path / "bank.json", 100), "bank.json: its content does not match its sha256"),
        (lambda path: edit(path / "bank.json", lambda about: about["blocks"]["sha256"].pop()), "a SHA-256 for each"),
        (lambda path: edit(path / "bank.json", lambda about: about["files"].clear()), "bank.json was changed"),
    ],
)
def test_a_damaged_bank_is_set_aside_and_built_again(
    tmp_path: Path, harm: Callable[[Path], object], message: str
) -> None:
    whole, told = build_bank(Tiny(), SIZE, tmp_path), list[str]()
    harm(whole.path)
    damaged = contents(whole.path)
    again = build_bank(Tiny(), SIZE, tmp_path, tell=told.append)
    assert (again.path, again.fingerprint) == (whole.path, whole.fingerprint)
    (aside,) = tmp_path.glob("*.damaged-*")
    assert contents(aside) == damaged
    assert told[0].startswith(f"the bank in {whole.path} is damaged: ")
    assert message in told[0]
    assert f"moved to {aside.name}" in told[0]
    assert build_bank(Tiny(), SIZE, tmp_path, tell=told.append).fingerprint == whole.fingerprint
    assert len(told) == 1


def test_an_edited_index_is_refused(tmp_path: Path) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    index = bank.path / "development.csv"
    index.write_text(index.read_text(encoding="utf-8").replace("NA", "NB"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"development\.csv was changed"):
        bank.development()


@pytest.mark.parametrize("name", ["images.u8", "development.csv", "test.csv"])
def test_a_bit_that_flips_anywhere_is_found(tmp_path: Path, name: str) -> None:
    bank = build_bank(Tiny(ROWS * 50), SIZE, tmp_path)
    path = bank.path / name
    size = path.stat().st_size
    for position in (0, size // 3, size - 1):
        flip(path, position)
        where = rf"{name} \(rows {256 * (position >= 256 * 64)} to {255 if position < 256 * 64 else 399}\)"
        with pytest.raises(ValueError, match=where if name == "images.u8" else rf"{name} changed after"):
            Bank.open(bank.path).check()
        flip(path, position)
        Bank.open(bank.path).check()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that checks read."""
    files: list[Path] = []
    monkeypatch.setattr(bank_module, "sha256_of", lambda path, *part: (files.append(path), sha256_of(path, *part))[1])
    return files


def test_a_checked_bank_is_not_read_again_until_it_or_its_stamp_changes_or_it_is_copied(
    tmp_path: Path, read: list[Path]
) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path / "a")
    read.clear()
    Bank.open(bank.path).check()
    assert read == []
    os.utime(bank.path / "test.csv")
    Bank.open(bank.path).check()
    assert len(read) == 3
    for content in ("", "\0\0\0", "[]", '{"content": 3, "files": null}'):
        (bank.path / "checked.json").write_text(content)
        read.clear()
        bank.check()
        bank.check()
        assert len(read) == 3
    Bank.open(shutil.copytree(bank.path, tmp_path / "b")).check()
    assert len(read) == 6


def test_where_no_stamp_can_be_written_each_check_reads_everything(
    tmp_path: Path, read: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    (bank.path / "checked.json").unlink()
    read_only = OSError(errno.EROFS, "Read-only file system")
    monkeypatch.setattr(bank_module, "write_text", lambda *_: (_ for _ in ()).throw(read_only))
    read.clear()
    bank.check()
    bank.check()
    assert len(read) == 6
    assert sorted(path.name for path in bank.path.iterdir()) == sorted(FILES)
