"""A study in a folder of its own, whose processes a scenario kills, and what of it must hold whatever dies."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fmim_core.records import BAD_INPUT, DONE, Record, read_records
from tests.stress.processes import WORKER, Nodes, first, kill, marked, seconds_until, start
from tests.support.documents import comparable_records

LONGEST_S = 900.0  # of one execution
GONE_WITHIN_S = 15.0
SPARE = 2  # starts that may be in vain
COMMANDS = {"worker": WORKER, "raylet": "/raylet ", "head": "/gcs_server "}


@dataclass(frozen=True)
class Attacked:
    """A study that runs in `folder`, with its results in `folder/study`.

    Args:
        arguments: of the program, but for the backend.
        backend: inline, ray (a cluster of its own), or cluster (two nodes, which `cluster` has).
    """

    folder: Path
    arguments: tuple[str, ...]
    backend: str
    cluster: Nodes | None
    draw: random.Random

    @property
    def mark(self) -> str:
        """Of its processes."""
        return str(self.folder)

    @property
    def out(self) -> Path:
        """The folder of its results."""
        return self.folder / "study"

    @property
    def studies(self) -> list[Path]:
        """The folders of the studies: that of its results, or those in it where the program runs several."""
        return [path.parent for path in (*self.out.glob("study.json"), *self.out.glob("*/study.json"))]

    @property
    def screen(self) -> str:
        """All that it has said."""
        return (self.folder / "screen.txt").read_text(errors="replace")

    def start(self, variables: Mapping[str, str] = MappingProxyType({})) -> subprocess.Popen[bytes]:
        """Start it, or go on with it."""
        arguments = (*self.arguments, "--out", self.out.name)
        if self.cluster is None:
            arguments += ("--backend", self.backend)
            return start(arguments, self.folder, self.mark, variables)
        arguments += ("--address", self.cluster.address)
        return start(arguments, self.folder, self.mark, {**self.cluster.variables, **variables})

    def undisturbed(self, variables: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Run it to its end, or find that it has run; return its records without what may vary, by trial."""
        assert self.start(variables).wait(LONGEST_S) == DONE, self.screen
        return self.comparable()

    def finish(self) -> int:
        """Go on to the end; return the exit code. On busy cores Ray may find no time to start, and nothing begins."""
        for _ in range(1 + SPARE):
            if (code := self.start().wait(LONGEST_S)) != BAD_INPUT:
                break
        return code

    def records(self) -> list[Record]:
        """Those that are there now."""
        return [record for study in self.studies for record in read_records(study)]

    def finished(self) -> dict[str, str | None]:
        """When which trials ended."""
        return {
            f"{study.name}/{record.trial}": record.ended_at
            for study in self.studies
            for record in read_records(study)
            if record.final
        }

    def comparable(self) -> dict[str, str]:
        """Records without what may vary, by study and trial."""
        return {
            f"{study.name}/{trial}": record
            for study in self.studies
            for trial, record in comparable_records(study).items()
        }

    def strike(self, victim: str, process: subprocess.Popen[bytes]) -> bool:
        """Find the victim, and kill it; return whether that was before the study was over."""
        while process.poll() is None:
            if victim == "driver":
                process.send_signal(signal.SIGKILL)
                return True
            if victim == "group":
                kill(*marked(self.mark))
                return True
            if victim == "node" and self.cluster:
                self.cluster.lose_second()
                return True
            if found := self._find(COMMANDS[victim]):
                kill(found)
                return True
            time.sleep(0.02)
        return False

    def _find(self, command: str) -> int | None:
        marks = [self.cluster.head, self.cluster.second] if self.cluster else [self.mark]
        self.draw.shuffle(marks)
        return next((found for mark in marks if (found := first(mark, command))), None)

    def seconds_until_gone(self) -> float:
        """Wait until nothing of an execution that has ended is left, not for ever; return how long that took."""
        return seconds_until(lambda: not self.left(), at_most=2 * GONE_WITHIN_S)

    def left(self) -> list[str]:
        """Processes of the study that live, workers that a cluster still holds for it, and scratch folders."""
        left = [*marked(self.mark).values(), *map(str, (self.folder / "tmp").glob("fmim-*"))]
        if self.cluster:
            living = [*marked(self.cluster.head).values(), *marked(self.cluster.second).values()]
            left += [command for command in living if "Trainable" in command]
        return left

    def faults(self, code: int, kept: Mapping[str, str | None], expected: Mapping[str, str]) -> Iterator[str]:
        """What does not hold now that the study is finished.

        Args:
            code: the exit code of the last execution.
            kept: when trials ended that had ended before a kill.
            expected: the records of an undisturbed run, by trial.
        """
        found, finished = self.comparable(), self.finished()
        if code != DONE:
            yield f"exit code {code}: {self.screen[-3000:]}"
        if (scratch := self.out / "checkpoints" / ".model").exists():
            yield f"left behind: {scratch}"
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
