"""A loss that a study's report draws as a surface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from fmim_core.config import Config, Refused
from fmim_spaces.domain import Assignment, nested

if TYPE_CHECKING:
    from fmim_core.losses.adatriplet import AdaTriplet
    from fmim_core.losses.triplet import Triplet


class Surface(Config):
    """A loss to be drawn as a function of one triplet's (φ_ap, φ_an).

    Args:
        settings: the loss as an arm's settings give it, dotted, e.g. ("loss.kind", "triplet").
    """

    label: str
    settings: tuple[Assignment, ...]
    epsilon: float
    beta: float = 0.0

    def loss(self) -> Triplet | AdaTriplet:
        """Return the loss.

        Raises:
            ValueError: settings that are no loss's, or those of a loss that has no surface.
        """
        from fmim_core.losses.surface import SurfaceConfig

        try:
            return SurfaceConfig.model_validate(nested(self.settings)).loss
        except ValidationError as error:
            raise Refused("surface", self.label, error) from error
