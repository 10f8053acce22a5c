"""`fmim plan --calibrate`: the plan and what it would take here, in front of the user."""

from __future__ import annotations

import time

from fmim.plan import Plan
from fmim.printing.console import TextConsole
from fmim.printing.table import TextTable
from fmim.runner.backends.ray_cluster import cluster_for
from fmim.runner.checked import check_plan
from fmim.runner.predict import predict
from fmim.runner.setup import Setup
from fmim.terminal.plan import show_plan
from fmim.terminal.run_display import RunDisplay
from fmim_core.records import CalibrationFile
from fmim_reports.writing.formats import duration

NUMBERS = ("start-up, s", "step, ms", "evaluation, ms an image", "memory, GB")


def predict_here(plan: Plan, setup: Setup, console: TextConsole) -> CalibrationFile:
    """Print the plan, run short trials, and print and return what the whole plan would take.

    Raises:
        ValueError: whatever would stop a trial; nothing has started.
    """
    begun = time.perf_counter()
    with cluster_for(setup.backend, setup.address) as cluster, RunDisplay(console) as display:
        setup.check_folders(plan.study.name)
        checked = check_plan(plan, setup)
        checking_s = time.perf_counter() - begun
        show_plan(checked, setup, console)
        prediction = predict(checked, setup, display, cluster, checking_s)
    _show(checked.plan, prediction, console)
    return prediction


def _show(plan: Plan, prediction: CalibrationFile, console: TextConsole) -> None:
    """Print what was timed, and what follows from it."""
    found = prediction.forecast
    rows = [
        (
            key.partition(":")[0],
            f"{timing['startup']:.2f}",
            f"{1000 * timing['step']:.1f}",
            f"{1000 * timing['image']:.2f}",
            f"{timing['peak_memory'] / 1e9:.2f}",
        )
        for key, timing in prediction.calibration["timings"].items()
    ]
    console.show(TextTable(("training (loss, margins, model)", *NUMBERS), rows, frozenset(NUMBERS)))
    about = "" if plan.exact and not found.reused else "about "
    besides = f" ({found.reused} more are reused)" if found.reused else ""
    console.say(
        f"predicted from {prediction.calibration['trials']} short trials: {duration(found.wall_s)} for "
        f"{about}{found.trials} trials{besides}, {prediction.slots} at once; {found.device_seconds / 3600:.3g} "
        f"device-hours; at most {found.peak_memory / 1e9:.2f} GB of memory a trial"
    )
