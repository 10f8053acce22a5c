"""The inline backend: the plan, one trial after the other, in this process."""

from __future__ import annotations

import torch

from fmim.runner.schedule.dispatcher import TrialSource
from fmim_core.records import Record
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped


def run_inline(dispatcher: TrialSource, settings: RunSettings, threads: int) -> None:
    """Run everything the dispatcher hands out. An interrupt passes through; the records so far are safe."""
    torch.set_num_threads(threads)
    while (spec := dispatcher.next()) is not None:
        dispatcher.started(spec)
        dispatcher.finished(spec, _run(spec, settings, dispatcher))


def _run(spec: TrialSpec, settings: RunSettings, dispatcher: TrialSource) -> Record:
    trial = Trial(spec, settings)
    while trial.record is None:
        row = trial.step()
        if row is not None:
            dispatcher.epoch(spec, row)
        if spec.rungs and trial.record is None:
            so_far = trial.stopped()
            if not dispatcher.goes_on(spec, so_far.history):
                keep_stopped(settings.out, so_far)
                return so_far
    return trial.record
