"""Whether a study of 100,000 trials on 64 nodes of 8 slots is as easy as a small one, without any training: what the
driver takes for each trial, what resuming and the report take, and the commands that look at the folder.

Each is measured in a process of its own, so that its memory is its own, too.
"""

from __future__ import annotations

import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tests.benchmarks.large import SLOTS, Watch, begin, large_bank, large_plan, run_through
from tests.benchmarks.measurement import Measurement, resident_mib

TRIALS = 100_000
FLAT, RESUME_S, REPORT_S, REPORT_GIB = 1.25, 30.0, 60.0, 4.0
"""What is asked: of the last trials beside the first; seconds and GiB with 100,000 records."""


def measure(device: torch.device, trials: int = TRIALS) -> Iterator[Measurement]:
    """Nothing on a GPU, since nothing is trained."""
    if device.type != "cpu":
        return
    with tempfile.TemporaryDirectory(prefix="fmim-scale-") as name:
        folder = Path(name)
        watch: Watch = alone(run, folder, trials).result
        yield from flat(watch)
        records = f"{len(watch.seconds):,} records"
        parsed = alone(parse_all, folder).seconds
        against = "Python's json on the same files"
        for what, function, asked in (("resuming", resume, RESUME_S), ("the report", report, REPORT_S)):
            ran = alone(function, folder, trials)
            note = f"{ran.seconds / parsed:.1f} × {against}; at most {ran.gib:.2f} GiB"
            yield Measurement("scale", f"{what} of {records}", ran.seconds, f"{asked:g} s", asked, 1.0, note)
        yield Measurement("scale", "  its memory", ran.gib, f"{REPORT_GIB:g} GiB", REPORT_GIB, 1.0, unit="GiB")
        for command in (status, overview):
            seconds = alone(command, folder, trials).seconds
            yield Measurement("scale", f"fmim {command.__name__} with {records}", seconds, against, parsed)


def flat(watch: Watch) -> Iterator[Measurement]:
    """The last tenth of the trials beside an early one, and the memory of the second half beside that of the first."""
    count = len(watch.seconds)
    tenth, half = count // 10, count // 2
    first = sum(watch.seconds[tenth : 2 * tenth]) / tenth
    last = sum(watch.seconds[count - SLOTS - tenth : count - SLOTS]) / tenth  # all slots are at work
    what = f"the driver's CPU time for each of the last {tenth:,} of {count:,} trials, {SLOTS} at once"
    note = f"in all {sum(watch.seconds):.1f} s, of which {watch.seconds[0]:.1f} s before the first is over"
    yield Measurement("scale", what, last, f"for an early {tenth:,}", first, FLAT, note)
    before, after = (
        1024 * (watch.mib_after(end) - watch.mib_after(begin)) / (end - begin)
        for begin, end in ((tenth, half), (half, count - SLOTS))
    )
    what, note = f"  memory for each of the last {half:,}", f"{watch.mib[-1]:.0f} MiB at the end"
    yield Measurement("scale", what, after, f"for those before, from {tenth:,}", before, FLAT, note, unit="KiB")


@dataclass(frozen=True)
class Ran:
    """What a function returned in a process of its own, its seconds, and the most memory that the process had."""

    result: Any
    seconds: float
    gib: float


def alone(function: Callable[..., Any], *arguments: Any) -> Ran:
    """Call it in a new process, without counting the start of that and its imports of PyTorch."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(_watched, function, *arguments).result()


def _watched(function: Callable[..., Any], *arguments: Any) -> Ran:
    begun = time.perf_counter()
    result = function(*arguments)
    return Ran(result, time.perf_counter() - begun, resident_mib("VmHWM") / 2**10)


def run(folder: Path, trials: int) -> Watch:
    """A whole run of trials that do nothing."""
    plan, bank = large_plan(trials), large_bank(folder)
    return run_through(plan, bank, folder / "study", begin(folder / "study", plan, bank))


def resume(folder: Path, trials: int) -> None:
    """What a start does from its plan to its first trial, where the records of a few are lost."""
    from fmim.plan.trainings_check import check_trainings
    from fmim.runner.folder.ownership import check_folder
    from fmim.runner.folder.study_file import outcomes_of_plan
    from fmim.runner.reuse.earlier import earlier_trials
    from fmim.runner.reuse.known import EqualTrials
    from fmim.runner.schedule.dispatcher import Dispatcher

    out = folder / "study"
    lost = sorted((out / "records").glob("*.fold*.json"))[::1000]
    for path in lost:
        path.unlink()
    check_folder(out, "large")
    plan, bank = large_plan(trials), large_bank(folder)
    check_trainings(plan, bank.development())
    outcomes = outcomes_of_plan(out, plan, bank)
    begin(out, plan, bank)
    EqualTrials(plan, bank, earlier_trials(folder, bank.fingerprint, plan.seed, but=out)).reused(outcomes)
    dispatcher = Dispatcher(plan, bank, out, outcomes)
    left = list(iter(dispatcher.next, None))
    assert len(left) == len(lost)


def report(folder: Path, trials: int) -> None:
    """As `fmim report` builds it."""
    from fmim_reports.build import build_report

    build_report(folder / "study")


def status(folder: Path, trials: int) -> None:
    """As `fmim status` reads it."""
    from fmim.terminal.status import StudyStatus

    assert StudyStatus.of(folder / "study").progress.done > 0.99 * large_plan(trials).trials


def overview(folder: Path, trials: int) -> None:
    """As `fmim overview` writes it."""
    from fmim.runner.folder.overview import write_overview

    write_overview(folder)


def parse_all(folder: Path) -> None:
    """Read every record as plain JSON."""
    for path in (folder / "study" / "records").iterdir():
        json.loads(path.read_bytes())
