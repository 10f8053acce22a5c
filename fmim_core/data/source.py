"""Base of every data set: one description, one index, and one image at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.metric_names import YEAR

INDEX_COLUMNS = ("image", "subject", "side", "months", "split")
"""Columns every index has: `image`, `subject`, `side` ("", "L", "R"), `split` ("train", "test") are text, and
`months` is a float (0 = baseline, NaN = unknown). One row an image, in bank order."""

ABOUT_COLUMNS = ("sex", "age", "view", "disease", "grade", "tkr")
"""Columns about an image that an index may have, all text, blank where unknown: `sex` (M, F), `age` in years at that
visit, `view` (PA, AP, ...), `disease` and `tkr` (yes, no), `grade` (Kellgren-Lawrence, 0 to 4). For tables and strata
alone: training and retrieval never see them."""

EVERY_COLUMN = (*INDEX_COLUMNS, "role", *ABOUT_COLUMNS)
"""All columns an index may have, in the order of a bank's. `role` is text of `image_set.ROLES`; without it the months
say which images are gallery and which queries."""

Progress = Callable[[int, int], None]
"""Called as `progress(images done, images in all)`."""


@dataclass(frozen=True)
class SourceDescription:
    """The origin of images, as reports say it; `settings` and `details` must survive JSON.

    Args:
        kind: "phantom", "manifest", or that of a named data set.
        release: of the data set's tables, e.g. "v2020"; blank where there are none.
        files: name → SHA-256 of the tables that were read.
        settings: training fields that belong to the images, dotted, e.g. {"augmentation.std": 0.5}; a preset or an
            arm may still say otherwise.
        interval: the unit of time by which queries are grouped, of `metric_names.INTERVALS`.
        channels: of the images as they are read: 1 (grey) or 3 (red, green, blue).
    """

    name: str
    kind: str
    synthetic: bool
    about: str
    release: str = ""
    files: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    interval: str = YEAR.unit
    channels: int = 1

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the interval and the channels, as fingerprints have them: not those of before there was a choice."""
        chosen = {"interval": self.interval, "channels": self.channels}
        return {name: value for name, value in chosen.items() if value not in (YEAR.unit, 1)}

    @property
    def training(self) -> dict[str, Any]:
        """Return the training fields that the images need: `settings`, and their channels where they have colour."""
        return self.settings | ({} if self.channels == 1 else {"model.channels": self.channels})

    @property
    def colours(self) -> str:
        """Return how images are read, in words."""
        return "in grey" if self.channels == 1 else "in colour"

    def shape(self, size: int) -> tuple[int, ...]:
        """Return the shape of an image of that side: `(size, size)`, in colour `(size, size, 3)`."""
        return (size, size) if self.channels == 1 else (size, size, self.channels)

    @property
    def provenance(self) -> dict[str, Any]:
        """Return what every record says of its data: name, release, and the tables' checksums."""
        return {"name": self.name, "release": self.release, "files": self.files}


class Source(ABC):
    """A data set before it is decoded into a bank.

    description: what it is, in words and facts.
    index: one row per image with `INDEX_COLUMNS`, its row numbers 0..n-1 being those `read` takes.
    fingerprint: a hex digest that changes whenever the index or any image may have changed.
    image_keys: one text an image, which changes whenever the image may have changed and stays when other rows come or
        go, so that a build takes the unchanged images from the one before; None where images do not change one by one.
    threads: how many are worth to read with, where not every core is: for a `read` that holds Python's lock.
    """

    description: SourceDescription
    index: pd.DataFrame
    fingerprint: str
    image_keys: Sequence[str] | None = None
    threads: int | None = None

    @abstractmethod
    def read(self, row_number: int, size: int) -> np.ndarray:
        """Return the image of that row, uint8 of `description.shape(size)`; raise `ImageProblem` if it is unusable."""
