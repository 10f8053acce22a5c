"""What every loss returns."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class LossOutput(NamedTuple):
    """value: the loss (scalar, with gradient). used: triplets with a non-zero term (scalar); 0 in an empty batch."""

    value: Tensor
    used: Tensor
