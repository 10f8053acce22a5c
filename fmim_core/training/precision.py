"""The precision of numbers on a GPU. torch keeps it in global switches: this is the one place that sets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor

Precision = Literal["auto", "float32", "tf32", "bfloat16"]


def uses_bfloat16(precision: Precision, device: torch.device) -> bool:
    """Return whether the backbone computes in bfloat16 (autocast)."""
    return precision == "bfloat16" or (precision == "auto" and device.type == "cuda")


def embeddings_of(network: Callable[[Tensor], Tensor], images: Tensor, bfloat16: bool) -> Tensor:
    """Return embeddings `(B, D)` of images `(B, 1, H, W)`: float32, whatever the network computes in."""
    images = images.contiguous(memory_format=torch.channels_last)
    with torch.autocast(images.device.type, torch.bfloat16, enabled=bfloat16):
        return network(images).float()


@contextmanager
def float32_defined(precision: Precision) -> Iterator[None]:
    """Make float32 mean the same within the block, whatever the program around it has set; afterwards that is back.

    It is float32 in full, as the paper's models were trained in (V100 GPUs, which have no TF32). With the precision
    `tf32` convolutions on an NVIDIA GPU that has it are in TF32 (8 bits of exponent, 10 of mantissa, sums in float32),
    torch's own default; matrix products, which losses and statistics are made of, never are.
    """
    convolutions, products = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = convolutions
        torch.set_float32_matmul_precision(products)
