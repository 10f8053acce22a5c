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
from tests.support.file_contents import set_differences

PAIR = ("triplet_automargin.c00", "triplet_grid.c02")
SPREAD = (-0.002, 0.001, 0.0, 0.002, -0.001)
MEANS = {"as_it_is": 0.02, "rate=1": 0.04, "rate=2": 0.0, "cohort=1": 0.05, "cohort=2": -0.03}
SETTINGS = {"as_it_is": ("", "")} | {name: tuple(name.split("=")) for name in MEANS if "=" in name}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robust")
    for name, mean in MEANS.items():
        study = make_out(folder / name, arms=("triplet_grid", "triplet_automargin"))
        set_differences(study, PAIR, [mean + one for one in SPREAD])
    build_robust(folder, SETTINGS | {"rate=3": ("rate", "3")})
    return folder


def rows(out: Path, name: str) -> list[dict[str, str]]:
    with (out / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_each_setting_has_its_difference_and_what_its_own_report_shows(out: Path) -> None:
    found = {f"{row['field']}={row['value']}": row for row in rows(out, "settings")}
    assert list(found) == ["=", *(name for name in MEANS if "=" in name)]
    assert [float(row["difference"]) for row in found.values()] == pytest.approx(list(MEANS.values()))
    assert [row["shown"] for row in found.values()] == ["better", "better", "equivalent", "better", "worse"]


def test_verdicts_are_counted_and_the_mean_is_that_of_all_combinations(out: Path) -> None:
    [row] = rows(out, "over_settings")
    counted = {key: int(row[key]) for key in ("settings", "better", "worse", "equivalent", "inconclusive", "others")}
    assert counted == {"settings": 5, "better": 3, "worse": 1, "equivalent": 1, "inconclusive": 0, "others": 0}
    center, rates, cohorts = 0.02, [0.02, 0.04, 0.0], [0.02, 0.05, -0.03]
    assert float(row["difference"]) == pytest.approx(np.mean([a + b - center for a in rates for b in cohorts]))
    variances = [np.var(values, ddof=1) / 3 for values in (rates, cohorts)]
    # (1 − 2/3 − 2/3)² < 1/9 + 1/9: the center has nothing beyond
    assert float(row["se"]) == pytest.approx(math.sqrt(sum(variances)))
    assert float(row["df"]) == pytest.approx(sum(variances) ** 2 / sum(one**2 / 2 for one in variances))
    assert float(row["sd_cohort"]) == pytest.approx(np.std(cohorts, ddof=1))


def test_the_page_says_it_in_a_sentence_with_a_forest_plot_and_names_what_is_missing(out: Path) -> None:
    text, page = (out / "report" / "report.md").read_text(), (out / "report" / "index.html").read_text()
    assert "better in 3, equivalent in 1, worse in 1 of 5 settings. Mean over all combinations: +1.33" in text
    assert "Not run yet: rate=3." in text
    assert 'href="../cohort%3D1/report/index.html"' in page
    assert (out / "report/figures/forest_triplet_automargin_minus_triplet_grid.svg").is_file()
    before = {path: path.read_bytes() for path in (out / "report").rglob("*") if path.is_file()}
    build_robust(out, SETTINGS | {"rate=3": ("rate", "3")})
    assert {path: path.read_bytes() for path in before} == before


def test_without_the_study_as_it_is_there_is_no_mean_and_without_cohorts_it_is_said(out: Path, tmp_path: Path) -> None:
    shutil.copytree(out, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / "as_it_is")
    page = build_robust(tmp_path, {"as_it_is": ("", ""), "rate=1": ("rate", "1"), "rate=2": ("rate", "2")})
    text = (page.parent / "report.md").read_text()
    assert "No mean over settings without the study as it is." in text
    assert "All settings have the same subjects, so the interval covers no others" in text
