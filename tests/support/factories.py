"""Writes a synthetic OUT folder of `automargin_vs_grid` with values that are known by formula, without training.

Validation mAP of a configuration on fold f is `level(...) + (f − 1) / 100`, so its mean over three folds is the
level and its SE 0.01 / √3. Test mAP of seed s is `level − 0.05 + SEEDS[s]`; the SEEDS have mean 0 and SE 0.0071.
AutoMargin arms take the SEEDS backwards, so that paired differences vary.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fmim_core.records import SCHEMA, Record

SEEDS = (-0.02, 0.0, -0.01, 0.02, 0.01)
MARGINS = (0.1, 0.25, 0.5, 0.75)
YEARS = {1: 40, 2: 38, 4: 30, 6: 22, 8: 16}
EPOCHS = 6
PHANTOM = "phantom images: drawn by a program, a body per subject that ages with the years"

SPACES: dict[str, tuple[str, str, dict[str, tuple[float, ...]]]] = {
    "triplet_q1": ("Triplet", "Q1", {}),
    "triplet_q2": ("Triplet", "Q2", {}),
    "triplet_wat": ("Triplet", "WAT", {"beta": MARGINS}),
    "triplet_grid": ("Triplet", "Grid search", {"epsilon": MARGINS}),
    "triplet_automargin": ("Triplet", "AutoMargin", {"k_delta": (2, 4)}),
    "adatriplet_q1": ("AdaTriplet", "Q1", {}),
    "adatriplet_q2": ("AdaTriplet", "Q2", {}),
    "adatriplet_grid": ("AdaTriplet", "Grid search", {"epsilon": MARGINS, "beta": MARGINS}),
    "adatriplet_automargin": ("AdaTriplet", "AutoMargin", {"k_delta": (2, 4), "k_an": (2, 4)}),
}
MARGINS_KINDS = {
    "Q1": "quartile",
    "Q2": "quartile",
    "WAT": "wat",
    "Grid search": "fixed",
    "AutoMargin": "automargin",
}
COMPARISONS = [["triplet_automargin", "triplet_grid"], ["adatriplet_automargin", "adatriplet_grid"]]
FACTS = {"uses_results": False, "screens": False, "ordered": False}
"""What a grid or random search may know: nothing of earlier results."""
N_S = (1, 1, 4, 4, 2, 1, 1, 16, 4)


def configurations(arm: str) -> list[dict[str, float]]:
    """Every configuration of an arm's space, in plan order."""
    space = SPACES[arm][2]
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]


def level(arm: str, configuration: Mapping[str, float]) -> float:
    """Mean validation mAP of a configuration: best at ε = 0.5, β = 0.5 and at K = 2."""
    base = {"Q1": 0.42, "Q2": 0.63, "WAT": 0.74, "Grid search": 0.78, "AutoMargin": 0.785}[SPACES[arm][1]]
    base += 0.02 if SPACES[arm][0] == "AdaTriplet" else 0.0
    off = abs(configuration.get("epsilon", 0.5) - 0.5) / 4 + abs(configuration.get("beta", 0.5) - 0.5) / 5
    return base - off - 0.004 * (configuration.get("k_delta", 2) - 2) - 0.003 * (configuration.get("k_an", 2) - 2)


def best(arm: str) -> dict[str, float]:
    return max(configurations(arm), key=lambda c: level(arm, c))


def make_out(
    out: Path,
    *,
    folds: int = 3,
    replicates: int = 5,
    synthetic: bool = True,
    arms: Iterable[str] = tuple(SPACES),
) -> Path:
    """Writes study.json, selection.json and every record of a complete run under `out`, and returns `out`."""
    arms = list(arms)
    (out / "records").mkdir(parents=True)
    write(out / "study.json", study_content([_arm(arm) for arm in arms], folds, replicates, synthetic))
    write(out / "selection.json", by_arm({arm: _selected(arm, folds) for arm in arms}))
    for arm in arms:
        for number, configuration in enumerate(configurations(arm)):
            for fold in range(folds):
                write_record(out, arm, number, "search", fold)
            if configuration == best(arm):
                for seed in range(replicates):
                    write_record(out, arm, number, "replicate", seed)
    write_sample_images(out)
    return out


SAMPLES = [{"query_row": 0, "truth_row": 1, "top_row": 1, "rank": 1, "years": 4}]
"""What a first replicate leaves: one query, found at once."""


def write_sample_images(out: Path) -> None:
    """The images that SAMPLES names."""
    (out / "samples").mkdir()
    for row in range(2):
        Image.fromarray(np.full((8, 8), 60 * row, dtype=np.uint8)).save(out / "samples" / f"{row}.png")


def trial_name(arm: str, number: int, stage: str, replicate: int) -> str:
    return f"{arm}.c{number:02d}.{'fold' if stage == 'search' else 'seed'}{replicate}"


def write_record(out: Path, arm: str, number: int, stage: str, replicate: int) -> Path:
    record = _record(arm, number, stage, replicate)
    return write(out / "records" / f"{record['trial']}.json", record)


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def by_arm(arms: Mapping[str, Any]) -> dict[str, Any]:
    """The content of selection.json or proposals.json."""
    return {"schema": SCHEMA, "arms": dict(arms)}


def edit(path: Path, **changes: Any) -> Path:
    """Overwrites some keys of a JSON file."""
    return write(path, {**json.loads(path.read_text(encoding="utf-8")), **changes})


def spoil(path: Path, status: str, message: str = "CUDA out of memory") -> Path:
    """Turns a completed record into a failed or diverged one; what it cost stays."""
    error = {"kind": "RuntimeError", "message": message, "traceback": "…"}
    return edit(path, status=status, error=error, metrics={"validation": None, "test": None})


def study_content(arms: list[dict[str, Any]], folds: int, replicates: int, synthetic: bool = True) -> dict[str, Any]:
    """The content of study.json, of `automargin_vs_grid` unless some keys are replaced."""
    search = sum(len(arm["configurations"]) for arm in arms) * folds
    part = {"images": 640, "subjects": 160, "queries": 480, "queries_without_match": 0, "gallery": 160}
    test = {"images": 186, "subjects": 40, "queries": 146, "queries_without_match": 2, "gallery": 40}
    data = {
        "name": "phantom" if synthetic else "oai",
        "kind": "phantom" if synthetic else "manifest",
        "synthetic": synthetic,
        "about": PHANTOM if synthetic else "knee radiographs of the Osteoarthritis Initiative",
        "release": "1",
        "files": {},
        "fingerprint": "d" * 64,
        "image_size": 70,
        "details": {"subjects": 200},
        "images": 826,
        "warnings": [],
        "development": part | {"years": {"0": 160, "4": 480}},
        "test": test | {"years": {"0": 40, **{str(year): queries for year, queries in YEARS.items()}}},
    }
    fold = {"train_subjects": 107, "train_images": 427, "validation_subjects": 53, "validation_images": 213}
    fold |= {"validation_gallery": 53, "validation_queries": 160, "validation_queries_without_match": 0}
    by_year = {"validation_queries_by_year": {"4": 160}, "validation_years_missing": []}
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
        "folds": [{"fold": number, **fold, **by_year} for number in range(folds)],
        "metric": "mAP",
        "equivalence_margin": 0.01,
        "baseline": None,
        "comparisons": [pair for pair in COMPARISONS if {*pair} <= {arm["name"] for arm in arms}],
        "replicates": replicates,
        "arms": arms,
        "plan": {"search_trials": search, "replicate_trials": replicates * len(arms)},
        "train": {"epochs": EPOCHS, "batch_size": 128},
        "environment": {
            "python": "3.12.3",
            "torch": "2.14.0",
            "cpu": "2 cores",
            "git_commit": "c0ffee1",
        },
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
    arm = {
        "name": name,
        "label": f"{loss} + {lowered}",
        "loss": loss,
        "loss_kind": loss.lower(),
        "margins_kind": margins_kind,
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


def _arm(name: str) -> dict[str, Any]:
    loss, search, space = SPACES[name]
    return arm_content(name, loss, search, MARGINS_KINDS[search], space=space, configurations=configurations(name))


def _selected(arm: str, folds: int) -> dict[str, Any]:
    scores = [
        {
            "number": number,
            "configuration": c,
            "mean": level(arm, c) + (folds - 3) / 200,
            "n": folds,
            "of": folds,
            "excluded": None,
        }
        for number, c in enumerate(configurations(arm))
    ]
    score = level(arm, best(arm)) + (folds - 3) / 200
    return selection_content(best(arm), configurations(arm).index(best(arm)), score) | {"scores": scores}


def selection_content(configuration: Mapping[str, Any], number: int, score: float | None) -> dict[str, Any]:
    """What selection.json says of an arm, without the scores of its configurations."""
    return {
        "number": number,
        "configuration": dict(configuration),
        "score": score,
        "metric": "mAP",
        "scores": [],
        "selected_at": "2026-01-02T03:14:05Z",
    }


def _record(arm: str, number: int, stage: str, replicate: int) -> dict[str, Any]:
    configuration, search = configurations(arm)[number], stage == "search"
    mean = level(arm, configuration)
    shift = SEEDS[::-1] if "k_delta" in configuration else SEEDS
    value = mean + (replicate - 1) / 100 if search else mean - 0.05 + shift[replicate]
    metrics = metrics_of(value, 0.1 if search else 0.05)
    cost = {
        "train_s": 10.0,
        "eval_s": 1.0,
        "data_s": 0.5,
        "startup_s": 0.5,
        "wall_s": 12.0,
        "device": "cpu",
        "device_share": 1.0,
    }
    return record_content(
        arm,
        configuration,
        number,
        stage,
        replicate,
        metrics,
        history=[_epoch(arm, configuration, epoch, replicate) for epoch in range(1, EPOCHS + 1)],
        cost={**cost, "epochs": EPOCHS, "images": 8064},
        peak_memory=600_000_000,
    )


def record_content(
    arm: str,
    configuration: Mapping[str, Any],
    number: int,
    stage: str,
    replicate: int,
    metrics: Mapping[str, float],
    **others: Any,
) -> dict[str, Any]:
    """A completed record of `automargin_vs_grid` as its file holds it, unless `others` says otherwise."""
    search = stage == "search"
    content = {
        "schema": SCHEMA,
        "trial": trial_name(arm, number, stage, replicate),
        "study": "automargin_vs_grid",
        "preset": "quick",
        "arm": arm,
        "configuration": dict(configuration),
        "stage": stage,
        "replicate": replicate,
        "fold": replicate if search else None,
        "seed": 1000 + replicate,
        "status": "completed",
        "fingerprint": "b" * 64,
        "metrics": {"validation": metrics if search else None, "test": None if search else metrics},
        "samples": SAMPLES if not search and replicate == 0 else [],
        "test_opened_at": None if search else "2026-01-02T03:15:05Z",
        "started_at": "2026-01-02T03:05:05Z",
        "ended_at": "2026-01-02T03:05:17Z",
        "environment": {"python": "3.12.3", "torch": "2.14.0"},
    }
    return Record.model_validate(content | others).to_json()


def metrics_of(value: float, chance: float) -> dict[str, float]:
    """Every metric of a split as a record has it, all years and by year, around an mAP of `value`."""
    names = {"mAP": 0.0, "mAP_at_R": -0.05, "CMC_1": -0.08, "CMC_5": 0.05, "CMC_10": 0.1}
    metrics: dict[str, float] = {name: value + shift for name, shift in names.items()}
    for year, queries in YEARS.items():
        metrics |= {f"{name}/year_{year}": value + shift + (3 - year) / 50 for name, shift in names.items()}
        metrics[f"queries/year_{year}"] = queries
    return metrics | {"queries": 146, "queries_without_match": 2, "gallery": 40, "chance_mAP": chance}


def _epoch(arm: str, configuration: Mapping[str, float], epoch: int, replicate: int) -> dict[str, float]:
    """Margins that start at 0, as AutoMargin's do, and rise with Δ; a fixed margin stays."""
    delta = 0.9 * (1 - math.exp(-(epoch - 1) / 2)) + replicate / 200
    delta *= 1.0 if SPACES[arm][0] == "AdaTriplet" else 0.8
    phi_an = 0.4 * math.exp(-(epoch - 1) / 2)
    auto = "k_delta" in configuration
    epsilon = (delta / configuration["k_delta"] if epoch > 1 else 0.0) if auto else configuration.get("epsilon", 0.3)
    beta = configuration.get("beta", 0.4) if SPACES[arm][0] == "AdaTriplet" else math.nan
    if "k_an" in configuration:
        beta = 1 + (phi_an - 1) / configuration["k_an"] if epoch > 1 else 0.0
    return epoch_content(
        epoch,
        loss=0.3 * math.exp(-epoch / 3) + replicate / 500,
        epsilon=math.nan if SPACES[arm][1] == "WAT" else epsilon,
        beta=beta,
        delta_mean=delta,
        phi_an_mean=phi_an,
        phi_ap_mean=delta + phi_an,
        seconds=1.9,
    )


def epoch_content(epoch: int, **others: Any) -> dict[str, Any]:
    """A row of a record's history, with invented numbers unless `others` gives them."""
    row: dict[str, Any] = {
        "epoch": epoch,
        "loss": 0.1,
        "epsilon": 0.25,
        "beta": math.nan,
        "delta_mean": 0.5,
        "phi_an_mean": 0.2,
        "phi_ap_mean": 0.7,
        "active_share": 0.5,
        "batches": 12,
        "empty_batches": 0,
        "subjects_seen_share": 1.0,
        "seconds": 1.0,
    }
    return row | others
