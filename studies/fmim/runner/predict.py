"""`fmim plan STUDY --calibrate`: what a run would take here, on record so that a report can say how true it was."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial

from fmim.plan.workload import Workload
from fmim.runner.backends.backend import Resources
from fmim.runner.backends.opening import open_backend
from fmim.runner.backends.ray_cluster import RayCluster
from fmim.runner.checked import CheckedPlan
from fmim.runner.folder.outcomes import set_damaged_forecast_aside
from fmim.runner.forecast.calibrate import calibrate
from fmim.runner.forecast.forecast import forecast
from fmim.runner.observer import RunObserver
from fmim.runner.reuse.earlier import earlier_trials
from fmim.runner.setup import Setup
from fmim_core.data.bank.building import build_bank
from fmim_core.records import CalibrationFile, calibration_path, now


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
    backend = open_backend(cluster, Resources(setup.cpus_per_trial, setup.gpus_per_trial), plan.study.code)
    plan.check_device("cuda" if backend.gpus else "cpu")
    ready = time.perf_counter() - begun
    images = partial(build_bank, checked.source, plan.preset.image_size, setup.banks)
    images(observer.decoded, observer.warn)  # where it is still to do, it is no part of what a run takes
    begun = time.perf_counter()
    bank = images()
    preparation = checking_s + ready + time.perf_counter() - begun
    workload = Workload(plan, checked.development)
    observer.note(f"calibrating: short trials, {backend.slots} at once on {backend.device}")
    calibration = calibrate(plan, workload.development, bank, backend)
    set_damaged_forecast_aside(setup.folder, observer.warn)
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
