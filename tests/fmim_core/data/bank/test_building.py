"""Building a bank: going on after a crash or with mended images, several builders at once, and bounded memory."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmim_core.data.bank import blocks, building, partial
from fmim_core.data.bank.bank import FILES, Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.images.reading import ImageProblem
from fmim_core.data.sets.manifest import manifest
from fmim_core.data.source import Source, SourceDescription
from fmim_core.data.tables.listing import FileSource
from tests.support.paths import ROOT

SIZE = 8
COUNT = 1000  # four blocks: 256, 256, 256, 232


class Pictures(Source):
    """Images that tell their name; counts what is read. `names` are those of the images in the index."""

    description = SourceDescription("pictures", "manifest", True, "Pictures of numbers.")

    def __init__(self, names: Sequence[int] = range(COUNT), bad: Sequence[int] = (), version: str = "1") -> None:
        count = len(names)
        self.index = pd.DataFrame({"image": [f"{n}.png" for n in names], "subject": [f"s{n // 4}" for n in names]})
        self.index = self.index.assign(side="", months=0.0, split=["train"] * (count - 40) + ["test"] * 40)
        self.names, self.bad, self.version = list(names), set(bad), version
        self.fingerprint = f"{version} {self.names}"
        self.reads: list[int] = []

    def read(self, row_number: int, size: int) -> np.ndarray:
        name = self.names[row_number]
        self.reads.append(name)
        if name in self.bad:
            raise ImageProblem(f"{name}.png", "empty")
        if name % 100 == 7:
            return np.full((size, size), 9, np.uint8)
        return np.random.default_rng(name).integers(0, 256, (size, size), np.uint8)


class Files(Pictures):
    """Pictures in files: those whose name is in `mended` were written anew after the others."""

    def __init__(
        self, names: Sequence[int] = range(COUNT), bad: Sequence[int] = (), mended: Sequence[int] = ()
    ) -> None:
        super().__init__(names, bad, version=f"mended {mended}")
        self.image_keys = [f"{n} {n in mended}" for n in names]


def content(bank: Bank) -> dict[str, bytes]:
    return {name: (bank.path / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    """The bank of all pictures, built at one go."""
    return build_bank(Pictures(), SIZE, tmp_path_factory.mktemp("whole"))


def interrupted(source: Pictures, root: Path, after: int) -> Path:
    """The folder that a build leaves which Ctrl-C stops after so many images."""

    def stop(done: int, total: int) -> None:
        if done == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_bank(source, SIZE, root, stop)
    (folder,) = root.iterdir()
    return folder


def flip(path: Path, position: int) -> None:
    """Change one bit of a file."""
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1]))


KILLED = """
import os, signal
from tests.fmim_core.data.bank.test_building import *

class Killed(Pictures):
    def read(self, row_number, size):
        if row_number == 700:  # in the third block, which is begun when the first is finished
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(row_number, size)

building.cores = lambda: 2  # as many cores as that have several blocks on the way
build_bank(Killed(), SIZE, sys.argv[1])
"""


def start(code: str, root: Path) -> subprocess.Popen[str]:
    """Python code that runs in a process of its own, with the folder as its argument."""
    command = [sys.executable, "-c", code, str(root)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_killed_build_goes_on_and_ends_with_the_same_bank(tmp_path: Path, whole: Bank) -> None:
    assert start(KILLED, tmp_path).wait(timeout=120) == -signal.SIGKILL
    (folder,) = tmp_path.iterdir()
    assert folder.name == f".{whole.path.name}.partial"
    rest, steps = Pictures(), list[tuple[int, int]]()
    bank = build_bank(rest, SIZE, tmp_path, lambda *step: steps.append(step))
    assert 232 + 256 <= len(rest.reads) <= 744
    assert set(range(512, COUNT)) <= set(rest.reads)
    assert min(rest.reads) == COUNT - len(rest.reads)
    assert content(bank) == content(whole)
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == ((256, COUNT), (COUNT, COUNT))
    assert list(tmp_path.iterdir()) == [bank.path]


def test_a_finished_block_that_was_damaged_is_decoded_again(tmp_path: Path, whole: Bank) -> None:
    folder = interrupted(Pictures(), tmp_path, after=700)
    flip(folder / "bank" / "images.u8", 300 * SIZE**2)
    rest = Pictures()
    assert content(build_bank(rest, SIZE, tmp_path)) == content(whole)
    assert sorted(rest.reads) == list(range(256, COUNT))


@pytest.mark.parametrize("left", [0, 1, 100, -1])
def test_a_torn_log_costs_the_block_that_it_was_about_to_tell_of(tmp_path: Path, whole: Bank, left: int) -> None:
    log = interrupted(Pictures(), tmp_path, after=700) / "blocks.jsonl"
    first, second = filter(None, log.read_text().splitlines())
    log.write_text(f"{first}\n{second[:left]}")
    rest = Pictures()
    assert content(build_bank(rest, SIZE, tmp_path)) == content(whole)
    assert sorted(rest.reads) == list(range(256, COUNT))


def test_mending_some_images_costs_decoding_those_alone(tmp_path: Path, whole: Bank) -> None:
    first = Files(bad=[3, 600])
    with pytest.raises(
        ValueError, match=r"2 of 1000 images cannot be used:\n  3\.png: empty\n  600\.png: empty\nThe others"
    ):
        build_bank(first, SIZE, tmp_path)
    assert sorted(first.reads) == list(range(COUNT))  # the bad ones are all found in one pass
    mended = Files(mended=[3, 600])
    assert content(build_bank(mended, SIZE, tmp_path)) == content(whole)
    assert sorted(mended.reads) == [3, 600]
    assert len(list(tmp_path.iterdir())) == 1


def test_leaving_images_out_and_adding_some_costs_decoding_the_new_ones_alone(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 of 1000"):
        build_bank(Files(bad=[3, 600]), SIZE, tmp_path / "a")
    names = [n for n in (*range(500, 1010), *range(500)) if n not in (3, 600)]
    others = Files(names)
    bank = build_bank(others, SIZE, tmp_path / "a")
    assert sorted(others.reads) == list(range(1000, 1010))
    assert content(bank) == content(build_bank(Files(names), SIZE, tmp_path / "b"))
    assert len(list((tmp_path / "a").iterdir())) == 1


def test_images_that_could_not_be_read_are_tried_again_alone(tmp_path: Path, whole: Bank) -> None:
    for source in (Pictures(bad=[3, 600]), Pictures(bad=[600])):
        with pytest.raises(ValueError, match="cannot be used"):
            build_bank(source, SIZE, tmp_path)
    assert sorted(source.reads) == [3, 600]
    last = Pictures()
    assert content(build_bank(last, SIZE, tmp_path)) == content(whole)
    assert last.reads == [600]


def test_nothing_is_taken_from_images_that_have_changed_or_were_built_at_another_size(tmp_path: Path) -> None:
    interrupted(Pictures(), tmp_path / "a", after=700)
    for source, size in ((Pictures(version="2"), SIZE), (Files(), SIZE), (Pictures(), 16)):
        build_bank(source, size, tmp_path / "a")
        assert len(source.reads) == COUNT
    assert len([path for path in (tmp_path / "a").iterdir() if path.name.endswith(".partial")]) == 1


def test_a_mended_file_of_a_manifest_is_the_only_one_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image

    lines = ["image,subject,months,side,split"]
    for n in range(6):
        Image.fromarray(np.arange(n, n + 100, dtype=np.uint8).reshape(10, 10)).save(tmp_path / f"{n}.png")
        lines.append(f"{n}.png,s{n // 2},{n % 2 * 12},R,{'test' if n < 2 else 'train'}")
    (tmp_path / "m.csv").write_text("\n".join(lines))
    good = (tmp_path / "4.png").read_bytes()
    (tmp_path / "4.png").write_bytes(b"")
    with pytest.raises(ValueError, match="1 of 6 images"):
        build_bank(FileSource(manifest(tmp_path / "m.csv")), 10, tmp_path / "banks")
    (tmp_path / "4.png").write_bytes(good)
    reads, read = list[int](), FileSource.read
    monkeypatch.setattr(FileSource, "read", lambda self, row, size: (reads.append(row), read(self, row, size))[1])
    bank = build_bank(FileSource(manifest(tmp_path / "m.csv")), 10, tmp_path / "banks")
    assert reads == [4]
    assert bank.images[4, 0].tolist() == list(range(13, 3, -1))  # right images are mirrored
    unmirrored = FileSource(manifest(tmp_path / "m.csv", mirror_right=False))
    assert not set(unmirrored.image_keys) & set(FileSource(manifest(tmp_path / "m.csv")).image_keys)


COUNTED = """
from tests.fmim_core.data.bank.test_building import *
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
    assert [path.name for path in tmp_path.iterdir() if (path / "bank").exists()] == []


def test_without_locks_a_stopped_build_is_gone_on_with(
    tmp_path: Path, whole: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", without_locks)
    with pytest.raises(ValueError, match="1 of 1000"):
        build_bank(Pictures(bad=[5]), SIZE, tmp_path)
    rest = Pictures()
    assert content(build_bank(rest, SIZE, tmp_path)) == content(whole)
    assert rest.reads == [5]


def test_a_lock_that_is_no_longer_the_folders_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second builder has opened the lock when the first removes it, and gets it then."""
    place, opened, order, flock = tmp_path / "bank", threading.Event(), list[str](), fcntl.flock

    def second() -> None:
        with partial.builder(place) as folder:
            order.append("second")
            assert folder is not None
            assert (folder / "lock").exists()

    def tell(file: int, operation: int) -> None:
        opened.set()
        flock(file, operation)

    thread = threading.Thread(target=second)
    with partial.builder(place) as folder:
        assert folder is not None
        monkeypatch.setattr(fcntl, "flock", tell)
        thread.start()
        opened.wait(timeout=60)
        order.append("first")
        (folder / "lock").unlink()
        folder.rmdir()
    thread.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize(("cores", "block_images"), [(1, 256), (7, 256), (3, 5), (16, 1)])
def test_neither_workers_nor_blocks_change_the_bank(
    tmp_path: Path, whole: Bank, monkeypatch: pytest.MonkeyPatch, cores: int, block_images: int
) -> None:
    monkeypatch.setattr(building, "cores", lambda: cores)
    monkeypatch.setattr(blocks, "BLOCK_IMAGES", block_images)
    bank = build_bank(Pictures(), SIZE, tmp_path)
    assert bank.fingerprint == whole.fingerprint
    assert {**content(bank), "bank.json": b""} == {**content(whole), "bank.json": b""}
    assert bank.warnings == whole.warnings == tuple(f"{n}.png: blank" for n in range(7, COUNT, 100))


MEMORY = """
from tests.benchmarks.measurement import resident_mib
from tests.fmim_core.data.bank.test_building import *
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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_memory_is_a_few_blocks_however_large_the_bank(tmp_path: Path) -> None:
    process = start(MEMORY, tmp_path)
    said, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    (bank,) = tmp_path.iterdir()
    assert (bank / "images.u8").stat().st_size == 160 * 2**20
    assert int(said) < 48 * 2**20


def test_too_little_room_is_said_before_anything_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 63_999})
    monkeypatch.setattr(building.shutil, "disk_usage", lambda path: usage)
    source = Pictures()
    with pytest.raises(ValueError, match=r"needs 64000 more bytes, .* has 63999 free"):
        build_bank(source, SIZE, tmp_path)
    assert source.reads == []


def test_the_blocks_of_a_bank_are_in_bank_json(whole: Bank) -> None:
    about = json.loads((whole.path / "bank.json").read_text())
    assert about["blocks"]["images"] == 256
    assert len(about["blocks"]["sha256"]) == 4
