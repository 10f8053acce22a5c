"""Models of all folds that search together, as the authors of AdaTriplet test: their distances are averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from fmim_core.data.image_set import ImageSet
from fmim_core.data.splits import Fold
from fmim_core.records import EpochRow, Member
from fmim_core.seeding import derive_seed, scoped_torch_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import Diverged, Evaluator, Seconds
from fmim_core.training.step import initial_model
from fmim_core.training.trainer import Training
from fmim_core.triplets.similarities import unit


class Ensemble(Evaluator):
    """Models that search together: the mean of their squared distances decides.

    Args:
        models: at least one by the time that images are embedded, all of the same configuration.
    """

    def __init__(self, config: TrainConfig, models: nn.ModuleList, device: torch.device) -> None:
        super().__init__(config, models, device)
        self._models = models

    def embed(self, images: ImageSet) -> Tensor:
        """Return embeddings `(n, k D)` whose cosine similarity is the mean of the k members'; float64, on the CPU.

        The mean over members of the squared distances |a_i − b_i|² = 2 − 2 a_i·b_i of unit embeddings falls as the mean
        of the a_i·b_i rises, which is the scalar product of (a_1, ..., a_k)/√k and (b_1, ..., b_k)/√k.
        """
        parts = []
        for model in self._models:
            member = Evaluator(self.config, model, self.device)
            member.seconds = self.seconds
            parts.append(unit(member.embed(images).cpu().double()))
        return torch.cat(parts, dim=1) / math.sqrt(len(parts))


class FoldEnsemble(Ensemble):
    """One training a fold, one after another, used as one `Training` of k times the epochs.

    Each member is trained on all images but its fold's, which validate it, and is kept as the configuration says.
    Member i's seed derives from (seed, "fold", i), so that it computes what a training of its own would have; a run
    that stops after any epoch and resumes from `state()` goes on within that member.

    `history`, and the epoch that `kept` tells, are the first member's; `members` has everybody's. The model is an
    `nn.ModuleList` of the members' kept models, in the order of folds.

    Args:
        folds: of the same images; each has a validation set.
    """

    def __init__(self, config: TrainConfig, folds: Sequence[Fold], seed: int, device: torch.device) -> None:
        super().__init__(config, nn.ModuleList(), device)
        self._folds, self._seed = folds, seed
        self._finished: list[Member] = []
        self._training: Training | None = None

    @property
    def done(self) -> bool:
        return len(self._finished) == len(self._folds)

    @property
    def members(self) -> tuple[Member, ...]:
        """The finished members, and the one in training if it has run an epoch."""
        running = self._training
        return (*self._finished, *([self._member(running)] if running and running.history else []))

    @property
    def kept(self) -> tuple[int, None]:
        """The first member's kept epoch; validation metrics are each member's own, on other subjects."""
        members = self.members
        return (members[0].kept_epoch if members else 0), None

    def run_epoch(self) -> EpochRow:
        """Run one epoch of the member whose turn it is; return its row, numbered within the member.

        Raises:
            Diverged: as a training; the message names the fold.
        """
        if self._training is None:
            self._training = self._begin()
        training = self._training
        try:
            row = training.run_epoch()
        except Diverged as error:
            raise Diverged(f"model of fold {self._fold.number}: {error}") from error
        if not self._finished:
            self.history.append(row)
        if training.done:
            self._models.append(training.finish())
            self._finished.append(self._member(training))
            self._training = None  # frees its images and its optimizer before the next one has its own
        return row

    @property
    def _fold(self) -> Fold:
        """The fold whose turn it is."""
        return self._folds[len(self._finished)]

    @property
    def _seed_of_fold(self) -> int:
        return derive_seed(self._seed, "fold", self._fold.number)

    def _begin(self) -> Training:
        """Return the next member's training, whose seconds are the ensemble's."""
        fold = self._fold
        with self.seconds.measure("startup"):
            training = Training(self.config, fold.train, fold.validation, self._seed_of_fold, self.device)
        training.seconds = self.seconds
        self.warnings += [f"model of fold {fold.number}: {warning}" for warning in training.warnings]
        return training

    def _member(self, training: Training) -> Member:
        epoch, validation = training.kept
        history, seed = tuple(training.history), self._seed_of_fold
        return Member(fold=self._fold.number, seed=seed, kept_epoch=epoch, validation=validation, history=history)

    def state(self) -> dict[str, Any]:
        return {
            "finished": [member.model_dump(mode="json") for member in self._finished],
            "models": [model.state_dict() for model in self._models],
            "training": None if self._training is None else self._training.state(),
            "seconds": vars(self.seconds) | {"startup": 0.0},  # whoever goes on starts anew
            "warnings": self.warnings,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self._finished = [Member.model_validate(member) for member in state["finished"]]
        for weights in state["models"]:
            with scoped_torch_seed(self._seed, "model"):  # what it is built with is replaced at once
                model = initial_model(self.config, self.device)
            model.load_state_dict(weights)
            self._models.append(model)
        self.seconds = Seconds(**state["seconds"])
        if state["training"] is not None:
            self._training = self._begin()
            self._training.load_state(state["training"])
            self._training.seconds = self.seconds
        self.warnings = list(state["warnings"])
        self.history = list(self.members[0].history) if self.members else []
