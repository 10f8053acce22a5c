"""Figures that every study has: what a search bought for its cost, and mAP by years after baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from reports.parts.overview import caption, queries_of_year, query_years
from reports.reading.results import Results
from reports.reading.summary import ArmSummary, arm_summaries, on_test
from reports.writing.formats import percent
from reports.writing.plotting import NothingToDraw, Plot, band, look

FACES = ("full", "none")
_MOST_PANELS = 3  # side by side in a column
_SHORT_LABEL = 14  # characters of which three labels fit side by side
_LONG_ROW = 40  # characters that fit in one row of a legend at column width
_LONG_LABEL = 29  # of these two stand side by side at column width, longer ones alone


def cost_plot(results: Results) -> Plot:
    """Test mAP against what the search cost, in configurations and in device-seconds."""
    arms = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    if not arms:
        raise NothingToDraw("no arm has a completed test replicate yet")
    losses = list(dict.fromkeys(arm.loss for arm in arms))

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        for position, arm in enumerate(arms):
            number = losses.index(arm.loss)
            aside = 1 + 0.12 * (number - (len(losses) - 1) / 2)  # so that equal N_s do not hide each other
            _cost_point(left, arm.cost.n_s * aside, arm, position, FACES[number % 2])
            _cost_point(right, arm.cost.device_seconds, arm, position, FACES[number % 2])
        left.set(xlabel="configurations trained, $N_s$", ylabel="test mAP (%)", xscale="log")
        right.set(xlabel="search device-seconds", xscale="log")
        ticks = sorted({arm.cost.n_s for arm in arms if arm.cost.n_s > 0})
        left.set_xticks(ticks, [str(tick) for tick in ticks])
        right.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        right.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        for axes in (left, right):
            axes.xaxis.set_minor_locator(NullLocator())
            axes.margins(x=0.15)
        search_legend(figure, arms, losses)

    listed = "; ".join(
        f"{arm.label} {percent(arm.test.stat.mean, 1)} % for {arm.cost.n_s} configurations" for arm in arms
    )
    text = (
        f"Test mAP of the selected configuration (mean ± SE over seeds, {seeds_phrase(results)}; no bar for one seed) "
        "against the cost of its search. Up and to the left is better."
    )
    unknown = [arm.label for arm in arms if not arm.cost.device_seconds > 0]
    if unknown:
        text += f" Device-seconds are not known, so not drawn, for {', '.join(unknown)}."
    return Plot("map_vs_search_cost", "What the search bought", caption(results, text), listed, 3.0, draw)


def seeds_phrase(results: Results) -> str:
    """`n = 5`, and the arms of which fewer seeds count."""
    arms, planned = arm_summaries(results), results.study["replicates"]
    short = [f"{arm.label} n = {arm.test.n_text}" for arm in arms if not arm.test.complete]
    return f"n = {planned}" + (f" except {', '.join(short)}" if short else "")


def _cost_point(axes: Axes, x: float, arm: ArmSummary, position: int, face: str) -> None:
    style = look(arm.search, position)
    error = None if arm.test.stat.se is None else 100 * arm.test.stat.se
    axes.errorbar(
        x,
        100 * arm.test.stat.mean,
        yerr=error,
        color=style["color"],
        marker=style["marker"],
        fillstyle=face,
        markeredgewidth=1.1,
        elinewidth=1,
        capsize=2,
    )


def search_legend(figure: Figure, arms: Sequence[ArmSummary], losses: Sequence[str]) -> None:
    """Colours and shapes for the searches, filled and open for the losses, above the panels."""
    handles: dict[str, Any] = {}
    axes = figure.axes[0]
    for position, arm in enumerate(arms):
        style = look(arm.search, position)
        if arm.search not in handles:
            (handles[arm.search],) = axes.plot([], [], ls="", color=style["color"], marker=style["marker"])
    faces: dict[str, Any] = {}
    for number, loss in enumerate(losses if len(losses) > 1 else []):
        (faces[loss],) = axes.plot([], [], ls="", color="#777777", marker="o", fillstyle=FACES[number % 2])
    if sum(map(len, handles)) > _LONG_ROW:
        columns, entries = 3, [*handles.items(), *faces.items()]
    else:
        # A legend fills column by column: taken alternately, the searches make the first row, the losses the second.
        pairs = zip_longest(handles.items(), faces.items())
        columns, entries = len(handles), [entry for both in pairs for entry in both if entry]
    labels, shown = zip(*entries, strict=True)
    figure.legend(shown, labels, loc="outside upper center", ncols=columns, columnspacing=0.9, handletextpad=0.1)


def shared_legend(figure: Figure, panels: Any) -> None:
    """One legend above the panels, each label once."""
    shown: dict[str, Any] = {}
    for axes in panels:
        handles, labels = axes.get_legend_handles_labels()
        shown |= dict(zip(labels, handles, strict=True))
    longest = max(map(len, shown))
    columns = 3 if longest <= _SHORT_LABEL else 2 if longest <= _LONG_LABEL else 1
    figure.legend(list(shown.values()), list(shown), loc="outside upper center", ncols=columns, columnspacing=1)


def year_plot(results: Results) -> Plot:
    """Test mAP by years after baseline, one panel a loss, or one for all where losses are many."""
    years = query_years(results)
    arms = [arm for arm in arm_summaries(results) if arm.test.stat.n]
    if not years or not arms:
        raise NothingToDraw("no completed test replicate has queries by year yet")
    lines = _year_lines(arms)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
        for (title, drawn), axes in zip(lines.items(), panels, strict=True):
            for arm, style in drawn:
                _year_line(axes, results, arm, years, style)
            axes.set_title(title)
            axes.set_xticks(range(len(years)), [_year_tick(results, year) for year in years])
        panels[0].set_ylabel("test mAP (%)")
        for axes in panels:
            axes.set_xlabel("years after baseline\n(queries)")
        shared_legend(figure, panels)

    last = "; ".join(
        f"{arm.label} from {_year_percent(results, arm, years[0])} to {_year_percent(results, arm, years[-1])} %"
        for arm in arms
    )
    alt = f"Lines of test mAP by year, from year {years[0]} to year {years[-1]}: {last}"
    text = (
        "Test mAP by years between a query and its subject's baseline image (mean over seeds, band ± SE, "
        f"{seeds_phrase(results)}; no band for one seed). In brackets: queries of that year."
    )
    return Plot("map_by_year", "mAP by years after baseline", caption(results, text), alt, 3.1, draw)


def _year_lines(arms: list[ArmSummary]) -> dict[str, list[tuple[ArmSummary, dict[str, Any]]]]:
    """The arms of each panel, by its title, with the label and look of their lines."""
    losses = list(dict.fromkeys(arm.loss for arm in arms))
    if len(losses) > _MOST_PANELS:
        return {"": [(arm, {"label": arm.label} | look("", position)) for position, arm in enumerate(arms)]}
    styles = [(arm, {"label": arm.search} | look(arm.search, position)) for position, arm in enumerate(arms)]
    return {loss: [(arm, style) for arm, style in styles if arm.loss == loss] for loss in losses}


def _year_line(axes: Axes, results: Results, arm: ArmSummary, years: list[int], style: dict[str, Any]) -> None:
    found = [on_test(results, arm.name, "mAP", year).stat for year in years]
    means = [100 * stat.mean for stat in found]
    errors = [math.nan if stat.se is None else 100 * stat.se for stat in found]
    band(axes, range(len(years)), means, errors, **style)


def _year_tick(results: Results, year: int) -> str:
    count = queries_of_year(results, year)
    return f"{year}\n({'?' if math.isnan(count) else int(count)})"


def _year_percent(results: Results, arm: ArmSummary, year: int) -> str:
    return percent(on_test(results, arm.name, "mAP", year).stat.mean, 1)
