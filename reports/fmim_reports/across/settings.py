"""The settings by which a study's numbers came about, by name, and in which of them studies differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fmim_core.records import StudyFile, flat
from fmim_reports.across.studies import ComparedStudy

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
        "study": {
            "study": study.study,
            "preset": study.preset,
            "changed from the preset": study.changed,
            "seed": study.seed,
            "primary metric": study.metric,
            "equivalence margin": study.equivalence_margin,
        },
        "data": {
            "data set": data.name,
            "release": data.release,
            "fingerprint": data.fingerprint,
            "image size": data.image_size,
            "interval": data.interval,
            **{f"{s} {what}": getattr(sides[s], what) for s in sides for what in ("subjects", "images", "queries")},
            **dict(flat({"table": data.files})),
            **dict(flat({data.kind: data.details})),  # of phantoms the seed of the cohort too, `phantom.seed`
        },
        "protocol": {
            "folds": len(study.folds),
            "search splits": study.search_splits,
            "seeds of an arm": sorted({arm.replicates for arm in study.arms}),
            "test protocol": study.test_protocol,
            "models of a seed": study.models_per_replicate,
        },
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
    return [one for one in found if len(one.values) < len(studies) or not _equal([*one.values.values()])]


def _equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)


def _text(value: Any) -> str:
    """Return it in one line; what is nested or listed as `a, b`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(one)}" for name, one in flat(value)) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return _SHA.sub(r"\1", {None: "none", "": "not given"}.get(value, str(value)))
