"""A study of 10,000 trials, without any training: what the driver takes for each trial, resuming, report and status.

Each is measured in a process of its own, so that its memory is its own, too.
"""

from __future__ import annotations

import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from fmim.declare import Arm, Study
from fmim.declare.presets import QUICK
from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.records import Cost, Metrics, Record
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space, Uniform
from fmim_spaces.searchers import Random
from tests.benchmarks.measurement import Measurement, alone
from tests.support.documents import epoch_row, execution, fold_entry

TRIALS = 10_000
FLAT, RESUME_S, REPORT_S, REPORT_GIB, STATUS_S = 1.25, 4.0, 12.0, 1.0, 2.0
"""What is asked: of a late trial beside an early one; seconds and GiB with 10,000 records."""
FOLDS, EPOCHS, SLOTS = 5, 5, 64
METRICS = ("mAP", "mAP_at_R", "CMC_1", "CMC_5", "CMC_10", "CMC_1_all_shots")
TIMES = (1, 2, 4, 6, 8)
SETTINGS = (("loss.kind", "adatriplet"), ("margins.kind", "fixed"))


def measure(device: torch.device, trials: int = TRIALS) -> Iterator[Measurement]:
    """Nothing on a GPU, since nothing is trained."""
    if device.type != "cpu":
        return
    with tempfile.TemporaryDirectory(prefix="fmim-scale-") as name:
        folder = Path(name)
        seconds, _, _ = alone(run, folder, trials)
        yield late_beside_early(seconds)
        for function, asked in ((resume, RESUME_S), (report, REPORT_S), (status, STATUS_S)):
            most, took, gib = alone(function, folder, trials)
            gib = most or gib  # where it has a process of its own below that one
            what = f"{function.__name__} of {len(seconds):,} trials"
            yield Measurement("scale", what, took, f"{asked:g} s", asked, 1.0, f"at most {gib:.2f} GiB")
            if function is report:
                yield Measurement("scale", "  its memory", gib, f"{REPORT_GIB:g} GiB", REPORT_GIB, 1.0, unit="GiB")


def late_beside_early(seconds: list[float]) -> Measurement:
    """The driver's time for each of the last tenth of the trials beside an early tenth, all slots at work."""
    tenth = len(seconds) // 10
    first, last = sum(seconds[tenth : 2 * tenth]), sum(seconds[-tenth - SLOTS : -SLOTS])
    what = f"the driver's CPU time for each of the last {tenth:,} trials"
    note = f"in all {sum(seconds):.1f} s, of which {seconds[0]:.1f} s before the first is over"
    return Measurement("scale", what, last / tenth, f"an early {tenth:,}", first / tenth, FLAT, note)


def large_plan(trials: int) -> Plan:
    """A grid and a random search of the same two margins, of about half of the trials each, and five seeds."""
    configurations = trials // FOLDS // 2
    side = math.isqrt(configurations)
    values = tuple(round((number + 1) / side, 4) for number in range(side))
    grid = Space(choices=(Choice(path="margins.epsilon", values=values), Choice(path="margins.beta", values=values)))
    ranges = (Uniform(path="margins.epsilon", low=0.05, high=1.0), Uniform(path="margins.beta", low=0.0, high=1.0))
    drawn = Arm(
        name="adatriplet_random",
        search="Random search",
        settings=SETTINGS,
        space=Space(ranges=ranges),
        searcher=Random(samples=configurations),
    )
    preset = QUICK.model_copy(update={"folds": FOLDS})
    study = Study(
        name="large",
        title="A study of very many trials",
        question="What grows with the number of trials?",
        presets=(preset,),
        arms=(drawn, Arm(name="adatriplet_grid", search="Grid search", settings=SETTINGS, space=grid)),
        comparisons=(("adatriplet_random", "adatriplet_grid"),),
    )
    return Plan(study, with_changes(preset, [("epochs", EPOCHS)]), seed=0, replicates=5)


def large_bank(folder: Path) -> Bank:
    """Images that no one looks at."""
    return build_bank(PhantomSource(QUICK.phantom), QUICK.image_size, folder / "banks")


def invented(spec: TrialSpec) -> Record:
    """A completed record: best at ε = 0.4, β = 0.3, with noise, and with every metric at five times."""
    at = {"epsilon": 0.4, "beta": 0.3} | spec.configuration
    noise = random.Random(f"{spec.arm}{spec.number}{spec.replicate}").gauss(0, 0.01)
    value = 0.8 - (at["epsilon"] - 0.4) ** 2 / 2 - (at["beta"] - 0.3) ** 2 / 2 + noise
    values = dict.fromkeys(METRICS, value)
    for moment in TIMES:
        values |= {f"{name}/year_{moment}": value - moment / 100 for name in METRICS} | {f"queries/year_{moment}": 30}
    values |= {"queries": 150, "queries_without_match": 0, "gallery": 40, "chance_mAP": 0.1}
    history = tuple(epoch_row(epoch, validation_mAP=value) for epoch in range(1, spec.epochs + 1))
    cost = Cost(train_s=10.0, eval_s=1.0, wall_s=12.0, device_share=1.0, epochs=EPOCHS, images=3200)
    side = "test" if spec.reads_test_set else "validation"
    parts = {"status": "completed", "metrics": Metrics.model_validate({side: values}), "history": history, "cost": cost}
    opened = {"test_opened_at": "2026-01-02T00:00:00.000Z"} if spec.reads_test_set else {}
    return spec.record("2026-01-01T00:00:00.000Z").changed(parts | opened)


def run(folder: Path, trials: int) -> list[float]:
    """Write a whole run's records, `SLOTS` at once, which end in random order; return the driver's seconds for each."""
    from fmim.runner.folder.study_file import write_study
    from fmim.runner.schedule.dispatcher import Dispatcher

    plan, bank, out = large_plan(trials), large_bank(folder), folder / "study"
    write_study(out, plan, bank, [fold_entry(fold) for fold in range(FOLDS)], execution(SLOTS))
    seconds, rng, running, begun = list[float](), random.Random(0), list[TrialSpec](), time.process_time()
    dispatcher = Dispatcher(plan, bank, out, {})
    while True:
        while len(running) < SLOTS and (spec := dispatcher.next()) is not None:
            dispatcher.started(spec)
            running.append(spec)
        if not running:
            return seconds
        spent = time.process_time() - begun
        spec = running.pop(rng.randrange(len(running)))
        record = invented(spec)
        record.save(out)  # not the driver's work
        begun = time.process_time()
        dispatcher.finished(spec, record)
        seconds.append(spent + time.process_time() - begun)
        begun = time.process_time()


def resume(folder: Path, trials: int) -> None:
    """Do what a start does from its plan to its first trial, where the records of a few are lost."""
    from fmim.runner.folder.outcomes import outcomes_of_plan
    from fmim.runner.folder.study_folder import check_folder
    from fmim.runner.schedule.dispatcher import Dispatcher

    out = folder / "study"
    lost = sorted((out / "records").glob("*.fold*.json"))[::1000]
    for path in lost:
        path.unlink()
    check_folder(out, "large")
    plan, bank = large_plan(trials), large_bank(folder)
    dispatcher = Dispatcher(plan, bank, out, outcomes_of_plan(out, plan, bank))
    assert len(list(iter(dispatcher.next, None))) == len(lost)


_REPORT = """
import pathlib, sys
from fmim_reports.build import build_report
build_report(pathlib.Path(sys.argv[1]))
print(pathlib.Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def report(folder: Path, trials: int) -> float:
    """Build the report as `fmim report` does, in a process that has not loaded torch; return its most GiB."""
    command = [sys.executable, "-c", _REPORT, str(folder / "study")]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout) / 2**20


def status(folder: Path, trials: int) -> None:
    """Read the folder, as `fmim status` does."""
    from fmim.terminal.status import StudyStatus

    assert StudyStatus(folder / "study").progress.done > 0.99 * large_plan(trials).trials
