"""What a search buys for its budget: the best validation score over configurations and over device-seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from reports.parts.figures import shared_legend
from reports.parts.overview import caption
from reports.reading.results import Results
from reports.reading.summary import on_validation
from reports.stats import area_under, best_so_far, expected_best
from reports.writing.formats import decimal, percent
from reports.writing.plotting import NothingToDraw, Plot, look
from reports.writing.tables import Column, Table

ORDERED = ("tpe", "asha")  # searches whose configurations cannot be taken in any other order


CONFIGURATIONS, DEVICE_SECONDS = "configurations", "device-seconds"
UNITS = (CONFIGURATIONS, DEVICE_SECONDS)
Points = tuple[Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class Curve:
    """The best validation mAP of an arm's search after b = 1 … n configurations, and what these cost.

    Args:
        ordered: the best so far in the order of the search; else the expected best of b drawn with replacement.
        best, sd: its mean, and its standard deviation if not ordered.
        device_seconds: spent by then. scores: of the configurations drawn from; none if ordered.
        left_out: configurations that did not complete every fold, and so have no score.
    """

    arm: Mapping[str, Any]
    ordered: bool
    best: tuple[float, ...]
    sd: tuple[float, ...]
    device_seconds: tuple[float, ...]
    scores: tuple[float, ...]
    left_out: int

    @property
    def n(self) -> int:
        return len(self.best)

    def points(self, unit: str) -> Points:
        """Budgets and best scores, from the first that is known on; budgets rise, and are none where not known."""
        spent = range(1, self.n + 1) if unit == CONFIGURATIONS else self.device_seconds
        pairs = zip(spent, self.best, strict=True)
        known = {budget: best for budget, best in pairs if not math.isnan(best) and budget > 0}
        return list(known), list(known.values())

    def until(self, unit: str, high: float) -> Points:
        """The same up to a budget: a search that has ended keeps its best, draws with replacement go on."""
        budgets, best = self.points(unit)
        if not budgets or budgets[-1] >= high:
            return budgets, best
        if self.ordered:
            return [*budgets, high], [*best, best[-1]]
        draws = range(1, math.floor(high / budgets[0]) + 2)
        return [budgets[0] * draw for draw in draws], expected_best(self.scores, draws).expected


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


def curves(results: Results) -> list[Curve]:
    """One curve an arm that has a configuration with a score, in plan order."""
    found = (_curve(results, arm) for arm in results.arms)
    return [curve for curve in found if curve is not None]


def _curve(results: Results, arm: Mapping[str, Any]) -> Curve | None:
    scores, costs = [], []
    for configuration in arm["configurations"]:
        ran = [trial for trial in results.of(arm["name"], "search", configuration) if trial.record is not None]
        if ran:
            found = on_validation(results, arm["name"], configuration, "mAP")
            scores.append(found.stat.mean if found.complete else math.nan)
            costs.append(math.fsum(trial.device_seconds for trial in ran))
    known = [not math.isnan(score) for score in scores]
    if not any(known):
        return None
    left_out = known.count(False)
    if (arm.get("searcher") or {}).get("kind") in ORDERED or results.stops(arm["name"]):
        so_far = best_so_far(scores, costs)
        return Curve(arm, True, so_far.best, (), so_far.costs, (), left_out)
    scores, costs = ([v for v, is_known in zip(values, known, strict=True) if is_known] for values in (scores, costs))
    drawn = expected_best(scores, range(1, len(scores) + 1), costs)
    sd = tuple(map(math.sqrt, drawn.variance))
    return Curve(arm, False, drawn.expected, sd, drawn.costs, tuple(scores), left_out)


def budget_table(results: Results) -> Table:
    """Each arm's best score with one configuration and with all, and the area under its curve."""
    found, rows, notes = curves(results), [], []
    for loss, among in _by_loss(found).items():
        for curve in among:
            areas = {unit: area(curve, unit, among) for unit in UNITS}
            rows.append(_row(curve) | {"area_n_s": areas[CONFIGURATIONS], "area_device": areas[DEVICE_SECONDS]})
        notes += _ranges(loss, among)
    notes += [f"{c.arm['label']}: configurations without a score: {c.left_out}." for c in found if c.left_out]
    area_group, sd = "Area under the curve, %", "sd"
    columns = [
        Column("arm", "Arm"),
        Column("curve", "Curve"),
        Column("n", "N_s", "count"),
        Column("one", "Best", "percent", "One configuration, %"),
        Column("one_sd", sd, "percent", "One configuration, %"),
        Column("all", "Best", "percent", "All N_s, %"),
        Column("all_sd", sd, "percent", "All N_s, %"),
        Column("area_n_s", "Over N_s", "percent", area_group),
        Column("area_device", "Over device s", "percent", area_group),
    ]
    text = (
        "Best validation mAP for a budget. Expected: of so many configurations drawn at random, with replacement, from "
        "those the arm trained (Dodge et al. 2019), with its standard deviation. So far: in the order in which an "
        "adaptive search proposed them; one search, so no deviation. The area is the mean height over the range that "
        "the arms of a loss share, of which a search that ended early keeps its best."
    )
    return Table("search_budget", "What a search buys for its budget", caption(results, text), columns, rows, notes)


def _by_loss(found: Sequence[Curve]) -> dict[str, list[Curve]]:
    losses = dict.fromkeys(curve.arm["loss"] for curve in found)
    return {loss: [curve for curve in found if curve.arm["loss"] == loss] for loss in losses}


def _row(curve: Curve) -> dict[str, Any]:
    sd = curve.sd if curve.n > 1 else ()
    ends = {"one": curve.best[0], "all": curve.best[-1]} | ({"one_sd": sd[0], "all_sd": sd[-1]} if sd else {})
    return {"arm": curve.arm["label"], "curve": "so far" if curve.ordered else "expected", "n": curve.n} | ends


def _ranges(loss: str, among: Sequence[Curve]) -> list[str]:
    """Over which ranges the areas of a loss are."""
    shared = {unit: shared_range(among, unit) for unit in UNITS}
    said = [f"{decimal(s[0], 0)} to {decimal(s[1], 0)} {unit}" for unit, s in shared.items() if s is not None]
    return [f"{loss}: areas from {' and from '.join(said)}."] if said else []


def budget_plot(results: Results) -> Plot:
    """The best validation mAP over configurations and over device-seconds, a column a loss."""
    groups = _by_loss(curves(results))
    if not any(curve.n > 1 for among in groups.values() for curve in among):
        raise NothingToDraw("no arm has two configurations that completed every fold yet")
    positions = {arm["name"]: position for position, arm in enumerate(results.arms)}
    low = _below([curve for among in groups.values() for curve in among])

    def draw(figure: Figure) -> None:
        rows = figure.subplots(len(UNITS), len(groups), sharey=True, squeeze=False)
        for unit, panels in zip(UNITS, rows, strict=True):
            for among, axes in zip(groups.values(), panels, strict=True):
                shared = shared_range(among, unit)
                for curve in (one for one in among if one not in low):
                    style = look(curve.arm["search"], positions[curve.arm["name"]])
                    _draw(axes, curve, unit, shared[1] if shared else 0.0, style)
                axes.set_xlabel(f"{unit} spent" if unit == DEVICE_SECONDS else f"{unit} tried")
                axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
            panels[0].set_ylabel("best validation mAP (%)")
        for loss, axes in zip(groups, rows[0], strict=True):
            axes.set_title(loss)
        shared_legend(figure, rows[0])

    found = [curve for among in groups.values() for curve in among]
    ends = "; ".join(
        f"{c.arm['label']} from {percent(c.points(CONFIGURATIONS)[1][0], 1)} % to {percent(c.best[-1], 1)} % with {c.n}"
        for c in found
    )
    text = (
        "Best validation mAP for a budget: expected, when so many configurations are drawn at random, with "
        "replacement, from those an arm trained (Dodge et al. 2019; band ± one standard deviation); in steps, the best "
        "so far of searches that adapt or stop trials. Dotted: the search is over. A curve that starts high needs "
        "little search."
    )
    if low:
        below = "; ".join(f"{c.arm['label']} {percent(c.best[0], 1)} %" for c in low)
        text += f" Not drawn, far below: {below}."
    return Plot("expected_best", "How much search is needed", caption(results, text), ends, 4.2, draw)


def _below(found: Sequence[Curve]) -> list[Curve]:
    """Arms of one configuration that lie below what any search shows: they would squeeze what is to be compared."""
    floor = min(
        b - sd for c in found if c.n > 1 for b, sd in zip_longest(c.points(CONFIGURATIONS)[1], c.sd, fillvalue=0.0)
    )
    return [curve for curve in found if curve.n == 1 and curve.best[0] < floor]


def _draw(axes: Axes, curve: Curve, unit: str, high: float, style: dict[str, Any]) -> None:
    """A line with its band as far as the search went, its end marked, and dotted to the end of the range."""
    budgets, best = curve.points(unit)
    if not budgets:
        return
    steps = {"drawstyle": "steps-post"} if curve.ordered else {}
    means = [100 * value for value in best]
    axes.plot(budgets, means, **style | steps, markevery=[len(budgets) - 1], label=curve.arm["search"])
    if curve.sd and curve.n > 1:
        spread = [100 * sd for sd in curve.sd]
        low, high_side = ([m + sign * sd for m, sd in zip(means, spread, strict=True)] for sign in (-1, 1))
        axes.fill_between(budgets, low, high_side, color=style["color"], alpha=0.15, linewidth=0)
    further, beyond = curve.until(unit, high)
    rest = [x for x in further if budgets[-1] <= x < high] + [high]
    if high > budgets[-1]:
        heights = 100 * np.interp(rest, further, beyond)
        axes.plot(rest, heights, color=style["color"], linestyle=(0, (1, 2)), linewidth=0.9)
