"""Folds: subjects stay whole, every fold is usable, and the split depends on seed and subjects alone."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fmim.plan.checks import check_trainings, fold_warnings
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import INDEX_COLUMNS, Source, SourceDescription
from fmim_core.data.splits import shuffled_subjects, subject_folds
from fmim_core.training.trainer import Training
from fmim_core.trial import trial
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.mini_study import first_replicates, first_search_trials, mini_plan


def image_set(rows: list[tuple[str, str, float]]) -> ImageSet:
    """Image set of (subject, side, months) rows, in a bank of as many one-pixel images."""
    index = pd.DataFrame(rows, columns=["subject", "side", "months"]).assign(row=range(len(rows)))
    return ImageSet.of(index, np.zeros((len(rows), 1, 1), np.uint8))


def pairs(count: int) -> list[tuple[str, str, float]]:
    """A baseline image and a later one of each of so many people."""
    return [(f"p{n}", "", months) for n in range(count) for months in (0.0, 12.0)]


@given(
    visits=st.lists(st.lists(st.sampled_from([0.0, 5.0, 12.0, 40.0, np.nan]), min_size=1, max_size=5), max_size=40),
    k=st.integers(2, 6),
    seed=st.integers(0, 2**40),
    shuffle=st.randoms(use_true_random=False),
)
def test_folds_of_any_data(visits: list[list[float]], k: int, seed: int, shuffle) -> None:
    rows = pairs(30) + [(f"q{n}", "", month) for n, months in enumerate(visits) for month in months]
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
    assert [set(fold.validation.subjects) for fold in subject_folds(images, k, seed + 1)] != parts
    order = list(range(len(rows)))
    shuffle.shuffle(order)
    assert [set(fold.validation.subjects) for fold in subject_folds(images.select(order), k, seed)] == parts


@pytest.mark.parametrize(
    ("rows", "k", "message"),
    [
        (pairs(5), 1, "1 folds are not a cross-validation"),
        (pairs(5), 6, "6 folds need at least 6 subjects, but there are 5"),
        ([*pairs(2), ("a", "", 0.0), ("b", "", 12.0), ("c", "", np.nan)], 3, "3 folds need .* only 2 of 5"),
        (pairs(3), 2, "leave one to train on"),
    ],
)
def test_folds_that_cannot_be_used_are_refused(rows: list, k: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        subject_folds(image_set(rows), k, seed=0)


def test_a_match_is_of_the_same_side_where_sides_are_identities() -> None:
    rows = [(f"p{n}", side, months) for n in range(4) for side, months in (("L", 0.0), ("R", 12.0))]
    assert len(subject_folds(image_set(rows), 2, seed=0)) == 2
    with pytest.raises(ValueError, match="only 0 of 4"):
        subject_folds(image_set(rows), 2, seed=0, per_side=True)


class Knees(Source):
    """A source of grey images for a list of (subject, side, months, split), in any order."""

    fingerprint = "knees"
    description = SourceDescription("knees", "manifest", False, "Knees of random people.")

    def __init__(self, rows: list[tuple[str, str, float, str]]) -> None:
        columns = [(f"{n}.png", *row) for n, row in enumerate(rows)]
        self.index = pd.DataFrame(columns, columns=list(INDEX_COLUMNS))

    def read(self, row_number: int, size: int) -> np.ndarray:
        return np.random.default_rng(row_number).integers(0, 256, (size, size), dtype=np.uint8)


def knees(visits: list[set[tuple[str, float]]], rng: random.Random) -> Knees:
    """Both knees of every person at the baseline, one at month 48, and the visits given besides; shuffled."""
    rows = []
    for person, more in enumerate(visits):
        split = "test" if person % 3 == 2 else "train"
        attended = {("L", 0.0), ("R", 0.0), ("LR"[person % 2], 48.0), *more}
        rows += [(f"p{person}", side, months, split) for side, months in sorted(attended, key=repr)]
    rng.shuffle(rows)
    return Knees(rows)


def people_of(bank: Bank, source: Knees, images: ImageSet) -> set[str]:
    """The people in a set, by the source's own index: a set's labels must be theirs."""
    truth = source.index.iloc[images.rows]
    assert truth["subject"].tolist() == images.subjects.tolist()
    assert truth["side"].tolist() == images.sides.tolist()
    return set(truth["subject"])


@pytest.mark.parametrize("seed", [0, 1])
def test_nobody_is_on_both_sides_in_a_trial(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What trials really train on, validate on and test on, in both stages."""
    rng = random.Random(seed)
    months = [0.0, 6.0, 12.0, 96.0, np.nan]
    source = knees([{(rng.choice("LR"), rng.choice(months)) for _ in range(3)} for _ in range(18)], rng)
    bank = build_bank(source, 28, tmp_path)
    seen: list[tuple[str, set[str]]] = []

    class Watched(Training):
        def __init__(self, config, train, validation, *rest) -> None:
            seen.append(("train", people_of(bank, source, train)))
            super().__init__(config, train, validation, *rest)

        def embed(self, images: ImageSet) -> Tensor:
            seen.append(("evaluate", people_of(bank, source, images)))
            return super().embed(images)

    monkeypatch.setattr(trial, "Training", Watched)
    plan = mini_plan(seed, epochs=1)
    by_split = source.index.groupby("split")["subject"].agg(set)
    validated: list[str] = []
    for spec in (*first_search_trials(plan, bank), first_replicates(plan, bank)[0]):
        seen.clear()
        assert Trial(spec, RunSettings(tmp_path, "cpu")).run().status == "completed"
        (first, train), *evaluated = seen
        assert first == "train"
        assert evaluated
        for _, people in evaluated:
            assert not train & people
            assert people == (by_split["test"] if spec.stage == "replicate" else by_split["train"] - train)
        if spec.stage == "search":
            validated += [*evaluated[0][1]]
    assert train == by_split["train"], "a replicate trains on all of them"
    assert sorted(validated) == sorted(by_split["train"])


def test_a_plan_tells_the_sizes_of_every_fold_and_names_a_year_that_one_lacks() -> None:
    """A year after baseline that a fold cannot score is named, since the mean over folds is then over fewer."""
    rows = [(f"p{n}", side, months) for n in range(12) for side in "LR" for months in (0.0, 48.0)]
    rows += [("p3", "L", 96.0), ("odd", "", 12.0), ("unknown", "", np.nan)]
    images = image_set(rows)
    folds = check_trainings(mini_plan(), replace(images, images=np.zeros((len(rows), 28, 28), np.uint8)))
    assert [fold.fold for fold in folds] == [0, 1]
    assert [fold.train_subjects + fold.validation_subjects for fold in folds] == [14, 14]
    assert sum(fold.validation_images for fold in folds) == len(rows)
    assert sum(fold.validation_gallery for fold in folds) == 24
    assert sum(fold.validation_queries for fold in folds) == 25
    assert sum(fold.validation_queries_without_match for fold in folds) == 1
    with_p3 = [fold.validation_queries_by_time for fold in folds].index({"4": 12, "8": 1})
    assert folds[1 - with_p3].validation_queries_by_time == {"4": 12}
    assert [fold.validation_times_missing for fold in folds] == ([[], [8]] if with_p3 == 0 else [[8], []])
    assert fold_warnings(folds, images.interval) == [f"fold {1 - with_p3} has no validation query of year 8"]


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
