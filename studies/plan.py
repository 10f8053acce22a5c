"""The plan of a study: every trial there will be, checked before the first one starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

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
        per_side = configs[0].identity == "side"
        years = {year for fold in folds for year in _queries_by_year(fold.validation, per_side)}
        return [_sizes(fold, per_side, years) for fold in folds]


def _sizes(fold: Fold, per_side: bool, years: set[int]) -> dict[str, Any]:
    """Who is where in a fold; of its queries those that can be scored, by year, and those without a match.

    `validation_years_missing` are those of all folds' `years` that this one cannot score: it has no part in the mean
    over folds of such a year.
    """
    by_year = _queries_by_year(fold.validation, per_side)
    return {
        "fold": fold.number,
        "train_subjects": len(set(fold.train.subjects)),
        "train_images": len(fold.train),
        "validation_subjects": len(set(fold.validation.subjects)),
        "validation_images": len(fold.validation),
        "validation_gallery": int(fold.validation.gallery_mask.sum()),
        "validation_queries": sum(by_year.values()),
        "validation_queries_without_match": int(fold.validation.query_mask.sum()) - sum(by_year.values()),
        "validation_queries_by_year": {str(year): count for year, count in by_year.items()},
        "validation_years_missing": sorted(years - set(by_year)),
    }


def _queries_by_year(images: ImageSet, per_side: bool) -> dict[int, int]:
    """Queries with a match, by year after baseline."""
    years, counts = np.unique(images.years[images.matched_query_mask(per_side)], return_counts=True)
    return dict(zip(years.tolist(), counts.tolist(), strict=True))


def _check_model(config: TrainConfig) -> None:
    """Build the model once: a missing weights file or download shows here, and trials find the download cached."""
    try:
        config.model.build(config.augmentation.crop)
    except (OSError, RuntimeError) as error:
        raise ValueError(f"the model {config.model!r} cannot be built: {error}") from error
