"""The report of `margin_sensitivity`: the paper's Fig. 2(a), as figure, table and sentences."""

from __future__ import annotations

import math
from statistics import fmean

import pandas as pd
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS
from fmim_reports.drawing.lines import draw_line, mean_points
from fmim_reports.drawing.looks import arm_looks
from fmim_reports.drawing.plotting import INK, QUIET, NothingToDraw, Plot
from fmim_reports.parts.budget import budget_plot
from fmim_reports.parts.comparisons.words import estimate_text
from fmim_reports.parts.costs import cost_plot
from fmim_reports.parts.tidy import tidy_row, tidy_table
from fmim_reports.parts.verdict import Verdict, epochs_caution, verdict_of
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate, best_of, on_validation
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import alt_text, caption, replicates_phrase
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import configuration_text, in_percent
from fmim_reports.writing.tables import Column, Table

LABEL = "published (OAI)"
LARGE = 1.0
PAPER = f"For reference, {LABEL}, on the paper's images: 96 % at ε = 0.2 to 0.4, 28 to 10 % at ε ≥ 1, and 6 % at ε = 0."
_WHY_EPOCHS_MATTER = "Where training breaks down may move with its length."


def by_epsilon(results: Results, metric: str) -> dict[float, Estimate]:
    """Return a validation metric by ε, from small to large, of the study's one arm."""
    (arm,) = results.arms
    values = sorted(float(configuration["epsilon"]) for configuration in arm.configurations)
    return {epsilon: on_validation(results, arm.name, {"epsilon": epsilon}, metric) for epsilon in values}


def _text(epsilon: float) -> str:
    return configuration_text({"epsilon": epsilon})


def _active_share(results: Results, epsilon: float) -> float:
    """Return the mean share of active triplets over epochs and folds; not a number before there are any."""
    (arm,) = results.arms
    trials = results.of(arm.name, "search", {"epsilon": epsilon})
    done = [trial.record for trial in trials if trial.record and trial.status == "completed"]
    shares = [row.active_share for record in done for row in record.history]
    return fmean(shares) if shares else math.nan


def margin_table(results: Results) -> Table:
    """Return Fig. 2a of the paper in numbers, with the distance of every ε to the best."""
    found, cmc, curve = by_epsilon(results, "mAP"), by_epsilon(results, "CMC_1"), published.margin_curve()
    best = best_of(found)
    rows = [
        {"arm": results.arms[0], "epsilon": epsilon, "validation_mAP": value, "validation_CMC_1": cmc[epsilon]}
        | {"to_best": None if best is None or not value.stat.n else value.stat.mean - found[best].stat.mean}
        | {"active_share": _active_share(results, epsilon)}
        | {"published_mAP_percent": round(100 * curve[epsilon]) if epsilon in curve else None}
        for epsilon, value in found.items()
    ]
    group = "Validation, %, mean ± SE over folds"
    columns = [
        Column("epsilon", "ε", "value"),
        Column("validation_mAP", "mAP", "estimate", group, "validation_n", metric=METRICS["mAP"]),
        Column("validation_CMC_1", "CMC top-1, first hit", "estimate", group, "validation_n", metric=METRICS["CMC_1"]),
        Column("to_best", "Minus the best mAP, percentage points", "points"),
        Column("active_share", "Active triplets, %", "percent"),
        Column("published_mAP_percent", "mAP, %", "published", LABEL),
    ]
    text = (
        "Triplet loss by its margin ε, as in Fig. 2(a) of the paper. Active triplets: the share with a non-zero "
        "term, mean over epochs and folds. Right: the paper's curve, on the paper's images, for reference."
    )
    return Table("margins", "Validation mAP by margin", caption(results, text), columns, rows, also=[ARM])


def margin_tidy(results: Results) -> Table:
    """Return validation values by ε, mAP beside the published one."""
    found = {metric: by_epsilon(results, metric) for metric in ("mAP", "CMC_1")}
    paper = {("mAP", epsilon): 100 * value for epsilon, value in published.margin_curve().items()}
    rows = [
        tidy_row(results.arms[0], _text(epsilon), metric, found[metric][epsilon], paper.get((metric, epsilon)))
        for epsilon in found["mAP"]
        for metric in found
    ]
    return tidy_table(results, rows)


def margin_plot(results: Results) -> Plot:
    """Draw validation mAP over ε, with the published curve as a thin line."""
    shown = {epsilon: value for epsilon, value in by_epsilon(results, "mAP").items() if value.stat.n}
    if not shown:
        raise NothingToDraw("no ε has a completed fold yet")
    curve, chances = published.margin_curve(), by_epsilon(results, "chance_mAP")
    chance = fmean(chances[epsilon].stat.mean for epsilon in shown)
    ours = mean_points({epsilon: value.values for epsilon, value in shown.items()}, scale=100)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        draw_line(axes, ours, look=arm_looks(results)[results.arms[0].name], bars=True, label="ours, validation")
        paper = pd.DataFrame({"x": list(curve), "y": [100 * value for value in curve.values()]})
        draw_line(axes, paper, color=INK, linewidth=0.9, linestyle=(0, (4, 2)), label=LABEL)
        if not math.isnan(chance):
            axes.axhline(100 * chance, color=QUIET, lw=0.9, ls=(0, (1, 1.5)), label="random ranking, ours")
        axes.set(xlabel="margin ε", ylabel="validation mAP (%)", ylim=(0, 102))
        figure.legend(loc="outside upper center", ncols=2, columnspacing=1)

    folds = replicates_phrase(str(len(results.study.folds)), {_text(each): value for each, value in shown.items()})
    text = (
        f"Validation mAP of the triplet loss by its margin (mean ± SE over folds, {folds}; no bar for one fold). "
        f"Dashed: {LABEL}, Fig. 2(a), on the paper's images."
    )
    listed = alt_text(f"{in_percent(value.stat.mean, 1)} % at {epsilon:g}" for epsilon, value in shown.items())
    alt = f"Validation mAP by ε: {listed}"
    return Plot("map_by_margin", "mAP by margin", caption(results, text), alt, 2.9, draw)


def margin_verdict(results: Results) -> Verdict:
    """Say which ε is best, what a margin of 1 and more costs, and what ε = 0 measures."""
    found, own = by_epsilon(results, "mAP"), epochs_caution(results, _WHY_EPOCHS_MATTER)
    best = best_of(found)
    if best is None:
        return verdict_of(results, ["No ε has completed all its folds yet."], own=own)
    means = {epsilon: value.stat.mean for epsilon, value in found.items() if value.stat.n}
    highest = means[best]
    findings = [f"Validation mAP is highest at {_text(best)}: {estimate_text(found[best])}."]
    if large := [mean for epsilon, mean in means.items() if epsilon >= LARGE]:
        high, low = max(large), min(large)
        below = f"{in_percent(highest - high)} to {in_percent(highest - low)} points below the best"
        findings.append(f"At ε ≥ {LARGE:g} it is {in_percent(low)} to {in_percent(high)} %, {below}.")
    else:
        findings.append(f"No ε ≥ {LARGE:g} has a completed fold yet.")
    broken = next((epsilon for epsilon, mean in means.items() if epsilon > best and mean < highest / 2), None)
    if broken is None:
        findings.append(f"No ε above {best:g} falls below half of the best.")
    else:
        findings.append(f"Above {best:g} it first falls below half of the best at {_text(broken)}.")
    if (zero := found.get(0.0)) and zero.stat.n:
        below = f"{in_percent(highest - zero.stat.mean)} points below the best"
        why = ": semi-hard selection (0 < Δ ≤ ε) finds no triplet there, so the embedding is untrained or collapsed"
        why = why if _active_share(results, 0.0) == 0 else ""
        findings.append(f"At ε = 0 it is {estimate_text(zero)}, {below}{why}.")
    return verdict_of(results, [*findings, PAPER], own=own)


CONTENTS = Contents(
    verdict=margin_verdict,
    tables=(margin_table,),
    figures=(margin_plot,),
    every_value=margin_tidy,
    leaves_out=(cost_plot, budget_plot),  # one arm: nothing to compare its search with
)
