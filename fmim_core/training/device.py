"""The way in which a device computes: the precision of its numbers, and compiled steps."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, Literal, TypeVar

import torch
from torch import Generator, Tensor

Precision = Literal["auto", "float32", "tf32", "bfloat16"]


def embeddings_of(network: Callable[[Tensor], Tensor], images: Tensor, precision: Precision) -> Tensor:
    """Return embeddings `(B, D)` of images `(B, C, H, W)`: float32, whatever the network computes in."""
    images = images.contiguous(memory_format=torch.channels_last)
    bfloat16 = precision == "bfloat16" or (precision == "auto" and images.is_cuda)
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


Compile = Literal["none", "default", "cudagraphs"]
T = TypeVar("T")
WARMUP_STEPS = 3
"""Steps before a graph is captured, so that everything is compiled, chosen and allocated by then."""


def check_compile(compile: Compile, device: torch.device) -> None:
    """Raise a `ValueError` where that cannot work on this machine; says what is missing and what can be done."""
    if compile == "none":
        return
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"compile = {compile!r} cannot work on {device.type}: use 'none'")
    if compile == "cudagraphs" and device.type != "cuda":
        raise ValueError(
            f"compile = 'cudagraphs' needs an NVIDIA GPU, but the training runs on {device.type}: use 'none'"
        )
    missing = _missing(device)
    if missing:
        raise ValueError(f"compile = {compile!r} on {device.type} needs {missing}: install it, or use 'none'")


def _missing(device: torch.device) -> str:
    """Return what torch.compile needs for the device and does not find, in words; empty if there is all."""
    if device.type == "cuda":
        return "" if importlib.util.find_spec("triton") else "the Python package triton"
    compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    return "" if shutil.which(compiler) else f"a C++ compiler ({compiler}, or the one that the variable CXX names)"


def compiled(function: Callable[..., T], compile: Compile) -> Callable[..., T]:
    """Return the function as `torch.compile` makes it at its first call, for tensors of one shape; or as it is."""
    return function if compile == "none" else torch.compile(function, dynamic=False)


class Captured(Generic[T]):
    """Calls a function of tensors on a GPU, always of the same shapes; from the fourth call on launches it as a whole.

    Its kernels are recorded once, as a CUDA graph, and replayed with other numbers in the same places. So the function
    must not wait for the device, must find its state where it left it (parameters, the optimizer's, margins), and must
    draw from `generator` alone. The numbers are those of ordinary calls. What it returns lies in the same place every
    time, and is good until the next call.
    """

    def __init__(self, generator: Generator) -> None:
        self._generator = generator
        self._stream = torch.cuda.Stream(generator.device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._calls = 0
        self._places: list[Tensor] = []
        self._result: Any = None

    def call(self, function: Callable[..., T], *inputs: Tensor) -> T:
        """Call `function(*inputs)`, always the same one. (Kept here, a step and its graph would hold each other.)"""
        self._calls += 1
        if self._calls <= WARMUP_STEPS:
            return self._ordinary(function, inputs)
        if self._graph is None:
            self._graph = self._capture(function, inputs)
        for place, given in zip(self._places, inputs, strict=True):
            place.copy_(given)
        self._graph.replay()
        return self._result

    def _ordinary(self, function: Callable[..., T], inputs: tuple[Tensor, ...]) -> T:
        """Call it, on the stream that will be captured: autograd remembers streams."""
        before = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(before)
        with torch.cuda.stream(self._stream):
            result = function(*inputs)
        before.wait_stream(self._stream)
        return result

    def _capture(self, function: Callable[..., T], inputs: tuple[Tensor, ...]) -> torch.cuda.CUDAGraph:
        """Record a call without making it. Other threads may go on using the GPU meanwhile."""
        self._places = [given.clone() for given in inputs]
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._generator)
        with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
            self._result = function(*self._places)
        return graph
