"""The trial of a reference: no epoch, and the test set as in a replicate."""

from __future__ import annotations

from fmim_core.records import EpochRow, read_record
from fmim_core.references.base import Reference
from fmim_core.training.trainer import check_crop
from fmim_core.trial.cost import earlier_attempts
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial


def trial_of(spec: TrialSpec, settings: RunSettings) -> Trial:
    """What runs the trial."""
    return Trial(spec, settings) if spec.reference is None else ReferenceTrial(spec, settings, spec.reference)


class ReferenceTrial(Trial):
    """Evaluates a reference in one step, and ends in a record as every trial does."""

    def __init__(self, spec: TrialSpec, settings: RunSettings, reference: Reference) -> None:
        super().__init__(spec, settings)
        self._reference = reference

    def _advance(self) -> EpochRow | None:
        spec, device = self.spec, self._device()
        spec.check_weights()
        self._attempts = earlier_attempts(read_record(self._settings.out, spec.id), spec.fingerprint)
        development = self._bank().development()
        check_crop(spec.train, development)
        self._evaluator = self._reference.evaluator(spec.train, development, spec.seed, device)
        self._meter.ready()
        self._write("completed", **self._measured(self._evaluator))
        return None
