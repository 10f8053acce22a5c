"""Studies that differ in one thing each: in which settings, like arms with their differences, and the pages."""

from __future__ import annotations

import json
import math
import shutil
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fmim_core.records import summary_path
from fmim_reports.across.differences import StudyDifference, differences, not_compared
from fmim_reports.across.overview import overview_page, read_overview, summary_of
from fmim_reports.across.page import arms_table, comparison_as_json, write_comparison
from fmim_reports.across.studies import arm_groups, differing, read_studies
from fmim_reports.reading.results import read_results
from tests.oracles import statistics as oracles
from tests.support.browser import DESK, PHONE, visited
from tests.support.factories import SEEDS, make_out
from tests.support.file_contents import edit
from tests.support.query_files import write_query_files
from tests.support.reports import rows

Studies = dict[str, Path]
ARMS = ["triplet_grid", "triplet_automargin"]
SHIFTS = (0.02, 0.03, 0.01, 0.025, 0.015)
"""By how much the second study's seeds score better."""


def of_study(out: Path, part: str, **changes: Any) -> dict[str, Any]:
    """A part of study.json with these changes."""
    content: dict[str, Any] = json.loads((out / "study.json").read_text(encoding="utf-8"))[part]
    return content | changes


def edit_replicates(out: Path, shifts: tuple[float, ...] = (0.0,) * 5, seed: int = 0, **metrics: float) -> None:
    """Shift the test mAP of each seed, add so much to the seeds of training, and set other test metrics."""
    for path in (out / "records").glob("*.seed*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        test = record["metrics"]["test"]
        test |= {"mAP": test["mAP"] + shifts[record["replicate"]], **metrics}
        edit(path, metrics={"validation": None, "test": test}, seed=record["seed"] + seed)


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By what is different from `first`: code and numbers, seeds, data, metric, or how well a random ranking scores."""
    root, names = tmp_path_factory.mktemp("studies"), ("first", "code", "seeds", "data", "metric", "knees")
    made = {name: make_out(root / name, folds=1, arms=ARMS) for name in names}
    changes = {
        "code": {"environment": of_study(made["code"], "environment", git_commit="badc0de1" * 5 + "-dirty")},
        "seeds": {"seed": 7},
        "data": {"data": of_study(made["data"], "data", fingerprint="f" * 64, images=900)},
        "metric": {"metric": "CMC_1"},
    }
    for name, changed in changes.items():
        edit(made[name] / "study.json", **changed)
    edit_replicates(made["code"], SHIFTS)
    edit_replicates(made["seeds"], seed=70)
    edit_replicates(made["knees"], chance_mAP=0.08)
    for name in ("first", "code", "seeds"):
        write_query_files(made[name])
    return made


def found_in(studies: Studies, *names: str) -> tuple[StudyDifference, ...]:
    return differences(read_studies([studies[name] for name in ("first", *names)]))


def aps(out: Path, arm: str) -> tuple[np.ndarray, list[str]]:
    """AP by seed and query, of queries with a match, from the files; and each query's subject."""
    files = sorted((out / "records").glob(f"{arm}.*.queries.parquet"))
    frames = [pd.read_parquet(path).query("matches > 0") for path in files]
    return np.stack([frame["ap"] for frame in frames]), frames[0]["subject"].tolist()


def test_equal_seeds_and_data_are_paired_by_seed_and_query(studies: Studies) -> None:
    found = found_in(studies, "code")
    assert [(one.name, one.later.arm.name, one.pairing) for one in found] == [
        ("B − A", arm, "seed and query") for arm in ARMS
    ]
    for one in found:
        (ours, subjects), (theirs, _) = (aps(studies[name], one.later.arm.name) for name in ("code", "first"))
        mean, _, _, both = oracles.crossed_variances((ours - theirs).tolist(), subjects)
        assert one.value == pytest.approx(np.mean(SHIFTS), abs=1e-12)
        assert one.value == pytest.approx(mean, abs=1e-9)
        assert one.uncertainty.df is not None
        reach = float(stats.t.ppf(0.975, one.uncertainty.df)) * math.sqrt(both)
        assert (one.uncertainty.low, one.uncertainty.high) == pytest.approx((mean - reach, mean + reach), rel=1e-9)
        assert one.sample == "5 seeds × 40 subjects"


def test_holm_corrects_over_the_differences_that_are_shown(studies: Studies) -> None:
    found = found_in(studies, "code", "seeds", "data")
    given = [one.p for one in found if one.p is not None]
    assert len(given) == 4
    assert [one.p_holm for one in found if one.p_holm is not None] == pytest.approx(
        multipletests(given, method="holm")[1]
    )
    assert [one.answer for one in found] == ["B better"] * 2 + ["inconclusive"] * 2 + ["not compared"] * 2


def test_nothing_is_shown_where_a_preset_says_nothing_about_methods(studies: Studies, tmp_path: Path) -> None:
    smoke = tmp_path / "smoke"
    shutil.copytree(studies["code"], smoke)
    edit(smoke / "study.json", answers=False)
    before, after = (differences(read_studies([studies["first"], out])) for out in (studies["code"], smoke))
    assert "no answer about methods" not in {one.answer for one in before}
    assert {one.answer for one in after} == {"no answer about methods"}
    assert [one.p for one in before] == [one.p for one in after]


def test_other_seeds_on_the_same_data_are_not_paired(studies: Studies) -> None:
    one, other = found_in(studies, "seeds")
    se = math.sqrt(2 * np.var(SEEDS, ddof=1) / 5)
    assert (one.value, one.uncertainty.se) == (pytest.approx(0, abs=1e-12), pytest.approx(se))
    reach = float(stats.t.ppf(0.975, 8)) * se  # equal spreads and numbers: n_a + n_b − 2 degrees of freedom
    assert (one.uncertainty.low, one.uncertainty.high) == (pytest.approx(-reach), pytest.approx(reach))
    assert (one.pairing, one.over, one.sample, one.identical) == ("", "seeds", "5 and 5 seeds", False)
    assert other.uncertainty == one.uncertainty


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("data", "the content of the data set phantom differs (fingerprint)"),
        ("metric", "the primary metric is CMC top-1, not mAP"),
        ("knees", "the tasks differ: a random ranking scores 8.00 %, not 5.00 %"),
    ],
)
def test_where_a_difference_means_nothing_there_is_none_and_it_is_said_why(
    studies: Studies, name: str, why: str
) -> None:
    found = found_in(studies, name)
    assert [(one.value, one.p, one.note) for one in found] == [(None, None, why)] * 2
    assert not_compared(found) == [f"B − A is not given: {why}."]


def test_seeds_of_one_study_alone_are_named_and_a_copy_is_the_same_in_every_seed(
    studies: Studies, tmp_path: Path
) -> None:
    fewer = make_out(tmp_path / "fewer", folds=1, replicates=3, arms=ARMS[:1])
    (one,) = differences(read_studies([fewer, studies["first"]]))
    assert (one.value, one.pairing, one.sample) == (0, "seed", "3 seeds")
    assert "without a partner: replicate 3, 4" in one.note
    assert (one.answer, one.identical) == ("the same in every seed", True)


def test_an_arm_of_another_name_stands_beside_one_that_was_trained_alike(tmp_path: Path) -> None:
    first, second = (make_out(tmp_path / name, folds=1, replicates=2, arms=ARMS) for name in ("first", "second"))
    for out in (first, second):
        for path in (out / "records").glob("*.json"):
            arm = json.loads(path.read_text(encoding="utf-8"))["arm"]
            edit(path, config={"margins": arm}, **({"arm": "renamed"} if (out, arm) == (second, ARMS[1]) else {}))
    for name in ("study.json", "selection.json"):
        text = (second / name).read_text(encoding="utf-8").replace(f'"{ARMS[1]}"', '"renamed"')
        edit(second / name, **{key: value for key, value in json.loads(text).items() if key != "sha256"})
    groups = arm_groups(read_studies([first, second]))
    names = [[(one.study.key, one.arm.name) for one in group.members] for group in groups]
    assert names == [[("A", ARMS[0]), ("B", ARMS[0])], [("A", ARMS[1]), ("B", "renamed")]]
    for path in (second / "records").glob("triplet_automargin.*.json"):
        edit(path, config={"margins": "others"})
    assert [len(group.members) for group in arm_groups(read_studies([first, second]))] == [2, 1, 1]


def test_every_setting_that_differs_is_named_with_its_values(studies: Studies) -> None:
    read = read_studies([studies[name] for name in ("first", "code", "seeds", "data", "metric")])
    found = {(one.about, one.name): [one.text(study.key) for study in read] for one in differing(read)}
    assert found == {
        ("study", "seed"): ["0", "0", "7", "0", "0"],
        ("study", "primary metric"): ["mAP", "mAP", "mAP", "mAP", "CMC_1"],
        ("data", "fingerprint"): ["d" * 8, "d" * 8, "d" * 8, "f" * 8, "d" * 8],
        ("code", "git commit"): ["c0ffee1", "badc0de1-dirty", "c0ffee1", "c0ffee1", "c0ffee1"],
    }
    assert differing(read_studies([studies["first"], studies["knees"]])) == []


def test_a_setting_that_one_study_alone_has_differs(studies: Studies, tmp_path: Path) -> None:
    other = make_out(tmp_path / "other", folds=1, arms=["triplet_grid"])
    train = of_study(other, "train", scheduler={"warm_up": 3})
    edit(other / "study.json", train=train, changed={"scheduler.warm_up": 3})
    found = differing(read_studies([studies["first"], other]))
    assert [(one.name, one.text("A"), one.text("B")) for one in found] == [
        ("changed from the preset", "nothing", "scheduler.warm_up = 3"),
        ("scheduler.warm_up", "", "3"),
    ]


def test_arms_stand_side_by_side_with_their_costs_and_scores(studies: Studies) -> None:
    found = pd.DataFrame(rows(arms_table(read_studies([studies["first"], studies["code"]]))))
    assert found["arm"].tolist() == ["Triplet + grid search"] * 2 + ["Triplet + AutoMargin"] * 2
    assert found["study"].tolist() == ["A", "B"] * 2
    assert found["n_s"].astype(int).tolist() == [4, 4, 2, 2]
    assert found["epochs"].astype(int).tolist() == [24, 24, 12, 12]  # one fold of 6 epochs each
    assert found["device_seconds"].astype(float).tolist() == pytest.approx([48, 48, 24, 24])
    assert found["test_mean"].astype(float).tolist() == pytest.approx([0.73, 0.75, 0.735, 0.755])
    assert found["validation_mean"].astype(float).tolist() == pytest.approx([0.77, 0.77, 0.775, 0.775])


def test_json_has_the_numbers_of_the_tables_and_null_where_there_is_none(studies: Studies, tmp_path: Path) -> None:
    read = read_studies([studies[name] for name in ("first", "code", "data")])
    found = differences(read)
    content = json.loads(json.dumps(comparison_as_json(read, found), allow_nan=False))
    assert [one["data_fingerprint"][0] for one in content["studies"].values()] == ["d", "d", "f"]
    assert content["arms"][0]["studies"]["B"]["test"] == {
        "mean": pytest.approx(0.75),
        "se": pytest.approx(found[0].later.arm.test.stat.se),
        "n": 5,
        "planned": 5,
    }
    of_b, of_c = content["differences"][0], content["differences"][2]
    assert (of_b["study"], of_b["difference"], of_b["result"]) == ("B", pytest.approx(0.02), "B better")
    assert (of_c["study"], of_c["difference"], of_c["p_holm"]) == ("C", None, None)
    page = write_comparison(tmp_path / "page", read, found)
    text = page.read_text(encoding="utf-8").replace("\u00a0", " ")
    assert "Triplet + grid search, B − A: +2.00 percentage points of test mAP (95 % CI over seeds and subjects" in text
    assert "C − A is not given: the content of the data set" in text
    assert 'href="../' not in text  # none of these studies has a report
    table = pd.read_csv(tmp_path / "page" / "tables" / "differences.csv")
    assert table["difference"].tolist() == pytest.approx([0.02, 0.02])
    assert table["p_holm"].tolist() == pytest.approx([one["p_holm"] for one in content["differences"][:2]])


def test_names_are_text_on_the_page(tmp_path: Path) -> None:
    made = [make_out(tmp_path / name, folds=1, replicates=2, arms=["triplet_grid"]) for name in ("a", "<b>")]
    for out in made:
        study = json.loads((out / "study.json").read_text(encoding="utf-8"))
        edit(out / "study.json", arms=[study["arms"][0] | {"label": "<script>alert(1)</script>"}], title="<i>t</i>")
    read = read_studies(made)
    text = write_comparison(tmp_path / "page", read, differences(read)).read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<i>t" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "/&lt;b&gt;" in text


@pytest.fixture(scope="module")
def pages(studies: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An overview of the studies, and a comparison of three of them."""
    first, folder = studies["first"], tmp_path_factory.mktemp("pages")
    sentences = [f"Sentence {number} of a_very_long_name_{'x' * 60}" for number in range(6)]
    summary_of(read_results(first), sentences, ["Something is missing."]).write(summary_path(first))
    overview = folder / "index.html"
    overview.write_text(
        overview_page("runs", read_overview(first.parent, lambda out: False), datetime.now(UTC)), encoding="utf-8"
    )
    read = read_studies([studies[name] for name in ("first", "code", "data")])
    return [overview, write_comparison(folder / "comparison", read, differences(read))]


@pytest.mark.slow
def test_pages_fit_the_window_stop_nobody_and_unfold_by_keyboard(browser: Browser, pages: list[Path]) -> None:
    for page, (width, scheme) in product(pages, ((PHONE, "dark"), (DESK, "light"))):
        with visited(browser, page.as_uri(), width, color_scheme=scheme) as visit:
            scrolled, shown = visit.widest()
            assert scrolled <= shown
            assert visit.barriers() == []
            assert visit.errors == []
    with visited(browser, pages[0].as_uri()) as visit:
        last = visit.page.get_by_text("Sentence 5")
        assert not last.is_visible()
        visit.page.locator("details summary").focus()
        visit.page.keyboard.press("Enter")
        assert last.is_visible()
