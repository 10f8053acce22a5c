"""Building a bank: several builders at once, any number of workers, bounded memory, and what a crash costs."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fmim_core.data.bank import building, partial
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from tests.support.pictures import COUNT, SIZE, Files, Pictures, content, interrupted, start


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """The bank of all pictures, built at one go."""
    return build_bank(Pictures(), SIZE, tmp_path_factory.mktemp("whole"))


COUNTED = """
import sys
from fmim_core.data.bank.building import build_bank
from tests.support.pictures import SIZE, Pictures

source = Pictures()
print(build_bank(source, SIZE, sys.argv[1]).fingerprint, len(source.reads))
"""


def test_two_processes_that_build_the_same_bank_decode_it_once(tmp_path: Path, whole: Bank) -> None:
    both = [start(COUNTED, tmp_path) for _ in range(2)]
    said = [process.communicate(timeout=120)[0].split() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert {fingerprint for fingerprint, _ in said} == {whole.fingerprint}
    assert sorted(int(reads) for _, reads in said) == [0, COUNT]
    assert [path.name for path in tmp_path.iterdir()] == [whole.path.name]


class Meeting(Pictures):
    """Waits while it reads until as many others do as the barrier asks for."""

    def __init__(self, meet: threading.Barrier) -> None:
        super().__init__()
        self.meet = meet

    def read(self, row_number: int, size: int) -> np.ndarray:
        if row_number == 0:
            self.meet.wait()
        return super().read(row_number, size)


def in_threads(sources: Sequence[Pictures], root: Path) -> list[Bank]:
    """The banks that so many threads get which build at once."""
    banks: list[Bank] = []
    threads = [threading.Thread(target=lambda s=s: banks.append(build_bank(s, SIZE, root))) for s in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return banks


def without_locks(file: object, operation: int) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_without_locks_builders_work_side_by_side_and_harm_nobody(
    tmp_path: Path, whole: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", without_locks)
    meet = threading.Barrier(2, timeout=60)
    banks = in_threads([Meeting(meet), Meeting(meet)], tmp_path)
    assert [content(bank) for bank in banks] == [content(whole)] * 2
    assert list(tmp_path.glob(".*.partial*")) == []


@pytest.mark.parametrize(("cores", "block_images"), [(1, 256), (7, 256), (3, 5), (16, 1)])
def test_neither_workers_nor_blocks_change_the_bank(
    tmp_path: Path, whole: Bank, monkeypatch: pytest.MonkeyPatch, cores: int, block_images: int
) -> None:
    monkeypatch.setattr(building, "cores", lambda: cores)
    monkeypatch.setattr(partial, "BLOCK_IMAGES", block_images)
    bank = build_bank(Pictures(), SIZE, tmp_path)
    assert bank.fingerprint == whole.fingerprint
    assert {**content(bank), "bank.json": b""} == {**content(whole), "bank.json": b""}
    assert len(bank.blocks) == -(-COUNT // block_images)
    assert bank.warnings == whole.warnings == tuple(f"{n}.png: blank" for n in range(7, COUNT, 100))


MEMORY = """
import sys
import numpy as np
from fmim_core.data.bank import building, partial
from fmim_core.data.bank.building import build_bank
from tests.benchmarks.measurement import resident_mib
from tests.support.pictures import Pictures

partial.BLOCK_BYTES = 2**22
building.cores = lambda: 2

class Large(Pictures):
    def read(self, row_number, size):
        return np.full((size, size), row_number, np.uint8)

def peak():
    return int(resident_mib("VmHWM") * 2**20)

def stop(done, total):
    if done == 80:
        raise KeyboardInterrupt

source = Large(range(160))
before = peak()
try:
    build_bank(source, 1024, sys.argv[1], stop)
except KeyboardInterrupt:
    build_bank(source, 1024, sys.argv[1])
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_is_a_few_blocks_however_large_the_bank(tmp_path: Path) -> None:
    process = start(MEMORY, tmp_path)
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    (images,) = tmp_path.glob("*/images.u8")
    assert images.stat().st_size == 160 * 2**20
    assert int(said) < 64 * 2**20


def test_too_little_room_is_said_before_anything_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 63_999})
    monkeypatch.setattr(partial.shutil, "disk_usage", lambda path: usage)
    source = Pictures()
    with pytest.raises(ValueError, match=r"needs 64000 more bytes, .* has only 63999 free"):
        build_bank(source, SIZE, tmp_path)
    assert source.reads == []


def flip(path: Path, position: int) -> None:
    """Change one bit of a file."""
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))


KILLED = """
import os, signal, sys
from fmim_core.data.bank import building
from fmim_core.data.bank.building import build_bank
from tests.support.pictures import SIZE, Pictures

class Killed(Pictures):
    def read(self, row_number, size):
        if row_number == 700:  # in the third block, which is begun when the first is finished
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(row_number, size)

building.cores = lambda: 2  # as many cores as that have several blocks on the way
build_bank(Killed(), SIZE, sys.argv[1])
"""


def test_a_killed_build_goes_on_and_ends_with_the_same_bank(tmp_path: Path, whole: Bank) -> None:
    assert start(KILLED, tmp_path).wait(timeout=120) == -signal.SIGKILL
    rest, steps = Pictures(), list[tuple[int, int]]()
    bank = build_bank(rest, SIZE, tmp_path, lambda *step: steps.append(step))
    assert 232 + 256 <= len(rest.reads) <= 744
    assert set(range(512, COUNT)) <= set(rest.reads)
    assert min(rest.reads) == COUNT - len(rest.reads)
    assert content(bank) == content(whole)
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == ((1, COUNT), (COUNT, COUNT))
    assert list(tmp_path.iterdir()) == [bank.path]


def test_a_finished_block_that_was_damaged_is_decoded_again(tmp_path: Path, whole: Bank) -> None:
    folder = interrupted(Pictures(), tmp_path, after=700)
    flip(folder / "bank" / "images.u8", 300 * SIZE**2)
    (folder / "notes.txt").write_text("mine")
    rest = Pictures()
    assert content(build_bank(rest, SIZE, tmp_path)) == content(whole)
    assert sorted(rest.reads) == list(range(256, COUNT))
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("left", [0, 100, -1])
def test_a_torn_log_costs_the_block_that_it_was_about_to_tell_of(tmp_path: Path, whole: Bank, left: int) -> None:
    log = interrupted(Pictures(), tmp_path, after=700) / "blocks.jsonl"
    first, second = filter(None, log.read_text().splitlines())
    log.write_bytes(f"{first}\n{second[:left]}".encode() + b"\xff")
    rest = Pictures()
    assert content(build_bank(rest, SIZE, tmp_path)) == content(whole)
    assert sorted(rest.reads) == list(range(256, COUNT))


def test_mending_some_images_costs_decoding_those_alone(tmp_path: Path, whole: Bank) -> None:
    first = Files(bad=[3, 600])
    with pytest.raises(ValueError, match=r"2 of 1000 images cannot be used:\n  3\.png: empty\n  600\.png: empty\n"):
        build_bank(first, SIZE, tmp_path)
    assert sorted(first.reads) == list(range(COUNT))  # the bad ones are all found in one pass
    mended = Files(mended=[3, 600])
    assert content(build_bank(mended, SIZE, tmp_path)) == content(whole)
    assert sorted(mended.reads) == [3, 600]
    assert len(list(tmp_path.iterdir())) == 1


def test_leaving_images_out_costs_nothing_and_adding_some_those_that_moved_back(tmp_path: Path) -> None:
    """An image that has moved to an earlier block, whose old place is not overwritten before, is found by its key."""
    with pytest.raises(ValueError, match="2 of 1000"):
        build_bank(Files(bad=[3, 600]), SIZE, tmp_path / "a")
    names = [n for n in range(1012) if n not in (3, 600, 601, 602)]
    others = Files(names)
    bank = build_bank(others, SIZE, tmp_path / "a")
    assert sorted(others.reads) == list(range(1000, 1012))
    assert content(bank) == content(build_bank(Files(names), SIZE, tmp_path / "b"))
    interrupted(Files(), tmp_path / "c", after=900)
    names = [*range(1000, 1300), *range(1000)]  # everything has moved to a later block but for rows 300 to 511
    assert content(build_bank(Files(names), SIZE, tmp_path / "c")) == content(
        build_bank(Files(names), SIZE, tmp_path / "d")
    )


def test_nothing_is_taken_from_images_that_have_changed_or_were_built_at_another_size(tmp_path: Path) -> None:
    interrupted(Pictures(), tmp_path / "a", after=700)
    for source, size in ((Pictures(version="2"), SIZE), (Pictures(), 16)):
        build_bank(source, size, tmp_path / "a")
        assert len(source.reads) == COUNT
