"""The report of `margin_sensitivity`: the paper's Fig. 2(a), as figure, table and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS
from fmim_reports.drawing.lines import mean_line, replicates, value_line
from fmim_reports.drawing.plotting import INK, QUIET, NothingToDraw, Plot, line_style
from fmim_reports.parts.budget import budget_plot
from fmim_reports.parts.cautions import cautions, epochs_caution
from fmim_reports.parts.comparisons.words import estimate_text
from fmim_reports.parts.costs import cost_plot
from fmim_reports.parts.optimism import optimism_plot
from fmim_reports.parts.tidy import tidy_row, tidy_table
from fmim_reports.parts.verdict import Verdict, lead
from fmim_reports.reading import published
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.reading.summary import Estimate, estimate_of
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import configuration_text, in_percent
from fmim_reports.writing.tables import Column, Table

LABEL = "published (OAI)"
LARGE = 1.0
_WHY_EPOCHS_MATTER = "Where training breaks down may move with its length."


@dataclass(frozen=True)
class Margin:
    """One ε: its arm, its validation mAP and CMC top-1 over the folds, and the share of active triplets."""

    arm: str
    epsilon: float
    map: Estimate
    cmc: Estimate
    active_share: float
    chance: float

    @property
    def text(self) -> str:
        return configuration_text({"epsilon": self.epsilon})


def margins(results: Results) -> list[Margin]:
    """Every ε of every arm, from small to large."""
    found = [_margin(results, arm.name, c["epsilon"]) for arm in results.arms for c in arm.configurations]
    return sorted(found, key=lambda margin: margin.epsilon)


def _margin(results: Results, arm: str, epsilon: float) -> Margin:
    trials, of = results.of(arm, "search", {"epsilon": epsilon}), len(results.study.folds)
    done = [trial for trial in trials if trial.status == "completed"]
    return Margin(
        arm=arm,
        epsilon=float(epsilon),
        map=estimate_of(trials, "mAP", of, "fold"),
        cmc=estimate_of(trials, "CMC_1", of, "fold"),
        active_share=_mean(share for trial in done for share in _shares(trial)),
        chance=_mean(trial.metric("chance_mAP") for trial in done),
    )


def _shares(trial: PlannedTrial) -> list[float]:
    return [row.active_share for row in trial.record.history] if trial.record else []


def _mean(values: Any) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else math.nan


def _best(found: Sequence[Margin]) -> Margin | None:
    """The best of the ε that completed every fold."""
    complete = [m for m in found if m.map.complete and not math.isnan(m.map.stat.mean)]
    return max(complete, key=lambda m: m.map.stat.mean, default=None)


def margin_table(results: Results) -> Table:
    """Fig. 2a of the paper in numbers, with the distance of every ε to the best."""
    found, curve = margins(results), published.margin_curve()
    best = _best(found)
    rows = [
        {
            "arm": results.arm(margin.arm),
            "epsilon": margin.epsilon,
            "validation_mAP": margin.map,
            "validation_CMC_1": margin.cmc,
            "to_best": _to_best(margin, best),
            "active_share": margin.active_share,
            "published_mAP_percent": round(100 * curve[margin.epsilon]) if margin.epsilon in curve else None,
        }
        for margin in found
    ]
    group = "Validation, %, mean ± SE over folds (n)"
    columns = [
        Column("epsilon", "ε", "value"),
        Column("validation_mAP", "mAP", "estimate", group, "validation_n", metric=METRICS["mAP"]),
        Column("validation_CMC_1", "CMC top-1", "estimate", group, "validation_n", metric=METRICS["CMC_1"]),
        Column("to_best", "Minus the best mAP, percentage points", "points"),
        Column("active_share", "Active triplets, %", "percent"),
        Column("published_mAP_percent", "mAP, %", "published", LABEL),
    ]
    text = (
        "Triplet loss by its margin ε, as in Fig. 2(a) of the paper. Active triplets: the share with a non-zero "
        "term, mean over epochs and folds. Right: the paper's curve, on other images, for reference."
    )
    return Table("margins", "Validation mAP by margin", caption(results, text), columns, rows, also=[ARM])


def _to_best(margin: Margin, best: Margin | None) -> float | None:
    return margin.map.stat.mean - best.map.stat.mean if best and margin.map.stat.n else None


def margin_tidy(results: Results) -> Table:
    """Validation values by ε, mAP beside the published one."""
    curve = published.margin_curve()
    rows = []
    for margin in margins(results):
        paper = 100 * curve[margin.epsilon] if margin.epsilon in curve else None
        rows.append(tidy_row(results.arm(margin.arm), margin.text, "mAP", margin.map, paper))
        rows.append(tidy_row(results.arm(margin.arm), margin.text, "CMC_1", margin.cmc, None))
    return tidy_table(results, rows, "fold")


def margin_plot(results: Results) -> Plot:
    """Validation mAP over ε, with the published curve as a thin line."""
    shown = [margin for margin in margins(results) if margin.map.stat.n]
    if not shown:
        raise NothingToDraw("no ε has a completed fold yet")
    curve, chance = published.margin_curve(), _mean(margin.chance for margin in shown)
    ours = replicates({margin.epsilon: margin.map.values for margin in shown}, scale=100)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        mean_line(axes, ours, bars=True, label="ours, validation", **line_style(0))
        paper = pd.DataFrame({"x": list(curve), "y": [100 * value for value in curve.values()]})
        value_line(axes, paper, color=INK, linewidth=0.9, linestyle=(0, (4, 2)), label=f"{LABEL}, other images")
        if not math.isnan(chance):
            axes.axhline(100 * chance, color=QUIET, lw=0.9, ls=(0, (1, 1.5)), label="random ranking, ours")
        axes.set(xlabel="margin ε", ylabel="validation mAP (%)", ylim=(0, 102))
        figure.legend(loc="outside upper center", ncols=2, columnspacing=1)

    of = len(results.study.folds)
    short = ", ".join(f"{margin.text} n = {margin.map.n_text}" for margin in shown if not margin.map.complete)
    text = (
        f"Validation mAP of the triplet loss by its margin (mean ± SE over folds, n = {of}"
        f"{f' except {short}' if short else ''}; no bar for one fold). Dashed: {LABEL}, Fig. 2(a), on "
        "other images."
    )
    alt = "Validation mAP by ε: " + ", ".join(f"{in_percent(m.map.stat.mean, 1)} % at {m.epsilon:g}" for m in shown)
    return Plot("map_by_margin", "mAP by margin", caption(results, text), alt, 2.9, draw)


def margin_verdict(results: Results) -> Verdict:
    """Which ε is best, what a margin of 1 and more costs, and what ε = 0 measures."""
    found = margins(results)
    best = _best(found)
    caveats = (*epochs_caution(results, _WHY_EPOCHS_MATTER), *cautions(results))
    if best is None:
        return Verdict(lead(results), ("No ε has completed all its folds yet.",), caveats)
    first = f"Validation mAP is highest at {best.text}: {estimate_text(best.map)}. {_large(found, best)}"
    return Verdict(lead(results), (f"{first} {_breaks(found, best)}", *_zero(found, best), _paper()), caveats)


def _large(found: Sequence[Margin], best: Margin) -> str:
    """mAP at ε ≥ 1 and how far below the best that is."""
    means = {m.text: m.map.stat.mean for m in found if m.epsilon >= LARGE and m.map.stat.n}
    if not means:
        return f"No ε ≥ {LARGE:g} has a completed fold yet."
    high, low = max(means.values()), min(means.values())
    drops = [in_percent(best.map.stat.mean - value) for value in (high, low)]
    return (
        f"At ε ≥ {LARGE:g} it lies between {in_percent(high)} and {in_percent(low)} %, {drops[0]} to {drops[1]} "
        "percentage points below the best."
    )


def _breaks(found: Sequence[Margin], best: Margin) -> str:
    """The margin from which a model finds less than half of what the best one does."""
    half = best.map.stat.mean / 2
    broken = next((m for m in found if m.epsilon > best.epsilon and m.map.stat.mean < half), None)
    if broken is None:
        return f"No ε above {best.epsilon:g} falls below half of the best."
    return f"Above {best.epsilon:g} it first falls below half of the best at {broken.text}."


def _zero(found: Sequence[Margin], best: Margin) -> list[str]:
    zero = next((m for m in found if m.epsilon == 0 and m.map.stat.n), None)
    if zero is None:
        return []
    drop = in_percent(best.map.stat.mean - zero.map.stat.mean)
    text = f"At ε = 0 it is {estimate_text(zero.map)}, {drop} percentage points below the best"
    if zero.active_share != 0:
        return [f"{text}."]
    return [
        f"{text}: semi-hard selection (0 < Δ ≤ ε) selects nothing there, so what is scored is an untrained or "
        "collapsed embedding."
    ]


def _paper() -> str:
    curve = published.margin_curve()
    highest = max(curve.values())
    best = " to ".join(f"{e:g}" for e in _ends([e for e, value in curve.items() if value == highest]))
    large = [value for epsilon, value in curve.items() if epsilon >= LARGE]
    return (
        f"For reference, {LABEL}, on other images: {in_percent(highest, 0)} % at ε = {best}, "
        f"{in_percent(max(large), 0)} to {in_percent(min(large), 0)} % at ε ≥ {LARGE:g}, and "
        f"{in_percent(curve[0.0], 0)} % at ε = 0."
    )


def _ends(values: list[float]) -> list[float]:
    return sorted({min(values), max(values)})


CONTENTS = Contents(
    verdict=margin_verdict,
    tables=(margin_table,),
    figures=(margin_plot,),
    every_value=margin_tidy,
    leaves_out=(cost_plot, budget_plot, optimism_plot),  # one arm: nothing to compare its search with
)
