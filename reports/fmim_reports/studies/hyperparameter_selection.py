"""The report of `hyperparameter_selection`: the paper's Suppl. Table 1(b), as table, figure and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS
from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_x
from fmim_reports.drawing.plotting import BLUE, INK, VERMILLION, NothingToDraw, Plot
from fmim_reports.parts.cautions import cautions, epochs_caution
from fmim_reports.parts.tidy import tidy_row, tidy_table
from fmim_reports.parts.verdict import Verdict, lead
from fmim_reports.reading import published
from fmim_reports.reading.plan import key_of
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, Estimate, arm_summaries, on_validation
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, configuration_column
from fmim_reports.writing.formats import SYMBOLS, configuration_text, in_percent, value_text
from fmim_reports.writing.tables import Column, Table

_COLOURS = {"grid": BLUE, "automargin": VERMILLION}
_WHY_EPOCHS_MATTER = "Which value is selected, and by how much, may change with the length of a training."


@dataclass(frozen=True)
class Method:
    """A loss with its search: every configuration's validation mAP, and which was selected, here and in the paper.

    search: what the paper's files call it. selected_map: the validation mAP of the selected configuration.
    """

    arm: ArmSummary
    search: str
    selected_map: Estimate
    space: Mapping[str, Sequence[Any]]
    scores: Sequence[tuple[Mapping[str, Any], Estimate]]
    paper: Mapping[str, Mapping[str, float]]  # by data set

    @property
    def complete(self) -> list[float]:
        """The mean validation mAP of the configurations that completed every fold."""
        return [score.stat.mean for _, score in self.scores if score.complete]

    @property
    def spread(self) -> float | None:
        """Best minus worst of these means; None with fewer than two."""
        return max(self.complete) - min(self.complete) if len(self.complete) > 1 else None

    @property
    def as_published(self) -> bool:
        """Whether the selected configuration is the one the paper selected on OAI."""
        chosen = self.arm.configuration
        return chosen is not None and key_of(chosen) == key_of(self.paper["OAI"])


def methods(results: Results) -> list[Method]:
    """Every method, in plan order."""
    found = []
    for arm, summary in zip(results.arms, arm_summaries(results), strict=True):
        scores = [(c, on_validation(results, arm.name, c, "mAP")) for c in arm.configurations]
        names = list(arm.configurations[0])
        paper = {data: published.selected(arm, names, data) for data in ("OAI", "CXR")}
        selected_map = on_validation(results, arm.name, summary.configuration, "mAP")
        found.append(Method(summary, published.search_name(arm), selected_map, arm.space, scores, paper))
    return found


def selection_table(results: Results) -> Table:
    """Suppl. Table 1b of the paper: what was scanned and what was selected, here and there."""
    found = methods(results)
    rows = [
        {
            "arm": method.arm,
            "loss": method.arm.group,
            "search": method.arm.search,
            "values": "; ".join(_values(name, values) for name, values in method.space.items()),
            "n_s": method.arm.cost.n_s,
            "selected": method.arm.configuration,
            "validation_mAP": method.selected_map,
            "spread": method.spread,
            "published_oai": method.paper["OAI"],
            "published_cxr": method.paper["CXR"],
        }
        for method in found
    ]
    group = "Validation, %, mean ± SE over folds (n)"
    columns = [
        Column("loss", "Loss"),
        Column("search", "Search"),
        Column("values", "Values scanned", "listing"),
        Column("n_s", "N_s", "count"),
        configuration_column(results, "Selected", "selected", group),
        Column("validation_mAP", "mAP", "estimate", group, "validation_n", metric=METRICS["mAP"]),
        Column("spread", "Spread", "percent", group),
        configuration_column(results, "OAI", "published_oai", "Selected, published"),
        configuration_column(results, "CXR", "published_cxr", "Selected, published"),
    ]
    text = (
        "What validation selects for each method, as in Suppl. Table 1(b) of the paper. Spread: best minus worst mean "
        "validation mAP over the method's values, in percentage points. Right: what the paper selected, on other "
        "images."
    )
    short = [f"{m.arm.label} ({len(m.complete)} of {len(m.scores)})" for m in found if len(m.complete) < len(m.scores)]
    note = f"The spread covers only configurations that completed every fold: {', '.join(short)}." if short else ""
    notes = [note, *published.footnotes(published.loss_name(results.arm(method.arm.name)) for method in found)]
    return Table("selected_values", "Selected values", caption(results, text), columns, rows, notes, also=[ARM])


def _values(name: str, values: Sequence[Any]) -> str:
    return f"{SYMBOLS.get(name, name)}: {', '.join(value_text(name, value) for value in values)}"


def selection_tidy(results: Results) -> Table:
    """Every configuration on validation; Suppl. Table 3 (OAI) has published values for AdaTriplet's."""
    rows = [
        tidy_row(
            method.arm,
            configuration_text(configuration),
            "mAP",
            score,
            _grid_value(results, method, configuration),
        )
        for method in methods(results)
        for configuration, score in method.scores
    ]
    return tidy_table(results, rows, "fold")


def _grid_value(results: Results, method: Method, configuration: Mapping[str, Any]) -> float | None:
    of_adatriplet = results.arm(method.arm.name).loss_kind == "adatriplet"
    return published.grid_value(method.search, configuration, "OAI") if of_adatriplet else None


def selection_plot(results: Results) -> Plot:
    """The validation mAP of every configuration, one row per method, the selected one marked."""
    shown = [method for method in methods(results) if any(score.stat.n for _, score in method.scores)]
    if not shown:
        raise NothingToDraw("no configuration has a completed fold yet")

    names, reached = [method.arm.name for method in shown], {m.arm.name: _percents(m) for m in shown}
    scale = scale_of({name: Extent.over(values) for name, values in reached.items()})
    marks = [
        Mark(m.arm.name, place, range_text(reached[m.arm.name]), {"marker": "o", "color": _COLOURS[m.search]})
        for place, m in enumerate(shown)
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        _every_configuration(axes, [method for method in shown if method.arm.name not in scale.beyond], names)
        _selected(axes, [method for method in shown if method.arm.name not in scale.beyond], names)
        axes.set_yticks(range(len(shown)), [method.arm.label.replace(" + ", "\n+ ") for method in shown])
        axes.set(xlabel="validation mAP (%)", ylabel="", ylim=(len(shown) - 0.4, -0.6))
        axes.grid(axis="y", visible=False)
        for search, label in {method.search: method.arm.search for method in shown}.items():
            axes.plot([], [], "o", color=_COLOURS[search], alpha=0.45, label=label)
        axes.plot([], [], "D", color="none", markeredgecolor=INK, label="selected ± SE")
        figure.legend(loc="outside upper center", ncols=3, columnspacing=1, handletextpad=0.2)
        scale_x(axes, marks, scale)

    text = (
        "Validation mAP of every configuration of every method, one dot each (mean over folds, "
        f"n = {len(results.study.folds)} planned). Diamond: the selected one with its SE; no bar for one fold."
    )
    text += scale.note
    alt = "Validation mAP by method: " + "; ".join(_range(method) for method in shown)
    return Plot("map_by_method", "What each method's values reach", caption(results, text), alt, 3.2, draw)


def _every_configuration(axes: Axes, shown: Sequence[Method], order: Sequence[str]) -> None:
    rows = [
        {"method": method.arm.name, "search": method.search, "mAP": 100 * score.stat.mean}
        for method in shown
        for _, score in method.scores
    ]
    seaborn.stripplot(
        pd.DataFrame(rows),
        x="mAP",
        y="method",
        order=order,
        hue="search",
        palette=_COLOURS,
        jitter=False,
        size=4.5,
        alpha=0.45,
        legend=False,
        ax=axes,
    )


def _selected(axes: Axes, shown: Sequence[Method], order: Sequence[str]) -> None:
    """Mean ± SE over folds; none where a fold's value is not a number, for seaborn would leave it out."""
    rows = [
        {"method": method.arm.name, "search": method.search, "fold": fold, "mAP": 100 * value}
        for method in shown
        if not math.isnan(method.selected_map.stat.mean)
        for fold, value in method.selected_map.values.items()
    ]
    seaborn.pointplot(
        pd.DataFrame(rows, columns=["method", "search", "fold", "mAP"]),
        x="mAP",
        y="method",
        order=order,
        hue="search",
        palette=_COLOURS,
        errorbar=("se", 1),  # sd(ddof = 1) / √n, none for n = 1, as `mean_se` has it
        linestyles="none",
        markers="D",
        markersize=5,
        markeredgecolor=INK,
        markeredgewidth=0.9,
        capsize=0.2,
        err_kws={"linewidth": 1},
        zorder=4,
        legend=False,
        ax=axes,
    )


def _percents(method: Method) -> list[float]:
    """The mean of each of its configurations."""
    return [100 * score.stat.mean for _, score in method.scores]


def _range(method: Method) -> str:
    means = [score.stat.mean for _, score in method.scores if score.stat.n and not math.isnan(score.stat.mean)]
    if not means:
        return f"{method.arm.label} not a number"
    return f"{method.arm.label} from {in_percent(min(means), 1)} to {in_percent(max(means), 1)} %"


def selection_verdict(results: Results) -> Verdict:
    """What is selected, how much is at stake, and how often the paper's own choice comes out."""
    found = methods(results)
    caveats = (*epochs_caution(results, _WHY_EPOCHS_MATTER), *cautions(results))
    chosen = [method for method in found if method.arm.configuration]
    if not chosen:
        return Verdict(lead(results), ("No method has a selected configuration yet.",), caveats)
    listed = "; ".join(f"{method.arm.label}: {configuration_text(method.arm.configuration)}" for method in chosen)
    same = [method.arm.label for method in chosen if method.as_published]
    agree = (
        f"{len(same)} of {len(chosen)} are the published choice for OAI, made on other images"
        f"{': ' + ', '.join(same) if same else ''}."
    )
    return Verdict(lead(results), (f"Validation selects {listed}.", *_spread_sentence(found), agree), caveats)


def _spread_sentence(found: Sequence[Method]) -> list[str]:
    known = {
        f"{m.arm.label} ({in_percent(m.spread)} percentage points)": m.spread for m in found if m.spread is not None
    }
    if not known:
        return []
    most, least = (pick(known, key=lambda name: known[name]) for pick in (max, min))
    return [
        f"Most is at stake for {most} of mean validation mAP between the best and the worst value, least for {least}. "
        "Methods with more values have more room for a spread."
    ]


CONTENTS = Contents(
    verdict=selection_verdict,
    tables=(selection_table,),
    figures=(selection_plot,),
    every_value=selection_tidy,
)
