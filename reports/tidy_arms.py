"""The tidy file of a study whose arms are compared on the test set, by years after baseline."""

from __future__ import annotations

from collections.abc import Mapping

from reports.frame import Results
from reports.generic import query_years
from reports.summary import on_test
from reports.tables import Table
from reports.tidy import tidy_row, tidy_table

METRICS = ("mAP", "mAP_at_R", "CMC_1")


def tidy_arms_table(results: Results, settings: Mapping[str, str]) -> Table:
    """One row an arm, metric and year, in fractions, without published values; `settings` says what an arm is.

    An arm without a completed seed has its rows, with n = 0.
    """
    rows = [
        tidy_row(arm, setting, metric, on_test(results, arm, metric, year), None, year)
        for arm, setting in settings.items()
        for metric in METRICS
        for year in (*query_years(results), None)
    ]
    return tidy_table(results, rows, "seed")
