"""OUT folders of other studies, without training: of any declared one, and by hand of one without a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fmim.catalogue import find
from fmim.declare import Arm
from tests.support import factories, file_contents
from tests.support.factories import make_out
from tests.support.file_contents import by_arm, edit, record_content, selection_content, write

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


COLUMNS = "arm,arm_label,setting,metric,year,mean,se,n,published_mean,published_se"


SEEDS = 3


def metrics(value: float, chance: float) -> dict[str, float]:
    """Test metrics of which mAP is `value`, less 1 and 4 points in years 1 and 4."""
    found = {
        "mAP": value,
        "mAP_at_R": value - 0.05,
        "CMC_1": value - 0.1,
        "CMC_5": 0.9,
        "CMC_10": 1.0,
        "CMC_1_all_shots": value - 0.12,
    }
    found |= {f"{name}/year_{year}": found[name] - year / 100 for name in tuple(found) for year in (1, 4)}
    found |= {"queries": 30, "queries/year_1": 20, "queries/year_4": 10, "queries_without_match": 0, "gallery": 12}
    return found | {"chance_mAP": chance}


def write_study(
    out: Path, name: str, arms: list[dict[str, Any]], records: list[dict[str, Any]], baseline: str | None = None
) -> Path:
    """A study without a search stage: no folds, nothing searched, one configuration per arm."""
    make_out(out, folds=0, replicates=SEEDS, arms=())
    pairs = [[arm["name"], baseline] for arm in arms if baseline is not None and arm["name"] != baseline]
    arms = [{"replicates": SEEDS} | arm for arm in arms]
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
    return record_content(arm, configuration, 0, "replicate", seed, metrics(value, chance), seed=seed, cost=cost)
