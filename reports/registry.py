"""Which tables and figures a study's report shows: one entry a study, and a default for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from reports import (
    ablation,
    accounting,
    automargin,
    automargin_figures,
    baselines,
    budget,
    dynamics,
    dynamics_figures,
    figures,
    generic,
    hyperparameters,
    lambda_sweep,
    margin_sensitivity,
    optimism,
    prediction,
    samples,
    surfaces,
    tidy_arms,
)
from reports.frame import Results
from reports.plotting import Plot
from reports.tables import Table
from reports.verdict import Verdict, automargin_verdict, generic_verdict

MakeTable = Callable[[Results], Table]
MakePlot = Callable[[Results], Plot]


# What a search cost and bought, in detail.
SEARCH_COST: tuple[MakeTable, ...] = (accounting.ratios_table, budget.budget_table, optimism.optimism_table)


@dataclass(frozen=True)
class Contents:
    """A report's parts in reading order; on the page `ledger` and `appendix` are folded, `files` only written."""

    verdict: Callable[[Results], Verdict]
    tables: tuple[MakeTable, ...]
    figures: tuple[MakePlot, ...]
    appendix: tuple[MakeTable, ...] = (
        generic.arms_table,
        generic.by_year_table,
        generic.configurations_table,
    )
    account: tuple[MakeTable, ...] = (prediction.prediction_table, generic.executions_table)
    ledger: tuple[MakeTable, ...] = (generic.status_table, accounting.paid_table, accounting.time_table)
    files: tuple[MakeTable, ...] = (generic.all_trials_table,)


GENERIC = Contents(
    verdict=generic_verdict,
    tables=(generic.search_cost_table, generic.arms_table),
    figures=(figures.cost_plot, budget.budget_plot, optimism.optimism_plot, figures.year_plot),
    appendix=(*SEARCH_COST, generic.by_year_table, generic.configurations_table),
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
            budget.budget_plot,
            optimism.optimism_plot,
            automargin_figures.heat_plot,
            automargin_figures.dynamics_plot,
            figures.year_plot,
            samples.samples_plot,
        ),
        appendix=(*SEARCH_COST, generic.arms_table, generic.by_year_table, generic.configurations_table),
        files=(tidy_arms.selected_table, generic.all_trials_table),
    ),
    "automargin_vs_search": Contents(
        verdict=automargin_verdict,
        tables=(generic.search_cost_table, automargin.paired_table, generic.arms_table),
        figures=(
            figures.cost_plot,
            budget.budget_plot,
            optimism.optimism_plot,
            automargin_figures.dynamics_plot,
            figures.year_plot,
        ),
        appendix=(*SEARCH_COST, generic.by_year_table, generic.configurations_table),
        files=(tidy_arms.selected_table, generic.all_trials_table),
    ),
    "backbones": Contents(
        verdict=automargin_verdict,
        tables=(automargin.paired_table, generic.arms_table, generic.search_cost_table),
        figures=(figures.year_plot,),
        files=(tidy_arms.selected_table, generic.all_trials_table),
    ),
    "lambda_sweep": Contents(
        verdict=lambda_sweep.lambda_verdict,
        tables=(lambda_sweep.lambda_table,),
        figures=(lambda_sweep.lambda_plot, figures.year_plot),
        appendix=(generic.arms_table, generic.by_year_table, generic.search_cost_table),
        files=(lambda_sweep.lambda_tidy, generic.all_trials_table),
    ),
    "margin_sensitivity": Contents(
        verdict=margin_sensitivity.margin_verdict,
        tables=(margin_sensitivity.margin_table,),
        figures=(margin_sensitivity.margin_plot,),
        appendix=(generic.arms_table, generic.by_year_table, generic.search_cost_table),
        files=(margin_sensitivity.margin_tidy, generic.all_trials_table),
    ),
    "hyperparameter_selection": Contents(
        verdict=hyperparameters.selection_verdict,
        tables=(hyperparameters.selection_table, generic.search_cost_table),
        figures=(hyperparameters.selection_plot,),
        files=(hyperparameters.selection_tidy, generic.all_trials_table),
    ),
    "baselines": Contents(
        verdict=baselines.baselines_verdict,
        tables=(baselines.ours_table, baselines.published_table),
        figures=(baselines.years_plot, samples.samples_plot),
        appendix=(generic.arms_table,),
        files=(baselines.baselines_tidy, generic.all_trials_table),
    ),
    "training_dynamics": Contents(
        verdict=dynamics.dynamics_verdict,
        tables=(dynamics.milestones_table,),
        figures=(
            surfaces.surfaces_plot,
            dynamics_figures.margins_plot,
            dynamics_figures.distributions_plot,
            figures.year_plot,
        ),
        appendix=(generic.arms_table, generic.by_year_table, dynamics.epochs_table),
        files=(dynamics.dynamics_tidy_table, generic.all_trials_table),
    ),
    "automargin_ablation": Contents(
        verdict=ablation.ablation_verdict,
        tables=(ablation.ablation_table,),
        figures=(ablation.forest_plot,),
        appendix=(generic.arms_table, generic.by_year_table),
        files=(ablation.ablation_tidy_table, generic.all_trials_table),
    ),
}


# What only a search stage can fill.
SEARCH_ONLY: frozenset[MakeTable | MakePlot] = frozenset(
    {
        *SEARCH_COST,
        generic.search_cost_table,
        generic.configurations_table,
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
