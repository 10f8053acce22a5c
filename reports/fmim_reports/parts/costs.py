"""The costs of searches and trials, beside what they found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import aside, draw_line, mean_points, shared_legend
from fmim_reports.drawing.looks import arm_looks
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.comparisons.comparison import device_ratio
from fmim_reports.parts.trials import OTHER_SPLITS
from fmim_reports.reading.cost import TotalCost, compared_with, cost_of, costs, search_cost
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries
from fmim_reports.stats import Bounded
from fmim_reports.writing.captions import alt_text, caption, reuse_sentence, seeds_phrase
from fmim_reports.writing.columns import ARM, RowName, folded, under
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, a_choice, a_search_stage, in_every_study
from fmim_reports.writing.tables import Column, Table

_ALL_ARMS = RowName("", "All arms")


@in_every_study(Section.COSTS, a_search_stage)
def search_cost_table(results: Results) -> Table:
    """Return one row per arm in plan order; its columns are a contract (`tables/search_cost.csv`)."""
    metric, against = results.metric, compared_with(results)
    rows = [
        {"arm": arm, f"validation_{metric.name}": arm.validation, f"test_{metric.name}": arm.test}
        | {"loss": arm.loss, "group": arm.group, "search": arm.search, **vars(arm.cost)}
        | (_ratios(results, arm.name, against[arm.name]) if arm.name in against else {})
        for arm in arm_summaries(results)
    ]
    group = f"{metric.label} in %, mean ± SE"
    beside = [
        Column("against", "Compared with", "listing"),
        *under("Compared with ÷ arm", "ratio", n_s_ratio="N_s", epochs_ratio="Epochs", ratio="Device s (95 % CI)"),
    ]
    columns = [
        ARM,
        *folded(*under("", "text", loss="Loss", group="Group", search="Search")),
        *under("Search stage", "count", n_s="N_s", trials="Trials", epochs="Epochs"),
        Column("device_seconds", "Device s", "seconds", "Search stage"),
        *(beside if against else []),
        *folded(
            Column(f"validation_{metric.name}", "Validation (folds)", "estimate", group, "validation_n", metric=metric),
            Column(f"test_{metric.name}", "Test (seeds)", "estimate", group, "test_n", metric=metric),
        ),
    ]
    text = (
        "What each arm's search cost, with its failed and stopped trials. N_s: distinct configurations trained, if "
        "only in part. Compared with ÷ arm: how many times as much the search of the arm compared with cost."
    )
    how = (
        "Attempts that crashed and were run again are not included. Device-seconds are (start-up + data + training + "
        "evaluation) × device share, and depend on what else the machine was doing; the interval of their ratio is "
        "Fieller's, paired by fold. N_s and epochs are exact. Each arm is compared with the one that its group is "
        "first compared with; tables/paired_differences.csv has every declared comparison. Validation is the selected "
        "configuration."
    )
    return Table("search_cost", "Search cost", caption(results, text), columns, rows, how=how)


def _ratios(results: Results, arm: str, other: str) -> dict[str, Any]:
    """Return the label of another arm, and how many times as much as the arm's search its search cost."""
    ours, theirs = search_cost(results, arm), search_cost(results, other)
    return {
        "against": results.arm(other).label,
        "n_s_ratio": Bounded(theirs.n_s / ours.n_s if ours.n_s else None),
        "epochs_ratio": Bounded(theirs.epochs / ours.epochs if ours.epochs else None),
        "ratio": device_ratio(results, other, arm),
    }


@in_every_study(Section.FIGURES, a_choice)
def cost_plot(results: Results) -> Plot:
    """Draw the test metric against what the search cost, in configurations and in device-seconds."""
    metric = results.metric
    arms = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    if not arms:
        raise NothingToDraw("no arm has a completed test replicate yet")
    looks, groups = arm_looks(results), list(dict.fromkeys(arm.group for arm in arms))
    scale = scale_of({arm.name: Extent.of_estimates([arm.test]) for arm in arms})

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        marks: dict[Axes, list[Mark]] = {left: [], right: []}
        for arm in arms:
            hidden, look = arm.name in scale.beyond, looks[arm.name]
            point = {**look.line, "linestyle": "", "markeredgewidth": 1.1}
            values = dict.fromkeys(arm.test.values, math.nan) if hidden else arm.test.values
            apart = aside(groups.index(arm.group), len(groups), 0.12)
            n_s, seconds = arm.cost.n_s, arm.cost.device_seconds
            for axes, x, said in ((left, n_s * apart, f"{n_s}"), (right, seconds, f"{seconds:,.1f}")):
                points = mean_points({x: values}, scale=100).assign(at=said)
                draw_line(axes, points, look=look, bars=True, label=look.label, linestyle="", markeredgewidth=1.1)
                if hidden:  # it keeps its place on the horizontal axis
                    axes.update_datalim([(x, 0)], updatey=False)
                if x > 0:
                    marks[axes].append(Mark(arm.name, x, range_text([100 * arm.test.stat.mean]), point))
        right.set(xlabel="search device-seconds", xscale="log")
        right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        right.xaxis.set_minor_locator(NullLocator())
        right.margins(x=0.15)
        left.set(ylabel=f"test {metric.label} (%)", xlabel="configurations trained, N_s", xscale="log")
        counts = sorted({arm.cost.n_s for arm in arms if arm.cost.n_s > 0})
        left.set_xticks(counts, list(map(str, counts)))
        left.xaxis.set_minor_locator(NullLocator())
        left.margins(x=0.15)
        scale_y(marks, scale)
        shared_legend(figure, [left], [looks[arm.name] for arm in arms])

    listed = alt_text(
        f"{arm.label} {in_percent(arm.test.stat.mean, 1)} % for {arm.cost.n_s} configurations" for arm in arms
    )
    text = (
        f"Test {metric.label} of the selected configuration (mean ± SE over seeds, {seeds_phrase(results)}) and the "
        f"cost of its search. {'Up' if metric.higher_is_better else 'Down'} and to the left is better."
    )
    text += scale.note
    unknown = [arm.label for arm in arms if not arm.cost.device_seconds > 0]
    if unknown:
        text += f" Device-seconds are not known, so not drawn, for {', '.join(unknown)}."
    name = f"{metric.name}_vs_search_cost".lower()
    return Plot(name, f"Test {metric.label} by search cost", caption(results, text), listed, 3.0, draw)


@in_every_study(Section.COSTS)
def accounting_table(results: Results) -> Table:
    """Return what each arm and stage cost in trials, epochs, images, seconds and energy, and what crashes wasted."""
    rows = [
        {**vars(cost), **cost.parts, "energy_kj": None if cost.energy_j is None else cost.energy_j / 1000}
        | {"peak_gb": cost.peak_memory / 1e9, **head}
        for head, cost in _by_stage(results)
    ]
    measured = any(row["energy_kj"] is not None for row in rows)
    kinds = {"startup_s": "Start-up", "data_s": "Data", "train_s": "Training", "eval_s": "Evaluation"}
    columns = [
        ARM,
        Column("stage", "Stage"),
        Column("n_s", "N_s", "count"),
        *under("Trials", "count", trials="All", stopped="Stopped", failed="Failed", repeated="Repeated"),
        *under("", "count", epochs="Epochs", images="Images"),
        *under("Device s", "seconds", device_seconds="Trials", wasted="Wasted"),
        Column("wall_s", "Wall s", "seconds"),
        *([Column("energy_kj", "kJ", "number", unit="kJ")] if measured else []),
        *folded(
            *under("Seconds", "seconds", **kinds, outside="Other"), Column("peak_gb", "Peak GB", "number", unit="GB")
        ),
    ]
    text = (
        "What every trial cost, failed ones included. Repeated: attempts that failed and were run again; their "
        "device-seconds are wasted and count nowhere else. Wall: while at least one trial of the row was running; arms "
        "run side by side."
    )
    text += " Energy: the device's counter × the share of the device." if measured else " Energy was not measured."
    how = (
        "Other seconds: waiting for the runner between epochs, checkpoints, and the last work of a worker that died; "
        "only the last is in the device-seconds."
    )
    resumed = sum(trial.record.cost.resumed for trial in results.every_trial if trial.record)
    lost = "was interrupted and resumed from a checkpoint: the seconds between the two are in no record"
    notes = [f"{resumed} times a trial {lost}." if resumed else "", reuse_sentence(results.every_trial)]
    return Table("cost_accounting", "Cost by arm and stage", caption(results, text), columns, rows, notes, how=how)


def _by_stage(results: Results) -> Iterator[tuple[dict[str, Any], TotalCost]]:
    """Yield the first cells and the cost of each arm by stage, each with its sum; of the references; of everything."""

    def of_stage(stage: str) -> TotalCost:
        return cost_of(trial for trial in results.trials if trial.stage == stage)

    none = {"n_s": None}  # configurations are counted in the search alone; replicates train the one it selected
    for stage in results.stages:
        arms = [arm for arm in results.arms if stage in results.planned(arm)]
        counted = stage == "search"
        for arm in arms:
            head = {"arm": arm, "stage": stage, "rule": arm is arms[0]}
            yield head if counted else head | none, costs(results)[arm.name, stage]
        # Of each arm its own: two arms' configurations of the same name are not the same training.
        n_s = sum(costs(results)[arm.name, stage].n_s for arm in arms) if counted else None
        yield {"arm": _ALL_ARMS, "stage": stage, "total": True, "n_s": n_s}, of_stage(stage)
    if results.other_splits:
        yield {"arm": _ALL_ARMS, "stage": OTHER_SPLITS, "total": True} | none, cost_of(results.other_splits)
    if results.references:
        head = {"arm": RowName("", "References"), "stage": "reference", "rule": True}
        yield head | none, of_stage("reference")
    if len(results.stages) > 1 or results.references:
        yield {"arm": RowName("", "All"), "stage": "all", "total": True} | none, cost_of(results.every_trial)
