"""An account of every trial: how many ended how, what does not count and why, and the executions of the study."""

from __future__ import annotations

import math
from collections import Counter
from typing import get_args

from fmim_core.records import Status
from fmim_reports.reading.cost import utilisation_of
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption, reuse_sentence
from fmim_reports.writing.columns import ARM, configuration_column
from fmim_reports.writing.formats import configuration_text
from fmim_reports.writing.references import reference_row, row_name
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

STATUSES = get_args(Status)
OTHER_SPLITS = "other search splits"


@in_every_study(Section.COST_DETAILS)
def status_table(results: Results) -> Table:
    """How many trials of each arm and stage, and of each reference, ended how."""
    rows = []
    for arm in results.arms:
        for stage, unit in results.stages.items():
            trials = results.of(arm.name, stage)
            counts = Counter(trial.status for trial in trials)
            unknown = results.unproposed(arm) if stage == "search" else 0
            planned = len(trials) + unknown or arm.replicates
            row = {"arm": arm, "stage": stage, "replicates": f"{unit}s", "planned": planned}
            rows.append(row | {status: counts[status] for status in STATUSES} | {"missing": planned - len(trials)})
            rows[-1]["missing"] += counts["missing"]
        others = [trial for trial in results.other_splits if trial.arm == arm.name]
        if others:
            counts = Counter(trial.status for trial in others)
            row = {"arm": arm, "stage": OTHER_SPLITS, "replicates": "folds and seeds", "planned": len(others)}
            rows.append(row | {status: counts[status] for status in (*STATUSES, "missing")})
    for reference in results.references:
        counts = Counter(trial.status for trial in results.of(reference.name, "reference"))
        row = {"arm": reference_row(reference), "stage": "reference", "replicates": "seeds"}
        row["planned"] = reference.replicates
        rows.append(row | {status: counts[status] for status in (*STATUSES, "missing")})
    columns = [ARM, Column("stage", "Stage"), Column("replicates", "Replicates are")]
    columns += [Column("planned", "Planned", "count")]
    columns += [Column(name, name.capitalize(), "count") for name in (*STATUSES, "missing")]
    text = (
        "Trials planned and how they ended. Only completed trials enter a mean; n says how many did. Stopped: ended "
        "early by an arm's own search, which did not train that configuration on the other folds then."
    )
    return Table("trial_status", "Trials by status", caption(results, text), columns, rows)


@in_every_study(Section.COSTS)
def failures_table(results: Results) -> Table:
    """Every failed, diverged, missing and superseded trial, and every file that does not count, with its reason.

    A stopped trial is none of these: it ended as its search meant it to.
    """
    rows = [
        {
            "arm": row_name(results, trial.arm),
            "what": trial.status,
            "where": f"{trial.arm}, {configuration_text(trial.configuration)}, {trial.unit}",
        }
        | {"reason": trial.reason, "file": trial.file or ""}
        for trial in results.every_trial
        if trial.status not in ("completed", "stopped")
    ]
    rows += [
        {"what": "not counted", "where": problem.where, "reason": problem.why, "file": ""}
        for problem in results.problems
    ]
    columns = [
        Column("what", "Status"),
        Column("where", "Trial or file"),
        Column("reason", "Reason"),
        Column("file", "Record"),
    ]
    text = "Trials and files that no number in this report uses."
    none = "None: every trial counts."
    return Table("not_counted", "Not counted", caption(results, text), columns, rows, empty=none, also=[ARM])


@in_every_study(Section.COSTS)
def executions_table(results: Results) -> Table:
    """Each start of the study, and how well its slots were used in all."""
    executions = results.study.executions
    rows = [execution.model_dump() for execution in executions]
    used = utilisation_of(executions, [*results.every_trial, *results.superseded]).share
    share = "not known yet" if math.isnan(used) else f"{100 * used:.1f} %"
    columns = [
        Column("started_at", "Started"),
        Column("ended_at", "Ended"),
        Column("wall_s", "Wall s", "seconds"),
        Column("slots", "Slots", "count"),
        Column("backend", "Backend"),
        Column("device", "Device"),
        Column("trials", "Trials", "count"),
        Column("exit_code", "Exit", "count"),
    ]
    text = f"Executions of this study. Utilisation, trials' data + training + evaluation / (slots × wall): {share}."
    notes = [reuse_sentence(results.every_trial)]
    return Table("executions", "Executions", caption(results, text), columns, rows, notes)


@in_every_study(Section.FILES)
def all_trials_table(results: Results) -> Table:
    """One row per planned trial with its record's file name, so that every mean can be traced."""
    metric = results.metric
    rows = [
        {
            "arm": row_name(results, t.arm),
            "configuration": t.configuration,
            "stage": t.stage,
            "replicate": t.replicate,
            "search_split": t.search_split,
        }
        | {
            "status": t.status,
            metric.name: t.metric(metric.name),
            "device_seconds": t.device_seconds,
            "record": t.file or "",
            "reused_from": t.reused_from,
            "reused_trial": t.record.reused_from.trial if t.record and t.record.reused_from else "",
        }
        for t in results.every_trial
    ]
    columns = [ARM, configuration_column(results), Column("stage", "Stage")]
    columns += [Column("replicate", "Fold or seed", "count"), Column("search_split", "Search split", "count")]
    columns += [Column("status", "Status")]
    columns += [Column(metric.name, f"{metric.label}, %", "percent"), Column("device_seconds", "Device s", "seconds")]
    columns += [Column("record", "Record"), Column("reused_from", "Reused from")]
    columns += [Column("reused_trial", "Trial there")]
    where = "on validation in the search stage, on the test set in the others"
    text = f"Every planned trial; {metric.label} is {where}. Reused: it took the record of that equal trial."
    return Table("trials", "Every trial", caption(results, text), columns, rows)
