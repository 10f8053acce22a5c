"""The base of references: untrained baselines that every arm should beat.

Musgrave et al. (2020), "A metric learning reality check": without such rows a table does not show what training adds.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import reduce
from operator import getitem
from typing import Any, ClassVar

import torch

from fmim_core.data.image_set import ImageSet
from fmim_core.registry import KindConfig, Registry
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import Evaluator


class Reference(KindConfig):
    """A reference; it has no settings of its own and uses some fields of a training configuration.

    depends_on: these fields of the training configuration, dotted.
    seeded: whether its numbers depend on the seed; if not, it is evaluated once.
    of_network: whether it uses the configuration's network, which your own trainer does not have.
    """

    depends_on: ClassVar[tuple[str, ...]]
    seeded: ClassVar[bool] = False
    of_network: ClassVar[bool] = False

    def settings(self, config: TrainConfig) -> dict[str, Any]:
        """Return the part of a training configuration that its numbers depend on: where that is equal, so are they."""
        whole = config.model_dump(mode="json")
        return {path: reduce(getitem, path.split("."), whole) for path in self.depends_on}

    @abstractmethod
    def label(self, config: TrainConfig) -> str:
        """Return its name in reports, beside arms of that configuration."""

    @abstractmethod
    def about(self, config: TrainConfig) -> str:
        """Return a description of it, as part of a sentence."""

    @abstractmethod
    def evaluator(self, config: TrainConfig, development: ImageSet, seed: int, device: torch.device) -> Evaluator:
        """Return an evaluator of images as arms of that configuration have; nothing is trained."""


REFERENCES: Registry[Reference] = Registry("reference", "fmim_core.references")
"""All references, by kind."""
