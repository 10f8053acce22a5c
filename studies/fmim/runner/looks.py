"""Looks at a study's comparisons between blocks of seeds, and the plan that follows from each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fmim.plan import Plan
from fmim_core.records import StudyFile, study_path
from fmim_reports.reading.results import Results


def resumed_plan(plan: Plan, folder: Path) -> Plan:
    """Return the plan from the look that the study in the folder has got to.

    Raises:
        ValueError: the study was begun with other looks, or with none.
    """
    study = StudyFile.find(study_path(folder))
    if study is None:
        return plan
    asked = list(plan.looks.seeds) if plan.looks else []
    if study.looks != asked:
        begun, given = (f"looks at {one} seeds" if one else "a fixed number of seeds" for one in (study.looks, asked))
        raise ValueError(
            f"{folder} was started with {begun}. Changing to {given} after seeing results would bias them: give "
            "the same --until-decided, --replicates and --max-seeds as before, another --out, or --fresh"
        )
    return replace(plan, looks=plan.looks.resumed(study)) if plan.looks else plan


def plan_after_look(plan: Plan, results: Results, note: Callable[[str], None]) -> Plan | None:
    """Return the plan with more seeds of compared arms if a comparison needs them; None where no look follows."""
    from fmim_reports.parts.comparisons.comparison import comparisons

    if plan.looks is None:
        return None
    found, following = comparisons(results), plan.looks.next
    undecided = [one.heading for one in found if one.undecided]
    note(f"at {plan.looks.now} seeds: more seeds could still decide {len(undecided)} of {len(found)} comparisons")
    if not undecided or following is None:
        return None
    note(f"compared arms get {following.now - plan.looks.now} more seeds to decide: {'; '.join(undecided)}")
    return replace(plan, looks=following)
