"""A part of an image file: one knee of a film of both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fmim_core.data.images.limits import MIN_SIDE, ImageProblem, Refused


@dataclass(frozen=True)
class Window:
    """A square around the point (`x`, `y`) of an image, in its pixels; beyond the image it is black.

    Its side is `width` pixels or, where that is None, `millimetres` at the pixel spacing that the file states, which
    is read with the image: a collection of 27,000 films would take minutes to be listed otherwise. As KNEEL cuts, the
    side is rounded down to an even number, and the point to whole pixels.
    """

    x: float
    y: float
    width: float | None = None
    millimetres: float = 140

    def cut(self, path: str | Path, image: np.ndarray) -> np.ndarray:
        """Return the window of the grey image uint8 `(H, W)` of the file `path`, as `(side, side)`.

        Raises:
            ImageProblem: the point is outside the image, or the file does not state its pixel spacing.
        """
        height, width = image.shape
        if not (0 <= self.x < width and 0 <= self.y < height):
            raise ImageProblem(path, f"the point ({self.x:g}, {self.y:g}) lies outside the image of {width} x {height}")
        half = int(self._side(path)) // 2
        if not 2 * half >= MIN_SIDE:
            raise ImageProblem(path, f"a window of {2 * half} pixels is too small: at least {MIN_SIDE}")
        top, left = round(self.y) - half, round(self.x) - half
        result = np.zeros((2 * half, 2 * half), np.uint8)
        part = image[max(0, top) : max(0, top + 2 * half), max(0, left) : max(0, left + 2 * half)]
        result[max(0, -top) :, max(0, -left) :][: part.shape[0], : part.shape[1]] = part
        return result

    def _side(self, path: str | Path) -> float:
        if self.width is not None:
            return self.width
        try:
            from fmim_core.data.images.dicom import pixel_spacing

            return self.millimetres / pixel_spacing(path)
        except ModuleNotFoundError:
            what = "its pixel spacing needs pydicom: install it, or give the window's width in pixels"
            raise ImageProblem(path, what) from None
        except Refused as refused:
            raise ImageProblem(path, refused) from refused
