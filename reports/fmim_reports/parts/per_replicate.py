"""Every metric of every trial by itself, `tables/per_replicate.csv`: what every mean of the report is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fmim_core.metric_names import METRICS
from fmim_reports.reading.results import Results
from fmim_reports.sections import Section, in_every_study
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ALL_TIMES, ARM, configuration_column, time_column
from fmim_reports.writing.references import row_name
from fmim_reports.writing.tables import Column, Table


@in_every_study(Section.DATA)
def per_replicate_table(results: Results) -> Table:
    """One row per trial, metric and time after baseline that its record has."""
    columns = [
        ARM,
        Column("stage", "Stage: search is measured on validation, replicate and reference on the test set"),
        Column("search_split", "The split into folds that its search is on; 0 is the study's own", "value"),
        Column("replicate", "The fold in the search, the number of the seed in other stages", "value"),
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
    text = "Every metric of every trial that measured one, over all queries and by the time after baseline."
    return Table("per_replicate", "Every metric of every trial", caption(results, text), columns, list(_rows(results)))


def _rows(results: Results) -> Iterator[dict[str, Any]]:
    for trial in results.every_trial:
        if trial.record is None or trial.record.measured is None:
            continue
        of_trial = {
            "arm": row_name(results, trial.arm),
            "stage": trial.stage,
            "search_split": trial.search_split,
            "replicate": trial.replicate,
            "seed": trial.record.seed,
            "configuration": trial.configuration,
            "status": trial.status,
            "record": trial.file,
        }
        for metric in METRICS.values():
            for time in (*trial.times, None):
                queries = trial.metric("queries", time)
                yield of_trial | {
                    "metric": metric.name,
                    results.interval.unit: ALL_TIMES if time is None else str(time),
                    "queries": int(queries) if queries >= 0 else None,
                    "value": trial.metric(metric.name, time),
                    "unit": metric.unit,
                }
