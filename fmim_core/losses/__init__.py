"""The losses: one file each, found by being there. A loss never computes a margin: it is given them."""

from __future__ import annotations

from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.arcface import ArcFace
from fmim_core.losses.base import LOSSES, Loss, LossModule, LossOutput
from fmim_core.losses.contrastive import Contrastive
from fmim_core.losses.sct import SCT
from fmim_core.losses.softtriple import SoftTriple
from fmim_core.losses.triplet import Triplet

__all__ = [
    "LOSSES",
    "SCT",
    "AdaTriplet",
    "ArcFace",
    "Contrastive",
    "Loss",
    "LossModule",
    "LossOutput",
    "SoftTriple",
    "Triplet",
]
