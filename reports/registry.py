"""Which tables and figures a study's report shows: one entry a study, and a default for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reports import automargin, automargin_figures, figures, generic
from reports.frame import Results
from reports.plotting import Plot
from reports.tables import Table
from reports.verdict import Verdict, automargin_verdict, generic_verdict

MakeTable = Callable[[Results], Table]
MakePlot = Callable[[Results], Plot]


@dataclass(frozen=True)
class Contents:
    """A report's parts in reading order; `appendix` tables are folded away on the page, `files` only written."""

    verdict: Callable[[Results], Verdict]
    tables: tuple[MakeTable, ...]
    figures: tuple[MakePlot, ...]
    appendix: tuple[MakeTable, ...] = (
        generic.arms_table,
        generic.by_year_table,
        generic.configurations_table,
    )
    account: tuple[MakeTable, ...] = (
        generic.status_table,
        generic.accounting_table,
        generic.executions_table,
    )
    files: tuple[MakeTable, ...] = (generic.all_trials_table,)


GENERIC = Contents(
    verdict=generic_verdict,
    tables=(generic.search_cost_table, generic.arms_table),
    figures=(figures.cost_plot, figures.expected_best_plot, figures.year_plot),
    appendix=(generic.by_year_table, generic.configurations_table),
)

STUDIES: dict[str, Contents] = {
    "automargin_vs_grid": Contents(
        verdict=automargin_verdict,
        tables=(
            automargin.triplet_table,
            automargin.adatriplet_table,
            automargin.paired_table,
            automargin.grid_table,
            generic.search_cost_table,
        ),
        figures=(
            figures.cost_plot,
            figures.expected_best_plot,
            automargin_figures.heat_plot,
            automargin_figures.dynamics_plot,
            figures.year_plot,
        ),
    ),
}


# What only a search stage can fill.
SEARCH_ONLY: frozenset[MakeTable | MakePlot] = frozenset(
    {generic.search_cost_table, generic.configurations_table, figures.cost_plot, figures.expected_best_plot}
)


def contents_of(results: Results) -> Contents:
    """A study's entry or else the generic one; without a search stage, less what only that could fill."""
    contents = STUDIES.get(results.study["study"], GENERIC)
    if results.searched:
        return contents
    return replace(
        contents,
        tables=tuple(make for make in contents.tables if make not in SEARCH_ONLY),
        figures=tuple(make for make in contents.figures if make not in SEARCH_ONLY),
        appendix=tuple(make for make in contents.appendix if make not in SEARCH_ONLY),
    )
