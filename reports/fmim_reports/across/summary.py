"""A report in a few words and counts, for an overview of many studies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from fmim_core.records import ReportSummary
from fmim_reports.reading.results import Results


def summary_of(results: Results, sentences: Sequence[str], warnings: Sequence[str]) -> ReportSummary:
    """What an overview shows of a study: what was found, what is not as planned, its trials, and what they cost."""
    trials = Counter(trial.status for trial in results.every_trial)
    trials["missing"] += sum(map(results.unproposed, results.arms))
    trials["missing"] += sum(arm.replicates for arm in results.arms if results.selected(arm.name) is None)
    ran = [trial.device_seconds for trial in results.every_trial if trial.record]
    return ReportSummary(
        study_id=results.study.id,
        executions=len(results.study.executions),
        sentences=list(sentences),
        warnings=list(warnings),
        trials=dict(+trials),
        device_seconds=math.fsum(ran),
    )
