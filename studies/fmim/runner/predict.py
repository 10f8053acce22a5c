"""`fmim plan STUDY --calibrate`: what a run would take here, on record so that a report can say how true it was."""

from __future__ import annotations

import time
from dataclasses import asdict
from functools import partial

from rich.console import Console

from fmim.plan import Plan
from fmim.plan.workload import Workload
from fmim.runner.backends.ray_cluster import cluster_for
from fmim.runner.checked import check_plan
from fmim.runner.folder.study_file import set_damaged_forecast_aside
from fmim.runner.forecast.calibrate import calibrate
from fmim.runner.forecast.equal import ForecastRecords
from fmim.runner.forecast.forecast import Forecast, forecast
from fmim.runner.reuse.earlier import earlier_trials
from fmim.runner.run import backend_of, open_bank
from fmim.runner.setup import Setup
from fmim.terminal.plan import show_forecast, show_plan
from fmim_core.records import CalibrationFile, ForecastEntry, calibration_path, now


def predict_plan(plan: Plan, setup: Setup, console: Console) -> Forecast:
    """Print the plan, run short trials, write OUT/calibration.json, and print what the whole plan would take.

    Raises:
        ValueError: whatever would stop a trial; nothing has started.
    """
    begun = time.perf_counter()
    with cluster_for(setup.backend, setup.address) as cluster:
        setup.check_folders(plan.study.name)
        checked = check_plan(plan, setup)
        plan, checking = checked.plan, time.perf_counter() - begun
        show_plan(checked, setup, console)
        begun = time.perf_counter()
        backend = backend_of(setup, plan, cluster)
        decoding = time.perf_counter()
        open_bank(checked, setup, console)
        begun += time.perf_counter() - decoding  # where it is still to do, it is no part of what a run takes
        bank = open_bank(checked, setup, console)
        preparation = checking + time.perf_counter() - begun
        workload = Workload(plan, checked.development)
        console.print(f"calibrating: short trials, {backend.slots} at once on {backend.device}", highlight=False)
        calibration = calibrate(plan, workload.development, bank, backend)
    warn = partial(console.print, style="yellow", markup=False, highlight=False, soft_wrap=True)
    set_damaged_forecast_aside(setup.folder, warn)
    earlier = earlier_trials(setup.studies, bank.fingerprint, plan.seed, setup.folder, setup.reuse)
    equal = ForecastRecords(earlier, bool(backend.gpus))
    found = forecast(plan, workload, bank, calibration, backend.slots, backend.share, preparation, equal)
    CalibrationFile(
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
        forecast=ForecastEntry(**asdict(found)),
        preparation_s=preparation,
        calibration=asdict(calibration),
    ).write(calibration_path(setup.folder))
    show_forecast(plan, found, calibration, backend.slots, console)
    return found
