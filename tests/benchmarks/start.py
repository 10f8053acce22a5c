"""What `fmim run` takes until the first trial has finished, beside a bare program of Ray Tune with a trial that does
nothing but import torch."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

import torch

from fmim_core.records import read_records
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.quick import STUDY
from tests.stress.processes import kill, marked, nodes, seconds_until, start
from tests.support.paths import ROOT

WARM_S, INSTALLED_S, OURS_S, KILLED_S = 12.0, 16.0, 3.0, 15.0
"""What is asked: seconds in all, in all after an install, beyond the bare program, and after a kill."""
LONGEST_S = 120.0
OURS = ("fmim_core", "search_spaces", "studies", "reports")
"""The folders of our own code, which an install that is editable does not compile."""
BARE = """
import logging, os, tempfile
os.environ |= {"TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1", "RAY_AIR_NEW_OUTPUT": "0"}
import ray, torch
from ray import tune

class Idle(tune.Trainable):
    def setup(self, config):
        import torch

    def step(self):
        return {"done": True}

    def save_checkpoint(self, folder):
        pass

ray.init("local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
with tempfile.TemporaryDirectory() as folder:
    trials = tune.TuneConfig(num_samples=int(ray.cluster_resources()["CPU"]))
    tune.Tuner(tune.with_resources(Idle, {"cpu": 1}), tune_config=trials,
               run_config=tune.RunConfig(storage_path=folder, verbose=0)).fit()
print("done", flush=True)
"""


def measure(device: torch.device, repeats: int = 3, killed: bool = True) -> Iterator[Measurement]:
    """The fastest of several starts each; nothing on a GPU."""
    if device.type != "cpu":
        return
    with (
        tempfile.TemporaryDirectory(prefix="fmim-start-") as name,
        # Where the environment forbids compiled files, as some containers do, every process would compile our code.
        patch.dict(os.environ, PYTHONPYCACHEPREFIX=f"{name}/compiled", PYTHONDONTWRITEBYTECODE=""),
    ):
        folder = Path(name)
        nothing_compiled = _until_trial(folder / "first")  # it compiles what all others need
        bare = min(_bare() for _ in range(repeats))
        installed = min(_until_installed(folder / f"installed{number}") for number in range(repeats))
        warm = min(_until_trial(folder / f"warm{number}") for number in range(repeats))
        yield Measurement("start", "start to the first finished trial", warm, f"{WARM_S:g} s", WARM_S, 1.0)
        ours, note = warm - bare, f"a bare program of Ray Tune takes {bare:.1f} s"
        yield Measurement("start", "  of it ours", ours, f"{OURS_S:g} s", OURS_S, 1.0, note)
        what = "  after `pip install -e .`, which compiles all but our own code"
        note = f"{nothing_compiled:.1f} s without any compiled file, as uv leaves it"
        yield Measurement("start", what, installed, f"{INSTALLED_S:g} s", INSTALLED_S, 1.0, note)
        if killed:
            yield _after_kill(folder)


def _after_kill(folder: Path) -> Measurement:
    with nodes(folder) as cluster:
        cluster.complete()
        on_it = cluster.variables, "--address", cluster.address
        _until_trial(folder / "killed", *on_it)
        again = _until_trial(folder / "killed", *on_it)
    return Measurement("start", "  after a kill, on a cluster of two nodes", again, f"{KILLED_S:g} s", KILLED_S, 1.0)


def _until_installed(folder: Path) -> float:
    """Start the study where our own code is not compiled; return the seconds."""
    for ours in OURS:
        shutil.rmtree(os.environ["PYTHONPYCACHEPREFIX"] + str(ROOT / ours))
    return _until_trial(folder)


def _bare() -> float:
    begun = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", BARE], stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert b"done\n" in program.stdout
        return time.perf_counter() - begun


def _until_trial(folder: Path, variables: Mapping[str, str] = MappingProxyType({}), *arguments: str) -> float:
    """Start the study, wait until one more trial than before has finished, and kill it; return the seconds."""
    before, mark = len(_finished(folder)), secrets.token_hex()
    command = (STUDY, "--preset", "smoke", "--gpus-per-trial", "0", "--out", "study", *arguments)
    process = start(command, folder, mark, variables)
    seconds = seconds_until(lambda: len(_finished(folder)) > before or process.poll() is not None, LONGEST_S)
    assert process.poll() is None, (folder / "screen.txt").read_text()
    kill(process.pid, *marked(mark))
    process.wait()
    return seconds


def _finished(folder: Path) -> list[str]:
    return [record.trial for record in read_records(folder / "study") if record.final]
