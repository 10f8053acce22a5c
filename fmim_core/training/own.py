"""A user's own trainer: any class with `fit` and `embed`, whose settings are checked."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import BaseModel, ValidationError, create_model
from torch import Tensor, nn
from torch.utils.data import Dataset

from fmim_core.config import in_words
from fmim_core.data.image_set import ImageSet
from fmim_core.registry import KindConfig, Registry

NEEDED, TO_RESUME = ("fit", "embed"), ("state", "load_state")
NO_CONFIG = create_model("NO_CONFIG", epochs=(int, ...))
TAKEN = {"kind", "trainer", "settings", "resumable", "config", "build"}


class OwnTrainer(KindConfig):
    """The settings of a user's own trainer: `own_trainer` makes a class of this base for each.

    trainer, settings: the user's class, and its `Config`.
    """

    trainer: ClassVar[type[Any]]
    settings: ClassVar[type[BaseModel]]

    @property
    def resumable(self) -> bool:
        """Whether it has a state, so that a training can resume from a checkpoint, and a model be kept."""
        return hasattr(self.trainer, "state")

    def config(self, epochs: int) -> BaseModel:
        """Return them as its own `Config`, with the number of epochs if that has such a field; raises `ValueError`."""
        known = {"epochs": epochs} if "epochs" in self.settings.model_fields else {}
        try:
            return self.settings(**self.model_dump(exclude={"kind"}), **known)
        except ValidationError as error:
            raise ValueError(in_words(error)) from error

    def __reduce__(self) -> Any:
        """Pickle the user's class by its name: this one's leads to that."""
        return _of_trainer, (self.trainer, self.model_dump())

    def build(self, image_size: int) -> OwnModel:
        """Return a new trainer as a network."""
        return OwnModel(self.trainer())


TRAINERS: Registry[OwnTrainer] = Registry("trainer", "fmim_core.training")
"""The users' own trainers, by the names of their classes."""


def own_trainer(trainer: Any) -> type[OwnTrainer]:
    """Make a class known as a trainer; return its settings' class.

    Raises:
        ValueError: it is no class, lacks a method, or its `Config` is no pydantic model.
    """
    if not inspect.isclass(trainer):
        raise ValueError(f"a trainer must be a class, not {trainer!r}")
    name, has = trainer.__name__, [one for one in (*NEEDED, *TO_RESUME) if callable(getattr(trainer, one, None))]
    needed = NEEDED if len(set(TO_RESUME) & set(has)) != 1 else NEEDED + TO_RESUME
    if lacking := [one for one in needed if one not in has]:
        raise ValueError(f"{name} lacks the method {' and '.join(lacking)}; it has {', '.join(has) or 'none of them'}")
    settings = getattr(trainer, "Config", NO_CONFIG)
    if not (inspect.isclass(settings) and issubclass(settings, BaseModel)):
        raise ValueError(f"{name}.Config must be a pydantic model, not {settings!r}")
    if taken := sorted({*settings.model_fields} & TAKEN):
        raise ValueError(f"{name}.Config has fields with reserved names: {', '.join(taken)}; rename them")
    fields: dict[str, Any] = {key: (one.annotation, one) for key, one in settings.model_fields.items()}
    fields = {key: one for key, one in fields.items() if key != "epochs"} | {"kind": (Literal[name], name)}
    made = create_model(name, __base__=OwnTrainer, __module__=trainer.__module__, **fields)
    made.__qualname__, made.trainer, made.settings = trainer.__qualname__, trainer, settings
    return TRAINERS.register(made)


def _of_trainer(trainer: type[Any], fields: dict[str, Any]) -> OwnTrainer:
    return own_trainer(trainer).model_validate(fields)


def place_of(function: Any) -> str:
    """Return `FILE, line N: NAME`, the place where that is known."""
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}, line {code.co_firstlineno}: {function.__name__}" if code else function.__name__


class OwnModel(nn.Module):
    """A user's own trainer as a network, whose weights are its state: images `(B, C, H, W)` → embeddings `(B, D)`."""

    trainer: Any

    def __init__(self, trainer: Any) -> None:
        super().__init__()
        self.__dict__["trainer"] = trainer  # no part of this module, even if it is a module itself

    def forward(self, images: Tensor) -> Tensor:
        """Return what `embed` does; raise a `ValueError` if that is not `(B, D)`."""
        found = self.trainer.embed(images.contiguous())
        shape = tuple(getattr(found, "shape", ()))
        if len(shape) != 2 or shape[0] != len(images):
            given = shape or type(found).__name__
            raise ValueError(
                f"{place_of(self.trainer.embed)} must return ({len(images)}, D) for {len(images)} images, not {given}"
            )
        return torch.as_tensor(found, device=images.device)

    def get_extra_state(self) -> Any:
        return self.trainer.state() if hasattr(self.trainer, "state") else None

    def set_extra_state(self, state: Any) -> None:
        self.trainer.load_state(state)


class TrainImages(Dataset[tuple[Tensor, Tensor]]):
    """The images to train on, as a data set of torch, on the CPU.

    `train[i]` is an image, float32 `(C, H, W)` in [0, 1], and its label; of n positions `(n, C, H, W)` and `(n,)`.
    labels: int64 `(N,)` from 0, who is on each image. device: where the study trains.
    """

    def __init__(self, images: ImageSet, per_side: bool, device: torch.device) -> None:
        self._images, self.device = images, device
        self.labels = torch.from_numpy(images.identities(per_side))

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, positions: Any) -> tuple[Tensor, Tensor]:
        bank = self._images.images
        found = torch.from_numpy(np.array(bank[self._images.rows[positions]])).float() / 255
        return found.unsqueeze(-3) if bank.ndim == 3 else found.movedim(-1, -3), self.labels[positions]
