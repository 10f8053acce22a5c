"""The declared comparisons as tables: differences with their uncertainty and tests, and the power of these tests."""

from __future__ import annotations

import math
from typing import Any

from fmim_reports.parts.comparisons.comparison import Comparison, comparisons, different_tasks_note
from fmim_reports.parts.comparisons.difference import family_note
from fmim_reports.parts.comparisons.words import margin_text
from fmim_reports.reading.results import Results
from fmim_reports.stats import ENOUGH_POWER
from fmim_reports.writing.captions import caption
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study
from fmim_reports.writing.tables import Column, Table

P_COLUMNS = (
    Column("p", "t test", "p", "p, difference"),
    Column("p_holm", "Holm", "p", "p, difference"),
    Column("p_equivalence", "TOST", "p", "p, equivalence"),
    Column("p_equivalence_holm", "Holm", "p", "p, equivalence"),
)
"""The columns of a difference's tests, whose cells are in `Difference.cells`."""


@in_every_study(Section.TABLES, declared_comparisons)
def paired_table(results: Results) -> Table:
    """Show each declared difference with its SE, interval, effect size and tests, corrected by Holm."""
    found, label = comparisons(results), results.metric.label
    difference, se, interval = f"a − b, {label}, percentage points", "SE over", "95 % CI"
    columns = [
        Column("a", "Arm a", "arm"),
        Column("b", "Arm b", "arm"),
        Column("n", "Seeds", "count", "Pairs of"),
        Column("subjects", "Subjects", "count", "Pairs of"),
        Column("difference", "Difference", "points", difference),
        Column("se_seeds", "Seeds", "percent", se),
        Column("se_subjects", "Subjects", "percent", se),
        Column("se_both", "Both", "percent", se),
        Column("low", "Low", "points", interval),
        Column("high", "High", "points", interval),
        Column("over", "Over", "text", interval),
        Column("g", "Effect size g", "number"),
        Column("correlation", "Correlation of seeds", "number"),
        *P_COLUMNS,
        Column("note", "Note"),
    ]
    text = (
        f"Test {label} of the selected configurations, paired by seed (both arms share a seed's initial weights and "
        "sampling) and by query. SE over seeds: other trainings, tested on these subjects; over subjects: these "
        "trainings, tested on other subjects; over both: other trainings on other subjects. The interval and the tests "
        "are over both, or over seeds where the queries are not known. Equivalence: two one-sided t tests within "
        f"±{margin_text(results.equivalence_margin)}; a small p there supports equivalence, a large p of a difference "
        "does not. Holm corrects all differences, and by themselves all equivalences; the verdict goes by it. "
        "Intervals are not corrected. Effect size g: the difference over the spread of differences between seeds "
        "(Hedges). Correlation of both arms' seeds: pairing by seed makes the variance smaller by about this share."
    )
    notes = [family_note(found), different_tasks_note(found)]
    rows = [_paired_row(one) for one in found]
    return Table("paired_differences", "Paired differences", caption(results, text), columns, rows, notes)


def _paired_row(one: Comparison) -> dict[str, Any]:
    paired, crossed = one.paired, one.crossed
    row = {"a": one.a, "b": one.b, "n": paired.n, "note": one.note} | one.cells
    row |= {"se_seeds": paired.se, "g": paired.g, "correlation": paired.correlation}
    if crossed is not None:
        row |= {"subjects": crossed.subjects, "se_subjects": crossed.over_subjects.se, "se_both": crossed.over_both.se}
    return row


@in_every_study(Section.MORE, declared_comparisons)
def power_table(results: Results) -> Table:
    """Show what each comparison could have found, and the seeds that it needs."""
    margin, enough = margin_text(results.equivalence_margin), f"For a power of {in_percent(ENOUGH_POWER, 0)} %"
    power, seeds = "Power, %", "Seeds needed"
    columns = [
        Column("a", "Arm a", "arm"),
        Column("b", "Arm b", "arm"),
        Column("n", "Seeds", "count"),
        Column("power_difference", "Difference", "percent", power),
        Column("power_equivalence", "Equivalence", "percent", power),
        Column("seeds_difference", "Difference", "needed", seeds),
        Column("seeds_equivalence", "Equivalence", "needed", seeds),
        Column("smallest_difference", "Difference", "percent", enough),
        Column("smallest_margin", "Equivalence margin", "percent", enough),
        Column("least_se", "SE left by subjects", "percent"),
    ]
    text = (
        f"Power, if differences vary as they do here: how often a true difference of {margin} is found, and how often "
        f"two equal arms are found equivalent within ±{margin}; tests of one comparison at 5 %, not corrected. Seeds "
        f"needed for {in_percent(ENOUGH_POWER, 0)} %; “none” where no number of seeds is enough, since these subjects "
        "alone leave too much. Then the true difference, and the margin, of which that is the power with the seeds "
        "there are; in percentage points, as is the SE that these subjects leave with any number of seeds. All this "
        "comes from a spread that few seeds have shown: a guide, no bound."
    )
    rows = [_power_row(one) for one in comparisons(results)]
    return Table("power", "Power of the comparisons", caption(results, text), columns, rows)


def _power_row(one: Comparison) -> dict[str, Any]:
    names, power = {"a": one.a, "b": one.b, "n": one.paired.n}, one.power
    if power is None:
        return names
    return names | {
        "power_difference": power.difference,
        "power_equivalence": power.equivalence,
        "seeds_difference": power.seeds_difference or math.inf,
        "seeds_equivalence": power.seeds_equivalence or math.inf,
        "smallest_difference": power.smallest_difference,
        "smallest_margin": power.smallest_margin,
        "least_se": power.least_se or None,
    }
