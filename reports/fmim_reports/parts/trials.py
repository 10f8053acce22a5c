"""An account of every trial: how many ended how, which do not count and why, and the executions of the study."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from fmim_core.records import Status
from fmim_reports.reading.cost import utilisation
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.writing.captions import caption, reuse_sentence
from fmim_reports.writing.columns import ARM, configuration_column, under
from fmim_reports.writing.formats import configuration_text
from fmim_reports.writing.references import reference_row, row_name
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

STATUSES = (*get_args(Status), "missing")
OTHER_SPLITS = "other search splits"


@in_every_study(Section.COST_DETAILS)
def status_table(results: Results) -> Table:
    """Return how many trials of each arm and stage, and of each reference, ended how."""
    columns = [
        ARM,
        *under("", "text", stage="Stage", replicates="Replicates are"),
        *under("", "count", planned="Planned", **{name: name.capitalize() for name in STATUSES}),
    ]
    text = (
        "Trials planned and how they ended. Only completed trials enter a mean; n says how many did. Stopped: ended "
        "early by an arm's own search, which did not train that configuration on the other folds then."
    )
    return Table("trial_status", "Trials by status", caption(results, text), columns, list(_by_status(results)))


def _by_status(results: Results) -> Iterator[dict[str, Any]]:
    for arm in results.arms:
        for stage, unit in results.stages.items():
            trials = results.of(arm.name, stage)
            unknown = results.unproposed(arm) if stage == "search" else 0
            planned = len(trials) + unknown or arm.replicates
            yield {"arm": arm, "stage": stage, "replicates": f"{unit}s"} | _counted(trials, planned)
        others = [trial for trial in results.other_splits if trial.arm == arm.name]
        if others:
            yield {"arm": arm, "stage": OTHER_SPLITS, "replicates": "folds and seeds"} | _counted(others, len(others))
    for reference in results.references:
        trials = results.of(reference.name, "reference")
        head = {"arm": reference_row(reference), "stage": "reference", "replicates": "seeds"}
        yield head | _counted(trials, reference.replicates)


def _counted(trials: Iterable[PlannedTrial], planned: int) -> dict[str, int]:
    """Return how many are planned and ended how; those that are not even known yet are missing."""
    counts = Counter(trial.status for trial in trials)
    counts["missing"] += planned - counts.total()
    return {"planned": planned} | {status: counts[status] for status in STATUSES}


@in_every_study(Section.COSTS)
def failures_table(results: Results) -> Table:
    """Return every failed, diverged, missing and superseded trial, and every file that does not count, with its reason.

    A stopped trial is none of these: it ended as its search meant it to.
    """
    rows: list[dict[str, Any]] = [
        {"arm": row_name(results, trial.arm), "what": trial.status, "reason": trial.reason, "file": trial.file or ""}
        | {"where": f"{trial.arm}, {configuration_text(trial.configuration)}, {trial.unit}"}
        for trial in results.every_trial
        if trial.status not in ("completed", "stopped")
    ]
    rows += [{"what": "not counted", "where": problem.where, "reason": problem.why} for problem in results.problems]
    columns = under("", "text", what="Status", where="Trial or file", reason="Reason", file="Record")
    text = "Trials and files that no number in this report uses."
    none = "None: every trial counts."
    return Table("not_counted", "Not counted", caption(results, text), columns, rows, empty=none, also=[ARM])


@in_every_study(Section.COSTS)
def executions_table(results: Results) -> Table:
    """Return each start of the study, and how well its slots were used in all."""
    executions = results.study.executions
    used = utilisation(executions, [*results.every_trial, *results.superseded])
    share = "not known yet" if math.isnan(used) else f"{100 * used:.1f} %"
    columns = [
        *under("", "text", started_at="Started", ended_at="Ended"),
        Column("wall_s", "Wall s", "seconds"),
        Column("slots", "Slots", "count"),
        *under("", "text", backend="Backend", device="Device"),
        *under("", "count", trials="Trials", exit_code="Exit"),
    ]
    text = f"Executions of this study. Utilisation, trials' data + training + evaluation / (slots × wall): {share}."
    rows, notes = [execution.model_dump() for execution in executions], [reuse_sentence(results.every_trial)]
    return Table("executions", "Executions", caption(results, text), columns, rows, notes)


@in_every_study(Section.FILES)
def all_trials_table(results: Results) -> Table:
    """Return one row per planned trial with its record's file name, so that every mean can be traced."""
    metric = results.metric
    rows = [
        vars(trial)
        | {"arm": row_name(results, trial.arm), metric.name: trial.metric(metric.name), "record": trial.file or ""}
        | {"device_seconds": trial.device_seconds, "reused_from": trial.reused_from}
        | {"reused_trial": trial.record.reused_from.trial if trial.record and trial.record.reused_from else ""}
        for trial in results.every_trial
    ]
    columns = [
        ARM,
        configuration_column(results),
        Column("stage", "Stage"),
        *under("", "count", replicate="Fold or seed", search_split="Search split"),
        Column("status", "Status"),
        Column(metric.name, f"{metric.label}, %", "percent"),
        Column("device_seconds", "Device s", "seconds"),
        *under("", "text", record="Record", reused_from="Reused from", reused_trial="Trial there"),
    ]
    where = "on validation in the search stage, on the test set in the others"
    text = f"Every planned trial; {metric.label} is {where}. Reused: it took the record of that equal trial."
    return Table("trials", "Every trial", caption(results, text), columns, rows)
