"""Everything that decides what one training computes, apart from the data and the seed."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from fmim_core.config import Config
from fmim_core.losses.base import LOSSES, Loss
from fmim_core.margins.base import MARGINS, MarginConfig
from fmim_core.margins.fixed import NoMargins
from fmim_core.models.base import BACKBONES, Backbone
from fmim_core.models.torchvision_networks import ResNet18
from fmim_core.training.augmentation import Augmentation
from fmim_core.training.device import Compile, Precision
from fmim_core.training.sampler import Batches


class TrainConfig(Config):
    """One training. The defaults are the paper's (ResNet-18, 256 px, Adam, 100 epochs of 32 × 4 batches).

    Args:
        identity: what has to be found again: the `subject` (both knees one identity, as the authors do), or each
            `side` by itself.
        validate_every: epochs from one validation to the next; the last epoch is always validated.
        keep: the model of the `last` epoch, of the `best` validation mAP, or of `best_all_pairs` (the authors' choice):
            each image of the validation set is searched for among all others. Both need such a set.
        precision: `auto` is bfloat16 autocast on a GPU and float32 on a CPU; losses, statistics and metrics are
            float32 always. `float32` is that in full, as in the paper; `tf32` allows a GPU's convolutions TF32, which
            is faster (`device.float32_defined`).
        compile: `default` compiles the backbone and the augmentation (torch.compile, inductor), `cudagraphs` records
            the whole step besides and replays it as one CUDA graph, on a GPU only. Equal within rounding to `none`,
            and faster from the fifth step on; the first ones take seconds to minutes, counted as start-up.
        histogram_bins: bins of the histograms of Δ and φ_an in each row of the history; 0 for none.
    """

    loss: Annotated[Loss, LOSSES]
    margins: Annotated[MarginConfig, MARGINS] = NoMargins()
    model: Annotated[Backbone, BACKBONES] = ResNet18()
    batches: Batches = Batches()
    augmentation: Augmentation = Augmentation()
    epochs: PositiveInt = 100
    validate_every: PositiveInt = 1
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-4
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1e-4
    identity: Literal["subject", "side"] = "subject"
    keep: Literal["last", "best", "best_all_pairs"] = "last"
    precision: Precision = "auto"
    compile: Compile = "none"
    histogram_bins: Annotated[int, Field(ge=0, le=200)] = 0

    @property
    def kinds(self) -> tuple[Loss, MarginConfig, Backbone]:
        """The parts that are one of several kinds, a user's own among them."""
        return self.loss, self.margins, self.model

    @property
    def validations(self) -> int:
        """The number of validations of a training."""
        return math.ceil(self.epochs / self.validate_every)

    def validates(self, epoch: int) -> bool:
        """Return whether validation follows epoch 1, 2, …"""
        return epoch % self.validate_every == 0 or epoch == self.epochs

    @model_validator(mode="after")
    def _margins_fit_the_loss(self) -> Self:
        if self.loss.uses_margins:
            self.margins.check(self.loss.uses_beta)
        elif self.margins.gives_margins:
            raise ValueError(
                f"margins of kind {self.margins.kind!r} have no effect: the loss {self.loss.kind!r} has none"
            )
        return self

    @model_validator(mode="after")
    def _images_are_normalised_for_the_model(self) -> Self:
        wanted, given = self.model.normalisation, (self.augmentation.mean, self.augmentation.std)
        if wanted is not None and given != wanted:
            raise ValueError(
                f"the weights of the model {self.model.kind!r} come from images of another range: set "
                f"augmentation.mean = {wanted[0]} and augmentation.std = {wanted[1]} (given: {given[0]} and {given[1]})"
            )
        return self

    @model_validator(mode="after")
    def _the_step_can_be_captured(self) -> Self:
        if self.compile == "cudagraphs" and self.loss.waits_for_device:
            raise ValueError(
                f"compile = 'cudagraphs' cannot work with the loss {self.loss.kind!r}: its step waits for the GPU, so "
                "that it cannot be one graph; use 'default' or 'none'"
            )
        return self
