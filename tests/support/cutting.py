"""A picture's file cut short: read whole, or refused, and never something between."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fmim_core.data.images.reading import ImageProblem, read_grey


def refusals(whole: Path, cut: Path, times: int) -> int:
    """Of so many cuts of a file from its first byte to its last but one, written to `cut`, how many are refused.

    Where one is read, its picture is the whole one.
    """
    content, picture = whole.read_bytes(), read_grey(whole)
    refused = 0
    for end in np.linspace(1, len(content) - 1, times).astype(int):
        cut.write_bytes(content[:end])
        try:
            np.testing.assert_array_equal(read_grey(cut), picture)
        except ImageProblem:
            refused += 1
    return refused
