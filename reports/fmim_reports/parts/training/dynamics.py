"""The figures of margins, loss and the distributions of Δ and φ_an over the epochs: Figs. 2 and 3(a) of the paper."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from fmim_reports.drawing.lines import draw_line, mean_points, panels, shared_legend
from fmim_reports.drawing.looks import Look, arm_looks
from fmim_reports.drawing.plotting import INK, QUIET, NothingToDraw, Plot
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import (
    Histories,
    arm_summaries,
    at,
    density,
    epochs_of,
    histories_by_arm,
    milestones,
    values_at,
)
from fmim_reports.writing.captions import alt_text, caption, curve_model, seeds_phrase
from fmim_reports.writing.formats import decimal

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
    shown = {name for name in _SERIES if any(_known(seeds, name) for seeds in found.values())} | {"loss"}
    series = {name: label for name, label in _SERIES.items() if name in shown}
    looks, columns = arm_looks(results), panels([arm for arm in arm_summaries(results) if arm.name in found])

    def draw(figure: Figure) -> None:
        rows = figure.subplots(len(series), len(columns), sharex=True, sharey="row", squeeze=False)
        for (name, label), row in zip(series.items(), rows, strict=True):
            paper = published.dynamics(name)
            kept = paper[paper.index < last]  # the paper counts epochs from 0, records from 1
            frame = pd.DataFrame({"x": kept.index + 1, "y": kept.to_numpy()})
            for arms, axes in zip(columns.values(), row, strict=True):
                if any(results.arm(arm.name).loss_kind == "adatriplet" for arm in arms):
                    draw_line(axes, frame, color=QUIET, linewidth=0.8, label=_PUBLISHED)
                for arm in arms:
                    _line(axes, found[arm.name], name, looks[arm.name])
            row[0].set_ylabel(label)
        for title, above, below in zip(columns, rows[0], rows[-1], strict=True):
            above.set_title(title)
            below.set_xlabel("epoch")
            below.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        shared_legend(figure, rows[0], [looks[arm] for arm in found])

    text = (
        f"The margins ε and β of each epoch, and the mean loss, of the tested configuration, in "
        f"{curve_model(results)}: mean over seeds, band ± SE ({seeds_phrase(results)}). "
        "Thin grey line: the published values (OAI), from Fig. 3(a) of the paper."
    )
    alt = f"In the last epoch: {alt_text(f'{labels[arm]} {_ends(seeds)}' for arm, seeds in found.items())}"
    return Plot("margins_over_epochs", "Margins and loss over the epochs", caption(results, text), alt, 4.4, draw)


def _line(axes: Axes, seeds: Histories, name: str, look: Look) -> None:
    epochs = epochs_of(seeds)
    frame = mean_points({epoch: values_at(seeds, name, epoch) for epoch in epochs})
    every = max(1, len(epochs) // 10)  # a marker for each epoch of a long training would hide its line
    if frame["y"].notna().any():
        draw_line(axes, frame, look=look, label=look.label, every=every, markersize=3)


def _known(seeds: Histories, name: str) -> bool:
    return any(not math.isnan(value) for epoch in epochs_of(seeds) for value in values_at(seeds, name, epoch).values())


def _ends(seeds: Histories) -> str:
    end = {label: at(seeds, name, epochs_of(seeds)[-1]).mean for name, label in _SERIES.items()}
    return ", ".join(f"{label} {value:.2f}" for label, value in end.items() if not math.isnan(value))


_HARD, _MARGIN = QUIET, INK
# name of the histogram, its range, the margin that bounds its hard part, its sign in a figure
DELTA = ("delta_histogram", (-2.0, 2.0), "epsilon", "Δ")
PHI_AN = ("phi_an_histogram", (-1.0, 1.0), "beta", "$φ_{an}$")


def distributions_plot(results: Results) -> Plot:
    """Draw Δ and φ_an from the first epoch to the last, pooled over seeds: Figs. 2(b) and 2(c) of the paper."""
    found = histories_by_arm(results)
    drawn = {arm: seeds for arm, seeds in found.items() if _shown(seeds, DELTA) or _shown(seeds, PHI_AN)}
    if not drawn:
        why = "no completed replicate recorded histograms" if found else "no replicate is completed yet"
        raise NothingToDraw(why)
    labels = {arm.name: arm.label for arm in results.arms}

    def draw(figure: Figure) -> None:
        grid = figure.subplots(2, len(drawn), sharex="row", squeeze=False)
        for row, kind in zip(grid, (DELTA, PHI_AN), strict=True):
            for axes, (arm, seeds) in zip(row, drawn.items(), strict=True):
                _ridges(axes, seeds, kind)
                axes.set_xlabel(kind[3])
                if kind is DELTA:
                    axes.set_title(labels[arm].replace(" + ", "\n+ "), fontsize=7.5)
            low, high = _range(drawn, kind)
            row[0].set_xlim(low, high)
            row[0].xaxis.set_major_locator(MaxNLocator(3))
            row[0].set_ylabel("epoch")
        handles = [Patch(color=_HARD), Line2D([], [], color=_MARGIN, lw=1.4)]
        names = ["hard: Δ < ε, or $φ_{an}$ > β", "ε or β of the epoch"]
        figure.legend(handles, names, loc="outside upper center", ncols=2)

    text = (
        "Densities of Δ = φ_ap − φ_an over triplets (top) and of φ_an over negative pairs (bottom), from the first "
        f"epoch to the last, in {curve_model(results)}, pooled ({seeds_phrase(results)}). Vertical line: the margin of "
        "the epoch. Filled: the hard part. As in Figs. 2(b) and 2(c) of the paper."
    )
    alt = alt_text(f"{labels[arm]}: {movement(seeds)}" for arm, seeds in drawn.items())
    title = "Distributions of Δ and φ_an over the epochs"
    return Plot("distributions", title, caption(results, text), alt, 4.6, draw)


Kind = tuple[str, tuple[float, float], str, str]


def _shown(seeds: Histories, kind: Kind) -> dict[int, np.ndarray]:
    """Return the density by epoch, of those that are drawn and have counts."""
    every = {epoch: density(seeds, kind[0], epoch, *kind[1]) for epoch in milestones(epochs_of(seeds))}
    return {epoch: one for epoch, one in every.items() if one is not None}


def _ridges(axes: Axes, seeds: Histories, kind: Kind) -> None:
    """Draw a step line per epoch, the first on top; what lies on the hard side of the epoch's margin is filled."""
    ridges = _shown(seeds, kind)
    top = max((one.max() for one in ridges.values()), default=1.0)
    for place, (epoch, heights) in enumerate(ridges.items()):
        foot = -float(place)
        margin = at(seeds, kind[2], epoch).mean
        edges, heights = split(np.linspace(*kind[1], len(heights) + 1), heights / top * 1.25, margin)
        colour = colormaps["viridis"](0.25 + 0.5 * place / max(len(ridges) - 1, 1))
        axes.stairs(heights + foot, edges, baseline=foot, color=colour, fill=True, alpha=0.3, zorder=3 + place)
        if not math.isnan(margin):
            middle = (edges[1:] + edges[:-1]) / 2
            hard = middle < margin if kind is DELTA else middle > margin
            filled = np.where(hard, heights, 0.0) + foot
            axes.stairs(filled, edges, baseline=foot, color=_HARD, fill=True, alpha=0.9, zorder=3.2 + place)
            axes.plot([margin, margin], [foot, foot + 0.8], color=_MARGIN, lw=1.4, zorder=3.6 + place)
        axes.stairs(heights + foot, edges, baseline=None, color=colour, lw=0.9, zorder=3.4 + place)
    axes.set_yticks([-place for place in range(len(ridges))], [str(epoch) for epoch in ridges])
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def split(edges: np.ndarray, heights: np.ndarray, where: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the same steps with an edge at `where`, so that a margin inside a bin divides it; unchanged outside."""
    place = int(np.searchsorted(edges, where))
    if math.isnan(where) or place in (0, len(edges)) or edges[place] == where:
        return edges, heights
    return np.insert(edges, place, where), np.insert(heights, place, heights[place - 1])


def _range(drawn: Mapping[str, Histories], kind: Kind) -> tuple[float, float]:
    """Return what holds all but 0.2 % of every distribution shown, and every margin."""
    low, high = kind[1]
    ends: list[float] = []
    for seeds in drawn.values():
        for epoch, heights in _shown(seeds, kind).items():
            edges = np.linspace(low, high, len(heights) + 1)
            mass = np.concatenate([[0], np.cumsum(heights * np.diff(edges))])
            ends += [float(np.interp(share, mass, edges)) for share in (0.001, 0.999)]
            margin = at(seeds, kind[2], epoch).mean
            ends += [] if math.isnan(margin) else [margin]
    if not ends:
        return low, high
    room = 0.03 * (max(ends) - min(ends))
    return max(low, min(ends) - room), min(high, max(ends) + room)


def movement(seeds: Histories) -> str:
    """Return `mean Δ 0.11 to 0.18, mean φ_an 0.14 to 0.08`, first to last epoch."""
    epochs = epochs_of(seeds)
    return ", ".join(
        f"mean {sign} {decimal(at(seeds, name, epochs[0]).mean, 2)} to {decimal(at(seeds, name, epochs[-1]).mean, 2)}"
        for name, sign in (("delta_mean", "Δ"), ("phi_an_mean", "φ_an"))
    )
