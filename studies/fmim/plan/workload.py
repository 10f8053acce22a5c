"""The work that there is to do: trials, epochs and images of a plan, counted on the index of its images alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from fmim.declare import Arm
from fmim.plan import Plan
from fmim_core.data.image_set import ImageSet
from fmim_core.data.splits import Fold
from fmim_core.models.base import multiply_adds
from fmim_core.records import TrialLengths
from fmim_core.training.config import TrainConfig
from fmim_spaces.domain import Configuration

FORWARD_AND_BACKWARD = 3
"""The cost of training on an image, in forward passes: the backward pass has two products for each forward one."""


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
        return sum(map(self.of_arm, self.plan.arms), Work(trials=self.plan.reference_trials))

    def of_arm(self, arm: Arm) -> Work:
        """Sum the trials of an arm: of its search if there is one, variations, and replicates.

        Those of other splits are the most there can be; all configurations of the arm cost alike.
        """
        config = self.plan.train_config(arm, _configurations(arm)[0])
        replicates = self.plan.replicates_of(arm) + self.plan.search_splits - 1
        search = [
            self.trial(self.plan.train_config(arm, configuration), fold.number, search_split)
            for search_split, folds in enumerate(self.splits if self.plan.study.search else ())
            for configuration in _configurations(arm)
            for fold in folds
        ]
        varied = [self.trial(one, fold.number) for one in self._varied(arm) for fold in self.splits[0]]
        return sum(search + varied + [self.trial(config, None)] * replicates, Work())

    def trial(self, config: TrainConfig, fold: int | None, search_split: int = 0) -> Work:
        """Count one trial: that of a fold, or a replicate with all its trainings."""
        epochs = config.epochs * len(self.trainings(fold, search_split))
        return Work(1, epochs, config.epochs * self.batches(config, fold, search_split) * config.batches.size)

    def trainings(self, fold: int | None, search_split: int = 0) -> list[Fold | None]:
        """Return the fold that each training of a fold's trial, or else of a replicate, holds out; None: of all."""
        if fold is not None:
            return [self.splits[search_split][fold]]
        return list(self.splits[0]) if self.plan.models_per_replicate > 1 else [None]

    def batches(self, config: TrainConfig, fold: int | None, search_split: int = 0) -> int:
        """Count the batches of an epoch, of all trainings of the trial together."""
        held_out = self.trainings(fold, search_split)
        return sum(config.batches.in_epoch(len(one.train if one else self.development)) for one in held_out)

    def validated(self, fold: int | None, search_split: int = 0) -> int:
        """Count the images embedded at each validation, of all trainings of the trial together."""
        return sum(len(one.validation) if one else 0 for one in self.trainings(fold, search_split))

    def length(self, config: TrainConfig, fold: int | None, test_images: int, search_split: int = 0) -> int:
        """Estimate how long a trial is, in multiply-adds, since no time is known before anything has run.

        Images shown in training × forward and backward passes + images embedded × forward passes: those of the fold
        at each validation, and the `test_images` at the end of a replicate. Comparable within this plan alone.
        """
        embedded = config.validations * self.validated(fold, search_split)
        if fold is None:
            embedded += len(self.trainings(None)) * test_images
        passes = FORWARD_AND_BACKWARD * self.trial(config, fold, search_split).images + embedded
        return passes * (multiply_adds(config.model, config.augmentation.crop) if self._networks_differ else 1)

    def lengths(self, arm: Arm, test_images: int) -> TrialLengths:
        """Return the lengths of an arm's trials, whose configurations are all alike in what they cost."""
        config = self.plan.train_config(arm, _configurations(arm)[0])
        folds = range(self.plan.preset.folds if self.plan.study.search else 0)
        search = [self.length(config, fold, test_images) for fold in folds]
        varied = [self.length(one, fold, test_images) for one in self._varied(arm) for fold in folds]
        return TrialLengths(
            search=fmean(search or (0.0,)),
            variation=fmean(varied or (0.0,)),
            replicate=self.length(config, None, test_images),
        )

    def _varied(self, arm: Arm) -> list[TrainConfig]:
        """Return a training of each variation of the arm."""
        configuration = _configurations(arm)[0]
        return [self.plan.train_config(arm, configuration, one) for one in self.plan.variations_of(arm)]

    @cached_property
    def _networks_differ(self) -> bool:
        """False where all are one, whose multiply-adds are a common factor: to count them takes a second to import."""
        return len({(config.model, config.augmentation.crop) for config in self.plan.train_configs()}) > 1

    @cached_property
    def splits(self) -> list[list[Fold]]:
        """The folds of each split that trials are trained on; none where all are trained on all subjects."""
        return self.plan.splits(self.development)


def _configurations(arm: Arm) -> list[Configuration]:
    """As many configurations as its search trains: the real ones where they are listed."""
    return arm.listed or [next(arm.space.corners())] * arm.budget
