"""Trials on a real cluster, one for all tests: as in one process, and where a worker, driver or user ends them."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fmim.plan.workload import Work
from fmim.runner.backends.ray_backend import RayBackend
from fmim.runner.backends.ray_cluster import RayCluster
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim_core.data.bank.bank import Bank
from fmim_core.machine import cores
from fmim_core.records import (
    DONE,
    CalibrationFile,
    EpochRow,
    ProposalsFile,
    Record,
    SelectionFile,
    StudyFile,
    read_records,
    record_path,
)
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.benchmarks.runner import IdleTrial, idle_plan
from tests.studies.runner.test_calibrate import check_prediction
from tests.support.clusters import ALL_CORES
from tests.support.documents import comparable_records
from tests.support.mini_study import mini_plan, options_in, run_here, tracked_in
from tests.support.program import Program
from tests.support.real_search import REAL, assert_stopped_cleanly, stopped_records

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]


class DiesInTraining(Trial):
    """The worker of one trial is killed after its third epoch, the first time."""

    def __init__(self, spec: TrialSpec, settings: RunSettings) -> None:
        super().__init__(spec, settings)
        self._died = settings.out / "died"

    def step(self) -> EpochRow | None:
        row = super().step()
        if row is not None and row.epoch == 3 and self.spec.fold == 1 and not self._died.exists():
            self._died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return row


def test_a_trial_whose_worker_is_killed_goes_on_from_its_checkpoint_and_the_study_with_it(
    cluster: RayCluster, tiny_bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_epoch = partial(RunSettings, checkpoint_every_s=0.0)
    monkeypatch.setattr("fmim.runner.backends.backend.RunSettings", every_epoch)
    plan = mini_plan(epochs=5, replicates=1)
    plan = replace(plan, study=plan.study.model_copy(update={"arms": plan.arms[:1]}))
    dispatcher = Dispatcher(plan, tiny_bank, tmp_path, {})
    backend = RayBackend.of(cluster, float(cores()), 0.0)  # one worker, which is started twice
    replace(backend, trial=DiesInTraining).run(dispatcher, tmp_path, plan.trials)
    assert dispatcher.complete
    records = list(read_records(tmp_path))
    assert Counter(record.status for record in records) == {"completed": 2 + 1 + 3}
    (attempt,) = [attempt for record in records for attempt in record.attempts]
    assert (attempt.status, attempt.error.kind) == ("failed", "worker died")
    assert "The actor died unexpectedly" in attempt.error.message
    assert attempt.cost.wall_s >= attempt.cost.lost_s > 0
    assert attempt.cost.device_share == cores()
    assert attempt.cost.epochs == 0  # those that it had run are the later attempt's, which resumed from them


class DiesBetweenTrials(IdleTrial):
    """The worker of one trial, which has run others before, is killed when this one is to begin, the first time."""

    def __init__(self, spec: TrialSpec, settings: RunSettings) -> None:
        super().__init__(spec, settings)
        died = settings.out / "died"
        if spec.number == 2 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_trial_whose_worker_dies_between_two_trials_is_tried_again(
    cluster: RayCluster, tiny_bank: Bank, tmp_path: Path
) -> None:
    """Tune fails such a trial, which has not begun, at once."""
    dispatcher = Dispatcher(idle_plan(20), tiny_bank, tmp_path, {})
    backend = RayBackend.of(cluster, float(cores()), 0.0)  # one worker, which is started twice
    replace(backend, trial=DiesBetweenTrials).run(dispatcher, tmp_path, 20)
    assert (tmp_path / "died").exists()
    assert dispatcher.complete
    assert Counter(record.status for record in read_records(tmp_path)) == {"completed": 20}


class DiesAtOnce(IdleTrial):
    def __init__(self, spec: TrialSpec, settings: RunSettings) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def test_where_every_worker_dies_at_once_the_run_ends_with_one_reason(
    cluster: RayCluster,
    tiny_bank: Bank,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two deaths, of trials that are not tried again, instead of eight."""
    for module in ("ray_driver", "ray_backend"):
        monkeypatch.setattr(f"fmim.runner.backends.{module}.RETRIES", 0)
    backend = replace(RayBackend.of(cluster, float(cores()), 0.0), trial=DiesAtOnce)
    with pytest.raises(ConnectionError, match="2 Ray workers died"):
        backend.run(Dispatcher(idle_plan(200), tiny_bank, tmp_path, {}), tmp_path, 200)
    assert 1 <= len(list(read_records(tmp_path))) <= 2
    assert capfd.readouterr().err == ""  # no traceback


class AtTheThird:
    """Does something at the third trial's end; an observer of the dispatcher."""

    def __init__(self, what: Callable[[], None]) -> None:
        self._what, self.over = what, 0

    def started(self, spec: TrialSpec) -> None: ...

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None: ...

    def finished(self, spec: TrialSpec, record: Record) -> None:
        self.over += 1
        if self.over == 3:
            self._what()


def full_disk() -> None:
    """As a disk may be when a selection is to be written."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ctrl_c() -> None:
    """As a terminal sends it, at any moment from now on."""
    threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """As where the tests run in a terminal; what a shell has begun in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def search(root: Path, start: RayCluster | None, backend: str) -> Path:
    """Run two real searches; returns the study's folder."""
    options = options_in(root, study="automargin_vs_search", backend=backend, tracking_uri=tracked_in(root))
    assert run_here(REAL, options, cluster=start) == DONE
    return root / "study"


@pytest.fixture(scope="module")
def inline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the two searches in one process."""
    root = tmp_path_factory.mktemp("inline")
    search(root, None, "inline")
    return root


def test_a_search_in_one_process_stops_selects_and_is_done(inline: Path) -> None:
    assert_stopped_cleanly(inline)
    chosen = SelectionFile.read(inline / "study" / "selection.json").arms["asha"].configuration
    assert chosen not in [record.configuration for record in stopped_records(inline)]
    before = comparable_records(inline / "study")
    again = search(inline, None, "inline")
    assert StudyFile.read(again / "study.json").executions[-1].trials == 0
    assert comparable_records(again) == before


def test_ray_proposes_and_trains_the_same(cluster: RayCluster, inline: Path, tmp_path: Path) -> None:
    """Interrupted searches are in `test_search` (with trials that do nothing)."""
    out = search(tmp_path, cluster, "ray")
    assert (
        ProposalsFile.read(out / "proposals.json").arms == ProposalsFile.read(inline / "study" / "proposals.json").arms
    )
    ours, theirs = comparable_records(out), comparable_records(inline / "study")
    exact = [trial for trial in theirs if trial.startswith("tpe")]
    assert {trial: ours[trial] for trial in exact} == {trial: theirs[trial] for trial in exact}
    assert {trial for trial in ours if trial.startswith("asha") and trial.endswith("fold0")} == {
        f"asha.c{number:02d}.fold0" for number in range(6)
    }
    assert_stopped_cleanly(tmp_path)
    assert record_path(out, "tpe.c02.fold1").exists()


def test_the_command_predicts(
    running: RayCluster, tmp_path: Path, fmim_here: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fmim.runner.calibrate.MEASURED_S", 0.1)
    command = ("plan", "lambda_sweep", "--preset", "smoke", "--calibrate", "--gpus-per-trial", "0", "--out", "out")
    done = fmim_here(*command, *ALL_CORES, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content = CalibrationFile.read(tmp_path / "out" / "calibration.json")
    assert (content.backend, len(content.calibration["timings"])) == ("ray", 1)
    check_prediction(content.forecast, Work(28, 48, 10240))
    assert "for 28 trials" in done.stdout


def test_an_error_of_the_driver_and_ctrl_c_end_the_run_and_are_raised(
    cluster: RayCluster, tiny_bank: Bank, tmp_path: Path, hears_ctrl_c: None
) -> None:
    """Tune took the error for the trial's and ran the trial again, for ever; Ray takes SIGTERM for itself.

    The last test: workers of an interrupted run hold their slots as long as its cluster.
    """
    before = signal.getsignal(signal.SIGTERM)
    assert RayBackend.of(cluster, 1.0, 0.0).slots == cores()
    assert signal.getsignal(signal.SIGTERM) is before
    backend = replace(RayBackend.of(cluster, float(cores()), 0.0), trial=IdleTrial)
    for name, what, raised in (("full", full_disk, OSError), ("asked", ctrl_c, KeyboardInterrupt)):
        out, observer = tmp_path / name, AtTheThird(what)
        dispatcher = Dispatcher(idle_plan(200), tiny_bank, out, {}, [observer])
        with pytest.raises(raised, match="No space left on device" if raised is OSError else None):
            backend.run(dispatcher, out, 200)
        assert 3 <= observer.over <= (5 if raised is OSError else 100)
        assert len(list(read_records(out))) >= 3
