"""Loss surfaces: values by the formulas, gradients by eq. 6."""

from __future__ import annotations

import pytest

from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.surface import loss_surface
from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import Margins

EPSILON, BETA = 0.25, 0.1


def regions(ap: float, an: float, lam: float) -> tuple[float, float]:
    """Eq. 6 of the paper; with λ = 0 it is the triplet loss."""
    triplet, pair = an - ap + EPSILON > 0, an > BETA
    return (-1.0 if triplet else 0.0, (1.0 if triplet else 0.0) + (lam if pair else 0.0))


@pytest.mark.parametrize(("loss", "lam"), [(Triplet(), 0.0), (AdaTriplet(lam=1.0), 1.0), (AdaTriplet(lam=2.0), 2.0)])
def test_the_surface_is_the_loss_of_every_triplet(loss: Triplet | AdaTriplet, lam: float) -> None:
    surface = loss_surface(loss, Margins(EPSILON, BETA), points=20)
    phi = surface["phi"]
    assert (phi[0], phi[-1], len(phi)) == (-1.0, 1.0, 20)
    for i, an in enumerate(phi):
        for j, ap in enumerate(phi):
            expected = max(0.0, an - ap + EPSILON) + lam * max(0.0, an - BETA)
            assert surface["loss"][i][j] == pytest.approx(expected, abs=1e-12)
            assert (surface["d_phi_ap"][i][j], surface["d_phi_an"][i][j]) == regions(ap, an, lam)
