"""Whether training in bfloat16 retrieves as well as in float32: the `quick` preset on the phantom, five seeds."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import mean, stdev

import torch

from fmim_core.data.bank import build_bank
from fmim_core.data.phantom import PhantomSource
from fmim_core.trainer import train
from studies import catalogue
from studies.presets import QUICK
from tests.benchmarks.measurement import Measurement

SEEDS = 5


def measure(device: torch.device) -> list[Measurement]:
    """Validation mAP of AdaTriplet with AutoMargin; asked is a loss of one standard error at most."""
    if device.type != "cuda":
        return []  # on a CPU `auto` is float32
    study = catalogue.find("automargin_vs_grid")
    arm = next(arm for arm in study.arms if arm.name == "adatriplet_automargin")
    config = arm.train_config(QUICK, next(arm.space.configurations()))
    values = {}
    with tempfile.TemporaryDirectory() as folder:
        bank = build_bank(PhantomSource(QUICK.phantom), QUICK.image_size, Path(folder))
        for precision in ("float32", "bfloat16"):
            of_it = config.model_copy(update={"precision": precision})
            results = [train(of_it, bank, folds=3, seed=seed, device=str(device)) for seed in range(SEEDS)]
            values[precision] = [result.validation["mAP"] for result in results if result.validation]
    full, half = mean(values["float32"]), mean(values["bfloat16"])
    se = stdev(values["float32"]) / SEEDS**0.5
    note = f"mean of {SEEDS} seeds: float32 {full:.4f}, bfloat16 {half:.4f}"
    against = "one standard error of float32's"
    return [Measurement("precision", "mAP that bfloat16 loses", full - half, against, se, 1.0, note, unit="")]
