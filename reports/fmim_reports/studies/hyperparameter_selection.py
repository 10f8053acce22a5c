"""The report of `hyperparameter_selection`: the paper's Suppl. Table 1(b), as table, figure and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS
from fmim_core.records import ArmEntry
from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_x
from fmim_reports.drawing.hints import Hints
from fmim_reports.drawing.looks import Look, arm_looks
from fmim_reports.drawing.plotting import INK, NothingToDraw, Plot
from fmim_reports.parts.comparisons.words import estimate_text
from fmim_reports.parts.tidy import tidy_row, tidy_table
from fmim_reports.parts.verdict import Verdict, epochs_caution, verdict_of
from fmim_reports.reading import published
from fmim_reports.reading.files import key_of
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, Estimate, arm_summaries, on_validation
from fmim_reports.stats import MeanSE
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.columns import ARM, configuration_column
from fmim_reports.writing.formats import (
    SYMBOLS,
    configuration_text,
    decimal,
    in_percent,
    listed,
    value_text,
)
from fmim_reports.writing.tables import Column, Table

_WHY_EPOCHS_MATTER = "Which value is selected, and by how much, may change with the length of a training."


@dataclass(frozen=True, eq=False)
class Method:
    """A loss with its search, and the validation mAP of every configuration.

    search: what the paper's files call it. means: in percent, of each configuration. complete: the means of those that
    completed every fold. spread: the best minus the worst of these; None with fewer than two.
    """

    arm: ArmSummary
    entry: ArmEntry
    search: str
    scores: Sequence[tuple[Mapping[str, Any], Estimate]]
    means: list[float]
    complete: list[float]
    spread: float | None


def methods(results: Results) -> list[Method]:
    """Return every method, in plan order."""
    found = []
    for entry, arm in zip(results.arms, arm_summaries(results), strict=True):
        scores = [(each, on_validation(results, arm.name, each, "mAP")) for each in entry.configurations]
        complete = [score.stat.mean for _, score in scores if score.complete]
        spread = max(complete) - min(complete) if len(complete) > 1 else None
        means = [100 * score.stat.mean for _, score in scores]
        found.append(Method(arm, entry, published.search_name(entry), scores, means, complete, spread))
    return found


def _paper(method: Method, data: str) -> dict[str, float]:
    """Return what the paper selected on a data set."""
    return published.selected(method.entry, method.entry.configurations[0], data)


def _scanned(name: str, values: Iterable[Any]) -> str:
    return f"{SYMBOLS.get(name, name)}: {', '.join(value_text(name, value) for value in values)}"


def selection_table(results: Results) -> Table:
    """Return Suppl. Table 1b of the paper: what was scanned and what was selected, here and there."""
    found = methods(results)
    rows = [
        {"arm": method.arm, "loss": method.arm.group, "search": method.arm.search, "n_s": method.arm.cost.n_s}
        | {"values": "; ".join(starmap(_scanned, method.entry.space.items())), "selected": method.arm.configuration}
        | {"validation_mAP": on_validation(results, method.arm.name, method.arm.configuration, "mAP")}
        | {"published_oai": _paper(method, "OAI"), "published_cxr": _paper(method, "CXR"), "spread": method.spread}
        for method in found
    ]
    group = "Validation, %, mean ± SE over folds"
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
        "validation mAP over the method's values, in percentage points. Right: what the paper selected, on its "
        "images."
    )
    short = [f"{m.arm.label} ({len(m.complete)} of {len(m.scores)})" for m in found if len(m.complete) < len(m.scores)]
    note = f"The spread covers only configurations that completed every fold: {', '.join(short)}." if short else ""
    notes = [note, *published.footnotes(published.loss_name(method.entry) for method in found)]
    return Table("selected_values", "Selected values", caption(results, text), columns, rows, notes, also=[ARM])


def selection_tidy(results: Results) -> Table:
    """Return every configuration on validation; Suppl. Table 3 has published values for AdaTriplet's."""
    rows, data = [], published.paper_data(results).name
    for method in methods(results):
        printed = method.entry.loss_kind == "adatriplet"
        for each, score in method.scores:
            paper = published.grid_value(method.search, each, data) if printed else None
            rows.append(tidy_row(method.arm, configuration_text(each), "mAP", score, paper))
    return tidy_table(results, rows)


def selection_plot(results: Results) -> Plot:
    """Draw the validation mAP of every configuration, one row per method, the selected one marked."""
    shown = [method for method in methods(results) if any(score.stat.n for _, score in method.scores)]
    if not shown:
        raise NothingToDraw("no configuration has a completed fold yet")
    looks = arm_looks(results)
    scale = scale_of({method.arm.name: Extent.of_estimates(score for _, score in method.scores) for method in shown})
    marks = [
        Mark(method.arm.name, place, range_text(method.means), looks[method.arm.name].line)
        for place, method in enumerate(shown)
    ]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, method in enumerate(shown):
            if method.arm.name not in scale.beyond:
                selected = on_validation(results, method.arm.name, method.arm.configuration, "mAP").stat
                _draw(axes, place, method, selected, looks[method.arm.name])
        axes.set_yticks(range(len(shown)), [method.arm.label.replace(" + ", "\n+ ") for method in shown])
        axes.set(xlabel="validation mAP (%)", ylabel="", ylim=(len(shown) - 0.4, -0.6))
        axes.grid(axis="y", visible=False)
        scale_x(axes, marks, scale)

    text = (
        "Validation mAP of every configuration of every method, one dot each (mean over folds, "
        f"n = {len(results.study.folds)} planned). Black edge: the selected one with its SE; no bar for one fold."
    )
    alt = "Validation mAP by method: " + alt_text(f"{method.arm.label} {_range(method)}" for method in shown)
    title = "What each method's values reach"
    return Plot("map_by_method", title, caption(results, text + scale.note), alt, 3.2, draw)


def _draw(axes: Axes, place: int, method: Method, selected: MeanSE, look: Look) -> None:
    """Draw a dot per configuration, and the selected one's mean ± SE over folds."""
    every = [place] * len(method.means)
    axes.plot(method.means, every, **{**look.line, "linestyle": "", "alpha": 0.45})
    bar = None if selected.se is None else 100 * selected.se
    chosen: dict[str, Any] = {"markersize": 5, "markeredgecolor": INK, "markeredgewidth": 0.9, "zorder": 4}
    chosen |= {"linestyle": "", "elinewidth": 1, "capsize": 2, "capthick": 1}
    drawn = axes.errorbar(100 * selected.mean, place, xerr=bar, **{**look.line, **chosen})
    for part in drawn.get_children():
        part.set_gid(look.line["gid"])
    said = [f"{configuration_text(each)}: {estimate_text(score)}" for each, score in method.scores]
    axes.add_artist(Hints(look, [*zip(method.means, every, strict=True)], said))


def _range(method: Method) -> str:
    means = [mean for mean in method.means if not math.isnan(mean)]
    return f"from {decimal(min(means), 1)} to {decimal(max(means), 1)} %" if means else "not a number"


def selection_verdict(results: Results) -> Verdict:
    """Say what is selected, how much is at stake, and how often the paper's own choice comes out."""
    found, own = methods(results), epochs_caution(results, _WHY_EPOCHS_MATTER)
    chosen = [method for method in found if method.arm.configuration]
    if not chosen:
        return verdict_of(results, ["No method has a selected configuration yet."], own=own)
    selected = "; ".join(f"{method.arm.label}: {configuration_text(method.arm.configuration)}" for method in chosen)
    data = published.paper_data(results).name
    same = [m.arm.label for m in chosen if key_of(m.arm.configuration or {}) == key_of(_paper(m, data))]
    which = f" ({listed(same)})" if same else ""
    agree = f"Validation selects the paper's value for {data} for {len(same)} of {len(chosen)} arms{which}."
    findings = [agree, f"It selects {selected}."]
    known = {f"{m.arm.label} ({in_percent(m.spread)} points)": m.spread for m in found if m.spread is not None}
    if known:
        most, least = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
        findings.append(
            f"Between the best and the worst value, mean validation mAP differs most for {most} and least for {least}. "
            "Methods with more values can differ more."
        )
    return verdict_of(results, findings, own=own)


CONTENTS = Contents(
    verdict=selection_verdict, tables=(selection_table,), figures=(selection_plot,), every_value=selection_tidy
)
