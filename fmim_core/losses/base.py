"""The base of losses: a configuration, the module that computes it, and its output."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from fmim_core.margins.base import Margins
from fmim_core.registry import KindConfig, Registry
from fmim_core.seeding import scoped_torch_seed
from fmim_core.triplets.similarities import Similarities, TripletIndex


class LossOutput(NamedTuple):
    """The output of a loss for a batch. Losses without triplets return NaN for `active`.

    value: the loss (scalar, with gradient). active: triplets with a non-zero term (scalar); 0 in an empty batch.
    """

    value: Tensor
    active: Tensor


def mean_over_triplets(terms: Tensor, index: TripletIndex) -> Tensor:
    """Return the mean over all triplets of terms `(P, B)` of any sign; 0 where there are none."""
    return (terms * index.valid).sum() / max(1, index.triplets)


class LossModule(nn.Module, ABC):
    """Computes a loss; its parameters, if it has any, are trained with the model."""

    @abstractmethod
    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        """Return the loss of a batch under `margins`, and how many triplets are active; 0 in an empty one."""


def no_triplets(value: Tensor) -> LossOutput:
    """Return the output of a loss that knows no triplets, which has this value."""
    return LossOutput(value, torch.full((), math.nan, device=value.device))


class LibraryLoss(LossModule):
    """A loss of pytorch-metric-learning, or another module of embeddings and labels, with an optional library miner.

    Its weights, if any, are trained with the model, always in float32. Its random numbers follow from the labels of
    the batch, so that a resumed training draws the same ones.
    """

    def __init__(self, loss: nn.Module, miner: nn.Module | None = None) -> None:
        super().__init__()
        self.loss, self._miner = loss, miner
        for module in list(loss.modules()):  # what it remembers from batch to batch is part of its state
            for name, value in [*vars(module).items()]:
                if isinstance(value, Tensor):
                    delattr(module, name)
                    module.register_buffer(name, value)

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        weights = next(self.loss.parameters(), batch.embeddings)
        embeddings, classes = batch.embeddings.to(weights.dtype), batch.classes
        for module in self.loss.modules():
            for name, value in module.named_buffers(recurse=False):
                setattr(module, name, value.detach())  # from the batch before
        with scoped_torch_seed("loss", *classes.tolist(), device=embeddings.device):
            if self._miner is None:
                return no_triplets(self.loss(embeddings, classes))
            mined = self._miner(embeddings, classes)
            output = no_triplets(self.loss(embeddings, classes, mined))
        found = any(map(len, mined))
        return output if found else LossOutput(output.value, torch.zeros_like(output.active))


class Loss(KindConfig):
    """A loss and its settings. It receives its margins and never computes them.

    uses_margins: whether it has margins, which a margin schedule provides.
    uses_beta: whether it has a term for negative pairs, with a margin β.
    waits_for_device: whether its module makes the host wait for a GPU; such a step cannot be one CUDA graph.
    """

    uses_margins: ClassVar[bool] = True
    uses_beta: ClassVar[bool] = False
    waits_for_device: ClassVar[bool] = False

    @classmethod
    def called(cls, settings: Mapping[str, Any]) -> str:
        """Return what it is called where a training has these settings, by dotted name: the class's name."""
        return cls.__name__

    @abstractmethod
    def build(self, embedding_dim: int, classes: int) -> LossModule:
        """Return the module, for embeddings `(B, embedding_dim)` of so many identities in the training set."""


class LossOfTrainer(Loss):
    """Stands for whatever loss a trainer of a user's own has."""

    kind: Literal["of_trainer"] = "of_trainer"
    uses_margins: ClassVar[bool] = False

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        raise NotImplementedError


class WeightlessLoss(Loss):
    """A loss without weights to be trained: a formula of the batch and its margins."""

    @abstractmethod
    def formula(self, batch: Similarities, margins: Margins) -> LossOutput:
        """Return the loss of a batch under `margins`, and how many triplets are active; 0 in an empty one."""

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        return FormulaModule(self)


class FormulaModule(LossModule):
    """Computes the formula of a `WeightlessLoss`."""

    def __init__(self, loss: WeightlessLoss) -> None:
        super().__init__()
        self._loss = loss

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        return self._loss.formula(batch, margins)


LOSSES: Registry[Loss] = Registry("loss", "fmim_core.losses")
"""All losses, by kind."""
