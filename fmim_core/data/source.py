"""What every data set offers: one description, one index, and one image at a time."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

INDEX_COLUMNS = ("image", "subject", "side", "months", "split")
"""Columns every index has: `image`, `subject`, `side` ("", "L", "R"), `split` ("train", "test") are text, and
`months` is a float (0 = baseline, NaN = unknown). One row an image, in bank order."""


@dataclass(frozen=True)
class SourceDescription:
    """What a report says about where its images came from; `details` must survive JSON."""

    name: str
    kind: Literal["phantom", "manifest"]
    synthetic: bool
    about: str
    details: dict[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """A data set before it is decoded into a bank."""

    @property
    def description(self) -> SourceDescription:
        """What this data set is, in words and facts."""

    @property
    def index(self) -> pd.DataFrame:
        """One row an image with `INDEX_COLUMNS`, its row numbers 0..n-1 being those `read` takes."""

    @property
    def fingerprint(self) -> str:
        """Hex digest that changes whenever the index or any image may have changed."""

    def read(self, row_number: int, size: int, /) -> np.ndarray:
        """Image of that row as grey uint8 `(size, size)`; raises `images.ImageProblem` where it cannot be read."""
