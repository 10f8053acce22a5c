"""The loss of my_study.py against its formula, written as loops: `pytest test_my_study.py`."""

from __future__ import annotations

import pytest
import torch
from my_study import SmoothTriplet

from fmim.kinds import Margins, Similarities, unit

LABELS = (0, 0, 1, 1, 1, 2, 2)


def by_hand(embeddings: torch.Tensor, tau: float, epsilon: float) -> torch.Tensor:
    """Mean over all triplets (a, p, n) of τ log(1 + exp((φ_an − φ_ap + ε)/τ)), one after the other."""
    terms = []
    for a, p, n in torch.cartesian_prod(*[torch.arange(len(LABELS))] * 3).tolist():
        if a != p and LABELS[a] == LABELS[p] and LABELS[a] != LABELS[n]:
            excess = embeddings[a] @ embeddings[n] - embeddings[a] @ embeddings[p] + epsilon
            terms.append(tau * torch.log(1 + torch.exp(excess / tau)))
    return torch.stack(terms).mean()


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_and_its_gradient_are_those_of_the_formula(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    raw = torch.randn(len(LABELS), 4, generator=generator, dtype=torch.float64).requires_grad_()
    module = SmoothTriplet(tau=0.1).build(embedding_dim=4, classes=3)
    found = module(Similarities.of_labels(unit(raw), torch.tensor(LABELS)), Margins(0.25)).value
    expected = by_hand(unit(raw), tau=0.1, epsilon=0.25)
    gradient, gradient_by_hand = (torch.autograd.grad(value, raw, retain_graph=True)[0] for value in (found, expected))
    assert found.item() == pytest.approx(expected.item(), abs=1e-9)
    assert torch.allclose(gradient, gradient_by_hand, rtol=0, atol=1e-9)
