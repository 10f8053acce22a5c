"""A rehearsal of a training on random numbers, before it starts: what a part of it cannot do shows here."""

from __future__ import annotations

import torch

from fmim_core.losses.base import LossOutput
from fmim_core.models.base import Backbone
from fmim_core.training.config import TrainConfig
from fmim_core.triplets.similarities import Similarities, unit
from fmim_core.triplets.statistics import StatisticsCollector

IMAGES, CLASSES = 8, 4


def rehearse_model(model: Backbone, image_size: int) -> None:
    """Build the model and embed an image: a missing file of weights, a download or a small image shows here.

    Raises:
        ValueError: it cannot be built, cannot embed images of that side (as networks with several halvings where an
            image is small), or does not give embeddings `(1, D)`.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        try:
            network = model.build(image_size).eval()
        except ValueError:
            raise
        except Exception as error:  # of anybody's code
            raise ValueError(f"the model {model!r} cannot be built: {type(error).__name__}: {error}") from error
        try:
            shape = tuple(network(torch.zeros(1, 1, image_size, image_size)).shape)
        except Exception as error:
            raise ValueError(
                f"the model {model!r} cannot embed images of {image_size} px: change augmentation.crop, or take "
                f"another model ({str(error) or type(error).__name__})"
            ) from error
    if shape != (1, model.embedding_dim):
        raise ValueError(f"the model {model!r} makes {shape} of an image instead of (1, {model.embedding_dim})")


def rehearse_loss(config: TrainConfig) -> None:
    """Take the loss of one random batch under the margin schedule, its gradient, and the schedule's next margins.

    Raises:
        ValueError: the loss or the schedule cannot do it, or the loss is no scalar with a gradient.
    """
    loss, margins = config.loss, config.margins
    with torch.random.fork_rng(devices=[]):
        raw = torch.randn(IMAGES, config.model.embedding_dim, requires_grad=True)
        batch = Similarities.of_labels(unit(raw), torch.arange(IMAGES) % CLASSES)
        try:
            schedule = margins.build()
            collector = StatisticsCollector(raw.device, schedule.needs_values)
            collector.add(batch)
            output = loss.build(config.model.embedding_dim, CLASSES)(batch, schedule.for_batch(batch))
            statistics = collector.finish()
            for epoch in range(0 if schedule.measures_first else 1, 2):
                schedule.observe(epoch, statistics)
        except Exception as error:
            what = f"the loss {loss!r} with the margins {margins!r}"
            raise ValueError(f"{what} cannot be computed on a random batch: {type(error).__name__}: {error}") from error
    if not isinstance(output, LossOutput) or output.value.dim() != 0 or not output.value.requires_grad:
        raise ValueError(
            f"the loss {loss!r} must return a LossOutput whose value is a scalar with a gradient: {output!r}"
        )
