"""The report of `lambda_sweep`: the paper's Table 1(a), as table, figure and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_core.metric_names import METRICS as DECLARED_METRICS
from fmim_core.metric_names import YEAR
from fmim_reports.drawing.axes import Extent, Mark, Scale, range_text, scale_of, scale_y
from fmim_reports.drawing.lines import mean_line, replicates, value_line
from fmim_reports.drawing.plotting import BLUE, VERMILLION, NothingToDraw, Plot
from fmim_reports.drawing.styles import shared_legend
from fmim_reports.parts.cautions import cautions
from fmim_reports.parts.comparisons import comparisons
from fmim_reports.parts.comparisons.plain import plain_sentences
from fmim_reports.parts.comparisons.words import comparison_cautions, estimate_text
from fmim_reports.parts.tidy import tidy_row, tidy_table
from fmim_reports.parts.training.learning_curves import trailing_cautions
from fmim_reports.parts.verdict import Verdict, details, lead
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Estimate, estimate_from_time, estimate_of, from_time
from fmim_reports.stats import paired_difference
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import caption, test_models
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import configuration_text, in_percent, p_text, points
from fmim_reports.writing.tables import Column, Table

APART = 6
METRICS = {"mAP": "mAP", "CMC_1_all_shots": "CMC top-1"}
# By whether only queries at least 6 years apart count; with a shorter interval at least 6 of that.
_COLOURS, _MARKERS, _ASIDE = {True: VERMILLION, False: BLUE}, {True: "s", False: "o"}, {True: 0.06, False: -0.06}


@dataclass(frozen=True)
class Weight:
    """One λ: its arm, and its values by (stage, metric, whether only queries at least 6 years apart)."""

    arm: str
    lam: float
    values: Mapping[tuple[str, str, bool], Estimate]

    @property
    def text(self) -> str:
        return configuration_text({"lam": self.lam})


def weights(results: Results) -> list[Weight]:
    """Every λ of the study, in plan order."""
    return [_weight(results, arm.name, float(arm.configurations[0]["lam"])) for arm in results.arms]


def _weight(results: Results, arm: str, lam: float) -> Weight:
    planned = {"search": len(results.study.folds), "replicate": results.arm(arm).replicates}
    values = {}
    for (stage, unit), metric in product(results.stages.items(), METRICS):
        trials, of = results.of(arm, stage), planned[stage]
        values[stage, metric, False] = estimate_of(trials, metric, of, unit)
        values[stage, metric, True] = estimate_from_time(trials, metric, APART, of, unit)
    return Weight(arm, lam, values)


def _label(results: Results, apart: bool) -> str:
    return f"{f'≥ {APART}' if apart else 'all'} {results.interval.plural}"


def _published(results: Results, lam: float, metric: str, apart: bool) -> float | None:
    """The paper's value for OAI; None where it has none, as of queries apart by anything but years."""
    return None if apart and results.interval != YEAR else published.lambda_value(lam, metric, apart)


def _key(metric: str, apart: bool) -> str:
    return f"{metric}_{APART}y" if apart else metric


def lambda_table(results: Results) -> Table:
    """Table 1a of the paper, on validation and on the test set."""
    rows: list[dict[str, Any]] = []
    for stage, unit in results.stages.items():
        for number, weight in enumerate(weights(results)):
            row: dict[str, Any] = {"rule": bool(rows) and number == 0, "lam": weight.lam}
            row |= {"arm": results.arm(weight.arm), "stage": stage}
            row["on"] = f"{'validation' if stage == 'search' else 'test'} ({unit}s)"
            for apart, metric in product((True, False), METRICS):
                row[_key(metric, apart)] = weight.values[stage, metric, apart]
                row[f"published_{_key(metric, apart)}"] = _published(results, weight.lam, metric, apart)
            rows.append(row)
    columns = [Column("on", "On"), Column("lam", "λ", "value")]
    shares = list(product((True, False), METRICS))
    for apart, metric in shares:
        key, group = _key(metric, apart), f"{_label(results, apart).capitalize()}, %, mean ± SE (n)"
        n_key = f"n{'_6y' * apart}"
        columns.append(Column(key, METRICS[metric], "estimate", group, n_key, metric=DECLARED_METRICS[metric]))
    for apart, metric in shares:
        key, group = f"published_{_key(metric, apart)}", f"{_label(results, apart).capitalize()}, {published.LABEL}"
        columns.append(Column(key, METRICS[metric], "published", group, metric=DECLARED_METRICS[metric]))
    text = (
        "AdaTriplet with AutoMargin by the weight λ of its negative-pair term, as in Table 1(a) of the paper: over "
        f"queries at least {APART} {results.interval.after_baseline}, and over all. Validation: mean over folds; test: "
        f"over seeds ({test_models(results)}). Right: published values in %, on other images. {published.CMC_NOTE}"
    )
    also = [ARM, Column("stage", "Stage")]
    return Table("lambda_weights", "The weight λ", caption(results, text), columns, rows, also=also)


def lambda_tidy(results: Results) -> Table:
    """Test values by λ, each beside the published one."""
    rows = [
        tidy_row(
            results.arm(weight.arm),
            weight.text,
            metric,
            weight.values["replicate", metric, apart],
            _published(results, weight.lam, metric, apart),
            f"{APART}+" if apart else None,
        )
        for weight in weights(results)
        for apart, metric in product((True, False), METRICS)
    ]
    return tidy_table(results, rows, "seed")


def lambda_plot(results: Results) -> Plot:
    """Test mAP and CMC top-1 by λ, over all years and at least 6; below, the published values on their own scale."""
    shown = weights(results)
    if not any(weight.values["replicate", "mAP", False].stat.n for weight in shown):
        raise NothingToDraw("no λ has a completed test replicate yet")

    scales = {metric: _scale(shown, metric) for metric in METRICS}

    def draw(figure: Figure) -> None:
        panels = figure.subplots(2, 2, sharex=True)
        for column, metric in enumerate(METRICS):
            for apart in (False, True):
                _ours(panels[0][column], results, shown, metric, apart, scales[metric])
                _theirs(panels[1][column], results, shown, metric, apart)
            panels[0][column].set_title(METRICS[metric])
            panels[1][column].set(xlabel="λ")
            panels[1][column].set_xticks(range(len(shown)), [f"{weight.lam:g}" for weight in shown])
            panels[1][column].margins(x=0.12)
            scale_y({panels[0][column]: _marks(shown, metric)}, scales[metric])
        panels[0][0].set_ylabel("ours, test (%)")
        panels[1][0].set_ylabel("published, OAI (%)")
        shared_legend(figure, panels[:, 0])

    text = (
        f"Test mAP and CMC top-1 by λ (mean ± SE over seeds, {_seeds(results, shown)}; no bar for one seed), over all "
        f"queries and those at least {APART} {results.interval.after_baseline}. Below: {published.LABEL}, printed "
        f"without SE, on other images and so on a scale of their own. {published.CMC_NOTE}"
    )
    text += next((scale.note for scale in scales.values() if scale.beyond), "")
    alt = "Test mAP by λ. " + "; ".join(
        f"{weight.text}: {', '.join(f'{_label(results, a)} {_mean(weight, a)} %' for a in (False, True))}"
        for weight in shown
    )
    return Plot("map_by_lambda", "mAP and CMC top-1 by λ", caption(results, text), alt, 3.6, draw)


def _seeds(results: Results, shown: list[Weight]) -> str:
    found = {weight.text: weight.values["replicate", "mAP", False] for weight in shown}
    short = [f"{name} n = {value.n_text}" for name, value in found.items() if not value.complete]
    return f"n = {results.seeds_text}" + (f" except {', '.join(short)}" if short else "")


def _mean(weight: Weight, apart: bool) -> str:
    return in_percent(weight.values["replicate", "mAP", apart].stat.mean, 1)


def _scale(shown: list[Weight], metric: str) -> Scale:
    """Of our values of a metric, with what lies far off at the edge."""
    return scale_of(
        {
            one.text: Extent.of_estimates(one.values["replicate", metric, apart] for apart in (False, True))
            for one in shown
        }
    )


def _marks(shown: list[Weight], metric: str) -> list[Mark]:
    """What stands at the edge for a λ that is off the scale."""
    found = []
    for x, weight in enumerate(shown):
        means = [100 * weight.values["replicate", metric, apart].stat.mean for apart in (False, True)]
        style = {"color": _COLOURS[False], "marker": _MARKERS[False]}
        found.append(Mark(weight.text, x, range_text(means), style))
    return found


def _ours(axes: Axes, results: Results, shown: list[Weight], metric: str, apart: bool, scale: Scale) -> None:
    found = {}
    for x, weight in enumerate(shown):
        values = weight.values["replicate", metric, apart].values
        hidden = weight.text in scale.beyond  # it has its mark at the edge, and the line a gap
        found[x + _ASIDE[apart]] = dict.fromkeys(values, math.nan) if hidden else values
    label = f"ours, {_label(results, apart)}"
    frame = replicates(found, scale=100)
    mean_line(axes, frame, bars=True, label=label, color=_COLOURS[apart], marker=_MARKERS[apart])


def _theirs(axes: Axes, results: Results, shown: list[Weight], metric: str, apart: bool) -> None:
    values = {x + _ASIDE[apart]: _published(results, weight.lam, metric, apart) for x, weight in enumerate(shown)}
    value_line(
        axes,
        pd.Series(values, name="y", dtype=float).rename_axis("x").reset_index(),
        color=_COLOURS[apart],
        marker=_MARKERS[apart],
        linestyle=(0, (3, 1.5)),
        linewidth=0.9,
        label=f"published (OAI), {_label(results, apart)}",
    )


def lambda_verdict(results: Results) -> Verdict:
    """Which λ validation prefers, what it reaches on the test set, and what leaving the term out costs."""
    shown, found = weights(results), comparisons(results)
    paper = _paper(results, shown) if results.interval == YEAR else []
    answers = (*plain_sentences(results), *_preferred(results, shown), *_difference(results, shown), *paper)
    caveats = (*comparison_cautions(found, results.selects), *trailing_cautions(results), *cautions(results))
    return Verdict(lead(results), answers, caveats, details(results))


def _preferred(results: Results, shown: list[Weight]) -> list[str]:
    """What validation prefers; the test set is for measuring, not for choosing."""
    interval, far = results.interval.plural, _label(results, apart=True)
    best = {apart: _best(shown, apart) for apart in (True, False)}
    apart, pooled = best[True], best[False]
    if apart is None or pooled is None:
        return [f"No λ has completed all its folds with queries at {far} yet, so validation prefers none."]
    return [
        f"Validation prefers {apart.text} for images at least {APART} {interval} apart, with an mAP of "
        f"{estimate_text(apart.values['search', 'mAP', True])}, and {'also' if apart is pooled else pooled.text} over "
        f"all {interval}, with {estimate_text(pooled.values['search', 'mAP', False])}. On the test set {apart.text} "
        f"reaches {estimate_text(apart.values['replicate', 'mAP', True])} at {far} and "
        f"{estimate_text(apart.values['replicate', 'mAP', False])} over all {interval}."
    ]


def _best(shown: list[Weight], apart: bool) -> Weight | None:
    means = {w.lam: w.values["search", "mAP", apart] for w in shown if ("search", "mAP", apart) in w.values}
    usable = [w for w in shown if (v := means.get(w.lam)) and v.complete and not math.isnan(v.stat.mean)]
    return max(usable, key=lambda w: means[w.lam].stat.mean, default=None)


def _difference(results: Results, shown: list[Weight]) -> list[str]:
    """The preferred λ against none at all, paired by seed; against the paper's λ = 1 where none is preferred."""
    apart, by_lam = _best(shown, True), {weight.lam: weight for weight in shown}
    other = by_lam.get(1.0 if apart is by_lam.get(0.0) else 0.0)
    if apart is None or other is None or other is apart:
        return []
    a, b = (_apart_by_seed(results, weight.arm) for weight in (apart, other))
    paired = paired_difference(a, b)
    if paired.n == 0:
        return [f"No seed completed both {apart.text} and {other.text}, so no difference can be given."]
    size = f"{points(paired.difference)} percentage points of mAP at {_label(results, apart=True)}"
    text = f"Paired by seed, {apart.text} minus {other.text} is {size}"
    if paired.low is None or paired.high is None:
        return [f"{text} (no interval: {paired.note})."]
    shows = "" if not paired.low <= 0 <= paired.high else ": no difference is shown"
    return [
        f"{text}, 95 % CI {points(paired.low)} to {points(paired.high)} ({p_text(paired.p)}, n = {paired.n} pairs)"
        f"{shows}."
    ]


def _apart_by_seed(results: Results, arm: str) -> dict[int, float]:
    found = {t.replicate: from_time(t, "mAP", APART) for t in results.of(arm, "replicate") if t.status == "completed"}
    return {seed: value for seed, value in found.items() if value is not None}


def _paper(results: Results, shown: list[Weight]) -> list[str]:
    """What the paper printed, for reference."""
    found = {w.text: value for w in shown if (value := published.lambda_value(w.lam, "mAP", True)) is not None}
    best, worst = (pick(found, key=lambda text: found[text]) for pick in (max, min))
    return [
        f"For reference, {published.LABEL}, on other images: highest mAP at {_label(results, apart=True)} with {best} "
        f"({found[best]} %), lowest with {worst} ({found[worst]} %)."
    ]


CONTENTS = Contents(
    verdict=lambda_verdict,
    tables=(lambda_table,),
    figures=(lambda_plot,),
    every_value=lambda_tidy,
)
