"""The bank: content, identity, reuse, images and indexes that are refused, two builders at once, and its image sets."""

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import SourceDescription
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
        ([*ROWS, ("007", "", 60.0, "test"), ("7", "", 1.0, "test")], r"2 subjects are on both sides.*:\n  007\n  7$"),
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
