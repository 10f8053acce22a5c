"""Looks at a study's comparisons between blocks of seeds, and the plan that follows from each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fmim.plan import Plan
from fmim.runner.folder.study_file import read_study


def resumed_plan(plan: Plan, folder: Path) -> Plan:
    """Return the plan from the look that the study in the folder has got to.

    Raises:
        ValueError: the study was begun with other looks, or none are asked for any more.
    """
    study = read_study(folder)
    if study is None or not (study.looks or plan.looks):
        return plan
    if plan.looks is None:
        raise ValueError(f"{folder} was begun with --until-decided: give it again, another --out, or --fresh")
    try:
        return replace(plan, looks=plan.looks.resumed(study))
    except ValueError as error:
        what = "which would no longer be honest: give the --replicates and --max-seeds it was begun with, or --fresh"
        raise ValueError(f"{folder}: {error}, {what}") from error


def plan_after_look(plan: Plan, folder: Path, note: Callable[[str], None]) -> Plan | None:
    """Return the plan with more seeds of compared arms if a comparison needs them; None where no look follows."""
    from fmim_reports.parts.comparisons.comparison import comparisons
    from fmim_reports.reading.results import read_results

    if plan.looks is None:
        return None
    found, following = comparisons(read_results(folder)), plan.looks.next
    undecided = [one.heading for one in found if one.undecided]
    note(f"at {plan.looks.now} seeds, of {len(found)} comparisons {len(undecided)} can still be decided by more seeds")
    if not undecided or following is None:
        return None
    note(f"compared arms get {following.now - plan.looks.now} more seeds, for: {'; '.join(undecided)}")
    return replace(plan, looks=following)
