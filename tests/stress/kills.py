"""SIGKILL at any moment, of driver, worker, raylet, head or node; then the same command until all is finished.

Each study ends with the records of an uninterrupted inline run, apart from times: none lost, none made twice. A process
or scratch folder that a kill has left behind, a start that takes too long to train, or a run that the tracker believes
to be RUNNING at the end, did not hold.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fmim_core.records import DONE, Record, read_records
from tests.stress.outcome import Outcome
from tests.stress.processes import WORKER, Nodes, first, kill, marked, nodes, seconds_until, slowdown, start
from tests.support.documents import comparable_records

TIMES = 50
STUDY = (
    *("lambda_sweep", "--preset", "smoke", "--gpus-per-trial", "0", "--banks", "../banks", "--out", "study"),
    *("--tracking-uri", "sqlite:///../mlflow.db"),
)
TRIALS = 28
GONE_WITHIN_S = 15.0
TRAINS_WITHIN_S = 15.0  # where the cores have nothing else to do; longer in proportion where they have
LONGEST_S = 900.0  # of one execution
KINDS = (
    *(("inline", "driver"), ("ray", "driver"), ("ray", "worker"), ("ray", "raylet"), ("ray", "head")),
    *(("cluster", "driver"), ("cluster", "worker"), ("cluster", "node")),
)

COMMANDS = {"worker": WORKER, "raylet": "/raylet ", "head": "/gcs_server "}


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """One outcome for each kill, every kind in turn."""
    whole = folder / "whole"
    assert start((*STUDY, "--backend", "inline"), whole, "whole").wait(LONGEST_S) == DONE, screen(whole)
    expected, draw = comparable_records(whole / "study"), random.Random(seed)
    assert len(expected) == TRIALS
    with ExitStack() as stack:
        cluster: Nodes | None = None
        for number in range(times):
            backend, victim = KINDS[number % len(KINDS)]
            if backend == "cluster":
                cluster = cluster or stack.enter_context(nodes(folder))
                cluster.complete()
            one = Kill(folder / str(number), backend, victim, cluster if backend == "cluster" else None, draw)
            try:
                yield one.outcome(expected)
            finally:
                kill(*marked(one.mark))


def screen(folder: Path) -> str:
    """Return the end of what a study has said."""
    return (folder / "screen.txt").read_text(errors="replace")[-3000:]


@dataclass(frozen=True)
class Kill:
    """One study in a folder of its own, one SIGKILL, and what became of it."""

    folder: Path
    backend: str
    victim: str
    cluster: Nodes | None
    draw: random.Random

    def outcome(self, expected: dict[str, str]) -> Outcome:
        """Start, kill, start again until it is finished."""
        due, delay = self.draw.randrange(TRIALS), self.draw.uniform(0, 2)
        delay *= 1 if due else 4  # from start-up on, where no record is due
        what = f"{self.victim} on {self.backend} {delay:.1f} s after {due} records"
        measured, problems = dict[str, float](), list[str]()
        process = self._start()
        killed = self._kill(process, due, delay)
        what = what if killed else f"{self.victim} on {self.backend} not killed: the study was over"
        code = process.wait(LONGEST_S)
        measured["seconds_until_gone"] = seconds_until(lambda: not self._left(), at_most=2 * GONE_WITHIN_S)
        if measured["seconds_until_gone"] > GONE_WITHIN_S:
            problems.append(f"left behind: {self._left()}")
        kept = self._finished()
        starts = 1
        while code != DONE and starts < 5:
            began = time.time()
            code, starts = self._start().wait(LONGEST_S), starts + 1
            first_epoch = [_first_epoch(record) - began for record in self._records() if _began(record) > began]
            if first_epoch and starts == 2:
                measured["seconds_to_first_epoch"] = min(first_epoch)
        measured["starts"] = starts
        problems += self._faults(code, starts, kept, expected)
        measured["slowdown"] = slowdown()
        if measured.get("seconds_to_first_epoch", 0) > TRAINS_WITHIN_S * measured["slowdown"]:
            problems.append(f"trained again after {measured['seconds_to_first_epoch']:.0f} s")
        return Outcome(what, "; ".join(problems), measured)

    @property
    def mark(self) -> str:
        """Of its processes."""
        return str(self.folder)

    def _start(self) -> subprocess.Popen[bytes]:
        backend = ("--backend", "inline") if self.backend == "inline" else ()
        if self.cluster is None:
            return start((*STUDY, *backend), self.folder, self.mark)
        return start((*STUDY, "--address", self.cluster.address), self.folder, self.mark, self.cluster.variables)

    def _records(self) -> list[Record]:
        return list(read_records(self.folder / "study"))

    def _finished(self) -> dict[str, str | None]:
        """When which trials ended."""
        return {record.trial: record.ended_at for record in self._records() if record.final}

    def _kill(self, process: subprocess.Popen[bytes], due: int, delay: float) -> bool:
        """Wait for the moment and the victim, and kill it; whether that was before the study was over."""
        records = self.folder / "study" / "records"
        while process.poll() is None and len(list(records.glob("*.json"))) < due:
            time.sleep(0.05)
        time.sleep(delay)
        while process.poll() is None:
            if self.victim == "driver":
                process.send_signal(signal.SIGKILL)
                return True
            if self.victim == "node" and self.cluster:
                self.cluster.lose_second()
                return True
            if found := self._find(COMMANDS[self.victim]):
                kill(found)
                return True
            time.sleep(0.02)
        return False

    def _find(self, command: str) -> int | None:
        marks = [self.cluster.head, self.cluster.second] if self.cluster else [self.mark]
        self.draw.shuffle(marks)
        return next((found for mark in marks if (found := first(mark, command))), None)

    def _left(self) -> list[str]:
        """Processes of the study that live, workers that a cluster still holds for it, and scratch folders."""
        left = [*marked(self.mark).values(), *map(str, (self.folder / "tmp").glob("fmim-*"))]
        if self.cluster:
            living = [*marked(self.cluster.head).values(), *marked(self.cluster.second).values()]
            left += [command for command in living if "Trainable" in command]
        return left

    def _faults(self, code: int, starts: int, kept: dict[str, str | None], expected: dict[str, str]) -> Iterator[str]:
        found, finished = comparable_records(self.folder / "study"), self._finished()
        if code != DONE:
            yield f"exit code {code}: {screen(self.folder)}"
        if (scratch := self.folder / "study" / "checkpoints" / ".model").exists():
            yield f"left behind: {scratch}"
        if starts > 1 and self.victim in ("worker", "node"):
            yield "the study did not go on by itself"
        if lost := expected.keys() - found.keys():
            yield f"lost: {sorted(lost)}"
        if other := [trial for trial, record in found.items() if record != expected.get(trial)]:
            yield f"other records than inline: {sorted(other)}"
        if again := [trial for trial, ended in kept.items() if ended != finished.get(trial)]:
            yield f"made twice: {sorted(again)}"
        with sqlite3.connect(self.folder.parent / "mlflow.db") as database:
            (running,) = database.execute("select count(*) from runs where status = 'RUNNING'").fetchone()
        if running:
            yield f"{running} runs are RUNNING"


def _began(record: Record) -> float:
    return datetime.fromisoformat(record.started_at).timestamp()


def _first_epoch(record: Record) -> float:
    """When its first epoch was over, in seconds since 1970."""
    return _began(record) + record.cost.startup_s + sum(row.seconds for row in record.history[:1])
