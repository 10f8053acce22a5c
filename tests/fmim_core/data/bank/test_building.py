"""Building a bank: several builders at once, with and without locks, any number of workers, bounded memory and room."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fmim_core.data.bank import bank as blocks
from fmim_core.data.bank import building
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from tests.support.pictures import COUNT, SIZE, Pictures, content, start

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
    monkeypatch.setattr(blocks, "BLOCK_IMAGES", block_images)
    bank = build_bank(Pictures(), SIZE, tmp_path)
    assert bank.fingerprint == whole.fingerprint
    assert {**content(bank), "bank.json": b""} == {**content(whole), "bank.json": b""}
    assert len(bank.blocks) == -(-COUNT // block_images)
    assert bank.warnings == whole.warnings == tuple(f"{n}.png: blank" for n in range(7, COUNT, 100))


MEMORY = """
import sys
import numpy as np
from fmim_core.data.bank import bank as blocks, building
from fmim_core.data.bank.building import build_bank
from tests.benchmarks.measurement import resident_mib
from tests.support.pictures import Pictures

blocks.BLOCK_BYTES = 2**22
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
    monkeypatch.setattr(building.shutil, "disk_usage", lambda path: usage)
    source = Pictures()
    with pytest.raises(ValueError, match=r"needs 64000 more bytes, .* has 63999 free"):
        build_bank(source, SIZE, tmp_path)
    assert source.reads == []
