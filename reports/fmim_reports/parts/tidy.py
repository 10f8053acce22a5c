"""The tidy tables of a study: each mean, the published one beside it, and each single value; all as fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_core.records import ArmEntry
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import ArmSummary, Estimate, on_reference, on_test, on_validation, query_times
from fmim_reports.stats import MeanSE
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import (
    ALL_TIMES,
    ARM,
    RowName,
    configuration_column,
    reference_row,
    row_name,
    time_column,
    under,
)
from fmim_reports.writing.formats import configuration_text
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Generated, Table

ON = {"fold": "validation folds", "seed": "test set"}  # what a mean is measured on, by what its replicates are
TIDY_METRICS = ("mAP", "mAP_at_R", "CMC_1", "CMC_1_all_shots")
Published = Callable[[ArmEntry, str, int | None], MeanSE | float | None]


def every_value_table(
    results: Results,
    settings: Mapping[str, str] | None = None,
    published: Published | None = None,
    metrics: Iterable[str] = (),
    on_folds: Callable[[ArmEntry, str], float | None] | None = None,
) -> Table:
    """Return one row per arm or reference, metric and time on the test set; without a completed seed n = 0.

    Args:
        settings: what an arm is, by its name; its configuration if nothing else is said.
        published: the paper's value of an arm by metric and time (None: over all), where it has one.
        metrics: those of every study, and its primary one, if none are given.
        on_folds: the paper's value of an arm on validation folds, by metric; where it has one, a row of ours on the
            folds stands beside it.
    """
    named = settings or {arm.name: configuration_text(_configuration(results, arm)) for arm in results.arms}
    of_arm: Published = published or (lambda arm, metric, time: None)
    keys = [
        (metric, time)
        for metric in dict.fromkeys(metrics or (*TIDY_METRICS, results.metric.name))
        for time in (*query_times(results), None)
    ]
    rows = []
    for arm, metric in product(results.arms if on_folds else (), METRICS):
        if on_folds and (theirs := on_folds(arm, metric)) is not None:
            ours = on_validation(results, arm.name, results.selected(arm.name), metric)
            rows.append(tidy_row(arm, named[arm.name], metric, ours, theirs))
    rows += [
        tidy_row(
            arm, named[arm.name], metric, on_test(results, arm.name, metric, time), of_arm(arm, metric, time), time
        )
        for arm in results.arms
        for metric, time in keys
    ]
    rows += [
        tidy_row(reference_row(one), one.label, metric, on_reference(results, one, metric, time), None, time)
        for one in results.references
        for metric, time in keys
    ]
    return tidy_table(results, rows)


def _configuration(results: Results, arm: ArmEntry) -> Mapping[str, Any] | None:
    """Return what was selected; without a search the one configuration that was given, whether it has run or not."""
    given = arm.configurations
    return results.selected(arm.name) or (given[0] if given and not results.searched else None)


def tidy_row(
    arm: ArmEntry | ArmSummary | RowName,
    setting: str,
    metric: str,
    value: Estimate,
    published: MeanSE | float | None,
    time: int | str | None = None,
) -> dict[str, Any]:
    """Return one value; `published` is in percent as printed, `time` None stands for all times together."""
    stat = value.stat
    paper = {"mean": published.mean, "se": published.se} if isinstance(published, MeanSE) else {"mean": published}
    row: dict[str, Any] = {"arm": arm, "setting": setting, "metric": metric, "on": ON[value.unit]}
    row |= {"time": ALL_TIMES if time is None else str(time)}
    row |= {"mean": stat.mean if stat.n else None, "se": stat.se, "n": stat.n}
    # without the digits that dividing by 100 adds: 95.6 becomes 0.956
    return row | {f"published_{name}": None if one is None else round(one / 100, 9) for name, one in paper.items()}


def tidy_table(results: Results, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the table named after the study; its columns are a contract, one being called after the interval."""
    interval = results.interval
    columns = [
        ARM,
        *under("", "text", setting="Setting", metric="Metric"),
        time_column(results),
        Column("on", "On"),
        *under("Ours, %", "percent", mean="Mean", se="SE"),
        *under("Ours, %", "count", n="n"),
        *under("Published, %", "percent", published_mean="Mean", published_se="SE"),
    ]
    text = (
        "Every value of the study in one file: mean and SE over folds or, on the test set, over seeds. Published "
        "values are on the paper's images. The CSV file has fractions."
    )
    name = results.study.study
    timed = [{interval.unit: row["time"], **row} for row in rows]
    return Table(name, "Every value", caption(results, text), columns, timed)


@in_every_study(Section.DATA)
def per_replicate_table(results: Results) -> Table:
    """Return one row per trial, metric and time after baseline that its record has."""
    searched = "search and variation are measured on validation, " if results.searched else ""
    columns = [
        ARM,
        Column("stage", f"Stage: {searched}replicate and reference on the test set"),
        Column("variation", "The setting that a variation changes, and its factor"),
        Column("search_split", "The split into folds that its search uses; 0 is the study's own", "value"),
        Column("replicate", "The held-out fold, or else the number of the seed", "value"),
        Column("seed", "The seed of its training", "value"),
        configuration_column(results),
        Column("status", "How the trial ended: only completed ones enter a mean"),
        Column("metric", "Metric"),
        time_column(results),
        Column("queries", "Queries that the value is the mean over", "count"),
        Column("value", "The metric", "number", unit="that of the row"),
        Column("unit", "The unit of the value"),
        Column("record", "The file of its record in records/"),
    ]
    times = " and by the time after baseline" if results.dated else ""
    text = f"Every metric of every trial that measured one, over all queries{times}."
    rows = Generated(partial(_values, results))
    return Table("per_replicate", "Every metric of every trial", caption(results, text), columns, rows)


def _values(results: Results) -> Iterator[dict[str, Any]]:
    interval = results.interval.unit
    for trial in results.every_trial:
        if trial.record is None or trial.record.measured is None:
            continue
        own = {"arm": row_name(results, trial.arm), "status": trial.status, "record": trial.file}
        of_trial = {**vars(trial), **own, "seed": trial.record.seed}
        asked = {time: trial.metric("queries", time) for time in (*trial.times, None)}
        at = {
            time: {interval: ALL_TIMES if time is None else str(time), "queries": int(count) if count >= 0 else None}
            for time, count in asked.items()
        }
        for metric, time in product(METRICS.values(), at):
            value = trial.metric(metric.name, time)
            yield {**of_trial, **at[time], "metric": metric.name, "unit": metric.unit, "value": value}
