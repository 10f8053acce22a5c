"""Building a bank goes on after a crash, and decodes anew only what was lost, mended or added."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.listings.listing import FileSource
from fmim_core.data.sets.manifest import manifest
from tests.support.pictures import COUNT, SIZE, Files, Pictures, content, interrupted, start


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
    assert (steps[0], steps[-1]) == ((256, COUNT), (COUNT, COUNT))
    assert list(tmp_path.iterdir()) == [bank.path]


def test_a_finished_block_that_was_damaged_is_decoded_again(tmp_path: Path, whole: Bank) -> None:
    folder = interrupted(Pictures(), tmp_path, after=700)
    flip(folder / "bank" / "images.u8", 300 * SIZE**2)
    (folder / "notes.txt").write_text("mine")
    rest = Pictures()
    assert content(build_bank(rest, SIZE, tmp_path)) == content(whole)
    assert sorted(rest.reads) == list(range(256, COUNT))
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("left", [0, 1, 100, -1])
def test_a_torn_log_costs_the_block_that_it_was_about_to_tell_of(tmp_path: Path, whole: Bank, left: int) -> None:
    log = interrupted(Pictures(), tmp_path, after=700) / "blocks.jsonl"
    first, second = filter(None, log.read_text().splitlines())
    log.write_bytes(f"{first}\n{second[:left]}".encode() + b"\xff")
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
    for source, size in ((Pictures(version="2"), SIZE), (Pictures(), 16)):
        build_bank(source, size, tmp_path / "a")
        assert len(source.reads) == COUNT


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
