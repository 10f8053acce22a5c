"""What searches and trials cost: by arm, by stage, by kind of work, and beside what they found."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import draw_line, mean_points
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.drawing.styles import ArmStyle, arm_styles, aside, marker_legend
from fmim_reports.parts.trials import OTHER_SPLITS
from fmim_reports.reading.cost import TotalCost, cost_of, costs
from fmim_reports.reading.once import once
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries
from fmim_reports.writing.captions import caption, reuse_sentence, seeds_phrase
from fmim_reports.writing.columns import ARM, RowName
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, a_choice, a_search_stage, in_every_study
from fmim_reports.writing.tables import Column, Table

_ALL_ARMS = RowName("", "All arms")
_PART_LABELS = {"startup_s": "Start-up", "data_s": "Data", "train_s": "Training", "eval_s": "Evaluation"}


@in_every_study(Section.TABLES, a_search_stage)
def search_cost_table(results: Results) -> Table:
    """One row per arm in plan order; its columns are a contract (`tables/search_cost.csv`)."""
    metric = results.metric
    rows = [
        {
            "arm": arm,
            "loss": arm.loss,
            "group": arm.group,
            "search": arm.search,
            "n_s": arm.cost.n_s,
            "trials": arm.cost.trials,
            "epochs": arm.cost.epochs,
            "device_seconds": arm.cost.device_seconds,
            f"validation_{metric.name}": arm.validation,
            f"test_{metric.name}": arm.test,
        }
        for arm in arm_summaries(results)
    ]
    group = f"{metric.label} in %, mean ± SE (n)"
    columns = [
        ARM,
        Column("loss", "Loss"),
        Column("group", "Group"),
        Column("search", "Search"),
        Column("n_s", "N_s", "count", "Search stage"),
        Column("trials", "Trials", "count", "Search stage"),
        Column("epochs", "Epochs", "count", "Search stage"),
        Column("device_seconds", "Device s", "seconds", "Search stage"),
        Column(f"validation_{metric.name}", "Validation (folds)", "estimate", group, "validation_n", metric=metric),
        Column(f"test_{metric.name}", "Test (seeds)", "estimate", group, "test_n", metric=metric),
    ]
    text = (
        "What each arm's search cost and what it bought. N_s is the number of distinct configurations trained, if "
        "only in part; trials, epochs and device-seconds are those of the search stage, failed, repeated and stopped "
        "ones included; device-seconds are (start-up + data + training + evaluation) × device share. Validation is the "
        "selected configuration."
    )
    return Table("search_cost", "Search cost", caption(results, text), columns, rows)


@in_every_study(Section.FIGURES, a_choice)
def cost_plot(results: Results) -> Plot:
    """The test set against what the search cost, in configurations and in device-seconds."""
    metric = results.metric
    arms = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    if not arms:
        raise NothingToDraw("no arm has a completed test replicate yet")
    styles, groups = arm_styles(results), list(dict.fromkeys(arm.group for arm in arms))
    scale = scale_of({arm.name: Extent.of_estimates([arm.test]) for arm in arms})

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        marks: dict[Axes, list[Mark]] = {left: [], right: []}
        for arm in arms:
            apart = aside(groups.index(arm.group), len(groups), 0.12)
            for axes, x in ((left, arm.cost.n_s * apart), (right, arm.cost.device_seconds)):
                _cost_point(axes, x, arm, styles[arm.name], hidden=arm.name in scale.beyond)
                if x > 0:
                    value = range_text([100 * arm.test.stat.mean])
                    marks[axes].append(Mark(arm.name, x, value, _point(styles[arm.name])))
        left.set(xlabel="configurations trained, $N_s$", ylabel=f"test {metric.label} (%)", xscale="log")
        right.set(xlabel="search device-seconds", xscale="log")
        ticks = sorted({arm.cost.n_s for arm in arms if arm.cost.n_s > 0})
        left.set_xticks(ticks, [str(tick) for tick in ticks])
        right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        for axes in (left, right):
            axes.xaxis.set_minor_locator(NullLocator())
            axes.margins(x=0.15)
        scale_y(marks, scale)
        marker_legend(figure, arms, styles)

    listed = "; ".join(
        f"{arm.label} {in_percent(arm.test.stat.mean, 1)} % for {arm.cost.n_s} configurations" for arm in arms
    )
    text = (
        f"Test {metric.label} of the selected configuration (mean ± SE over seeds, {seeds_phrase(results)}; no bar for "
        f"one seed) against the cost of its search. {'Up' if metric.higher_is_better else 'Down'} and to the left is "
        "better."
    )
    text += scale.note
    unknown = [arm.label for arm in arms if not arm.cost.device_seconds > 0]
    if unknown:
        text += f" Device-seconds are not known, so not drawn, for {', '.join(unknown)}."
    name = f"{metric.name}_vs_search_cost".lower()
    return Plot(name, f"Test {metric.label} by search cost", caption(results, text), listed, 3.0, draw)


def _cost_point(axes: Axes, x: float, arm: ArmSummary, style: ArmStyle, hidden: bool) -> None:
    """A point with its bar; a hidden one keeps its place on the horizontal axis."""
    values = dict.fromkeys(arm.test.values, math.nan) if hidden else arm.test.values
    draw_line(axes, mean_points({x: values}, scale=100), bars=True, **_point(style))
    if hidden:
        axes.update_datalim([(x, 0)], updatey=False)


def _point(style: ArmStyle) -> dict[str, Any]:
    return {**style.line, "linestyle": "", "fillstyle": style.face, "markeredgewidth": 1.1}


@in_every_study(Section.COST_DETAILS)
def accounting_table(results: Results) -> Table:
    """What each arm and stage cost in trials, epochs, images, seconds and energy, failed attempts included."""
    rows = [
        head
        | {"trials": cost.trials, "stopped": cost.stopped, "failed": cost.failed, "repeated": cost.repeated}
        | {"epochs": cost.epochs, "images": cost.images, "device_seconds": cost.device_seconds}
        | {"wasted": cost.wasted, "wall_s": cost.wall_s, "energy_kj": _kilo(cost.energy_j)}
        for head, cost in _by_stage(results)
    ]
    columns = [ARM, Column("stage", "Stage"), Column("n_s", "N_s", "count")]
    counts = {"trials": "All", "stopped": "Stopped", "failed": "Failed", "repeated": "Repeated"}
    columns += [Column(name, label, "count", "Trials") for name, label in counts.items()]
    columns += [Column("epochs", "Epochs", "count"), Column("images", "Images", "count")]
    columns += [
        Column("device_seconds", "All", "seconds", "Device s"),
        Column("wasted", "Failed", "seconds", "Device s"),
    ]
    columns += [Column("wall_s", "Wall s", "seconds")]
    measured = any(row["energy_kj"] is not None for row in rows)
    columns += [Column("energy_kj", "kJ", "number", unit="kJ")] if measured else []
    text = (
        "What every trial cost, failed ones included. Repeated: attempts that failed and were run again; they are "
        "counted in epochs, images and device-seconds, and the latter once more by themselves, under Failed. Wall: "
        "while at least one trial of the row was running; arms run side by side, so theirs add up to more than that of "
        "all."
    )
    text += " Energy: the device's counter × the share of the device." if measured else " Energy was not measured."
    resumed = sum(cost.resumed for trial in results.every_trial if trial.record for cost in trial.record.costs)
    lost = "was interrupted and resumed from a checkpoint: the seconds between the two are in no record"
    notes = [f"{resumed} times a trial {lost}."] if resumed else []
    notes.append(reuse_sentence(results.every_trial))
    return Table("cost_accounting", "Cost by arm and stage", caption(results, text), columns, rows, notes)


@in_every_study(Section.COST_DETAILS)
def time_table(results: Results) -> Table:
    """Where the seconds of each arm and stage went."""
    rows = [
        head
        | dict(cost.parts)
        | {"outside": cost.outside, "device_seconds": cost.device_seconds, "peak_gb": cost.peak_memory / 1e9}
        for head, cost in _by_stage(results)
    ]
    columns = [
        ARM,
        Column("stage", "Stage"),
        *(Column(part, label, "seconds", "Seconds") for part, label in _PART_LABELS.items()),
        Column("outside", "Other", "seconds", "Seconds"),
        Column("device_seconds", "Device s", "seconds"),
        Column("peak_gb", "Peak GB", "number", unit="GB"),
    ]
    text = (
        "Seconds of all trials by kind, failed and repeated ones included. Other: waiting for the runner between "
        "epochs, checkpoints, and the last work of a worker that died; only the last is in the device-seconds."
    )
    return Table("where_time_went", "Time by kind of work", caption(results, text), columns, rows)


@once
def _by_stage(results: Results) -> tuple[tuple[dict[str, Any], TotalCost], ...]:
    """The first columns and the cost of each arm by stage, each with its sum; of the references; of everything."""
    return tuple(_stages(results))


def _stages(results: Results) -> Iterator[tuple[dict[str, Any], TotalCost]]:
    for stage in results.stages:
        of_arms = [(arm, costs(results)[arm.name, stage]) for arm in results.arms]
        for position, (arm, cost) in enumerate(of_arms):
            yield {"arm": arm, "stage": stage, "rule": position == 0, **_n_s(stage, cost.n_s)}, cost
        whole = _of_stage(results, stage)
        # Of each arm its own: two arms' configurations of the same name are not the same training.
        yield {"arm": _ALL_ARMS, "stage": stage, "total": True, **_n_s(stage, sum(c.n_s for _, c in of_arms))}, whole
    if results.other_splits:
        yield {"arm": _ALL_ARMS, "stage": OTHER_SPLITS, "total": True}, cost_of(results.other_splits)
    if results.references:
        yield {"arm": RowName("", "References"), "stage": "reference", "rule": True}, _of_stage(results, "reference")
    if len(results.stages) > 1 or results.references:
        yield {"arm": RowName("", "All"), "stage": "all", "total": True}, cost_of(results.every_trial)


def _of_stage(results: Results, stage: str) -> TotalCost:
    return cost_of(trial for trial in results.trials if trial.stage == stage)


def _n_s(stage: str, n_s: int) -> dict[str, int]:
    """Configurations are counted in the search alone; replicates train the one it selected."""
    return {"n_s": n_s} if stage == "search" else {}


def _kilo(value: float | None) -> float | None:
    return None if value is None else value / 1000
