"""What a comparison shows: what differs, arms side by side, numbers for programs, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from fmim_reports.across.differences import differences
from fmim_reports.across.page import arms_table, comparison_as_json, write_comparison
from fmim_reports.across.studies import differing, read_studies
from tests.reports.across.conftest import of_study
from tests.support.factories import make_out
from tests.support.file_contents import edit
from tests.support.reports import rows

Studies = dict[str, Path]


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
    assert "C − A is not given: another test set" in text
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
