"""The figure of the margins ε(t) and β(t) and of the loss over the epochs: Fig. 3(a) of the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fmim_reports.drawing.lines import draw_line, mean_points, shared_legend
from fmim_reports.drawing.plotting import QUIET, NothingToDraw, Plot, line_style
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Histories, at, epochs_of, histories_by_arm, values_at
from fmim_reports.writing.captions import caption, curve_model, seeds_phrase

_SERIES = {"epsilon": "ε", "beta": "β", "loss": "loss"}
_PUBLISHED = "published (OAI, AdaTriplet)"


def margins_plot(results: Results) -> Plot:
    """Draw ε(t), β(t) and the loss of every arm, with the paper's."""
    return margins_of(results, [arm.name for arm in results.arms])


def varying_margins_plot(results: Results) -> Plot:
    """Draw the same of the arms whose margins change during a training."""
    return margins_of(results, [arm.name for arm in results.arms if arm.margins_vary])


def margins_of(results: Results, arms: Sequence[str]) -> Plot:
    """Draw the figure for some arms, of those that have a completed replicate.

    Raises:
        NothingToDraw: none of them has one.
    """
    found = {arm: seeds for arm, seeds in histories_by_arm(results).items() if arm in arms}
    if not found:
        raise NothingToDraw("no replicate is completed yet")
    labels = {arm: results.arm(arm).label for arm in found}
    last = max(epoch for seeds in found.values() for epoch in epochs_of(seeds))

    def draw(figure: Figure) -> None:
        rows = figure.subplots(len(_SERIES), 1, sharex=True)
        for (name, label), axes in zip(_SERIES.items(), rows, strict=True):
            paper = published.dynamics(name)
            kept = paper[paper.index < last]  # the paper counts epochs from 0, records from 1
            frame = pd.DataFrame({"x": kept.index + 1, "y": kept.to_numpy()})
            draw_line(axes, frame, color=QUIET, linewidth=0.8, label=_PUBLISHED)
            for position, (arm, seeds) in enumerate(found.items()):
                _line(axes, seeds, name, label=labels[arm], **line_style(position))
            axes.set_ylabel(label)
        rows[-1].set_xlabel("epoch")
        rows[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        shared_legend(figure, rows[:1])

    text = (
        "The margins ε(t) and β(t) in force in each epoch, and the mean loss, of the tested configuration, in "
        f"{curve_model(results)}: mean over seeds, band ± SE, {seeds_phrase(results)}; no band for one seed. Thin grey "
        f"line: {_PUBLISHED}, read from Fig. 3(a) of the paper (100 epochs), its first {last} epochs. Triplet has no β."
    )
    alt = " ".join(f"{labels[arm]}, last epoch: {_ends(seeds)}." for arm, seeds in found.items())
    return Plot("margins_over_epochs", "Margins and loss over the epochs", caption(results, text), alt, 4.4, draw)


def _line(axes: Axes, seeds: Histories, name: str, **style: Any) -> None:
    epochs = epochs_of(seeds)
    frame = mean_points({epoch: values_at(seeds, name, epoch) for epoch in epochs})
    every = max(1, len(epochs) // 10)  # a marker for each epoch of a long training would hide its line
    if frame["y"].notna().any():
        draw_line(axes, frame, markersize=3, markevery=every, **style)


def _ends(seeds: Histories) -> str:
    end = {label: at(seeds, name, epochs_of(seeds)[-1]).mean for name, label in _SERIES.items()}
    return ", ".join(f"{label} {value:.2f}" for label, value in end.items() if not math.isnan(value))
