"""Whole small studies of tables of one's own: a plain retrieval set, and follow-ups that are weeks apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fmim.printing import TextConsole
from fmim_core.records import DONE, StudyFile, read_records, study_path
from fmim_reports.reading.results import Results, read_results
from tests.support.manifests import folder_of
from tests.support.mini_study import mini_plan, options_in, run_here
from tests.support.query_files import queries_by
from tests.support.reports import table

pytestmark = pytest.mark.slow

SPLITS = ["train"] * 10 + ["test"] * 5
DAYS = (0, 3, 10, 11, 25)
WEEKS = {"1": 2, "2": 1, "4": 1}
"""Queries of each subject by the nearest whole week after baseline, at least 1."""


def study_of(root: Path, rows: list[str], header: str, settings: str) -> Path:
    """The folder of the small study on a table of 28 px images, each its subject's pattern beneath noise."""
    draw = np.random.default_rng(0)
    patterns = {f"s{number}": draw.integers(0, 256, (28, 28)) for number in range(len(SPLITS))}
    (root / "images").mkdir()
    for row in rows:
        image, subject = row.split(",")[:2]
        noisy = (patterns[subject] + draw.integers(0, 256, (28, 28))) // 2
        Image.fromarray(noisy.astype(np.uint8)).save(root / "images" / image)
    path = folder_of(root / "images", rows, header)
    path.with_suffix(".toml").write_text(settings)
    assert run_here(mini_plan(epochs=1), options_in(root, data=str(path))) == DONE
    return root / "study"


def matches_records(results: Results) -> None:
    """Check that the mean over the queries beside each record is its mAP."""
    assert results.problems == ()
    for arm in results.arms:
        values = results.queries.values(arm.name, results.metric).mean(axis=1)
        recorded = [trial.metric("mAP") for trial in results.of(arm.name, "replicate")]
        assert values.tolist() == pytest.approx(recorded, abs=1e-12)


def test_a_plain_retrieval_set_has_every_image_as_query_and_gallery(tmp_path: Path) -> None:
    rows = [f"s{s}_{n}.png,s{s},both,{split}" for s, split in enumerate(SPLITS) for n in range(4)]
    out = study_of(tmp_path, [*rows, "s14_4.png,s14,,test"], "image,subject,role,split", "mean = 0.4\nstd = 0.25\n")
    for record in read_records(out):
        # 5 subjects of 4 images in the test set and in either fold
        assert (record.measured["queries"], record.measured["gallery"]) == (20, 20)
        assert not [name for name in record.measured if "/" in name]
        if record.stage != "reference":
            assert [record.config["augmentation"][name] for name in ("mean", "std")] == [0.4, 0.25]
        assert list(record.data["files"]) == ["manifest.csv", "manifest.toml"]
    results = read_results(out)
    matches_records(results)
    queries = queries_by(results, "triplet_grid")
    assert (queries["matches"] == 3).all()
    assert 60 not in {*queries["truth_row"], *queries["top_row"]}, "an image without a role is not searched"
    assert (queries["query_row"] != queries["truth_row"]).all()
    assert (queries["query_row"] != queries["top_row"]).all()
    report = (out / "report" / "report.md").read_text()
    assert "each image with the role both is searched for among all others" in report
    assert "have no match" not in report
    assert "after baseline" not in report
    assert (out / "report" / "figures" / "retrieval_samples.png").exists()


def test_follow_ups_by_weeks_are_reported_by_weeks(tmp_path: Path) -> None:
    rows = [f"s{s}_{day}.png,s{s},{day / 30.4375:.4f},{split}" for s, split in enumerate(SPLITS) for day in DAYS]
    out = study_of(tmp_path, rows, "image,subject,months,split", 'interval = "week"\n')
    study = StudyFile.read(study_path(out))
    assert (study.data.interval, study.data.test.by_time) == ("week", {"0": 5, "1": 10, "2": 5, "4": 5})
    assert [fold.validation_queries_by_time for fold in study.folds] == [{w: 5 * n for w, n in WEEKS.items()}] * 2
    for record in read_records(out):
        counted = {name: value for name, value in record.measured.items() if name.startswith("queries/")}
        assert counted == {f"queries/week_{week}": 5 * count for week, count in WEEKS.items()}
        means = sum(5 * count * record.measured[f"mAP/week_{week}"] for week, count in WEEKS.items()) / 20
        assert means == pytest.approx(record.measured["mAP"], abs=1e-12)
    results = read_results(out)
    matches_records(results)
    assert Counter(results.queries.asked["week"].astype(str)) == {week: 5 * count for week, count in WEEKS.items()}
    report = (out / "report" / "report.md").read_text()
    assert "mAP by weeks after baseline" in report
    assert "years after baseline" not in report
    label = results.arm("triplet_grid").label
    (row,) = [row for row in table(out, "by_week") if row["arm_label"] == label]
    recorded = [trial.metric("mAP", 1) for trial in results.of("triplet_grid", "replicate")]
    assert float(row["week_1_mean"]) == pytest.approx(np.mean(recorded), abs=1e-12)
    (tmp_path / "images" / "manifest.toml").write_text('interval = "day"\nmean = 0.4\n')
    with pytest.raises(ValueError, match=r"interval was week, is day, augmentation\.mean was 0\.5, is 0\.4\)"):
        run_here(
            mini_plan(epochs=1),
            options_in(tmp_path, data=str(tmp_path / "images" / "manifest.csv")),
            TextConsole(quiet=True),
        )
