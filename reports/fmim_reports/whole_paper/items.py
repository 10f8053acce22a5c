"""The paper's tables and figures in its order, each with the study that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fmim_reports.parts.queries.pictures import samples_plot
from fmim_reports.parts.training.distributions import distributions_plot
from fmim_reports.parts.training.margins import margins_plot
from fmim_reports.parts.training.surfaces import surfaces_plot
from fmim_reports.studies import MakePlot, MakeTable
from fmim_reports.studies.automargin_vs_grid import adatriplet_table, grid_table, heat_plot, triplet_table
from fmim_reports.studies.baselines import ours_table, published_table, years_plot
from fmim_reports.studies.hyperparameter_selection import selection_plot, selection_table
from fmim_reports.studies.lambda_sweep import lambda_plot, lambda_table
from fmim_reports.studies.margin_sensitivity import margin_plot, margin_table
from fmim_reports.studies.training_dynamics import milestones_table


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of the paper: what it is called there, what it shows, and what of which study stands for it."""

    label: str
    shows: str
    study: str
    tables: tuple[MakeTable, ...] = ()
    figures: tuple[MakePlot, ...] = ()


ITEMS = (
    PaperItem("Fig. 1(a)", "what each loss finds first", "baselines", figures=(samples_plot,)),
    PaperItem("Fig. 1(b, c)", "surfaces of the losses", "training_dynamics", figures=(surfaces_plot,)),
    PaperItem("Fig. 2(a)", "sensitivity to ε", "margin_sensitivity", (margin_table,), (margin_plot,)),
    PaperItem("Fig. 2(b, c), Fig. 3(b)", "Δ and φ_an in training", "training_dynamics", figures=(distributions_plot,)),
    PaperItem("Fig. 3(a)", "margins and loss in training", "training_dynamics", (milestones_table,), (margins_plot,)),
    PaperItem("Table 1(a)", "the weight λ", "lambda_sweep", (lambda_table,), (lambda_plot,)),
    PaperItem("Table 1(b)", "ways to set the triplet loss's margin", "automargin_vs_grid", (triplet_table,)),
    PaperItem("Table 1(c)", "ways to set AdaTriplet's margins", "automargin_vs_grid", (adatriplet_table,)),
    PaperItem("Fig. 4", "losses by years after baseline", "baselines", figures=(years_plot,)),
    PaperItem(
        "Suppl. Table 1(b)",
        "selected hyperparameters",
        "hyperparameter_selection",
        (selection_table,),
        (selection_plot,),
    ),
    PaperItem("Suppl. Table 3", "grid search against AutoMargin", "automargin_vs_grid", (grid_table,), (heat_plot,)),
    PaperItem("Suppl. Tables 4 and 5", "losses by years after baseline", "baselines", (ours_table, published_table)),
)
"""Nothing is trained for Suppl. Table 1(a), which lists augmentations, or Suppl. Table 2, which describes data sets."""

On = Literal["validation folds", "test set"]


@dataclass(frozen=True)
class PublishedNumbers:
    """Single numbers of the paper that a study has as well: where they stand, and on what each of the two is."""

    study: str
    label: str
    published_on: On
    ours_on: On


PUBLISHED_NUMBERS = (
    PublishedNumbers("lambda_sweep", "Table 1(a)", "validation folds", "test set"),
    PublishedNumbers("automargin_vs_grid", "Tables 1(b) and 1(c)", "validation folds", "test set"),
    PublishedNumbers("margin_sensitivity", "Fig. 2(a)", "validation folds", "validation folds"),
    PublishedNumbers("hyperparameter_selection", "Suppl. Table 3", "validation folds", "validation folds"),
    PublishedNumbers("baselines", "Suppl. Table 4", "test set", "test set"),
)
