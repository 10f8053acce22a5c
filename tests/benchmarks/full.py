"""How busy a GPU is that two trials share, in the first minutes of `automargin_vs_grid` at its `full` preset."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import psutil
import torch

from fmim.terminal.status import StudyStatus
from fmim_core.records import DONE, INTERRUPTED, read_records
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.quick import STUDY
from tests.support.paths import ROOT

IDLE, EVERY_S = 0.15, 0.5
"""What is asked: of the time without a kernel. And the seconds between two looks."""
NVIDIA_SMI = ("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")


def measure(device: torch.device, preset: str = "full", seconds: float = 130.0) -> Iterator[Measurement]:
    """As the command runs it, with Ray, until Ctrl-C after so many seconds; on a CPU only smaller presets."""
    on_gpu = device.type == "cuda"
    if not on_gpu and preset == "full":
        return
    with tempfile.TemporaryDirectory(prefix="fmim-full-") as folder:
        study = Path(folder, "study")
        run = [sys.executable, str(ROOT / "studies" / "run.py"), STUDY, "--preset", preset, "--out", str(study)]
        busy = list(busy_during([*run, "--gpus-per-trial", "0.5" if on_gpu else "0"], Path(folder), seconds, device))
        records, status = list(read_records(study)), StudyStatus(study)
    if not records:
        raise RuntimeError(f"no trial was over after {seconds:g} s")
    first = min(record.began for record in records)
    idle = 1 - fmean(share for moment, share in busy if moment > first)
    slots, done = status.study.executions[-1].slots, [record for record in records if record.cost.epochs]
    what = f"{STUDY}, {preset}: {len(records)} trials over, {slots} at once; the share of time without a kernel"
    yield Measurement("full", what, idle, "15 %", IDLE, 1.0 if on_gpu else None, unit="")
    costs = [record.cost for record in done]
    epochs = slots * sum(cost.epochs for cost in costs)
    whole, trained = (sum(getattr(cost, part) for cost in costs) / epochs for part in ("wall_s", "train_s"))
    note = f"{status.seconds_left:.0f} s more until the end" if status.seconds_left is not None else ""
    yield Measurement("full", "  an epoch, over the slots", whole, "its training alone", trained, note=note)


def busy_during(
    command: list[str], folder: Path, seconds: float, device: torch.device
) -> Iterator[tuple[float, float]]:
    """Yield moments (seconds since 1970) and the device's busy share at each, while a command runs; then Ctrl-C."""
    screen = folder / "screen.txt"
    with screen.open("wb") as told:
        process = subprocess.Popen(command, cwd=folder, stdout=told, stderr=told, start_new_session=True)
    end = time.monotonic() + seconds
    try:
        while process.poll() is None and time.monotonic() < end:
            yield time.time(), busy_share(device)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        code = process.wait(60)
    finally:
        process.kill()
    if code not in (DONE, INTERRUPTED):
        raise RuntimeError(f"exit code {code}: {screen.read_text(errors='replace')[-2000:]}")


def busy_share(device: torch.device) -> float:
    """Return the share of about a second in which a kernel ran on the first GPU, or in which the CPU computed."""
    if device.type == "cpu":
        return psutil.cpu_percent(interval=1) / 100
    time.sleep(EVERY_S)
    told = subprocess.run(NVIDIA_SMI, check=True, capture_output=True, text=True).stdout
    return float(told.splitlines()[0]) / 100
