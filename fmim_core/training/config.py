"""Everything that decides what one training computes, apart from the data and the seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, model_serializer, model_validator

from fmim_core.augmentations.base import AUGMENTATIONS, Augmentation, PaperAugmentation
from fmim_core.config import Config, UnknownField
from fmim_core.losses.base import LOSSES, Loss, LossOfTrainer
from fmim_core.margins.base import MARGINS, MarginConfig
from fmim_core.margins.fixed import NoMargins
from fmim_core.models.base import BACKBONES, Backbone
from fmim_core.models.torchvision_networks import ResNet18
from fmim_core.optimizers.base import LR_SCHEDULES, OPTIMIZERS, Adam, ConstantRate, LRSchedule, Optimizer
from fmim_core.records.parts import Absent
from fmim_core.registry import KindConfig
from fmim_core.training.device import Compile, Precision
from fmim_core.training.own import TRAINERS, OwnTrainer
from fmim_core.training.sampler import Batches

Factor = Annotated[float, Field(gt=0, allow_inf_nan=False, exclude_if=(1.0).__eq__)]
WEIGHT_DECAY = 1e-4
SHARED = ("trainer", "epochs", "validate_every", "identity", "keep")
"""The fields that a study sets for a user's own trainer."""
OF_IMAGES = {"augmentation": "crop", "model": "channels"}
"""Further fields of such a training, from the preset and the data set: they describe its images."""


class TrainConfig(Config):
    """One training. The defaults are the paper's (ResNet-18, 256 px, Adam, 100 epochs of 32 × 4 batches).

    Args:
        identity: the identity to find again: the `subject` (both knees are one identity, as the authors do), or each
            `side` separately.
        validate_every: epochs from one validation to the next; the last epoch is always validated.
        keep: the model of the `last` epoch, of the `best` validation mAP, or of `best_all_pairs` (the authors' choice):
            each validation image is searched for among all others. The latter two need a validation set.
        precision: `auto` is bfloat16 autocast on a GPU and float32 on a CPU; losses, statistics and metrics are
            float32 always. `float32` is that in full, as in the paper; `tf32` allows a GPU's convolutions TF32, which
            is faster (`device.float32_defined`).
        compile: `default` compiles the backbone and the paper's augmentation (torch.compile, inductor), `cudagraphs`
            records the whole step besides and replays it as one CUDA graph, on a GPU only. Equal within rounding to
            `none`, and faster from the fifth step on; the first ones take seconds to minutes, counted as start-up.
        optimizer: `adam`, or `torch` with the `name` of any torch optimizer and its `params`.
        lr_schedule: `constant`, or `torch` with a `name` and `params`; each may have a warm-up.
        learning_rate: the highest learning rate that a schedule reaches.
        weight_decay: that of `adam`; torch optimizers have `optimizer.params.weight_decay`.
        backbone_lr_factor, head_lr_factor, loss_lr_factor: factors of `learning_rate` for the network without its last
            layer, for the last layer, which makes the embedding, and for the loss's own weights, if any.
        freeze_backbone_epochs: first epochs in which the network without its last layer stays fixed and computes
            as in evaluation: batch norm uses its running averages, which also stay fixed.
        clip_grad_norm: the maximum norm of all gradients together, including the loss's weights; larger ones are
            scaled down to it.
        histogram_bins: number of bins of the histograms of Δ and φ_an in each row of the history; 0 for none.
        trainer: your own trainer, which decides everything except `SHARED` and the size and channels of images.
    """

    loss: Annotated[Loss, LOSSES]
    margins: Annotated[MarginConfig, MARGINS] = NoMargins()
    model: Annotated[Backbone, BACKBONES] = ResNet18()
    batches: Batches = Batches()
    augmentation: Annotated[Augmentation, AUGMENTATIONS] = PaperAugmentation()
    epochs: PositiveInt = 100
    validate_every: PositiveInt = 1
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-4
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = WEIGHT_DECAY
    identity: Literal["subject", "side"] = "subject"
    keep: Literal["last", "best", "best_all_pairs"] = "last"
    precision: Precision = "auto"
    compile: Compile = "none"
    histogram_bins: Annotated[int, Field(ge=0, le=200)] = 0
    # Left out where they are as before there was a choice, so that fingerprints and records stay what they are.
    optimizer: Annotated[Optimizer, OPTIMIZERS, Field(exclude_if=Adam().__eq__)] = Adam()
    lr_schedule: Annotated[LRSchedule, LR_SCHEDULES, Field(exclude_if=ConstantRate().__eq__)] = ConstantRate()
    backbone_lr_factor: Factor = 1.0
    head_lr_factor: Factor = 1.0
    loss_lr_factor: Factor = 1.0
    freeze_backbone_epochs: Annotated[NonNegativeInt, Field(exclude_if=(0).__eq__)] = 0
    clip_grad_norm: Absent[Annotated[float, Field(gt=0, allow_inf_nan=False)]] = None
    trainer: Absent[Annotated[OwnTrainer, TRAINERS]] = None

    @model_validator(mode="before")
    @classmethod
    def _a_trainer_of_ones_own_decides_the_rest(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or given.get("trainer") is None:
            return given
        for name, value in given.items():
            if name not in SHARED and (name not in OF_IMAGES or {*value} != {OF_IMAGES[name]}):
                raise UnknownField(name, "a training by your own trainer", SHARED)
        images = {"augmentation": {"mean": 0.0, "std": 1.0}, "model": {"kind": "resnet18"}}
        others = {name: part | given.get(name, {}) for name, part in images.items()}
        batches = Batches.model_construct(subjects_per_batch=1, images_per_subject=1)  # each image once an epoch
        return {**given, **others, "loss": LossOfTrainer(), "precision": "float32", "batches": batches}

    @model_serializer(mode="wrap")
    def _without_what_has_no_effect(self, fields: Any) -> dict[str, Any]:
        written = fields(self)
        if self.trainer is not None:
            images = {one: {key: written[one][key]} for one, key in OF_IMAGES.items() if key in written.get(one, {})}
            return {name: written[name] for name in SHARED if name in written} | images
        unused = () if self.optimizer.uses_weight_decay else ("weight_decay",)
        return {name: value for name, value in written.items() if name not in unused}

    @property
    def kinds(self) -> tuple[KindConfig, ...]:
        """The parts that are one of several kinds, a user's own among them."""
        ours = (self.loss, self.margins, self.model, self.augmentation, self.optimizer, self.lr_schedule)
        return (self.trainer,) if self.trainer else ours

    @property
    def resumable(self) -> bool:
        """Whether its trainer has a state, to go on from and to keep a model by: a user's own may have none."""
        return self.trainer is None or self.trainer.resumable

    @property
    def has_a_head(self) -> bool:
        """True where the network's last layer is treated in another way than the rest."""
        return self.backbone_lr_factor != self.head_lr_factor or self.freeze_backbone_epochs > 0

    @property
    def validations(self) -> int:
        """The number of validations of a training."""
        return math.ceil(self.epochs / self.validate_every)

    def validates(self, epoch: int) -> bool:
        """Return whether validation follows epoch 1, 2, …"""
        return epoch % self.validate_every == 0 or epoch == self.epochs

    @model_validator(mode="after")
    def _the_trainer_can_do_it(self) -> Self:
        if self.trainer is not None:
            self.trainer.config(self.epochs)
            if self.keep != "last" and not self.resumable:
                raise ValueError(f"keep = {self.keep!r} needs a trainer with state() and load_state(): keep the 'last'")
        return self

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
                f"the weights of the model {self.model.kind!r} were trained on images of another range: set "
                f"augmentation.mean = {wanted[0]} and augmentation.std = {wanted[1]} (given: {given[0]} and {given[1]})"
            )
        return self

    @model_validator(mode="after")
    def _weight_decay_has_an_effect(self) -> Self:
        if not self.optimizer.uses_weight_decay and self.weight_decay != WEIGHT_DECAY:
            raise ValueError(
                f"weight_decay = {self.weight_decay:g} has no effect on an optimizer of kind {self.optimizer.kind!r}: "
                "set optimizer.params.weight_decay"
            )
        return self

    @model_validator(mode="after")
    def _the_step_can_be_captured(self) -> Self:
        hindering = {
            "loss": self.loss.waits_for_device,
            "augmentation": self.augmentation.on_host,
            "optimizer": not self.optimizer.capturable,
            "lr_schedule": self.lr_schedule != ConstantRate(),
            "freeze_backbone_epochs": self.freeze_backbone_epochs > 0,
        }
        part = next((part for part, hinders in hindering.items() if hinders), None)
        if self.compile == "cudagraphs" and part:
            raise ValueError(
                f"compile = 'cudagraphs' cannot work with {part} = {getattr(self, part)!r}: a graph is one step, which "
                "neither waits for the GPU nor changes; use 'default' or 'none'"
            )
        return self
