"""Would the answer change? The differences of compared arms on the folds, with one setting of both changed."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from fmim_core.records import VariationEntry
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import completed
from fmim_reports.stats import paired_difference
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import under
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study, varied_settings
from fmim_reports.writing.tables import Column, Table

LENGTH = "epochs"


def change_with(results: Results, a: str, b: str, variation: VariationEntry) -> float | None:
    """Return how much the difference a − b of the metric changes with a setting; None until a fold has all four values.

    The mean over folds of (a varied − b varied) − (a − b), each of the arm's selected configuration on that fold.
    """
    a_varied, b_varied, a_selected, b_selected = (
        _by_fold(results, arm, one) for one in (variation, None) for arm in (a, b)
    )
    folds = a_varied.keys() & b_varied.keys() & a_selected.keys() & b_selected.keys()
    changes = [(a_varied[fold] - b_varied[fold]) - (a_selected[fold] - b_selected[fold]) for fold in sorted(folds)]
    return fmean(changes) if changes else None


def change_with_length(results: Results, a: str, b: str) -> tuple[VariationEntry, float] | None:
    """Return the change with longer training, and how much longer that is; None where that is not known."""
    for variation in _variations(results, a, b):
        if variation.setting == LENGTH and (found := change_with(results, a, b, variation)) is not None:
            return variation, found
    return None


def _variations(results: Results, a: str, b: str) -> list[VariationEntry]:
    return [one for one in results.arm(a).variations if one in results.arm(b).variations]


def _by_fold(results: Results, arm: str, variation: VariationEntry | None) -> Mapping[int, float]:
    """Return the metric of an arm's selected configuration by fold, with a setting changed or as it was selected."""
    if (configuration := results.selected(arm)) is None:
        return {}
    trials = results.of(arm, "search" if variation is None else "variation", configuration)
    name = "" if variation is None else variation.name
    return completed([trial for trial in trials if trial.variation == name], results.metric.name)


def value_of(results: Results, variation: VariationEntry) -> float:
    """Return the value of a setting under a variation, as the study's trainings have it."""
    value: Any = results.study.train
    for part in variation.setting.split("."):
        value = value[part]
    return float(value) * variation.factor


@in_every_study(Section.TABLES, declared_comparisons, varied_settings)
def variations_table(results: Results) -> Table:
    """Show each declared difference on the folds as it was selected, trained longer, and at other learning rates."""
    rows = []
    for a, b in results.comparisons:
        for number, variation in enumerate((None, *_variations(results, a, b))):
            paired = paired_difference(_by_fold(results, a, variation), _by_fold(results, b, variation))
            row = {"arm": results.arm(a), "against": results.arm(b), "rule": number == 0, "setting": "as selected"}
            if variation is not None:
                value = f"{value_of(results, variation):.3g}"
                row |= {"setting": f"{variation.setting} = {value} (× {variation.factor:g})"}
                row |= {"change": change_with(results, a, b, variation)}
            rows.append(row | {"difference": paired.difference if paired.n else None, "se": paired.se, "n": paired.n})
    columns = [
        Column("arm", "Arm a", "arm"),
        Column("against", "Arm b", "arm"),
        Column("setting", "Trained with"),
        *under(f"a − b, validation {results.metric.label}", "points", difference="Mean"),
        Column("se", "SE", "percent", f"a − b, validation {results.metric.label}"),
        Column("n", "Folds", "count"),
        Column("change", "Change", "points"),
    ]
    text = (
        "The selected configurations of both arms, trained on the folds again with one setting changed. An answer "
        "about methods should not depend on it. Change: the difference minus that as selected, on the same folds. "
        "While longer training changes a difference by more than the margin of equivalence, "
        f"±{100 * results.equivalence_margin:g} points, the report shows no difference and no equivalence. These "
        "trainings select nothing, and no search cost includes them."
    )
    return Table("variations", "Would the answer change?", caption(results, text), columns, rows)
