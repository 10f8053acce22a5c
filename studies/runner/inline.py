"""The inline backend: the plan, one trial after the other, in this process."""

from __future__ import annotations

import torch

from fmim_core.trial import Place, Trial
from studies.runner.dispatch import Dispatcher


def run_inline(dispatcher: Dispatcher, place: Place, threads: int) -> None:
    """Run everything the dispatcher hands out. An interrupt passes through; the records so far are safe."""
    torch.set_num_threads(threads)
    while (spec := dispatcher.next()) is not None:
        dispatcher.started(spec)
        trial = Trial(spec, place)
        while trial.record is None:
            row = trial.step()
            if row is not None:
                dispatcher.epoch(spec, row)
        dispatcher.finished(spec, trial.record)
