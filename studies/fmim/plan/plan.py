"""The plan of a study: every trial there will be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from fmim.declare import Arm, Preset, Study
from fmim.declare.presets import Variation
from fmim.plan.looks import Looks
from fmim.plan.references import PlannedReference, references_of
from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import SourceDescription
from fmim_core.data.splits import Fold, subject_folds
from fmim_core.records import Stage
from fmim_core.seeding import Draws
from fmim_core.training.config import TrainConfig
from fmim_core.training.device import check_compile
from fmim_core.trial.spec import TrialSpec, folds_seed
from fmim_spaces.domain import Assignment, Configuration


@dataclass(frozen=True)
class UnknownImages:
    """Stands for images that are not decoded yet: trials on them are equal to others of the same plan alone."""

    description: SourceDescription
    path: Path = Path()
    fingerprint: str = ""


BankOfTrials = Bank | UnknownImages


@dataclass(frozen=True)
class Plan:
    """A study, its preset and what a run may change of it; it knows every trial.

    replicates: fresh seeds of each arm's winner, instead of the preset's, if given.
    data_settings: training fields that belong to the data set's images; presets and arms come after them.
    search_splits: splits of the development subjects into folds, on each of which the whole search is run. The first
    one selects for the study; the others show how much of that is chance: the winner of split r is trained with fresh
    seed r, so that there are as many whole pipelines.
    looks: at which compared arms get more seeds, until every comparison is decided; None for a fixed number.

    Raises:
        ValueError: several search splits without a search, or more of them than fresh seeds; or looks at no comparison.
    """

    study: Study
    preset: Preset
    seed: int
    replicates: int | None = None
    data_settings: tuple[Assignment, ...] = ()
    search_splits: int = 1
    looks: Looks | None = None

    def __post_init__(self) -> None:
        if self.looks and (self.search_splits > 1 or not self.study.comparison_pairs):
            raise ValueError("--until-decided needs compared arms and one search split: leave it out")
        if self.search_splits == 1:
            return
        if not self.study.search:
            raise ValueError(
                f"--search-splits {self.search_splits}: study {self.study.name!r} has no search: leave it out"
            )
        fewest = min(map(self.replicates_of, self.arms))
        if self.search_splits > fewest:
            raise ValueError(
                f"--search-splits {self.search_splits} needs as many fresh seeds, but there are {fewest}: each "
                f"split's winner is trained with a new seed; give --replicates {self.search_splits}"
            )

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The study's arms, in its order."""
        return self.study.arms

    def draws_of(self, arm: Arm, search_split: int) -> Draws:
        """Return the random numbers of an arm's search; on another split than the study's own it draws anew."""
        other = ("split", search_split) if search_split else ()
        return Draws((self.seed, "search", arm.name, *other))

    @property
    def equivalence_margin(self) -> float:
        """Two arms are on par if their test metrics differ by less than this: the study's own, or the preset's."""
        return self.study.equivalence_margin or self.preset.equivalence_margin

    @property
    def search_trials(self) -> int:
        """Trials of the search stage: configurations × folds × splits; at most, where a search stops trials."""
        return sum(self.search_trials_of(arm) for arm in self.arms)

    def search_trials_of(self, arm: Arm) -> int:
        """Count the search trials of one arm; none without a search."""
        return arm.budget * self.preset.folds * self.search_splits if self.study.search else 0

    @property
    def exact(self) -> bool:
        """True where the number of trials is known, not only the most there can be."""
        return self.search_splits == 1 and not any(self.rungs_of(arm) for arm in self.arms)

    def rungs_of(self, arm: Arm) -> tuple[int, ...]:
        """Return the epochs after which the arm's search may stop a trial of the first fold, by its stopping rule."""
        train = self.training_of(arm)
        points = arm.searcher.stopping_points(train.validations) if self.study.search else ()
        return tuple(train.validate_every * point for point in points)

    def training_of(self, arm: Arm) -> TrainConfig:
        """Return a training of the arm; those of its other configurations have as many epochs and validations."""
        return self.train_config(arm, next(arm.space.corners()))

    @property
    def warnings(self) -> list[str]:
        """Settings that are allowed, but hardly meant."""
        found = [f"{arm.name}: {text}" for arm in self.arms for text in arm.searcher.warnings(arm.space)]
        for arm in self.arms:
            if arm.searcher.screens and not self.rungs_of(arm):
                validations = self.training_of(arm).validations
                found.append(f"{arm.name}: with {validations} validations there is no rung that could stop a trial")
        return found

    def variations_of(self, arm: Arm) -> tuple[Variation, ...]:
        """Return the variations of a compared arm's winner, if there is a search: of fields that all trainers have."""
        compared = arm.name in chain(*self.study.question_pairs)
        every = self.preset.variations if self.study.search and compared else ()
        return tuple(one for one in every if one.another_seed or all(each.has(one.setting) for each in self.arms))

    def variation_trials_of(self, arm: Arm) -> int:
        """Count the trials of the variation stage of an arm: variations × folds."""
        return len(self.variations_of(arm)) * self.preset.folds

    @property
    def variation_trials(self) -> int:
        """Trials of the variation stage."""
        return sum(map(self.variation_trials_of, self.arms))

    @property
    def replicate_trials(self) -> int:
        """Trials of the replicate stage: fresh seeds of every arm, and at most one of each other split's winner."""
        return sum(map(self.replicates_of, self.arms)) + len(self.arms) * (self.search_splits - 1)

    def replicates_of(self, arm: Arm) -> int:
        """Count the fresh seeds of an arm's winner; those of arms that no comparison names may be others."""
        compared = arm.name in chain(*self.study.comparison_pairs)
        if self.looks and compared:
            return self.looks.now
        if self.replicates is not None:
            return self.replicates
        others = self.preset.other_replicates
        return self.preset.replicates if others is None or compared else others

    @property
    def compared_replicates(self) -> int:
        """Fresh seeds that every arm of a declared comparison has; of every arm where nothing is compared."""
        compared = set(chain(*self.study.comparison_pairs))
        return min(self.replicates_of(arm) for arm in self.arms if not compared or arm.name in compared)

    @property
    def models_per_replicate(self) -> int:
        """Models that a replicate trains and tests together."""
        return self.preset.folds if self.preset.test_protocol == "fold_ensemble" else 1

    @property
    def splits_used(self) -> int:
        """Splits into folds that trials are trained on: those of the search; without one the folds of tested models."""
        tested = self.models_per_replicate > 1 and self.replicate_trials > 0
        return self.search_splits if self.study.search else int(tested)

    @cached_property
    def references(self) -> list[PlannedReference]:
        """The references, which stand beside the arms in the report, though no training made them."""
        trainings = [(arm, self.train_config(arm, configuration)) for arm, configuration in self.study.corners()]
        return references_of(trainings, self.replicates_of)

    @property
    def reference_trials(self) -> int:
        """Trials of the reference stage."""
        return sum(planned.entry.replicates for planned in self.references)

    @property
    def trials(self) -> int:
        """All trials, if every arm finds a winner."""
        return self.search_trials + self.variation_trials + self.replicate_trials + self.reference_trials

    def train_config(self, arm: Arm, configuration: Configuration, variation: Variation | None = None) -> TrainConfig:
        """Return the training of one configuration; asked again, the same object, since making one takes a while."""
        key = (arm.name, *configuration.items(), variation)
        if key not in self._trainings:
            varied = () if variation is None else variation.of(self.train_config(arm, configuration))
            self._trainings[key] = arm.train_config(self.preset, configuration, self.data_settings, varied)
        return self._trainings[key]

    @cached_property
    def _trainings(self) -> dict[tuple[object, ...], TrainConfig]:
        return {}

    def search(
        self, arm: Arm, number: int, configuration: Configuration, bank: BankOfTrials, search_split: int = 0
    ) -> list[TrialSpec]:
        """Return the search trials of an arm's configuration, one a fold; a search stops only that of the first."""
        train = self.train_config(arm, configuration)
        parts = {"arm": arm.name, "number": number, "configuration": configuration, "search_split": search_split}
        first, *others = self._specs("search", range(self.preset.folds), train, bank, **parts)
        return [first.model_copy(update={"rungs": self.rungs_of(arm)}), *others]

    def replicate(
        self, arm: Arm, number: int, configuration: Configuration, bank: BankOfTrials, search_split: int = 0
    ) -> list[TrialSpec]:
        """Return the trials of an arm's winner: all fresh seeds, or the one that ends another search split."""
        seeds = [search_split] if search_split else range(self.replicates_of(arm))
        parts = {"arm": arm.name, "number": number, "configuration": configuration, "search_split": search_split}
        return self._specs("replicate", seeds, self.train_config(arm, configuration), bank, **parts)

    def vary(self, arm: Arm, number: int, configuration: Configuration, bank: BankOfTrials) -> list[TrialSpec]:
        """Return the trials of the variations of an arm's winner, on the folds of the study's own split."""
        found: list[TrialSpec] = []
        for variation in self.variations_of(arm):
            parts = {"arm": arm.name, "number": number, "configuration": configuration, "variation": variation.name}
            parts |= {"another_seed": variation.another_seed}
            varied = self.train_config(arm, configuration, variation)
            found += self._specs("variation", range(self.preset.folds), varied, bank, **parts)
        return found

    def reference(self, planned: PlannedReference, bank: BankOfTrials) -> list[TrialSpec]:
        """Return the trials of a reference, to be run once every arm's winner is known: they read the test set."""
        parts = {"arm": planned.entry.name, "number": 0, "configuration": {}, "reference": planned.reference}
        return self._specs("reference", range(planned.entry.replicates), planned.train, bank, **parts)

    def possible(
        self,
        bank: BankOfTrials,
        proposed: Callable[[str, int], Sequence[Configuration]],
        won: Callable[[str, int], bool] = lambda arm, number: True,
    ) -> list[TrialSpec]:
        """Return every trial there can be, whichever configurations win.

        `proposed` says those of an arm, by its name and search split, where none are listed; `won`, by the arm's name
        and their number, which have trials of a winner.
        """
        specs: list[TrialSpec] = []
        for search_split in range(self.search_splits):
            for arm in self.arms:
                for number, configuration in enumerate(arm.listed or proposed(arm.name, search_split)):
                    if self.study.search:
                        specs += self.search(arm, number, configuration, bank, search_split)
                    if not won(arm.name, number):
                        continue
                    if self.study.search and not search_split:
                        specs += self.vary(arm, number, configuration, bank)
                    specs += self.replicate(arm, number, configuration, bank, search_split)
        return specs + [spec for planned in self.references for spec in self.reference(planned, bank)]

    def _specs(
        self, stage: Stage, replicates: Sequence[int], train: TrainConfig, bank: BankOfTrials, **parts: Any
    ) -> list[TrialSpec]:
        """Return the trials of one training; all are copies of the first, since to validate each takes a while."""
        of_trial = {"stage": stage, "replicate": 0, "train": train, "weights_sha256": train.model.weights_sha256()}
        of_preset = {"preset": self.preset.name, **self.preset.model_dump(include={"folds", "test_protocol"})}
        of_study = {"study": self.study.name, "code": self.study.code.sha256 if self.study.code else ""}
        of_bank = {"bank": bank.path, "bank_fingerprint": bank.fingerprint, "data": bank.description.provenance}
        every = parts | of_trial | of_preset | of_study | of_bank | {"study_seed": self.seed}
        first = TrialSpec.model_validate(every)
        return [first.model_copy(update={"replicate": replicate}) for replicate in replicates]

    def train_configs(self) -> list[TrainConfig]:
        """Return the trainings of all configurations, ranges at their bounds.

        Raises:
            ValueError: one cannot be made.
        """
        return [self.train_config(arm, configuration) for arm, configuration in self.study.corners()]

    @property
    def per_side(self) -> bool:
        """True where each side of a person is an identity of its own."""
        return self.train_configs()[0].identity == "side"

    def folds(self, development: ImageSet, search_split: int = 0) -> list[Fold]:
        """Return the folds of a split of the search stage; of the study's own are fold models that are tested, too."""
        return subject_folds(development, self.preset.folds, folds_seed(self.seed, search_split), self.per_side)

    def splits(self, development: ImageSet) -> list[list[Fold]]:
        """Return the folds of each split that trials are trained on; none where all are trained on all subjects."""
        return [self.folds(development, search_split) for search_split in range(self.splits_used)]

    def check_device(self, device: str) -> None:
        """Raise a `ValueError` if a training cannot be compiled as its configuration says on such a device."""
        for compile in {config.compile for config in self.train_configs()}:
            check_compile(compile, torch.device(device))
