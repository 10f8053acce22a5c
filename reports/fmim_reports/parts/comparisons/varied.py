"""Would the answer change? The differences of compared arms on the folds, with one setting of both changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fmim_core.records import SEED, ArmEntry, VariationEntry, flat
from fmim_reports.reading.results import PlannedTrial, Results
from fmim_reports.reading.summary import completed
from fmim_reports.stats import PairedDifference, mean_se, paired_difference
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, RowName, under
from fmim_reports.writing.sections import Section, declared_comparisons, in_every_study, varied_settings
from fmim_reports.writing.tables import Column, Table

LENGTH = "epochs"


def change_with(results: Results, a: str, b: str, variation: VariationEntry) -> PairedDifference:
    """Return how much the difference a − b of the metric changes with a setting, over folds that have all four values.

    On a fold: (a varied − b varied) − (a − b), each of the arm's selected configuration.
    """
    return paired_difference(_differences(results, a, b, variation), _differences(results, a, b, None))


def change_with_length(results: Results, a: str, b: str) -> tuple[VariationEntry, float] | None:
    """Return the change with longer training, and how much longer that is; None where that is not known."""
    for variation in _variations(results, a, b):
        if variation.setting == LENGTH and (found := change_with(results, a, b, variation)).n:
            return variation, found.difference
    return None


def _variations(results: Results, a: str, b: str) -> list[VariationEntry]:
    return [one for one in results.arm(a).variations if one in results.arm(b).variations]


def _trials(results: Results, arm: str, variation: VariationEntry | None) -> list[PlannedTrial]:
    """Return the trials on folds of an arm's selected configuration, with a setting changed or as it was selected."""
    if (configuration := results.selected(arm)) is None:
        return []
    name = "" if variation is None else variation.name
    trials = results.of(arm, "search" if variation is None else "variation", configuration)
    return [trial for trial in trials if trial.variation == name]


def _by_fold(results: Results, arm: str, variation: VariationEntry | None) -> Mapping[int, float]:
    return completed(_trials(results, arm, variation), results.metric.name)


def _differences(results: Results, a: str, b: str, variation: VariationEntry | None) -> Mapping[int, float]:
    """Return a − b by fold."""
    ours, theirs = (_by_fold(results, arm, variation) for arm in (a, b))
    return {fold: ours[fold] - theirs[fold] for fold in ours if fold in theirs}


def _in_words(results: Results, a: str, b: str, variation: VariationEntry) -> str:
    """Return `learning_rate = 0.004 (× 2)`, with what the records of both arms have; or `another seed`."""
    if variation.setting == SEED:
        return "another seed"
    configs = [trial.record.config for arm in (a, b) for trial in _trials(results, arm, variation) if trial.record]
    values = [value for config in configs for name, value in flat(config) if name == variation.setting]
    had = " = " + " and ".join(dict.fromkeys(f"{value:.3g}" for value in values)) if values else ""
    return f"{variation.setting}{had} (× {variation.factor:g})"


@in_every_study(Section.MORE, declared_comparisons, varied_settings)
def variations_table(results: Results) -> Table:
    """Show each declared difference on the folds as it was selected, and with one setting or the seed changed."""
    rows: list[dict[str, Any]] = []
    for a, b in results.comparisons:
        variations = _variations(results, a, b)
        for variation in (None, *variations) if variations else ():
            found = mean_se(_differences(results, a, b, variation))
            row = {"arm": results.arm(a), "against": results.arm(b), "rule": variation is None, "n": found.n}
            row |= {"difference": found.mean if found.n else None, "se": found.se, "setting": "as selected"}
            if variation is not None:
                change = change_with(results, a, b, variation)
                row |= {"setting": _in_words(results, a, b, variation)} | (
                    {"change": change.difference} if change.n else {}
                )
            rows.append(row)
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
        "The selected configurations of both arms, trained on the folds again with one setting or the seed changed. A "
        "result about methods should not depend on it. Change: the new difference minus the original one, on the same "
        "folds."
    )
    how = (
        "If longer training changes a difference by more than the margin of equivalence, "
        f"±{100 * results.equivalence_margin:g} points, the report claims neither a difference nor equivalence. These "
        "trainings select nothing, and no search cost includes them."
    )
    return Table("variations", "Would the answer change?", caption(results, text), columns, rows, how=how)


def another_seed(results: Results) -> list[tuple[ArmEntry, VariationEntry]]:
    """Return the arms whose selected configuration was trained on the folds with another seed, too."""
    return [(arm, one) for arm in results.arms for one in arm.variations if one.setting == SEED]


@in_every_study(Section.MORE, another_seed)
def optimism_table(results: Results) -> Table:
    """Show what each selected configuration scores on the folds that selected it, and there with another seed."""
    rows: list[dict[str, Any]] = []
    searched: dict[str, float] = {}
    for arm, variation in another_seed(results):
        selected, again = (_by_fold(results, arm.name, one) for one in (None, variation))
        found = paired_difference(selected, again)
        if found.n:
            rows.append({"arm": arm, "n_s": arm.n_s, "selected": mean_se(selected).mean, "again": mean_se(again).mean})
            rows[-1] |= {"optimism": found.difference, "se": found.se, "n": found.n}
            searched |= {arm.name: found.difference} if arm.n_s > 1 else {}
    if searched:
        mean, over = mean_se(searched), RowName("", "mean of the arms with N_s > 1, ± SE over them")
        rows.append({"arm": over, "rule": True, "total": True, "optimism": mean.mean, "se": mean.se})
    group = f"Validation {results.metric.label}, %"
    columns = [
        ARM,
        Column("n_s", "N_s", "count"),
        *under(group, "percent", selected="As selected", again="With another seed"),
        Column("optimism", "Optimism, points", "points"),
        Column("se", "SE", "percent"),
        Column("n", "Folds", "count"),
    ]
    text = (
        "The score of a selected configuration is partly luck. Optimism: how much lower the same configuration scores "
        "on the same folds with a seed that selected nothing."
    )
    how = (
        "The two scores are paired by fold. An arm with N_s = 1 selected nothing, so its optimism is noise between "
        "seeds. A few folds say little about one arm. The mean over arms says more, but arms share the second seed of "
        "a fold, which its SE ignores."
    )
    return Table("optimism", "How optimistic is selection?", caption(results, text), columns, rows, how=how)
