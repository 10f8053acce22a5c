"""SIGKILL in trials of two minutes, once a checkpoint is there: it is what continues, on Ray, inline, and on two nodes.

Each study is killed again and again until it is finished. It ends with the records of an undisturbed inline run. The
epochs that a checkpoint had when the kill came were not trained again: their rows have the same seconds in the record.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import torch

from fmim_core.records import DONE
from fmim_core.trial.checkpoint import read_checkpoint
from tests.stress.attacked import GONE_WITHIN_S, SPARE, Attacked
from tests.stress.outcome import Outcome
from tests.stress.processes import kill, marked, nodes

TIMES = 36
VICTIMS = {"ray": ("driver", "group", "worker", "raylet"), "inline": ("driver",), "cluster": ("node", "driver")}
LONGEST_DELAY_S = 8.0  # of a kill after the checkpoint; the next one follows after 30 s
DIES_WITHIN_S = 10.0  # what a kill has left without its parent, and may write a last checkpoint
ARGUMENTS = (
    *("../long.py", "--preset", "smoke", "--gpus-per-trial", "0", "--banks", "../banks"),
    *("--tracking-uri", "sqlite:///../mlflow.db"),
)
STUDY = '''"""Trials that take two minutes, nearly all of which they wait: many studies fit on a core."""

import os
import time
from typing import Literal

from fmim import SMOKE, Arm, Space, Study
from fmim.kinds import MARGINS, EpochStatistics, Margins
from fmim_core.margins.automargin import AutoMargin


@MARGINS.register
class Unhurried(AutoMargin):
    """AutoMargin, which waits after each epoch."""

    kind: Literal["unhurried"] = "unhurried"

    def margins(self, statistics: EpochStatistics) -> Margins:
        time.sleep(float(os.environ.get("PAUSE_S", "3")))
        return super().margins(statistics)


LONG = SMOKE.model_copy(update={"settings": (*SMOKE.settings, ("epochs", 40)), "replicates": 1, "variations": ()})
ARM = Arm(
    name="adatriplet_automargin",
    search="AutoMargin",
    settings={"loss": {"kind": "adatriplet"}, "margins": {"kind": "unhurried", "k_delta": 2, "k_an": 2}},
    space=Space(),
)
STUDY = Study(name="long", title="Long trials", question="Do they continue?", presets=(LONG,), arms=(ARM,))
'''


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """One outcome for each kill of studies on each backend in turn, the first of which the seed says."""
    (folder / "long.py").write_text(STUDY, encoding="utf-8")
    draw, done = random.Random(seed), 0
    expected = Attacked(folder / "whole", ARGUMENTS, "inline", None, draw).undisturbed({"PAUSE_S": "0"})
    for number in count(seed):
        backend = tuple(VICTIMS)[number % len(VICTIMS)]
        with nodes(folder) if backend == "cluster" else nullcontext() as cluster:
            one = LongKills(folder / str(number), ARGUMENTS, backend, cluster, draw)
            try:
                for outcome in one.outcomes(times - done, seed + done, expected):
                    yield outcome
                    done += 1
            finally:
                kill(*marked(one.mark))
        if done >= times:
            return


@dataclass(frozen=True)
class Killed:
    """One kill, and the checkpoints that there were: the seconds of each epoch by then, by trial."""

    what: str
    saved: dict[str, list[float]]


@dataclass(frozen=True)
class LongKills(Attacked):
    """One study, killed whenever it has a checkpoint that is new."""

    def outcomes(self, most: int, turn: int, expected: dict[str, str]) -> Iterator[Outcome]:
        """Kill at most so often, the victims in turn, and finish the study; one outcome for each kill."""
        kills, problems, starts, since, process = list[Killed](), list[str](), 1, time.time(), self.start()
        victims, kept = VICTIMS[self.backend], dict[str, str | None]()
        while (code := process.poll()) != DONE:
            if code is not None:
                if starts > len(kills) + SPARE:
                    break
                if self.seconds_until_gone() > GONE_WITHIN_S:
                    problems.append(f"left behind: {self.left()}")
                process, starts, since = self.start(), starts + 1, time.time()
            elif len(kills) < most and self._saved(since):
                kills += self._killed(victims[(turn + len(kills)) % len(victims)], process)
                since, kept = time.time() + DIES_WITHIN_S, kept | self.finished()
            time.sleep(0.2)
        problems += self.faults(code, kept, expected)
        for killed in kills:
            yield self._outcome(killed, problems)
            problems = []

    def _saved(self, since: float) -> dict[str, list[float]]:
        """Return the seconds of the epochs in each checkpoint that has been written since, by trial."""
        found = dict[str, list[float]]()
        for path in (self.out / "checkpoints").glob("*.pt"):
            with suppress(FileNotFoundError):  # the trial is over
                if path.stat().st_mtime > since and (content := read_checkpoint(path, torch.device("cpu"))):
                    rows = [] if content["complete"] else content["training"]["history"]
                    found |= {path.stem: [row["seconds"] for row in rows]} if rows else {}
        return found

    def _killed(self, victim: str, process: subprocess.Popen[bytes]) -> Iterator[Killed]:
        """Kill after a while; yield it where that was before the study was over."""
        time.sleep(delay := self.draw.uniform(0, LONGEST_DELAY_S))
        saved = self._saved(0)
        if self.strike(victim, process):
            epochs = " and ".join(str(len(seconds)) for seconds in saved.values())
            yield Killed(f"{victim} on {self.backend}, {delay:.1f} s after a checkpoint; epochs saved: {epochs}", saved)

    def _outcome(self, killed: Killed, problems: list[str]) -> Outcome:
        final = {record.trial: record for record in self.records()}
        measured = {"continued": 0.0, "with_resumed": 0.0}
        for trial in killed.saved.keys() & final.keys():
            seconds = killed.saved[trial]
            continued = [row.seconds for row in final[trial].history[: len(seconds)]] == seconds
            problems += [] if continued else [f"epochs of {trial} trained again"]
            measured["continued"] += continued
            measured["with_resumed"] += final[trial].cost.resumed > 0
        return Outcome(killed.what, "; ".join(problems), measured)
