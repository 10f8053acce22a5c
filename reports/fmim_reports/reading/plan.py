"""The trials that there should be, by what study.json declares and selection.json selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fmim_core.records import ArmEntry, Record, SelectionFile, StudyFile

ConfigurationKey = tuple[tuple[str, float | str], ...]
Key = tuple[str, ConfigurationKey, str, int, int]  # arm, configuration, stage, replicate, search split
Records = dict[Key, tuple[str, Record]]


def key_of(configuration: Mapping[str, Any]) -> ConfigurationKey:
    """Return a configuration as a hashable key in which 1 and 1.0 are the same value."""
    return tuple([(name, _value_key(value)) for name, value in sorted(configuration.items())])


def _value_key(value: Any) -> float | str:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def planned_trials(
    study: StudyFile, arms: Mapping[int, Sequence[ArmEntry]], selection: SelectionFile, records: Records
) -> dict[Key, Mapping[str, Any]]:
    """Return every trial with its configuration: on each search split the configurations of each arm on folds.

    The selected ones follow: of the study itself with each seed, of another split with its seed unless the study
    trains that configuration; and the references.
    """
    plan: dict[Key, Mapping[str, Any]] = {}
    for split, entries in arms.items():
        for arm in entries:
            for configuration in arm.configurations:
                key = key_of(configuration)
                for fold in _folds_due(study, arm, key, split, records):
                    plan[arm.name, key, "search", fold, split] = configuration
            others = selection.other_winners(arm.name, study.search_splits)
            chosen = others.get(split) if split else selection.winner(arm.name)
            for seed in [split] if split else range(arm.replicates):
                if chosen is not None:
                    plan[arm.name, key_of(chosen), "replicate", seed, split] = chosen
    for reference in study.references:
        for seed in range(reference.replicates):
            plan[reference.name, (), "reference", seed, 0] = {}
    return plan


def _folds_due(
    study: StudyFile, arm: ArmEntry, configuration: ConfigurationKey, split: int, records: Records
) -> list[int]:
    """Return all folds; the first alone if the search screens on it and the configuration has not come to its end."""
    folds = [fold.fold for fold in study.folds]
    if not arm.searcher_facts.screens:
        return folds
    _, screened = records.get((arm.name, configuration, "search", folds[0], split), ("", None))
    return folds if screened and screened.status == "completed" else folds[:1]


def why_unplanned(key: Key, configuration: Mapping[str, Any], study: StudyFile, selection: SelectionFile) -> str:
    """Return why a trial with a record is not in the plan: it begins with `superseded` if it once was."""
    name, configuration_key, stage, replicate, split = key
    if stage == "reference":
        return f"not in the plan: reference {name!r}, seed {replicate}"
    arm = next((arm for arm in study.arms if arm.name == name), None)
    if arm is None:
        return f"not in the plan: arm {name!r} is unknown"
    if split >= study.search_splits:
        return f"not in the plan: search split {split} of {study.search_splits} planned"
    if split and stage == "replicate":
        return f"superseded: not the winner of search split {split}, or now the study's own"
    if configuration_key not in map(key_of, arm.configurations):
        return f"not in the plan: configuration {dict(configuration)} is not one of the arm's"
    if stage == "search":
        return f"not in the plan: fold {replicate} is not one of the study's"
    chosen = selection.winner(name)
    if chosen is None:
        return "superseded: the arm has no selected configuration"
    if key_of(chosen) != configuration_key:
        return f"superseded: {dict(configuration)} is not the selected configuration {dict(chosen)}"
    return f"not in the plan: seed {replicate} of {arm.replicates} planned"
