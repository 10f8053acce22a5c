"""The report of `automargin_vs_search`: what every compared study has, with the paper's values for two arms."""

from __future__ import annotations

from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.training.margins import varying_margins_plot
from fmim_reports.reading import published
from fmim_reports.reading.results import Results
from fmim_reports.studies import Contents
from fmim_reports.writing.tables import Table

# The rows of Table 1(c) in which the paper has our arms.
PUBLISHED = {"grid": ("AdaTriplet", "Grid search"), "automargin": ("AdaTriplet", "AutoMargin")}


def tidy_table(results: Results) -> Table:
    """Return every value, beside Table 1(c)."""
    return every_value_table(results, published=published.of_rows(PUBLISHED))


CONTENTS = Contents(figures=(varying_margins_plot,), every_value=tidy_table)
