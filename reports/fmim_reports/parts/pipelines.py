"""The chance in the selection: the search on several splits, each ended by its winner with a fresh seed."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmim_reports.drawing.axes import Extent, Mark, range_text, scale_of, scale_x
from fmim_reports.drawing.hints import Hints
from fmim_reports.drawing.looks import Look, arm_looks
from fmim_reports.drawing.plotting import NothingToDraw, Plot
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.pipelines import FEWEST_SPLITS, Pipelines, choosing, pipelines, whole_pipelines
from fmim_reports.parts.comparisons.tables import COMPARISON, P_COLUMNS, PAIR
from fmim_reports.reading.results import Results
from fmim_reports.stats import mean_se, superiority
from fmim_reports.writing.captions import alt_text, caption
from fmim_reports.writing.columns import ARM, configuration_column, folded, under
from fmim_reports.writing.formats import decimal
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study, several_search_splits
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.TABLES, several_search_splits, declared_comparisons)
def pipelines_table(results: Results) -> Table:
    """Return each declared difference over whole pipelines, beside that of the selected configurations alone."""
    rows, notes = [], []
    for selected, whole in zip(comparisons(results), whole_pipelines(results), strict=True):
        a, b = (pipelines(results)[arm.name] for arm in (whole.a, whole.b))
        for one, ours, theirs in ((selected, a.own, b.own), (whole, a.values, b.values)):
            wins = superiority(*((ours, theirs) if results.metric.higher_is_better else (theirs, ours)))
            rows.append(
                {"a": one.a, "b": one.b, "comparison": selected.heading, "rule": one is selected}
                | {"about": one.claim.name, "n": one.paired.n, "interval": one.interval}
                | one.cells
                | {"probability": wins.value, "p_low": wins.low, "p_high": wins.high}
            )
            notes += [f"{one.heading}, {one.claim.name}: {one.note}."] if one.note else []
    difference, better = f"a − b, {results.metric.label}, percentage points", "a beats b, % of pairs"
    columns = [
        COMPARISON,
        Column("about", "Of"),
        Column("difference", "Difference", "points", difference),
        Column("interval", "95 % CI", "interval", difference),
        *P_COLUMNS,
        *folded(
            Column("n", "Pairs", "count"),
            Column("over", "95 % CI over"),
            *under(better, "percent", probability="P(a > b)", p_low="95 % CI, low", p_high="high"),
        ),
    ]
    text = (
        "The declared differences in two ways. Selected configurations: those of the study, with fresh seeds. Whole "
        "pipelines: a new search on each split of the development subjects, and its winner with a new seed, paired by "
        f"split. With {FEWEST_SPLITS} splits or more the verdict is about pipelines."
    )
    how = (
        "Arms share splits and seeds. Intervals are t intervals, not corrected; Holm corrects each kind separately. "
        "The interval of P(a > b), in which ties count half, is Clopper and Pearson's. No interval covers other "
        "development subjects."
    )
    title = "Differences over whole pipelines"
    return Table("whole_pipelines", title, caption(results, text), columns, rows, notes, also=PAIR, how=how)


@in_every_study(Section.MORE, several_search_splits)
def winners_table(results: Results) -> Table:
    """Return how often each configuration won."""
    rows: list[dict[str, Any]] = []
    for found in choosing(results):
        splits_of: dict[Any, list[int]] = {}
        for split, key in found.keys.items():
            splits_of.setdefault(key, []).append(split)
        ranked = sorted(splits_of.values(), key=len, reverse=True)
        rows += [
            {"arm": found.arm, "rule": splits is ranked[0], "configuration": found.winners[splits[-1]]}
            | {"wins": len(splits), "of": len(found.winners), "splits": ", ".join(map(str, splits))}
            | {"test": mean_se([found.values[split] for split in splits if split in found.values]).mean}
            for splits in ranked
        ]
    columns = [
        ARM,
        configuration_column(results),
        *under("", "count", wins="Wins", of="Of"),
        Column("splits", "On splits", "listing"),
        Column("test", f"Test {results.metric.label}, %", "percent"),
    ]
    text = (
        "The configurations that won on any split of the development subjects; split 0 is the study's own, the only "
        "one that selects. Test: the mean of the pipelines that select the configuration."
    )
    return Table("winners_by_split", "How often each configuration wins", caption(results, text), columns, rows)


@in_every_study(Section.DATA, several_search_splits)
def winner_of_each_split_table(results: Results) -> Table:
    """Return one row per arm and split: the configuration that won, and the test value of its pipeline."""
    rows = [
        {"arm": found.arm, "search_split": split, "configuration": winner, "test": found.values.get(split)}
        for found in choosing(results)
        for split, winner in found.winners.items()
    ]
    columns = [
        ARM,
        Column("search_split", "The split into folds that the search uses; 0 is the study's own", "value"),
        configuration_column(results),
        Column("test", f"Test {results.metric.label} of the pipeline that selects the configuration", "percent"),
    ]
    text = "The configuration that won on each split of the development subjects."
    return Table("winner_of_each_split", "Winner of each split", caption(results, text), columns, rows)


@in_every_study(Section.FIGURES, several_search_splits)
def pipelines_plot(results: Results) -> Plot:
    """Draw the test value of every whole pipeline, by arm, with the study's winner told from others."""
    found = {name: one for name, one in pipelines(results).items() if one.values}
    if not found:
        raise NothingToDraw("no search has come to its end on any split yet")
    looks, metric = arm_looks(results), results.metric.label
    values = {name: [100 * value for value in one.values.values()] for name, one in found.items()}
    scale = scale_of({name: Extent.over(each) for name, each in values.items()})

    def draw(figure: Figure) -> None:
        axes, marks = figure.subplots(), []
        for place, (name, one) in enumerate(found.items()):
            if name not in scale.beyond:
                _row(axes, place, one, looks[name])
            marks.append(Mark(name, place, range_text(values[name]), looks[name].line))
        axes.set_yticks(range(len(found)), [one.arm.label for one in found.values()])
        axes.set_ylim(len(found) - 0.4, -0.6)
        axes.set(xlabel=f"test {metric} (%)")
        scale_x(axes, marks, scale)

    listed = alt_text(
        f"{one.arm.label} {', '.join(decimal(value, 1) for value in values[name])} %" for name, one in found.items()
    )
    text = (
        f"Test {metric} of each whole pipeline, one per split of the development subjects. Pale: it selected "
        "another configuration than the study. The ticks below are the study's own fresh seeds."
    )
    height = 0.9 + 0.34 * len(found)
    return Plot("whole_pipelines", "Whole pipelines", caption(results, text + scale.note), listed, height, draw)


def _row(axes: Axes, place: int, one: Pipelines, look: Look) -> None:
    """Draw an arm's pipelines as points, those close together apart in height; its own seeds as ticks below."""
    places = [(100 * value, place - 0.12 + 0.05 * (number % 3 - 1)) for number, value in enumerate(one.values.values())]
    for split, (value, height) in zip(one.values, places, strict=True):
        alpha = 1 if split in one.same else 0.4
        axes.plot(value, height, **{**look.line, "linestyle": "", "markersize": 4.5, "alpha": alpha})
    said = [f"split {split}: {decimal(value, 2)} %" for split, (value, _) in zip(one.values, places, strict=True)]
    axes.add_artist(Hints(look, places, said))
    own = [100 * value for value in one.own.values()]
    ticks = {"marker": "|", "linestyle": "", "markersize": 6, "alpha": 0.7}
    axes.plot(own, [place + 0.25] * len(own), **{**look.line, **ticks})
