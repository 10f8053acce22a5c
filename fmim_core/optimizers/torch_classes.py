"""torch's optimizers and learning-rate schedules by their names in `torch.optim`, with torch's own parameters."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch.optim.lr_scheduler import LRScheduler

from fmim_core.library import Library, LibraryClass
from fmim_core.optimizers.base import LR_SCHEDULES, OPTIMIZERS, LRSchedule, Optimizer, uncompiled

_LENGTH, _RATE = "it follows from the length of the training", "set the training's learning_rate instead"
_FUNCTION, _JOINS = "a settings file cannot hold its function", "it combines others; for a warm-up, set warmup_epochs"
STEPS = {"CosineAnnealingLR": "T_max", "OneCycleLR": "total_steps", "PolynomialLR": "total_iters"}
"""By schedule, the parameter that is its number of steps: those of the training without the warm-up."""
BY_BATCH = ("CyclicLR", "OneCycleLR")
"""Schedules that step after each batch, by torch's documentation."""


@OPTIMIZERS.register
class OptimizerOfTorch(LibraryClass, Optimizer):
    """An optimizer of `torch.optim`, with torch's defaults (also for weight decay) unless `params` says otherwise."""

    kind: Literal["torch"] = "torch"
    library = Library(
        "torch optimizer",
        "torch.optim",
        "Optimizer",
        left_out={
            "LBFGS": "it computes the loss several times a step",
            "Muon": "it accepts only matrices, but networks also have biases",
            "SparseAdam": "it accepts only sparse gradients",
        },
        given={"params": "the training sets it", "lr": _RATE},
    )

    def build(self, groups: list[dict[str, Any]], weight_decay: float, captured: bool) -> torch.optim.Optimizer:
        found: torch.optim.Optimizer = uncompiled(self.library.find(self.name))(groups, **dict(self.params))
        return found


@LR_SCHEDULES.register
class ScheduleOfTorch(LibraryClass, LRSchedule):
    """A schedule of `torch.optim.lr_scheduler`. The training sets its length and the highest learning rate.

    So `T_max` of CosineAnnealingLR and `total_steps` of OneCycleLR are the training's steps without warm-up, and so
    is `total_iters` of PolynomialLR unless it is given; `max_lr` of OneCycleLR and CyclicLR is `learning_rate`.
    """

    kind: Literal["torch"] = "torch"
    library = Library(
        "torch learning-rate schedule",
        "torch.optim.lr_scheduler",
        "LRScheduler",
        left_out={
            **dict.fromkeys(("ChainedScheduler", "SequentialLR"), _JOINS),
            **dict.fromkeys(("LambdaLR", "MultiplicativeLR"), _FUNCTION),
            "ReduceLROnPlateau": "its steps need a metric",
        },
        given={
            **dict.fromkeys(("T_max", "total_steps", "epochs", "steps_per_epoch"), _LENGTH),
            **dict.fromkeys(("optimizer", "last_epoch"), "the training sets it"),
            "max_lr": _RATE,
        },
    )

    @property
    def by_batch(self) -> bool:
        return self.each == "batch" or (self.each == "auto" and self.name in BY_BATCH)

    def after_warmup(self, optimizer: torch.optim.Optimizer, steps: int) -> LRScheduler | None:
        rates = [group["lr"] for group in optimizer.param_groups]
        of_training: dict[str, Any] = {"max_lr": rates} if self.name in BY_BATCH else {}
        if self.name in STEPS:
            of_training[STEPS[self.name]] = steps
        found: LRScheduler = self.library.find(self.name)(optimizer, **of_training | dict(self.params))
        return found
