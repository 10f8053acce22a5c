"""The cost of a trial: its parts, wall time, energy, and the attempts at it that failed or were interrupted."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.records import Attempt, Cost, Record, TrialError, read_record
from fmim_core.trial.checkpoint import checkpoint_path, read_checkpoint
from fmim_core.trial.cost import SUMS, Meter, cut_off, earlier_attempts, energy_counter
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.mini_study import first_replicates, first_search_trials, mini_plan


@pytest.fixture
def bank(tiny_bank: Bank, tmp_path: Path) -> Path:
    """A copy of the bank, to break."""
    return Path(shutil.copytree(tiny_bank.path, tmp_path / "bank"))


@pytest.fixture
def settings(tmp_path: Path) -> RunSettings:
    return RunSettings(tmp_path / "out", "cpu", 0.5, checkpoint_every_s=0.0)


def replicate(tiny_bank: Bank, bank: Path, epochs: int) -> TrialSpec:
    """A trial that opens the test set when it has trained."""
    return first_replicates(mini_plan(epochs=epochs), tiny_bank)[1].model_copy(update={"bank": bank})


def test_a_failed_attempt_is_kept_when_the_trial_runs_again(
    tiny_bank: Bank, bank: Path, tmp_path: Path, settings: RunSettings
) -> None:
    spec, hidden = replicate(tiny_bank, bank, 2), bank.rename(tmp_path / "hidden")
    first, second = Trial(spec, settings).run(), Trial(spec, settings).run()
    hidden.rename(bank)
    third = Trial(spec, settings).run()
    assert [record.status for record in (first, second, third)] == ["failed", "failed", "completed"]
    assert (first.attempts, len(second.attempts)) == ((), 1)
    assert [a.cost for a in third.attempts] == [first.cost, second.cost]
    for attempt, record in zip(third.attempts, (first, second), strict=True):
        assert (attempt.status, attempt.error.kind) == ("failed", "ValueError")
        assert attempt.error == TrialError(kind=record.error.kind, message=record.error.message)
        assert (attempt.started_at, attempt.ended_at) == (record.started_at, record.ended_at)
    assert read_record(settings.out, spec.id) == third
    assert 0 < third.cost.parts_s <= third.cost.wall_s
    assert (third.cost.lost_s, third.cost.resumed, third.cost.device_share) == (0.0, 0, 0.5)
    assert third.cost.energy_j is None


def test_a_later_attempt_that_goes_on_from_a_checkpoint_costs_its_part_once(
    tiny_bank: Bank, bank: Path, tmp_path: Path, settings: RunSettings
) -> None:
    """Three epochs, then the test set cannot be opened: the checkpoint after two of them is resumed from."""
    spec, hidden = replicate(tiny_bank, bank, 3), (bank / "test.csv").rename(tmp_path / "test.csv")
    failed = Trial(spec, settings).run()
    content = read_checkpoint(checkpoint_path(settings.out, spec.id), torch.device("cpu"))
    assert content is not None
    carried = Cost.model_validate(content["so_far"]["cost"])
    hidden.rename(bank / "test.csv")
    done = Trial(spec, settings).run()
    (attempt,) = done.attempts
    assert (failed.cost.epochs, carried.epochs, attempt.cost.epochs) == (3, 2, 1)
    assert (done.cost.epochs, done.cost.resumed) == (3, 0)  # it failed, and was not interrupted
    assert attempt.cost.images == failed.cost.images / 3 == done.cost.images / 3
    for name in SUMS:
        own, before, total = (getattr(cost, name) for cost in (attempt.cost, carried, failed.cost))
        assert own == pytest.approx(total - before)
        assert getattr(done.cost, name) >= before
    assert done.cost.startup_s > carried.startup_s > 0  # of both processes


def test_a_failed_attempt_survives_an_interruption_of_the_next_which_loses_no_second(
    tiny_bank: Bank, bank: Path, tmp_path: Path, settings: RunSettings
) -> None:
    """The interrupted attempt leaves a checkpoint that is further than the failed attempt got."""
    spec = replicate(tiny_bank, bank, 4)
    Trial(spec, settings).step()
    hidden = bank.rename(tmp_path / "hidden")
    failed = Trial(spec, settings).run()  # it goes on from one epoch, and finds no bank
    hidden.rename(bank)
    interrupted = Trial(spec, settings)
    interrupted.step()
    interrupted.step()
    listed, before = interrupted.so_far.attempts, interrupted.so_far.cost
    done = Trial(spec, settings).run()
    assert done.attempts == listed
    assert [(one.error.kind, one.error.message) for one in listed] == [(failed.error.kind, failed.error.message)]
    assert (listed[0].cost.epochs, before.resumed, done.cost.epochs, done.cost.resumed) == (0, 0, 4, 1)
    # The failed attempt was itself a resumption; beyond the checkpoint it cost its start-up.
    assert listed[0].cost.resumed == 1
    assert listed[0].cost.wall_s == pytest.approx(listed[0].cost.startup_s, abs=1e-3)
    for name in ("startup_s", "data_s", "train_s"):
        assert getattr(done.cost, name) > getattr(before, name) * 0.999  # the checkpoint was written just before


@pytest.fixture
def failed(tiny_bank: Bank) -> Record:
    return first_search_trials(mini_plan(), tiny_bank)[0].record("2026-01-01T00:00:00.000Z")


def test_only_failed_records_of_the_same_training_become_attempts(failed: Record) -> None:
    at, fingerprint = failed.started_at, failed.fingerprint
    (attempt,) = earlier_attempts(failed, fingerprint)
    assert attempt == Attempt(status="failed", cost=Cost(), error=TrialError(), started_at=at, ended_at=at)
    assert earlier_attempts(failed, fingerprint, Cost(), [attempt]) == (attempt,)
    assert earlier_attempts(failed, "other") == earlier_attempts(None, fingerprint) == ()
    assert earlier_attempts(failed.changed({"status": "diverged"}), fingerprint) == ()


@pytest.mark.parametrize(
    ("carried", "left"),
    [
        (Cost(train_s=0.5, wall_s=0.75), (0.5, 2.5, 3.25)),  # the checkpoint is older than what was last heard
        (Cost(train_s=2.0, wall_s=3.0), (0.0, 1.0, 1.0)),  # it is newer: the worker died before it told of it
    ],
)
def test_seconds_of_a_dead_worker_are_lost_unless_they_are_in_the_checkpoint(
    failed: Record, carried: Cost, left: tuple[float, float, float]
) -> None:
    dead = cut_off(Cost(train_s=1.0, wall_s=1.5, energy_j=9.0), 2.5)
    assert (dead.train_s, dead.lost_s, dead.wall_s, dead.energy_j) == (1.0, 2.5, 4.0, None)
    (attempt,) = earlier_attempts(failed.changed({"cost": dead}), failed.fingerprint, carried)
    assert (attempt.cost.train_s, attempt.cost.lost_s, attempt.cost.wall_s) == left
    assert attempt.cost.wall_s + carried.wall_s == dead.wall_s


def test_energy_is_what_the_card_drew_times_the_share_on_top_of_what_was_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    readings, nvml, cuda = iter([100_000, 130_000]), ModuleType("pynvml"), torch.device("cuda")
    nvml.NVMLError, nvml.nvmlInit, nvml.nvmlDeviceGetHandleByUUID = StopIteration, lambda: None, str
    nvml.nvmlDeviceGetTotalEnergyConsumption = lambda card: next(readings)  # millijoules
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="0-1"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "card")
    meter = Meter(0.25)
    meter.resume_from(Cost(energy_j=2.0), interrupted=True)
    meter.on(cuda)
    assert meter.cost(None).energy_j == 2.0 + 30 * 0.25
    assert meter.cost(None).energy_j is None  # it tells no more
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert energy_counter(cuda) is energy_counter(torch.device("cpu")) is None
