"""The figures of `automargin_vs_grid`: validation mAP over the margins, and the margins over the epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from reports.parts.figures import seeds_phrase
from reports.parts.overview import caption
from reports.reading import published
from reports.reading.histories import Histories, at, epochs_of, histories
from reports.reading.results import Results
from reports.reading.summary import on_validation
from reports.stats import MeanSE, mean_se
from reports.writing.formats import configuration_text, percent
from reports.writing.plotting import QUIET, NothingToDraw, Plot, band, look

_MAP = "viridis"
_SYMBOLS = {"epsilon": "ε", "beta": "β", "k_delta": "$K_Δ$", "k_an": "$K_{an}$"}


@dataclass(frozen=True)
class Panel:
    """A square of validation estimates over two hyperparameters of an arm."""

    title: str
    down: str
    across: str
    rows: list[float]
    columns: list[float]
    cells: list[list[MeanSE]]

    @property
    def means(self) -> np.ndarray:
        return np.array([[100 * cell.mean for cell in row] for row in self.cells])


def heat_plot(results: Results) -> Plot:
    """Validation mAP over ε × β, with AutoMargin's K_Δ × K_an beside it on the same colours."""
    panels = [
        _panel(results, "adatriplet_grid", "Grid search", "epsilon", "beta"),
        _panel(results, "adatriplet_automargin", "AutoMargin", "k_delta", "k_an"),
    ]
    shown = [panel for panel in panels if panel and not np.isnan(panel.means).all()]
    if not shown:
        raise NothingToDraw("no AdaTriplet configuration has a completed fold yet")
    values = np.concatenate([panel.means.ravel() for panel in shown])
    norm = Normalize(np.nanmin(values), np.nanmax(values))

    def draw(figure: Figure) -> None:
        widths = [len(panel.columns) for panel in shown]
        axes = figure.subplots(1, len(shown), width_ratios=widths, squeeze=False)[0]
        for panel, ax in zip(shown, axes, strict=True):
            image = _heat(ax, panel, norm, len(results.study["folds"]))
        bar = figure.colorbar(image, ax=list(axes), location="bottom", aspect=40, pad=0.03)
        bar.set_label("validation mAP (%)")
        bar.outline.set_visible(False)

    text = (
        "Validation mAP in % of every AdaTriplet configuration: mean of folds, below it ± SE, "
        f"n = {len(results.study['folds'])} folds where no other n is given. The panels share the colour scale, "
        "from the lowest value to the highest. A dash: no completed fold."
    )
    alt = "Heat maps of validation mAP. " + " ".join(_describe(panel) for panel in shown)
    return Plot("validation_heatmap", "Validation mAP over the margins", caption(results, text), alt, 3.2, draw)


def _panel(results: Results, arm: str, title: str, down: str, across: str) -> Panel | None:
    declared = next((a for a in results.arms if a["name"] == arm), None)
    if declared is None:
        return None
    found = {(c[down], c[across]): on_validation(results, arm, c, "mAP").stat for c in declared["configurations"]}
    rows, columns = (sorted({key[i] for key in found}) for i in (0, 1))
    none = mean_se([])
    cells = [[found.get((row, column), none) for column in columns] for row in rows]
    return Panel(title, down, across, rows, columns, cells)


def _heat(axes: Axes, panel: Panel, norm: Normalize, folds: int) -> Any:
    image = axes.imshow(panel.means, cmap=_MAP, norm=norm, aspect="auto")
    axes.set(title=panel.title, xlabel=_SYMBOLS[panel.across], ylabel=_SYMBOLS[panel.down])
    axes.set_xticks(range(len(panel.columns)), [f"{value:g}" for value in panel.columns])
    axes.set_yticks(range(len(panel.rows)), [f"{value:g}" for value in panel.rows])
    axes.grid(False)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for y, row in enumerate(panel.cells):
        for x, cell in enumerate(row):
            _annotate(axes, x, y, cell, norm, folds)
    return image


def _annotate(axes: Axes, x: int, y: int, cell: MeanSE, norm: Normalize, folds: int) -> None:
    if math.isnan(cell.mean):
        axes.text(x, y, "–", ha="center", va="center")
        return
    # Not pure white: the page gives pure white the colour of the card behind the figure.
    colour = "#fdfdfd" if norm(100 * cell.mean) < 0.6 else "#000000"
    error = "± n/a" if cell.se is None else f"±{percent(cell.se, 1)}"
    middle = y + 0.02
    if cell.n < folds:
        error += f"\nn={cell.n}"
        middle = y - 0.13
    axes.text(x, middle - 0.05, percent(cell.mean, 1), ha="center", va="bottom", color=colour, fontweight="bold")
    axes.text(x, middle + 0.04, error, ha="center", va="top", color=colour, fontsize=7, linespacing=1)


def _describe(panel: Panel) -> str:
    best = np.unravel_index(np.nanargmax(panel.means), panel.means.shape)
    worst = np.unravel_index(np.nanargmin(panel.means), panel.means.shape)

    def at(index: Any) -> str:
        configuration: Mapping[str, Any] = {
            panel.down: panel.rows[index[0]],
            panel.across: panel.columns[index[1]],
        }
        return f"{panel.means[index]:.1f} % at {configuration_text(configuration)}"

    return f"{panel.title}: highest {at(best)}, lowest {at(worst)}."


def dynamics_plot(results: Results) -> Plot:
    """ε(t), β(t) and the loss of AutoMargin's selected configurations over the epochs."""
    by_loss = {
        arm["loss"]: frames
        for arm in results.arms
        if arm["search"] == "AutoMargin" and (frames := histories(results, arm["name"]))
    }
    if not by_loss:
        raise NothingToDraw("no replicate of an AutoMargin arm is completed yet")
    last = max(epoch for frames in by_loss.values() for run in frames.values() for epoch in run)

    def draw(figure: Figure) -> None:
        panels = figure.subplots(3, 1, sharex=True)
        for name, label, axes in zip(("epsilon", "beta", "loss"), ("ε", "β", "loss"), panels, strict=True):
            paper = published.dynamics(name)
            # The paper counts epochs from 0, records from 1.
            kept = paper[paper.index < last]
            axes.plot(kept.index + 1, kept, color=QUIET, lw=0.9, ls=(0, (4, 2)), label="published (OAI, AdaTriplet)")
            for loss, frames in by_loss.items():
                _dynamics_line(axes, frames, name, loss)
            axes.set_ylabel(label)
        panels[-1].set_xlabel("epoch")
        panels[-1].xaxis.get_major_locator().set_params(integer=True)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2, columnspacing=1)

    text = (
        "AutoMargin over the epochs, selected configuration trained on all training subjects (mean over seeds, "
        f"band ± SE, {seeds_phrase(results)}; no band for one seed): the margins ε(t) and β(t) used in each epoch, "
        "and the mean loss. Dashed: values read from the paper's Fig. 3a (OAI, AdaTriplet, 100 epochs), its first "
        f"{last} epochs. "
        "Triplet has no β."
    )
    alt = " ".join(_ends(loss, frames, last) for loss, frames in by_loss.items())
    return Plot("margins_over_epochs", "Margins and loss over the epochs", caption(results, text), alt, 4.2, draw)


def _dynamics_line(axes: Axes, frames: Histories, name: str, loss: str) -> None:
    epochs = epochs_of(frames)
    found = [at(frames, name, epoch) for epoch in epochs]
    style = look("AutoMargin" if loss == "AdaTriplet" else "Q2") | {"linestyle": "-", "markersize": 2.5}
    if all(math.isnan(stat.mean) for stat in found):
        return
    errors = [math.nan if stat.se is None else stat.se for stat in found]
    band(axes, epochs, [stat.mean for stat in found], errors, label=f"{loss} + AutoMargin", **style)


def _ends(loss: str, frames: Histories, last: int) -> str:
    end = {name: at(frames, name, last).mean for name in ("epsilon", "beta", "loss")}
    parts = [
        f"{label} {value:.2f}"
        for label, value in zip(("ε", "β", "loss"), end.values(), strict=True)
        if not math.isnan(value)
    ]
    return f"{loss} + AutoMargin at epoch {last}: {', '.join(parts)}."
