"""Folds: subjects stay whole, every fold is usable, and the split depends on seed and subjects alone."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmim_core.data.building import build_bank
from fmim_core.data.image_set import ImageSet
from fmim_core.data.manifest import ManifestSource
from fmim_core.data.splits import shuffled_subjects, subject_folds

DATA = Path(__file__).parents[1].parent / "shared" / "data"


def image_set(rows: list[tuple[str, str, float]]) -> ImageSet:
    """Image set of (subject, side, months) rows, in a bank of as many one-pixel images."""
    subjects, sides, months = zip(*rows, strict=True)
    return ImageSet(
        np.zeros((len(rows), 1, 1), np.uint8),
        np.arange(len(rows)),
        np.array(subjects, dtype=str),
        np.array(sides, dtype=str),
        np.array(months, dtype=float),
    )


def pairs(count: int) -> list[tuple[str, str, float]]:
    return [(f"p{n}", "", months) for n in range(count) for months in (0.0, 12.0)]


def test_five_patients_with_two_images_give_five_usable_folds() -> None:
    folds = subject_folds(image_set(pairs(5)), 5, seed=0)
    assert [fold.number for fold in folds] == [0, 1, 2, 3, 4]
    assert sorted(np.concatenate([fold.validation.rows for fold in folds])) == list(range(10))
    for fold in folds:
        assert not set(fold.train.subjects) & set(fold.validation.subjects)
        assert (len(fold.train), len(fold.validation)) == (8, 2)


def test_both_sides_of_a_person_are_in_one_fold() -> None:
    rows = [(f"p{n}", side, months) for n in range(6) for side in "LR" for months in (0.0, 24.0)]
    for fold in subject_folds(image_set(rows), 3, seed=4, per_side=True):
        assert sorted(fold.validation.sides) == ["L"] * 4 + ["R"] * 4
        assert not set(fold.train.subjects) & set(fold.validation.subjects)


@given(
    visits=st.lists(st.lists(st.sampled_from([0.0, 5.0, 12.0, 40.0, np.nan]), min_size=1, max_size=5), max_size=40),
    k=st.integers(2, 6),
    seed=st.integers(0, 2**40),
    shuffle=st.randoms(use_true_random=False),
)
def test_folds_of_any_data(visits: list[list[float]], k: int, seed: int, shuffle) -> None:
    rows = pairs(6) + [(f"q{n}", "", month) for n, months in enumerate(visits) for month in months]
    images = image_set(rows)
    folds = subject_folds(images, k, seed)
    parts = [set(fold.validation.subjects) for fold in folds]
    matched = [len(np.unique(f.validation.subjects[f.validation.matched_query_mask()])) for f in folds]
    assert sum(len(part) for part in parts) == len(set.union(*parts)) == len(np.unique(images.subjects))
    for fold, part in zip(folds, parts, strict=True):
        assert set(fold.train.subjects) == set(images.subjects) - part
    for counts in ([len(part) for part in parts], matched):
        assert max(counts) - min(counts) <= 1
    assert min(matched) >= 1
    order = list(range(len(rows)))
    shuffle.shuffle(order)
    assert [set(fold.validation.subjects) for fold in subject_folds(images.select(order), k, seed)] == parts


def test_seeds_differ_and_repeat() -> None:
    images = image_set(pairs(40))
    first, again, other = (
        [sorted(set(fold.validation.subjects)) for fold in subject_folds(images, 4, seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("rows", "k", "message"),
    [
        (pairs(5), 1, "1 folds are not a cross-validation"),
        (pairs(5), 6, "6 folds need as many subjects, there are 5"),
        ([*pairs(2), ("a", "", 0.0), ("b", "", 12.0), ("c", "", np.nan)], 3, "3 folds need .* there are 2 among 5"),
        (pairs(3), 2, "leave one to train on"),
    ],
)
def test_folds_that_cannot_be_used_are_refused(rows: list, k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        subject_folds(image_set(rows), k, seed=0)


def test_a_match_is_of_the_same_side_where_sides_are_identities() -> None:
    rows = [(f"p{n}", side, months) for n in range(4) for side, months in (("L", 0.0), ("R", 12.0))]
    assert len(subject_folds(image_set(rows), 2, seed=0)) == 2
    with pytest.raises(ValueError, match="there are 0 among 4"):
        subject_folds(image_set(rows), 2, seed=0, per_side=True)


def test_order_is_a_golden_value_in_every_process() -> None:
    names = ["a", "b", "c", "d", "e", "a"]
    code = f"from fmim_core.data.splits import shuffled_subjects; print(shuffled_subjects({names}, 'test', 7))"
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == str(GOLDEN)
    # the order of two subjects does not depend on a third
    assert shuffled_subjects(["a", "c", "e"], "test", 7) == [name for name in GOLDEN if name in "ace"]


GOLDEN = ["c", "d", "b", "a", "e"]


@pytest.mark.skipif(not (DATA / "nih").is_dir(), reason="no shared/data/nih beside the repository")
def test_nih_has_five_usable_folds(tmp_path: Path) -> None:
    bank = build_bank(ManifestSource(DATA / "nih" / "images64_manifest.csv"), 16, tmp_path)
    development, test = bank.development(), bank.open_test()
    assert not set(development.subjects) & set(test.subjects)
    folds = subject_folds(development, 5, seed=0)
    assert sorted(len(np.unique(fold.validation.subjects)) for fold in folds) == [49, 50, 50, 50, 50]
    matched = [np.unique(f.validation.subjects[f.validation.matched_query_mask()]).size for f in folds]
    assert sorted(matched) == [16, 16, 16, 17, 17]
    assert sum(fold.validation.matched_query_mask().sum() for fold in folds) == 247
    for fold in folds:
        assert not set(fold.train.subjects) & set(fold.validation.subjects)
