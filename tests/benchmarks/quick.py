"""How long a whole study takes, and how well it uses the machine: `automargin_vs_grid` at its `quick` preset, as the
command runs it, beside what was asked and beside its training alone."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from fmim_core.records import CalibrationFile, read_json, read_records
from tests.benchmarks.measurement import Measurement
from tests.support.paths import ROOT

STUDY, ASKED_S = "automargin_vs_grid", 480.0


def measure(device: torch.device, preset: str = "quick") -> Iterator[Measurement]:
    """Nothing on a GPU, which is not what this preset is for. Where another preset runs, `quick` is predicted."""
    if device.type != "cpu":
        return
    with tempfile.TemporaryDirectory(prefix="fmim-quick-") as folder:
        run = [sys.executable, str(ROOT / "studies" / "run.py"), STUDY, "--preset", preset, "--out", "study"]
        begun = time.perf_counter()
        subprocess.run([*run, "--gpus-per-trial", "0"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        whole, study = time.perf_counter() - begun, Path(folder) / "study"
        costs = [record.cost for record in read_records(study)]
        slots = read_json(study / "study.json")["executions"][-1]["slots"]
        training = sum(cost.data_s + cost.train_s + cost.eval_s for cost in costs)
        what = f"{STUDY}, {preset}: {len(costs)} trials in {slots} slots, report included"
        note = f"training is {training / (slots * whole):.0%} of slots × wall time"
        yield Measurement("quick", what, whole, "training alone, over the slots", training / slots, note=note)
        if preset == "quick":
            yield Measurement("quick", f"  the same, {preset}", whole, "8 minutes", ASKED_S, 1.0)
        else:
            yield _predicted(folder)


def _predicted(folder: str) -> Measurement:
    """The whole study at `quick`, as `fmim plan --calibrate` predicts it from a few steps of each training."""
    plan = [sys.executable, "-m", "fmim", "plan", STUDY, "--preset", "quick", "--calibrate", "--out", "planned"]
    subprocess.run([*plan, "--gpus-per-trial", "0"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    found = CalibrationFile.read(Path(folder, "planned", "calibration.json"))
    what = f"{STUDY}, quick: predicted, {found.forecast.trials} trials in {found.slots} slots, without a report"
    return Measurement("quick", what, found.preparation_s + found.forecast.wall_s, "8 minutes", ASKED_S, 1.0)
