"""The content of the files in an OUT folder, with invented numbers unless others are given; and how tests change it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import MARGINS
from fmim_core.margins.fixed import FixedMargins
from fmim_core.records import ON_FOLDS, SCHEMA, Record, Stage, trial_name, write_json
from fmim_core.training.config import TrainConfig
from tests.support.documents import ENTRIES

YEARS = {1: 40, 2: 38, 4: 30, 6: 22, 8: 16}
EPOCHS = 6
PHANTOM = "phantom images: drawn by a program, a body per subject that ages with the years"
COMPARISONS = [["triplet_automargin", "triplet_grid"], ["adatriplet_automargin", "adatriplet_grid"]]
TRAIN = TrainConfig(loss=Triplet(), margins=FixedMargins(epsilon=0.25), epochs=EPOCHS)
FACTS = {"uses_results": False, "screens": False, "ordered": False}
"""What a grid or random search may know: nothing of earlier results."""


def write(path: Path, fields: dict[str, Any]) -> Path:
    """Write a document, with the SHA-256 that fits."""
    write_json(path, fields)
    return path


def by_arm(arms: Mapping[str, Any]) -> dict[str, Any]:
    """The content of selection.json or proposals.json."""
    return {"schema": SCHEMA, "arms": dict(arms)}


def edit(path: Path, **changes: Any) -> Path:
    """Overwrite some keys of a JSON file."""
    return write(path, {**json.loads(path.read_text(encoding="utf-8")), **changes})


def spoil(path: Path, status: str, message: str = "CUDA out of memory") -> Path:
    """Turn a completed record into a failed or diverged one; what it cost stays."""
    error = {"kind": "RuntimeError", "message": message, "traceback": "…"}
    return edit(path, status=status, error=error, metrics={"validation": None, "test": None})


def study_content(arms: list[dict[str, Any]], folds: int, replicates: int, synthetic: bool = True) -> dict[str, Any]:
    """The content of study.json, of `automargin_vs_grid` unless some keys are replaced."""
    search = sum(len(arm["configurations"]) for arm in arms) * folds
    part = {"images": 640, "subjects": 160, "queries": 480, "queries_without_match": 0, "gallery": 160}
    test = {"images": 186, "subjects": 40, "queries": 146, "queries_without_match": 2, "gallery": 40}
    data: dict[str, Any] = {
        "name": "phantom" if synthetic else "oai",
        "kind": "phantom" if synthetic else "manifest",
        "synthetic": synthetic,
        "about": PHANTOM if synthetic else "knee radiographs of the Osteoarthritis Initiative",
        "release": "1",
        "files": {},
        "fingerprint": "d" * 64,
        "image_size": 70,
        "details": {"subjects": 200},
        "interval": "year",
        "images": 826,
        "warnings": [],
        "development": part | {"by_time": {"0": 160, "4": 480}},
        "test": test | {"by_time": {"0": 40, **{str(year): queries for year, queries in YEARS.items()}}},
    }
    fold = {"train_subjects": 107, "train_images": 427, "validation_subjects": 53, "validation_images": 213}
    fold |= {"validation_gallery": 53, "validation_queries": 160, "validation_queries_without_match": 0}
    by_time = {"validation_queries_by_time": {"4": 160}, "validation_times_missing": []}
    return {
        "schema": SCHEMA,
        "id": "e" * 32,
        "study": "automargin_vs_grid",
        "title": "AutoMargin against grid search",
        "question": "Is AutoMargin as good as a grid search over margins, and what did the search cost?",
        "preset": "quick",
        "seed": 0,
        "created_at": "2026-01-02T03:04:05Z",
        "fingerprint": "a" * 64,
        "data": data,
        "folds": [{"fold": number, **fold, **by_time} for number in range(folds)],
        "metric": "mAP",
        "equivalence_margin": 0.01,
        "baseline": None,
        "comparisons": [pair for pair in COMPARISONS if {*pair} <= {arm["name"] for arm in arms}],
        "search_splits": 1,
        "test_protocol": "retrained",
        "models_per_replicate": 1,
        "results_version": 4,
        "arms": [{"replicates": replicates} | arm for arm in arms],
        "plan": {"search_trials": search, "replicate_trials": replicates * len(arms), "reference_trials": 0},
        "references": [],
        "train": TRAIN.model_dump(mode="json", exclude={"loss", "margins"}),
        "environment": {"python": "3.12.3", "torch": "2.14.0", "cpu": "2 cores", "git_commit": "c0ffee1"},
        "executions": [
            {
                "started_at": "2026-01-02T03:04:05Z",
                "ended_at": "2026-01-02T03:24:05Z",
                "wall_s": 1200.0,
                "slots": 2,
                "backend": "ray",
                "device": "cpu",
                "tracking_uri": "sqlite:///mlflow.db",
                "trials": search + replicates * len(arms),
                "exit_code": 0,
            }
        ],
    }


def arm_content(name: str, loss: str, search: str, margins_kind: str, **others: Any) -> dict[str, Any]:
    """An arm as study.json holds it, with one configuration in which nothing is set unless `others` says more."""
    lowered = search if search in ("Q1", "Q2", "WAT", "AutoMargin") else search.lower()
    arm: dict[str, Any] = {
        "name": name,
        "label": f"{loss} + {lowered}",
        "loss": loss,
        "loss_kind": loss.lower(),
        "margins_kind": margins_kind,
        "margins_vary": MARGINS.find(margins_kind).vary,
        "group": loss,
        "search": search,
        "searcher": {"kind": "grid", "samples": None},
        "searcher_facts": FACTS,
        "note": "",
        "space": {},
        "configurations": [{}],
    }
    arm |= others
    return {"n_s": len(arm["configurations"]), **arm}


def selection_content(configuration: Mapping[str, Any], number: int, score: float | None) -> dict[str, Any]:
    """Return what selection.json says of an arm, without the scores of its configurations."""
    return {
        "number": number,
        "configuration": dict(configuration),
        "score": score,
        "metric": "mAP",
        "scores": [],
        "selected_at": "2026-01-02T03:14:05Z",
    }


def record_content(
    arm: str,
    configuration: Mapping[str, Any],
    number: int,
    stage: Stage,
    replicate: int,
    metrics: Mapping[str, float],
    **others: Any,
) -> dict[str, Any]:
    """A completed record of `automargin_vs_grid` as its file holds it, unless `others` says otherwise."""
    search = stage in ON_FOLDS
    content = {
        "schema": SCHEMA,
        "trial": trial_name(arm, number, stage, replicate, variation=others.get("variation")),
        "study": "automargin_vs_grid",
        "preset": "quick",
        "arm": arm,
        "configuration": dict(configuration),
        "stage": stage,
        "replicate": replicate,
        "fold": replicate if search else None,
        "search_split": 0,
        "seed": 1000 + replicate,
        "status": "completed",
        "fingerprint": "b" * 64,
        "metrics": {"validation": metrics if search else None, "test": None if search else metrics},
        "test_opened_at": None if search else "2026-01-02T03:15:05Z",
        "started_at": "2026-01-02T03:05:05Z",
        "ended_at": "2026-01-02T03:05:17Z",
        "environment": {"python": "3.12.3", "torch": "2.14.0"},
        "config": {"margins": {"kind": "fixed"}},
    }
    return Record.model_validate(content | others).to_json()


def metrics_of(value: float, chance: float) -> dict[str, float]:
    """Every metric of a split as a record has it, all years and by year, around an mAP of `value`."""
    names = {"mAP": 0.0, "mAP_at_R": -0.05, "CMC_1": -0.08, "CMC_5": 0.05, "CMC_10": 0.1, "CMC_1_all_shots": -0.09}
    metrics: dict[str, float] = {name: value + shift for name, shift in names.items()}
    for year, queries in YEARS.items():
        metrics |= {f"{name}/year_{year}": value + shift + (3 - year) / 50 for name, shift in names.items()}
        metrics[f"queries/year_{year}"] = queries
    return metrics | {"queries": 146, "queries_without_match": 2, "gallery": 40, "chance_mAP": chance}


def epoch_content(epoch: int, **others: Any) -> dict[str, Any]:
    """A row of a record's history, with invented numbers unless `others` gives them."""
    invented = {"loss": 0.1, "beta": math.nan, "phi_an_mean": 0.2, "phi_ap_mean": 0.7, "batches": 12, "seconds": 1.0}
    return {"epoch": epoch} | ENTRIES | invented | others


PIXELS, NETWORK = "reference.pixels", "reference.untrained_network"


LABELS = {PIXELS: "Raw pixels", NETWORK: "Untrained network"}


def add_references(out: Path, values: Mapping[str, Sequence[float]], **others: Any) -> Path:
    """References by name with the test mAP of each seed, beside all arms; `others` are in each record."""
    study = json.loads((out / "study.json").read_text(encoding="utf-8"))
    entries = [
        {
            "name": name,
            "label": LABELS[name],
            "about": "nothing trained",
            "arms": [arm["name"] for arm in study["arms"]],
            "replicates": len(by_seed),
        }
        for name, by_seed in values.items()
    ]
    edit(out / "study.json", references=entries)
    for name, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            content = record_content(name, {}, 0, "reference", seed, metrics_of(value, 0.05), **others)
            write(out / "records" / f"{content['trial']}.json", content)
    return out


def record(out: Path, name: str) -> Path:
    """The file of a trial's record."""
    return out / "records" / f"{name}.json"


def edit_cost(path: Path, **changes: Any) -> None:
    """Overwrite some entries of a record's cost."""
    edit(path, cost={**json.loads(path.read_text())["cost"], **changes})


def set_differences(out: Path, pair: tuple[str, str], values: Sequence[float], metric: str = "mAP") -> None:
    """Make these the differences, seed by seed, of a pair of selected configurations (`ARM.cNN`) in a test metric."""
    for seed, value in enumerate(values):
        for name, mean in zip(pair, (0.7 + value, 0.7), strict=True):
            path = record(out, f"{name}.seed{seed}")
            test = json.loads(path.read_text())["metrics"]["test"]
            edit(path, metrics={"validation": None, "test": test | {metric: mean}})


def searched_by(out: Path, arm: str, **facts: bool) -> None:
    """Say in study.json what is true of an arm's search."""
    study = json.loads((out / "study.json").read_text())
    arms = [a | ({"searcher_facts": FACTS | facts} if a["name"] == arm else {}) for a in study["arms"]]
    edit(out / "study.json", arms=arms)
