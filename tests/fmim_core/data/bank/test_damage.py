"""A damaged bank is found at its next check, and a sound one is not read twice."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fmim_core.data.bank import bank as bank_module
from fmim_core.data.bank.bank import FILES, Bank
from fmim_core.data.bank.blocks import sha256_of
from fmim_core.data.bank.building import build_bank
from tests.support.pictures import ROWS, SIZE, Tiny


def edit(path: Path, change: Callable[[dict], object]) -> None:
    """Change the content of a JSON file."""
    about = json.loads(path.read_text(encoding="utf-8"))
    change(about)
    path.write_text(json.dumps(about), encoding="utf-8")


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
        (lambda path: (path / "images.u8").write_bytes(b"123"), r"images\.u8 has 3 bytes, 512 expected"),
        (lambda path: (path / "images.u8").unlink(), r"images\.u8 has 0 bytes"),
        (lambda path: (path / "bank.json").unlink(), "has no bank.json"),
        (lambda path: (path / "bank.json").write_text("{"), "bank.json cannot be read"),
        (lambda path: (path / "bank.json").write_text('{"schema": 0}'), "schema 0, this version reads 2"),
        (lambda path: (path / "bank.json").write_text("[]"), "schema"),
        (lambda path: (path / "bank.json").write_text('{"schema": 2}'), "lacks or has too much"),
        (lambda path: edit(path / "bank.json", lambda about: about["blocks"]["sha256"].pop()), "a SHA-256 for each"),
        (lambda path: edit(path / "bank.json", lambda about: about["blocks"].update(images=0)), "lacks or has too"),
    ],
)
def test_a_damaged_bank_is_refused(tmp_path: Path, harm: Callable[[Path], object], message: str) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    harm(bank.path)
    with pytest.raises(ValueError, match=message):
        build_bank(Tiny(), SIZE, tmp_path)


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


def test_a_changed_checksum_and_a_missing_file_are_found(tmp_path: Path) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    (bank.path / "test.csv").rename(bank.path / "elsewhere")
    with pytest.raises(ValueError, match=r"test\.csv cannot be read"):
        bank.check()
    (bank.path / "elsewhere").rename(bank.path / "test.csv")
    bank.check()
    edit(bank.path / "bank.json", lambda about: about["sha256"].update({"test.csv": "0"}))
    with pytest.raises(ValueError, match=r"bank\.json was changed"):
        Bank.open(bank.path).check()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that checks read."""
    files: list[Path] = []
    monkeypatch.setattr(bank_module, "sha256_of", lambda path: (files.append(path), sha256_of(path))[1])
    return files


def test_a_checked_bank_is_not_read_again_until_it_changes(tmp_path: Path, read: list[Path]) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    read.clear()
    Bank.open(bank.path).check()
    assert read == []
    os.utime(bank.path / "test.csv")
    Bank.open(bank.path).check()
    assert len(read) == 2


def test_the_stamp_of_another_copy_is_not_trusted(tmp_path: Path, read: list[Path]) -> None:
    copy = Bank.open(shutil.copytree(build_bank(Tiny(), SIZE, tmp_path / "a").path, tmp_path / "b"))
    read.clear()
    copy.check()
    assert len(read) == 2


def test_a_stamp_from_the_tick_of_the_last_change_is_not_trusted(tmp_path: Path, read: list[Path]) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    last = max((bank.path / name).stat().st_ctime_ns for name in FILES)
    os.utime(bank.path / "checked.json", ns=(last, last))
    read.clear()
    bank.check()
    assert len(read) == 2


def test_where_no_stamp_can_be_written_each_check_reads_everything(
    tmp_path: Path, read: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = build_bank(Tiny(), SIZE, tmp_path)
    (bank.path / "checked.json").unlink()
    read_only = OSError(errno.EROFS, "Read-only file system")
    monkeypatch.setattr(Path, "write_text", lambda *arguments, **options: (_ for _ in ()).throw(read_only))
    read.clear()
    bank.check()
    bank.check()
    assert len(read) == 4
    assert sorted(path.name for path in bank.path.iterdir()) == sorted(FILES)
