"""The power of a study's comparisons before it runs, as `fmim plan` tells it."""

from __future__ import annotations

from pathlib import Path

from fmim.plan import Plan
from fmim_core.records import study_path
from fmim_reports.parts.comparisons.comparison import comparisons
from fmim_reports.parts.comparisons.words import power_sentence
from fmim_reports.reading.results import read_results
from fmim_reports.stats import Variances, power_of

QUICK = "AdaTriplet with AutoMargin against grid search on the quick phantom, mAP, ten seeds"
ASSUMED = {"quick": (Variances(seed=0.027**2, subject=50 * 0.004**2, subjects=50), QUICK)}
"""By preset, how a difference is assumed to vary before a run has shown it, and on what that was measured.

Where there is none, nothing is assumed: another network and other images vary otherwise.
"""


def power_lines(plan: Plan, out: Path) -> list[str]:
    """Say what the planned seeds can show, by the spread of an earlier run in `out`, else by the assumed one."""
    if not plan.study.comparison_pairs:
        return []
    if plan.compared_replicates < 2:
        return ["power: fewer than two seeds show nothing of others, so no comparison has an answer"]
    return _measured(plan, out) or [_assumed(plan)]


def _measured(plan: Plan, out: Path) -> list[str]:
    """Say it for each comparison that an earlier run of the study and preset has measured."""
    if not study_path(out).is_file():
        return []
    results = read_results(out)
    if results.study.preset != plan.preset.name:
        return []
    found = []
    for one in comparisons(results):
        power = one.variances and power_of(one.variances, plan.compared_replicates, plan.study.equivalence_margin)
        if power:
            found.append(f"power, measured in {out.name}, {one.heading}: {power_sentence(power, one.over)}")
    return found


def _assumed(plan: Plan) -> str:
    preset = plan.preset
    if preset.changed or preset.name not in ASSUMED:
        which = f"a changed preset {preset.name}" if preset.changed else f"preset {preset.name}"
        return (
            f"power: nothing is assumed of how differences vary with {which}; once a run of it is in --out, the plan "
            "says what its seeds can show"
        )
    variances, source = ASSUMED[preset.name]
    power = power_of(variances, plan.compared_replicates, plan.study.equivalence_margin)
    return f"power, assumed from {source}: {power_sentence(power, 'seeds and subjects')}"
