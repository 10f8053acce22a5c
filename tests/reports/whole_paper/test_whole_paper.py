"""The report of the whole paper, from folders with known numbers."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from fmim_reports.reading.results import read_results
from fmim_reports.whole_paper.build import ITEMS, build_paper
from fmim_reports.whole_paper.differences import (
    PAPER_TRAINING,
    UNEXPLAINED,
    WITHIN,
    differences,
    explanation,
    order_agreement,
)
from fmim_spaces.domain import nested
from tests.support.factories import best, level, make_out
from tests.support.file_contents import edit


@pytest.mark.parametrize(
    ("se", "published_se", "difference", "expected"),
    [
        (0.3, 0.4, 1.0, WITHIN),  # 2 √(0.3² + 0.4²) = 1
        (0.3, 0.39, 1.0, UNEXPLAINED),
        (0.5, None, -1.0, WITHIN),
        (0.49, None, 1.0, UNEXPLAINED),
        (None, 0.4, 0.0, UNEXPLAINED),
    ],
)
def test_a_difference_is_within_two_standard_errors_or_needs_a_reason(
    se: float | None, published_se: float | None, difference: float, expected: str
) -> None:
    known = {"other images": "phantoms", "other training": "20 epochs"}
    assert explanation(difference, se, published_se, {}) == expected
    named = WITHIN if expected == WITHIN else "other images, other training"
    assert explanation(difference, se, published_se, known) == named


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("paper")
    make_out(out / "automargin_vs_grid")
    build_paper(out)
    return out


def rows(paper: Path, name: str) -> list[dict[str, str]]:
    with (paper / "report" / "tables" / f"{name}.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_every_published_value_stands_beside_ours_with_the_difference(paper: Path) -> None:
    found = {(row["arm"], row["metric"]): row for row in rows(paper, "differences")}
    row = found["Triplet + grid search", "mAP"]
    ours, published = 100 * (level("triplet_grid", best("triplet_grid")) - 0.05), float(row["published"])
    assert published == 96.6  # Table 1(b)
    assert (float(row["ours"]), float(row["difference"])) == pytest.approx((ours, ours - published))
    assert float(row["se"]) == pytest.approx(100 * 0.01581 / math.sqrt(5), rel=1e-3)
    assert (row["item"], row["n"]) == ("Tables 1(b) and 1(c)", "5")
    assert row["explanation"] == "other images, other training, other test protocol, other subjects"
    [overview] = rows(paper, "agreement")
    assert (overview["values"], overview["unexplained"]) == (str(len(found)), "0")


def test_the_order_is_compared_by_ranks() -> None:
    """Ours ranks 1, 2, 4, 3 against 1, 2, 3, 4: ρ = 1 − 6 · 2/(4 · 15)."""
    found = [
        {"metric": "mAP", "time": "all", "ours": ours, "published": published}
        for ours, published in zip((10.0, 20.0, 40.0, 30.0), (90.0, 91.0, 92.0, 93.0), strict=True)
    ]
    assert order_agreement(found) == pytest.approx(0.8)
    assert order_agreement([*found, found[0] | {"metric": "CMC_1", "ours": 99.0}]) == pytest.approx(0.8)
    assert order_agreement(found[:2]) is order_agreement([row | {"ours": 1.0} for row in found]) is None


def test_the_page_has_every_item_in_the_papers_order_and_says_what_is_missing(paper: Path) -> None:
    page, text = (paper / "report/index.html").read_text(), (paper / "report/report.md").read_text()
    for whole, head in ((page, "<h2 id="), (text, "\n## ")):
        places = [whole.find(f"{item.label}: ") for item in ITEMS]
        assert -1 not in places
        assert places == sorted(places)
        assert whole.count(head) >= len(ITEMS)
    assert "The study lambda_sweep has not run yet." in page
    assert "Not run yet: baselines, training_dynamics, margin_sensitivity, lambda_sweep" in page
    assert 'href="../automargin_vs_grid/report/index.html"' in page
    assert "Other training (Tables 1(b) and 1(c)): ours, and in brackets the paper" in text
    assert "epochs 6 (100)" in text
    assert (paper / "report" / "figures" / "validation_heatmap.png").read_bytes().startswith(b"\x89PNG")
    before = {path: path.read_bytes() for path in paper.rglob("*") if path.is_file()}
    build_paper(paper)
    assert {path: path.read_bytes() for path in before} == before


def test_reasons_are_looked_up_in_the_study(paper: Path, tmp_path: Path) -> None:
    """In a study as the paper's, on its data, only what remains is named: our Table 1 is on the test set."""
    out = make_out(tmp_path / "automargin_vs_grid")
    data = json.loads((out / "study.json").read_text())["data"] | {"kind": "oai", "synthetic": False}
    edit(out / "study.json", data=data, test_protocol="fold_ensemble", train=nested(PAPER_TRAINING.items()))
    found = differences({"automargin_vs_grid": read_results(out)})
    assert {tuple(row["reasons"]) for row in found} == {("other subjects",)}
    assert len(found) == len(differences({"automargin_vs_grid": read_results(paper / "automargin_vs_grid")}))


def test_a_folder_without_any_of_the_studies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds none of the studies baselines, .*: fmim paper runs"):
        build_paper(tmp_path)
