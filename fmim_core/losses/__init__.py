"""The losses: one file each, and its line in `LossConfig`. A loss never computes a margin: it is given them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.base import LossOutput
from fmim_core.losses.triplet import Triplet

LossConfig = Annotated[Triplet | AdaTriplet, Field(discriminator="kind")]

__all__ = ["AdaTriplet", "LossConfig", "LossOutput", "Triplet"]
