"""One step of a training: a model, its loss and optimizer, and a batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import torch
from torch import Generator, Tensor, nn

from fmim_core.augmentations.base import Augmentation
from fmim_core.losses.base import LossModule, LossOutput
from fmim_core.margins.base import Margins
from fmim_core.models.base import Backbone
from fmim_core.optimizers.base import Adam, ConstantRate
from fmim_core.seeding import derive_seed, scoped_torch_seed
from fmim_core.training.config import TrainConfig
from fmim_core.training.device import WARMUP_STEPS, Captured, check_compile, compiled, embeddings_of
from fmim_core.training.sampler import SubjectSampler
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from fmim_core.triplets.statistics import StatisticsCollector


def initial_model(config: TrainConfig, device: torch.device) -> nn.Module:
    """Return the network before its first step; random weights are drawn from torch's global generator."""
    network = (config.trainer or config.model).build(config.augmentation.crop)
    return network.to(device).to(memory_format=torch.channels_last)


class TrainingStep:
    """A model with its loss, optimizer and margins; calling it with a batch takes one step of the training.

    Nothing in a step makes the host wait for the device (but in the losses of pytorch-metric-learning). `model` is
    the plain module whatever is compiled: the compiled function is another view of the same parameters.

    Args:
        sampler: of its batches.

    Raises:
        ValueError: what the configuration says of compiling cannot work on the device.
    """

    def __init__(self, config: TrainConfig, sampler: SubjectSampler, seed: int, device: torch.device) -> None:
        check_compile(config.compile, device)
        self._config, self._seed, self._device = config, seed, device
        self.index = TripletIndex.of(sampler.labels().to(device))
        with scoped_torch_seed(seed, "model"):
            self.model = initial_model(config, device)
            self.loss: LossModule = config.loss.build(config.model.embedding_dim, sampler.subjects).to(device)
        captured = config.compile == "cudagraphs"
        self._head = config.model.head(self.model) if config.has_a_head else nn.Module()
        of_head = set(self._head.parameters())
        backbone = [weights for weights in self.model.parameters() if weights not in of_head]
        self._learning = [weights for weights in backbone if weights.requires_grad]  # a network's own may be frozen
        self.optimizer = config.optimizer.build(self._groups(backbone), config.weight_decay, captured)
        self._lr_schedule = config.lr_schedule.build(self.optimizer, config.epochs, sampler.batches_per_epoch)
        self.learning_rate: float | None = None  # in the epoch's first step, of the backbone; None where it stays
        self.schedule = config.margins.build()
        self._margins = [torch.zeros((), dtype=torch.float64, device=device) for _ in range(2)]
        on_host = config.augmentation.on_host
        self.generator = Generator("cpu" if on_host else device)
        self._network: Callable[[Tensor], Tensor] = compiled(self.model, config.compile)
        self._augment = compiled(config.augmentation.apply, "none" if on_host else config.compile)
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
        frozen = epoch <= self._config.freeze_backbone_epochs
        for weights in self._learning:
            weights.requires_grad_(not frozen)
        self.model.train(not frozen)
        self._head.train()
        if self._lr_schedule is not None:
            self.learning_rate = float(self.optimizer.param_groups[0]["lr"])

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
        """Step the learning rate; return the margins in force all epoch, or in its last batch if those follow it."""
        self.schedule.margins = self.schedule.margins.as_numbers()
        if self._lr_schedule is not None and not self._config.lr_schedule.by_batch:
            self._lr_schedule.step()
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
        if self._config.clip_grad_norm is not None:
            weights = chain(self.model.parameters(), self.loss.parameters())
            nn.utils.clip_grad_norm_(weights, self._config.clip_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)  # here, so that no gradient lies outside a captured step
        if self._lr_schedule is not None and self._config.lr_schedule.by_batch:
            self._lr_schedule.step()
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
            **({"lr_schedule": self._lr_schedule.state_dict()} if self._lr_schedule else {}),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on from `state()`."""
        self.model.load_state_dict(state["model"])
        self.loss.load_state_dict(state["loss"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state(state["schedule"])
        if self._lr_schedule is not None:
            self._lr_schedule.load_state_dict(state["lr_schedule"])

    def _groups(self, backbone: list[nn.Parameter]) -> list[dict[str, Any]]:
        """Return what is trained, in a group for each learning rate."""
        config, by_factor = self._config, defaultdict[float, list[Tensor]](list)
        by_factor[config.backbone_lr_factor] += backbone
        by_factor[config.head_lr_factor] += self._head.parameters()
        by_factor[config.loss_lr_factor] += self.loss.parameters()
        return [{"params": found, "lr": config.learning_rate * f} for f, found in by_factor.items() if found]


IMAGES, CLASSES, REHEARSED = 8, 4, 64


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


def rehearse_augmentation(augmentation: Augmentation, shape: tuple[int, ...]) -> None:
    """Augment images of that shape, `(H, W)` or `(H, W, 3)`: so many that what has a chance is done and left.

    Raises:
        ValueError: it cannot be done, or gives another size than `crop`, or other channels.
    """
    number = REHEARSED if augmentation.on_host else 2  # only those draw for each image by itself
    images = torch.zeros((number, *shape), dtype=torch.uint8)
    try:
        found, wanted = augmentation.train(images, Generator()).shape, augmentation.test(images).shape
        if found != wanted:
            raise ValueError(f"it makes {(*found,)} instead of {(*wanted,)}: end with RandomResizedCrop or RandomCrop")
    except Exception as error:  # of anybody's code
        raise ValueError(f"the augmentation {augmentation!r} cannot be done on images {shape}: {error}") from error


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


def rehearse_optimizer(config: TrainConfig) -> None:
    """Take all steps of the learning-rate schedule, and as many of the optimizer, with a few weights.

    Raises:
        ValueError: torch refuses a setting; or the last layer, which is to learn in another way, is not known.
    """
    if config.has_a_head:
        with torch.device("meta"):
            config.model.head(config.model.without_weights().build(config.augmentation.crop))
    if (config.optimizer, config.lr_schedule) == (Adam(), ConstantRate()):
        return  # torch takes seconds to load what its optimizers need
    weights = [nn.Parameter(torch.ones((2,) * dimensions)) for dimensions in range(1, 5)]
    for each in weights:
        each.grad = torch.ones_like(each)
    what, groups = f"the optimizer {config.optimizer!r}", [{"params": weights, "lr": config.learning_rate}]
    try:
        optimizer = config.optimizer.build(groups, config.weight_decay, captured=False)
        optimizer.step()
        what = f"the learning-rate schedule {config.lr_schedule!r}"
        batches = (config.batches.per_epoch or 7) if config.lr_schedule.by_batch else 1  # 7: the folds decide that
        if schedule := config.lr_schedule.build(optimizer, config.epochs, batches):
            for _ in range(config.epochs * batches):
                optimizer.step()
                schedule.step()
    except Exception as error:  # of anybody's code
        raise ValueError(f"{what} cannot be used: {type(error).__name__}: {error}") from error
