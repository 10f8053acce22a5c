"""A loss as a function of one triplet's (φ_ap, φ_an), with its gradient, from the loss code itself (Fig. 1b, c)."""

from __future__ import annotations

from typing import Any

import torch
from pydantic import Field

from fmim_core.config import Config
from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import Similarities, TripletIndex


class SurfaceConfig(Config):
    """The loss that a surface shows: one that is a function of one triplet and its margins."""

    loss: Triplet | AdaTriplet = Field(discriminator="kind")


def loss_surface(loss: Triplet | AdaTriplet, margins: Margins, points: int = 41) -> dict[str, Any]:
    """Return values and gradients on a square grid over [−1, 1]², by autograd, one triplet at a time.

    Returns:
        phi: the grid's coordinates `(points,)`; loss, d_phi_ap, d_phi_an: nested lists `[φ_an][φ_ap]`.
    """
    module = loss.of_every_triplet().build(2, 2)
    phi = torch.linspace(-1, 1, points, dtype=torch.float64)
    rows = [[_at(module, margins, float(ap), float(an)) for ap in phi] for an in phi]
    names = ("loss", "d_phi_ap", "d_phi_an")
    return {"phi": phi.tolist()} | {name: [[p[k] for p in row] for row in rows] for k, name in enumerate(names)}


def _at(module: torch.nn.Module, margins: Margins, ap: float, an: float) -> tuple[float, float, float]:
    """Return loss and its two derivatives for two images of one identity and one of another.

    Either of the two is the anchor once, in triplets that are alike: every mean is that of one.
    """
    index = TripletIndex.of(torch.tensor([0, 0, 1]))
    phi_ap, phi_an = (torch.tensor([[value]], dtype=torch.float64, requires_grad=True) for value in (ap, an))
    phi = torch.where(index.not_negative > 0, phi_ap, phi_an)
    value = module(Similarities(phi_an.new_empty(0), index, index.labels, phi), margins).value
    d_ap, d_an = torch.autograd.grad(value, (phi_ap, phi_an))
    return value.item(), d_ap.item(), d_an.item()
