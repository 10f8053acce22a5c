"""The costs of arms' searches side by side: configurations and epochs exactly, device-seconds with an interval."""

from __future__ import annotations

import math
from dataclasses import replace

from fmim_reports.reading.cost import search_cost
from fmim_reports.reading.results import Results
from fmim_reports.stats import Interval, cost_ratio
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM
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
    ratio_group, group = "Compared with ÷ arm", "Device-seconds, compared with ÷ arm"
    columns = [
        ARM,
        Column("against", "Compared with", "arm"),
        Column("n_s", "N_s", "number", ratio_group),
        Column("epochs", "Epochs", "number", ratio_group),
        Column("ratio", "Ratio", "number", group),
        Column("low", "95 % CI, low", "number", group),
        Column("high", "high", "number", group),
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


def device_ratio(results: Results, a: str, b: str) -> Interval:
    """Return the search device-seconds of arm a over those of b, by fold; no interval where folds differ by design."""
    found = cost_ratio(_seconds_by_fold(results, a), _seconds_by_fold(results, b))
    screening = [sign for sign, name in (("a", a), ("b", b)) if results.arm(name).searcher_facts.screens]
    if not screening:
        return found
    which = " and ".join(screening)
    why = f"the first fold of {which} screens its configurations, so folds differ by design: no interval"
    return replace(found, low=None, high=None, note=why)


def _seconds_by_fold(results: Results, arm: str) -> dict[int, float]:
    found: dict[int, list[float]] = {}
    for trial in results.of(arm, "search"):
        if trial.record is not None:
            found.setdefault(trial.replicate, []).append(trial.device_seconds)
    return {fold: math.fsum(found[fold]) for fold in sorted(found)}


def _over(a: float, b: float) -> float | None:
    """Return a / b; None where b is 0."""
    return a / b if b else None
