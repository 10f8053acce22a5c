"""Checks of a plan on its data set, before the first training starts: what stops it, and what to know of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import torch

from fmim.plan.plan import Plan
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import SourceDescription
from fmim_core.data.splits import Fold
from fmim_core.metric_names import Interval
from fmim_core.optimizers.base import ConstantRate
from fmim_core.records import FoldEntry
from fmim_core.training.config import TrainConfig
from fmim_core.training.fit_trainer import rehearse_trainer
from fmim_core.training.sampler import SubjectSampler
from fmim_core.training.step import rehearse_augmentation, rehearse_loss, rehearse_model, rehearse_optimizer
from fmim_core.training.trainer import check_images


def check_trainings(plan: Plan, development: ImageSet) -> list[FoldEntry]:
    """Check everything that could stop a trial, on the development images; return the sizes of the study's folds.

    Raises:
        ValueError: fewer subjects than folds or a batch need, a best epoch to be kept unless both selection and test
            have a validation set for it, a crop larger than the images, an augmentation that cannot be done, a model
            that cannot be built, a loss that cannot be computed, an own trainer that does not train, or a
            surface of no such loss.
    """
    for surface in plan.study.surfaces:
        surface.loss()
    for arm in plan.arms if plan.replicate_trials and plan.models_per_replicate == 1 else ():
        if any(plan.train_config(arm, configuration).keep != "last" for configuration in arm.space.corners()):
            raise ValueError(
                f"arm {arm.name!r} keeps the best validation epoch, but preset {plan.preset.name} retrains on all "
                "development subjects, which leaves none for validation: set keep = 'last', or give the "
                "preset test_protocol = 'fold_ensemble', which validates each model on a fold (as preset paper does)"
            )
    check_subject_counts(plan, development)
    for config in _different(plan.train_configs(), {"model", "augmentation"}):
        check_images(config, development)
        if config.trainer is None:
            rehearse_augmentation(config.augmentation, development.images.shape[1:])
            rehearse_model(config.model, config.augmentation.crop)
    every_value = [plan.train_config(arm, each) for arm in plan.arms for each in arm.space.every_value()]
    ours = [config for config in every_value if config.trainer is None]
    for config in _different(ours, {"loss", "margins"}):
        rehearse_loss(config)
    for config in ours:
        rehearse_optimizer(config)
    check_effects(ours)
    own = _different((config for config in every_value if config.trainer), {"trainer", "epochs", "identity"})
    for number, config in enumerate(own):
        rehearse_trainer(config, development, resume=number == 0)
    return fold_sizes(plan.folds(development), plan.per_side) if plan.study.search else []


def check_effects(configs: Sequence[TrainConfig]) -> None:
    """Raise a `ValueError` if a setting has no effect in any of these trainings that have another value than usual."""
    starts = [one.lr_schedule for one in configs if one.lr_schedule.warmup_start != ConstantRate().warmup_start]
    if starts and not any(one.warmup_epochs for one in starts):
        raise ValueError(
            f"lr_schedule.warmup_start = {starts[0].warmup_start:g} has no effect without a warm-up: set "
            "lr_schedule.warmup_epochs as well, or leave it out"
        )
    scaled = [one for one in configs if one.loss_lr_factor != 1]
    losses = {one.loss.model_dump_json(): one.loss.build(one.model.embedding_dim, 2) for one in scaled}
    if scaled and not any(list(loss.parameters()) for loss in losses.values()):
        raise ValueError(
            f"loss_lr_factor = {scaled[0].loss_lr_factor:g} has no effect: the loss {scaled[0].loss.kind!r} has no "
            "weights of its own; leave it out"
        )


def check_subject_counts(plan: Plan, development: ImageSet) -> None:
    """Check that the folds can be made, and that each can fill a batch.

    Raises:
        ValueError: one cannot; the message says what the data set has, and which presets it is enough for.
    """
    if (problem := _problem(plan, development)) is None:
        return
    matched = len(set(development.subjects[development.matched_query_mask(plan.per_side)]))
    presets = [replace(plan, preset=preset) for preset in plan.study.presets]
    if fitting := [other.preset.name for other in presets if _problem(other, development) is None]:
        advice = f"They are enough for preset {', '.join(fitting)}."
    else:
        least = min(presets, key=fewest_subjects)
        both = least.preset.folds if least.splits_used else 1
        needs = f"{least.preset.name} needs {fewest_subjects(least)}, {both} of them with such a query"
        advice = f"They are too few for every preset: add subjects, {needs}."
    raise ValueError(
        f"{problem}\n  The development set has {len(set(development.subjects))} subjects, {matched} of them with a "
        f"query that has a match, and preset {plan.preset.name} has {plan.preset.folds} folds. {advice}"
    )


def fewest_subjects(plan: Plan) -> int:
    """Return how many fill a batch b when one of k folds is held out: the least n with n − ⌈n/k⌉ ≥ b."""
    batch = max(config.batches.subjects_per_batch for config in plan.train_configs())
    return -(-batch * plan.preset.folds // (plan.preset.folds - 1)) if plan.splits_used else batch


def _problem(plan: Plan, development: ImageSet) -> str | None:
    try:
        trained = [fold.train for folds in plan.splits(development) for fold in folds] or [development]
        for config in _different(plan.train_configs(), {"batches", "identity"}):
            for images in trained:
                SubjectSampler(torch.from_numpy(images.identities(config.identity == "side")), config.batches)
    except ValueError as error:
        return str(error)
    return None


def _different(configs: Iterable[TrainConfig], fields: set[str]) -> Iterable[TrainConfig]:
    """One of those that agree in these fields."""
    return {config.model_dump_json(include=fields): config for config in configs}.values()


def fold_sizes(folds: Sequence[Fold], per_side: bool) -> list[FoldEntry]:
    """Count who is where in each fold; of its queries those that can be scored, by time, and those without a match.

    `validation_times_missing` are the times of all folds that one cannot score: it has no part in the mean over folds
    of such a time.
    """
    scored = [fold.validation.times[fold.validation.matched_query_mask(per_side)].tolist() for fold in folds]
    by_time = [Counter(sorted(time for time in times if time >= 0)) for times in scored]  # the others' is not known
    return [
        FoldEntry(
            fold=fold.number,
            train_subjects=len(set(fold.train.subjects)),
            train_images=len(fold.train),
            validation_subjects=len(set(fold.validation.subjects)),
            validation_images=len(fold.validation),
            validation_gallery=int(fold.validation.gallery_mask.sum()),
            validation_queries=len(times),
            validation_queries_without_match=int(fold.validation.query_mask.sum()) - len(times),
            validation_queries_by_time={str(time): count for time, count in counts.items()},
            validation_times_missing=sorted(set(chain(*by_time)) - set(counts)),
        )
        for fold, times, counts in zip(folds, scored, by_time, strict=True)
    ]


def data_warnings(description: SourceDescription) -> list[str]:
    """Say what the data set's tables were warned of."""
    return [
        f"{finding['what']} ({finding['count']}; `fmim data check` lists them)"
        for finding in description.details.get("findings", ())
        if finding["severity"] == "warning"
    ]


def fold_warnings(folds: Iterable[FoldEntry], interval: Interval) -> list[str]:
    """Name the times after baseline, in the data set's interval, that a fold cannot score though other folds can."""
    said = []
    for fold in folds:
        if missing := fold.validation_times_missing:
            times = f"{interval.plural if len(missing) > 1 else interval.unit} {', '.join(map(str, missing))}"
            said.append(f"fold {fold.fold} has no validation query of {times}")
    return said
