"""Which hyperparameters of a search matter: their importance by fANOVA, and the marginal of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from fmim_core.records import ArmEntry
from fmim_reports.drawing.looks import arm_looks
from fmim_reports.drawing.plotting import QUIET, NothingToDraw, Plot
from fmim_reports.reading.results import Results, once
from fmim_reports.reading.summary import on_validation
from fmim_reports.stats import importance
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import SYMBOLS, in_percent, value_text
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

LEAST, PARTS = 4, 10  # configurations that a forest is fitted to, and parts of a range that are told apart


@dataclass(frozen=True)
class Varied:
    """A hyperparameter of an arm's search, with all that the search says of it.

    Args:
        levels: the values of a choice; of a range those at the middles of its parts.
        places, scores: of each configuration that completed every fold, where its value lies in [0, 1], and its score.
        share, marginal, moved, r_squared: see `stats.Importance`; `moved` are the shares with one fold left out.
    """

    arm: ArmEntry
    label: str
    levels: list[str]
    places: np.ndarray
    scores: np.ndarray
    share: float
    marginal: tuple[float, ...]
    moved: list[float]
    r_squared: float

    @property
    def title(self) -> str:
        return f"{self.label} ({in_percent(self.share, 0)} %)"


def varied_spaces(arm: ArmEntry) -> dict[str, Any]:
    """Return the hyperparameters of an arm with more than one value, each with its space as study.json has it."""
    return {name: space for name, space in arm.space.items() if len(space) > 1}


def several_hyperparameters(results: Results) -> bool:
    """Say whether an arm searches two or more hyperparameters."""
    return results.searched and any(len(varied_spaces(arm)) > 1 for arm in results.arms)


@once
def searches(results: Results) -> list[list[Varied]]:
    """Return the hyperparameters of each arm that varies two or more, in plan order; none where nothing is known."""
    every = [_search(results, arm) for arm in results.arms if len(varied_spaces(arm)) > 1]
    return [search for search in every if search]


def _search(results: Results, arm: ArmEntry) -> list[Varied]:
    every = [(one, on_validation(results, arm.name, one, results.metric.name)) for one in arm.configurations]
    found = [(one, score) for one, score in every if score.complete and not math.isnan(score.stat.mean)]
    if len(found) < LEAST:
        return []
    by_fold = np.array([[score.values[fold] for fold in sorted(score.values)] for _, score in found])
    sides = [levels_of(name, space, [one[name] for one, _ in found]) for name, space in varied_spaces(arm).items()]
    points, levels = np.stack([places for _, places in sides], axis=1), [len(texts) for texts, _ in sides]
    scores, folds = by_fold.mean(axis=1), range(by_fold.shape[1] if by_fold.shape[1] > 1 else 0)
    whole = importance(points, scores, levels)
    without = [importance(points, np.delete(by_fold, fold, axis=1).mean(axis=1), levels) for fold in folds]
    if whole is None:
        return []
    return [
        Varied(arm, SYMBOLS.get(name, name), *side, scores, share, marginal, moved, whole.r_squared)
        for i, (name, side) in enumerate(zip(varied_spaces(arm), sides, strict=True))
        for share, marginal in [(whole.shares[i], whole.marginals[i])]
        for moved in [[one.shares[i] for one in without if one]]
    ]


def levels_of(name: str, space: Any, values: list[Any]) -> tuple[list[str], np.ndarray]:
    """Return the levels of a space as study.json has it, and where values lie in [0, 1]."""
    if not isinstance(space, Mapping):
        return [value_text(name, one) for one in space], (np.array(list(map(space.index, values))) + 0.5) / len(space)
    on, back = (np.log, np.exp) if space["scale"] == "log" else (np.asarray, np.asarray)
    low, high = on(space["low"]), on(space["high"])
    return [f"{back(low + at * (high - low)):.3g}" for at in middles(PARTS)], (on(values) - low) / (high - low)


def middles(levels: int) -> np.ndarray:
    """Return where so many levels lie in [0, 1]."""
    return (np.arange(levels) + 0.5) / levels


@in_every_study(Section.MORE, several_hyperparameters)
def importance_table(results: Results) -> Table:
    """Return the importance of each hyperparameter, and how far it moves where one fold is left out."""
    rows: list[dict[str, Any]] = []
    for search in searches(results):
        row = {"arm": search[0].arm, "n": len(search[0].scores), "r_squared": search[0].r_squared}
        for one in search:
            moved = {"low": min(one.moved, default=None), "high": max(one.moved, default=None)}
            rows.append(row | moved | {"name": one.label, "alone": one.share, "rule": one is search[0]})
        rows.append(row | {"name": "only together", "alone": max(0.0, 1 - sum(one.share for one in search))})
    columns = [
        ARM,
        Column("n", "Configurations", "count"),
        Column("name", "Hyperparameter"),
        *under("Variance explained, %", "percent", alone="All folds", low="One fold left out: least", high="Most"),
        Column("r_squared", "R², left-out configurations", "number"),
    ]
    text = (
        f"Importance for the validation {results.metric.label} by fANOVA (Hutter et al. 2014): the share of its "
        "variance over the search space that a hyperparameter explains on its own; the last row is the share of "
        "interactions. With few configurations the shares are unreliable."
    )
    how = (
        "A random forest is fitted to the configurations that completed every fold. One fold left out: the change of "
        "the shares without one fold. R² is the forest's on configurations left out of its trees; at or below 0 the "
        "shares mean nothing. Shares are also unreliable for a search that stays near its best or stops other "
        f"configurations early. There is no importance with fewer than {LEAST} configurations or with equal scores."
    )
    return Table(
        "hyperparameter_importance", "Importance of hyperparameters", caption(results, text), columns, rows, how=how
    )


@in_every_study(Section.MORE, several_hyperparameters)
def marginals_table(results: Results) -> Table:
    """Return the mean score at each value of a hyperparameter over all values of the others."""
    rows = [
        {"arm": one.arm, "name": one.label, "value": level, "marginal": mean, "rule": level == one.levels[0]}
        for search in searches(results)
        for one in search
        for level, mean in zip(one.levels, one.marginal, strict=True)
    ]
    columns = [ARM, *under("", "text", name="Hyperparameter", value="Value"), *under("", "percent", marginal="Mean, %")]
    text = (
        f"Marginals: the validation {results.metric.label} that the random forest expects at each value, averaged "
        f"over all values of the other hyperparameters; for a range, at the middle of each of {PARTS} parts."
    )
    return Table("hyperparameter_marginals", "Marginals of hyperparameters", caption(results, text), columns, rows)


@in_every_study(Section.MORE_FIGURES, several_hyperparameters)
def marginals_plot(results: Results) -> Plot:
    """Draw the marginal of each hyperparameter over the scores of all configurations, a row of panels per arm."""
    found, label, looks = searches(results), results.metric.label, arm_looks(results)
    if not found:
        raise NothingToDraw(f"no arm has {LEAST} configurations with a score on every fold")

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(found), max(map(len, found)), sharey="row", squeeze=False)
        for search, row in zip(found, grid, strict=True):
            row[0].set_title(search[0].arm.label, fontsize=7.5, loc="left")
            row[0].set_ylabel(f"{label} (%)")
            for axes in row[len(search) :]:
                axes.set_axis_off()
            for axes, one in zip(row, search, strict=False):
                places, every = middles(len(one.levels)), max(1, len(one.levels) // 3)
                axes.plot(one.places, 100 * one.scores, ls="", marker="o", ms=2.5, color=QUIET)
                axes.plot(places, 100 * np.array(one.marginal), marker="_", color=looks[one.arm.name].colour)
                axes.set_xticks(places[::every], one.levels[::every])
                axes.set(xlim=(-0.03, 1.03), xlabel=one.title)

    text = (
        f"Validation {label} by each searched hyperparameter, with its importance by fANOVA. Line: its marginal, the "
        "mean over all values of the others. Dots: the configurations. The table of importances has the cautions."
    )
    alt = alt_text(f"{search[0].arm.label}: {', '.join(one.title for one in search)}" for search in found)
    height = 0.5 + 1.25 * len(found)
    return Plot("marginals", "Marginals of hyperparameters", caption(results, text), alt, height, draw)
