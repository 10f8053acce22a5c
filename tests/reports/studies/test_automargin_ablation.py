"""Reports of `automargin_ablation`, from a folder written by hand with known numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from fmim_reports.drawing.axes import RULE
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.picture import differences_plot
from fmim_reports.parts.comparisons.tables import paired_table
from fmim_reports.reading.results import read_results
from fmim_reports.stats import holm, paired_difference
from fmim_reports.studies import automargin_ablation as ablation
from fmim_reports.writing.tables import to_csv
from tests.support.declared import REPLICATES, record, write_study
from tests.support.file_contents import arm_content
from tests.support.reports import assert_drawn, rows

# Test mAP by seed. "better" is 2.9, 3.0 and 3.1 points over the baseline; "side" has another chance level.
ABLATION = {"reference": (0.5, 0.6, 0.7), "better": (0.529, 0.63, 0.731), "same": (0.5, 0.61, 0.69)}
SIDE = {"identity_side": (0.3, 0.35, 0.5)}


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    values, configuration = ABLATION | SIDE, {"k_delta": 2, "k_an": 2}
    arms = [arm_content(a, "AdaTriplet", f"change {a}", "automargin", configurations=[configuration]) for a in values]
    made = [
        record(a, configuration, seed, value, 0.1 if a in SIDE else 0.2)
        for a, row in values.items()
        for seed, value in enumerate(row)
    ]
    return write_study(tmp_path / "out", "automargin_ablation", arms, made, baseline="reference")


def test_differences_are_paired_by_seed(settings: Path) -> None:
    found = {row["a"]: row for row in rows(paired_table(read_results(settings)))}
    row = found["better"]
    assert (float(row["difference"]), row["n"]) == (pytest.approx(0.03), "3")
    half = 4.302652729911275 * 0.001 / 3**0.5  # t of 0.975 with 2 degrees of freedom, times the SE
    assert (float(row["low"]), float(row["high"])) == (pytest.approx(0.03 - half), pytest.approx(0.03 + half))
    assert "reference" not in found


def test_an_arm_scored_on_another_task_is_shown_but_not_tested(settings: Path) -> None:
    results = read_results(settings)
    raw = {
        arm: paired_difference(dict(enumerate(ABLATION[arm])), dict(enumerate(ABLATION["reference"]))).p
        for arm in ("better", "same")
    }
    table = paired_table(results)
    found = {row["a"]: row for row in rows(table)}
    for arm, p in holm(raw).adjusted.items():
        assert float(found[arm]["p_holm"]) == pytest.approx(p)
    side = found["identity_side"]
    assert side["p_holm"] == ""
    assert float(side["difference"]) == pytest.approx((0.3 + 0.35 + 0.5) / 3 - 0.6)
    assert any("change identity_side (chance: 10.00 %)" in note for note in table.notes)
    assert "is not tested" in ablation.CONTENTS.verdict(results).cautions[0]


def test_the_answer_names_the_settings_that_matter(settings: Path) -> None:
    verdict = ablation.CONTENTS.verdict(read_results(settings))
    assert "change better beats change reference (3.0 points higher)" in verdict.answer
    assert "change same is inconclusive against change reference" in verdict.answer
    assert "change identity_side cannot be tested against change reference" in verdict.answer


def test_the_tidy_table_and_forest_of_the_ablation(settings: Path) -> None:
    results = read_results(settings)
    table = ablation.CONTENTS.every_value(results)
    assert (table.name, to_csv(table).splitlines()[0]) == (
        "automargin_ablation",
        "arm,arm_label,setting,metric,year,on,mean,se,n,published_mean,published_se",
    )
    found = {(row["arm"], row["metric"], row["year"]): row for row in rows(table)}
    row = found["better", "mAP", "all"]
    assert (row["setting"], float(row["mean"]), row["n"]) == ("change better", pytest.approx(0.63), "3")
    plot = differences_plot(results)
    assert "change better against change reference: +3.00 [+2.75, +3.25], better" in plot.alt
    assert "Data: phantom images - synthetic, not radiographs." in plot.caption
    assert_drawn(plot)


def test_a_partial_ablation_says_what_is_missing(settings: Path) -> None:
    (settings / "records/better.c00.seed0.json").unlink()
    results = read_results(settings)
    change = next(c for c in comparisons(results) if c.a.name == "better")
    assert (change.paired.n, change.paired.missing) == (2, (0,))
    assert any(
        "change better against change reference: without a partner: replicate 0" in n
        for n in paired_table(results).notes
    )
    for seed in range(REPLICATES):
        (settings / "records" / f"reference.c00.seed{seed}.json").unlink()
    without = read_results(settings)
    with pytest.raises(NothingToDraw, match="no seed is completed by both"):
        differences_plot(without)
    assert "cannot be compared yet" in ablation.CONTENTS.verdict(without).answer


def test_a_setting_that_breaks_training_stands_at_the_edge_of_the_figure(tmp_path: Path) -> None:
    values, configuration = ABLATION | {"third": (0.49, 0.6, 0.705), "broken": (0.02, 0.05, 0.03)}, {"k_delta": 2}
    arms = [arm_content(a, "AdaTriplet", a, "automargin", configurations=[configuration]) for a in values]
    made = [record(a, configuration, seed, v, 0.2) for a, row in values.items() for seed, v in enumerate(row)]
    out = write_study(tmp_path / "out", "automargin_ablation", arms, made, baseline="reference")
    plot = differences_plot(read_results(out))
    assert RULE in plot.caption
    figure = Figure()
    plot.draw(figure)
    low, high = figure.axes[0].get_xlim()
    assert -10 < low < -2.48 < 3.25 < high < 5  # the intervals of the others, and room for the mark
    assert "← −56.7" in {text.get_text() for text in figure.axes[0].texts}
