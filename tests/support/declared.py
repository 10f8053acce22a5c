"""OUT folders of other studies, without training: of any declared one, and by hand of one without a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fmim.catalogue import find
from tests.support.factories import SEEDS, make_out
from tests.support.file_contents import (
    by_arm,
    edit,
    epoch_content,
    metrics_of,
    record_content,
    selection_content,
    study_content,
    write,
)

Value = Callable[[str, Mapping[str, Any]], float]


def make_declared_out(out: Path, name: str, value: Value, *, folds: int = 3, replicates: int = 5) -> Path:
    """A complete run of the study `name` under `out`: `value(arm, configuration)` is the mean over folds of mAP.

    A search that proposes its configurations has proposed the corners of its space.

    Fold f has (f − 1) / 100 more, seed s `SEEDS[s]` more, which have mean 0, and 0.05 less than the folds.
    """
    study = find(name)
    (out / "records").mkdir(parents=True)
    configurations = {arm.name: arm.listed or list(arm.space.corners()) for arm in study.arms}
    declared = [arm.entry(replicates).model_dump() | {"n_s": len(configurations[arm.name])} for arm in study.arms]
    content = study_content(declared, folds if study.search else 0, replicates)
    content |= {"study": name, "title": study.title, "question": study.question, "baseline": study.baseline}
    content |= {"comparisons": [list(pair) for pair in study.comparison_pairs]}
    write(out / "study.json", content)
    proposed = {name: [{"configuration": c, "values": []} for c in configurations[name]] for name in configurations}
    write(out / "proposals.json", by_arm(proposed))
    selection = {}
    for arm in study.arms:
        listed = configurations[arm.name]
        best = max(listed, key=lambda c, arm=arm: value(arm.name, c))  # type: ignore[misc]
        score = value(arm.name, best) + (folds - 3) / 200 if study.search else None
        selection[arm.name] = selection_content(best, listed.index(best), score)
        for number, configuration in enumerate(listed):
            mean = value(arm.name, configuration)
            values = {("search", f): mean + (f - 1) / 100 for f in range(folds if study.search else 0)}
            seeds = range(replicates if configuration == best else 0)
            values |= {("replicate", seed): mean - 0.05 + SEEDS[seed] for seed in seeds}
            row = epoch_content(1, active_share=0.0 if configuration.get("epsilon") == 0 else 0.5)
            cost = {"train_s": 1.0, "eval_s": 1.0, "wall_s": 2.0, "device_share": 1.0, "epochs": 1}
            for (stage, replicate), measured in values.items():
                history = [row | ({"validation_mAP": measured} if stage == "search" else {})]
                parts = {"study": name, "history": history, "cost": cost}
                of_trial = (arm.name, configuration, number, stage, replicate)
                record = record_content(*of_trial, metrics_of(measured, 0.05), **parts)
                write(out / "records" / f"{record['trial']}.json", record)
    write(out / "selection.json", by_arm(selection))
    return out


REPLICATES = 3


def write_study(
    out: Path, name: str, arms: list[dict[str, Any]], records: list[dict[str, Any]], baseline: str | None = None
) -> Path:
    """A study without a search stage: no folds, nothing searched, one configuration per arm."""
    make_out(out, folds=0, replicates=REPLICATES, arms=())
    pairs = [[arm["name"], baseline] for arm in arms if baseline is not None and arm["name"] != baseline]
    arms = [{"replicates": REPLICATES} | arm for arm in arms]
    edit(out / "study.json", study=name, arms=arms, baseline=baseline, comparisons=pairs)
    chosen = {arm["name"]: selection_content(arm["configurations"][0], 0, None) for arm in arms}
    write(out / "selection.json", by_arm(chosen))
    for record in records:
        write(out / "records" / f"{record['trial']}.json", record | {"study": name})
    return out


def record(arm: str, configuration: Mapping[str, float], seed: int, value: float, chance: float) -> dict[str, Any]:
    """A completed replicate without a history."""
    parts = {"train_s": 1.0, "eval_s": 1.0, "data_s": 1.0, "startup_s": 1.0, "device": "cpu", "device_share": 1.0}
    cost = {**parts, "wall_s": 4.0, "epochs": 3}
    return record_content(arm, configuration, 0, "replicate", seed, metrics_of(value, chance), seed=seed, cost=cost)
