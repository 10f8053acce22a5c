"""What a search buys for its budget: the best validation score over configurations and over device-seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fmim_core.metric_names import Metric
from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import draw_line
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.drawing.styles import ArmStyle, arm_styles, panels, shared_legend
from fmim_reports.reading.once import once
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, arm_summaries, on_validation
from fmim_reports.stats import area_under, best_so_far, expected_best
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import decimal, in_percent
from fmim_reports.writing.sections import Section, a_choice, in_every_study
from fmim_reports.writing.tables import Column, Table

CONFIGURATIONS, DEVICE_SECONDS = "configurations", "device-seconds"
UNITS = (CONFIGURATIONS, DEVICE_SECONDS)
Points = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Curve:
    """The best validation score of an arm's search after b = 1 … n configurations, and what these cost.

    Args:
        metric: of the scores, which says what is best.
        ordered: the best so far in the order of the search; else the expected best of b drawn without replacement.
        best, sd: its mean, and its standard deviation if not ordered.
        device_seconds: spent by then.
        left_out: configurations that did not complete every fold, and so have no score.
    """

    arm: ArmSummary
    metric: Metric
    ordered: bool
    best: tuple[float, ...]
    sd: tuple[float, ...]
    device_seconds: tuple[float, ...]
    left_out: int

    @property
    def n(self) -> int:
        return len(self.best)

    @property
    def extent(self) -> Extent:
        """In percent; an arm is judged by what its search ends with."""
        known = [(best, sd) for best, sd in zip_longest(self.best, self.sd, fillvalue=0.0) if not math.isnan(best)]
        whole = Extent.over([100 * best for best, _ in known], [100 * sd for _, sd in known])
        return replace(whole, value=100 * self.best[-1])

    def points(self, unit: str) -> Points:
        """Budgets and best scores, from the first that is known on; budgets rise, and are none where not known."""
        spent = range(1, self.n + 1) if unit == CONFIGURATIONS else self.device_seconds
        pairs = zip(spent, self.best, strict=True)
        known = {budget: best for budget, best in pairs if not math.isnan(best) and budget > 0}
        return list(known), list(known.values())

    def until(self, unit: str, high: float) -> Points:
        """The same up to a budget: a search that has ended keeps its best."""
        budgets, best = self.points(unit)
        if not budgets or budgets[-1] >= high:
            return budgets, best
        return [*budgets, high], [*best, best[-1]]


def shared_range(found: Sequence[Curve], unit: str) -> tuple[float, float] | None:
    """From the budget at which all curves have a score to the largest of any; None if that is no range."""
    ends = [curve.points(unit)[0] for curve in found]
    if not all(ends):
        return None
    low, high = max(budgets[0] for budgets in ends), max(budgets[-1] for budgets in ends)
    return (low, high) if low < high else None


def area(curve: Curve, unit: str, among: Sequence[Curve]) -> float | None:
    """The mean height of a curve over the range it shares with others; None without one."""
    shared = shared_range(among, unit)
    return None if shared is None else area_under(*curve.until(unit, shared[1]), *shared, steps=curve.ordered)


@once
def curves(results: Results) -> tuple[Curve, ...]:
    """One curve per arm that has a configuration with a score, in plan order."""
    found = (_curve(results, arm) for arm in arm_summaries(results))
    return tuple(curve for curve in found if curve is not None)


def _curve(results: Results, arm: ArmSummary) -> Curve | None:
    metric, declared = results.metric, results.arm(arm.name)
    scores, costs = [], []
    for configuration in declared.configurations:
        ran = [trial for trial in results.of(arm.name, "search", configuration) if trial.record is not None]
        if ran:
            found = on_validation(results, arm.name, configuration, metric.name)
            scores.append(found.stat.mean if found.complete else math.nan)
            costs.append(math.fsum(trial.device_seconds for trial in ran))
    known = [not math.isnan(score) for score in scores]
    if not any(known):
        return None
    left_out = known.count(False)
    if declared.searcher_facts.ordered or results.stops(arm.name):
        best, spent = best_so_far(scores, metric.higher_is_better), tuple(np.cumsum(costs).tolist())
        return Curve(arm, metric, True, best, (), spent, left_out)
    scores, costs = ([v for v, is_known in zip(values, known, strict=True) if is_known] for values in (scores, costs))
    drawn = expected_best(scores, range(1, len(scores) + 1), costs, metric.higher_is_better)
    sd = tuple(map(math.sqrt, drawn.variance))
    return Curve(arm, metric, False, drawn.expected, sd, drawn.costs, left_out)


@in_every_study(Section.MORE, a_choice)
def budget_table(results: Results) -> Table:
    """Each arm's best score with one configuration and with all, and the area under its curve."""
    found, rows, notes = curves(results), [], []
    for group, among in _by_group(found).items():
        for curve in among:
            areas = {unit: area(curve, unit, among) for unit in UNITS}
            rows.append(_row(curve) | {"area_n_s": areas[CONFIGURATIONS], "area_device": areas[DEVICE_SECONDS]})
        notes += _ranges(group, among)
    notes += [f"{c.arm.label}: configurations without a score: {c.left_out}." for c in found if c.left_out]
    area_group, sd = "Area under the curve, %", "sd"
    columns = [
        ARM,
        Column("curve", "Curve"),
        Column("n", "N_s", "count"),
        Column("one", "Best", "percent", "One configuration, %"),
        Column("one_sd", sd, "percent", "One configuration, %"),
        Column("all", "Best", "percent", "All N_s, %"),
        Column("area_n_s", "Over N_s", "percent", area_group),
        Column("area_device", "Over device s", "percent", area_group),
    ]
    text = (
        f"Best validation {results.metric.label} for a budget. Expected: of so many configurations drawn at random, "
        "without replacement, from those the arm trained (Tang et al. 2020), with the sd between draws; of all of them "
        "it is that of the selected one. So far: in the order in which an adaptive search proposed them; one search, "
        "so no sd. The area is the mean height over the range that the arms of a group share, of which a search that "
        "ended early keeps its best."
    )
    return Table("search_budget", "What a search buys for its budget", caption(results, text), columns, rows, notes)


def _by_group(found: Sequence[Curve]) -> dict[str, list[Curve]]:
    groups = dict.fromkeys(curve.arm.group for curve in found)
    return {group: [curve for curve in found if curve.arm.group == group] for group in groups}


def _row(curve: Curve) -> dict[str, Any]:
    sd = curve.sd if curve.n > 1 else ()
    ends = {"one": curve.best[0], "all": curve.best[-1]} | ({"one_sd": sd[0]} if sd else {})
    return {"arm": curve.arm, "curve": "so far" if curve.ordered else "expected", "n": curve.n} | ends


def _ranges(group: str, among: Sequence[Curve]) -> list[str]:
    """Over which ranges the areas of a group of arms are."""
    shared = {unit: shared_range(among, unit) for unit in UNITS}
    ranges = [f"{decimal(s[0], 0)} to {decimal(s[1], 0)} {unit}" for unit, s in shared.items() if s is not None]
    return [f"{group}: areas from {' and from '.join(ranges)}."] if ranges else []


@in_every_study(Section.FIGURES, a_choice)
def budget_plot(results: Results) -> Plot:
    """The best validation score over configurations and over device-seconds, one column per group of arms."""
    found, label, styles = curves(results), results.metric.label, arm_styles(results)
    if not any(curve.n > 1 for curve in found):
        raise NothingToDraw("no arm has two configurations that completed every fold yet")
    scale = scale_of({curve.arm.name: curve.extent for curve in found})
    columns = panels([curve.arm for curve in found])

    def draw(figure: Figure) -> None:
        rows = figure.subplots(len(UNITS), len(columns), sharey=True, squeeze=False)
        marks: dict[Axes, list[Mark]] = {axes: [] for axes in rows.flat}
        for unit, row in zip(UNITS, rows, strict=True):
            for arms, axes in zip(columns.values(), row, strict=True):
                among = [curve for curve in found if curve.arm in arms]
                shared = shared_range(among, unit)
                for curve in among:
                    marks[axes] += _mark(curve, unit, styles[curve.arm.name])
                    if curve.arm.name not in scale.beyond:
                        _draw(axes, curve, unit, shared[1] if shared else 0.0, styles[curve.arm.name])
                axes.set_xlabel(f"{unit} spent" if unit == DEVICE_SECONDS else f"{unit} tried")
                axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            row[0].set_ylabel(f"best validation {label} (%)")
        for title, axes in zip(columns, rows[0], strict=True):
            axes.set_title(title)
        scale_y(marks, scale)
        shared_legend(figure, rows[0])

    ends = "; ".join(
        f"{c.arm.label} from {in_percent(c.points(CONFIGURATIONS)[1][0], 1)} % to {in_percent(c.best[-1], 1)} % "
        f"with {c.n}"
        for c in found
    )
    text = (
        f"Best validation {label} for a budget: expected, when so many configurations are drawn at random, without "
        "replacement, from those an arm trained (Tang et al. 2020; band ± one standard deviation); in steps, the best "
        "so far of searches that adapt or stop trials. Dotted: the search is over. A curve that starts "
        f"{'high' if results.metric.higher_is_better else 'low'} needs little search."
    )
    text += scale.note
    return Plot("expected_best", f"Best validation {label} by budget", caption(results, text), ends, 4.2, draw)


def _mark(curve: Curve, unit: str, style: ArmStyle) -> list[Mark]:
    """The arm at its first budget, with its scores from the first to the last, were it off the scale."""
    budgets, best = curve.points(unit)
    return [Mark(curve.arm.name, budgets[0], range_text([100 * score for score in best]), style.line)] if best else []


def _draw(axes: Axes, curve: Curve, unit: str, high: float, style: ArmStyle) -> None:
    """A line with its band as far as the search went, its end marked, and dotted to the end of the range."""
    budgets, best = curve.points(unit)
    if not budgets:
        return
    steps = {"drawstyle": "steps-post"} if curve.ordered else {}
    means = 100 * np.asarray(best)
    frame = pd.DataFrame({"x": budgets, "y": means})
    if curve.sd and curve.n > 1:
        frame = frame.assign(low=means - 100 * np.asarray(curve.sd), high=means + 100 * np.asarray(curve.sd))
    end = [len(budgets) - 1]
    draw_line(axes, frame, alpha=0.15, **{**style.line, **steps}, markevery=end, label=style.label)
    if high > budgets[-1]:
        frame = pd.DataFrame({"x": [budgets[-1], high], "y": 100 * best[-1]})
        draw_line(axes, frame, color=style.line["color"], linestyle=(0, (1, 2)), linewidth=0.9)
