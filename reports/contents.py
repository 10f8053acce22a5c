"""Which tables and figures a study's report shows: one entry a study, and a default for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reports.parts import (
    automargin_figures,
    budget,
    costs,
    dynamics_figures,
    figures,
    optimism,
    overview,
    prediction,
    samples,
    surfaces,
    tidy_arms,
)
from reports.parts.verdict import Verdict, automargin_verdict, generic_verdict
from reports.reading.results import Results
from reports.studies import (
    automargin_ablation,
    automargin_vs_grid,
    baselines,
    hyperparameter_selection,
    lambda_sweep,
    margin_sensitivity,
    training_dynamics,
)
from reports.writing.plotting import Plot
from reports.writing.tables import Table

MakeTable = Callable[[Results], Table]
MakePlot = Callable[[Results], Plot]


# What a search cost and bought, in detail.
SEARCH_COST: tuple[MakeTable, ...] = (costs.ratios_table, budget.budget_table, optimism.optimism_table)


@dataclass(frozen=True)
class Contents:
    """A report's parts in reading order; on the page `ledger` and `appendix` are folded, `files` only written."""

    verdict: Callable[[Results], Verdict]
    tables: tuple[MakeTable, ...]
    figures: tuple[MakePlot, ...]
    appendix: tuple[MakeTable, ...] = (
        overview.arms_table,
        overview.by_year_table,
        overview.configurations_table,
    )
    account: tuple[MakeTable, ...] = (prediction.prediction_table, overview.executions_table)
    ledger: tuple[MakeTable, ...] = (overview.status_table, costs.paid_table, costs.time_table)
    files: tuple[MakeTable, ...] = (overview.all_trials_table,)


GENERIC = Contents(
    verdict=generic_verdict,
    tables=(overview.search_cost_table, overview.arms_table),
    figures=(figures.cost_plot, budget.budget_plot, optimism.optimism_plot, figures.year_plot),
    appendix=(*SEARCH_COST, overview.by_year_table, overview.configurations_table),
)

STUDIES: dict[str, Contents] = {
    "automargin_vs_grid": Contents(
        verdict=automargin_verdict,
        tables=(
            automargin_vs_grid.triplet_table,
            automargin_vs_grid.adatriplet_table,
            automargin_vs_grid.paired_table,
            automargin_vs_grid.grid_table,
            overview.search_cost_table,
        ),
        figures=(
            figures.cost_plot,
            budget.budget_plot,
            optimism.optimism_plot,
            automargin_figures.heat_plot,
            automargin_figures.dynamics_plot,
            figures.year_plot,
            samples.samples_plot,
        ),
        appendix=(*SEARCH_COST, overview.arms_table, overview.by_year_table, overview.configurations_table),
        files=(tidy_arms.selected_table, overview.all_trials_table),
    ),
    "automargin_vs_search": Contents(
        verdict=automargin_verdict,
        tables=(overview.search_cost_table, automargin_vs_grid.paired_table, overview.arms_table),
        figures=(
            figures.cost_plot,
            budget.budget_plot,
            optimism.optimism_plot,
            automargin_figures.dynamics_plot,
            figures.year_plot,
        ),
        appendix=(*SEARCH_COST, overview.by_year_table, overview.configurations_table),
        files=(tidy_arms.selected_table, overview.all_trials_table),
    ),
    "backbones": Contents(
        verdict=automargin_verdict,
        tables=(automargin_vs_grid.paired_table, overview.arms_table, overview.search_cost_table),
        figures=(figures.year_plot,),
        files=(tidy_arms.selected_table, overview.all_trials_table),
    ),
    "lambda_sweep": Contents(
        verdict=lambda_sweep.lambda_verdict,
        tables=(lambda_sweep.lambda_table,),
        figures=(lambda_sweep.lambda_plot, figures.year_plot),
        appendix=(overview.arms_table, overview.by_year_table, overview.search_cost_table),
        files=(lambda_sweep.lambda_tidy, overview.all_trials_table),
    ),
    "margin_sensitivity": Contents(
        verdict=margin_sensitivity.margin_verdict,
        tables=(margin_sensitivity.margin_table,),
        figures=(margin_sensitivity.margin_plot,),
        appendix=(overview.arms_table, overview.by_year_table, overview.search_cost_table),
        files=(margin_sensitivity.margin_tidy, overview.all_trials_table),
    ),
    "hyperparameter_selection": Contents(
        verdict=hyperparameter_selection.selection_verdict,
        tables=(hyperparameter_selection.selection_table, overview.search_cost_table),
        figures=(hyperparameter_selection.selection_plot,),
        files=(hyperparameter_selection.selection_tidy, overview.all_trials_table),
    ),
    "baselines": Contents(
        verdict=baselines.baselines_verdict,
        tables=(baselines.ours_table, baselines.published_table),
        figures=(baselines.years_plot, samples.samples_plot),
        appendix=(overview.arms_table,),
        files=(baselines.baselines_tidy, overview.all_trials_table),
    ),
    "training_dynamics": Contents(
        verdict=training_dynamics.dynamics_verdict,
        tables=(training_dynamics.milestones_table,),
        figures=(
            surfaces.surfaces_plot,
            dynamics_figures.margins_plot,
            dynamics_figures.distributions_plot,
            figures.year_plot,
        ),
        appendix=(overview.arms_table, overview.by_year_table, training_dynamics.epochs_table),
        files=(training_dynamics.dynamics_tidy_table, overview.all_trials_table),
    ),
    "automargin_ablation": Contents(
        verdict=automargin_ablation.ablation_verdict,
        tables=(automargin_ablation.ablation_table,),
        figures=(automargin_ablation.forest_plot,),
        appendix=(overview.arms_table, overview.by_year_table),
        files=(automargin_ablation.ablation_tidy_table, overview.all_trials_table),
    ),
}


# What only a search stage can fill.
SEARCH_ONLY: frozenset[MakeTable | MakePlot] = frozenset(
    {
        *SEARCH_COST,
        overview.search_cost_table,
        overview.configurations_table,
        figures.cost_plot,
        budget.budget_plot,
        optimism.optimism_plot,
    }
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
