"""Writes a synthetic OUT folder of `automargin_vs_grid` with values that are known by formula, without training.

Validation mAP of a configuration on fold f is `level(...) + (f − 1) / 100`, so its mean over three folds is the
level and its SE 0.01 / √3. Test mAP of seed s is `level − 0.05 + SEEDS[s]`; the SEEDS have mean 0 and SE 0.0071.
AutoMargin arms take the SEEDS backwards, so that paired differences vary.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fmim_core.records import SCHEMA, Stage, json_text
from tests.support.file_contents import (
    EPOCHS,
    arm_content,
    by_arm,
    epoch_content,
    metrics_of,
    record_content,
    selection_content,
    study_content,
    write,
)

SEEDS = (-0.02, 0.0, -0.01, 0.02, 0.01)
MARGINS = (0.1, 0.25, 0.5, 0.75)


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
KINDS = {"Q1": "quartile", "Q2": "quartile", "WAT": "wat", "Grid search": "fixed", "AutoMargin": "automargin"}


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
    """Write study.json, selection.json and every record of a complete run under `out`; return `out`."""
    (out / "records").mkdir(parents=True)
    for name, text in _files(tuple(arms), folds, replicates, synthetic).items():
        (out / name).write_text(text, encoding="utf-8")
    return out


@cache
def _files(arms: tuple[str, ...], folds: int, replicates: int, synthetic: bool) -> Mapping[str, str]:
    """The text of each file by its path in the folder; made once, since many tests start from the same."""
    found = {
        "study.json": json_text(study_content([_arm(arm) for arm in arms], folds, replicates, synthetic)),
        "selection.json": json_text(by_arm({arm: _selected(arm, folds) for arm in arms})),
    }
    records = [_record(arm, *trial) for arm in arms for trial in _trials(arm, folds, replicates)]
    return found | {f"records/{record['trial']}.json": json_text(record) for record in records}


def _trials(arm: str, folds: int, replicates: int) -> Iterator[tuple[int, Stage, int]]:
    """The number of the configuration, the stage and the replicate of each trial."""
    for number, configuration in enumerate(configurations(arm)):
        yield from ((number, "search", fold) for fold in range(folds))
        yield from ((number, "replicate", seed) for seed in range(replicates if configuration == best(arm) else 0))


def write_record(out: Path, arm: str, number: int, stage: Stage, replicate: int) -> Path:
    record = _record(arm, number, stage, replicate)
    return write(out / "records" / f"{record['trial']}.json", record)


def _arm(name: str) -> dict[str, Any]:
    loss, search, space = SPACES[name]
    return arm_content(name, loss, search, KINDS[search], space=space, configurations=configurations(name))


def _selected(arm: str, folds: int) -> dict[str, Any]:
    means = [level(arm, configuration) + (folds - 3) / 200 for configuration in configurations(arm)]
    scores = [
        {"number": number, "configuration": configuration, "mean": mean, "n": folds, "of": folds, "excluded": None}
        for number, (configuration, mean) in enumerate(zip(configurations(arm), means, strict=True))
    ]
    number = configurations(arm).index(best(arm))
    return selection_content(best(arm), number, means[number]) | {"scores": scores}


def _record(arm: str, number: int, stage: Stage, replicate: int) -> dict[str, Any]:
    configuration, search = configurations(arm)[number], stage == "search"
    mean = level(arm, configuration)
    shift = SEEDS[::-1] if "k_delta" in configuration else SEEDS
    value = mean + (replicate - 1) / 100 if search else mean - 0.05 + shift[replicate]
    metrics = metrics_of(value, 0.1 if search else 0.05)
    seconds = {"train_s": 10.0, "eval_s": 1.0, "data_s": 0.5, "startup_s": 0.5, "wall_s": 12.0}
    return record_content(
        arm,
        configuration,
        number,
        stage,
        replicate,
        metrics,
        history=[
            _epoch(arm, configuration, epoch, replicate)
            | ({"validation_mAP": value - (EPOCHS - epoch) / 100} if search else {})
            for epoch in range(1, EPOCHS + 1)
        ],
        cost=seconds | {"device": "cpu", "device_share": 1.0, "epochs": EPOCHS, "images": 8064},
        peak_memory=600_000_000,
    )


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


CALIBRATION: dict[str, Any] = {
    "schema": SCHEMA,
    "made_at": "2026-01-02T03:00:00Z",
    "study": "automargin_vs_grid",
    "preset": "quick",
    "seed": 0,
    "replicates": 25,
    "search_splits": 1,
    "epochs": 6,
    "data_fingerprint": "d" * 64,
    "backend": "ray",
    "device": "the CPU (no GPU is used)",
    "slots": 2,
    "device_share": 1.0,
    "forecast": {"trials": 61, "reused": 0, "epochs": 366, "images": 491904}
    | {"wall_s": 1000.0, "device_seconds": 732.0, "peak_memory": 5e8},
    "preparation_s": 1.0,
    "calibration": {},
}
