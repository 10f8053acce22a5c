"""AutoMargin against the searches it would replace, compared seed by seed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reports.reading.results import Results
from reports.reading.summary import ArmSummary, arm_summaries, completed
from reports.stats import (
    EffectSize,
    Equivalence,
    PairedDifference,
    effect_size,
    equivalence,
    paired_difference,
)


@dataclass(frozen=True)
class Contest:
    """AutoMargin against another search for one loss, paired by seed. alone: there is no other for this loss."""

    loss: str
    automargin: ArmSummary
    rival: ArmSummary
    alone: bool
    paired: PairedDifference
    tost: Equivalence
    effect: EffectSize

    @property
    def against(self) -> str:
        """The other search in a sentence: grid search, TPE."""
        return self.rival.label.removeprefix(f"{self.loss} + ")

    @property
    def name(self) -> str:
        """What tells this contest from the others: the loss, and the other search where there are several."""
        return self.loss if self.alone else f"{self.loss} against {self.against}"

    @property
    def seconds_ratio(self) -> float:
        """Search device-seconds of the other search over those of AutoMargin."""
        ours = self.automargin.cost.device_seconds
        return self.rival.cost.device_seconds / ours if ours > 0 else math.nan


def contests(results: Results) -> list[Contest]:
    """AutoMargin against grid search and every sampled search of the same loss, in plan order."""
    sampled = {arm["name"] for arm in results.arms if arm.get("searcher", {}).get("kind", "grid") != "grid"}
    arms = arm_summaries(results)
    found = []
    for ours in (arm for arm in arms if arm.search == "AutoMargin"):
        same = [arm for arm in arms if arm.loss == ours.loss]
        rivals = [arm for arm in same if arm.search == "Grid search" or arm.name in sampled]
        found += [_contest(results, ours, rival, alone=len(rivals) == 1) for rival in rivals]
    return found


def _contest(results: Results, ours: ArmSummary, rival: ArmSummary, alone: bool) -> Contest:
    a, b = (completed(results.of(arm.name, "replicate"), "mAP") for arm in (ours, rival))
    tost = equivalence(a, b, results.equivalence_margin)
    return Contest(ours.loss, ours, rival, alone, paired_difference(a, b), tost, effect_size(a, b))
