"""Building a bank goes on after a crash, and decodes anew only what was lost, mended or added."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
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


def test_nothing_is_taken_from_images_that_have_changed_or_were_built_at_another_size(tmp_path: Path) -> None:
    interrupted(Pictures(), tmp_path / "a", after=700)
    for source, size in ((Pictures(version="2"), SIZE), (Pictures(), 16)):
        build_bank(source, size, tmp_path / "a")
        assert len(source.reads) == COUNT
