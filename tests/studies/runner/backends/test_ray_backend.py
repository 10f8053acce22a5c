"""The Ray backend where things go wrong: a worker that dies, and requests that no node can meet."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from fmim.exit_codes import DONE
from fmim.options import Options
from fmim.runner.backends.backend import open_backend
from fmim.runner.backends.dead_workers import LastReport, record_of_dead_worker
from fmim.runner.backends.ray_backend import run_ray
from fmim.runner.backends.room import Resources
from fmim.runner.cluster.start import starting
from fmim.runner.dispatcher import Dispatcher
from fmim.runner.run_study import run_plan
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Cost, Record, read_records, record_path
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.benchmarks.idle import IdleTrial, Watch, idle_plan
from tests.support.documents import AT
from tests.support.mini_study import first_search_trials, mini_plan


def training_workers() -> list[int]:
    """Process ids of this process's own Ray workers that are in the middle of an epoch."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listing.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, _ in rows}

    def ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    return [
        int(pid) for pid, _, args in rows if args.startswith("ray::") and "Trainable.train" in args and ours(int(pid))
    ]


def kill_one_worker(out: Path, killed: list[int], give_up: threading.Event) -> None:
    """Kill the first worker that is seen training, once every trial that runs has a checkpoint."""
    while not killed and not give_up.is_set():
        time.sleep(0.05)
        workers = training_workers()
        if len(list((out / "checkpoints").glob("*.fold*.pt"))) >= len(workers) > 0:
            os.kill(workers[0], signal.SIGKILL)
            killed.append(workers[0])


@pytest.mark.slow
def test_a_trial_whose_worker_is_killed_goes_on_from_its_checkpoint_and_the_study_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_epoch = partial(RunSettings, checkpoint_every_s=0.0)
    monkeypatch.setattr("fmim.runner.backends.backend.RunSettings", every_epoch)
    killed: list[int] = []
    give_up = threading.Event()
    killer = threading.Thread(target=kill_one_worker, args=(tmp_path / "study", killed, give_up))
    options = Options(
        study="automargin_vs_grid",
        out=tmp_path / "study",
        tracking_uri=f"sqlite:///{tmp_path}/mlflow.db",
        banks=tmp_path / "banks",
    )
    killer.start()
    try:
        code = run_plan(mini_plan(epochs=12), options, Console(quiet=True))
    finally:
        give_up.set()
        killer.join()
    assert len(killed) == 1
    assert code == DONE
    records = list(read_records(tmp_path / "study"))
    assert Counter(record.status for record in records) == {"completed": 14}
    (attempt,) = [attempt for record in records for attempt in record.attempts]
    assert (attempt.status, attempt.error.kind) == ("failed", "worker died")
    assert "The actor died unexpectedly" in attempt.error.message
    assert attempt.cost.wall_s >= attempt.cost.lost_s > 0
    assert attempt.cost.device_share == 1.0
    assert attempt.cost.epochs == 0  # those that it had run are the later attempt's, which resumed from them


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory", "out of memory"),
        ("The actor died unexpectedly before finishing this task", "worker died"),
    ],
)
def test_a_dead_worker_leaves_a_failed_record_with_the_reason(
    tiny_bank: Bank, tmp_path: Path, message: str, kind: str
) -> None:
    plan = mini_plan()
    spec = first_search_trials(plan, tiny_bank)[0]
    cost = Cost(startup_s=1.0, train_s=4.0, wall_s=6.0, epochs=2, energy_j=50.0)
    record = record_of_dead_worker(spec, message, tmp_path, LastReport(AT, cost, (), at=time.monotonic() - 3))
    assert record.error is not None
    assert (record.status, record.error.kind, record.error.message) == ("failed", kind, message)
    assert Record.read(record_path(tmp_path, spec.id)).status == "failed"
    paid = record.cost
    assert 3 <= paid.lost_s < 13
    assert paid.wall_s == pytest.approx(6.0 + paid.lost_s)
    assert (paid.train_s, paid.epochs, paid.energy_j) == (4.0, 2, None)
    again = record_of_dead_worker(spec, message, tmp_path, LastReport(AT, Cost()))
    assert [attempt.cost for attempt in again.attempts] == [paid]


def test_a_record_written_just_before_the_worker_died_stands(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = mini_plan()
    spec = first_search_trials(plan, tiny_bank)[0]
    Trial(spec, RunSettings(tmp_path, "cpu")).run()
    last = LastReport(AT, Cost())
    assert record_of_dead_worker(spec, "died", tmp_path, last).status == "completed"


class DiesBetweenTrials(IdleTrial):
    """The worker of one trial, which has run others before, is killed when this one is to begin, the first time."""

    def __init__(self, spec: TrialSpec, settings: RunSettings) -> None:
        super().__init__(spec, settings)
        died = settings.out / "died"
        if spec.number == 2 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_a_trial_whose_worker_dies_between_two_trials_is_tried_again(tiny_bank: Bank, tmp_path: Path) -> None:
    """Tune fails such a trial, which has not begun, at once."""
    dispatcher, settings = Dispatcher(idle_plan(20), tiny_bank, tmp_path, {}), RunSettings(tmp_path, "cpu")
    resources = Resources(1.0, 0.0)
    with starting("ray", None) as start, open_backend(start, resources) as backend:
        run_ray(dispatcher, settings, resources, backend.slots, 20, tmp_path, trial=DiesBetweenTrials)
    assert (tmp_path / "died").exists()
    assert dispatcher.complete
    assert Counter(record.status for record in read_records(tmp_path)) == {"completed": 20}


class FullDisk(Watch):
    """Fails at the third trial's end, as a disk may when a selection is to be written."""

    def finished(self, spec: TrialSpec, record: Record) -> None:
        super().finished(spec, record)
        if len(self.at) >= 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.slow
def test_an_error_of_the_driver_ends_the_run_and_is_raised(tiny_bank: Bank, tmp_path: Path) -> None:
    """Tune took it for the trial's and ran the trial again, for ever."""
    observer = FullDisk()
    dispatcher = Dispatcher(idle_plan(40), tiny_bank, tmp_path, {}, [observer])
    resources = Resources(1.0, 0.0)
    with starting("ray", None) as start, open_backend(start, resources) as backend:
        slots = backend.slots
        with pytest.raises(OSError, match="No space left on device"):
            run_ray(dispatcher, RunSettings(tmp_path, "cpu"), resources, slots, 40, tmp_path, trial=IdleTrial)
    assert 3 <= len(observer.at) <= 3 + 2 * slots
    assert len(list(read_records(tmp_path))) >= 3
