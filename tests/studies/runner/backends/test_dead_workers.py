"""What the Ray backend keeps of a trial whose worker died."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fmim.runner.backends.dead_workers import LastReport, record_of_dead_worker
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Cost, Record, record_path
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.documents import AT
from tests.support.mini_study import first_search_trials, mini_plan


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
