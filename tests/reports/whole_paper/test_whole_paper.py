"""The report of the whole paper, from folders with known numbers."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmim_reports.reading.results import read_results
from fmim_reports.stats import MeanSE, mean_se
from fmim_reports.studies import baselines
from fmim_reports.whole_paper.build import ITEMS, build_paper
from fmim_reports.whole_paper.differences import (
    AGREES,
    BOUND,
    KNOWN,
    NOT_CLAIMED,
    PAPER_TRAINING,
    UNCERTAIN,
    UNEXPLAINED,
    agreement,
    answer,
    differences,
    interval,
    order_agreement,
)
from fmim_spaces.domain import nested
from tests.support.declared import make_declared_out
from tests.support.factories import best, level, make_out
from tests.support.file_contents import edit

OTHER = {"other training": "20 epochs"}


@pytest.mark.parametrize(
    ("mean", "se", "n", "published_se", "expected"),
    [
        (96.6, 0.1, 5, 0.1, AGREES),
        (95.0, 0.1, 5, 0.1, AGREES),  # −1.6 ± 0.33: a difference, and within 2 points
        (94.5, 0.1, 5, 0.1, KNOWN),  # −2.1 ± 0.33
        (94.8, 0.2, 5, 0.0, KNOWN),  # −1.8 ± 0.56 reaches beyond −2 and not to 0
        (96.6, 1.0, 5, 1.0, UNCERTAIN),
        (78.6, 1.5, 2, None, UNCERTAIN),  # 18 points: t is 12.7 with one degree of freedom
        (96.6, 0.1, 2, None, AGREES),  # ± 12.7 · 0.1 √1.4 = 1.5
        (96.6, 0.15, 2, None, UNCERTAIN),  # ± 2.3
        (50.0, None, 1, 0.1, UNCERTAIN),
        (50.0, 0.0, 2, 0.1, UNCERTAIN),  # two equal values do not say that a third one would be
    ],
)
def test_a_value_agrees_where_its_whole_interval_is_near_and_differs_where_it_excludes_0(
    mean: float, se: float | None, n: int, published_se: float | None, expected: str
) -> None:
    found = interval(MeanSE(mean, se, n, None), MeanSE(96.6, published_se, 5, None))
    assert agreement(found, OTHER) == expected
    assert agreement(found, {}) == (UNEXPLAINED if expected == KNOWN else expected)
    assert agreement(found, OTHER | {"other images": "phantoms"}) == NOT_CLAIMED


@pytest.mark.parametrize(("n", "printed"), [(2, False), (3, False), (5, False), (5, True)])
def test_few_values_at_the_bound_are_said_to_agree_and_few_equal_ones_to_differ(n: int, printed: bool) -> None:
    """Simulated: ours and five published replicates of sd 1, true differences of 0 and of the bound."""
    rng, times = np.random.default_rng(n), 2000
    for true, never, most in ((0.0, UNEXPLAINED, 0.05), (BOUND, AGREES, 0.025)):
        ours, theirs = rng.normal(true, 1, (times, n)), rng.normal(0, 1, (times, 5))
        pairs = ((mean_se(a), mean_se(b)) for a, b in zip(ours, theirs, strict=True))
        said = [agreement(interval(a, b if printed else replace(b, se=None)), {}) for a, b in pairs]
        assert said.count(never) / times < most + 3 * math.sqrt(most / times)


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
    ours, published = 100 * level("triplet_grid", best("triplet_grid")), float(row["published"])
    assert published == 96.6  # Table 1(b)
    assert (float(row["ours"]), float(row["difference"])) == pytest.approx((ours, ours - published))
    assert float(row["se"]) == pytest.approx(100 * 0.01 / math.sqrt(3), rel=1e-3)
    assert (row["item"], row["on"], row["n"]) == ("Tables 1(b) and 1(c)", "validation folds", "3")
    assert (row["agreement"], row["known"]) == (NOT_CLAIMED, "other images, other training, number of folds")
    [overview] = rows(paper, "agreement")
    assert overview["values"] == overview["not_claimed"] == str(len(found))
    assert (
        "No agreement with the paper is claimed, because our images differ ("
        in (paper / "report/report.md").read_text()
    )


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
    """In a study as the paper's, on its data, only the number of folds remains."""
    out = make_out(tmp_path / "automargin_vs_grid")
    data = json.loads((out / "study.json").read_text())["data"] | {"kind": "oai", "synthetic": False}
    edit(out / "study.json", data=data, test_protocol="fold_ensemble", train=nested(PAPER_TRAINING.items()))
    found = differences({"automargin_vs_grid": read_results(out)})
    assert {tuple(row["reasons"]) for row in found} == {("number of folds",)}
    assert len(found) == len(differences({"automargin_vs_grid": read_results(paper / "automargin_vs_grid")}))


def test_chest_radiographs_stand_beside_the_papers_chest_radiographs(tmp_path: Path) -> None:
    studies = {}
    for name in ("baselines", "hyperparameter_selection", "lambda_sweep"):
        out = make_declared_out(tmp_path / name, name, lambda arm, configuration: 0.85)
        data = json.loads((out / "study.json").read_text())["data"] | {"kind": "chestxray14", "synthetic": False}
        edit(out / "study.json", data=data)
        studies[name] = read_results(out)
    found = differences(studies)
    assert {(row["item"], row["on"], row["agreement"] == NOT_CLAIMED) for row in found} == {
        ("Table 1(a)", "validation folds", True),
        ("Suppl. Table 3 (CXR)", "validation folds", False),
        ("Suppl. Table 5", "test set", False),
    }
    by_key = {(row["arm"], row["setting"], row["metric"], row["time"]): row["published"] for row in found}
    assert by_key["AdaTriplet", "AdaTriplet, K_Δ = 2, K_an = 2", "mAP", "4"] == 68.0
    assert by_key["AdaTriplet + grid search", "ε = 0.1, β = 0.25", "mAP", "all"] == 80.08
    assert answer(found, "").startswith(f"Of {len(found) - 16} numbers that the paper has for the same images, 0 agree")
    said = baselines.baselines_verdict(studies["baselines"]).findings
    assert any("published (CXR, 5 seeds)" in one and "AdaTriplet (74.5 ± 0.4 %)" in one for one in said)
    assert (
        "chest radiographs of ChestX-ray14 (Suppl. Table 5)" in baselines.published_table(studies["baselines"]).caption
    )


def test_a_folder_without_any_of_the_studies_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has none of the studies baselines, .*: `fmim paper` runs"):
        build_paper(tmp_path)
