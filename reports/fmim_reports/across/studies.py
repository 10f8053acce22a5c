"""Several studies read to be compared: in which settings they differ, and which of their arms are alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from fmim_core.records import StudyFile, flat
from fmim_reports.parts.comparisons.tested import TestedArm
from fmim_reports.reading.results import Results, read_results
from fmim_reports.reading.summary import arm_summaries


@dataclass(frozen=True)
class ComparedStudy:
    """A study under the letter by which tables call it, A to Z, AA, …: A is the one that was named first."""

    key: str
    folder: Path
    results: Results


@dataclass(frozen=True)
class StudyArm(TestedArm):
    """An arm of one of the studies."""

    study: ComparedStudy

    @property
    def trained_as(self) -> Mapping[str, Any] | None:
        """Return the whole training configuration of its replicates; None before the first has completed."""
        trials = self.results.of(self.arm.name, "replicate")
        return next((t.record.config for t in trials if t.record and t.status == "completed"), None)

    def seeds_agree(self, other: StudyArm) -> bool:
        """Say if the replicates that both have were trained with the same seeds, and there are such."""
        ours, theirs = (
            {trial.replicate: trial.record.seed for trial in one.results.of(one.arm.name, "replicate") if trial.record}
            for one in (self, other)
        )
        both = ours.keys() & theirs.keys()
        return bool(both) and all(ours[replicate] == theirs[replicate] for replicate in both)


@dataclass(frozen=True)
class ArmGroup:
    """Arms of different studies that stand side by side: of one name, or trained as one another."""

    members: list[StudyArm]

    @property
    def label(self) -> str:
        """Return what the first of them calls it."""
        return self.members[0].arm.label

    def of(self, key: str) -> StudyArm | None:
        """Return the arm of the study of that letter."""
        return next((one for one in self.members if one.study.key == key), None)


def read_studies(folders: Sequence[Path]) -> tuple[ComparedStudy, ...]:
    """Read the studies in these folders, as far as they go.

    Raises:
        ValueError: fewer than two, one folder twice, or a folder without a readable study.json.
    """
    if len(folders) < 2:
        raise ValueError("a comparison needs at least two studies: give two or more folders, e.g. runs/a runs/b")
    places = [folder.resolve() for folder in folders]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise ValueError(f"{folders[number]} is given twice: give each study once")
    keys = ("".join(letters) for length in count(1) for letters in product(ascii_uppercase, repeat=length))
    return tuple(ComparedStudy(key, folder, read_results(folder)) for key, folder in zip(keys, folders, strict=False))


def arm_groups(studies: Sequence[ComparedStudy]) -> list[ArmGroup]:
    """Return the arms of all studies, those that are alike together; the order is that of the studies.

    Arms of one name are alike. One whose name no other study has stands beside one that was trained by the same
    whole configuration, if there is any.
    """
    groups: list[ArmGroup] = []
    for study in studies:
        arms = [StudyArm(study.results, arm, study) for arm in arm_summaries(study.results)]
        of_name = {member.arm.name: group for group in groups for member in reversed(group.members)}
        free = [group for group in groups if not any(of_name.get(one.arm.name) is group for one in arms)]
        for one in arms:
            group = of_name.get(one.arm.name)
            if group is None and (config := one.trained_as) is not None:
                alike = (group for group in free if any(member.trained_as == config for member in group.members))
                group = next(alike, None)
            if group is None:
                groups.append(group := ArmGroup([]))
            free = [other for other in free if other is not group]
            group.members.append(one)
    return groups


_SHA = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{32,56}\b")  # of a commit or a content: eight digits tell two apart


@dataclass(frozen=True)
class Setting:
    """A setting: what it is about, its name, and its values by the letters of the studies that have it."""

    about: str
    name: str
    values: Mapping[str, Any]

    def text(self, key: str) -> str:
        """Return the value in a study as text; empty where the study does not have it."""
        return "" if key not in self.values else _text(self.values[key])


def settings_of(study: StudyFile) -> dict[tuple[str, str], Any]:
    """Return all that is known of how a study's numbers came about, by what it is about and its name."""
    data, environment, code = study.data, study.environment, study.code.files if study.code else ()
    sides = {"development": data.development, "test": data.test}
    groups: dict[str, Mapping[str, Any]] = {
        "study": {"study": study.study, "preset": study.preset, "changed from the preset": study.changed}
        | {"seed": study.seed, "primary metric": study.metric, "equivalence margin": study.equivalence_margin},
        "data": {"data set": data.name, "release": data.release, "fingerprint": data.fingerprint}
        | {"image size": data.image_size, "interval": data.interval}
        | {f"{s} {what}": getattr(sides[s], what) for s in sides for what in ("subjects", "images", "queries")}
        | dict(flat({"table": data.files}))
        | dict(flat({data.kind: data.details})),  # of phantoms the seed of the cohort too, `phantom.seed`
        "protocol": {"folds": len(study.folds), "search splits": study.search_splits}
        | {"seeds of an arm": sorted({arm.replicates for arm in study.arms}), "test protocol": study.test_protocol}
        | {"models of a seed": study.models_per_replicate},
        "training": dict(flat(study.train)),
        "code": {
            "version of results": study.results_version,
            "git commit": environment.get("git_commit", "unknown"),
            **{file.path: file.sha256 for file in code},
        },
        "environment": {
            **{name: value for name, value in environment.items() if name != "git_commit"},
            "device": sorted({execution.device for execution in study.executions}),
            "backend": sorted({execution.backend for execution in study.executions}),
        },
    }
    return {(about, name): value for about, group in groups.items() for name, value in group.items()}


def differing(studies: Sequence[ComparedStudy]) -> list[Setting]:
    """Return the settings that are not the same in all studies."""
    by_study = {one.key: settings_of(one.results.study) for one in studies}
    abouts = list(dict.fromkeys(about for settings in by_study.values() for about, _ in settings))
    every = dict.fromkeys(key for settings in by_study.values() for key in settings)
    found = [
        Setting(*key, {study: settings[key] for study, settings in by_study.items() if key in settings})
        for key in sorted(every, key=lambda key: abouts.index(key[0]))
    ]
    first = studies[0].key
    return [one for one in found if any(one.values.get(s.key, ...) != one.values.get(first, ...) for s in studies)]


def _text(value: Any) -> str:
    """Return it in one line; what is nested or listed as `a, b`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(one)}" for name, one in flat(value)) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return _SHA.sub(r"\1", {None: "none", "": "not given"}.get(value, str(value)))
