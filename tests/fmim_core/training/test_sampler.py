"""Batches of S subjects × M images."""

from __future__ import annotations

import pytest
import torch

from fmim_core.seeding import torch_generator
from fmim_core.training.sampler import Batches, SubjectSampler


def identities(*sizes: int) -> torch.Tensor:
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))


def test_every_batch_has_different_subjects_with_m_images_each() -> None:
    labels = identities(*[7] * 10)
    sampler = SubjectSampler(labels, Batches(subjects_per_batch=4, images_per_subject=3))
    batches, seen = sampler.epoch(torch_generator("epoch"))
    assert batches.shape == (70 // 12, 12)
    for batch in batches:
        groups = labels[batch].view(4, 3)
        assert torch.equal(groups, groups[:, :1].expand(4, 3))
        assert len(groups[:, 0].unique()) == 4
        assert len(batch.unique()) == 12  # nobody has fewer than three images, so none is repeated
    assert seen == 1.0
    assert torch.equal(sampler.labels(), torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]))


def test_subjects_with_few_images_are_repeated_and_counted() -> None:
    labels = identities(2, 10, 1)
    sampler = SubjectSampler(labels, Batches(subjects_per_batch=3, images_per_subject=4))
    batches, _ = sampler.epoch(torch_generator("few"))
    assert sampler.repeating == 2
    for batch in batches:
        counts = {int(s): batch[labels[batch] == s].unique(return_counts=True)[1].tolist() for s in range(3)}
        assert counts == {0: [2, 2], 1: [1, 1, 1, 1], 2: [4]}


def test_the_length_of_an_epoch_can_be_given() -> None:
    batches = Batches(subjects_per_batch=4, images_per_subject=2, per_epoch=7)
    positions, seen = SubjectSampler(identities(*[5] * 9), batches).epoch(torch_generator("given"))
    assert positions.shape == (7, 8)
    assert seen == 1.0


def test_all_subjects_come_before_any_comes_again_by_a_seed() -> None:
    labels, size = identities(*[4] * 12), Batches(subjects_per_batch=4, images_per_subject=2)
    sampler = SubjectSampler(labels, size)
    first, again, other = (sampler.epoch(torch_generator(0, "batches", epoch))[0] for epoch in (1, 1, 2))
    assert len(labels[first[:3]].unique()) == 12
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    with pytest.raises(ValueError, match="3 training subjects, but each batch needs 4"):
        SubjectSampler(identities(5, 5, 5), size)
    for field in ("subjects_per_batch", "images_per_subject"):  # without triplets
        with pytest.raises(ValueError, match=field):
            Batches(**{field: 1})
