"""Tables that every study has: search cost, arms on the test set, by year, and an account of trials and costs."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from fmim_core.metric_names import METRICS
from reports.reading.cost import use_of
from reports.reading.results import Results
from reports.reading.summary import arm_summaries, on_test, on_validation, pooled_over_queries
from reports.reading.validation import STATUSES
from reports.writing.formats import configuration_text
from reports.writing.tables import Column, Table


def data_phrase(results: Results) -> str:
    """Which data the numbers are on, as every caption says it."""
    data = results.study["data"]
    return "phantom images - synthetic, not radiographs" if data.get("synthetic") else str(data["name"])


def caption(results: Results, text: str) -> str:
    return f"{text} Data: {data_phrase(results)}."


def chosen_word(results: Results) -> str:
    """How an arm came by the configuration that is tested."""
    return "selected" if results.searched else "given"


def search_cost_table(results: Results) -> Table:
    """One row an arm in plan order; its columns are a contract (`tables/search_cost.csv`)."""
    rows = [
        {
            "arm": arm.name,
            "loss": arm.loss,
            "search": arm.search,
            "n_s": arm.cost.n_s,
            "trials": arm.cost.trials,
            "epochs": arm.cost.epochs,
            "device_seconds": arm.cost.device_seconds,
            "validation_mAP": arm.validation,
            "test_mAP": arm.test,
        }
        for arm in arm_summaries(results)
    ]
    columns = [
        Column("arm", "Arm"),
        Column("loss", "Loss"),
        Column("search", "Search"),
        Column("n_s", "N_s", "count", "Search stage"),
        Column("trials", "Trials", "count", "Search stage"),
        Column("epochs", "Epochs", "count", "Search stage"),
        Column("device_seconds", "Device s", "seconds", "Search stage"),
        Column("validation_mAP", "Validation (folds)", "estimate", "mAP in %, mean ± SE (n)", "validation_n"),
        Column("test_mAP", "Test (seeds)", "estimate", "mAP in %, mean ± SE (n)", "test_n"),
    ]
    text = (
        "What each arm's search cost and what it bought. N_s is the number of distinct configurations trained, if "
        "only in part; trials, epochs and device-seconds are those of the search stage, failed, repeated and stopped "
        "ones included; device-seconds are (start-up + data + training + evaluation) × device share. Validation is the "
        "selected configuration."
    )
    return Table("search_cost", "Search cost", caption(results, text), columns, rows)


def arms_table(results: Results) -> Table:
    """Every metric of every arm on the test set."""
    rows: list[dict[str, Any]] = [
        {"arm": arm.label, "configuration": configuration_text(arm.configuration)}
        | {name: on_test(results, arm.name, name) for name in METRICS}
        for arm in arm_summaries(results)
    ]
    group = "Test set, %, mean ± SE over seeds (n)"
    columns = [
        Column("arm", "Arm"),
        Column("configuration", chosen_word(results).capitalize()),
        *(Column(m.name, m.label, "estimate", group, "test_n") for m in METRICS.values()),
    ]
    text = f"Every metric on the test set, of each arm's {chosen_word(results)} configuration trained with fresh seeds."
    return Table("test_metrics", "All metrics on the test set", caption(results, text), columns, rows)


def configurations_table(results: Results) -> Table:
    """Every configuration of every arm on validation: mean of folds, and pooled over queries."""
    rows = []
    for arm in results.arms:
        chosen = results.selected(arm["name"])
        for configuration in arm["configurations"]:
            found = on_validation(results, arm["name"], configuration, "mAP")
            rows.append(
                {
                    "arm": arm["label"],
                    "configuration": configuration_text(configuration),
                    "validation_mAP": found,
                    "pooled": pooled_over_queries(results, arm["name"], configuration),
                    "selected": "selected" if configuration == chosen else _stop(results, arm["name"], configuration),
                }
            )
    columns = [
        Column("arm", "Arm"),
        Column("configuration", "Configuration"),
        Column("validation_mAP", "Mean of folds ± SE (n)", "estimate", "Validation mAP, %", "validation_n"),
        Column("pooled", "Pooled over queries", "percent", "Validation mAP, %"),
        Column("selected", "Selected or stopped"),
    ]
    text = (
        "Validation mAP of every configuration. Selection uses the mean of folds, in which each fold counts once; "
        "pooled, each query counts once. Folds share training subjects, so their SE understates the uncertainty."
    )
    return Table("configurations", "Every configuration", caption(results, text), columns, rows)


def _stop(results: Results, arm: str, configuration: Mapping[str, Any]) -> str:
    """Where a configuration's trial was stopped; empty if it was not."""
    stopped = [t for t in results.of(arm, "search", configuration) if t.status == "stopped"]
    return stopped[0].reason if stopped else ""


def query_years(results: Results) -> list[int]:
    """Years after baseline that any test record has queries of."""
    tested = [t for t in results.trials if t.stage == "replicate" and t.status == "completed"]
    return sorted({year for trial in tested for year in trial.years})


def queries_of_year(results: Results, year: int | None) -> float:
    """Test queries of a year (None: of all years); not-a-number without a record or where records disagree."""
    tested = [t for t in results.trials if t.stage == "replicate" and t.status == "completed"]
    counts = {t.metric("queries", year) for t in tested}
    return counts.pop() if len(counts) == 1 else math.nan


def by_year_table(results: Results) -> Table:
    """Test mAP by years after baseline."""
    years: list[int | None] = [*query_years(results), None]
    rows = [
        {"arm": arm["label"]} | {_year_name(year): on_test(results, arm["name"], "mAP", year) for year in years}
        for arm in results.arms
    ]
    columns = [Column("arm", "Arm")] + [
        Column(_year_name(year), _year_head(results, year), "estimate", "Years after baseline (queries), mean ± SE (n)")
        for year in years
    ]
    text = "Test mAP in %, mean ± SE over seeds (n), by the years between a query and its subject's baseline image."
    return Table("by_year", "mAP by years after baseline", caption(results, text), columns, rows)


def _year_name(year: int | None) -> str:
    return "all" if year is None else f"year_{year}"


def _year_head(results: Results, year: int | None) -> str:
    count = queries_of_year(results, year)
    return f"{'all' if year is None else year} ({'–' if math.isnan(count) else int(count)})"


def status_table(results: Results) -> Table:
    """How many trials of each arm and stage ended how."""
    rows = []
    for arm in results.arms:
        for stage, unit in results.stages.items():
            trials = results.of(arm["name"], stage)
            counts = Counter(trial.status for trial in trials)
            unknown = results.unproposed(arm) if stage == "search" else 0
            planned = len(trials) + unknown or int(results.study["replicates"])
            row = {"arm": arm["label"], "stage": f"{stage} ({unit}s)", "planned": planned}
            rows.append(row | {status: counts[status] for status in STATUSES} | {"missing": planned - len(trials)})
            rows[-1]["missing"] += counts["missing"]
    columns = [Column("arm", "Arm"), Column("stage", "Stage"), Column("planned", "Planned", "count")]
    columns += [Column(name, name.capitalize(), "count") for name in (*STATUSES, "missing")]
    text = (
        "Trials planned and how they ended. Only completed trials enter a mean; n says how many did. Stopped: ended "
        "early by an arm's own search, which did not train that configuration on the other folds then."
    )
    return Table("trial_status", "Trials by status", caption(results, text), columns, rows)


def failures_table(results: Results) -> Table:
    """Every failed, diverged, missing and superseded trial, and every file that does not count, with its reason.

    A stopped trial is none of these: it ended as its search meant it to.
    """
    rows = [
        {
            "what": trial.status,
            "where": f"{trial.arm}, {configuration_text(trial.configuration)}, {trial.unit}",
        }
        | {"reason": trial.reason, "file": trial.file or ""}
        for trial in results.trials
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
    return Table("not_counted", "Not counted", caption(results, text), columns, rows, empty="None: every trial counts.")


def executions_table(results: Results) -> Table:
    """Each start of the study, and how well its slots were used in all."""
    rows = [dict(execution) for execution in results.study.get("executions", [])]
    use = use_of(rows, [*results.trials, *results.superseded])
    share = "not known yet" if math.isnan(use.utilisation) else f"{100 * use.utilisation:.1f} %"
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
    return Table("executions", "Executions", caption(results, text), columns, rows)


def all_trials_table(results: Results) -> Table:
    """One row a planned trial with its record's file name, so that every mean can be traced."""
    rows = [
        {
            "arm": t.arm,
            "configuration": json.dumps(dict(t.configuration)),
            "stage": t.stage,
            "replicate": t.replicate,
        }
        | {
            "status": t.status,
            "mAP": t.metric("mAP"),
            "device_seconds": t.device_seconds,
            "record": t.file or "",
        }
        for t in results.trials
    ]
    columns = [Column(name, name.capitalize()) for name in ("arm", "configuration", "stage")]
    columns += [Column("replicate", "Fold or seed", "count"), Column("status", "Status")]
    columns += [Column("mAP", "mAP, %", "percent"), Column("device_seconds", "Device s", "seconds")]
    columns += [Column("record", "Record")]
    text = "Every planned trial; mAP is on validation in the search stage, on the test set in the replicate stage."
    return Table("trials", "Every trial", caption(results, text), columns, rows)
