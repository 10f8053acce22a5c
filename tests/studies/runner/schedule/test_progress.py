"""How far a study is: the time that is left, on simulated slots whose clock is known, and what is best so far."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.printing import TextConsole
from fmim.runner.folder.study_file import write_study
from fmim.runner.schedule.dispatcher import Dispatcher
from fmim.runner.schedule.progress import Durations, StudyProgress
from fmim.runner.search.selection import Outcome, better
from fmim.runner.search.tpe import TPE
from fmim.terminal.status import about, arms_of
from fmim_core.data.bank.bank import Bank
from fmim_core.metric_names import METRICS, Metric
from fmim_core.records import EpochRow, ProposalsFile, Record, RunningTrial, SelectionFile, TrialLengths
from fmim_core.trial.spec import TrialSpec
from fmim_spaces.domain import Choice, Space
from fmim_spaces.searchers import Grid, Random
from fmim_spaces.successive_halving import ASHA
from tests.support.documents import execution, fold_entry
from tests.support.simulation import Simulation, Slots, arm, hill, plan_of

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Watched:
    """A study whose trials take their images' seconds, up to a fifth more or less, and those of some arms twice that.

    Its progress is told who began and ended when, as the driver of a study is.
    """

    progress: StudyProgress
    workload: Workload
    slots: Slots = field(init=False)
    begun: dict[str, float] = field(default_factory=dict)
    estimates: list[tuple[int, float, float | None]] = field(default_factory=list)  # trials over, when, seconds left

    def seconds(self, spec: TrialSpec, after: int, until: int) -> float:
        """A clock: a second, and a hundredth of one an image."""
        noise = random.Random(spec.id).uniform(0.8, 1.2) * (2.0 if spec.arm == "slow" else 1.0)
        images = (until - after) * self.workload.batches(spec.train, spec.fold) * spec.train.batches.size
        return noise * ((not after) + images / 100)

    def at(self, seconds: float) -> datetime:
        return BEGIN + timedelta(seconds=seconds)

    def started(self, spec: TrialSpec) -> None:
        self.begun[spec.id], now = self.slots.now, self.at(self.slots.now).isoformat()
        self.progress.running[spec.id] = RunningTrial(
            trial=spec.id, arm=spec.arm, stage=spec.stage, started_at=now, epochs=spec.epochs
        )

    def epoch(self, spec: TrialSpec, row: EpochRow) -> None: ...

    def finished(self, spec: TrialSpec, record: Record) -> None:
        self.progress.running.pop(spec.id)
        now, wall = self.slots.now, self.slots.now - self.begun[spec.id]
        self.progress.count(replace(Outcome.of(record), startup_s=1.0, wall_s=wall, epochs=len(record.history)))
        self.estimates.append((self.progress.done, now, self.progress.seconds_left(self.at(now))))


def watched(plan: Plan, bank: Bank, out: Path, slots: int) -> tuple[Watched, float]:
    """A whole plan on simulated slots, with what was estimated whenever a trial was over, and what it took."""
    workload, test_images = Workload(plan, bank.development()), int(bank.summary["test"]["images"])
    folds = [fold_entry(fold) for fold in range(plan.preset.folds)]
    study = write_study(out, plan, bank, folds, execution(slots))
    lengths = {arm.name: workload.lengths(arm, test_images) for arm in plan.arms}
    one = Watched(StudyProgress(study, lengths, slots), workload)
    assert one.progress.seconds_left(BEGIN) is None
    one.slots = Slots(Dispatcher(plan, bank, out, {}, [one]), one.seconds, slots)
    return one, one.slots.run()


GRID = Space(
    choices=(
        Choice(path="margins.epsilon", values=(0.1, 0.25, 0.5, 0.75)),
        Choice(path="margins.beta", values=(0.5,)),
    )
)
UNEQUAL = plan_of(
    arm("long", Grid(), GRID, epochs=40),
    arm("slow", Random(samples=6), epochs=9),
    arm("short", Random(samples=30), epochs=3),
    replicates=3,
)
STOPPING = plan_of(
    arm("asha", ASHA(samples=27, reduction=3), epochs=9), arm("short", Random(samples=12), epochs=9), replicates=2
)


@pytest.mark.parametrize(("plan", "bound"), [(UNEQUAL, 0.25), (STOPPING, 0.45)])
@pytest.mark.parametrize("slots", [1, 2, 6])
def test_the_estimate_is_true_once_each_slot_has_run_a_trial(
    plan: Plan, bound: float, slots: int, tiny_bank: Bank, tmp_path: Path
) -> None:
    """Its error as a share of the whole time, though the first trials are many times as long as the last; a search that
    stops trials stops fewer at first, so that it seems longer.
    """
    simulated, took = watched(plan, tiny_bank, tmp_path, slots)
    assert simulated.progress.done == simulated.progress.total
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
    plan = plan_of(arm("grid", Grid(), GRID, epochs=10), replicates=1)
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
    ("over", "slots", "seconds"),
    [
        (1, 1, 7 * 10 + 20),  # all that is left, one by one; what trains nothing has no length
        (1, 2, 20 + 3 * 10),
        (4, 100, 10 + 20),  # the search, then its replicate; references behind the search
        (8, 100, 20),
    ],
)
def test_work_is_shared_out_unless_a_chain_of_trials_is_longer(
    over: int, slots: int, seconds: float, tiny_bank: Bank, tmp_path: Path
) -> None:
    plan = plan_of(arm("grid", Grid(), GRID, epochs=10), replicates=1)
    study = write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution(slots))
    progress = StudyProgress(study, {"grid": TrialLengths(search=1.0, replicate=2.0)}, slots)
    for number in range(over):
        progress.count(Outcome("grid", "search", 0, number % 2, "completed", {"mAP": 0.5}, wall_s=10.0, epochs=10))
    assert progress.seconds_left(BEGIN) == pytest.approx(seconds)


def test_durations_are_of_the_nearest_kind_that_is_known() -> None:
    durations = Durations()
    assert () not in durations
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


DISTANCE = Metric("distance", "Distance", higher_is_better=False)


@pytest.mark.parametrize(("metric", "best"), [(METRICS["mAP"], 0.5), (DISTANCE, 0.2)])
def test_the_best_of_a_fold_is_the_lowest_where_lower_is_better(metric: Metric, best: float) -> None:
    so_far = None
    for value in (math.nan, 0.4, None, 0.2, 0.5, math.nan, 0.3):
        so_far = better(so_far, value, metric)
    assert so_far == best


def test_selection_search_and_progress_go_by_the_studys_metric(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = plan_of(arm("random", Random(samples=6)), arm("tpe", TPE(samples=6, startup=2, in_flight=1)))
    plan = replace(plan, study=plan.study.model_copy(update={"metric": "CMC_1"}))
    simulation = Simulation(plan, tiny_bank, tmp_path)
    simulation.run()
    for name, selection in SelectionFile.read(tmp_path / "selection.json").arms.items():
        means = [simulation.mean(name, number) for number in range(6)]
        assert (selection.metric, selection.score) == ("CMC_1", pytest.approx(max(means)))
        assert selection.number == means.index(max(means))
    last = ProposalsFile.read(tmp_path / "proposals.json").arms["tpe"][-1]
    assert last.values == pytest.approx([simulation.mean("tpe", number) for number in range(5)])
    screen = TextConsole(record=True, width=200, file=(tmp_path / "screen.txt").open("w"), force_terminal=True)
    study = write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    progress = StudyProgress(study, {}, slots=1)
    for record in simulation.records.values():
        progress.count(Outcome.of(record))
    screen.show(arms_of(progress))
    best = max(hill(spec, 9) for spec in simulation.started if (spec.arm, spec.stage) == ("random", "search"))
    shown = screen.export_text()
    assert "best CMC top-1 of a fold" in shown
    assert f"{100 * best:.1f} %" in shown
