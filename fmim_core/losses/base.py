"""The base of losses: a configuration, the module that computes it, and its output."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from fmim_core.margins.base import Margins
from fmim_core.registry import KindConfig, Registry
from fmim_core.triplets.similarities import Similarities, TripletIndex


class LossOutput(NamedTuple):
    """A loss of a batch. Losses that know no triplets give not-a-number for them.

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


class LibraryLoss(LossModule):
    """A loss of pytorch-metric-learning, whose import is slow: each is imported where it is built.

    Its weights, if it has any, are trained with the model, and float32 whatever the embeddings are.
    """

    def __init__(self, loss: nn.Module) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        weights = next(self.loss.parameters(), batch.embeddings)
        value = self.loss(batch.embeddings.to(weights.dtype), batch.classes)
        return LossOutput(value, torch.full((), math.nan, device=value.device))


class Loss(KindConfig):
    """A loss and its settings. It is given its margins, and never computes them.

    uses_margins: whether there are margins in it, which a margin schedule then gives.
    uses_beta: whether it has a term of negative pairs, with a margin β.
    waits_for_device: whether its module makes the host wait for a GPU; such a step cannot be one CUDA graph.
    """

    uses_margins: ClassVar[bool] = True
    uses_beta: ClassVar[bool] = False
    waits_for_device: ClassVar[bool] = False

    @abstractmethod
    def build(self, embedding_dim: int, classes: int) -> LossModule:
        """Return the module, for embeddings `(B, embedding_dim)` of so many identities in the training set."""


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
"""The losses there are, by kind."""
