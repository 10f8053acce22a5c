"""The bases of optimizers and of learning-rate schedules, which build torch's; and those of the paper."""

from __future__ import annotations

from abc import abstractmethod
from inspect import unwrap
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field, NonNegativeInt
from torch.optim.lr_scheduler import LinearLR, LRScheduler, SequentialLR

from fmim_core.registry import KindConfig, Registry

OPTIMIZERS: Registry[Optimizer] = Registry("optimizer", "fmim_core.optimizers")
"""All optimizers, by kind."""
LR_SCHEDULES: Registry[LRSchedule] = Registry("learning-rate schedule", "fmim_core.optimizers")
"""All learning-rate schedules, by kind."""


class Optimizer(KindConfig):
    """An optimizer and its settings. The training sets the learning rates."""

    uses_weight_decay: ClassVar[bool] = False  # that of the training
    capturable: ClassVar[bool] = False  # its steps can be part of a CUDA graph

    @abstractmethod
    def build(self, groups: list[dict[str, Any]], weight_decay: float, captured: bool) -> torch.optim.Optimizer:
        """Return it for groups of weights, each with its learning rate `lr`; `captured` if a CUDA graph steps it."""


def uncompiled(optimizer: type[torch.optim.Optimizer]) -> type[Any]:
    """Return a torch optimizer without the guards of its methods in torch.compile, which they import: 1.3 s.

    A training compiles its network and its augmentation, never the optimizer.
    """
    guarded = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
    methods: dict[str, Any] = {name: unwrap(getattr(optimizer, name)) for name in guarded}
    methods["step"] = torch.no_grad()(unwrap(optimizer.step))
    return type(optimizer.__name__, (optimizer,), methods)


@OPTIMIZERS.register
class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), torch's fused one, with the training's `weight_decay` as an L2 penalty."""

    kind: Literal["adam"] = "adam"
    uses_weight_decay = capturable = True

    def build(self, groups: list[dict[str, Any]], weight_decay: float, captured: bool) -> torch.optim.Optimizer:
        fused = groups[0]["params"][0].device.type in ("cpu", "cuda")
        return uncompiled(torch.optim.Adam)(groups, weight_decay=weight_decay, fused=fused, capturable=captured)


class LRSchedule(KindConfig):
    """A schedule of the learning rates, after a linear warm-up if there is one.

    Args:
        warmup_epochs: epochs in which each learning rate rises from `warmup_start` times its value to its value. The
            schedule itself covers the rest of the training.
        each: the learning rate changes after each `epoch` or each `batch`; `auto` follows torch's documentation
            of the schedule: a batch for OneCycleLR and CyclicLR, an epoch for all others. So does the warm-up.
    """

    warmup_epochs: NonNegativeInt = 0
    warmup_start: Annotated[float, Field(gt=0, le=1)] = 0.01
    each: Literal["auto", "epoch", "batch"] = "auto"

    @property
    def by_batch(self) -> bool:
        """True where the learning rate changes after each batch, not after each epoch."""
        return self.each == "batch"

    def after_warmup(self, optimizer: torch.optim.Optimizer, steps: int) -> LRScheduler | None:
        """Return the schedule for so many epochs, or batches; None, as here, where the learning rate stays."""
        return None

    def build(self, optimizer: torch.optim.Optimizer, epochs: int, batches: int) -> LRScheduler | None:
        """Return the schedule of a training of so many epochs of so many batches; None where nothing changes."""
        each = batches if self.by_batch else 1
        warmup = self.warmup_epochs * each
        after = self.after_warmup(optimizer, max(1, epochs * each - warmup))
        if not warmup:
            return after
        rise = LinearLR(optimizer, self.warmup_start, total_iters=warmup)
        return SequentialLR(optimizer, [rise, after], [warmup]) if after else rise


@LR_SCHEDULES.register
class ConstantRate(LRSchedule):
    """A constant learning rate."""

    kind: Literal["constant"] = "constant"
