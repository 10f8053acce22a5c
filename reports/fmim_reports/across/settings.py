"""How a study's numbers came about, as settings by name, and in which of them studies differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fmim_core.records import StudyFile, flat
from fmim_reports.across.studies import ComparedStudy

Settings = Mapping[str, Any]
_SHA = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{32,56}\b")  # of a commit or a content: eight digits tell two apart


@dataclass(frozen=True)
class Setting:
    """A setting: what it is about, its name, and its values by the letters of the studies that have it."""

    about: str
    name: str
    values: Mapping[str, Any]

    def text(self, key: str) -> str:
        """The value in a study as text; empty where the study does not have it."""
        return "" if key not in self.values else _text(self.values[key])


def settings_of(study: StudyFile) -> dict[str, Settings]:
    """All that is known of how a study's numbers came about, by name, under what it is about."""
    return {
        "study": {
            "study": study.study,
            "preset": study.preset,
            "changed from the preset": study.changed,
            "seed": study.seed,
            "primary metric": study.metric,
            "equivalence margin": study.equivalence_margin,
        },
        "data": dict(_data(study)),
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
            "git commit": study.environment.get("git_commit", "unknown"),
            **{file.path: file.sha256 for file in (study.code.files if study.code else ())},
        },
        "environment": {
            **{name: value for name, value in study.environment.items() if name != "git_commit"},
            "device": sorted({execution.device for execution in study.executions}),
            "backend": sorted({execution.backend for execution in study.executions}),
        },
    }


def _data(study: StudyFile) -> Iterator[tuple[str, Any]]:
    data = study.data
    yield from {
        "data set": data.name,
        "release": data.release,
        "fingerprint": data.fingerprint,
        "image size": data.image_size,
        "interval": data.interval,
    }.items()
    for side, subset in (("development", data.development), ("test", data.test)):
        yield from {
            f"{side} subjects": subset.subjects,
            f"{side} images": subset.images,
            f"{side} queries": subset.queries,
        }.items()
    yield from flat({"table": data.files})
    yield from flat({data.kind: data.details})  # of phantoms the seed of the cohort too, `phantom.seed`


def differing(studies: Sequence[ComparedStudy]) -> list[Setting]:
    """The settings that are not the same in all studies."""
    found = {one.key: settings_of(one.results.study) for one in studies}
    abouts = dict.fromkeys(about for groups in found.values() for about in groups)
    abouts = dict.fromkeys(about for groups in found.values() for about in groups)
    names = dict.fromkeys((about, name) for about in abouts for groups in found.values() for name in groups[about])
    settings = [
        Setting(about, name, {key: groups[about][name] for key, groups in found.items() if name in groups[about]})
        for about, name in names
    ]
    return [one for one in settings if len(one.values) < len(studies) or not _equal(list(one.values.values()))]


def _equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)


def _text(value: Any) -> str:
    """In one line; what is nested or listed as `a, b`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {_text(one)}" for name, one in flat(value)) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return _SHA.sub(r"\1", {None: "none", "": "not given"}.get(value, str(value)))
