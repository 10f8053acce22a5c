"""`fmim plan --calibrate`: the plan and what it would take here, in front of the user."""

from __future__ import annotations

import time

from rich.console import Console

from fmim.plan import Plan
from fmim.runner.backends.ray_cluster import cluster_for
from fmim.runner.checked import check_plan
from fmim.runner.forecast.forecast import Forecast
from fmim.runner.predict import predict
from fmim.runner.setup import Setup
from fmim.terminal.plan import show_forecast, show_plan
from fmim.terminal.run_display import RunDisplay


def predict_here(plan: Plan, setup: Setup, console: Console) -> Forecast:
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
    show_forecast(checked.plan, prediction, console)
    return prediction.forecast
