"""The report of `lambda_sweep`: the paper's Table 1(a), as table, figure and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS as DECLARED_METRICS
from fmim_core.metric_names import YEAR
from fmim_core.records import ArmEntry
from fmim_reports.drawing.axes import Extent, Mark, Scale, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import draw_line, mean_points, shared_legend
from fmim_reports.drawing.looks import CARD, series_look
from fmim_reports.drawing.plotting import INK, QUIET, NothingToDraw, Plot
from fmim_reports.parts.comparisons.words import estimate_text, plain_sentences
from fmim_reports.parts.tidy import tidy_row, tidy_table
from fmim_reports.parts.verdict import Verdict, verdict_of
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate, best_of, estimate_from_time, estimate_of
from fmim_reports.stats import paired_difference
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import alt_text, caption, replicates_phrase, test_models
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import configuration_text, in_percent, p_text, points
from fmim_reports.writing.tables import Column, Table

APART = 6
PAPER = (  # computed in the test of this file
    f"For reference, {published.LABEL}, on the paper's images: highest mAP at ≥ 6 years with λ = 1 (96.3 %), lowest "
    "with λ = 2 (94.5 %)."
)
METRICS = {"mAP": "mAP", "CMC_1_all_shots": "CMC top-1"}
# By whether only queries at least 6 years apart count; with a shorter interval at least 6 of that.
SHARES = tuple(product((True, False), METRICS))
_STYLES: Mapping[bool, Mapping[str, Any]] = {
    True: {"color": QUIET, "marker": "s", "markerfacecolor": CARD},
    False: {"color": INK, "marker": "o"},
}
_ASIDE = {True: 0.06, False: -0.06}
BySetting = Mapping[str, Mapping[bool, Estimate]]  # by λ, over all queries (False) and over those apart (True)


def weight(arm: ArmEntry) -> float:
    """Return an arm's λ."""
    return float(arm.configurations[0]["lam"])


def setting(arm: ArmEntry) -> str:
    """Return `λ = 1`, by which an arm is called."""
    return configuration_text({"lam": weight(arm)})


def value(results: Results, arm: ArmEntry, stage: str, metric: str, apart: bool) -> Estimate:
    """Return a metric of a stage over all queries, or over those at least 6 years after baseline."""
    trials, unit = results.of(arm.name, stage), results.stages[stage]
    of = len(results.study.folds) if stage == "search" else arm.replicates
    return estimate_from_time(trials, metric, APART, of, unit) if apart else estimate_of(trials, metric, of, unit)


def _label(results: Results, apart: bool) -> str:
    return f"{f'≥ {APART}' if apart else 'all'} {results.interval.plural}"


def _published(results: Results, arm: ArmEntry, metric: str, apart: bool) -> float | None:
    """Return the paper's value for OAI; None where it has none, as of queries apart by anything but years."""
    return None if apart and results.interval != YEAR else published.lambda_value(weight(arm), metric, apart)


def _key(metric: str, apart: bool) -> str:
    return f"{metric}_{APART}y" if apart else metric


def lambda_table(results: Results) -> Table:
    """Return Table 1a of the paper, on validation and on the test set."""
    rows: list[dict[str, Any]] = []
    stages = {stage: unit for stage, unit in results.stages.items() if stage != "variation"}
    for stage, unit in stages.items():
        for arm in results.arms:
            row: dict[str, Any] = {"rule": bool(rows) and arm is results.arms[0], "lam": weight(arm)}
            row |= {"arm": arm, "stage": stage, "on": f"{'validation' if stage == 'search' else 'test'} ({unit}s)"}
            for apart, metric in SHARES:
                row[_key(metric, apart)] = value(results, arm, stage, metric, apart)
                if unit == "fold":  # as the paper's are
                    row[f"published_{_key(metric, apart)}"] = _published(results, arm, metric, apart)
            rows.append(row)
    ours, theirs = [], []
    for apart, metric in SHARES:
        key, head, declared = _key(metric, apart), METRICS[metric], DECLARED_METRICS[metric]
        queries = _label(results, apart).capitalize()
        group = f"{queries}, %, mean ± SE"
        ours.append(Column(key, head, "estimate", group, f"n{'_6y' * apart}", metric=declared))
        theirs.append(Column(f"published_{key}", head, "published", f"{queries}, {published.LABEL}", metric=declared))
    columns = [Column("on", "On"), Column("lam", "λ", "value"), *ours, *theirs]
    text = (
        "AdaTriplet with AutoMargin by the weight λ of its negative-pair term, as in Table 1(a) of the paper: over "
        f"queries at least {APART} {results.interval.after_baseline}, and over all. Validation: mean over folds; test: "
        f"over seeds ({test_models(results)}). Right: published values, on the paper's images."
    )
    how = f"{published.TABLE_1A} {published.CMC_NOTE}"
    also = [ARM, Column("stage", "Stage")]
    return Table("lambda_weights", "The weight λ", caption(results, text), columns, rows, also=also, how=how)


def lambda_tidy(results: Results) -> Table:
    """Return the values by λ on the folds, each beside the published one, and on the test set."""
    rows = []
    for arm, stage, (apart, metric) in product(results.arms, ("search", "replicate"), SHARES):
        theirs = _published(results, arm, metric, apart) if stage == "search" else None
        ours, time = value(results, arm, stage, metric, apart), f"{APART}+" if apart else None
        rows.append(tidy_row(arm, setting(arm), metric, ours, theirs, time))
    return tidy_table(results, rows)


def lambda_plot(results: Results) -> Plot:
    """Draw validation mAP and CMC top-1 by λ, over all years and from 6 on; below, the published ones, scaled apart."""
    if not any(value(results, arm, "search", "mAP", apart=False).stat.n for arm in results.arms):
        raise NothingToDraw("no λ has a completed fold yet")
    shown: dict[str, BySetting] = {
        metric: {
            setting(arm): {apart: value(results, arm, "search", metric, apart) for apart in (False, True)}
            for arm in results.arms
        }
        for metric in METRICS
    }
    scales = {
        metric: scale_of({name: Extent.of_estimates(one.values()) for name, one in by_setting.items()})
        for metric, by_setting in shown.items()
    }

    def draw(figure: Figure) -> None:
        panels = figure.subplots(2, 2, sharex=True)
        for (ours, theirs), metric in zip(panels.T, METRICS, strict=True):
            _draw(results, metric, ours, theirs, shown[metric], scales[metric])
        panels[0][0].set_ylabel("ours, validation (%)")
        panels[1][0].set_ylabel("published, OAI (%)")
        shared_legend(figure, panels[:, 0])

    folds = replicates_phrase(str(len(results.study.folds)), {name: one[False] for name, one in shown["mAP"].items()})
    text = (
        f"Validation mAP and CMC top-1 by λ (mean ± SE over folds, {folds}; no bar for one fold), over all "
        f"queries and those at least {APART} {results.interval.after_baseline}. Below: {published.LABEL}, on the "
        "paper's images and so on a scale of their own."
    )
    text += next((scale.note for scale in scales.values() if scale.beyond), "")
    alt = "Validation mAP by λ. " + alt_text(
        f"{name}: {', '.join(f'{_label(results, apart)} {in_percent(one[apart].stat.mean, 1)} %' for apart in one)}"
        for name, one in shown["mAP"].items()
    )
    return Plot("map_by_lambda", "mAP and CMC top-1 by λ", caption(results, text), alt, 3.6, draw)


def _draw(results: Results, metric: str, ours: Axes, theirs: Axes, shown: BySetting, scale: Scale) -> None:
    """Draw our values, with a mark at the edge for each λ off the scale, and below the published ones."""
    for apart in (False, True):
        label, style = _label(results, apart), _STYLES[apart]
        on_scale = [{} if name in scale.beyond else one[apart].values for name, one in shown.items()]
        points_ = mean_points({x + _ASIDE[apart]: values for x, values in enumerate(on_scale)}, scale=100)
        look, points_["at"] = series_look(f"ours, {label}", **style), [f"{weight(arm):g}" for arm in results.arms]
        draw_line(ours, points_, look=look, bars=True, label=look.label)
        values = {x + _ASIDE[apart]: _published(results, arm, metric, apart) for x, arm in enumerate(results.arms)}
        frame = pd.DataFrame({"x": [*values], "y": [*values.values()]}, dtype=float)
        dashed: dict[str, Any] = {"linestyle": (0, (3, 1.5)), "linewidth": 0.9, "label": f"published (OAI), {label}"}
        draw_line(theirs, frame, **dashed, **style)
    ours.set_title(METRICS[metric])
    theirs.set(xlabel="λ")
    theirs.set_xticks(range(len(results.arms)), [f"{weight(arm):g}" for arm in results.arms])
    theirs.margins(x=0.12)
    ranges = [range_text([100 * value.stat.mean for value in one.values()]) for one in shown.values()]
    marks = [Mark(name, x, text, _STYLES[False]) for x, (name, text) in enumerate(zip(shown, ranges, strict=True))]
    scale_y({ours: marks}, scale)


def lambda_verdict(results: Results) -> Verdict:
    """Say which λ validation prefers, what it reaches on the test set, and what leaving the term out costs."""
    by_share = {
        share: best_of({arm.name: value(results, arm, "search", "mAP", share) for arm in results.arms})
        for share in (True, False)
    }
    best = {share: None if name is None else results.arm(name) for share, name in by_share.items()}
    findings = [*plain_sentences(results), _preferred(results, best[True], best[False]), *_gain(results, best[True])]
    findings += [PAPER] if results.interval == YEAR else []
    return verdict_of(results, findings)


def _preferred(results: Results, apart: ArmEntry | None, pooled: ArmEntry | None) -> str:
    """Say what validation prefers; the test set is for measuring, not for choosing."""
    interval, far = results.interval.plural, _label(results, apart=True)
    if apart is None or pooled is None:
        return f"No λ has completed all its folds with queries at {far} yet, so validation prefers none."
    return (
        f"Validation prefers {setting(apart)} for images at least {APART} {interval} apart (mAP "
        f"{estimate_text(value(results, apart, 'search', 'mAP', True))}) and {setting(pooled)} over all {interval} ("
        f"{estimate_text(value(results, pooled, 'search', 'mAP', False))}). On the test set {setting(apart)} reaches "
        f"{estimate_text(value(results, apart, 'replicate', 'mAP', True))} at {far} and "
        f"{estimate_text(value(results, apart, 'replicate', 'mAP', False))} over all {interval}."
    )


def _gain(results: Results, preferred: ArmEntry | None) -> list[str]:
    """Say by how much, paired by seed, the preferred λ differs from none at all; if that is it, from the paper's 1."""
    by_weight = {weight(arm): arm for arm in results.arms}
    other = by_weight.get(1.0 if preferred is by_weight.get(0.0) else 0.0)
    if preferred is None or other is None or other is preferred:
        return []
    a, b = (value(results, arm, "replicate", "mAP", True).values for arm in (preferred, other))
    paired = paired_difference(a, b)
    if paired.n == 0:
        return [f"{setting(preferred)} and {setting(other)} cannot be compared: no seed is completed by both."]
    size = f"{points(paired.difference)} points of mAP at {_label(results, apart=True)}"
    text = f"{setting(preferred)} minus {setting(other)}, paired by seed, is {size}"
    if paired.low is None or paired.high is None:
        return [f"{text} (no interval: {paired.note})."]
    interval = f"95 % CI {points(paired.low)} to {points(paired.high)} ({p_text(paired.p)}, n = {paired.n} pairs)"
    return [f"{text}, {interval}{': no difference is shown' if paired.low <= 0 <= paired.high else ''}."]


CONTENTS = Contents(verdict=lambda_verdict, tables=(lambda_table,), figures=(lambda_plot,), every_value=lambda_tidy)
