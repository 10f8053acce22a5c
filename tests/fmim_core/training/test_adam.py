"""Adam: torch's to the bit, in a process that never imports torch's compiler."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.training.adam import Adam

TRAIN = """
import sys, torch
from fmim_core.data.bank.bank import Bank
from fmim_core.training.rehearsal import rehearse_loss, rehearse_model
from fmim_core.training.trainer import train
from tests.conftest import tiny_config
config = tiny_config()
rehearse_model(config.model, config.augmentation.crop)
rehearse_loss(config)
train(config, Bank.open(sys.argv[1]), lambda row: None)
print(sorted({"torch._dynamo", "sympy", "torch._inductor"} & set(sys.modules)))
"""


def steps(optimizer: type[torch.optim.Adam]) -> tuple[torch.Tensor, dict[str, Any]]:
    """A weight after six steps, the last three of them by an optimizer that took over the first one's state."""
    generator = torch.Generator().manual_seed(3)
    weight = torch.nn.Parameter(torch.randn(4, 3, generator=generator, dtype=torch.float64))
    state: dict[str, Any] = {}
    for _ in range(2):
        made = optimizer([weight], lr=0.1, weight_decay=0.01)
        if state:
            made.load_state_dict(state)
        for _ in range(3):
            made.zero_grad()
            (weight @ torch.randn(3, 5, generator=generator, dtype=torch.float64)).square().sum().backward()
            made.step()
        state = made.state_dict()
    assert weight.requires_grad
    return weight.detach(), state


def test_it_steps_and_resumes_as_torchs_own() -> None:
    (ours, our_state), (theirs, their_state) = steps(Adam), steps(torch.optim.Adam)
    assert torch.equal(ours, theirs)
    assert repr(our_state) == repr(their_state)


def test_a_training_imports_no_compiler(tiny_bank: Bank) -> None:
    command = [sys.executable, "-c", TRAIN, str(tiny_bank.path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
