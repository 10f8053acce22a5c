"""`fmim plan --calibrate`: the work of a plan is counted exactly; how long it takes is simulated from short trials."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from fmim.declare import Arm
from fmim.plan import Plan
from fmim.plan.workload import Work, Workload
from fmim.printing import TextConsole
from fmim.runner import calibrate as calibration_module
from fmim.runner.calibrate import Calibration, Probes, Timing, timing_of, training_key
from fmim.runner.forecast import forecast
from fmim.runner.reuse.equal_trials import EarlierTrials
from fmim.runner.search.tpe import TPE
from fmim.terminal.plan import predict_here
from fmim_core.data.bank.bank import Bank
from fmim_core.records import CalibrationFile, Cost, EpochRow, ForecastEntry, Record, TrialError, record_path
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from fmim_spaces.domain import Space, Uniform
from fmim_spaces.successive_halving import ASHA
from tests.support.documents import AT, epoch_row
from tests.support.mini_study import (
    MINI,
    MINI_STUDY,
    ensemble_plan,
    first_replicates,
    first_search_trials,
    mini_plan,
    options_in,
    with_epochs,
)

TIMING = Timing(startup=3.0, step=0.5, image=0.25, between=0.125, peak_memory=1e9)


def invented(plan: Plan, timing: Timing = TIMING, **around: float) -> Calibration:
    """A calibration in which every training takes the same."""
    keys = {training_key(config) for config in plan.train_configs()}
    seconds = {"around": 0.0, "first": 0.0, "gap": 0.0} | around
    return Calibration(timings=dict.fromkeys(keys, timing), trials=0, **seconds)


def predicted(plan: Plan, bank: Bank, slots: int, calibration: Calibration, preparation: float = 0.0) -> ForecastEntry:
    workload = Workload(plan, bank.development())
    return forecast(plan, workload, bank, calibration, slots, 0.5, preparation, EarlierTrials(Path()))


def test_work_is_counted_as_trials_count_it(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = mini_plan()
    workload = Workload(plan, tiny_bank.development())
    specs = [first_search_trials(plan, tiny_bank)[1], first_replicates(plan, tiny_bank)[1]]
    for spec in specs:
        cost = Trial(spec, RunSettings(tmp_path, "cpu")).run().cost
        assert workload.trial(spec.train, spec.fold) == Work(1, cost.epochs, cost.images)
    search, replicate = (workload.trial(spec.train, spec.fold) for spec in specs)
    assert workload.of_arm(plan.arms[1]).trials == 4 + 2
    assert workload.total == Work(10 + 4, 2 * 10, 6 * search.images + 4 * replicate.images)


def test_of_equal_trials_one_is_predicted(tiny_bank: Bank) -> None:
    once = mini_plan()
    again = tuple(arm.model_copy(update={"name": f"{arm.name}_again", "search": "again"}) for arm in MINI_STUDY.arms)
    twice = replace(once, study=MINI_STUDY.model_copy(update={"arms": (*MINI_STUDY.arms, *again)}))
    alone, found = (predicted(plan, tiny_bank, 2, invented(plan)) for plan in (once, twice))
    assert (twice.trials, found.trials, found.reused) == (24, 14, 10)
    assert (found.epochs, found.images, found.device_seconds) == (alone.epochs, alone.images, alone.device_seconds)


def test_every_member_of_an_ensemble_is_counted(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = ensemble_plan(mini_plan())
    workload = Workload(plan, tiny_bank.development())
    spec = first_replicates(plan, tiny_bank)[0]
    cost = Trial(spec, RunSettings(tmp_path, "cpu")).run().cost
    assert cost.epochs == 2 * 2
    assert workload.trial(spec.train, spec.fold) == Work(1, cost.epochs, cost.images)
    found = predicted(plan, tiny_bank, 1, invented(plan))
    assert (found.trials, found.epochs, found.images) == (
        plan.trials,
        workload.total.epochs,
        workload.total.images,
    )
    folds = sum(seconds_of(one, workload, 0)[0] for one in first_search_trials(plan, tiny_bank))
    tested = 2 * 0.25 * int(tiny_bank.summary["test"]["images"])
    references = plan.reference_trials * (3.0 + tested / 2)  # of one network each
    replicates = plan.replicate_trials * (folds + tested)
    assert found.device_seconds == pytest.approx((3 * folds + replicates + references) * 0.5)


def seconds_of(spec: TrialSpec, workload: Workload, test_images: int) -> tuple[float, float]:
    """A trial's seconds, those on the device and all, by TIMING."""
    epochs = spec.epochs
    busy = 3.0 + epochs * (0.5 * workload.batches(spec.train, spec.fold) + 0.25 * workload.validated(spec.fold))
    if spec.reads_test_set:
        busy += 0.25 * test_images
    return busy, busy + 0.125 * epochs


def test_one_slot_takes_the_sum_of_all_trials_and_of_what_is_around_them(tiny_bank: Bank) -> None:
    plan = mini_plan()
    workload, test_images = Workload(plan, tiny_bank.development()), tiny_bank.summary["test"]["images"]
    first_of_each = [(arm, c) for arm in plan.arms for c in arm.space.configurations()]
    specs = [spec for arm, c in first_of_each for spec in plan.search(arm, 0, c, tiny_bank)]
    specs += [spec for arm in plan.arms for spec in plan.replicate(arm, 0, next(arm.space.configurations()), tiny_bank)]
    specs += [spec for planned in plan.references for spec in plan.reference(planned, tiny_bank)]
    each = [seconds_of(spec, workload, test_images) for spec in specs]
    around = {"around": 15.0, "first": 3.0, "gap": 0.25}
    found = predicted(plan, tiny_bank, 1, invented(plan, **around), preparation=20.0)
    assert found.wall_s == pytest.approx(20 + 15 + 3 + 13 * 0.25 + sum(whole for _, whole in each))
    assert found.device_seconds == pytest.approx(0.5 * (3 + sum(busy for busy, _ in each)))
    assert Work(found.trials, found.epochs, found.images) == workload.total
    assert found.peak_memory == 1e9


def test_with_a_slot_for_each_trial_the_stages_follow_each_other(tiny_bank: Bank) -> None:
    plan = mini_plan()
    workload, test_images = Workload(plan, tiny_bank.development()), tiny_bank.summary["test"]["images"]
    search = max(seconds_of(spec, workload, test_images)[1] for spec in first_search_trials(plan, tiny_bank))
    replicate = seconds_of(first_replicates(plan, tiny_bank)[0], workload, test_images)[1]
    found = predicted(plan, tiny_bank, 10, invented(plan))
    assert found.wall_s == pytest.approx(search + replicate)


def searched(searcher: ASHA | TPE) -> Plan:
    """A plan of one arm over a range, of nine epochs."""
    space = Space(ranges=(Uniform(path="margins.epsilon", low=0.1, high=0.9),))
    settings = (("loss.kind", "triplet"), ("margins.kind", "fixed"))
    arm = Arm(name="searched", search="x", settings=settings, space=space, searcher=searcher)
    return Plan(MINI_STUDY.model_copy(update={"arms": (arm,)}), with_epochs(MINI, 9), 0, 2)


def test_searches_that_stop_trials_are_simulated_rung_by_rung(tiny_bank: Bank) -> None:
    plan = searched(ASHA(samples=27, reduction=3))
    found = predicted(plan, tiny_bank, 2, invented(plan))
    most = Workload(plan, tiny_bank.development()).total
    assert 27 + 2 < found.trials < most.trials
    share = ASHA(samples=27, reduction=3).stopping_rule.expected_share(9, plan.preset.folds)
    expected = 27 * 9 * plan.preset.folds * share + 2 * 9
    assert found.epochs == pytest.approx(expected, rel=0.5)
    assert found == predicted(plan, tiny_bank, 2, invented(plan))


def test_searches_that_wait_leave_slots_idle(tiny_bank: Bank) -> None:
    waiting, not_waiting = (
        predicted(plan, tiny_bank, 8, invented(plan))
        for plan in (searched(TPE(samples=8, startup=4, in_flight=n)) for n in (1, 8))
    )
    assert waiting.device_seconds == not_waiting.device_seconds
    assert waiting.wall_s > 3 * not_waiting.wall_s


class Nobody:
    """An observer who does not care."""

    def started(self, spec: TrialSpec) -> None: ...
    def epoch(self, spec: TrialSpec, row: EpochRow) -> None: ...
    def finished(self, spec: TrialSpec, record: Record) -> None: ...


def probe_record(spec: TrialSpec, step: float, evaluation: float = 0.5, status: str = "completed") -> Record:
    """The record of a probe whose first epoch takes a second longer than the others."""
    epochs, batches = spec.train.epochs, spec.train.batches.per_epoch or 0
    seconds = [batches * step + evaluation + (epoch == 0) for epoch in range(epochs)]
    history = tuple(epoch_row(epoch + 1, batches=batches, seconds=one) for epoch, one in enumerate(seconds))
    cost = Cost(startup_s=0.75, train_s=epochs * batches * step + 1, eval_s=epochs * evaluation)
    cost = cost.model_copy(update={"wall_s": cost.parts_s + epochs * 0.25})
    error = None if status == "completed" else TrialError(kind="Broken", message="as it would be")
    parts = {"status": status, "history": history, "peak_memory": 5, "error": error, "cost": cost}
    return spec.record(AT).changed(parts)


def test_probes_warm_up_every_slot_and_size_the_others_by_it(tiny_bank: Bank) -> None:
    probes = Probes(mini_plan(), tiny_bank.development(), tiny_bank, 3, Nobody())
    warm_up = [spec for _ in range(3) if (spec := probes.next()) is not None]
    assert [(spec.train.batches.per_epoch, spec.train.epochs) for spec in warm_up] == [(1, 2)] * 3
    assert probes.next() is None
    assert not probes.exhausted
    probes.finished(warm_up[0], probe_record(warm_up[0], step=1.0))
    rest = [spec for _ in range(3) if (spec := probes.next()) is not None]
    assert probes.exhausted
    assert len({spec.id for spec in [*warm_up, *rest]}) == probes.number == 6
    keys = {training_key(config): config for config in mini_plan().train_configs()}
    assert sorted(key.split(", ")[0] for key in keys) == ["adatriplet", "triplet"]  # of three configurations
    assert set(probes.measured) == set(keys)
    assert training_key(next(iter(keys.values())).model_copy(update={"precision": "bfloat16"})) not in keys
    # An epoch of the two batches there are, with half a second of evaluation, fits twice into four seconds.
    assert [(spec.train.batches.per_epoch, spec.train.epochs) for spec in rest] == [(2, 3)] * 3
    for spec in rest:
        assert (spec.stage, spec.rungs, spec.fold) == ("search", (), 0)
        probes.finished(spec, probe_record(spec, step=1.0))
    assert sorted(map(len, probes.measured.values())) == [1, 2]


def test_a_probe_that_fails_ends_the_calibration_with_its_reason(tiny_bank: Bank) -> None:
    probes = Probes(mini_plan(), tiny_bank.development(), tiny_bank, 1, Nobody())
    warm_up = probes.next()
    assert warm_up is not None
    probes.finished(warm_up, probe_record(warm_up, 1.0, status="failed"))
    assert probes.exhausted
    assert probes.next() is None
    assert [record.trial for record in probes.warm_up] == [warm_up.id]


def test_a_timing_keeps_warm_up_steps_evaluation_and_waiting_apart(tiny_bank: Bank) -> None:
    spec = first_search_trials(mini_plan(epochs=4), tiny_bank)[0]
    train = spec.train.model_copy(update={"batches": spec.train.batches.model_copy(update={"per_epoch": 5})})
    record = probe_record(spec.model_copy(update={"train": train}), step=0.125)
    assert timing_of(record, validated=20) == Timing(startup=1.75, step=0.125, image=0.025, between=0.25, peak_memory=5)


@pytest.fixture
def few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure for a tenth of a second: what is asserted here does not depend on how well it is measured."""
    monkeypatch.setattr(calibration_module, "MEASURED_S", 0.1)


def check_prediction(found: ForecastEntry, total: Work) -> None:
    """Counts are exact; seconds are some."""
    assert Work(found.trials, found.epochs, found.images) == total
    for value in (found.wall_s, found.device_seconds, found.peak_memory):
        assert math.isfinite(value)
        assert value > 0


@pytest.mark.slow
@pytest.mark.usefixtures("few_seconds")
def test_a_small_plan_is_predicted_and_nothing_but_the_prediction_is_left(tmp_path: Path) -> None:
    plan = mini_plan()
    options = options_in(tmp_path, out=tmp_path / "out")
    with (tmp_path / "screen.txt").open("w") as file:
        predicted = predict_here(plan, options, TextConsole(file=file, width=200))
    content = CalibrationFile.read(tmp_path / "out" / "calibration.json")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["calibration.json"]
    assert not record_path(tmp_path / "out", "x").parent.exists()
    assert content == predicted
    found = content.forecast
    check_prediction(found, Work(14, 20, found.images))
    assert (content.study, content.preset, content.seed) == ("automargin_vs_grid", "mini", 0)
    assert (content.replicates, content.epochs, content.slots, content.backend) == (4, 2, 1, "inline")
    screen = (tmp_path / "screen.txt").read_text()
    assert "14 trials: 6 search, 4 train selected configurations with fresh seeds, 4 are references" in screen
    assert f"20 epochs and {found.images} training images" in screen
    assert "predicted from 3 short trials" in screen
