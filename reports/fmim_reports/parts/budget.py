"""The best validation score that a search buys for its budget, over configurations and over device-seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import draw_line, panels, shared_legend
from fmim_reports.drawing.looks import Look, arm_looks
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.reading.results import Results, once
from fmim_reports.reading.summary import ArmSummary, arm_summaries, on_validation
from fmim_reports.stats import area_under, best_so_far, expected_best
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import decimal, in_percent
from fmim_reports.writing.sections import Section, a_choice, in_every_study
from fmim_reports.writing.tables import Column, Table

CONFIGURATIONS, DEVICE_SECONDS = "configurations", "device-seconds"
UNITS = {CONFIGURATIONS: "tried", DEVICE_SECONDS: "spent"}


@dataclass(frozen=True)
class Curve:
    """The best validation score of an arm's search after 1 … n configurations.

    Args:
        ordered: the best so far in the order of the search; else the expected best of so many that are drawn.
        steps: a row for each number of configurations: the `best`, of several drawn ones with its `sd`, and by the
            names of the units what is spent by then.
        left_out: configurations that did not complete every fold, and so have no score.
    """

    arm: ArmSummary
    ordered: bool
    steps: pd.DataFrame
    left_out: int

    @property
    def ends(self) -> tuple[float, float]:
        """Return the first score that is known, and the last."""
        best = self.steps["best"]
        return best.dropna().iloc[0], best.iloc[-1]

    @property
    def extent(self) -> Extent:
        """Return it in percent; an arm is judged by what its search ends with."""
        known = 100 * self.steps.dropna(subset="best")
        whole = Extent.over(known["best"].tolist(), known["sd"].tolist() if "sd" in known else ())
        return replace(whole, value=100 * self.ends[1])

    def by(self, unit: str) -> pd.DataFrame:
        """Return the steps by what is spent in a unit, from the first known score on; none if it is not known."""
        known = self.steps[self.steps["best"].notna() & (self.steps[unit] > 0)]
        return known.drop_duplicates(unit, keep="last").set_index(unit)


def shared_range(found: Sequence[Curve], unit: str) -> tuple[float, float] | None:
    """Return from which budget all curves have a score to the largest of any; None if that is no range."""
    budgets = [curve.by(unit).index for curve in found]
    if not all(map(len, budgets)):
        return None
    low, high = max(each[0] for each in budgets), max(each[-1] for each in budgets)
    return (low, high) if low < high else None


def area(curve: Curve, unit: str, among: Sequence[Curve]) -> float | None:
    """Return the mean height of a curve over the range it shares with others; a search that is over keeps its best."""
    shared = shared_range(among, unit)
    if shared is None:
        return None
    best = curve.by(unit)["best"]
    if best.index[-1] < shared[1]:
        best = pd.concat([best, pd.Series({shared[1]: best.iloc[-1]})])
    return area_under(best.index.tolist(), best.tolist(), *shared, steps=curve.ordered)


@once
def curves(results: Results) -> tuple[Curve, ...]:
    """Return one curve per arm that has a configuration with a score, in plan order."""
    found = (_curve(results, arm) for arm in arm_summaries(results))
    return tuple(curve for curve in found if curve is not None)


def _curve(results: Results, arm: ArmSummary) -> Curve | None:
    declared, higher = results.arm(arm.name), results.metric.higher_is_better
    rows = []
    for configuration in declared.configurations:
        ran = [trial for trial in results.of(arm.name, "search", configuration) if trial.record is not None]
        if ran:
            found = on_validation(results, arm.name, configuration, results.metric.name)
            score = found.stat.mean if found.complete else math.nan
            rows.append((score, math.fsum(trial.device_seconds for trial in ran)))
    every = pd.DataFrame(rows, columns=["score", "cost"])
    known = every.dropna(subset="score")
    if known.empty:
        return None
    ordered = declared.searcher_facts.ordered or results.stops(arm.name)
    if ordered:
        steps = {"best": best_so_far(every["score"].tolist(), higher), DEVICE_SECONDS: every["cost"].cumsum()}
    else:
        drawn = expected_best(known["score"], range(1, len(known) + 1), known["cost"], higher)
        steps = {"best": drawn.expected, DEVICE_SECONDS: drawn.costs}
        steps |= {"sd": np.sqrt(drawn.variance)} if len(known) > 1 else {}
    frame = pd.DataFrame(steps).assign(**{CONFIGURATIONS: lambda frame: np.arange(1, len(frame) + 1)})
    return Curve(arm, ordered, frame, len(every) - len(known))


@in_every_study(Section.MORE, a_choice)
def budget_table(results: Results) -> Table:
    """Return each arm's best score with one configuration and with all, and the area under its curve."""
    found, rows, notes = curves(results), [], []
    for group in dict.fromkeys(curve.arm.group for curve in found):
        among = [curve for curve in found if curve.arm.group == group]
        rows += [
            {"arm": curve.arm, "curve": "so far" if curve.ordered else "expected", "n": len(curve.steps)}
            | {"one": curve.steps["best"].iloc[0], "all": curve.ends[1]}
            | {"one_sd": curve.steps["sd"].iloc[0] if "sd" in curve.steps else None}
            | {"area_n_s": area(curve, CONFIGURATIONS, among), "area_device": area(curve, DEVICE_SECONDS, among)}
            for curve in among
        ]
        shared = {unit: shared_range(among, unit) for unit in UNITS}
        ranges = [f"{decimal(ends[0], 0)} to {decimal(ends[1], 0)} {unit}" for unit, ends in shared.items() if ends]
        notes += [f"{group}: areas from {' and from '.join(ranges)}."] if ranges else []
    notes += [f"{c.arm.label}: configurations without a score: {c.left_out}." for c in found if c.left_out]
    columns = [
        ARM,
        Column("curve", "Curve"),
        Column("n", "N_s", "count"),
        *under("One configuration, %", "percent", one="Best", one_sd="sd"),
        *under("All N_s, %", "percent", all="Best"),
        *under("Area under the curve, %", "percent", area_n_s="Over N_s", area_device="Over device s"),
    ]
    text = (
        f"Best validation {results.metric.label} for a budget. Expected: of so many configurations drawn at random, "
        "without replacement, from those the arm trained (Tang et al. 2020). So far: in the order in which an adaptive "
        "search proposed them."
    )
    how = (
        "The expected best has the sd between draws; with all configurations it is the best one. An adaptive search "
        "ran once, so it has no sd. The area is the mean height over the range that the arms of a group share; a "
        "search that ended early keeps its best."
    )
    return Table(
        "search_budget", "What a search buys for its budget", caption(results, text), columns, rows, notes, how=how
    )


@in_every_study(Section.MORE_FIGURES, a_choice)
def budget_plot(results: Results) -> Plot:
    """Draw the best validation score over configurations and over device-seconds, one column per group of arms."""
    found, label, looks = curves(results), results.metric.label, arm_looks(results)
    if not any(len(curve.steps) > 1 for curve in found):
        raise NothingToDraw("no arm has two configurations that completed every fold yet")
    scale = scale_of({curve.arm.name: curve.extent for curve in found})
    columns = panels([curve.arm for curve in found])

    def draw(figure: Figure) -> None:
        rows = figure.subplots(len(UNITS), len(columns), sharey=True, squeeze=False)
        marks: dict[Axes, list[Mark]] = {axes: [] for axes in rows.flat}
        for (unit, done), row in zip(UNITS.items(), rows, strict=True):
            for arms, axes in zip(columns.values(), row, strict=True):
                among = [curve for curve in found if curve.arm in arms]
                shared = shared_range(among, unit)
                for curve in among:
                    name, points = curve.arm.name, curve.by(unit)
                    if len(points):  # where it stands, with its range of scores, were it off the scale
                        values = range_text((100 * points["best"]).tolist())
                        marks[axes].append(Mark(name, points.index[0], values, looks[name].line))
                    if len(points) and name not in scale.beyond:
                        _draw(axes, points, curve.ordered, shared[1] if shared else 0.0, looks[name])
                axes.set_xlabel(f"{unit} {done}")
                axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            row[0].set_ylabel(f"best validation {label} (%)")
        for title, axes in zip(columns, rows[0], strict=True):
            axes.set_title(title)
        scale_y(marks, scale)
        shared_legend(figure, rows[0], [looks[curve.arm.name] for curve in found])

    ends = alt_text(
        f"{c.arm.label} from {in_percent(c.ends[0], 1)} % to {in_percent(c.ends[1], 1)} % with {len(c.steps)}"
        for c in found
    )
    text = (
        f"Best validation {label} for a budget. Smooth: the expected best of so many configurations drawn at random "
        "(band ± one standard deviation). Steps: the best so far of a search that adapts. Dotted: the search is over."
    )
    text += scale.note
    return Plot("expected_best", f"Best validation {label} by budget", caption(results, text), ends, 4.2, draw)


def _draw(axes: Axes, points: pd.DataFrame, ordered: bool, high: float, look: Look) -> None:
    """Draw a line with its band as far as the search went, its end marked, and dotted to the end of the range."""
    frame = pd.DataFrame({"x": points.index, "y": 100 * points["best"].to_numpy()})
    frame["said"] = [f"best validation score {decimal(y, 2)} %" for y in frame["y"]]
    if "sd" in points:
        sd = 100 * points["sd"].to_numpy()
        said = frame["said"] + [f", standard deviation {decimal(each, 2)}" for each in sd]
        frame = frame.assign(low=frame["y"] - sd, high=frame["y"] + sd, said=said)
    steps: dict[str, Any] = {"drawstyle": "steps-post"} if ordered else {}
    draw_line(axes, frame, look=look, alpha=0.15, markevery=[len(points) - 1], label=look.label, **steps)
    if high > points.index[-1]:
        frame = pd.DataFrame({"x": [points.index[-1], high], "y": 100 * points["best"].iloc[-1]})
        over = {"marker": "", "linestyle": (0, (1, 2)), "linewidth": 0.9}
        draw_line(axes, frame, **{**look.line, **over})
