"""The numbers of a training that do not depend on whether the processor has AVX-512, or AVX2 alone."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import torch
from torch import nn

from fmim_core.augmentations.base import PaperAugmentation
from fmim_core.models.small import SmallConvNet
from fmim_core.seeding import scoped_torch_seed, torch_generator


def digest() -> str:
    """The digest of first weights, augmented images, and gradients of a batch norm."""
    torch.set_num_threads(1)
    with scoped_torch_seed(0):
        weights = list(SmallConvNet().build(64).parameters())
    stored = (torch.arange(16 * 70 * 70) % 251).to(torch.uint8).view(16, 70, 70)
    images = PaperAugmentation(crop=64).train(stored, torch_generator(0)).requires_grad_()
    norm = nn.BatchNorm2d(1)
    learning = [*weights, *norm.parameters()]
    loss: torch.Tensor = norm(images).exp().mean() + sum(each.cos().sum() for each in weights)
    loss.backward()
    gradients = (each.grad for each in (*learning, images))
    found = (each.detach().numpy().tobytes() for each in (*learning, images, *gradients) if each is not None)
    return hashlib.sha256(b"".join(found)).hexdigest()


def test_another_instruction_set_draws_augments_and_learns_the_same_but_for_convolutions() -> None:
    program = f"import torch, {__name__} as here; print(torch.backends.cpu.get_cpu_capability(), here.digest())"
    avx2 = os.environ | {"ATEN_CPU_CAPABILITY": "avx2", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=avx2, capture_output=True, text=True, check=True)
    capability, theirs = done.stdout.split()
    assert capability != "AVX512"
    assert theirs == digest()
