"""The declared comparisons as tables: differences with their uncertainty and tests, and their power."""

from __future__ import annotations

from typing import Any

from fmim_reports.parts.comparisons.comparison import Comparison, comparisons, different_tasks_note
from fmim_reports.parts.comparisons.difference import family_note
from fmim_reports.parts.comparisons.words import margin_text
from fmim_reports.reading.results import Results
from fmim_reports.stats import ENOUGH_POWER, against_itself
from fmim_reports.stats.crossed import SPLITS
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, folded, under
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study
from fmim_reports.writing.tables import Column, Table

PAIR = under("", "arm", a="Arm a", b="Arm b")
COMPARISON = Column("comparison", "Comparison: a against b", "listing")
"""The arms of a difference for programs, and both as they are read."""
P_COLUMNS = [
    *under("p, corrected (Holm)", "p", p_holm="Difference", p_equivalence_holm="Equivalence"),
    *folded(*under("p, not corrected", "p", p="Difference", p_equivalence="Equivalence")),
]
"""The columns of a difference's tests, whose cells are in `Difference.cells`."""


@in_every_study(Section.TABLES, declared_comparisons)
def paired_table(results: Results) -> Table:
    """Show each declared difference with its SE, interval, effect size and tests, corrected by Holm."""
    found, group = comparisons(results), f"a − b, {results.metric.label}, points"
    columns = [
        COMPARISON,
        Column("difference", "Difference", "points", group),
        Column("interval", "95 % CI", "interval", group),
        *P_COLUMNS,
        Column("shown", "Shown: a is"),
        *folded(
            *under("Pairs of", "count", n="Seeds", subjects="Subjects", differing="that differ"),
            *under("SE over", "percent", se_seeds="Seeds", se_subjects="Subjects", se_both="Both"),
            Column("over", "95 % CI over"),
            *under("", "number", g="Effect size g", correlation="Correlation of seeds"),
            Column("smallest_margin", "Smallest margin", "percent"),
        ),
    ]
    shared = "a seed" if results.own_trainers else "a seed's initial weights and sampling"
    text = (
        f"Test {results.metric.label} of the selected configurations, paired by seed and query. Intervals and tests "
        "cover other seeds and other subjects, or other seeds alone where the queries are not known. Equivalence: "
        f"within ±{margin_text(results.equivalence_margin)}. Holm corrects the tests of differences and of equivalence "
        "separately; intervals are not corrected."
    )
    how = (
        f"Both arms of a pair share {shared}. SE over seeds: other trainings, tested on these subjects; over subjects: "
        "these trainings, tested on other subjects; over both: other trainings on other subjects. Subjects that "
        "differ: all but those that score the same in both arms with every seed; degrees of freedom count these alone. "
        "Equivalence is tested by two one-sided t tests: a small p supports equivalence, but a large p of a difference "
        "does not. Smallest margin: the smallest one that would show equivalence, in percentage points. Effect size g: "
        "the difference over the spread of differences between seeds (Hedges). Correlation of seeds: pairing by seed "
        "reduces the variance by about this share."
    ) + " P values cover all looks, each by its share of the seeds." * bool(results.study.looks)
    notes = [family_note(found), different_tasks_note(found)]
    for note in dict.fromkeys(one.note for one in found if one.note):
        notes.append(f"{'; '.join(one.heading for one in found if one.note == note)}: {note}.")
    rows, title = [_paired_row(one) for one in found], "Paired differences"
    cost = under("Search device-seconds, b ÷ a", "number", seconds="Ratio", seconds_low="low", seconds_high="high")
    also = [*PAIR, Column("note", "Note"), *cost]
    return Table("paired_differences", title, caption(results, text), columns, rows, notes, also=also, how=how)


def _paired_row(one: Comparison) -> dict[str, Any]:
    paired, crossed = one.paired, one.crossed
    row = {"a": one.a, "b": one.b, "comparison": one.heading, "n": paired.n, "note": one.note, "shown": one.shown}
    row["interval"] = one.interval
    row |= one.cells
    row |= {"se_seeds": paired.se, "g": paired.g, "correlation": paired.correlation}
    if crossed is not None:
        row |= {"subjects": crossed.subjects, "differing": crossed.differing}
        row |= {"se_subjects": crossed.over_subjects.se, "se_both": crossed.over_both.se}
    if one.seconds is not None:
        row |= {"seconds": one.seconds.value, "seconds_low": one.seconds.low, "seconds_high": one.seconds.high}
    return row


@in_every_study(Section.MORE, declared_comparisons)
def power_table(results: Results) -> Table:
    """Show what each comparison could have found, and the seeds that it needs."""
    margin, enough = margin_text(results.equivalence_margin), f"For a power of {in_percent(ENOUGH_POWER, 0)} %"
    columns = [
        COMPARISON,
        Column("n", "Seeds", "count"),
        *under("Power, %", "percent", power_difference="Difference", power_equivalence="Equivalence"),
        *under("Seeds needed", "needed", seeds_difference="Difference", seeds_equivalence="Equivalence"),
        *folded(
            *under(enough, "percent", smallest_difference="Difference", smallest_margin="Equivalence margin"),
            Column("least_se", "SE left by subjects", "percent"),
        ),
    ]
    text = (
        f"Power, if differences vary as they do here: how often a true difference of {margin} is found, and how often "
        f"two equal arms are shown to be equivalent within ±{margin}. Each is of one test at 5 %, not corrected."
    )
    how = (
        f"Seeds needed: for a power of {in_percent(ENOUGH_POWER, 0)} %, with an 80 % range, because the variation is "
        f"estimated from few seeds; “none” if these subjects alone leave too much uncertainty. {enough}: the true "
        "difference and the margin that have this power with the given seeds. SE left by subjects: the SE that "
        "remains with any number of seeds."
    )
    rows = [_power_row(one) for one in comparisons(results)]
    return Table("power", "Power of the comparisons", caption(results, text), columns, rows, also=PAIR, how=how)


def _power_row(one: Comparison) -> dict[str, Any]:
    names, power = {"a": one.a, "b": one.b, "comparison": one.heading, "n": one.paired.n}, one.power
    if power is None:
        return names
    found = {"power_difference": power.difference, "power_equivalence": power.equivalence}
    return vars(power) | names | found | {"least_se": power.least_se or None}


FEWEST_SEEDS = 6  # halves of fewer are too small for the test


@in_every_study(Section.MORE, declared_comparisons)
def noise_table(results: Results) -> Table:
    """Show how large a compared arm's difference to itself is with two sets of seeds, and how often it is shown."""
    rows, queries = [], results.queries
    for name in dict.fromkeys(arm for pair in results.comparisons for arm in pair):
        values = queries.values(name, results.metric)
        if len(values) >= FEWEST_SEEDS:
            rows.append({"arm": results.arm(name), "n": len(values)} | vars(against_itself(values, queries.subjects)))
    columns = [
        ARM,
        *under("", "count", n="Seeds", pairs="Pairs"),
        *under("Difference without sign, points", "percent", median="Median", largest="95 % are below"),
        Column("shown", "Difference shown, %", "percent"),
    ]
    text = (
        f"The noise ceiling in test {results.metric.label}: each compared arm against itself. Its seeds are split at "
        f"random into two sets, {SPLITS} times, and the sets are compared as two arms are. There is no difference to "
        "find: a calibrated test shows one in 5 % of the splits."
    )
    how = (
        "The 5 % hold over many arms. The splits of one arm share its seeds: in simulations of 6 to 12 seeds, four of "
        "five arms had between 0 and 14 %, and the mean was 4 to 7 %."
    )
    empty = f"No compared arm has the queries of {FEWEST_SEEDS} seeds."
    return Table("noise_ceiling", "An arm against itself", caption(results, text), columns, rows, empty=empty, how=how)
