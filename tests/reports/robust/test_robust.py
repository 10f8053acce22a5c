"""The report of a study at several settings, from folders with known differences."""

from __future__ import annotations

import csv
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from fmim_reports.robust.build import build_robust
from tests.support.factories import make_out
from tests.support.file_contents import edit, set_differences

PAIR = ("triplet_automargin.c00", "triplet_grid.c02")
SPREAD = (-0.002, 0.001, 0.0, 0.002, -0.001)
MEANS = {"as_it_is": 0.02, "rate=1": 0.04, "rate=2": 0.0, "cohort=1": 0.05, "cohort=2": -0.03}
PLANNED = [*MEANS, "rate=3"]
MEAN = "mean over all combinations"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robust")
    for name, mean in MEANS.items():
        study = make_out(folder / name, arms=("triplet_grid", "triplet_automargin"))
        set_differences(study, PAIR, [mean + one for one in SPREAD])
    build_robust(folder, PLANNED)
    return folder


def rows(out: Path) -> dict[str, dict[str, str]]:
    with (out / "report" / "tables" / "differences.csv").open(encoding="utf-8") as stream:
        return {row["setting"]: row for row in csv.DictReader(stream)}


def test_each_setting_has_its_difference_and_what_its_own_report_shows(out: Path) -> None:
    found = rows(out)
    assert list(found) == [*MEANS, MEAN]
    assert [float(found[name]["difference"]) for name in MEANS] == pytest.approx(list(MEANS.values()))
    assert [found[name]["shown"] for name in MEANS] == ["better", "better", "equivalent", "better", "worse"]


def test_the_mean_is_that_of_all_combinations(out: Path) -> None:
    found, center, rates, cohorts = rows(out)[MEAN], 0.02, [0.02, 0.04, 0.0], [0.02, 0.05, -0.03]
    assert float(found["difference"]) == pytest.approx(np.mean([a + b - center for a in rates for b in cohorts]))
    # (1 − 2/3 − 2/3)² < 1/9 + 1/9: the noise of the study as it is adds nothing
    assert float(found["se"]) == pytest.approx(math.sqrt(sum(np.var(v, ddof=1) / 3 for v in (rates, cohorts))))
    assert found["shown"] == "inconclusive"


def test_the_page_counts_verdicts_in_a_sentence_and_names_what_is_missing(out: Path) -> None:
    text, page = (out / "report" / "report.md").read_text(), (out / "report" / "index.html").read_text()
    assert "better in 3, equivalent in 1, worse in 1 of 5 settings. Mean over all combinations: +1.33" in text
    assert "SD 2.00 over rate, 4.04 over cohort" in text
    assert "Not run yet: rate=3." in text
    assert 'href="../cohort%3D1/report/index.html"' in page
    assert (out / "report/figures/forest_triplet_automargin_minus_triplet_grid.svg").is_file()
    before = {path: path.read_bytes() for path in (out / "report").rglob("*") if path.is_file()}
    build_robust(out, PLANNED)
    assert {path: path.read_bytes() for path in before} == before


def test_without_a_seed_of_the_study_as_it_is_there_is_no_mean(out: Path, tmp_path: Path) -> None:
    shutil.copytree(out, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "report")
    for folders in (["as_it_is"], MEANS):
        for path in (path for folder in folders for path in tmp_path.glob(f"{folder}/records/*seed*")):
            path.unlink()
        build_robust(tmp_path, PLANNED)
        assert {rows(tmp_path)[name]["shown"] for name in (MEAN, *folders)} == {"not compared"}
    assert (
        "Triplet: AutoMargin against grid search: not compared in 5 of 5 settings."
        in (tmp_path / "report" / "report.md").read_text()
    )


def test_a_preset_that_answers_nothing_has_no_verdict(out: Path, tmp_path: Path) -> None:
    shutil.copytree(out, tmp_path, dirs_exist_ok=True)
    for name in MEANS:
        edit(tmp_path / name / "study.json", answers=False)
    build_robust(tmp_path, PLANNED)
    assert "shown" not in rows(tmp_path)[MEAN]
    text = (tmp_path / "report" / "report.md").read_text()
    assert "no answer about methods" in text
    assert "better" not in text
