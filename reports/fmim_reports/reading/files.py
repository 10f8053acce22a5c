"""Read the files of an OUT folder, and say which trials there should be and what does not count."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from fmim_core.metric_names import METRICS
from fmim_core.records import (
    QUERIES_ENDING,
    ArmEntry,
    ProposalsFile,
    Record,
    ReferenceEntry,
    SelectionFile,
    StudyFile,
    forbidden,
    study_path,
)

_MANY = 3  # commas in the label of a reference, from which on it has the number of its arms instead
ConfigurationKey = tuple[tuple[str, float | str], ...]
Key = tuple[str, ConfigurationKey, str, int, int, str]  # arm, configuration, stage, replicate, search split, variation
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

    The selected ones follow: of the study itself with each variation on the folds, and with each seed; of another split
    with its seed, unless the study trains that configuration. The references come last.
    """
    plan: dict[Key, Mapping[str, Any]] = {}
    for split, entries in arms.items():
        for arm in entries:
            for configuration in arm.configurations:
                key = key_of(configuration)
                for fold in _folds_due(study, arm, key, split, records):
                    plan[arm.name, key, "search", fold, split, ""] = configuration
            others = selection.other_winners(arm.name, study.search_splits)
            chosen = others.get(split) if split else selection.winner(arm.name)
            if chosen is None:
                continue
            for variation, held_out in product([] if split else arm.variations, study.folds):
                plan[arm.name, key_of(chosen), "variation", held_out.fold, split, variation.name] = chosen
            for seed in [split] if split else range(arm.replicates):
                plan[arm.name, key_of(chosen), "replicate", seed, split, ""] = chosen
    for reference in study.references:
        for seed in range(reference.replicates):
            plan[reference.name, (), "reference", seed, 0, ""] = {}
    return plan


def _folds_due(
    study: StudyFile, arm: ArmEntry, configuration: ConfigurationKey, split: int, records: Records
) -> list[int]:
    """Return all folds; the first alone if the search screens on it and the configuration has not come to its end."""
    folds = [fold.fold for fold in study.folds]
    if not arm.searcher_facts.screens:
        return folds
    _, screened = records.get((arm.name, configuration, "search", folds[0], split, ""), ("", None))
    return folds if screened and screened.status == "completed" else folds[:1]


def why_unplanned(key: Key, configuration: Mapping[str, Any], study: StudyFile, selection: SelectionFile) -> str:
    """Return why a trial with a record is not in the plan: it begins with `superseded` if it once was."""
    name, configuration_key, stage, replicate, split, variation = key
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
    if variation not in ("", *(one.name for one in arm.variations)):
        return f"not in the plan: variation {variation} is not one of the arm's"
    chosen = selection.winner(name)
    if chosen is None:
        return "superseded: the arm has no selected configuration"
    if key_of(chosen) != configuration_key:
        return f"superseded: {dict(configuration)} is not the selected configuration {dict(chosen)}"
    return f"not in the plan: seed {replicate} of {arm.replicates} planned"


ByArm = TypeVar("ByArm", SelectionFile, ProposalsFile)
Entry = TypeVar("Entry", ArmEntry, ReferenceEntry)
_SHOWN = {"label": "?", "loss": "?", "group": "?", "search": ""}


@dataclass(frozen=True)
class Problem:
    """A file, or a planned trial, that does not count, and why."""

    where: str
    why: str


def read_study(out: Path) -> StudyFile:
    """Return OUT/study.json.

    Raises:
        ValueError: no readable study.json of a known schema in `out`.
    """
    path = study_path(out)
    study = StudyFile.find(path)
    if study is None:
        raise ValueError(f"{out} has no study.json: give the folder of a study (its --out), or run a study")
    if study.metric not in METRICS:
        raise ValueError(f"{path}: metric {study.metric!r} is unknown; there are {', '.join(METRICS)}")
    shown = {"arms": [_shown(arm) for arm in study.arms], "references": [*map(_counted, study.references)]}
    return study.model_copy(update=shown)


def _shown(entry: Entry) -> Entry:
    """Give an entry names that Matplotlib shows in a legend: it leaves out the empty, and those that begin with _."""
    given = dict(entry)
    return entry.model_copy(update={n: given[n].lstrip("_") or blank for n, blank in _SHOWN.items() if n in given})


def _counted(reference: ReferenceEntry) -> ReferenceEntry:
    """Give a reference that names many arms a label with their number: `Raw pixels (9 arms)`."""
    label, _, arms = reference.label.partition(" (")
    many = arms.count(", ") >= _MANY
    return _shown(
        reference.model_copy(update={"label": f"{label} ({len(reference.arms)} arms)"}) if many else reference
    )


def arms_by_split(study: StudyFile, out: Path, problems: list[Problem]) -> dict[int, list[ArmEntry]]:
    """Return the arms by search split, with the configurations of proposals.json where they are proposed.

    The arms of the study itself are those of its own search split, 0.
    """
    proposals = read_by_arm(ProposalsFile, out / "proposals.json", problems, "no proposed configuration counts")
    found: dict[int, list[ArmEntry]] = {split: [] for split in range(study.search_splits)}
    for split, arms in found.items():
        for arm in study.arms:
            proposed = proposals.by_split.get(split, {}).get(arm.name, [])
            configurations = arm.configurations or [proposal.configuration for proposal in proposed]
            arms.append(arm.model_copy(update={"configurations": configurations}))
    return found


def read_by_arm(kind: type[ByArm], path: Path, problems: list[Problem], otherwise: str) -> ByArm:
    """Return a document by arm; without any arm if there is no such file, or it cannot be read, which is a problem."""
    try:
        return kind.find(path, "the file") or kind()
    except ValueError as error:
        problems.append(Problem(path.name, f"{otherwise}: {error}"))
        return kind()


def read_records(out: Path, study: StudyFile, problems: list[Problem]) -> Records:
    """Return the well-formed records of this study by what they are of; others become problems."""
    found: Records = {}
    folder = out / "records"
    if folder.is_dir() and not os.access(folder, os.R_OK):
        raise forbidden(folder)
    paths = sorted(folder.glob("*"))
    beside = {path.name.removesuffix(".json") + QUERIES_ENDING for path in paths}  # they are read with their records
    for path in (path for path in paths if path.name not in beside):
        try:
            record = _record(path, study)
        except ValueError as error:
            problems.append(Problem(f"records/{path.name}", str(error)))
            continue
        place = record.replicate, record.search_split, record.variation or ""
        key: Key = (record.arm, key_of(record.configuration), record.stage, *place)
        # The runner names a record after its trial; of two that say they are one trial, that one is the original.
        both = [found[key], (path.name, record)] if key in found else [(path.name, record)]
        found[key], *copies = sorted(both, key=lambda one: one[0] != f"{one[1].trial}.json")
        problems += [Problem(f"records/{name}", f"duplicate of {found[key][0]}: not counted") for name, _ in copies]
    return found


def _record(path: Path, study: StudyFile) -> Record:
    """Read a record; raises ValueError with the reason why it does not count."""
    if path.name.endswith(QUERIES_ENDING):
        raise ValueError("queries without their record: the trial has not ended, or the record was removed")
    if path.suffix != ".json":
        raise ValueError("unknown file: records end in .json")
    record = Record.read(path, "the record")
    if record.study != study.study:
        raise ValueError(f"of another study: {record.study!r}, not {study.study!r}")
    return record
