"""Predict what a plan will take: the work of all its trials, each as long as calibrated, shared out over the slots."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial

from fmim.declare import Arm
from fmim.plan import Plan
from fmim.plan.workload import Work, Workload
from fmim.runner.backends.ray_cluster import RayCluster
from fmim.runner.calibrate import Calibration, calibrate, training_key
from fmim.runner.observer import RunObserver
from fmim.runner.reuse.equal_trials import EarlierTrials, EqualTrials, earlier_trials
from fmim.runner.run import CheckedPlan, open_backend
from fmim.runner.schedule.progress import shared_out
from fmim.runner.setup import Setup
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.records import CalibrationFile, ForecastEntry, calibration_path, now
from fmim_core.seeding import derive_seed
from fmim_core.trial.spec import TrialSpec


def forecast(
    plan: Plan,
    workload: Workload,
    bank: Bank,
    calibration: Calibration,
    slots: int,
    device_share: float,
    preparation: float,
    earlier: EarlierTrials,
) -> ForecastEntry:
    """Predict a plan, whose trials are shared out over the slots unless a chain of them is longer.

    A search that stops trials stops as many as it would if all configurations were equally good.

    Args:
        preparation: seconds from the start of the program to the start of the runner.
        earlier: what other studies have results of.
    """
    taken = EqualTrials(plan, bank, earlier).taken()
    names = {spec.id for spec, _ in taken}
    winners = {spec.arm: spec.number for spec, _ in taken if spec.stage == "replicate"}
    planned = list(_planned(plan, bank, winners))
    work, device_s, seconds, longest = Work(), 0.0, list[float](), dict[tuple[str, str], float]()
    for spec, epochs in planned:
        if spec.id not in names:
            one, busy, whole = _timed(workload, calibration, bank, spec, epochs)
            work, device_s = work + one, device_s + busy
            seconds.append(calibration.gap + whole)
            longest[spec.arm, spec.stage] = max(longest.get((spec.arm, spec.stage), 0.0), whole)
    used = min(slots, work.trials)
    makespan = shared_out(seconds, [calibration.first - calibration.gap] * used, slots)  # no gap before a slot's first
    return ForecastEntry(
        trials=work.trials,
        reused=len(planned) - work.trials,
        epochs=work.epochs,
        images=work.images,
        wall_s=preparation + calibration.around + max(makespan, _chain(plan, longest)),
        device_seconds=(device_s + used * calibration.first) * device_share,
        peak_memory=max(timing.peak_memory for timing in calibration.timings.values()),
    )


def _planned(plan: Plan, bank: Bank, winners: dict[str, int]) -> Iterator[tuple[TrialSpec, int]]:
    """Yield the plan's trials with the epochs that each trains, if these arms have these winners, others their first.

    Winners of other splits are others, wherever there is a choice.
    """
    arms = {arm.name: arm for arm in plan.arms}
    stopped = {name: _stopped(plan, arm) for name, arm in arms.items()}
    for spec in plan.possible(bank, lambda arm, split: [next(arms[arm].space.corners())] * arms[arm].budget):
        epochs = spec.epochs
        if spec.of_winner and (
            spec.number != winners.get(spec.arm, 0) or (spec.search_split and arms[spec.arm].budget == 1)
        ):
            continue
        if spec.stage == "search" and (end := stopped[spec.arm].get(spec.number)) is not None:
            if spec.fold:
                continue
            epochs = end
        yield spec, epochs


def _stopped(plan: Plan, arm: Arm) -> dict[int, int]:
    """Ask an arm's stopping rule, one configuration after the other; return where each stopped one ends, by number."""
    rule, rungs, found = arm.searcher.stopping_rule, plan.rungs_of(arm), dict[int, int]()
    if rule is None:
        return found
    training = plan.training_of(arm)
    state = rule.start(training.validations, higher_is_better=True)
    for number in range(arm.budget):
        value = float(derive_seed("forecast", arm.name, number))
        for epochs in rungs:
            if number not in found and state.stops(number, [value] * (epochs // training.validate_every)):
                found[number] = epochs
    return found


def _timed(
    workload: Workload, calibration: Calibration, bank: Bank, spec: TrialSpec, epochs: int
) -> tuple[Work, float, float]:
    """Return a trial's work, its seconds on the device, and all of its seconds."""
    timing, train = calibration.timings[training_key(spec.train)], spec.train
    models = len(workload.trainings(spec.fold, spec.search_split)) if epochs else 1
    steps = epochs * workload.batches(train, spec.fold, spec.search_split)
    embedded = sum(map(train.validates, range(1, epochs + 1))) * workload.validated(spec.fold, spec.search_split)
    if spec.reads_test_set:
        embedded += models * int(bank.summary["test"]["images"])
    busy = models * timing.startup + steps * timing.step + embedded * timing.image
    return Work(1, epochs * models, steps * train.batches.size), busy, busy + epochs * models * timing.between


def _chain(plan: Plan, longest: Mapping[tuple[str, str], float]) -> float:
    """Return the seconds of the longest chain of trials that wait for each other, on however many slots.

    Those are an arm's search, as far as proposals wait for results and folds for the first one, then a replicate; and
    references behind the searches.

    Args:
        longest: the seconds of the longest trial of each arm and stage.
    """
    searches = {arm.name: _depth(arm) * longest.get((arm.name, "search"), 0.0) for arm in plan.arms}
    behind = max(searches.values())
    tested = [searches.get(arm, behind) + longest[arm, stage] for arm, stage in longest if stage != "search"]
    return max(*tested, *searches.values())


def _depth(arm: Arm) -> int:
    """Return how many trials of an arm's search follow each other at least."""
    depths: list[int] = []
    for number in range(arm.budget):
        depths.append(1 + max(depths[: arm.searcher.results_needed(number)], default=0))
    return max(depths) + arm.searcher.screens


def predict(
    checked: CheckedPlan, setup: Setup, observer: RunObserver, cluster: RayCluster | None, checking_s: float
) -> CalibrationFile:
    """Run short trials, write OUT/calibration.json, and return it.

    Args:
        checking_s: seconds that checking the plan took.

    Raises:
        ValueError: whatever would stop a trial.
    """
    plan, begun = checked.plan, time.perf_counter()
    backend = open_backend(cluster, plan, setup)
    ready = time.perf_counter() - begun
    images = partial(build_bank, checked.source, plan.preset.image_size, setup.banks)
    images(observer.decoded, observer.warn)  # where it is still to do, it is no part of what a run takes
    begun = time.perf_counter()
    bank = images()
    preparation = checking_s + ready + time.perf_counter() - begun
    workload = Workload(plan, checked.development)
    observer.note(f"calibrating: short trials, {backend.slots} at once on {backend.device}")
    calibration = calibrate(plan, workload.development, bank, backend)
    earlier = earlier_trials(setup.studies, bank.fingerprint, plan.seed, setup.folder, setup.reuse)
    file = CalibrationFile(
        made_at=now(),
        study=plan.study.name,
        preset=plan.preset.name,
        seed=plan.seed,
        replicates=plan.replicate_trials,
        search_splits=plan.search_splits,
        epochs=plan.train_configs()[0].epochs,
        data_fingerprint=bank.fingerprint,
        backend=setup.backend,
        device=backend.device,
        slots=backend.slots,
        device_share=backend.share,
        forecast=forecast(plan, workload, bank, calibration, backend.slots, backend.share, preparation, earlier),
        preparation_s=preparation,
        calibration=asdict(calibration),
    )
    file.write(calibration_path(setup.folder))
    return file
