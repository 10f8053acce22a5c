"""What the arms learn during training: validation mAP over the epochs, and the work of the triplet term."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fmim_core.metric_names import METRICS
from fmim_core.records import EpochRow
from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import draw_line, mean_points, panels, shared_legend
from fmim_reports.drawing.looks import arm_looks
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.comparisons.varied import change_with_length
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries
from fmim_reports.stats import mean_se
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import decimal, in_percent, listed, named, points
from fmim_reports.writing.sections import Section, a_search_stage, declared_comparisons, in_every_study
from fmim_reports.writing.tables import Column, Table

METRIC = METRICS["mAP"]


Curve = Mapping[int, Mapping[int, float]]
"""An arm's validation mAP at each validated epoch, by fold, at its selected configuration."""


def learning_curves(results: Results) -> dict[str, Curve]:
    """Return the curve of every arm that a declared comparison names, by its name."""
    compared = {name for pair in results.comparisons for name in pair}
    found: dict[str, Curve] = {}
    for arm in arm_summaries(results):
        values: dict[int, dict[int, float]] = {}
        for trial in results.of(arm.name, "search", arm.configuration) if arm.configuration is not None else ():
            for row in trial.record.history if trial.record and trial.status == "completed" else ():
                if row.validation_mAP is not None:
                    values.setdefault(row.epoch, {})[trial.replicate] = row.validation_mAP
        if values and arm.name in compared:
            found[arm.name] = values
    return found


@in_every_study(Section.FIGURES, declared_comparisons, a_search_stage)
def learning_curves_plot(results: Results) -> Plot:
    """Draw validation mAP over the epochs, one panel per group of arms."""
    curves = {arm: mean_points(values, scale=100) for arm, values in learning_curves(results).items()}
    if not curves:
        raise NothingToDraw("no compared arm has a selected configuration with a completed fold yet")
    arms, looks = [arm for arm in arm_summaries(results) if arm.name in curves], arm_looks(results)
    drawn, scale = panels(arms), scale_of({name: _extent(curve) for name, curve in curves.items()})

    def draw(figure: Figure) -> None:
        row = figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0]
        marks: dict[Axes, list[Mark]] = {}
        for (title, members), axes in zip(drawn.items(), row, strict=True):
            marks[axes] = []
            for arm in members:
                look, curve = looks[arm.name], curves[arm.name]
                # At its first epoch, with its values from the lowest to the highest, were it off the scale.
                marks[axes].append(Mark(arm.name, curve["x"].iloc[0], range_text(curve["y"].tolist()), look.line))
                if arm.name not in scale.beyond:
                    draw_line(axes, curve, look=look, label=look.label, markersize=3)
            axes.set(title=title, xlabel="epoch", ylabel="")
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        row[0].set_ylabel(f"validation {METRIC.label} (%)")
        scale_y(marks, scale)
        shared_legend(figure, row, [looks[arm.name] for arm in arms])

    text = (
        f"Validation {METRIC.label} during training of the selected configuration, mean over folds, band ± SE. A curve "
        "that still rises at its end has not been trained to its end, and its arm may rank otherwise after more epochs."
    )
    ends = {arm.label: [(decimal(y, 1), int(x)) for x, y in curves[arm.name][["x", "y"]].to_numpy()] for arm in arms}
    alt = alt_text(
        f"{label} from {points[0][0]} % at epoch {points[0][1]} to {points[-1][0]} % at epoch {points[-1][1]}"
        for label, points in ends.items()
    )
    title = "Learning curves of the compared arms"
    return Plot("learning_curves", title, caption(results, text + scale.note), alt, 2.8, draw)


def _extent(curve: pd.DataFrame) -> Extent:
    """Return the extent of a curve; an arm is judged by where it ends."""
    values, spreads = curve["y"].tolist(), (curve["high"] - curve["y"]).tolist()
    return replace(Extent.over(values, spreads), value=values[-1])


def length_cautions(results: Results) -> list[str]:
    """Say how much the compared arms still gained at the end of their training, of those not trained longer, too."""
    curves, found = learning_curves(results), dict[str, tuple[int, int, float]]()
    for name, other in results.comparisons if results.metric == METRIC else ():
        gains = [last_gain(curves.get(one, {})) for one in (name, other)]
        if gains[0] is None or gains[1] is None or change_with_length(results, name, other) is not None:
            continue
        found |= {results.arm(name).label: gains[0], results.arm(other).label: gains[1]}
    if not found:
        return []
    ends = dict.fromkeys(points(gained, 1) for _, _, gained in sorted(found.values(), key=lambda gain: gain[2]))
    sizes, (before, end, _) = " to ".join(list(ends)[:: max(len(ends) - 1, 1)]), next(iter(found.values()))
    return [
        f"Validation {METRIC.label} of {named(found)} still changed by {sizes} points between epoch {before} and the "
        f"last, {end}. Longer training was not tested and may change their ranking."
    ]


def last_gain(curve: Curve) -> tuple[int, int, float] | None:
    """Return the last two validated epochs and the mean gain between them; None with fewer."""
    if len(curve) < 2:
        return None
    before, end = sorted(curve)[-2:]
    folds = curve[before].keys() & curve[end].keys()
    return before, end, mean_se({fold: curve[end][fold] - curve[before][fold] for fold in folds}).mean


MOST_EMPTY = 0.02
"""Share of an arm's batches that may be without an active triplet before a report warns of it."""


def triplet_terms(results: Results) -> list[dict[str, Any]]:
    """Return a row for every arm with a completed trial, of all epochs of its trials' models, search and replicates.

    `initial`: how its schedule begins, as its configuration says. `epsilon`, `beta`: means over models of the margins
    in force in the first epoch, unless fixed ones differ. `batches`; `empty` of them without an active triplet,
    `empty_share`, `first_empty` as a share of the first epochs' alone, and `without_margin` of them in epochs whose ε
    was 0 throughout. `active_share`: mean over epochs of the share of triplets with a non-zero term. What there is not
    is not a number.
    """
    rows = []
    for arm in (one for one in results.arms if not one.trainer):
        trials = [trial for stage in ("search", "replicate") for trial in results.of(arm.name, stage)]
        records = [t.record for t in trials if t.record and t.status == "completed" and t.record.history]
        histories = [history for record in records for history in record.histories if history]
        if histories:
            initial = str(records[0].config["margins"].get("initial", "")) or "given"
            rows.append({"arm": arm, "initial": initial} | _counted(histories, arm.margins_vary))
    return rows


def _counted(histories: Sequence[Sequence[EpochRow]], margins_vary: bool) -> dict[str, Any]:
    every, first = [row for history in histories for row in history], [history[0] for history in histories]
    batches, empty = sum(row.batches for row in every), _empty(every)
    of_first = sum(row.batches for row in first)
    return {
        **{name: _margin([row.number(name) for row in first], margins_vary) for name in ("epsilon", "beta")},
        "batches": batches,
        "empty": empty,
        "empty_share": empty / batches if batches else math.nan,
        "first_empty": _empty(first) / of_first if of_first else math.nan,
        "without_margin": _empty([row for row in every if row.epsilon == 0]),
        "active_share": fmean(row.active_share for row in every),
    }


def _margin(values: Sequence[float], vary: bool) -> float:
    """Return the mean margin; not-a-number of different fixed ones, whose mean no model was trained with."""
    return fmean(values) if vary or len(set(values)) == 1 else math.nan


def _empty(rows: Sequence[EpochRow]) -> int:
    return sum(row.empty_batches for row in rows)


@in_every_study(Section.MORE)
def triplet_terms_table(results: Results) -> Table:
    """Return initial margins, empty batches and the active share of every arm whose loss has triplets."""
    rows = [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in triplet_terms(results)
        if not math.isnan(row["active_share"])
    ]
    first, empty = "First epoch", "Batches without an active triplet"
    columns = [
        ARM,
        Column("initial", "Initial margins", "text", first),
        *under(first, "number", epsilon="ε", beta="β"),
        Column("batches", "Batches", "count"),
        Column("empty", "All", "count", empty),
        *under(empty, "percent", empty_share="%", first_empty="% of the first epoch"),
        Column("active_share", "Active triplets, %", "percent"),
    ]
    text = (
        "The triplet term in training, over all completed trials of an arm (search and replicates). A batch without an "
        "active triplet trains nothing through this term."
    )
    how = (
        "Initial margins: measured, by the schedule's own formula on the first epoch's batches before anything is "
        "learnt; released, ε = 0.25 and β = 0; paper, both 0; given, since the margins never change, and left out "
        "where configurations differ in them. Measured is the default: it needs no value, and it leaves no first epoch "
        "without triplets."
    )
    return Table("triplet_terms", "Work of the triplet term", caption(results, text), columns, rows, how=how)


def empty_batches_caution(results: Results) -> list[str]:
    """Name the arms with more than 2 % of batches without an active triplet; with the reason if their ε was 0."""
    found: dict[bool, list[str]] = {}
    for row in (one for one in triplet_terms(results) if one["empty_share"] > MOST_EMPTY):
        arm = f"{row['arm'].label} ({in_percent(row['empty_share'], 0)} %)"
        found.setdefault(row["without_margin"] == row["empty"], []).append(arm)
    reason = {True: " Their schedule had set ε = 0, with which semi-hard selection (0 < Δ ≤ ε) finds none.", False: ""}
    return [f"Batches without an active triplet: {listed(arms)}.{reason[zero]}" for zero, arms in found.items()]
