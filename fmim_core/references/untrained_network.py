"""The network that arms start from, before its first step."""

from __future__ import annotations

from typing import Literal

import torch

from fmim_core.data.image_set import ImageSet
from fmim_core.references.base import REFERENCES, Reference
from fmim_core.seeding import scoped_torch_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import Evaluator
from fmim_core.training.step import initial_model


@REFERENCES.register
class UntrainedNetwork(Reference):
    """The backbone at the start of a training with the same seed: with random or pretrained weights.

    The layer that turns a pretrained network's features into embeddings is always random.
    """

    kind: Literal["untrained_network"] = "untrained_network"
    depends_on = ("model", "augmentation.crop", "augmentation.mean", "augmentation.std", "identity", "precision")
    seeded = True
    of_network = True

    def label(self, config: TrainConfig) -> str:
        return "Pretrained features" if config.model.pretrained else "Untrained network"

    def about(self, config: TrainConfig) -> str:
        weights = "pretrained weights" if config.model.pretrained else "random weights"
        return f"{config.model.title} with the {weights} that training with the same seed starts from"

    def evaluator(self, config: TrainConfig, development: ImageSet, seed: int, device: torch.device) -> Evaluator:
        with scoped_torch_seed(seed, "model"):
            return Evaluator(config, initial_model(config, device), device)
