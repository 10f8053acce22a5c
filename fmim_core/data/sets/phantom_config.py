"""The embedded cohort's configuration, by itself: presets declare it, and declaring needs neither NumPy nor pandas."""

from __future__ import annotations

from pydantic import Field, field_validator

from fmim_core.config import Config

PHANTOM = "phantom"
"""The embedded cohort, as `--data` names it."""


class PhantomConfig(Config):
    """Size and difficulty of the cohort; months are counted from the baseline visit, 0.

    `ageing` scales every change over the years, disease included; `acquisition` scales how much two films of the
    same knee differ on the same day, in position, exposure, sharpness and frame. At 0 the effect is switched off. At 1
    films are so alike that raw pixels find a person; at 3, as all presets have it, that takes a trained network. `seed`
    draws another cohort.
    """

    train_subjects: int = Field(100, ge=0)
    test_subjects: int = Field(50, ge=0)
    months: tuple[int, ...] = (0, 12, 24, 36, 48, 72, 96)
    missed: float = Field(0.08, ge=0, lt=1, description="share of the visits after baseline that did not happen")
    ageing: float = Field(1.0, ge=0)
    acquisition: float = Field(1.0, ge=0)
    mirror_right: bool = Field(True, description="show right knees in the orientation of left ones")
    seed: int = 0

    @field_validator("months")
    @classmethod
    def _baseline_first(cls, months: tuple[int, ...]) -> tuple[int, ...]:
        if not months or months[0] != 0 or list(months) != sorted(set(months)):
            raise ValueError(f"months = {months}: start with 0 (the baseline) and increase from visit to visit")
        return months
