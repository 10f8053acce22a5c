"""Checks of a plan's trainings, before the first one starts."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from fmim.plan import Plan
from fmim.plan.fold_sizes import fold_sizes
from fmim_core.data.image_set import ImageSet
from fmim_core.records import FoldEntry
from fmim_core.training.config import TrainConfig
from fmim_core.training.rehearsal import rehearse_loss, rehearse_model
from fmim_core.training.sampler import SubjectSampler
from fmim_core.training.trainer import check_crop


def check_trainings(plan: Plan, development: ImageSet) -> list[FoldEntry]:
    """Check everything that could stop a trial, on the development images; returns the sizes of the study's folds.

    Raises:
        ValueError: a best epoch to be kept where nothing validates, a fold that cannot be made, fewer subjects than a
            batch needs, a crop larger than the images, a model that cannot be built, a loss that cannot be computed,
            or a surface of no such loss.
    """
    for surface in plan.study.surfaces:
        surface.loss()
    configs = plan.train_configs()
    _check_kept_epochs(plan)
    by_split = [plan.folds(development, search_split) for search_split in range(plan.splits_used)]
    for config in _different(configs, {"model", "batches", "augmentation"}):
        check_crop(config, development)
        for training in [fold.train for split in by_split for fold in split] or [development]:
            SubjectSampler(torch.from_numpy(training.identities(config.identity == "side")), config.batches)
        rehearse_model(config.model, config.augmentation.crop)
    every_value = (plan.train_config(arm, each) for arm in plan.arms for each in arm.space.every_value())
    for config in _different(every_value, {"loss", "margins"}):
        rehearse_loss(config)
    return fold_sizes(by_split[0], configs[0].identity == "side") if plan.study.search else []


def _different(configs: Iterable[TrainConfig], fields: set[str]) -> Iterable[TrainConfig]:
    """One of those that agree in these fields."""
    return {config.model_dump_json(include=fields): config for config in configs}.values()


def _check_kept_epochs(plan: Plan) -> None:
    """Selection and test keep a model's epoch by the same rule: `best` only where there is validation for both."""
    if not plan.replicate_trials or plan.models_per_replicate > 1:
        return
    for arm, configuration in plan.study.corners():
        if plan.train_config(arm, configuration).keep == "best":
            raise ValueError(
                f"arm {arm.name!r} keeps the best validation epoch, but preset {plan.preset.name} tests models "
                "retrained on all development subjects, where nothing validates: set keep = 'last', or give the "
                "preset test_protocol = 'fold_ensemble', as paper has it: each model is validated on a fold"
            )
