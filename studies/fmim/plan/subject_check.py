"""Whether a data set has enough subjects for a preset and, where it has not, for which preset it has."""

from __future__ import annotations

from dataclasses import replace

import torch

from fmim.plan import Plan
from fmim_core.data.image_set import ImageSet
from fmim_core.training.sampler import SubjectSampler


def check_subject_counts(plan: Plan, development: ImageSet) -> None:
    """Check the folds and that each can fill a batch.

    Raises:
        ValueError: one cannot; the message says what the data set has, and which presets it is enough for.
    """
    if (problem := _problem(plan, development)) is None:
        return
    per_side = plan.train_configs()[0].identity == "side"
    matched = len(set(development.subjects[development.matched_query_mask(per_side)]))
    presets = [replace(plan, preset=preset) for preset in plan.study.presets]
    if fitting := [other.preset.name for other in presets if _problem(other, development) is None]:
        advice = f"They are enough for preset {', '.join(fitting)}."
    else:
        least = min(presets, key=_least)
        both = least.preset.folds if least.splits_used else 1
        needs = f"{least.preset.name} needs {_least(least)}, {both} of them with such a query"
        advice = f"They are too few for every preset: add subjects, {needs}."
    raise ValueError(
        f"{problem}\n  Beside those of the test there are {len(set(development.subjects))} subjects, {matched} with a "
        f"query that has a match, and preset {plan.preset.name} has {plan.preset.folds} folds. {advice}"
    )


def _least(plan: Plan) -> int:
    """Subjects that fill a batch b when one of k folds is held out: the least n with n − ⌈n/k⌉ ≥ b."""
    batch = max(config.batches.subjects_per_batch for config in plan.train_configs())
    return -(-batch * plan.preset.folds // (plan.preset.folds - 1)) if plan.splits_used else batch


def _problem(plan: Plan, development: ImageSet) -> str | None:
    try:
        trainings = [fold.train for fold in plan.folds(development)] if plan.splits_used else [development]
        for config in plan.train_configs():
            for training in trainings:
                identities = torch.from_numpy(training.identities(config.identity == "side"))
                SubjectSampler(identities, config.batches)
    except ValueError as error:
        return str(error)
    return None
