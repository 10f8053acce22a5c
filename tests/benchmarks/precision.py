"""Whether training in bfloat16 retrieves as well as in float32: the `quick` preset on the phantom."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean, stdev

import torch

from fmim import catalogue
from fmim.declare import Preset
from fmim.declare.presets import find_preset
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.training.trainer import train
from tests.benchmarks.measurement import Measurement

SEEDS = 5


def measure(device: torch.device, seeds: int = SEEDS, preset: str = "quick") -> list[Measurement]:
    """Two trainings a seed; on a CPU too, where bfloat16 is not what `auto` means."""
    return [_compare(device, seeds, find_preset(preset))]


def _compare(device: torch.device, seeds: int, preset: Preset) -> Measurement:
    """Validation mAP of AdaTriplet with AutoMargin; asked is a loss of one standard error at most."""
    arm = next(arm for arm in catalogue.find("automargin_vs_grid").arms if arm.name == "adatriplet_automargin")
    config = arm.train_config(preset, next(arm.space.configurations()))
    values: dict[str, list[float]] = {"float32": [], "bfloat16": []}
    with tempfile.TemporaryDirectory() as folder:
        bank = build_bank(PhantomSource(preset.phantom), preset.image_size, Path(folder))
        for precision, found in values.items():
            of_it = config.model_copy(update={"precision": precision})
            for seed in range(seeds):
                result = train(of_it, bank, folds=3, seed=seed, device=str(device))
                assert result.validation is not None
                found.append(result.validation["mAP"])
    full, half = (mean(found) for found in values.values())
    lost = [one - other for one, other in zip(*values.values(), strict=True)]
    means = f"mean of {seeds} seeds: float32 {full:.4f}, bfloat16 {half:.4f}"
    note = f"{means}; by pairs {mean(lost):.4f} ± {se_of(lost):.4f}"
    against, se = "one standard error of float32's", se_of(values["float32"])
    return Measurement("precision", "mAP that bfloat16 loses", full - half, against, se, 1.0, note, unit="")


def se_of(values: list[float]) -> float:
    """Return sd(ddof=1)/√n."""
    return stdev(values) / len(values) ** 0.5
