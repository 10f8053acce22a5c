"""Writes a synthetic OUT folder of any declared study, with values known by formula, without training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fmim.catalogue import find
from fmim.declare import Arm
from tests.support import factories, file_contents

Value = Callable[[str, Mapping[str, Any]], float]


def make_declared_out(out: Path, name: str, value: Value, *, folds: int = 3, replicates: int = 5) -> Path:
    """A complete run of the study `name` under `out`: `value(arm, configuration)` is the mean over folds of mAP.

    A search that proposes its configurations has proposed the corners of its space.

    Fold f has (f − 1) / 100 more, seed s `factories.SEEDS[s]` more, which have mean 0, and 0.05 less than the folds.
    """
    study = find(name)
    (out / "records").mkdir(parents=True)
    configurations = {arm.name: arm.listed or list(arm.space.corners()) for arm in study.arms}
    declared = [arm.entry(replicates).model_dump() | {"n_s": len(configurations[arm.name])} for arm in study.arms]
    content = file_contents.study_content(declared, folds if study.search else 0, replicates)
    content |= {"study": name, "title": study.title, "question": study.question, "baseline": study.baseline}
    content |= {"comparisons": [list(pair) for pair in study.comparison_pairs]}
    file_contents.write(out / "study.json", content)
    proposed = {name: [{"configuration": c, "values": []} for c in configurations[name]] for name in configurations}
    file_contents.write(out / "proposals.json", file_contents.by_arm(proposed))
    selection = {}
    for arm in study.arms:
        listed = configurations[arm.name]
        best = max(listed, key=lambda c, arm=arm: value(arm.name, c))  # type: ignore[misc]
        score = value(arm.name, best) + (folds - 3) / 200 if study.search else None
        selection[arm.name] = file_contents.selection_content(best, listed.index(best), score)
        for number, configuration in enumerate(listed):
            mean = value(arm.name, configuration)
            for fold in range(folds if study.search else 0):
                _write(out, name, arm, number, configuration, "search", fold, mean + (fold - 1) / 100)
            for seed in range(replicates if configuration == best else 0):
                _write(out, name, arm, number, configuration, "replicate", seed, mean - 0.05 + factories.SEEDS[seed])
    file_contents.write(out / "selection.json", file_contents.by_arm(selection))
    return out


def _write(
    out: Path,
    study: str,
    arm: Arm,
    number: int,
    configuration: Mapping[str, Any],
    stage: str,
    replicate: int,
    value: float,
) -> None:
    row = file_contents.epoch_content(1, active_share=0.0 if configuration.get("epsilon") == 0 else 0.5)
    validated = {"validation_mAP": value} if stage == "search" else {}
    record = file_contents.record_content(
        arm.name,
        configuration,
        number,
        stage,
        replicate,
        file_contents.metrics_of(value, 0.05),
        study=study,
        history=[row | validated],
        cost={"train_s": 1.0, "eval_s": 1.0, "wall_s": 2.0, "device_share": 1.0, "epochs": 1},
    )
    file_contents.write(out / "records" / f"{record['trial']}.json", record)
