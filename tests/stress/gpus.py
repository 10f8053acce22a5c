"""A study on two nodes of two GPUs, two trials on each; after a third of the trials one dies, and another one joins.

No GPU is needed: Ray is told of two on each node, and every trial of the main study at its `full` preset sleeps as
long as it has epochs, which is shorter than a worker's start. What must hold: every share of every GPU is used and
never lent twice, a node that joins is used soon, and the records are those of one process. Measured are how busy the
shares are until the first has nothing left, the idle tail after that, and the time beside the work over the shares,
which no order can beat. The same order in simulated time, without Ray, says which part of that is the order's.
"""

from __future__ import annotations

import heapq
import json
import os
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ray

from fmim import catalogue
from fmim.declare.presets import FULL
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim.runner.backends.ray_backend import RayBackend
from fmim.runner.backends.ray_cluster import cluster_for
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.records import EpochRow, Metrics, Record, read_records
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings
from tests.benchmarks.runner import IdleTrial, NoTraining
from tests.stress.outcome import Outcome
from tests.stress.processes import Nodes, nodes, seconds_until, slowdown
from tests.support.documents import comparable_records

TIMES = 1
GPUS, SHARE, EPOCHS = 2, 0.5, 2
SLOTS = round(2 * GPUS / SHARE)  # on two nodes
EPOCH_S = 1.0
LONGEST_S = 600.0
IN_ORDER = 1.05  # of the bound, by the order alone
BUSY, LATE_S = 0.8, 30.0  # at least, and at most, where others leave the cores alone
NODE = ("--num-cpus", str(2 * GPUS), "--num-gpus", str(GPUS))


Note = dict[str, Any]
"""Which trial had a share of which GPU, from when to when, in which worker."""


def seconds_of(spec: TrialSpec) -> float:
    """Return how long a trial sleeps: for each of its epochs, on all subjects a fold's part longer."""
    return EPOCH_S * spec.epochs * (1.0 if spec.fold is not None else spec.folds / (spec.folds - 1))


class Sleeping(NoTraining):
    """A training that sleeps where it has a GPU, and notes when and on which."""

    def __init__(self, spec: TrialSpec, settings: RunSettings) -> None:
        super().__init__(spec)
        self._epochs, self._settings, self._spec = spec.epochs, settings, spec

    def run_epoch(self) -> EpochRow:
        if self._settings.device == "cuda":
            began = time.time()
            time.sleep(seconds_of(self._spec) / self._epochs)
            (gpu,), node = ray.get_gpu_ids(), ray.get_runtime_context().get_node_id()
            note = {
                "trial": self._spec.id,
                "node": node,
                "gpu": int(gpu),
                "worker": os.getpid(),
                "began": began,
                "ended": time.time(),
            }
            with (self._settings.out / f"{os.getpid()}.jsonl").open("a") as notes:
                notes.write(json.dumps(note) + "\n")
        return super().run_epoch()


class SleepingTrial(IdleTrial):
    """A trial with scores and no model."""

    def _start(self) -> Any:
        self._meter.ready()
        return Sleeping(self.spec, self._settings)

    def _save(self, training: Any) -> None:
        """Keep nothing to resume from."""

    def _complete(self, training: Any) -> None:
        epoch, scores = training.kept
        side = "test" if self.spec.reads_test_set else "validation"
        self._write("completed", kept_epoch=epoch, metrics=Metrics.model_validate({side: scores}))


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """The order in simulated time, and then so many runs."""
    study = catalogue.find("automargin_vs_grid")
    plan = Plan(study, with_changes(FULL, [("epochs", EPOCHS), ("validate_every", 1)]), seed=seed)
    phantom = PhantomConfig(train_subjects=50, test_subjects=10, months=(0, 12, 24, 36))
    bank, whole = build_bank(PhantomSource(phantom), 16, folder / "banks"), folder / "whole"
    dispatcher, settings = Dispatcher(plan, bank, whole, {}), RunSettings(whole, "cpu", SHARE)
    while (spec := dispatcher.next()) is not None:
        dispatcher.finished(spec, SleepingTrial(spec, settings).run())
    assert dispatcher.complete
    records = {record.trial: record for record in read_records(whole)}
    for ahead in (0, SLOTS):
        yield simulated(plan, bank, folder / f"ahead-{ahead}", records, ahead)
    patient = {"RAY_worker_register_timeout_seconds": f"{LONGEST_S:g}"}  # here, all start on the same few cores
    for number in range(times):
        with (
            patch.dict(os.environ, patient),
            nodes(folder, NODE) as cluster,
            patch.dict(os.environ, cluster.variables),
        ):
            cluster.complete()
            yield Run(folder / str(number), plan, bank, cluster).outcome(comparable_records(whole))


def simulated(plan: Plan, bank: Bank, out: Path, records: Mapping[str, Record], ahead: int) -> Outcome:
    """Go through the plan in simulated time, with so many trials handed out before a share is free for them."""
    dispatcher, now, work, waiting = Dispatcher(plan, bank, out, {}), 0.0, 0.0, deque[TrialSpec]()
    running: list[tuple[float, str, TrialSpec]] = []
    while True:
        while len(running) + len(waiting) < SLOTS + ahead and (spec := dispatcher.next()) is not None:
            waiting.append(spec)
        while waiting and len(running) < SLOTS:
            spec = waiting.popleft()
            work += seconds_of(spec)
            heapq.heappush(running, (now + seconds_of(spec), spec.id, spec))
        if not running:
            break
        now, _, spec = heapq.heappop(running)
        dispatcher.finished(spec, records[spec.id])
    measured = {"seconds": now, "idle_s": now - work / SLOTS, "beside_the_bound": now * SLOTS / work}
    problem = "" if measured["beside_the_bound"] <= IN_ORDER else "the order leaves shares idle"
    return Outcome(f"{len(records)} trials in simulated time, {ahead} handed out ahead", problem, measured)


@dataclass
class Run:
    """One run on the cluster, and what its trials noted."""

    out: Path
    plan: Plan
    bank: Bank
    cluster: Nodes

    def outcome(self, expected: Mapping[str, str]) -> Outcome:
        """Run it to its end."""
        dispatcher = Dispatcher(self.plan, self.bank, self.out, {})
        with cluster_for("ray", self.cluster.address) as joined, ThreadPoolExecutor(1) as thread:
            assert joined is not None
            backend = replace(RayBackend.of(joined, 1.0, SHARE), trial=SleepingTrial)
            assert backend.slots == SLOTS
            harm = thread.submit(self._harm)
            backend.run(dispatcher, self.out, self.plan.trials)
            lost, there = harm.result()
        notes = [json.loads(line) for log in self.out.glob("*.jsonl") for line in log.read_text().splitlines()]
        problems, measured = list(self._faults(notes, expected)), {"slowdown": slowdown()}
        if not problems:
            measured |= self._measured(notes, lost, there)
            if measured["busy"] < BUSY / slowdown():
                problems.append(f"the shares are busy {measured['busy']:.0%} of the time")
            if measured["late_node_s"] > LATE_S * slowdown():
                problems.append(f"the late node is used after {measured['late_node_s']:.0f} s")
        return Outcome(f"{len(expected)} trials in {SLOTS} shares", "; ".join(problems), measured)

    def _harm(self) -> tuple[float, float]:
        """Return when the second node had gone, and when another one was there."""
        records = self.out / "records"
        seconds_until(lambda: len(list(records.glob("*.json"))) > self.plan.trials / 3, at_most=LONGEST_S)
        self.cluster.lose_second()
        lost = time.time()
        self.cluster.complete()
        return lost, time.time()

    def _faults(self, notes: list[Note], expected: Mapping[str, str]) -> Iterator[str]:
        found, gpus = comparable_records(self.out), defaultdict[tuple[str, int], list[Note]](list)
        if other := [trial for trial in expected if found.get(trial) != expected[trial]]:
            yield f"other records than inline: {other[:5]}"
        for note in notes:
            gpus[note["node"], note["gpu"]].append(note)
        if len(gpus) != 3 * GPUS:
            yield f"{len(gpus)} GPUs were used"
        at_once = {gpu: most_at_once(its) for gpu, its in gpus.items()}
        if wrong := {gpu: number for gpu, number in at_once.items() if number != round(1 / SHARE)}:
            yield f"trials at once: {wrong}"

    def _measured(self, notes: list[Note], lost: float, there: float) -> dict[str, float]:
        """Measure what was there, from when each share has had a trial: all workers start on few cores here."""
        by_share = defaultdict[tuple[str, int], list[Note]](list)
        for note in sorted(notes, key=lambda note: note["began"]):
            by_share[note["node"], note["worker"]].append(note)
        before = {note["node"] for note in notes if note["began"] < lost}
        late = sorted(its[0]["began"] for (node, _), its in by_share.items() if node not in before)[: SLOTS // 2]
        first = sorted(its[0]["began"] for its in by_share.values())
        full, end = first[SLOTS - 1], max(note["ended"] for note in notes)
        tail = sorted(its[-1]["ended"] for its in by_share.values())[-SLOTS]
        away = sum(began - lost for began in late)

        def worked(until: float) -> float:
            return sum(max(0.0, min(note["ended"], until) - max(note["began"], full)) for note in notes)

        return {
            "start_s": full - first[0],
            "seconds": end - full,
            "busy": worked(tail) / (SLOTS * (tail - full) - away),
            "idle_tail_s": end - tail,
            "beside_the_bound": (SLOTS * (end - full) - away) / worked(end),
            "late_node_s": late[0] - there,
            "whole_late_node_s": late[-1] - there,
        }


def most_at_once(notes: list[Note]) -> int:
    """Return how many of these trials ran at the same time, at most."""
    moments = sorted([(note["ended"], -1) for note in notes] + [(note["began"], 1) for note in notes])
    return max(accumulate(change for _, change in moments))
