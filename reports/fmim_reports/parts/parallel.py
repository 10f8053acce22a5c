"""Every configuration of every search as a line over its hyperparameters to its score: parallel coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fmim_core.records import ArmEntry
from fmim_reports.drawing.hints import Hints
from fmim_reports.drawing.lines import shared_legend
from fmim_reports.drawing.looks import CARD, Look, arm_looks
from fmim_reports.drawing.plotting import QUIET, NothingToDraw, Plot
from fmim_reports.parts.comparisons.words import estimate_text
from fmim_reports.parts.importance import levels_of, middles, varied_spaces
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate, on_validation
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.formats import SYMBOLS, configuration_text
from fmim_reports.writing.sections import Section, a_choice, in_every_study

_BEHIND = {"facecolor": CARD, "edgecolor": "none", "pad": 0.4, "alpha": 0.8}  # of a tick's text
_BESIDE = 2  # hyperparameters, up to which two panels stand side by side


@dataclass(frozen=True)
class _Line:
    """A configuration of an arm with its validation score."""

    arm: ArmEntry
    configuration: Mapping[str, Any]
    score: Estimate
    selected: bool

    @property
    def said(self) -> str:
        return f"{configuration_text(self.configuration)}: {estimate_text(self.score)}"


@in_every_study(Section.FIGURES, a_choice)
def parallel_plot(results: Results) -> Plot:
    """Draw a line per configuration, a panel for the arms that search the same space."""
    panels: dict[str, list[_Line]] = {}
    for arm in (one for one in results.arms if varied_spaces(one)):
        for one in arm.configurations:
            score = on_validation(results, arm.name, one, results.metric.name)
            if not math.isnan(score.stat.mean):
                line = _Line(arm, one, score, one == results.selected(arm.name))
                panels.setdefault(str(varied_spaces(arm)), []).append(line)
    every = [line for lines in panels.values() for line in lines]
    if len(every) == len(panels):
        raise NothingToDraw("no search has two configurations with a completed fold yet")
    scores, looks = [100 * line.score.stat.mean for line in every], arm_looks(results)
    ticks = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(min(scores), max(scores))
    columns = 2 if len(panels) > 1 and max(len(varied_spaces(line.arm)) for line in every) <= _BESIDE else 1
    rows, score_label = math.ceil(len(panels) / columns), f"{results.metric.label} (%)"

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, lines in zip(grid, panels.values(), strict=False):
            _panel(axes, lines, ticks, score_label, looks)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        drawn = {line.arm.name for line in every}
        shared_legend(figure, grid[: len(panels)], [look for name, look in looks.items() if name in drawn])

    text = (
        f"Each line is a configuration: its hyperparameters and, on the right, its validation {results.metric.label} "
        "in %, mean over folds. The thick lines are the selected configurations. Arms that search the same space share "
        "a panel."
    )
    alt = f"Selected: {alt_text(f'{line.arm.label}, {line.said}' for line in every if line.selected)}"
    title = "Every configuration and its score"
    return Plot("parallel_coordinates", title, caption(results, text), alt, 0.7 + 1.15 * rows, draw)


def _panel(
    axes: Axes, lines: Sequence[_Line], ticks: Sequence[float], score_label: str, looks: Mapping[str, Look]
) -> None:
    """Draw an axis per hyperparameter and one for the score, and across them a line per configuration."""
    spaces = varied_spaces(lines[0].arm)
    sides = [levels_of(name, space, [line.configuration[name] for line in lines]) for name, space in spaces.items()]
    low, high = ticks[0], ticks[-1]
    scores = [(100 * line.score.stat.mean - low) / (high - low) for line in lines]
    for line, places in zip(lines, np.column_stack([*(places for _, places in sides), scores]), strict=True):
        look = looks[line.arm.name]
        thin: dict[str, Any] = {"linewidth": 0.7, "marker": ""}
        thick: dict[str, Any] = {"linewidth": 2.0, "markersize": 4, "zorder": 3, "label": look.label}
        axes.plot(places, **{**look.line, **(thick if line.selected else thin)})
        axes.add_artist(Hints(look, [*enumerate(places)], [line.said]))
    beside = [dict(zip(middles(len(texts)), texts, strict=True)) for texts, _ in sides]
    for at, texts in enumerate([*beside, {(one - low) / (high - low): f"{one:g}" for one in ticks}]):
        axes.axvline(at, color=QUIET, linewidth=0.6, zorder=1)
        where: dict[str, Any] = {"x": at + 0.05, "ha": "left"} if at == len(sides) else {"x": at - 0.05, "ha": "right"}
        for place, text in [*texts.items()][:: max(1, len(texts) // 3)]:
            axes.text(y=place, s=text, va="center", fontsize=6, bbox=_BEHIND, zorder=4, **where)
    axes.set_xticks(range(len(sides) + 1), [*(SYMBOLS.get(name, name) for name in spaces), score_label])
    axes.set(xlim=(-0.25, len(sides) + 0.25), ylim=(-0.05, 1.05), yticks=[])
    axes.tick_params(axis="x", length=0)
    axes.grid(False)
    axes.spines[:].set_visible(False)
