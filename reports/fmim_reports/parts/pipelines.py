"""What is chance in the selection: the search on several splits, each ended by its winner with a fresh seed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_x
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.drawing.styles import arm_styles
from fmim_reports.reading.pipelines import Pipelines, choosing, pipelines, scores_by_split
from fmim_reports.reading.results import Results, key_of
from fmim_reports.stats import mean_se, paired_difference, score_variance, superiority
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, configuration_column
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study, several_search_splits
from fmim_reports.writing.tables import Column, Table

FEWEST_SPLITS = 5  # of fewer, a share of the variance is hardly an estimate: a table shows it, no sentence does

_SQUARED = "squared percentage points"


def selection_caution(results: Results) -> list[str]:
    """That intervals are of the selected configurations, and what the selection adds; none without other splits."""
    if not several_search_splits(results):
        return []
    splits, shares = results.study.search_splits, []
    for arm in choosing(results):
        found = pipelines(results, arm.name)
        if found.variance.splits >= FEWEST_SPLITS and (share := found.variance.share) is not None:
            same = f"the same winner on {sum(map(found.same, found.winners))} of {len(found.winners)} splits"
            shares.append(f"{in_percent(share, 0)} % for {arm.label} ({same})")
    known = (
        f"Part of the variance of a test {results.metric.label} over whole pipelines that is the selection's: "
        f"{', '.join(shares)}."
        if shares
        else f"What selection adds cannot be told from fewer than {FEWEST_SPLITS} finished splits ({splits} planned)."
    )
    return [
        f"Intervals over seeds hold for the selected configurations only, not for the searches behind them. {known}"
    ]


@in_every_study(Section.TABLES, several_search_splits, declared_comparisons)
def pipelines_table(results: Results) -> Table:
    """Each declared difference over whole pipelines, beside that of the selected configurations alone."""
    rows, notes = [], []
    for a, b in results.comparisons:
        one, other = (pipelines(results, name) for name in (a, b))
        labels = {"a": results.arm(a), "b": results.arm(b)}
        both = {"selected configurations": (one.own, other.own), "whole pipelines": (one.values, other.values)}
        for over, (ours, theirs) in both.items():
            found = paired_difference(ours, theirs)
            wins = superiority(*((ours, theirs) if results.metric.higher_is_better else (theirs, ours)))
            rows.append(
                {**labels, "rule": ours is one.own, "over": over, "n": found.n}
                | {"difference": found.difference if found.n else None, "low": found.low, "high": found.high}
                | {"probability": wins.value, "p_low": wins.low, "p_high": wins.high}
            )
            notes += [f"{labels['a'].label} − {labels['b'].label}, {over}: {found.note}."] if found.note else []
    difference, better = f"a − b, {results.metric.label}, percentage points", "a beats b, % of pairs"
    columns = [
        Column("a", "Arm a", "arm"),
        Column("b", "Arm b", "arm"),
        Column("over", "Over"),
        Column("n", "Pairs", "count"),
        Column("difference", "Difference", "points", difference),
        Column("low", "95 % CI, low", "points", difference),
        Column("high", "high", "points", difference),
        Column("probability", "P(a > b)", "percent", better),
        Column("p_low", "95 % CI, low", "percent", better),
        Column("p_high", "high", "percent", better),
    ]
    text = (
        "The declared differences twice. Selected configurations: what the study selected, with fresh seeds. Whole "
        "pipelines: the search anew on each split of the development subjects, and its winner with a seed of its own; "
        "paired by split, since arms share splits and seeds. Both on the same test subjects, whose choice neither "
        "covers. Intervals are t intervals; that of P(a > b), in which ties count half, is Clopper and Pearson's."
    )
    return Table("whole_pipelines", "Differences over whole pipelines", caption(results, text), columns, rows, notes)


@in_every_study(Section.TABLES, several_search_splits)
def variance_table(results: Results) -> Table:
    """What part of the variance of a test value over whole pipelines is that of the selection, and of the seed."""
    rows, notes = [], []
    for arm in choosing(results):
        found = pipelines(results, arm.name)
        variance = found.variance
        rows.append(
            {"arm": arm, "splits": variance.splits, "winners": variance.winners, "df": variance.df}
            | {"same": sum(map(found.same, found.winners)), "share": variance.share, "sd": mean_se(found.values).sd}
            | {"selection": _squared(variance.selection), "seed": _squared(variance.seed)}
        )
        notes += [f"{arm.label}: {variance.note}."] if variance.note else []
    variances = "Variance, squared points"
    columns = [
        ARM,
        Column("splits", "Splits", "count"),
        Column("winners", "Winners", "count"),
        Column("same", "As the study", "count"),
        Column("sd", "SD, points", "percent"),
        Column("selection", "Selection", "number", variances, unit=_SQUARED),
        Column("seed", "Seed", "number", variances, unit=_SQUARED),
        Column("df", "df of seed", "count", variances),
        Column("share", "Selection’s share, %", "percent"),
    ]
    text = (
        f"What the test {results.metric.label} of a whole pipeline varies by. Winners: distinct configurations; as the "
        "study: splits that selected what the study did. A split acts on the test value only by which configuration "
        "wins, since the last training has the same subjects whatever the split, so the variance is that of the "
        "selection plus that of the seed. Both are unbiased, so that of the selection may be negative; its share is "
        "then 0. From few splits both are rough."
    )
    return Table("selection_variance", "What the selection adds", caption(results, text), columns, rows, notes)


@in_every_study(Section.MORE, several_search_splits)
def score_variance_table(results: Results) -> Table:
    """What a validation score, by which configurations are selected, varies by."""
    rows, notes = [], []
    for arm in choosing(results):
        found = score_variance(scores_by_split(results, arm.name))
        shares = dict(zip(("configuration", "split", "rest"), found.shares or (), strict=False))
        rows.append({"arm": arm, "n": found.configurations, "splits": found.splits, **shares})
        notes += [f"{arm.label}: {found.note}."] if found.note else []
    group = "Share of the variance, %"
    columns = [
        ARM,
        Column("n", "Configurations", "count"),
        Column("splits", "Splits", "count"),
        Column("configuration", "Configuration", "percent", group),
        Column("split", "Split", "percent", group),
        Column("rest", "Rest", "percent", group),
    ]
    text = (
        f"What the validation {results.metric.label}, mean over folds, varies by, of the configurations that every "
        "split scored. Configuration: what they differ by. Split: what one adds to all alike, which changes no "
        "selection. Rest, which does: training noise, and that some configurations suit some subjects. A negative "
        "estimate counts 0."
    )
    return Table("score_variance", "What scores vary by", caption(results, text), columns, rows, notes)


@in_every_study(Section.MORE, several_search_splits)
def winners_table(results: Results) -> Table:
    """How often each configuration won."""
    rows: list[dict[str, Any]] = []
    for arm in choosing(results):
        found = pipelines(results, arm.name)
        counts = Counter(key_of(one) for one in found.winners.values())
        shown = {key_of(one): one for one in found.winners.values()}
        for position, (key, count) in enumerate(counts.most_common()):
            splits = [split for split, one in found.winners.items() if key_of(one) == key]
            rows.append(
                {"arm": arm, "rule": position == 0, "configuration": shown[key]}
                | {"wins": count, "of": len(found.winners), "splits": ", ".join(map(str, splits))}
                | {"test": mean_se([found.values[split] for split in splits if split in found.values]).mean}
            )
    columns = [
        ARM,
        configuration_column(results),
        Column("wins", "Wins", "count"),
        Column("of", "Of", "count"),
        Column("splits", "On splits", "listing"),
        Column("test", f"Test {results.metric.label}, %", "percent"),
    ]
    text = (
        "The configurations that won on any split of the development subjects; split 0 is the study's own, which alone "
        "selects. Test: the mean of the pipelines that end in the configuration."
    )
    return Table("winners_by_split", "How often each configuration wins", caption(results, text), columns, rows)


@in_every_study(Section.DATA, several_search_splits)
def winner_of_each_split_table(results: Results) -> Table:
    """One row per arm and split: the configuration that won, and the test value of the pipeline that ends in it."""
    rows = [
        {"arm": arm, "search_split": split, "configuration": winner, "test": found.values.get(split)}
        for arm in choosing(results)
        for found in (pipelines(results, arm.name),)
        for split, winner in found.winners.items()
    ]
    columns = [
        ARM,
        Column("search_split", "The split into folds that the search is on; 0 is the study's own", "value"),
        configuration_column(results),
        Column("test", f"Test {results.metric.label} of the pipeline that ends in the configuration", "percent"),
    ]
    text = "The configuration that won on each split of the development subjects."
    return Table("winner_of_each_split", "Winner of each split", caption(results, text), columns, rows)


@in_every_study(Section.FIGURES, several_search_splits)
def pipelines_plot(results: Results) -> Plot:
    """The test value of every whole pipeline, by arm, with the study's winner told from others."""
    found = {arm.name: pipelines(results, arm.name) for arm in results.arms}
    found = {name: one for name, one in found.items() if one.values}
    if not found:
        raise NothingToDraw("no search has come to its end on any split yet")
    labels, styles, metric = {arm.name: arm.label for arm in results.arms}, arm_styles(results), results.metric
    scale = scale_of({name: Extent.over([*map(_percent, one.values.values())]) for name, one in found.items()})

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, one) in enumerate(found.items()):
            if name not in scale.beyond:
                _row(axes, place, one, styles[name].line["color"])
        axes.set_yticks(range(len(found)), [labels[name] for name in found])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set(xlabel=f"test {metric.label} (%)")
        marks = [
            Mark(name, place, range_text([*map(_percent, one.values.values())]), {**styles[name].line, "marker": "o"})
            for place, (name, one) in enumerate(found.items())
        ]
        scale_x(axes, marks, scale)

    values = {name: ", ".join(in_percent(value, 1) for value in one.values.values()) for name, one in found.items()}
    listed = "; ".join(f"{labels[name]} {text} %" for name, text in values.items())
    text = (
        f"Test {metric.label} of each whole pipeline, one per split of the development subjects. Filled: it selected "
        "what the study did; open: another configuration. The ticks below are the study's own fresh seeds."
    )
    text += scale.note
    height = 0.9 + 0.34 * len(found)
    return Plot("whole_pipelines", "Whole pipelines", caption(results, text), listed, height, draw)


def _row(axes: Axes, place: int, one: Pipelines, colour: str) -> None:
    """An arm's pipelines as points, those close together apart in height; its own seeds as ticks below."""
    for number, (split, value) in enumerate(one.values.items()):
        height = place - 0.12 + 0.05 * (number % 3 - 1)
        face = colour if one.same(split) else "#fdfdfd"
        axes.plot(100 * value, height, "o", markersize=4.5, markerfacecolor=face, markeredgecolor=colour)
    own = [100 * value for value in one.own.values()]
    axes.plot(own, [place + 0.25] * len(own), "|", color=colour, markersize=6, alpha=0.7)


def _percent(fraction: float) -> float:
    return 100 * fraction


def _squared(variance: float | None) -> float | None:
    """In squared percentage points."""
    return None if variance is None else 1e4 * variance
