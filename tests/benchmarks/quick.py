"""How well a whole study uses the machine: `automargin_vs_grid` at its `quick` preset, as the command runs it, beside
its training alone and beside its trials one after the other, each in a fresh process with all cores."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import torch

from fmim.commands.options import Options
from fmim.data.sources import find_source
from fmim_core.data.bank.building import build_bank
from fmim_core.records import Record, read_json, read_records, record_path
from tests.benchmarks.measurement import Measurement
from tests.support.paths import ROOT

STUDY, PRESET, EVERY = "automargin_vs_grid", "quick", 10
ONE_TRIAL = """
import sys
from pathlib import Path
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
Trial(TrialSpec.model_validate_json(sys.argv[1]), RunSettings(Path(sys.argv[2]), "cpu")).run()
"""


def measure(device: torch.device, preset: str = PRESET, every: int = EVERY) -> Iterator[Measurement]:
    """Nothing on a GPU, which is not what this preset is for.

    Args:
        every: one trial in so many is run in a fresh process, and the others are taken to be like those.
    """
    if device.type == "cpu":
        with tempfile.TemporaryDirectory(prefix="fmim-quick-") as folder:
            yield from _compare(Path(folder), preset, every)


def _compare(folder: Path, preset: str, every: int) -> Iterator[Measurement]:
    command = [str(ROOT / "studies" / "run.py"), STUDY, "--preset", preset, "--out", "study"]
    whole = seconds([*command, "--gpus-per-trial", "0", "--tracking-uri", "sqlite:///mlflow.db"], folder)
    records = list(read_records(folder / "study"))
    slots = read_json(folder / "study" / "study.json")["executions"][-1]["slots"]
    training = sum(cost.data_s + cost.train_s + cost.eval_s for cost in (record.cost for record in records))
    what = f"{STUDY}, {preset}: {len(records)} trials in {slots} slots, report included"
    note = f"training is {training / (slots * whole):.0%} of slots × wall time"
    yield Measurement("quick", what, whole, "training alone, over the slots", training / slots, note=note)
    alone = _in_fresh_processes(folder, preset, records[::every])
    note = f"{len(alone)} trials were run so, {fmean(alone):.1f} s each"
    against = "one after the other, in fresh processes"
    yield Measurement("quick", "  the same", whole, against, fmean(alone) * len(records), note=note)


def _in_fresh_processes(folder: Path, preset: str, records: Sequence[Record]) -> list[float]:
    """Seconds of each trial."""
    plan = Options(study=STUDY, preset=preset).plan()
    source = find_source("phantom", None, plan.preset, plan.seed)
    bank = build_bank(source, plan.preset.image_size, folder / "banks")
    specs = {spec.id: spec for spec in plan.possible(bank, lambda arm, search_split: ())}
    found = []
    for record in records:
        spec = specs[record.trial]
        found.append(seconds(["-c", ONE_TRIAL, spec.model_dump_json(), str(folder / "alone")], folder))
        assert Record.read(record_path(folder / "alone", spec.id)).status == record.status
    return found


def seconds(arguments: Sequence[str], folder: Path) -> float:
    """Of a Python program in that folder; it must end well."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
