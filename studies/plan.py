"""The plan of a study: every trial there will be, checked before the first one starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from fmim_core.compiling import check_compile
from fmim_core.data.bank import Bank, ImageSet
from fmim_core.data.splits import Fold, subject_folds
from fmim_core.sampler import SubjectSampler
from fmim_core.seeding import derive_seed
from fmim_core.train_config import TrainConfig
from fmim_core.trainer import check_crop
from fmim_core.trial import TrialSpec
from search_spaces.domain import Assignment, Configuration
from studies.declare import Arm, Preset, Study


@dataclass(frozen=True)
class Plan:
    """A study, its preset and what a run may change of it; it knows every trial.

    replicates: fresh seeds of each arm's winner. epochs: instead of the preset's, if given. data_settings: training
    fields that belong to the data set's images; presets and arms come after them.
    """

    study: Study
    preset: Preset
    seed: int
    replicates: int
    epochs: int | None = None
    data_settings: tuple[Assignment, ...] = ()

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The study's arms, in its order."""
        return self.study.arms

    @property
    def search_trials(self) -> int:
        """Trials of the search stage: configurations × folds."""
        return sum(self.search_trials_of(arm) for arm in self.arms)

    def search_trials_of(self, arm: Arm) -> int:
        """Search trials of one arm; none without a search."""
        return arm.space.size * self.preset.folds if self.study.search else 0

    @property
    def replicate_trials(self) -> int:
        """Trials of the replicate stage: arms × fresh seeds."""
        return len(self.arms) * self.replicates

    @property
    def trials(self) -> int:
        """All trials, if every arm finds a winner."""
        return self.search_trials + self.replicate_trials

    def train_config(self, arm: Arm, configuration: Configuration) -> TrainConfig:
        """The training of one configuration."""
        return arm.train_config(self.preset, configuration, self.epochs, self.data_settings)

    def search(self, arm: Arm, bank: Bank) -> list[TrialSpec]:
        """The search trials of an arm: every configuration on every fold; none without a search."""
        if not self.study.search:
            return []
        return [
            self._spec(arm, number, configuration, "search", fold, bank)
            for number, configuration in enumerate(arm.space.configurations())
            for fold in range(self.preset.folds)
        ]

    def replicate(self, arm: Arm, number: int, bank: Bank) -> list[TrialSpec]:
        """The replicate trials of an arm, once its winner is known."""
        configuration = list(arm.space.configurations())[number]
        return [
            self._spec(arm, number, configuration, "replicate", replicate, bank) for replicate in range(self.replicates)
        ]

    def possible(self, bank: Bank) -> list[TrialSpec]:
        """Every trial there can be, whichever configurations win."""
        return [
            spec
            for arm in self.arms
            for spec in (
                *self.search(arm, bank),
                *(spec for number in range(arm.space.size) for spec in self.replicate(arm, number, bank)),
            )
        ]

    def _spec(
        self, arm: Arm, number: int, configuration: Configuration, stage: str, replicate: int, bank: Bank
    ) -> TrialSpec:
        return TrialSpec.model_validate(
            {
                "study": self.study.name,
                "preset": self.preset.name,
                "arm": arm.name,
                "number": number,
                "configuration": configuration,
                "stage": stage,
                "replicate": replicate,
                "folds": self.preset.folds,
                "study_seed": self.seed,
                "train": self.train_config(arm, configuration),
                "bank": bank.path,
                "bank_fingerprint": bank.fingerprint,
                "data": bank.description.provenance,
            }
        )

    def train_configs(self) -> list[TrainConfig]:
        """The trainings of all configurations.

        Raises:
            ValueError: one cannot be made.
        """
        return [self.train_config(arm, configuration) for arm, _, configuration in self.study.configurations()]

    def folds(self, development: ImageSet) -> list[Fold]:
        """The folds of the search stage."""
        per_side = self.train_configs()[0].identity == "side"
        return subject_folds(development, self.preset.folds, derive_seed(self.seed, "folds"), per_side)

    def check(self, development: ImageSet) -> list[dict[str, Any]]:
        """Check everything that could stop a trial, on the development images; returns the sizes of the folds.

        Raises:
            ValueError: a fold that cannot be made, fewer subjects than a batch needs, a crop larger than the images,
                or a model that cannot be built.
        """
        configs = self.train_configs()
        folds = self.folds(development) if self.study.search else []
        for config in {
            config.model_dump_json(include={"model", "batches", "augmentation"}): config for config in configs
        }.values():
            check_crop(config, development)
            for training in [fold.train for fold in folds] or [development]:
                SubjectSampler(torch.from_numpy(training.identities(config.identity == "side")), config.batches)
            _check_model(config)
        return [
            {
                "fold": fold.number,
                "train_subjects": len(set(fold.train.subjects)),
                "train_images": len(fold.train),
                "validation_subjects": len(set(fold.validation.subjects)),
                "validation_images": len(fold.validation),
                **_queries(fold.validation, configs[0].identity == "side"),
            }
            for fold in folds
        ]

    def check_device(self, device: str) -> None:
        """Raise a `ValueError` if a training cannot be compiled as its configuration says on such a device."""
        for compile in {config.compile for config in self.train_configs()}:
            check_compile(compile, torch.device(device))


def _queries(images: ImageSet, per_side: bool) -> dict[str, int]:
    """Queries that can be scored, and those that cannot since their identity is not in the gallery."""
    matched = int(images.matched_query_mask(per_side).sum())
    return {
        "validation_queries": matched,
        "validation_queries_without_match": int(images.query_mask.sum()) - matched,
    }


def _check_model(config: TrainConfig) -> None:
    """Build the model once: a missing weights file or download shows here, and trials find the download cached."""
    try:
        config.model.build(config.augmentation.crop)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"the model {config.model!r} cannot be built: {error}") from error
