"""The study's own metric: it names the columns it fills, it decides what is best, and its direction is respected."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fmim_core.metric_names import METRICS, Metric
from fmim_reports.build import build_report, status_lines
from fmim_reports.parts.budget import CONFIGURATIONS, area, curves
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.words import plain_sentence
from fmim_reports.parts.verdict import verdict_of_comparisons
from fmim_reports.reading.results import read_results
from fmim_reports.stats import expected_best
from tests.support.factories import best, level, make_out
from tests.support.file_contents import edit
from tests.support.reports import table, tables_alone

LOWER = Metric("error", "error rate", higher_is_better=False)
OFFSET = -0.08  # CMC top-1 minus mAP in the synthetic records


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A study of a user's own that selects by CMC top-1."""
    out = make_out(tmp_path / "out", arms=["triplet_q2", "triplet_grid", "triplet_automargin"])
    edit(out / "study.json", study="mine", metric="CMC_1")
    for path in (out / "records").iterdir():
        edit(path, study="mine")
    selection = json.loads((out / "selection.json").read_text())
    arms = selection["arms"]
    changed = {arm: one | {"metric": "CMC_1", "score": one["score"] + OFFSET} for arm, one in arms.items()}
    edit(out / "selection.json", arms=changed)
    return out


def test_the_primary_columns_are_the_metrics(out: Path) -> None:
    tables_alone(out)
    for row in table(out, "search_cost"):
        expected = level(row["arm"], best(row["arm"]))
        assert float(row["validation_CMC_1_mean"]) == pytest.approx(expected + OFFSET)
        assert float(row["test_CMC_1_mean"]) == pytest.approx(expected - 0.05 + OFFSET)
    assert float(table(out, "trials")[0]["CMC_1"]) == pytest.approx(0.63 - 0.01 + OFFSET)
    assert float(table(out, "by_year")[1]["year_2_mean"]) == pytest.approx(0.78 - 0.05 + OFFSET + 1 / 50)
    budget = {row["arm_label"]: row for row in table(out, "search_budget")}
    scores = sorted(level("triplet_grid", {"epsilon": epsilon}) + OFFSET for epsilon in (0.1, 0.25, 0.5, 0.75))
    assert float(budget["Triplet + grid search"]["one"]) == pytest.approx(sum(scores) / 4)
    chosen = {row["configuration"]: row for row in table(out, "configurations") if row["selected"]}
    assert float(chosen["ε = 0.5"]["validation_CMC_1_mean"]) == pytest.approx(0.78 + OFFSET)
    assert float(chosen["ε = 0.5"]["pooled"]) == pytest.approx(0.78 + OFFSET)
    row = table(out, "paired_differences")[0]
    assert (row["a"], float(row["difference"])) == ("triplet_automargin", pytest.approx(0.005))


def test_captions_figures_and_sentences_say_the_metric_and_no_other(out: Path) -> None:
    page = build_report(out).read_text(encoding="utf-8")
    captions = re.findall(r"<caption>.*?</caption>|<figcaption>.*?</figcaption>", page, flags=re.DOTALL)
    assert sum("CMC top-1" in caption for caption in captions) >= 8
    others = [caption for caption in captions if "mAP" in caption]
    assert all("during training" in caption for caption in others), "only mAP is validated during training"
    assert len(others) == 1
    said = verdict_of_comparisons(read_results(out))
    ((_, facts),) = said.details
    assert dict(facts)["Test CMC top-1"].startswith("AutoMargin 65.50 ± 0.71 %")
    assert "mAP" not in " ".join((said.lead, *said.findings, *said.cautions, *dict(facts).values()))
    assert {"cmc_1_by_year", "cmc_1_vs_search_cost"} <= {path.stem for path in (out / "report/figures").iterdir()}
    assert status_lines(read_results(out)) == []  # the recorded selection scores are of this metric


def test_an_unknown_metric_is_refused(out: Path) -> None:
    edit(out / "study.json", metric="F1")
    with pytest.raises(ValueError, match=f"metric 'F1' is unknown; there are {', '.join(METRICS)}"):
        read_results(out)


def test_better_and_worse_follow_the_direction(out: Path) -> None:
    for seed in range(5):
        for arm, value in (("triplet_automargin.c00", 0.8 + seed / 1000), ("triplet_grid.c02", 0.7)):
            edit(out / "records" / f"{arm}.seed{seed}.json", metrics={"validation": None, "test": {"CMC_1": value}})
    results = read_results(out)
    (one,) = comparisons(results)
    assert one.better
    assert ": better" in plain_sentence(one)
    other = replace(one, metric=LOWER)
    assert not other.better
    assert "higher than grid search in error rate (lower is better" in plain_sentence(other)
    assert ": worse" in plain_sentence(other)


def test_a_budget_curve_goes_on_downwards_where_lower_is_better(out: Path) -> None:
    (grid,) = [curve for curve in curves(read_results(out)) if curve.arm.name == "triplet_grid"]
    drawn = expected_best((0.5, 0.2, 0.9), range(1, 4), higher_is_better=False)
    curve = replace(grid, steps=pd.DataFrame({"best": drawn.expected, CONFIGURATIONS: drawn.budgets}))
    assert area(curve, CONFIGURATIONS, [curve]) == pytest.approx(
        sum((a + b) / 2 for a, b in itertools.pairwise(drawn.expected)) / 2
    )
