"""Networks that may start from another training's weights: which ones, their file, their first layer."""

from __future__ import annotations

import hashlib
import pickle
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn

from fmim_core.models.base import Backbone
from fmim_core.suggestions import did_you_mean

SAFETENSORS = ".safetensors"


class PretrainedBackbone(Backbone):
    """A network that starts from random weights, from those that its library publishes, or from a file.

    Args:
        weights: `none` (random), one of `published`, which its library downloads once into its own cache, or the path
            of a file with a state dict of the same network, classifier included: `.safetensors`, or torch's, of which
            no code is run (weights_only).
        first_layer: how a first layer for three colours is adapted to grey images: its kernels are `summed`, which
            gives the same output as three equal channels; or the layer is initialised anew (`random`), whatever the
            weights and channels, as the paper's authors do.
    """

    embedding_dim: PositiveInt = 128
    weights: str = "none"
    # Left out where it is as before there was a choice, so that fingerprints and records stay what they are.
    first_layer: Annotated[Literal["summed", "random"], Field(exclude_if="summed".__eq__)] = "summed"

    @property
    @abstractmethod
    def published(self) -> tuple[str, ...]:
        """The names of the weights that its library has for it."""

    @abstractmethod
    def published_file(self) -> Path:
        """Return the file of the published weights in its library's cache, downloaded if it is not there yet.

        Raises:
            OSError: it cannot be downloaded.
        """

    def published_sha256(self, file: Path) -> str:
        """Return how the SHA-256 of the published file begins, as far as the name of the library's file tells."""
        return ""

    @property
    def pretrained(self) -> bool:
        return self.weights != "none"

    def without_weights(self) -> Self:
        return self.model_copy(update={"weights": "none"})

    @property
    def given_file(self) -> Path | None:
        return Path(self.weights) if self.pretrained and self.weights not in self.published else None

    def weights_sha256(self) -> str | None:
        return sha256_of(self._file()) if self.pretrained else None

    def state(self) -> Mapping[str, Tensor] | None:
        """Return the state dict that it starts from; None where its weights are random.

        Raises:
            ValueError: `weights` is neither a name it has nor a file with a state dict; or the library's file of
                published weights is damaged.
            OSError: published weights cannot be downloaded.
        """
        return read_state(self._file()) if self.pretrained else None

    def with_weights(self, network: nn.Module) -> nn.Module:
        """Return the library's network with the weights it starts from.

        Raises:
            ValueError, OSError: as `state`.
            RuntimeError: they are another network's.
        """
        state = self.state()
        if state is not None:
            network.load_state_dict(state)
        return network

    def begin(self, network: nn.Module, first: Iterable[str]) -> None:
        """Draw the layers of these names, a network's first, anew where the configuration says so."""
        for name in first if self.first_layer == "random" else ():
            network.get_submodule(name).reset_parameters()  # type: ignore[operator]

    def _file(self) -> Path:
        """Return the file that its weights come from, given or published: there, and whole as far as one can tell."""
        given = self.given_file
        if given is None:
            file = self.published_file()
            expected, found = self.published_sha256(file), sha256_of(file)
            if not found.startswith(expected):
                raise ValueError(
                    f"{file} is not the file published as {self.weights!r} for the model kind {self.kind!r}: its "
                    f"SHA-256 begins with {found[: len(expected)]} instead of {expected}. Delete it; it is "
                    "then downloaded again. Or replace it with a copy from another machine"
                )
            return file
        if not given.is_file():
            names = ["none", *self.published]
            raise ValueError(
                f"model.weights = {self.weights!r} for the model kind {self.kind!r}: there is no such file; give the "
                f"path of a weights file, or {' or '.join(map(repr, names))}{did_you_mean(self.weights, names)}"
            )
        return given


def sha256_of(file: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    about = file.stat()
    return _sha256(file, about.st_size, about.st_mtime_ns)


@cache
def _sha256(file: Path, size: int, changed_ns: int) -> str:
    """Return the SHA-256 (hex) of a file as it was with that size at that time: every trial of a plan asks for it."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def read_state(file: Path) -> dict[str, Tensor]:
    """Return the tensors in a file, by name; on the CPU.

    Raises:
        ValueError: it holds something else, or is damaged.
    """
    content = _read_safetensors(file) if file.suffix == SAFETENSORS else _read_torch(file)
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise ValueError(f"{file} has no state dict: write one with torch.save(network.state_dict(), FILE)")
    return dict(content)


def _read_torch(file: Path) -> object:
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, LookupError, OSError) as error:  # on bytes of other kinds
        raise ValueError(
            f"{file} cannot be read as PyTorch weights: it is damaged, or has more than a state dict, e.g. a whole "
            "network, whose code is not run; write one with torch.save(network.state_dict(), FILE)"
        ) from error


def _read_safetensors(file: Path) -> object:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ModuleNotFoundError as error:
        raise ValueError(f"{file} needs an extra package: pip install 'fmim-studies[timm]'") from error
    try:
        return load_file(file)
    except SafetensorError as error:
        raise ValueError(f"{file} cannot be read as safetensors: {error}") from error


def missing_extra(kind: str, extra: str) -> ValueError:
    """Return the error that says that the packages of an optional kind are not installed."""
    return ValueError(f"model kind {kind!r} needs extra packages: pip install 'fmim-studies[{extra}]'")


def first_layer_for(channels: int, first: nn.Module) -> nn.Conv2d:
    """Return a network's first layer for images of so many channels; the same layer where it is for so many already.

    For grey images its kernels are the sums of those for three colours, and for colour images a third of those for
    grey: either computes of three equal channels what the other does of one.
    """
    assert isinstance(first, nn.Conv2d)
    if first.in_channels == channels:
        return first
    layer = nn.Conv2d(
        channels,
        first.out_channels,
        first.kernel_size,  # type: ignore[arg-type]
        stride=first.stride,  # type: ignore[arg-type]
        padding=first.padding,  # type: ignore[arg-type]
        bias=first.bias is not None,
    )
    with torch.no_grad():
        layer.weight.copy_(first.weight.sum(dim=1, keepdim=True) / channels)
        if layer.bias is not None and first.bias is not None:
            layer.bias.copy_(first.bias)
    return layer
