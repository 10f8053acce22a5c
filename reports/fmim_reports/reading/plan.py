"""Which trials there should be, by what study.json declares and selection.json selected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fmim_core.records import ArmEntry, Record, SelectionFile, StudyFile

ConfigurationKey = tuple[tuple[str, float | str], ...]
Key = tuple[str, ConfigurationKey, str, int, int]  # arm, configuration, stage, replicate, search split
Records = dict[Key, tuple[str, Record]]


def key_of(configuration: Mapping[str, Any]) -> ConfigurationKey:
    """A configuration as a hashable key in which 1 and 1.0 are the same value."""
    return tuple([(name, _value_key(value)) for name, value in sorted(configuration.items())])


def _value_key(value: Any) -> float | str:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def trials_of_study(study: StudyFile, selection: SelectionFile, records: Records) -> dict[Key, Mapping[str, Any]]:
    """Every trial of the study itself: configurations on folds, selected ones with each seed; and the references'."""
    plan: dict[Key, Mapping[str, Any]] = {}
    for arm in study.arms:
        plan |= _search(study, arm, 0, records)
        chosen = selection.winner(arm.name)
        if chosen is not None:
            for seed in range(arm.replicates):
                plan[arm.name, key_of(chosen), "replicate", seed, 0] = chosen
    for reference in study.references:
        for seed in range(reference.replicates):
            plan[reference.name, (), "reference", seed, 0] = {}
    return plan


def trials_on_other_splits(
    study: StudyFile, arms: Mapping[int, list[ArmEntry]], selection: SelectionFile, records: Records
) -> dict[Key, Mapping[str, Any]]:
    """Those on other search splits: the search, and the winner with the split's seed unless the study trains it."""
    plan: dict[Key, Mapping[str, Any]] = {}
    for split in range(1, study.search_splits):
        for arm in arms[split]:
            plan |= _search(study, arm, split, records)
            chosen = selection.other_winners(arm.name, study.search_splits).get(split)
            if chosen is not None:
                plan[arm.name, key_of(chosen), "replicate", split, split] = chosen
    return plan


def _search(study: StudyFile, arm: ArmEntry, split: int, records: Records) -> dict[Key, Mapping[str, Any]]:
    keys = ((configuration, key_of(configuration)) for configuration in arm.configurations)
    return {
        (arm.name, key, "search", fold, split): configuration
        for configuration, key in keys
        for fold in _folds_due(study, arm, key, split, records)
    }


def _folds_due(
    study: StudyFile, arm: ArmEntry, configuration: ConfigurationKey, split: int, records: Records
) -> list[int]:
    """All folds; the first alone if the search screens on it and the configuration has not come to its end."""
    folds = [fold.fold for fold in study.folds]
    if not arm.searcher_facts.screens:
        return folds
    _, screened = records.get((arm.name, configuration, "search", folds[0], split), ("", None))
    return folds if screened and screened.status == "completed" else folds[:1]
