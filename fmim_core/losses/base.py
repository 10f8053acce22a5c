"""What every loss returns."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class LossOutput(NamedTuple):
    """value: the loss (scalar, with gradient). used: triplets with a non-zero term (scalar); 0 in an empty batch.

    Losses that know no triplets say not-a-number (`no_triplets`).
    """

    value: Tensor
    used: Tensor


def no_triplets(value: Tensor) -> LossOutput:
    """The output of a loss that knows no triplets."""
    return LossOutput(value, torch.full((), math.nan, device=value.device))
