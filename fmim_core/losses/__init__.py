"""The losses: one file each, and its line in `LossConfig`. A loss never computes a margin: it is given them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.arcface import ArcFace
from fmim_core.losses.base import LossOutput
from fmim_core.losses.contrastive import Contrastive
from fmim_core.losses.sct import SCT
from fmim_core.losses.softtriple import SoftTriple
from fmim_core.losses.triplet import Triplet

LossConfig = Annotated[Triplet | AdaTriplet | SCT | Contrastive | ArcFace | SoftTriple, Field(discriminator="kind")]

__all__ = ["SCT", "AdaTriplet", "ArcFace", "Contrastive", "LossConfig", "LossOutput", "SoftTriple", "Triplet"]
