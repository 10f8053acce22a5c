"""How much there is to do: trials, epochs and images of a plan, counted on the index of its images alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from fmim_core.data.bank.image_set import ImageSet
from fmim_core.data.splits import Fold
from fmim_core.models.base import multiply_adds
from fmim_core.training.config import TrainConfig
from search_spaces.domain import Configuration
from studies.declare import Arm
from studies.plan import Plan

FORWARD_AND_BACKWARD = 3
"""Of an image in training, in forward passes: going back, each product is there for the inputs and for the weights."""


@dataclass(frozen=True)
class Work:
    """Trials, their epochs, and the training images these show, repeats counted."""

    trials: int = 0
    epochs: int = 0
    images: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.trials + other.trials, self.epochs + other.epochs, self.images + other.images)


@dataclass(frozen=True)
class Workload:
    """The work of a plan's trials on these development images; the most there can be where a search stops trials."""

    plan: Plan
    development: ImageSet

    @property
    def total(self) -> Work:
        """All trials, if every arm finds a winner."""
        return _sum(self.search(arm) + self.replicates(arm) for arm in self.plan.arms)

    def search(self, arm: Arm) -> Work:
        """The search trials of an arm; none without a search."""
        return _sum(
            self.trial(self.plan.train_config(arm, configuration), fold.number, search_split=search_split)
            for search_split, folds in enumerate(self.splits)
            for configuration in _configurations(arm)
            for fold in folds
        )

    def replicates(self, arm: Arm) -> Work:
        """The replicates of an arm, whose configurations are all alike in what they cost; at most, of other splits."""
        config = self.plan.train_config(arm, _configurations(arm)[0])
        return _sum(self.trial(config, None) for _ in range(self.plan.replicates_of(arm) + self.plan.search_splits - 1))

    def trial(self, config: TrainConfig, fold: int | None, epochs: int | None = None, search_split: int = 0) -> Work:
        """One trial, of all its epochs if nothing else is said."""
        run = config.epochs if epochs is None else epochs
        return Work(1, run, run * self.batches(config, fold, search_split) * config.batches.size)

    def batches(self, config: TrainConfig, fold: int | None, search_split: int = 0) -> int:
        """Batches of an epoch on all subjects but those of a fold."""
        training = self.development if fold is None else self.splits[search_split][fold].train
        return config.batches.in_epoch(len(training))

    def validated(self, fold: int | None, search_split: int = 0) -> int:
        """Images embedded at each validation."""
        return 0 if fold is None else len(self.splits[search_split][fold].validation)

    def length(self, config: TrainConfig, fold: int | None, test_images: int, search_split: int = 0) -> int:
        """About how long a trial is, in multiply-adds, since no time is known before anything has run.

        Images shown in training × forward and backward passes + images embedded × forward passes: those of the fold
        at each validation, or the `test_images` at the end of a replicate. Comparable within this plan alone.
        """
        embedded = test_images if fold is None else config.validations * self.validated(fold, search_split)
        passes = FORWARD_AND_BACKWARD * self.trial(config, fold, search_split=search_split).images + embedded
        return passes * (multiply_adds(config.model, config.augmentation.crop) if self._networks_differ else 1)

    @cached_property
    def _networks_differ(self) -> bool:
        """Where all are one, its multiply-adds are a common factor, and counting them would take a second to import."""
        return len({(config.model, config.augmentation.crop) for config in self.plan.train_configs()}) > 1

    @cached_property
    def splits(self) -> list[list[Fold]]:
        """The folds of each split of the search stage; none without one."""
        splits = range(self.plan.search_splits if self.plan.study.search else 0)
        return [self.plan.folds(self.development, search_split) for search_split in splits]


def _configurations(arm: Arm) -> list[Configuration]:
    """As many configurations as its search trains: the real ones where they are listed."""
    return arm.listed or [next(arm.space.corners())] * arm.budget


def _sum(works: Iterable[Work]) -> Work:
    return sum(works, Work())
