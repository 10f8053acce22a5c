"""Records of equal trials in a forecast, which writes none."""

from __future__ import annotations

from fmim.runner.reuse.earlier import EarlierTrials
from fmim.runner.reuse.taking_over import usable
from fmim_core.records import Record, now
from fmim_core.trial.spec import TrialSpec


class ForecastRecords:
    """Those of other studies as they are, and those of trials that the forecast has run.

    Args:
        on_gpu: whether trials train on GPUs here.
    """

    def __init__(self, earlier: EarlierTrials, on_gpu: bool) -> None:
        self._earlier, self._on_gpu = earlier, on_gpu
        self._own: dict[str, Record] = {}
        self.reused = 0

    def may_stand_for(self, spec: TrialSpec) -> bool:
        """Whether the record of an equal trial may be this one's, too."""
        return self._earlier.may_stand_for(spec)

    def take_over(self, spec: TrialSpec) -> Record | None:
        """The result of an equal trial as this trial's own; None if there is none."""
        record = self._own.get(spec.fingerprint) or self._of_others(spec)
        if record is None:
            return None
        self.reused += 1
        result = {"status": record.status, "history": record.history, "metrics": record.metrics}
        return spec.record(now()).changed(result)

    def finished(self, spec: TrialSpec, record: Record) -> None:
        """From now on this trial's result can stand for others."""
        if record.has_result:
            self._own[spec.fingerprint] = record

    def _of_others(self, spec: TrialSpec) -> Record | None:
        for path in self._earlier.of(spec):
            try:
                return usable(path, spec, self._on_gpu)
            except (ValueError, OSError):  # it is told when the study runs
                continue
        return None
