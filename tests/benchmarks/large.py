"""A study of as many trials as one likes, with invented results: its plan, and its folder as a run would leave it."""

from __future__ import annotations

import math
import random
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from fmim.declare import Arm, Study
from fmim.declare.changes import with_changes
from fmim.declare.presets import QUICK
from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.runner.folder.study_file import write_study
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.schedule.study_progress import StudyProgress
from fmim.terminal.progress import Progress
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.fingerprint import sha256_of_text
from fmim_core.records import Cost, EpochRow, Metrics, Record, StudyFile
from fmim_core.records.files import SHA256
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space, Uniform
from fmim_spaces.searchers import Random
from tests.benchmarks.measurement import resident_mib
from tests.support.documents import epoch_row, execution, fold_entry

FOLDS, EPOCHS, SLOTS = 5, 5, 64 * 8
SAMPLED = 100  # trials, after each of which the memory is looked up
METRICS = ("mAP", "mAP_at_R", "CMC_1", "CMC_5", "CMC_10", "CMC_1_all_shots")
TIMES = (1, 2, 4, 6, 8)
SETTINGS = (("loss.kind", "adatriplet"), ("margins.kind", "fixed"))


def large_plan(trials: int) -> Plan:
    """A grid and a random search of the same two margins, of about half of the trials each, and five seeds."""
    configurations = trials // FOLDS // 2
    side = math.isqrt(configurations)
    values = tuple(round((number + 1) / side, 4) for number in range(side))
    grid = Space(choices=(Choice(path="margins.epsilon", values=values), Choice(path="margins.beta", values=values)))
    ranges = (Uniform(path="margins.epsilon", low=0.05, high=1.0), Uniform(path="margins.beta", low=0.0, high=1.0))
    arms = (
        Arm(
            name="adatriplet_random",
            search="Random search",
            settings=SETTINGS,
            space=Space(ranges=ranges),
            searcher=Random(samples=configurations),
        ),
        Arm(name="adatriplet_grid", search="Grid search", settings=SETTINGS, space=grid),
    )
    preset = QUICK.model_copy(update={"folds": FOLDS})
    study = Study(
        name="large",
        title="A study of very many trials",
        question="What grows with the number of trials?",
        presets=(preset,),
        arms=arms,
        comparisons=(("adatriplet_random", "adatriplet_grid"),),
    )
    return Plan(study, with_changes(preset, [("epochs", EPOCHS)]), seed=0, replicates=5)


def large_bank(folder: Path) -> Bank:
    """Images that no one looks at."""
    return build_bank(PhantomSource(QUICK.phantom), QUICK.image_size, folder / "banks")


def begin(out: Path, plan: Plan, bank: Bank) -> StudyFile:
    """study.json as a start writes it."""
    return write_study(out, plan, bank, [fold_entry(fold) for fold in range(FOLDS)], execution(SLOTS))


def invented(spec: TrialSpec) -> Record:
    """A completed record: best at ε = 0.4, β = 0.3, with noise, and with every metric at five times."""
    at = {"epsilon": 0.4, "beta": 0.3} | spec.configuration
    noise = random.Random(f"{spec.arm}{spec.number}{spec.replicate}").gauss(0, 0.01)
    value = 0.8 - (at["epsilon"] - 0.4) ** 2 / 2 - (at["beta"] - 0.3) ** 2 / 2 + noise
    values = dict.fromkeys(METRICS, value)
    for moment in TIMES:
        values |= {f"{name}/year_{moment}": value - moment / 100 for name in METRICS} | {f"queries/year_{moment}": 30}
    values |= {"queries": 150, "queries_without_match": 0, "gallery": 40, "chance_mAP": 0.1}
    history = tuple(_row(epoch, value) for epoch in range(1, spec.epochs + 1))  # none of a reference
    cost = Cost(
        train_s=10.0, eval_s=1.0, data_s=0.5, startup_s=0.5, wall_s=12.0, device_share=1.0, epochs=EPOCHS, images=3200
    )
    side = "test" if spec.reads_test_set else "validation"
    parts = {"status": "completed", "metrics": Metrics.model_validate({side: values}), "history": history}
    opened = {"test_opened_at": "2026-01-02T00:00:00.000Z"} if spec.reads_test_set else {}
    return spec.record("2026-01-01T00:00:00.000Z").changed(parts | {"cost": cost, "peak_memory": 600_000_000} | opened)


_ROW = epoch_row(1, validation_mAP=0.5)


def _row(epoch: int, value: float) -> EpochRow:
    return _ROW.model_copy(update={"epoch": epoch, "validation_mAP": value - (EPOCHS - epoch) / 50})


def content_of(record: Record) -> bytes:
    """A record as a file has it, but for the form of some numbers; in a tenth of the time that `Record.text` takes."""
    text = record.model_dump_json(indent=1) + "\n"
    return text.replace("\n", f'\n "{SHA256}": "{sha256_of_text(text)}",\n', 1).encode()


@dataclass
class Watch:
    """The driver's CPU seconds for each trial in the order in which they ended, and its resident MiB after every
    `SAMPLED` of them."""

    seconds: array[float] = field(default_factory=lambda: array("d"))
    mib: array[float] = field(default_factory=lambda: array("d"))

    def mib_after(self, trials: int) -> float:
        """Resident MiB when so many trials were over, to `SAMPLED` trials."""
        return self.mib[max(0, trials // SAMPLED - 1)]


def run_through(plan: Plan, bank: Bank, out: Path, study: StudyFile, slots: int = SLOTS) -> Watch:
    """Write the records of a whole run, `slots` at once, which end in random order; the driver's part alone is timed.

    That is what it does for a trial beyond the record: handing it out, its epochs, its end, and showing progress.
    """
    watch, rng, running, spent = Watch(), random.Random(0), list[TrialSpec](), 0.0
    (out / "records").mkdir(parents=True, exist_ok=True)
    with watched_dispatcher(plan, bank, out, study) as dispatcher:
        while True:
            begun = time.process_time()
            while len(running) < slots and (spec := dispatcher.next()) is not None:
                dispatcher.started(spec)
                running.append(spec)
            spent += time.process_time() - begun
            if not running:
                return watch
            place = rng.randrange(len(running))
            running[place], running[-1] = running[-1], running[place]
            spec = running.pop()
            record = invented(spec)
            record.path(out).write_bytes(content_of(record))  # not waiting for the disk, as a trial does
            begun = time.process_time()
            for row in record.history:
                dispatcher.epoch(spec, row)
            dispatcher.finished(spec, record)
            watch.seconds.append(spent + time.process_time() - begun)
            if len(watch.seconds) % SAMPLED == 0:
                watch.mib.append(resident_mib("VmRSS"))
            spent = 0.0


@contextmanager
def watched_dispatcher(plan: Plan, bank: Bank, out: Path, study: StudyFile) -> Iterator[Dispatcher]:
    """A dispatcher of nothing done yet, with the display of progress as it is where there is no terminal."""
    workload, test_images = Workload(plan, bank.development()), int(bank.summary["test"]["images"])
    lengths = {arm.name: workload.lengths(arm, test_images) for arm in plan.arms}
    progress = Progress(StudyProgress(study, lengths, SLOTS), (), out, Console(quiet=True))
    with progress:
        yield Dispatcher(plan, bank, out, {}, [progress])
