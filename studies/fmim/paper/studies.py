"""Which studies the paper has, in the order in which they build on each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperStudy:
    """A study of the catalogue as the paper has it.

    shows: the tables and figures that it is for.
    selected_from: the study before it whose winners it takes for its arms; blank where it has its own.
    """

    name: str
    shows: str
    selected_from: str = ""


SELECTION = PaperStudy("hyperparameter_selection", "Suppl. Table 1(b)")
PAPER_STUDIES = (
    SELECTION,
    PaperStudy("automargin_vs_grid", "Tables 1(b) and 1(c), Suppl. Table 3"),
    PaperStudy("lambda_sweep", "Table 1(a)"),
    PaperStudy("margin_sensitivity", "Fig. 2(a)"),
    PaperStudy("training_dynamics", "Figs. 1(b, c), 2(b, c) and 3"),
    PaperStudy("baselines", "Fig. 4, Suppl. Tables 4 and 5", selected_from=SELECTION.name),
)
"""The selection comes first, and what takes its winners last, so that whatever they share is trained once."""
