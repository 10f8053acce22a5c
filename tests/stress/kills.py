"""SIGKILL at any moment, of driver, worker, raylet, head or node; then the same command until all is finished.

Each study ends with the records of an uninterrupted inline run, apart from times: none lost, none made twice. A process
or scratch folder that a kill has left behind, a start that takes too long to train, or a run that the tracker believes
to be RUNNING at the end, did not hold.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from fmim_core.records import DONE, Record
from tests.stress.attacked import GONE_WITHIN_S, LONGEST_S, Attacked
from tests.stress.outcome import Outcome
from tests.stress.processes import Nodes, kill, marked, nodes, slowdown

TIMES = 50
STUDY = (
    *("lambda_sweep", "--preset", "smoke", "--gpus-per-trial", "0", "--banks", "../banks"),
    *("--tracking-uri", "sqlite:///../mlflow.db"),
)
TRIALS = 28
TRAINS_WITHIN_S = 15.0  # where the cores have nothing else to do; longer in proportion where they have
KINDS = (
    *(("inline", "driver"), ("ray", "driver"), ("ray", "worker"), ("ray", "raylet"), ("ray", "head")),
    *(("cluster", "driver"), ("cluster", "worker"), ("cluster", "node")),
)


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """One outcome for each kill, every kind in turn."""
    draw = random.Random(seed)
    expected = Attacked(folder / "whole", STUDY, "inline", None, draw).undisturbed()
    assert len(expected) == TRIALS
    with ExitStack() as stack:
        cluster: Nodes | None = None
        for number in range(times):
            backend, victim = KINDS[number % len(KINDS)]
            if backend == "cluster":
                cluster = cluster or stack.enter_context(nodes(folder))
                cluster.complete()
            one = Kill(folder / str(number), STUDY, backend, cluster if backend == "cluster" else None, draw, victim)
            try:
                yield one.outcome(expected)
            finally:
                kill(*marked(one.mark))


@dataclass(frozen=True)
class Kill(Attacked):
    """One study, one SIGKILL, and what became of it."""

    victim: str

    def outcome(self, expected: dict[str, str]) -> Outcome:
        """Start, kill, start again until it is finished."""
        due, delay = self.draw.randrange(TRIALS), self.draw.uniform(0, 2)
        delay *= 1 if due else 4  # from start-up on, where no record is due
        what = f"{self.victim} on {self.backend} {delay:.1f} s after {due} records"
        measured, problems = dict[str, float](), list[str]()
        process = self.start()
        killed = self._kill(process, due, delay)
        what = what if killed else f"{self.victim} on {self.backend} not killed: the study was over"
        code = process.wait(LONGEST_S)
        measured["seconds_until_gone"] = self.seconds_until_gone()
        if measured["seconds_until_gone"] > GONE_WITHIN_S:
            problems.append(f"left behind: {self.left()}")
        kept = self.finished()
        starts = 1
        while code != DONE and starts < 5:
            began = time.time()
            code, starts = self.start().wait(LONGEST_S), starts + 1
            first_epoch = [_first_epoch(record) - began for record in self.records() if record.began > began]
            if first_epoch and starts == 2:
                measured["seconds_to_first_epoch"] = min(first_epoch)
        measured["starts"] = starts
        problems += self.faults(code, kept, expected)
        if starts > 1 and self.victim in ("worker", "node"):
            problems.append("the study did not go on by itself")
        measured["slowdown"] = slowdown()
        if measured.get("seconds_to_first_epoch", 0) > TRAINS_WITHIN_S * measured["slowdown"]:
            problems.append(f"trained again after {measured['seconds_to_first_epoch']:.0f} s")
        return Outcome(what, "; ".join(problems), measured)

    def _kill(self, process: subprocess.Popen[bytes], due: int, delay: float) -> bool:
        """Wait for the moment and the victim, and kill it; whether that was before the study was over."""
        while process.poll() is None and len(list((self.out / "records").glob("*.json"))) < due:
            time.sleep(0.05)
        time.sleep(delay)
        return self.strike(self.victim, process)


def _first_epoch(record: Record) -> float:
    """When its first epoch was over, in seconds since 1970."""
    return record.began + record.cost.startup_s + sum(row.seconds for row in record.history[:1])
