"""Ctrl-C and SIGTERM at every stage of a study, once and twice; also in `fmim paper` and `fmim robust`, with SIGKILL.

Then the program ends with exit code 130, or by the signal: without a traceback, a process or a scratch folder that
stays, or a record that is damaged. The same command again finishes, with the records of an undisturbed run.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM, Signals

from fmim_core.records import DONE, INTERRUPTED, read_records
from tests.stress.attacked import GONE_WITHIN_S, LONGEST_S, Attacked
from tests.stress.outcome import Outcome
from tests.stress.processes import kill, marked
from tests.support.own_files import write_files

STUDY = '''"""Two arms, of 14 trials with the references."""

from fmim import SMOKE, Arm, Study, point

SHORT = SMOKE.model_copy(update={"variations": ()})
ARMS = [
    Arm(
        name=f"triplet_{number}",
        search=f"ε = 0.{number}",
        settings={"loss": {"kind": "triplet"}, "margins": {"kind": "fixed"}},
        space=point(margins__epsilon=number / 10),
    )
    for number in (2, 5)
]
STUDY = Study(
    name="two", title="Two", question="Does it end in order?", presets=(SHORT,), arms=ARMS, baseline="triplet_2"
)
'''
SHORT = ("--preset", "smoke", "--gpus-per-trial", "0", "--tracking-uri", "sqlite:///../mlflow.db")
COMMANDS = {
    "run": ("run", "../two.py", *SHORT),
    "robust": ("robust", "../two.py", "--vary", "epochs=1,3", *SHORT),
    "paper": ("paper", "--epochs", "1", "--replicates", "1", *SHORT),
}
IMPORTS, A_RECORD = "imports", "a record"
STAGES = (
    *(IMPORTS, "looking up", "loading PyTorch", "checking the plan", "reading the images", "trials:", A_RECORD),
    *("writing the report", "bringing MLflow"),
)
"""What the program says as each begins; but for the first imports, and for a number of records, which is drawn."""
TWICE = (*((SIGINT, wait, SIGINT) for wait in (0.0, 0.1, 0.5, 2.0)), (SIGTERM, 0.1, SIGINT))
RUNS = [
    *(("run", backend, stage, (SIGINT,)) for stage in STAGES for backend in ("inline", "ray")),
    *(("run", "ray", stage, (SIGTERM,)) for stage in STAGES[1:]),  # which Ray's own processes get as well
    *(("run", backend, None, signals) for signals in TWICE for backend in ("inline", "ray")),
    *((command, "ray", A_RECORD, (number,)) for command in ("robust", "paper") for number in (SIGINT, SIGKILL)),
]
TIMES = len(RUNS)
FOREIGN = ("Traceback", "Exception ignored", "*** SIG")


def attempts(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
    """One outcome for each interruption."""
    write_files(folder, {"two.py": STUDY})
    draw, expected = random.Random(seed), dict[str, dict[str, str]]()
    for number in range(times):
        command, backend, stage, signals = RUNS[number % len(RUNS)]
        if command not in expected:
            whole = Attacked(folder / f"whole_{command}", COMMANDS[command], "inline", None, draw)
            expected[command] = whole.undisturbed()
        drawn = draw.choice(STAGES) if stage is None else stage
        one = Interrupted(folder / str(number), COMMANDS[command], backend, None, draw, drawn, signals)
        try:
            yield one.outcome(expected[command])
        finally:
            kill(*marked(one.mark))


@dataclass(frozen=True)
class Interrupted(Attacked):
    """One study, or several, interrupted at a stage, and what became of it."""

    stage: str
    signals: Sequence[float]  # and seconds between them

    def outcome(self, expected: dict[str, str]) -> Outcome:
        """Start, interrupt, start again."""
        what, problems, seconds = self.interrupt(self.draw.randrange(len(expected)))
        kept = self.finished()
        problems += self.faults(self.finish(), kept, expected)
        return Outcome(what, "; ".join(problems), {"seconds_to_end": seconds})

    def interrupt(self, due: int) -> tuple[str, list[str], float]:
        """Start it, and interrupt it at its stage; return what was done, what did not hold, and the seconds to its end.

        Args:
            due: the number of records that are there, where the stage is one.
        """
        process = self.start()
        while process.poll() is None and not self._reached(process.pid, due):
            time.sleep(0.01)
        time.sleep(delay := self.draw.uniform(0, 0.1 if self.stage == IMPORTS else 1.0))
        over, begun = process.poll() is not None, time.monotonic()
        for number in self.signals:
            time.sleep(0 if isinstance(number, Signals) else number)
            if isinstance(number, Signals) and process.poll() is None:
                os.killpg(process.pid, number)  # as a terminal does
        code = process.wait(LONGEST_S)
        seconds, problems = time.monotonic() - begun, list[str]()
        if code not in (DONE, INTERRUPTED, *(-number for number in self.signals)):
            problems.append(f"exit code {code}")
        if self.seconds_until_gone() > GONE_WITHIN_S:
            problems.append(f"left behind: {self.left()}")
        problems += [f"said: {self.screen}" for words in FOREIGN if words in self.screen]
        for study in self.studies:
            list(read_records(study, lambda path, damaged: problems.append(str(damaged))))
        moment = f"after {due} records" if self.stage == A_RECORD else f"at {self.stage!r}"
        sent = ", ".join(number.name if isinstance(number, Signals) else f"{number:g} s" for number in self.signals)
        what = f"{sent} to {self.arguments[0]} on {self.backend}, {delay:.2f} s {moment}, exit code {code}"
        return what + ": it was over" * over, problems, seconds

    def _reached(self, process: int, due: int) -> bool:
        if self.stage == IMPORTS:
            return "pydantic" in Path(f"/proc/{process}/maps").read_text()
        if self.stage == A_RECORD:
            return sum(len(list(study.glob("records/*.json"))) for study in self.studies) >= due
        return self.stage in self.screen
