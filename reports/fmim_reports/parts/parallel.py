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
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate, on_validation
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.formats import SYMBOLS, configuration_text, mean_se_text, value_text
from fmim_reports.writing.sections import Section, a_choice, in_every_study

_MOST_TICKS = 6
_BEHIND = {"facecolor": CARD, "edgecolor": "none", "pad": 0.4, "alpha": 0.8}  # of a tick's text
_BESIDE = 2  # hyperparameters, up to which two panels stand side by side


@dataclass(frozen=True)
class _Line:
    """A configuration of an arm with its validation score."""

    arm: ArmEntry
    configuration: Mapping[str, Any]
    score: Estimate
    selected: bool


@dataclass(frozen=True)
class ValueScale:
    """The places in [0, 1] of a hyperparameter's values: of a choice one after the other, of a range to scale."""

    name: str
    choices: Sequence[str]
    low: float = 0.0
    high: float = 1.0
    log: bool = False

    @classmethod
    def of(cls, name: str, spaces: Sequence[Any], values: Sequence[Any]) -> ValueScale:
        """Return the scale of the arms' spaces that holds these values, too: a range if all are numbers."""
        ranges = [space for space in spaces if isinstance(space, Mapping)]
        every = [one for space in spaces if space not in ranges for one in space] + [*values]
        if not ranges or not all(isinstance(one, int | float) for one in every):
            return cls(name, list(dict.fromkeys(value_text(name, one) for one in every)))
        low = min([*every, *(one["low"] for one in ranges)])
        high = max([*every, *(one["high"] for one in ranges)])
        return cls(name, (), low, high, low > 0 and all(one["scale"] == "log" for one in ranges))

    def place(self, value: Any) -> float:
        """Return where a value lies."""
        if self.choices:
            return (self.choices.index(value_text(self.name, value)) + 0.5) / len(self.choices)
        low, high, at = (math.log(one) if self.log else one for one in (self.low, self.high, float(value)))
        return (at - low) / (high - low)

    @property
    def ticks(self) -> dict[float, str]:
        """Return what stands beside the axis, by its place."""
        if self.choices:
            every = max(1, len(self.choices) // _MOST_TICKS)
            return {(at + 0.5) / len(self.choices): self.choices[at] for at in range(0, len(self.choices), every)}
        low, high = (math.log(one) if self.log else one for one in (self.low, self.high))
        values = [math.exp(one) if self.log else one for one in np.linspace(low, high, 3)]
        return {place: f"{value:.2g}" for place, value in zip((0.0, 0.5, 1.0), values, strict=True)}


@in_every_study(Section.FIGURES, a_choice)
def parallel_plot(results: Results) -> Plot:
    """Draw a line per configuration, a panel for the arms that search the same hyperparameters."""
    panels: dict[tuple[str, ...], list[_Line]] = {}
    for arm in results.arms:
        varied = tuple(name for name, space in arm.space.items() if len(space) > 1)
        for one in arm.configurations if varied else ():
            score = on_validation(results, arm.name, one, results.metric.name)
            if not math.isnan(score.stat.mean):
                panels.setdefault(varied, []).append(_Line(arm, one, score, one == results.selected(arm.name)))
    if not any(len(lines) > 1 for lines in panels.values()):
        raise NothingToDraw("no search has two configurations with a completed fold yet")
    scores = [100 * line.score.stat.mean for lines in panels.values() for line in lines]
    ticks = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(min(scores), max(scores))
    columns = 2 if len(panels) > 1 and max(map(len, panels)) <= _BESIDE else 1
    rows, looks = math.ceil(len(panels) / columns), arm_looks(results)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (names, lines) in zip(grid, panels.items(), strict=False):
            _panel(axes, names, lines, ticks, looks)
            labels = [*(SYMBOLS.get(name, name) for name in names), f"{results.metric.label} (%)"]
            axes.set_xticks(range(len(labels)), labels)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        drawn = {line.arm.name for lines in panels.values() for line in lines}
        shared_legend(figure, grid[: len(panels)], [look for name, look in looks.items() if name in drawn])

    text = (
        f"Each line is a configuration: its hyperparameters and, on the right, its validation {results.metric.label} "
        "in %, mean over folds. The thick lines are the selected configurations. Arms with the same hyperparameters "
        "share a panel."
    )
    chosen = [line for lines in panels.values() for line in lines if line.selected]
    alt = f"Selected: {alt_text(f'{line.arm.label}, {_said(line)}' for line in chosen)}"
    title = "Every configuration and its score"
    return Plot("parallel_coordinates", title, caption(results, text), alt, 0.7 + 1.15 * rows, draw)


def _panel(
    axes: Axes, names: Sequence[str], lines: Sequence[_Line], ticks: Sequence[float], looks: Mapping[str, Look]
) -> None:
    arms = {line.arm.name: line.arm for line in lines}
    scales = [
        ValueScale.of(name, [arm.space[name] for arm in arms.values()], [line.configuration[name] for line in lines])
        for name in names
    ]
    low, high = ticks[0], ticks[-1]
    for line in lines:
        places = [scale.place(line.configuration[scale.name]) for scale in scales]
        places.append((100 * line.score.stat.mean - low) / (high - low))
        look = looks[line.arm.name]
        thin: dict[str, Any] = {"linewidth": 0.7, "marker": ""}
        thick: dict[str, Any] = {"linewidth": 2.0, "markersize": 4, "zorder": 3, "label": look.label}
        axes.plot(places, **{**look.line, **(thick if line.selected else thin)})
        axes.add_artist(Hints(look, [*enumerate(places)], [_said(line)]))
    beside = [scale.ticks for scale in scales] + [{(one - low) / (high - low): f"{one:g}" for one in ticks}]
    for at, texts in enumerate(beside):
        axes.axvline(at, color=QUIET, linewidth=0.6, zorder=1)
        last = at == len(names)
        for place, text in texts.items():
            where: dict[str, Any] = {"x": at + 0.05, "ha": "left"} if last else {"x": at - 0.05, "ha": "right"}
            axes.text(y=place, s=text, va="center", fontsize=6, bbox=_BEHIND, zorder=4, **where)
    axes.set(xlim=(-0.25, len(names) + 0.25), ylim=(-0.05, 1.05), yticks=[])
    axes.grid(False)
    axes.tick_params(axis="x", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _said(line: _Line) -> str:
    score = f"{mean_se_text(line.score.stat)} % (n = {line.score.n_text})"
    return f"{configuration_text(line.configuration)}: {score}"
