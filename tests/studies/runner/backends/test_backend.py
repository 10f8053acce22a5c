"""How many trials fit, the bank wherever trials may run, and what is kept of a trial whose worker died."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from fmim.runner.backends.backend import Inline, allot
from fmim.runner.backends.ray_backend import RayBackend, fault_of_bank
from fmim.runner.backends.ray_cluster import cluster_for
from fmim.runner.backends.ray_driver import Driver, StudyTrainable, nothing_heard, record_of_dead_worker
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.machine import cores
from fmim_core.records import Cost, Record, SoFar, record_path
from fmim_core.trial.trial import RunSettings, Trial
from tests.benchmarks.runner import IdleTrial, idle_plan
from tests.support.documents import AT
from tests.support.mini_study import MINI, first_search_trials, mini_plan


@pytest.mark.parametrize(
    ("node", "cpus", "gpus", "slots"),
    [
        ({"CPU": 2.0}, 1.0, 0.0, 2),
        ({"CPU": 64.0, "GPU": 8.0}, 1.0, 0.15, 48),  # six on each card, not 53 in all
        ({"CPU": 64.0, "GPU": 8.0}, 1.0, 0.1, 64),  # ten on each card would fit, the cores do not
        ({"CPU": 64.0, "GPU": 8.0}, 1.0, 3.0, 2),
        ({"CPU": 3.0}, 0.1, 0.0, 30),
    ],
)
def test_slots_count_what_really_fits_on_a_node(node: dict[str, float], cpus: float, gpus: float, slots: int) -> None:
    assert allot(cpus, gpus, [node]) == (slots, cpus, gpus)
    assert allot(cpus, gpus, [node, {"memory": 1.0}, node])[0] == 2 * slots


def test_without_a_word_of_gpus_each_trial_has_one_where_there_are_any() -> None:
    assert allot(1.0, None, [{"CPU": 4.0, "GPU": 2.0}]) == (2, 1.0, 1.0)
    assert allot(1.0, None, [{"CPU": 4.0}]) == (4, 1.0, 0.0)


@pytest.mark.parametrize(("cpus", "gpus"), [(4.0, 0.0), (1.0, 0.5)])
def test_what_no_node_has_is_refused_with_both_numbers(cpus: float, gpus: float) -> None:
    words = rf"needs {cpus:g} CPU and {gpus:g} GPU .* but 2 node\(s\) have 4 CPU and 0 GPU: ask for less"
    with pytest.raises(ValueError, match=words):
        allot(cpus, gpus, [{"CPU": 2.0}, {"CPU": 2.0}])


def test_more_cpus_than_this_process_may_use_are_refused_inline_in_the_same_words() -> None:
    there = f"{cores()} CPU and {torch.cuda.device_count()} GPU"
    words = rf"needs 10000 CPU and 0 GPU .* but 1 node\(s\) have {there}: ask for less"
    with pytest.raises(ValueError, match=words):
        Inline.of(10000.0, 0.0)


def spoil(bank: Bank) -> None:
    """Flip one bit of one image."""
    with (bank.path / "images.u8").open("r+b") as file:
        file.seek(1000)
        bit = file.read(1)[0] ^ 1
        file.seek(1000)
        file.write(bytes([bit]))


@pytest.fixture
def banks(tmp_path: Path) -> tuple[Bank, Bank]:
    """Two small banks of different people."""
    sizes = (PhantomConfig(train_subjects=2, test_subjects=2, months=(0, 12), seed=seed) for seed in (0, 1))
    first, second = (build_bank(PhantomSource(size), 28, tmp_path / "banks") for size in sizes)
    return first, second


def test_what_is_wrong_on_a_node_is_said_in_words(banks: tuple[Bank, Bank]) -> None:
    bank, other = banks
    place = str(bank.path)
    assert fault_of_bank(place, bank.fingerprint) is None
    spoil(bank)
    assert "images.u8 (rows 0 to" in str(fault_of_bank(place, bank.fingerprint))
    shutil.rmtree(bank.path)
    assert f"no bank in {place}" in str(fault_of_bank(place, bank.fingerprint))
    other.path.rename(bank.path)
    assert fault_of_bank(place, bank.fingerprint) == (
        f"a different bank: its fingerprint is {other.fingerprint[:12]} instead of {bank.fingerprint[:12]}"
    )


def test_a_spoilt_bank_is_told_and_built_again(tmp_path: Path) -> None:
    source, told = PhantomSource(MINI.phantom), list[str]()
    spoil(build_bank(source, MINI.image_size, tmp_path / "banks"))
    bank = build_bank(source, MINI.image_size, tmp_path / "banks", tell=told.append)
    assert re.search(
        r"images\.u8 \(rows 0 to .*\) changed after the bank was built. It was moved to .*\.damaged-", told[0]
    )
    assert fault_of_bank(str(bank.path), bank.fingerprint) is None


@pytest.mark.slow
def test_every_node_that_runs_trials_checks_the_bank(banks: tuple[Bank, Bank]) -> None:
    from ray.cluster_utils import Cluster  # after the settings that our modules make before Ray is imported

    bank, _ = banks
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes.add_node(num_cpus=1)
        nodes.add_node(num_cpus=0)  # runs no trials, and need not have the bank
        with cluster_for("ray", nodes.address) as cluster:
            assert cluster is not None
            backend = RayBackend.of(cluster, 1.0, 0.0)
            assert (backend.cluster.logs.is_dir(), backend.slots) == (True, 2)
            backend.check(bank)
            spoil(bank)
            with pytest.raises(ValueError, match=r"cannot be used on 1 of 2 nodes:\n  node .*\): .*images\.u8 \(rows"):
                backend.check(bank)
            shutil.rmtree(bank.path)
            with pytest.raises(ValueError, match=r"no bank in .*\nStart in a folder that all nodes share, or build"):
                backend.check(bank)
    finally:
        nodes.shutdown()


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


def test_trials_whose_workers_die_end_no_run_in_which_another_trains_a_long_epoch(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    cluster: Any = SimpleNamespace(logs=tmp_path)
    dispatcher = Dispatcher(idle_plan(20), tiny_bank, tmp_path, {})
    driver = Driver(dispatcher, RunSettings(tmp_path), cluster, slots=2)
    dying, training = (SimpleNamespace(trial_id=name, error_file=None) for name in "ab")
    for trial in (dying, training):
        driver.next(trial.trial_id)
        driver.on_trial_start(0, [], trial)  # type: ignore[arg-type]
    for _ in range(9):
        driver.on_trial_recover(0, [], dying)  # type: ignore[arg-type]
        driver.on_step_begin(0, [])
    driver.on_trial_recover(0, [], training)  # type: ignore[arg-type]
    with pytest.raises(ConnectionError, match="10 Ray workers died"):
        driver.on_step_begin(0, [])


@pytest.mark.parametrize(("rungs", "reported"), [((), [[1], [2, 3, 4]]), ((2,), [[1], [2], [3], [4]])])
def test_a_worker_reports_its_first_epoch_at_once_and_short_ones_together(
    tiny_bank: Bank, tmp_path: Path, rungs: tuple[int, ...], reported: list[list[int]]
) -> None:
    spec = first_search_trials(mini_plan(epochs=4), tiny_bank)[0].model_copy(update={"rungs": rungs})
    worker = StudyTrainable.__new__(StudyTrainable)  # a worker of Ray alone can be one in full
    given = {"spec": spec.model_dump_json()}
    worker.setup(given, IdleTrial, RunSettings(tmp_path, "cpu"), torch.get_num_threads(), None)
    results = [worker.step() for _ in reported]
    assert [[row.epoch for row in result["report"].rows] for result in results] == reported
    assert [result["done"] for result in results] == [False] * (len(reported) - 1) + [True]
