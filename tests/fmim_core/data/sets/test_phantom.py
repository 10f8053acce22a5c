"""The embedded cohort: reproducible, independent of its size, whole, and ageing as it says."""

from __future__ import annotations

import numpy as np
import pytest

from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.data.source import INDEX_COLUMNS

SMALL = PhantomConfig(train_subjects=6, test_subjects=4, seed=3)


def images_by_name(config: PhantomConfig, names: list[str], size: int = 24) -> dict[str, bytes]:
    source = PhantomSource(config)
    rows = {name: row for row, name in enumerate(source.index["image"])}
    return {name: source.read(rows[name], size).tobytes() for name in names}


def some_names(config: PhantomConfig) -> list[str]:
    return PhantomSource(config).index["image"].tolist()[::7]


@pytest.mark.parametrize("size", [35, 70])
def test_two_fresh_sources_agree_byte_for_byte_in_any_order(size: int) -> None:
    first, second = PhantomSource(SMALL), PhantomSource(SMALL)
    rows = range(len(first.index))
    forwards = [first.read(row, size) for row in rows]
    backwards = [second.read(row, size) for row in reversed(rows)][::-1]
    assert first.index.equals(second.index)
    assert first.fingerprint == second.fingerprint
    assert all(image.shape == (size, size) and image.dtype == np.uint8 for image in forwards)
    assert [image.tobytes() for image in forwards] == [image.tobytes() for image in backwards]
    assert len({image.tobytes() for image in forwards}) == len(forwards)


def test_an_image_does_not_depend_on_how_many_others_there_are() -> None:
    names = some_names(SMALL)
    larger = SMALL.model_copy(update={"train_subjects": 9, "test_subjects": 5, "missed": 0.0})
    fewer_visits = SMALL.model_copy(update={"months": (0, 12, 96)})
    assert images_by_name(SMALL, names) == images_by_name(larger, names)
    shared = [name for name in names if name[-3:] in ("000", "096")]
    assert images_by_name(SMALL, shared) == images_by_name(fewer_visits.model_copy(update={"missed": 0.0}), shared)


def test_the_index_is_whole() -> None:
    config = PhantomConfig()
    index = PhantomSource(config).index
    assert set(INDEX_COLUMNS) <= set(index.columns)
    assert index["image"].is_unique
    assert not index.isna().any().any()
    assert index["months"].dtype == np.float64
    assert set(index["months"]) == set(config.months)
    assert index.groupby("split")["subject"].nunique().to_dict() == {"train": 100, "test": 50}
    assert (index.groupby("subject")["split"].nunique() == 1).all()
    assert 1 - (index["months"] > 0).sum() / (6 * 150 * 2) == pytest.approx(0.08, abs=0.03), "visits that are missed"
    baselines = index[index["months"] == 0]
    assert len(baselines) == 2 * 150
    assert (baselines.groupby("subject")["side"].agg("".join) == "LR").all()
    visits = index.groupby(["subject", "side"])["months"].agg(tuple).unstack()
    assert (visits["L"] == visits["R"]).all(), "a person comes with both knees"
    assert all(list(months) == sorted(set(months)) for months in visits["L"])


def test_grades_stay_or_rise_and_some_knees_progress() -> None:
    index = PhantomSource(PhantomConfig()).index
    assert set(index["grade"]) == set("01234")
    assert (index["disease"] == index["grade"].map(lambda grade: "yes" if grade in "234" else "no")).all()
    index["grade"] = index["grade"].astype(int)
    knees = index.sort_values("months").groupby(["subject", "side"])["grade"]
    assert knees.apply(lambda grades: grades.is_monotonic_increasing).all()
    progressed = (knees.last() > knees.first()).mean()
    assert 0.1 < progressed < 0.6


def test_mirroring_concerns_right_knees_only() -> None:
    shown, raw = PhantomSource(SMALL), PhantomSource(SMALL.model_copy(update={"mirror_right": False}))
    for row, side in enumerate(shown.index["side"][:14]):
        expected = shown.read(row, 32) if side == "L" else shown.read(row, 32)[:, ::-1]
        assert np.array_equal(raw.read(row, 32), expected)


def distance_by_year(config: PhantomConfig) -> dict[float, float]:
    """Mean over knees of the mean absolute grey difference between a knee's baseline and its later films."""
    source = PhantomSource(config)
    sums: dict[float, list[float]] = {months: [] for months in config.months[1:]}
    for _, knee in source.index.groupby(["subject", "side"]):
        films = {m: source.read(row, 48).astype(np.float64) for row, m in knee["months"].items()}
        for months in config.months[1:]:
            sums[months].append(float(np.abs(films[months] - films[0]).mean()))
    return {months: float(np.mean(values)) for months, values in sums.items()}


def test_ageing_grows_about_as_the_square_root_of_time() -> None:
    drift = distance_by_year(
        PhantomConfig(train_subjects=20, test_subjects=0, missed=0.0, acquisition=0.0, months=(0, 12, 24, 48, 96))
    )
    values = list(drift.values())
    assert values == sorted(values)
    exponent = np.polyfit(np.log(list(drift)), np.log(values), 1)[0]
    assert exponent == pytest.approx(0.5, abs=0.1)


def test_without_ageing_and_acquisition_a_knee_stays_the_same() -> None:
    config = PhantomConfig(train_subjects=2, test_subjects=0, missed=0.0, acquisition=0.0, ageing=0.0)
    assert set(distance_by_year(config).values()) == {0.0}


def test_the_fingerprint_covers_every_setting() -> None:
    changes = {
        "train_subjects": 7,
        "test_subjects": 5,
        "months": (0, 12),
        "missed": 0.5,
        "ageing": 2.0,
        "acquisition": 2.0,
        "mirror_right": False,
        "seed": 9,
    }
    assert set(changes) == set(PhantomConfig.model_fields)
    variants = [SMALL.model_copy(update={key: value}) for key, value in changes.items()]
    assert len({PhantomSource(config).fingerprint for config in [SMALL, *variants]}) == len(changes) + 1


@pytest.mark.parametrize("months", [(), (12, 24), (0, 24, 12), (0, 12, 12)])
def test_visits_start_at_the_baseline_and_increase(months: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="start with 0"):
        PhantomConfig(months=months)
