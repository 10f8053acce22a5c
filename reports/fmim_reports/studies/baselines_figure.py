"""The figure of `baselines`, as Fig. 4 of the paper, and what its tables share with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS as EVERY_METRIC
from fmim_core.metric_names import YEAR
from fmim_core.records import ArmEntry
from fmim_reports.drawing.axes import Extent, Mark, Scale, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import hollow, mean_line, replicates, value_line
from fmim_reports.drawing.plotting import INK, NothingToDraw, Plot
from fmim_reports.drawing.references import LINES_NOTE, reference_lines
from fmim_reports.drawing.styles import shared_legend
from fmim_reports.reading import published
from fmim_reports.reading.references import on_reference
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import on_test, query_times
from fmim_reports.stats import MeanSE
from fmim_reports.writing.captions import caption, few_queries, few_queries_note, seeds_phrase
from fmim_reports.writing.formats import in_percent

METRICS = {name: EVERY_METRIC[name] for name in ("mAP", "mAP_at_R", "CMC_1_all_shots")}
METRICS["CMC_1_all_shots"] = replace(METRICS["CMC_1_all_shots"], label="CMC top-1")  # as the paper calls it

# By the paper's names of the losses, in Okabe and Ito's colours; marker and dash repeat the difference.
LOSS_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "SoftTriplet": {"color": "#E69F00", "marker": "v", "linestyle": (0, (1, 1.2))},
    "ArcFace": {"color": "#CC79A7", "marker": "^", "linestyle": (0, (3, 1.2))},
    "SCT": {"color": "#56B4E9", "marker": "s", "linestyle": (0, (5, 1, 1, 1))},
    "WAT": {"color": "#009E73", "marker": "P", "linestyle": (0, (5, 1.5))},
    "Contrastive": {"color": INK, "marker": "X", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    "Triplet": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "AdaTriplet": {"color": "#D55E00", "marker": "D", "linestyle": "-"},
}


def every_time(results: Results) -> list[int | None]:
    """The times of the test set, and None for all of them."""
    return [*query_times(results), None]


def published_value(results: Results, loss: str | None, metric: str, time: int | None) -> MeanSE | None:
    """The paper's value for OAI of a loss, by its name there; None where it has none, as at a time not in years."""
    return published.by_year(loss, metric, time) if time is None or results.interval == YEAR else None


def shared_times(results: Results) -> list[int | None]:
    """Those of the times that the paper's OAI table has, too."""
    return [time for time in every_time(results) if published_value(results, "AdaTriplet", "mAP", time)]


def footnotes(results: Results) -> list[str]:
    """What is known of how the paper's values came about."""
    return published.footnotes([published.loss_name(arm) for arm in results.arms], METRICS)


def years_plot(results: Results) -> Plot:
    """Figure 4: every loss by year with its SE band, one row per metric, the published curves beside ours."""
    interval, times = results.interval, query_times(results)
    shared = [time for time in shared_times(results) if time is not None]
    if not results.dated:
        raise NothingToDraw("the data set does not say how long after baseline its images were taken")
    if not times:
        raise NothingToDraw(f"no completed test replicate has queries by {interval.unit} yet")

    scales = {metric: _scale(results, metric, times) for metric in METRICS}

    def draw(figure: Figure) -> None:
        columns = 2 if shared else 1
        names = [arm.name for arm in results.arms]
        panels = figure.subplots(len(METRICS), columns, sharex=True, squeeze=False)
        for axes in panels[-1]:
            axes.set_xticks(times)
            axes.set_xlabel(interval.after_baseline)
        for row, metric in zip(panels, METRICS, strict=True):
            for arm in results.arms:
                if arm.name not in scales[metric].beyond:
                    _our_line(row[0], results, arm, metric, times)
                else:
                    row[0].plot([], [], label=arm.group, **_style(arm))
                if shared:
                    value_line(row[1], _published_frame(arm, metric, shared), **_style(arm))
            reference_lines(row[0], results, metric, {time: time for time in times}, names)
            row[0].set_ylabel(f"{METRICS[metric].label} (%)")
            scale_y({row[0]: [_mark(results, arm, metric, times) for arm in results.arms]}, scales[metric])
        for axes, title in zip(panels[0], ("Ours, test", "Published (OAI)"), strict=False):
            axes.set_title(title)
        shared_legend(figure, panels[0][:1])

    beside = (
        f" Right: {published.TEST_LABEL}, on other images, for the years that both have, on a scale of its own."
        if shared
        else ""
    )
    notes = f" {published.CMC_NOTE} {' '.join(footnotes(results))}" if shared else ""
    text = (
        f"Test performance by {interval.after_baseline} (mean over seeds, band ± SE, {seeds_phrase(results)}; no band "
        f"for one seed), in the form of Fig. 4 of the paper.{beside}{notes}"
    )
    text += few_queries_note(results, times) + next((s.note for s in scales.values() if s.note), "")
    if results.references:
        text += f" {LINES_NOTE}"
    unit = interval.unit
    alt = f"Test mAP from {unit} {times[0]} to {unit} {times[-1]}: " + "; ".join(
        f"{arm.group} from {_percent_at(results, arm, times[0])} to {_percent_at(results, arm, times[-1])} %"
        for arm in results.arms
    )
    title = f"Performance by {interval.after_baseline}"
    return Plot(f"performance_by_{unit}", title, caption(results, text), alt, 5.4, draw)


def _style(arm: ArmEntry) -> dict[str, Any]:
    own = LOSS_LOOKS.get(published.loss_name(arm) or "", {"color": INK, "marker": "."})
    return {**own, "markersize": 3, "linewidth": 1.1}


def _scale(results: Results, metric: str, times: Sequence[int]) -> Scale:
    """Of our values by time; references stand beside the arms."""
    arms = {arm.name: [on_test(results, arm.name, metric, time) for time in times] for arm in results.arms}
    beside = {one.name: [on_reference(results, one, metric, time) for time in times] for one in results.references}
    return scale_of(*({name: Extent.of_estimates(found) for name, found in each.items()} for each in (arms, beside)))


def _our_line(axes: Axes, results: Results, arm: ArmEntry, metric: str, times: Sequence[int]) -> None:
    ours = replicates({time: on_test(results, arm.name, metric, time).values for time in times}, scale=100)
    mean_line(axes, ours, label=arm.group, **_style(arm))
    hollow(axes, ours, [*few_queries(results, times)], **_style(arm))


def _mark(results: Results, arm: ArmEntry, metric: str, times: Sequence[int]) -> Mark:
    """The arm at the first time, with its values from the lowest to the highest, were it off the scale."""
    means = [100 * on_test(results, arm.name, metric, time).stat.mean for time in times]
    return Mark(arm.name, times[0], range_text(means), _style(arm))


def _published_frame(arm: ArmEntry, metric: str, years: Sequence[int]) -> pd.DataFrame:
    """The published means by year, with their ± SE; not a number where the paper has none."""
    found = {year: published.by_year(published.loss_name(arm), metric, year) for year in years}
    rows = [(year, one.mean, one.se) if one else (year, None, None) for year, one in found.items()]
    frame = pd.DataFrame(rows, columns=["x", "y", "se"], dtype=float)
    return frame.assign(low=frame["y"] - frame["se"], high=frame["y"] + frame["se"])


def _percent_at(results: Results, arm: ArmEntry, time: int) -> str:
    return in_percent(on_test(results, arm.name, "mAP", time).stat.mean, 1)
