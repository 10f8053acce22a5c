"""The report of `automargin_vs_grid`: the paper's Tables 1b, 1c and Suppl. Table 3 with ours beside the published."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS
from fmim_reports.drawing.axes import Extent, scale_of
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.training.margins import varying_margins_plot
from fmim_reports.reading import published
from fmim_reports.reading.references import on_reference
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import arm_summaries, on_test, on_validation, over_configurations
from fmim_reports.stats import MeanSE, mean_se
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import caption, test_models
from fmim_reports.writing.columns import ARM, configuration_column
from fmim_reports.writing.formats import configuration_text, in_percent
from fmim_reports.writing.references import reference_rows, references_note
from fmim_reports.writing.tables import Column, Table

# The rows of Tables 1(b) and 1(c) in which the paper has our arms.
PUBLISHED = {
    "triplet_q1": ("Triplet", "Q1"),
    "triplet_q2": ("Triplet", "Q2"),
    "triplet_wat": ("Triplet", "WAT"),
    "triplet_grid": ("Triplet", "Grid search"),
    "triplet_automargin": ("Triplet", "AutoMargin"),
    "adatriplet_q1": ("AdaTriplet", "Q1"),
    "adatriplet_q2": ("AdaTriplet", "Q2"),
    "adatriplet_grid": ("AdaTriplet", "Grid search"),
    "adatriplet_automargin": ("AdaTriplet", "AutoMargin"),
}
GRID, AUTOMARGIN = "adatriplet_grid", "adatriplet_automargin"
_SYMBOLS = {"epsilon": "ε", "beta": "β", "k_delta": "$K_Δ$", "k_an": "$K_{an}$"}
_VALIDATION = "Validation, %, mean ± SE over folds (n)"
_TEST = "Test, %, mean ± SE over seeds (n)"


def triplet_table(results: Results) -> Table:
    """Table 1b of the paper."""
    return _loss_table(results, "triplet", "triplet_arms", "Table 1(b)")


def adatriplet_table(results: Results) -> Table:
    """Table 1c of the paper."""
    return _loss_table(results, "adatriplet", "adatriplet_arms", "Table 1(c)")


def _loss_table(results: Results, loss_kind: str, name: str, paper: str) -> Table:
    arms = [arm for arm in arm_summaries(results) if results.arm(arm.name).loss_kind == loss_kind]
    rows: list[dict[str, Any]] = [
        {
            "arm": arm,
            "search": arm.search,
            "n_s": arm.cost.n_s,
            "configuration": arm.configuration,
            "validation_mAP": on_validation(results, arm.name, arm.configuration, "mAP"),
            "validation_CMC_1_all_shots": on_validation(results, arm.name, arm.configuration, "CMC_1_all_shots"),
            "test_mAP": on_test(results, arm.name, "mAP"),
            "test_CMC_1_all_shots": on_test(results, arm.name, "CMC_1_all_shots"),
            "published_mAP_percent": published.ablation_value(PUBLISHED.get(arm.name), "mAP"),
            "published_CMC_1_all_shots_percent": published.ablation_value(PUBLISHED.get(arm.name), "CMC_1_all_shots"),
        }
        for arm in arms
    ]
    rows += reference_rows(
        results,
        lambda one: {f"test_{metric}": on_reference(results, one, metric) for metric in ("mAP", "CMC_1_all_shots")},
        column="search",
    )
    cmc = METRICS["CMC_1_all_shots"]
    loss = next((arm.loss for arm in arms), loss_kind)
    columns = [
        Column("search", "Search"),
        Column("n_s", "N_s", "count"),
        configuration_column(results, "Selected"),
        Column("validation_mAP", "mAP", "estimate", _VALIDATION, "validation_n", metric=METRICS["mAP"]),
        Column("validation_CMC_1_all_shots", "CMC top-1", "estimate", _VALIDATION, "validation_n", metric=cmc),
        Column("test_mAP", "mAP", "estimate", _TEST, "test_n", metric=METRICS["mAP"]),
        Column("test_CMC_1_all_shots", "CMC top-1", "estimate", _TEST, "test_n", metric=cmc),
        Column("published_mAP_percent", "mAP", "published", published.LABEL, metric=METRICS["mAP"]),
        Column("published_CMC_1_all_shots_percent", "CMC top-1", "published", published.LABEL, metric=cmc),
    ]
    text = (
        f"{loss} loss, as in {paper} of the paper. Ours: the configuration selected on validation, then trained "
        f"with fresh seeds for the test set ({test_models(results)}). Right: values {published.LABEL} in %, on other "
        f"images, for reference. {published.CMC_NOTE}"
    )
    notes = [references_note(results)]
    title = f"{loss}: ways to set the margin"
    return Table(name, title, caption(results, text), columns, rows, notes, also=[ARM])


def grid_table(results: Results) -> Table:
    """Suppl. Table 3: every AdaTriplet configuration, and mean ± SE over configurations."""
    rows: list[Mapping[str, Any]] = []
    for arm in (one for one in results.arms if one.name in (GRID, AUTOMARGIN)):
        search = published.search_name(arm)
        rows += [
            {
                "rule": bool(rows) and number == 0,
                "arm": arm,
                "search": arm.search,
                "configuration": configuration,
                "validation_mAP": on_validation(results, arm.name, configuration, "mAP"),
                "published_oai_percent": published.grid_value(search, configuration, "OAI"),
                "published_cxr_percent": published.grid_value(search, configuration, "CXR"),
            }
            for number, configuration in enumerate(arm.configurations)
        ]
        rows.append(
            {
                "total": True,
                "arm": arm,
                "search": f"{arm.search}: mean ± SE of {len(arm.configurations)} configurations",
                "validation_mAP": over_configurations(results, arm.name, "mAP"),
                "published_oai_percent": published.grid_mean_se(search, "OAI"),
                "published_cxr_percent": published.grid_mean_se(search, "CXR"),
            }
        )
    columns = [
        Column("search", "Search"),
        configuration_column(results),
        Column("validation_mAP", "Validation mAP", "estimate", "Ours, %, mean ± SE (n)", "n", metric=METRICS["mAP"]),
        Column("published_oai_percent", "OAI", "published_mean", "Published mAP, %", metric=METRICS["mAP"]),
        Column("published_cxr_percent", "CXR", "published_mean", "Published mAP, %", metric=METRICS["mAP"]),
    ]
    text = (
        "Every AdaTriplet configuration, as in Suppl. Table 3 of the paper. In a configuration's row n counts folds; "
        "in a mean row n counts configurations, of those that completed every fold."
    )
    notes = (
        "SE here is sd(ddof = 1) / √n. From the published values this gives 0.29 and 0.11 for OAI; "
        "the paper prints 0.28 and 0.09, which is ddof = 0. For CXR both round as printed, 0.65 and 0.70.",
    )
    title = "Grid search against AutoMargin"
    return Table("grid_vs_automargin", title, caption(results, text), columns, rows, notes, also=[ARM])


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
    def means(self) -> pd.DataFrame:
        """In percent, with the values of the hyperparameters as they are displayed beside the cells."""
        down, across = ([f"{value:g}" for value in values] for values in (self.rows, self.columns))
        return pd.DataFrame([[100 * cell.mean for cell in row] for row in self.cells], down, across)


def heat_plot(results: Results) -> Plot:
    """Validation mAP over ε × β, with AutoMargin's K_Δ × K_an beside it on the same colours."""
    panels = [_panel(results, GRID, "epsilon", "beta"), _panel(results, AUTOMARGIN, "k_delta", "k_an")]
    shown = [panel for panel in panels if panel and not panel.means.isna().all(axis=None)]
    if not shown:
        raise NothingToDraw("no AdaTriplet configuration has a completed fold yet")
    values = np.concatenate([panel.means.to_numpy().ravel() for panel in shown]).tolist()
    scale = scale_of({str(number): Extent.over([value]) for number, value in enumerate(values)})
    norm = Normalize(scale.low, scale.high, clip=True)
    extend = {(True, True): "both", (True, False): "min", (False, True): "max", (False, False): "neither"}

    def draw(figure: Figure) -> None:
        widths = [len(panel.columns) for panel in shown]
        axes = figure.subplots(1, len(shown), width_ratios=widths, squeeze=False)[0]
        for panel, ax in zip(shown, axes, strict=True):
            _heat(ax, panel, norm, len(results.study.folds))
        bar = figure.colorbar(
            axes[0].collections[0],
            ax=list(axes),
            location="bottom",
            aspect=40,
            pad=0.03,
            extend=extend[bool(scale.below), bool(scale.above)],
        )
        bar.set_label("validation mAP (%)")
        bar.outline.set_visible(False)

    text = (
        "Validation mAP in % of every AdaTriplet configuration: mean of folds, below it ± SE, "
        f"n = {len(results.study.folds)} folds where no other n is given. The panels share the colour scale, "
        "from the lowest value to the highest but for those far from the others, at which the bar has a tip. A "
        "dash: no completed fold."
    )
    alt = "Heat maps of validation mAP. " + " ".join(_describe(panel) for panel in shown)
    return Plot("validation_heatmap", "Validation mAP over the margins", caption(results, text), alt, 3.2, draw)


def _panel(results: Results, arm: str, down: str, across: str) -> Panel | None:
    declared = next((a for a in results.arms if a.name == arm), None)
    if declared is None:
        return None
    found = {(c[down], c[across]): on_validation(results, arm, c, "mAP").stat for c in declared.configurations}
    rows, columns = (sorted({key[i] for key in found}) for i in (0, 1))
    none = mean_se([])
    cells = [[found.get((row, column), none) for column in columns] for row in rows]
    return Panel(declared.search, down, across, rows, columns, cells)


def _heat(axes: Axes, panel: Panel, norm: Normalize, folds: int) -> None:
    # Edges of the cells' own colours: without them the background shows between the cells of an SVG.
    seaborn.heatmap(panel.means, cmap="viridis", norm=norm, cbar=False, linewidths=0.5, linecolor="face", ax=axes)
    axes.set(title=panel.title, xlabel=_SYMBOLS[panel.across], ylabel=_SYMBOLS[panel.down])
    axes.grid(False)
    axes.tick_params(length=0, rotation=0)
    for y, row in enumerate(panel.cells):
        for x, cell in enumerate(row):
            _annotate(axes, x + 0.5, y + 0.5, cell, norm, folds)


def _annotate(axes: Axes, x: float, y: float, cell: MeanSE, norm: Normalize, folds: int) -> None:
    if math.isnan(cell.mean):
        axes.text(x, y, "–", ha="center", va="center")
        return
    # Not pure white: the page gives pure white the colour of the card behind the figure.
    colour = "#fdfdfd" if norm(100 * cell.mean) < 0.6 else "#000000"
    error = "± n/a" if cell.se is None else f"±{in_percent(cell.se, 1)}"
    middle = y + 0.02
    if cell.n < folds:
        error += f"\nn={cell.n}"
        middle = y - 0.13
    axes.text(x, middle - 0.05, in_percent(cell.mean, 1), ha="center", va="bottom", color=colour, fontweight="bold")
    axes.text(x, middle + 0.04, error, ha="center", va="top", color=colour, fontsize=7, linespacing=1)


def _describe(panel: Panel) -> str:
    means = panel.means.to_numpy()
    best = np.unravel_index(np.nanargmax(means), means.shape)
    worst = np.unravel_index(np.nanargmin(means), means.shape)

    def at(index: Any) -> str:
        configuration: Mapping[str, Any] = {
            panel.down: panel.rows[index[0]],
            panel.across: panel.columns[index[1]],
        }
        return f"{means[index]:.1f} % at {configuration_text(configuration)}"

    return f"{panel.title}: highest {at(best)}, lowest {at(worst)}."


def tidy_table(results: Results) -> Table:
    """Return every value, beside Tables 1(b) and 1(c)."""
    return every_value_table(results, published=published.of_rows(PUBLISHED))


CONTENTS = Contents(
    tables=(triplet_table, adatriplet_table, grid_table),
    figures=(heat_plot, varying_margins_plot),
    every_value=tidy_table,
)
