"""The tidy file of a study whose arms are compared on the test set, by years after baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reports.parts.overview import query_years
from reports.parts.tidy import tidy_row, tidy_table
from reports.reading.published import ablation_value
from reports.reading.results import Results
from reports.reading.summary import ArmSummary, arm_summaries, on_test
from reports.writing.formats import configuration_text
from reports.writing.tables import Table

METRICS = ("mAP", "mAP_at_R", "CMC_1")


Published = Callable[[ArmSummary, str], float | None]
"""A published value in percent by arm and metric, over all years."""


def tidy_arms_table(results: Results, settings: Mapping[str, str], published: Published | None = None) -> Table:
    """One row an arm, metric and year, in fractions; `settings` says what an arm is.

    An arm without a completed seed has its rows, with n = 0.
    """
    arms = {arm.name: arm for arm in arm_summaries(results)}

    def printed(arm: str, metric: str, year: int | None) -> float | None:
        return published(arms[arm], metric) if published and year is None else None

    rows = [
        tidy_row(arm, setting, metric, on_test(results, arm, metric, year), printed(arm, metric, year), year)
        for arm, setting in settings.items()
        for metric in METRICS
        for year in (*query_years(results), None)
    ]
    return tidy_table(results, rows, "seed")


def selected_table(results: Results) -> Table:
    """The tidy file of a study with a search: each arm at its selected configuration, beside Tables 1(b) and 1(c)."""
    settings = {arm.name: configuration_text(arm.configuration) for arm in arm_summaries(results)}
    return tidy_arms_table(results, settings, _ablation)


def _ablation(arm: ArmSummary, metric: str) -> float | None:
    name = {"mAP": "mAP", "CMC_1": "CMC@1"}.get(metric)
    return ablation_value(arm.loss, arm.search, name) if name else None
