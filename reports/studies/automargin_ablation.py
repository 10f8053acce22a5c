"""The report of `automargin_ablation`: what one setting of AutoMargin changes, paired by seed with the reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.parts.overview import caption
from reports.parts.tidy_arms import tidy_arms_table
from reports.parts.verdict import Verdict, estimate_text, generic_verdict
from reports.reading.results import Results
from reports.reading.summary import ArmSummary, arm_summaries, completed
from reports.stats import Holm, MeanSE, PairedDifference, holm, mean_se, paired_difference, smallest_difference
from reports.writing.formats import configuration_text, p_text, percent, points
from reports.writing.plotting import NothingToDraw, Plot
from reports.writing.tables import Column, Table

REFERENCE = "reference"
_SAME, _OTHER, _ZERO = "#0072B2", "#A8500A", "#7A828C"


@dataclass(frozen=True)
class Change:
    """An arm against the reference; `same_question` unless its random ranking scores differently."""

    arm: ArmSummary
    chance: MeanSE
    paired: PairedDifference
    same_question: bool


def changes(results: Results) -> list[Change]:
    """Every arm but the reference, in plan order.

    Two arms ask the same question if a random ranking scores the same: with each knee its own identity a query has
    half the matches, so its mAP differs without any difference in training.
    """
    values, chance = _values(results, REFERENCE, "mAP"), _chance(results, REFERENCE)
    found = []
    for arm in arm_summaries(results):
        if arm.name != REFERENCE:
            ours = _chance(results, arm.name)
            paired = paired_difference(_values(results, arm.name, "mAP"), values)
            found.append(Change(arm, ours, paired, _equal(ours.mean, chance.mean)))
    return found


def _values(results: Results, arm: str, metric: str) -> dict[int, float]:
    return completed(results.of(arm, "replicate"), metric)


def _chance(results: Results, arm: str) -> MeanSE:
    return mean_se(_values(results, arm, "chance_mAP"))


def _equal(a: float, b: float) -> bool:
    """Whether two chance levels are equal, or one is not known, which is no reason to set an arm apart."""
    return math.isnan(a) or math.isnan(b) or math.isclose(a, b, abs_tol=1e-6)


def corrected(found: Sequence[Change]) -> Holm:
    """Holm's correction over the arms that ask the reference's question: the others test no effect of training."""
    return holm({change.arm.name: change.paired.p for change in found if change.same_question})


def ablation_tidy_table(results: Results) -> Table:
    """`tables/automargin_ablation.csv`; its columns are a contract."""
    return tidy_arms_table(results, {arm["name"]: arm["search"] for arm in results.arms})


def ablation_table(results: Results) -> Table:
    """Every arm on the test set and its difference to the reference."""
    found = {change.arm.name: change for change in changes(results)}
    adjusted = corrected(list(found.values())).adjusted
    rows: list[dict[str, Any]] = []
    for arm in arm_summaries(results):
        chance = _chance(results, arm.name)
        row = {"change": arm.search, "test_mAP": arm.test, "test_CMC_1": arm.test_cmc}
        row["chance_mAP"] = chance.mean if chance.n else None
        if arm.name in found:
            change = found[arm.name]
            p = adjusted.get(arm.name, math.nan)
            row |= {
                "n": change.paired.n,
                "difference": change.paired.difference if change.paired.n else None,
                "low": change.paired.low,
                "high": change.paired.high,
                "p_holm": None if math.isnan(p) else p,
            }
        rows.append(row)
    group, interval = "Test, %, mean ± SE over seeds (n)", "mAP − reference, points (95 % CI), paired by seed"
    columns = [
        Column("change", "What is changed"),
        Column("test_mAP", "mAP", "estimate", group, "test_n"),
        Column("test_CMC_1", "CMC top-1", "estimate", group, "test_n"),
        Column("chance_mAP", "mAP", "percent", "Chance, %"),
        Column("n", "Pairs", "count", interval),
        Column("difference", "Difference", "points", interval),
        Column("low", "CI low", "points", interval),
        Column("high", "CI high", "points", interval),
        Column("p_holm", "p (Holm)", "p", interval),
    ]
    text = (
        "AdaTriplet with AutoMargin, one setting changed at a time; the first row is the reference. Intervals are "
        "each by itself, not corrected for their number; p values are corrected by Holm over the arms that ask the "
        f"reference's question. Nothing was searched (N_s = 1): all arms use {_configuration(results)}."
    )
    listed = list(found.values())
    notes = [_other_question(listed), corrected(listed).note, *map(_note, listed)]
    return Table("settings", "What each setting changes", caption(results, text), columns, rows, notes)


def _configuration(results: Results) -> str:
    listed = dict.fromkeys(configuration_text(c) for arm in results.arms for c in arm["configurations"])
    return " or ".join(listed)


def _note(change: Change) -> str:
    """What could not be computed of a difference, or which seeds have no partner; empty if nothing."""
    return f"“{change.arm.search}”: {change.paired.note}." if change.paired.note else ""


def _other_question(found: Sequence[Change]) -> str:
    """Which arms' differences are not a training effect, and why."""
    others = [f"“{c.arm.search}” (chance mAP {percent(c.chance.mean)} %)" for c in found if not c.same_question]
    if not others:
        return ""
    return (
        f"{', '.join(others)} asks another question than the reference: with each knee its own identity a query has "
        "half the matches, so a random ranking scores differently. Its difference is not a training effect and is "
        "not tested."
    )


def forest_plot(results: Results) -> Plot:
    """Paired differences to the reference with their intervals; an arm that asks another question has its own scale."""
    drawn = [change for change in changes(results) if change.paired.n]
    if not drawn:
        raise NothingToDraw("no seed is completed by both the reference and another arm yet")
    groups = [group for same in (True, False) if (group := [c for c in drawn if c.same_question is same])]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=[len(g) + 0.3 for g in groups])[:, 0]
        for group, axes in zip(groups, panels, strict=True):
            _forest(axes, group)
        panels[-1].set_xlabel("test mAP minus the reference (points)")

    text = (
        "Test mAP minus that of the reference (AutoMargin as the authors run it), mean over pairs of equal seed, with "
        f"its 95 % t interval ({_pairs_phrase(drawn)}); none without two pairs. The intervals are not corrected for "
        "their number."
    )
    if any(not change.same_question for change in drawn):
        text += (
            " Open circle, on a scale of its own: another question, with half the matches and another chance level, "
            "so not a training effect."
        )
    alt = "; ".join(f"{change.arm.search} {interval_text(change.paired)}" for change in drawn)
    height = 0.9 + 0.36 * len(drawn) + 0.25 * (len(groups) - 1)
    return Plot("forest", "What each setting changes", caption(results, text), alt, height, draw)


def _forest(axes: Axes, group: Sequence[Change]) -> None:
    for place, change in enumerate(group):
        paired, same = change.paired, change.same_question
        colour = _SAME if same else _OTHER
        if paired.low is not None and paired.high is not None:
            axes.plot(
                [100 * paired.low, 100 * paired.high], [place, place], color=colour, lw=1.6, solid_capstyle="butt"
            )
        face = colour if same else "#fdfdfd"
        axes.plot(100 * paired.difference, place, "o", ms=5, color=colour, mfc=face, mew=1.2)
    if not group[0].same_question:
        axes.set_title("another question, own scale", fontsize=7, fontweight="normal")
    axes.axvline(0, color=_ZERO, lw=0.8, zorder=1)
    axes.set_yticks(range(len(group)), [f"{c.arm.search}\n{interval_text(c.paired)}" for c in group])
    axes.set_ylim(len(group) - 0.5, -0.5)
    axes.margins(x=0.06)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _pairs_phrase(drawn: Sequence[Change]) -> str:
    most = max(change.paired.n for change in drawn)
    short = [f"{change.arm.search} n = {change.paired.n}" for change in drawn if change.paired.n < most]
    return f"n = {most} pairs" + (f" except {', '.join(short)}" if short else "")


def interval_text(paired: PairedDifference) -> str:
    """`+0.30 [−0.42, +1.02]`, in points."""
    interval = "" if paired.low is None else f" [{points(paired.low)}, {points(paired.high)}]"
    return f"{points(paired.difference)}{interval}"


def ablation_verdict(results: Results) -> Verdict:
    """Which settings matter, with numbers."""
    general, found = generic_verdict(results), changes(results)
    reference = next((arm for arm in arm_summaries(results) if arm.name == REFERENCE), None)
    first = (
        "There is no reference arm." if reference is None else f"Reference: test mAP {estimate_text(reference.test)}."
    )
    findings = [f"{first} N_s = 1: nothing was searched, every arm uses {_configuration(results)}.", *_answer(found)]
    return replace(
        general, findings=tuple(findings), cautions=(*filter(None, [_other_question(found)]), *general.cautions)
    )


def _answer(found: Sequence[Change]) -> list[str]:
    adjusted = corrected(found).adjusted
    tested = [c for c in found if c.same_question and c.paired.n]
    if not tested:
        return ["No seed is completed by both the reference and another arm yet, so no setting can be judged."]
    ranked = sorted(tested, key=lambda c: -abs(c.paired.difference))
    shown = [c for c in ranked if adjusted[c.arm.name] < 0.05]
    rest = [c for c in ranked if c not in shown]
    said = []
    if shown:
        listed = "; ".join(f"{_with_p(c, adjusted)}" for c in shown)
        said.append(f"Shown to matter, in points of mAP with 95 % CI (p by Holm): {listed}.")
    else:
        said.append(f"No setting is shown to change mAP (p by Holm, {len(tested)} settings compared).")
    if rest:
        listed = "; ".join(f"{_with_p(c, adjusted)}" for c in rest)
        said.append(
            f"Not shown to matter, which is no evidence that they do not, largest difference first: {listed}."
            f"{_could_find(rest, len(tested))}"
        )
    return said


def _could_find(rest: Sequence[Change], compared: int) -> str:
    """Which differences so few and so varied pairs were able to find; empty if that is not known.

    Holm tests the largest of `compared` differences at 0.05 / compared, and the others less strictly.
    """
    found = [smallest_difference(change.paired.sd, change.paired.n, alpha=0.05 / compared) for change in rest]
    least = [one.value for one in found if one.value is not None]
    if not least:
        return ""
    ends = list(dict.fromkeys(percent(value) for value in (min(least), max(least))))
    return (
        f" So many seeds, varying so much, find a true difference of {' to '.join(ends)} points "
        f"{percent(found[0].power, 0)} % of the time, if it is the largest of the {compared}."
    )


def _with_p(change: Change, adjusted: dict[str, float]) -> str:
    tested = f"{p_text(adjusted[change.arm.name])}, n = {change.paired.n}"
    return f"{change.arm.search} {interval_text(change.paired)} ({tested})"
