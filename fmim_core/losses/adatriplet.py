"""AdaTriplet loss: the triplet loss and a hinge on negative pairs (eq. 5 of the AdaTriplet paper)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from fmim_core.config import Config
from fmim_core.losses.base import LossOutput
from fmim_core.losses.triplet import triplet_term
from fmim_core.margins.schedules import Margins
from fmim_core.triplets.selection import Averaging, Selection, mean_hinge
from fmim_core.triplets.similarities import FAR, Similarities


class AdaTriplet(Config):
    """L = mean [φ_an − φ_ap + ε]₊ + λ mean [φ_an − β]₊; the gradients of the four regions are eq. 6.

    Selection concerns the first term only: the second is there for easy triplets too.

    Args:
        lam: λ ≥ 0.
        selection, averaging: as for `Triplet`; averaging concerns both terms, each by itself.
        negative_pairs: the second mean is over each `unordered` pair once (the authors' choice), or `per_triplet`
            (eq. 5 as printed, if selection and averaging are `all`).
    """

    kind: Literal["adatriplet"] = "adatriplet"
    lam: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    selection: Selection = "semihard"
    averaging: Averaging = "nonzero"
    negative_pairs: Literal["unordered", "per_triplet"] = "unordered"
    uses_margins: ClassVar[bool] = True
    uses_beta: ClassVar[bool] = True

    def build(self, embedding_dim: int, classes: int) -> torch.nn.Module:
        return AdaTripletLoss(self)


class AdaTripletLoss(torch.nn.Module):
    """See `AdaTriplet`."""

    def __init__(self, config: AdaTriplet) -> None:
        super().__init__()
        self._config = config

    def forward(self, batch: Similarities, margins: Margins) -> LossOutput:
        """The loss of a batch of similarities under `margins`, and how many triplets its first term used."""
        config = self._config
        value, used = triplet_term(batch, margins, config.selection, config.averaging)
        return LossOutput(value + config.lam * self._negative_term(batch, margins), used)

    def _negative_term(self, batch: Similarities, margins: Margins) -> Tensor:
        index = batch.index
        if self._config.negative_pairs == "unordered":
            minus_phi_an, mask = index.once - batch.phi, index.negative_pairs
        else:
            minus_phi_an, mask = FAR * ~index.valid - batch.phi_an, index.valid
        count = mask.sum() if self._config.averaging == "all" else None
        # [φ_an − β]₊ as [ε − Δ]₊ with ε = −β and Δ = −φ_an.
        return mean_hinge(minus_phi_an, -margins.beta, count=count)[0]
