"""What the Ray backend keeps of a trial whose worker died."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim.runner.backends.ray_driver import nothing_heard, record_of_dead_worker
from fmim_core.data.bank.bank import Bank
from fmim_core.records import Cost, Record, SoFar, record_path
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
    record = record_of_dead_worker(spec, message, tmp_path, SoFar(started_at=AT, cost=cost), silent_s=3.0)
    assert record.error is not None
    assert (record.status, record.error.kind, record.error.message) == ("failed", kind, message)
    assert Record.read(record_path(tmp_path, spec.id)).status == "failed"
    spent = record.cost
    assert (spent.lost_s, spent.wall_s, spent.train_s, spent.epochs, spent.energy_j) == (3.0, 9.0, 4.0, 2, None)
    again = record_of_dead_worker(
        spec, message, tmp_path, nothing_heard(spec, RunSettings(tmp_path, "cpu")), silent_s=0.0
    )
    assert [attempt.cost for attempt in again.attempts] == [spent]


def test_a_record_written_just_before_the_worker_died_stands(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = mini_plan()
    spec = first_search_trials(plan, tiny_bank)[0]
    Trial(spec, RunSettings(tmp_path, "cpu")).run()
    last = nothing_heard(spec, RunSettings(tmp_path, "cpu"))
    assert record_of_dead_worker(spec, "died", tmp_path, last, silent_s=0.0).status == "completed"
