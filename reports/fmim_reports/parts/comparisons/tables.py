"""The declared comparisons as tables: search costs, differences with their uncertainty and tests, and their power."""

from __future__ import annotations

from typing import Any

from fmim_reports.parts.comparisons.comparison import Comparison, comparisons, device_ratio, different_tasks_note
from fmim_reports.parts.comparisons.difference import family_note
from fmim_reports.parts.comparisons.words import margin_text
from fmim_reports.reading.cost import search_cost
from fmim_reports.reading.results import Results
from fmim_reports.stats import ENOUGH_POWER, against_itself
from fmim_reports.stats.crossed import SPLITS
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, a_choice, declared_comparisons, in_every_study
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.MORE, declared_comparisons, a_choice)
def ratios_table(results: Results) -> Table:
    """Show how many times as much the search of one arm cost as that of another."""
    rows, notes = [], []
    for name, other in compared_costs(results):
        arm, against = results.arm(name), results.arm(other)
        cost, cost_against = (search_cost(results, one) for one in (name, other))
        ratio = device_ratio(results, other, name)
        rows.append(
            {"arm": arm, "against": against, "ratio": ratio.value, "low": ratio.low, "high": ratio.high, "n": ratio.n}
            | {"n_s": _over(cost_against.n_s, cost.n_s), "epochs": _over(cost_against.epochs, cost.epochs)}
        )
        if ratio.note:
            notes.append(f"a = {against.label}, b = {arm.label}: {ratio.note}.")
    group = "Device-seconds, compared with ÷ arm"
    columns = [
        ARM,
        Column("against", "Compared with", "arm"),
        *under("Compared with ÷ arm", "number", n_s="N_s", epochs="Epochs"),
        *under(group, "number", ratio="Ratio", low="95 % CI, low", high="high"),
        Column("n", "Folds", "count", group),
    ]
    text = (
        "How many times as much the search of the arm compared with cost as the arm's own, failed, repeated and "
        "stopped trials included; above 1 it cost more. Each arm is compared with the one that its group is first "
        "compared with, and as the study declared. N_s and epochs are exact; device-seconds depend on what else the "
        "machine was doing, and their interval is Fieller's, paired by fold."
    )
    return Table("cost_ratios", "Search costs compared", caption(results, text), columns, rows, notes)


def compared_costs(results: Results) -> list[tuple[str, str]]:
    """Return the pairs of arms whose search costs stand side by side: within each group, and every declared comparison.

    Within a group every arm stands beside the one that an arm of the group is first compared with.
    """
    reference: dict[str, str] = {}
    for a, b in results.comparisons:
        if results.arm(a).group == results.arm(b).group:
            reference.setdefault(results.arm(b).group, b)
    within = [
        (arm.name, reference[arm.group])
        for arm in results.arms
        if arm.group in reference and arm.name != reference[arm.group]
    ]
    return list(dict.fromkeys([*within, *results.comparisons]))


def _over(a: float, b: float) -> float | None:
    """Return a / b; None where b is 0."""
    return a / b if b else None


P_COLUMNS = [
    *under("p, difference", "p", p="t test", p_holm="Holm"),
    *under("p, equivalence", "p", p_equivalence="TOST", p_equivalence_holm="Holm"),
]
"""The columns of a difference's tests, whose cells are in `Difference.cells`."""


@in_every_study(Section.TABLES, declared_comparisons)
def paired_table(results: Results) -> Table:
    """Show each declared difference with its SE, interval, effect size and tests, corrected by Holm."""
    found, label = comparisons(results), results.metric.label
    columns = [
        *under("", "arm", a="Arm a", b="Arm b"),
        *under("Pairs of", "count", n="Seeds", subjects="Subjects", differing="that differ"),
        Column("difference", "Difference", "points", f"a − b, {label}, percentage points"),
        *under("SE over", "percent", se_seeds="Seeds", se_subjects="Subjects", se_both="Both"),
        *under("95 % CI", "points", low="Low", high="High"),
        Column("over", "Over", "text", "95 % CI"),
        *under("", "number", g="Effect size g", correlation="Correlation of seeds"),
        *P_COLUMNS,
        Column("smallest_margin", "Smallest margin", "percent", "p, equivalence"),
        Column("note", "Note"),
    ]
    shared = "a seed" if results.own_trainers else "a seed's initial weights and sampling"
    text = (
        f"Test {label} of the selected configurations, paired by seed (both arms share {shared}) and by query. "
        "SE over seeds: other trainings, tested on these subjects; over subjects: these trainings, tested on other "
        "subjects; over both: other trainings on other subjects. Subjects that differ: "
        "all but those that score the same in both arms with every seed; degrees of freedom count these alone. The "
        "interval and the tests are over both, or over seeds where the queries are not known. Equivalence: two "
        f"one-sided t tests within ±{margin_text(results.equivalence_margin)}; a small p there supports equivalence, a "
        "large p of a difference does not. Smallest margin: within which equivalence is shown, in percentage points. "
        "Holm corrects all differences, and by themselves all equivalences; the verdict goes by it. Intervals are not "
        "corrected. Effect size g: the difference over the spread of differences between seeds (Hedges). Correlation "
        "of both arms' seeds: pairing by seed makes the variance smaller by about this share."
    ) + " P values are over all looks, each by its share of the seeds." * bool(results.study.looks)
    notes = [family_note(found), different_tasks_note(found)]
    rows = [_paired_row(one) for one in found]
    return Table("paired_differences", "Paired differences", caption(results, text), columns, rows, notes)


def _paired_row(one: Comparison) -> dict[str, Any]:
    paired, crossed = one.paired, one.crossed
    row = {"a": one.a, "b": one.b, "n": paired.n, "note": one.note} | one.cells
    row |= {"se_seeds": paired.se, "g": paired.g, "correlation": paired.correlation}
    if crossed is not None:
        row |= {"subjects": crossed.subjects, "differing": crossed.differing}
        row |= {"se_subjects": crossed.over_subjects.se, "se_both": crossed.over_both.se}
    return row


@in_every_study(Section.MORE, declared_comparisons)
def power_table(results: Results) -> Table:
    """Show what each comparison could have found, and the seeds that it needs."""
    margin, enough = margin_text(results.equivalence_margin), f"For a power of {in_percent(ENOUGH_POWER, 0)} %"
    columns = [
        *under("", "arm", a="Arm a", b="Arm b"),
        Column("n", "Seeds", "count"),
        *under("Power, %", "percent", power_difference="Difference", power_equivalence="Equivalence"),
        *under("Seeds needed", "needed", seeds_difference="Difference", seeds_equivalence="Equivalence"),
        *under(enough, "percent", smallest_difference="Difference", smallest_margin="Equivalence margin"),
        Column("least_se", "SE left by subjects", "percent"),
    ]
    text = (
        f"Power, if differences vary as they do here: how often a true difference of {margin} is found, and how often "
        f"two equal arms are found equivalent within ±{margin}; tests of one comparison at 5 %, not corrected. Seeds "
        f"needed for {in_percent(ENOUGH_POWER, 0)} %, with the 80 % range that few seeds leave; “none” where no number "
        "is enough, since these subjects alone leave too much. Then the true difference, and the margin, of which that "
        "is the power with the seeds there are, and the SE that these subjects leave with any number of seeds."
    )
    rows = [_power_row(one) for one in comparisons(results)]
    return Table("power", "Power of the comparisons", caption(results, text), columns, rows)


def _power_row(one: Comparison) -> dict[str, Any]:
    names, power = {"a": one.a, "b": one.b, "n": one.paired.n}, one.power
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
        f"random into two sets, {SPLITS} times, and the sets compared as two arms are. There is no difference to find: "
        "a calibrated test shows one in 5 % of the splits, over many arms. One arm's splits share its seeds; in "
        "simulations of 6 to 12 seeds, four of five arms lay between 0 and 14 %, the mean at 4 to 7 %."
    )
    empty = f"No compared arm has the queries of {FEWEST_SEEDS} seeds."
    return Table("noise_ceiling", "An arm against itself", caption(results, text), columns, rows, empty=empty)
