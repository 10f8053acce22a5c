"""One step of a training: a model, its loss and optimizer, and a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Generator, Tensor, nn

from fmim_core.losses.base import LossModule, LossOutput
from fmim_core.margins.base import Margins
from fmim_core.models.base import Backbone
from fmim_core.seeding import derive_seed, scoped_torch_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.device import WARMUP_STEPS, Captured, check_compile, compiled, embeddings_of
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from fmim_core.triplets.statistics import StatisticsCollector


def initial_model(config: TrainConfig, device: torch.device) -> nn.Module:
    """Return the network before its first step; random weights are drawn from torch's global generator."""
    return config.model.build(config.augmentation.crop).to(device).to(memory_format=torch.channels_last)


class TrainingStep:
    """A model with its loss, optimizer and margins; calling it with a batch takes one step of the training.

    Nothing in a step makes the host wait for the device (but in the losses of pytorch-metric-learning). `model` is
    the plain module whatever is compiled: the compiled function is another view of the same parameters.

    Args:
        subjects: identities in the training set. labels: `(B,)`, those within every batch.

    Raises:
        ValueError: what the configuration says of compiling cannot work on the device.
    """

    def __init__(self, config: TrainConfig, subjects: int, labels: Tensor, seed: int, device: torch.device) -> None:
        check_compile(config.compile, device)
        self._config, self._seed, self._device = config, seed, device
        self.index = TripletIndex.of(labels.to(device))
        with scoped_torch_seed(seed, "model"):
            self.model = initial_model(config, device)
            self.loss: LossModule = config.loss.build(config.model.embedding_dim, subjects).to(device)
        captured = config.compile == "cudagraphs"
        self.optimizer = torch.optim.Adam(
            [*self.model.parameters(), *self.loss.parameters()],
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            fused=device.type in ("cpu", "cuda"),
            capturable=captured,
        )
        self.schedule = config.margins.build()
        self._margins = [torch.zeros((), dtype=torch.float64, device=device) for _ in range(2)]
        self.generator = Generator(device)
        self._network: Callable[[Tensor], Tensor] = compiled(self.model, config.compile)
        self._augment = compiled(config.augmentation.apply, config.compile)
        self._captured: Captured[tuple[LossOutput, Similarities]] | None = (
            Captured(self.generator) if captured else None
        )
        self._steps = 0

    @property
    def starting(self) -> bool:
        """True while the next step may still compile something, which takes seconds to minutes."""
        return self._config.compile != "none" and self._steps <= WARMUP_STEPS

    def begin_epoch(self, epoch: int) -> None:
        """Seed what is drawn by the epoch's number alone, and send the margins in force to the device."""
        self.generator.manual_seed(derive_seed(self._seed, "augment", epoch))
        self.schedule.margins = self.schedule.margins.held_in(*self._margins)
        self.model.train()

    @torch.no_grad()
    def measure_first(self, batches: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Set the first epoch's margins from its own batches (images, identities), before anything is learnt.

        They are augmented as they will be in that epoch; batch norm's running averages return to what they were.
        """
        collector = StatisticsCollector(self._device, self.schedule.needs_values)
        before = {name: buffer.clone() for name, buffer in self.model.named_buffers()}
        self.begin_epoch(1)
        for stored, classes in batches:  # not compiled, since each is seen once
            images = self._config.augmentation.train(stored, self.generator)
            collector.add(self._similarities(self.model, images, classes))
        for name, buffer in self.model.named_buffers():
            buffer.copy_(before[name])
        self.schedule.observe(0, collector.finish())

    def end_epoch(self) -> Margins:
        """Return the margins in force all epoch, or in the last batch of schedules that follow batches, as numbers."""
        self.schedule.margins = self.schedule.margins.as_numbers()
        return self.schedule.margins

    def __call__(self, stored: Tensor, classes: Tensor) -> tuple[LossOutput, Similarities]:
        """Take a step with images as the bank has them, uint8 `(B, H, W)`, of those identities `(B,)`.

        Returns:
            The loss and how many triplets are active (scalars without gradient), and the batch's similarities.
        """
        self._steps += 1
        if self._captured is not None:
            return self._captured.call(self.take, stored, classes)
        return self.take(stored, classes)

    def take(self, stored: Tensor, classes: Tensor) -> tuple[LossOutput, Similarities]:
        """Take a step as it is written, which may be compiled in parts and captured as a whole."""
        images = self._augment(stored, self._config.augmentation.draw(stored, self.generator))
        batch = self._similarities(self._network, images, classes)
        margins = self.schedule.for_batch(batch)
        self.schedule.margins = self.schedule.margins.held_in(*self._margins)
        output: LossOutput = self.loss(batch, margins)
        output.value.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)  # here, so that no gradient lies outside a captured step
        return LossOutput(output.value.detach(), output.active.detach()), batch

    def _similarities(self, network: Callable[[Tensor], Tensor], images: Tensor, classes: Tensor) -> Similarities:
        return Similarities.of(unit(embeddings_of(network, images, self._config.precision)), self.index, classes)

    def state(self) -> dict[str, Any]:
        """Return everything that a step changes, as tensors and plain values."""
        return {
            "model": self.model.state_dict(),
            "loss": self.loss.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        self.model.load_state_dict(state["model"])
        self.loss.load_state_dict(state["loss"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state(state["schedule"])


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
            shape = tuple(network(torch.zeros(1, model.channels, image_size, image_size)).shape)
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
