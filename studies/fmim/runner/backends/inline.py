"""The inline backend: the plan, one trial after the other, in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from fmim.runner.backends.backend import Backend, Resources, TrialSource, allot
from fmim_core.data.bank.bank import Bank
from fmim_core.machine import cores
from fmim_core.records import Record
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped


class Inline(Backend):
    """Trials in this process, one by one."""

    @classmethod
    def of(cls, asked: Resources) -> Inline:
        """Return that of this machine.

        Raises:
            ValueError: it has not what a trial asks for.
        """
        here = {"CPU": float(cores()), "GPU": float(torch.cuda.device_count())}
        return replace(cls(*allot(asked, [here])), slots=1)

    def check(self, bank: Bank) -> None:
        """Check nothing more: this process has checked it."""

    def run(self, trials: TrialSource, out: Path, number: int) -> None:
        """Run one trial after the other."""
        torch.set_num_threads(self.threads)
        settings = self.settings(out)
        while (spec := trials.next()) is not None:
            trials.started(spec)
            trials.finished(spec, _run(spec, settings, trials))


def _run(spec: TrialSpec, settings: RunSettings, trials: TrialSource) -> Record:
    trial = Trial(spec, settings)
    while trial.record is None:
        row = trial.step()
        if row is not None:
            trials.epoch(spec, row)
        if spec.rungs and trial.record is None:
            so_far = trial.stopped()
            if not trials.goes_on(spec, so_far.history):
                keep_stopped(settings.out, so_far)
                return so_far
    return trial.record
