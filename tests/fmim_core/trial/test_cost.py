"""What a trial says it cost: parts, wall time, energy, and the attempts at it that failed or were interrupted."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.records import Attempt, Cost, TrialError, read_record
from fmim_core.trial.checkpoint import read_checkpoint
from fmim_core.trial.cost import SUMS, Meter, cut_off, earlier_attempts
from fmim_core.trial.hardware import energy_counter
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.mini_study import first_replicates, first_search_trials, mini_plan


@pytest.fixture
def bank(tiny_bank: Bank, tmp_path: Path) -> Path:
    """A copy of the bank, to break."""
    return Path(shutil.copytree(tiny_bank.path, tmp_path / "bank"))


def replicate(tiny_bank: Bank, bank: Path, epochs: int) -> TrialSpec:
    """A trial that opens the test set when it has trained."""
    plan = mini_plan(epochs=epochs)
    return first_replicates(plan, tiny_bank)[1].model_copy(update={"bank": bank})


def test_wall_time_holds_the_parts_and_energy_is_null_where_nothing_tells_it(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = mini_plan()
    cost = Trial(first_search_trials(plan, tiny_bank)[0], RunSettings(tmp_path, "cpu", 0.5)).run().cost
    assert 0 < cost.parts_s <= cost.wall_s
    assert (cost.lost_s, cost.resumed, cost.device_share) == (0.0, 0, 0.5)
    assert cost.energy_j is None


def test_a_failed_attempt_is_kept_when_the_trial_runs_again(tiny_bank: Bank, bank: Path, tmp_path: Path) -> None:
    spec, settings = replicate(tiny_bank, bank, 2), RunSettings(tmp_path / "out", "cpu")
    hidden = bank.rename(tmp_path / "hidden")
    first = Trial(spec, settings).run()
    second = Trial(spec, settings).run()
    hidden.rename(bank)
    third = Trial(spec, settings).run()
    assert [record.status for record in (first, second, third)] == ["failed", "failed", "completed"]
    assert (first.attempts, len(second.attempts)) == ((), 1)
    assert [a.cost for a in third.attempts] == [first.cost, second.cost]
    for attempt, record in zip(third.attempts, (first, second), strict=True):
        assert (attempt.status, attempt.error.kind) == ("failed", "ValueError")
        assert attempt.error == TrialError(kind=record.error.kind, message=record.error.message)
        assert (attempt.started_at, attempt.ended_at) == (record.started_at, record.ended_at)
    assert read_record(tmp_path / "out", spec.id) == third


def test_what_a_later_attempt_goes_on_from_is_paid_once(tiny_bank: Bank, bank: Path, tmp_path: Path) -> None:
    """Three epochs, then the test set cannot be opened: the checkpoint after two of them is resumed from."""
    spec, settings = replicate(tiny_bank, bank, 3), RunSettings(tmp_path / "out", "cpu", checkpoint_every_s=0.0)
    hidden = (bank / "test.csv").rename(tmp_path / "test.csv")
    failed = Trial(spec, settings).run()
    content = read_checkpoint(tmp_path / "out" / "checkpoints" / f"{spec.id}.pt", torch.device("cpu"))
    assert content is not None
    carried = Cost.model_validate(content["so_far"]["cost"])
    hidden.rename(bank / "test.csv")
    done = Trial(spec, settings).run()
    (attempt,) = done.attempts
    assert (failed.cost.epochs, carried.epochs, attempt.cost.epochs) == (3, 2, 1)
    assert (done.cost.epochs, done.cost.resumed) == (3, 0)  # it failed, and was not interrupted
    assert attempt.cost.images == failed.cost.images / 3 == done.cost.images / 3
    for name in SUMS:
        paid, before, total = (getattr(cost, name) for cost in (attempt.cost, carried, failed.cost))
        assert paid == pytest.approx(total - before)
        assert getattr(done.cost, name) >= before
    assert done.cost.startup_s > carried.startup_s > 0  # of both processes


def test_a_failed_attempt_survives_an_interruption_of_the_next(tiny_bank: Bank, bank: Path, tmp_path: Path) -> None:
    """The interrupted attempt leaves a checkpoint that is further than the failed attempt got."""
    spec, settings = replicate(tiny_bank, bank, 4), RunSettings(tmp_path / "out", "cpu", checkpoint_every_s=0.0)
    broken = Trial(spec, settings)
    broken.step()
    hidden = bank.rename(tmp_path / "hidden")
    failed = Trial(spec, settings).run()  # it goes on from one epoch, and finds no bank
    hidden.rename(bank)
    interrupted = Trial(spec, settings)
    interrupted.step()
    interrupted.step()
    listed = interrupted.so_far.attempts
    done = Trial(spec, settings).run()
    assert done.attempts == listed
    assert [(one.error.kind, one.error.message) for one in listed] == [(failed.error.kind, failed.error.message)]
    assert (listed[0].cost.epochs, done.cost.epochs, done.cost.resumed) == (0, 4, 1)
    # The failed attempt was itself a resumption; what it paid beyond the checkpoint is its start-up.
    assert listed[0].cost.resumed == 1
    assert listed[0].cost.wall_s == pytest.approx(listed[0].cost.startup_s, abs=1e-3)


def test_an_interruption_loses_no_second_before_the_checkpoint(tiny_bank: Bank, bank: Path, tmp_path: Path) -> None:
    spec, settings = replicate(tiny_bank, bank, 4), RunSettings(tmp_path / "out", "cpu", checkpoint_every_s=0.0)
    stopped = Trial(spec, settings)
    stopped.step()
    stopped.step()
    before = stopped.so_far.cost
    resumed = Trial(spec, settings)
    resumed.step()
    after = resumed.so_far.cost
    assert (before.resumed, after.resumed, resumed.so_far.attempts) == (0, 1, ())
    for name in ("startup_s", "data_s", "train_s"):
        assert getattr(after, name) > getattr(before, name) * 0.999  # the checkpoint was written just before
    assert after.wall_s > after.parts_s


def test_only_failed_records_of_the_same_training_become_attempts(tiny_bank: Bank) -> None:
    record = first_search_trials(mini_plan(), tiny_bank)[0].record("2026-01-01T00:00:00.000Z")
    fingerprint = record.fingerprint
    (attempt,) = earlier_attempts(record, fingerprint)
    at = record.started_at
    assert attempt == Attempt(status="failed", cost=Cost(), error=TrialError(), started_at=at, ended_at=at)
    assert earlier_attempts(record, fingerprint, Cost(), [attempt]) == (attempt,)
    assert earlier_attempts(record, "other") == ()
    assert earlier_attempts(record.changed({"status": "diverged"}), fingerprint) == ()
    assert earlier_attempts(None, fingerprint) == ()


def test_a_worker_that_died_leaves_seconds_that_nobody_can_assign() -> None:
    cost = cut_off(Cost(train_s=3.0, wall_s=4.0, energy_j=9.0), 2.5)
    assert (cost.train_s, cost.lost_s, cost.wall_s, cost.energy_j) == (3.0, 2.5, 6.5, None)


@pytest.mark.parametrize(
    ("carried", "left"),
    [
        (Cost(train_s=0.5, wall_s=0.75), (0.5, 2.5, 3.25)),  # the checkpoint is older than what was last heard
        (Cost(train_s=2.0, wall_s=3.0), (0.0, 1.0, 1.0)),  # it is newer: the worker died before it told of it
    ],
)
def test_seconds_of_a_dead_worker_that_are_in_the_checkpoint_are_not_lost(
    tiny_bank: Bank, carried: Cost, left: tuple[float, float, float]
) -> None:
    record = first_search_trials(mini_plan(), tiny_bank)[0].record("2026-01-01T00:00:00.000Z")
    record = record.changed({"cost": cut_off(Cost(train_s=1.0, wall_s=1.5), 2.5)})
    (attempt,) = earlier_attempts(record, record.fingerprint, carried)
    assert (attempt.cost.train_s, attempt.cost.lost_s, attempt.cost.wall_s) == left
    assert attempt.cost.wall_s + carried.wall_s == record.cost.wall_s


class Card(ModuleType):
    """NVML's package where every reading of a card gives the next number of millijoules."""

    NVMLError = StopIteration

    def __init__(self, *readings: int) -> None:
        super().__init__("pynvml")
        self.left = iter(readings)
        self.nvmlInit = lambda: None
        self.nvmlDeviceGetHandleByUUID = str
        self.nvmlDeviceGetTotalEnergyConsumption = lambda card: next(self.left)


def test_energy_is_what_the_card_drew_times_the_share_on_top_of_what_was_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Card(100_000, 130_000))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="0-1"))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "card")
    meter = Meter(0.25)
    meter.resume_from(Cost(energy_j=2.0), interrupted=True)
    meter.on(torch.device("cuda"))
    assert meter.cost(None).energy_j == 2.0 + 30 * 0.25
    assert energy_counter(torch.device("cuda")) is None  # it tells no more
    assert meter.cost(None).energy_j is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert energy_counter(torch.device("cuda")) is energy_counter(torch.device("cpu")) is None
