"""Batches of S subjects × M images: what triplet losses need."""

from __future__ import annotations

from typing import Annotated

import torch
from pydantic import Field, PositiveInt
from torch import Generator, Tensor

from fmim_core.config import Config


class Batches(Config):
    """Batches of subjects_per_batch × images_per_subject images; the paper uses 32 × 4.

    per_epoch: batches in an epoch; by default as many full batches as the images fill, at least one. A number makes a
    training's length independent of the data set's size.
    """

    subjects_per_batch: Annotated[int, Field(ge=2)] = 32
    images_per_subject: Annotated[int, Field(ge=2)] = 4
    per_epoch: PositiveInt | None = None

    @property
    def size(self) -> int:
        """Images in a batch."""
        return self.subjects_per_batch * self.images_per_subject

    def in_epoch(self, images: int) -> int:
        """Return batches in an epoch of so many training images."""
        return self.per_epoch or max(1, images // self.size)


class SubjectSampler:
    """Draws an epoch of batches from the identities `(N,)` of the training images.

    Subjects come in random order, all of them before any comes again, but those that do not fill a batch wait for
    the next round; a subject's images come in random order, repeated where it has fewer than M.

    Raises:
        ValueError: fewer subjects than a batch needs.
    """

    def __init__(self, identities: Tensor, batches: Batches) -> None:
        counts = identities.unique(return_counts=True)[1]
        if len(counts) < batches.subjects_per_batch:
            raise ValueError(
                f"{len(counts)} training subjects, but each batch needs {batches.subjects_per_batch}: "
                "use more subjects, fewer folds, or fewer subjects per batch"
            )
        # A subject's images are places[first : first + count].
        self._places = identities.argsort(stable=True)
        self._first, self._count = (counts.cumsum(0) - counts).tolist(), counts.tolist()
        self._batches = batches
        self.batches_per_epoch = batches.in_epoch(len(identities))
        self.subjects = len(counts)
        self.repeating = int((counts < batches.images_per_subject).sum())

    def labels(self) -> Tensor:
        """Return labels `(S·M,)` within every batch: 0 0 0 0 1 1 1 1 …, so that index structures are made once."""
        return torch.arange(self._batches.subjects_per_batch).repeat_interleave(self._batches.images_per_subject)

    def epoch(self, generator: Generator) -> tuple[Tensor, float]:
        """Return positions `(batches, S·M)` of an epoch's images, and the share of subjects among them."""
        rounds: list[Tensor] = []
        size = self._batches.subjects_per_batch
        while sum(map(len, rounds)) < self.batches_per_epoch:
            order = torch.randperm(self.subjects, generator=generator)
            rounds.append(order[: self.subjects // size * size].view(-1, size))
        subjects = torch.cat(rounds)[: self.batches_per_epoch]
        chosen = [place for subject in subjects.flatten().tolist() for place in self._draw(subject, generator)]
        positions = self._places[torch.tensor(chosen)].view(self.batches_per_epoch, -1)
        return positions, subjects.unique().numel() / self.subjects

    def _draw(self, subject: int, generator: Generator) -> list[int]:
        """Return indices into `places`; plain numbers, since thousands of small tensors an epoch would take a while."""
        first, count = self._first[subject], self._count[subject]
        order = torch.randperm(count, generator=generator).tolist()
        return [first + order[number % count] for number in range(self._batches.images_per_subject)]
