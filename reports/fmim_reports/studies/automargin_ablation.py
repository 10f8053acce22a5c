"""The report of `automargin_ablation`: what one setting of AutoMargin changes, paired by seed with the baseline."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from fmim_reports.drawing.forest import ForestRow, draw_forest, forest_scale
from fmim_reports.drawing.looks import arm_looks
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.comparisons.comparison import Comparison, comparisons, different_tasks_note
from fmim_reports.parts.comparisons.difference import ALPHA, family_note
from fmim_reports.parts.comparisons.words import estimate_text
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.verdict import Verdict, verdict_of
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, completed, on_test
from fmim_reports.stats import ENOUGH_POWER, mean_se, smallest_difference
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import configuration_text, in_percent, p_text
from fmim_reports.writing.tables import Column, Table


def ablation_table(results: Results) -> Table:
    """Return every arm on the test set and its difference to the baseline."""
    listed = comparisons(results)
    found = {one.a.name: one for one in listed}
    rows = []
    for arm in arm_summaries(results):
        chance = mean_se(completed(results.of(arm.name, "replicate"), "chance_mAP"))
        row = {
            "arm": arm,
            "change": arm.search,
            "test_mAP": on_test(results, arm.name, "mAP"),
            "test_CMC_1": on_test(results, arm.name, "CMC_1"),
            "chance_mAP": chance.mean if chance.n else None,
        }
        rows.append(row | ({"n": one.paired.n} | one.cells if (one := found.get(arm.name)) else {}))
    group = "Test, %, mean ± SE over seeds"
    interval = f"{results.metric.label} − baseline, percentage points, paired by seed"
    columns = [
        Column("change", "What is changed"),
        Column("test_mAP", "mAP", "estimate", group, "test_n"),
        Column("test_CMC_1", "CMC top-1, first hit", "estimate", group, "test_n"),
        Column("chance_mAP", "mAP", "percent", "Chance, %"),
        Column("n", "Pairs", "count", interval),
        *under(interval, "points", difference="Difference", low="95 % CI, low", high="high"),
        Column("over", "over", "text", interval),
        Column("p_holm", "p (Holm)", "p", interval),
    ]
    text = (
        "AdaTriplet with AutoMargin, one setting changed at a time; the first row is the baseline. Intervals are "
        "each by itself, not corrected for their number; p values are corrected by Holm over the arms that are scored "
        f"on the baseline's task. Nothing was searched (N_s = 1): all arms use {_configuration(results)}."
    )
    missing = [f"“{one.a.search}”: {one.note}." for one in listed if one.note]
    notes = [different_tasks_note(listed), family_note(listed), *missing]
    return Table("settings", "What each setting changes", caption(results, text), columns, rows, notes, also=[ARM])


def _configuration(results: Results) -> str:
    return " or ".join(dict.fromkeys(configuration_text(c) for arm in results.arms for c in arm.configurations))


def forest_plot(results: Results) -> Plot:
    """Draw the paired differences to the baseline with their intervals; arms of another task have their own scale."""
    drawn, label = [one for one in comparisons(results) if one.paired.n], results.metric.label
    if not drawn:
        raise NothingToDraw("no seed is completed by both the baseline and another arm yet")
    sorts = ([_row(results, one) for one in drawn if one.tested is same] for same in (True, False))
    groups = [group for group in sorts if group]
    scales = [forest_scale(group) for group in groups]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=[len(g) + 0.3 for g in groups])[:, 0]
        for group, scale, axes in zip(groups, scales, panels, strict=True):
            draw_forest(axes, group, scale)
            if group[0].hollow:
                axes.set_title("another task, own scale", fontsize=7, fontweight="normal")
        panels[-1].set_xlabel(f"test {label} minus the baseline\n(percentage points)")

    most = max(one.paired.n for one in drawn)
    short = [f"{one.a.search} n = {one.paired.n}" for one in drawn if one.paired.n < most]
    pairs = f"n = {most} pairs" + (f" except {', '.join(short)}" if short else "")
    text = (
        f"Test {label} minus that of the baseline, mean over pairs of equal seed with 95 % t interval over "
        f"{' or '.join(dict.fromkeys(one.over for one in drawn))} ({pairs}), not corrected for their number."
    )
    if any(not one.tested for one in drawn):
        text += " Open mark, on a scale of its own: another task, so the difference is not an effect of training."
    text += next((scale.note for scale in scales if scale.beyond), "")
    alt = alt_text(f"{one.a.search} {_row(results, one).numbers}" for one in drawn)
    height = 0.9 + 0.36 * len(drawn) + 0.25 * (len(groups) - 1)
    return Plot("forest", "What each setting changes", caption(results, text), alt, height, draw)


def _row(results: Results, one: Comparison) -> ForestRow:
    """Return the row of a difference in the look of its arm, filled where it is on the baseline's task."""
    found, value, look = one.uncertainty, one.paired.difference, arm_looks(results)[one.a.name]
    shown = (look.colour, look.line["marker"], not one.tested)
    return ForestRow(one.a.name, one.a.search, value, found.low, found.high, *shown)


def ablation_verdict(results: Results) -> Verdict:
    """Say which settings matter, with numbers."""
    found, label = comparisons(results), results.metric.label
    baseline = next((arm for arm in arm_summaries(results) if arm.name == results.study.baseline), None)
    first = f"Baseline: test {label} {estimate_text(baseline.test)}." if baseline else "There is no baseline arm."
    findings = [f"{first} N_s = 1: nothing was searched, every arm uses {_configuration(results)}."]
    tested = [one for one in found if one.tested and one.paired.n]
    ranked = sorted(tested, key=lambda one: -abs(one.paired.difference))
    shown, rest = ([one for one in ranked if one.differs is differs] for differs in (True, False))
    if shown:
        listed = _with_p(results, shown)
        findings.append(f"Shown to matter, in percentage points of {label} with 95 % CI (p by Holm): {listed}.")
    elif tested:
        findings.append(f"No setting is shown to change {label} (p by Holm, {len(tested)} settings compared).")
    else:
        findings.append("No seed is completed by both the baseline and another arm yet, so no setting can be judged.")
    if rest:
        findings.append(
            "Not shown to matter, which is no evidence that they do not, largest difference first: "
            f"{_with_p(results, rest)}.{_detectable(rest, len(tested))}"
        )
    return verdict_of(results, findings)


def _with_p(results: Results, found: Sequence[Comparison]) -> str:
    return "; ".join(f"{c.a.search} {_row(results, c).numbers} ({p_text(c.p_holm)}, n = {c.paired.n})" for c in found)


def _detectable(rest: Sequence[Comparison], compared: int) -> str:
    """Return the minimum detectable difference of so few and so varied pairs; empty if that is not known.

    Holm tests the largest of `compared` differences at 0.05 / compared, and the others less strictly.
    """
    found = [smallest_difference(one.variances, one.paired.n, ALPHA / compared) for one in rest if one.variances]
    least = [value for value in found if value is not None]
    if not least:
        return ""
    ends = list(dict.fromkeys(in_percent(value) for value in (min(least), max(least))))
    return (
        f" With this many seeds and this much variation the minimum detectable difference is {' to '.join(ends)} "
        f"percentage points (power {in_percent(ENOUGH_POWER, 0)} %), if it is the largest of the {compared}."
    )


CONTENTS = Contents(
    verdict=ablation_verdict,
    tables=(ablation_table,),
    figures=(forest_plot,),
    every_value=lambda results: every_value_table(results, {arm.name: arm.search for arm in results.arms}),
)
