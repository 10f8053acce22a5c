"""The time that is left, on simulated slots whose clock is known: no estimate without a basis, then a true one."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fmim.declare import Arm
from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.runner.folder.study_file import write_study
from fmim.runner.forecast.calibrate import Timing
from fmim.runner.forecast.forecast import Clock, Slots
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.schedule.study_progress import StudyProgress
from fmim.runner.schedule.time_left import Durations, Waiting, about, makespan
from fmim.runner.search.selection import Outcome
from fmim_core.data.bank.bank import Bank
from fmim_core.records import EpochRow, Record, RunningTrial, TrialLengths
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space
from fmim_spaces.searcher import Searcher
from fmim_spaces.searchers import Grid, Random
from fmim_spaces.successive_halving import ASHA
from tests.studies.runner.forecast.test_calibrate import invented
from tests.support.documents import execution, fold_entry
from tests.support.simulation import MARGINS, plan_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class NoisyClock(Clock):
    """Every trial takes up to a fifth more or less, and those of some arms twice as long."""

    def seconds(self, spec: TrialSpec, after: int, until: int) -> float:
        noise = random.Random(spec.id).uniform(0.8, 1.2) * (2.0 if spec.arm == "slow" else 1.0)
        return noise * super().seconds(spec, after, until)


@dataclass
class WatchedSlots(Slots):
    """Slots of which somebody is told who began and ended when, as the driver of a study is."""

    progress: StudyProgress | None = None
    begun: dict[str, float] = field(default_factory=dict)
    estimates: list[tuple[int, float, float | None]] = field(default_factory=list)  # trials over, when, seconds left

    def _train(self, spec: TrialSpec, after: int, before: float = 0.0) -> None:
        if not after:
            self.begun[spec.id] = self._now + before
            self.watched.running[spec.id] = RunningTrial(
                trial=spec.id,
                arm=spec.arm,
                stage=spec.stage,
                started_at=self.at(self._now + before).isoformat(),
                epochs=spec.epochs,
            )
        super()._train(spec, after, before)

    @property
    def watched(self) -> StudyProgress:
        assert self.progress is not None
        return self.progress

    def at(self, seconds: float) -> datetime:
        return BEGIN + timedelta(seconds=seconds)

    def started(self, spec: TrialSpec) -> None: ...

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None: ...

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """As the dispatcher's observer."""
        self.watched.running.pop(spec.id)
        wall = self._now - self.begun[spec.id]
        self.watched.count(replace(Outcome.of(record), startup_s=1.0, wall_s=wall, epochs=len(record.history)))
        self.estimates.append((self.watched.done, self._now, self.watched.seconds_left(self.at(self._now))))


def watched(plan: Plan, bank: Bank, out: Path, slots: int) -> tuple[WatchedSlots, float]:
    """A whole plan on simulated slots, with what was estimated whenever a trial was over, and what it took."""
    workload, test_images = Workload(plan, bank.development()), int(bank.summary["test"]["images"])
    folds = [fold_entry(fold) for fold in range(plan.preset.folds)]
    study = write_study(out, plan, bank, folds, execution(slots))
    lengths = {arm.name: workload.lengths(arm, test_images) for arm in plan.arms}
    timing = Timing(startup=1.0, step=0.5, image=0.02, warm_up=0.5, between=0.05, peak_memory=1e9)
    clock = NoisyClock(workload, invented(plan, timing, first=2.0, gap=0.1), test_images)
    progress = StudyProgress(study, lengths, slots)
    assert progress.seconds_left(BEGIN) is None
    simulated = WatchedSlots(Dispatcher(plan, bank, out, {}), clock, slots, "mAP", progress=progress)
    simulated.dispatcher = Dispatcher(plan, bank, out, {}, [simulated])
    return simulated, simulated.run()


def arm(name: str, searcher: Searcher, epochs: int, space: Space = MARGINS) -> Arm:
    settings = (("loss.kind", "adatriplet"), ("margins.kind", "fixed"), ("epochs", epochs))
    return Arm(name=name, search=name, settings=settings, space=space, searcher=searcher)


GRID = Space(
    choices=(
        Choice(path="margins.epsilon", values=(0.1, 0.25, 0.5, 0.75)),
        Choice(path="margins.beta", values=(0.5,)),
    )
)
UNEQUAL = plan_of(
    arm("long", Grid(), 40, GRID), arm("slow", Random(samples=6), 9), arm("short", Random(samples=30), 3), replicates=3
)
STOPPING = plan_of(arm("asha", ASHA(samples=27, reduction=3), 9), arm("short", Random(samples=12), 9), replicates=2)


@pytest.mark.parametrize(("plan", "bound"), [(UNEQUAL, 0.25), (STOPPING, 0.45)])
@pytest.mark.parametrize("slots", [1, 2, 6])
def test_the_estimate_is_true_once_each_slot_has_run_a_trial(
    plan: Plan, bound: float, slots: int, tiny_bank: Bank, tmp_path: Path
) -> None:
    """Its error as a share of the whole time, though the first trials are many times as long as the last; a search that
    stops trials stops fewer at first, so that it seems longer.
    """
    simulated, took = watched(plan, tiny_bank, tmp_path, slots)
    assert simulated.watched.done == simulated.watched.total
    made = [(done, at, left) for done, at, left in simulated.estimates if left is not None]
    errors = [(at, abs(left - (took - at)) / took) for done, at, left in made if done >= slots]
    assert max(error for _, error in errors) < bound
    assert max(error for at, error in errors if at > 0.75 * took) < 0.15
    assert made[-1][2] == 0
    if plan is UNEQUAL:
        assert made[0][0] == 1
    else:  # five configurations of the search that stops, and whatever else was over by then
        assert min(5, slots) <= made[0][0] < 12


def test_epochs_of_running_trials_are_a_basis_before_any_is_over(tiny_bank: Bank, tmp_path: Path) -> None:
    """Two epochs of 10 s: eight are left of this trial, and ten of each other one but for what comes by their side."""
    plan = plan_of(arm("grid", Grid(), 10, GRID), replicates=1)
    study = write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution(1))
    progress = StudyProgress(study, {"grid": TrialLengths(search=1.0, replicate=2.0)}, slots=1)
    running = RunningTrial(
        trial="grid.c00.fold0", arm="grid", stage="search", started_at=BEGIN.isoformat(), epochs=10, epoch=1, epoch_s=15
    )
    progress.running["grid.c00.fold0"] = running
    assert progress.seconds_left(BEGIN + timedelta(seconds=20)) is None
    progress.running["grid.c00.fold0"] = running.model_copy(update={"epoch": 2, "epoch_s": 10.0})
    assert progress.seconds_left(BEGIN + timedelta(seconds=25)) == pytest.approx(80 - 5 + 7 * 100 + 200)


@pytest.mark.parametrize(
    ("running", "waiting", "slots", "seconds"),
    [
        ([], {}, 2, 0),
        ([("a", 5.0), ("a", 3.0)], {"a": Waiting(searching=2)}, 2, 5),
        ([], {"a": Waiting(search=4, search_s=10, replicates=2, replicate_s=7)}, 2, 27),
        ([], {"a": Waiting(search=3, search_s=10, replicates=2, replicate_s=7)}, 8, 17),  # replicates after the search
        ([("a", 4.0)], {"a": Waiting(searching=1, replicates=2, replicate_s=7)}, 2, 11),
        ([], {"a": Waiting(search=1, search_s=9), "r": Waiting(replicates=3, replicate_s=1, reference=True)}, 2, 11),
        ([], {"a": Waiting(search=2, search_s=9), "b": Waiting(search=3, search_s=2)}, 2, 13),
    ],
)
def test_trials_that_wait_are_put_on_slots(
    running: list[tuple[str, float]], waiting: dict[str, Waiting], slots: int, seconds: float
) -> None:
    assert makespan(running, waiting, slots) == seconds


def test_durations_are_of_the_nearest_kind_that_is_known() -> None:
    durations = Durations()
    assert not durations
    durations.add("a", "search", length=10.0, startup=1.0, seconds=20.0)
    assert durations.of("a", "search", 5.0) == 1 + 10
    assert durations.of("a", "replicate", 5.0) == durations.of("b", "search", 5.0) == 11
    durations.add("a", "replicate", length=10.0, startup=3.0, seconds=40.0)
    assert durations.of("a", "replicate", 5.0) == 3 + 20
    assert durations.of("b", "search", 10.0) == 2 + 30
    durations.add("pixels", "replicate", length=0.0, startup=0.0, seconds=4.0)
    assert durations.of("pixels", "replicate", 0.0) == 4


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "about 1 s"),
        (89, "about 89 s"),
        (91, "about 2 min"),
        (5000, "about 84 min"),
        (12_000, "about 3 h 20 min"),
        (200_000, "about 2 days 7 h"),
    ],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert about(seconds) == text
