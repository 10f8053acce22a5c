"""Reads study.json and the other files of an OUT folder that say what was planned and selected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmim_core.metric_names import METRICS

SCHEMA = 1
_OF_A_STUDY = ("study", "data", "folds", "metric", "equivalence_margin", "comparisons", "replicates", "arms")
_OF_AN_ARM = (
    *("name", "label", "loss", "loss_kind", "margins_kind", "group", "search", "searcher_facts"),
    *("configurations", "n_s"),
)


@dataclass(frozen=True)
class Problem:
    """A file, or a planned trial, that does not count, and why."""

    where: str
    why: str


def read_study(out: Path, problems: list[Problem]) -> dict[str, Any]:
    """OUT/study.json, with the configurations of proposals.json in the arms whose search proposes them.

    Raises:
        ValueError: no readable study.json of a known schema in `out`, or one that lacks what reports need.
    """
    study = _declared(out)
    proposals = read_mapping(out / "proposals.json", problems, "no proposed configuration counts")

    def with_proposed(arm: Mapping[str, Any]) -> Mapping[str, Any]:
        proposed = [entry["configuration"] for entry in proposals.get(arm["name"], [])]
        return arm if arm["configurations"] else {**arm, "configurations": proposed}

    return study | {"arms": [with_proposed(arm) for arm in study["arms"]]}


def read_mapping(path: Path, problems: list[Problem], otherwise: str) -> dict[str, Any]:
    """A JSON file of a mapping of arms; empty without one, and where it cannot be read a problem says so."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        problems.append(Problem(path.name, f"not JSON ({error}): {otherwise}"))
        return {}
    if not isinstance(content, dict):
        problems.append(Problem(path.name, f"not a mapping of arms: {otherwise}"))
        return {}
    return content


def _declared(out: Path) -> dict[str, Any]:
    path = out / "study.json"
    if not path.is_file():
        raise ValueError(f"{out} holds no study.json: give the folder that a study wrote (its --out), or run one")
    try:
        study = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}): run the study again to rewrite it") from error
    if not isinstance(study, dict) or study.get("schema") != SCHEMA:
        given = study.get("schema") if isinstance(study, dict) else type(study).__name__
        raise ValueError(f"{path} has schema {given}, this report reads schema {SCHEMA}: use the version that wrote it")
    lacking = [name for name in _OF_A_STUDY if name not in study]
    lacking += [f"{name} of an arm" for name in _OF_AN_ARM if any(name not in arm for arm in study.get("arms", []))]
    if lacking:
        raise ValueError(f"{path} lacks {', '.join(lacking)}: run the study again to rewrite it")
    if study["metric"] not in METRICS:
        raise ValueError(f"{path}: metric {study['metric']!r} is unknown; there are {', '.join(METRICS)}")
    return study
