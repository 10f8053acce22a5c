"""Reading an image file, whatever its mode, as one grey 8-bit image, or saying why it cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

MAX_PIXELS = 89_478_485  # a quarter of a gigabyte as RGB, Pillow's own limit of suspicion
MIN_SIDE = 4
MAX_ASPECT = 20  # longer side / shorter side
NEARLY_BLACK = 26  # a tenth of the grey scale

_TIFF_PHOTOMETRIC, _WHITE_IS_ZERO = 262, 0


class ImageProblem(ValueError):
    """An image that cannot be used: its `path`, and the `reason` in words."""

    def __init__(self, path: str | Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = str(path), reason

    def __reduce__(self) -> tuple[type[ImageProblem], tuple[str, str]]:
        return ImageProblem, (self.path, self.reason)


def read_grey(path: str | Path, size: int | None = None, mirror: bool = False) -> np.ndarray:
    """Grey image of the file, uint8 `(H, W)`, or `(size, size)` by `square`; with `mirror`, left and right exchanged.

    The format is found by content, not by name. Rules: 16-bit values v give round(255·v/65535), over the full
    range whatever bits are used; colour, palette and CMYK give the luminance 0.299 R + 0.587 G + 0.114 B; alpha
    is ignored; the EXIF orientation is applied, so that the picture stands as a viewer shows it.

    Raises:
        ImageProblem: no such file, empty, not an image, truncated, several frames, too small, too narrow, too many
            pixels (found before decoding), or pixels without a fixed range (floating-point, 32-bit).
    """
    try:
        with Image.open(path) as image:
            _check_header(path, image)
            _decode(path, image)
            ImageOps.exif_transpose(image, in_place=True)
            grey = _grey(path, image)
    except (ImageProblem, MemoryError):
        raise
    except Exception as error:  # decoders fed damaged bytes raise nearly anything
        raise ImageProblem(path, _reason(path, error)) from error
    if mirror:
        grey = grey.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(grey) if size is None else _square(grey, size)


def square(image: np.ndarray, size: int) -> np.ndarray:
    """`image`, uint8 `(H, W)`, as `(size, size)` with its aspect kept.

    The longer side becomes `size` and the shorter one is scaled alike (rounded, at least 1 pixel), by Pillow's
    bilinear filter, which averages over the whole area when it shrinks. Black is then added on both sides of the
    shorter one, the odd pixel after it. Scaling first needs no more memory than the image, however narrow.
    """
    return _square(Image.fromarray(image), size)


def _square(image: Image.Image, size: int) -> np.ndarray:
    width, height = image.size
    scale = size / max(height, width)
    new_height, new_width = (max(1, round(side * scale)) for side in (height, width))
    if (new_height, new_width) != (height, width):
        image = image.resize((new_width, new_height), Image.Resampling.BILINEAR)
    result = np.zeros((size, size), np.uint8)
    top, left = (size - new_height) // 2, (size - new_width) // 2
    result[top : top + new_height, left : left + new_width] = np.asarray(image)
    return result


def appearance(image: np.ndarray) -> str | None:
    """A remark on a grey image, uint8 `(H, W)`, that was read but can hardly be meant, or None.

    "blank" where all pixels inside a black border differ by at most 2 levels; "nearly black" where 99 of 100
    pixels are below 26 of 255, as when 12-bit values were saved as 16-bit.
    """
    rows, columns = np.flatnonzero(image.any(axis=1)), np.flatnonzero(image.any(axis=0))
    if not rows.size:
        return "blank"
    inside = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]  # without the padding of `square`
    if int(inside.max()) - int(inside.min()) <= 2:
        return "blank"
    if np.count_nonzero(inside < NEARLY_BLACK) <= int(0.99 * (inside.size - 1)):  # spares most images the percentile
        return None
    return "nearly black" if np.percentile(inside, 99) < NEARLY_BLACK else None


def _check_header(path: str | Path, image: Image.Image) -> None:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise ImageProblem(path, f"too many pixels, not decoded: {width} x {height}, at most {MAX_PIXELS}")
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise ImageProblem(path, f"extreme aspect: {width} x {height} pixels, at most {MAX_ASPECT} to 1")
    if min(width, height) < MIN_SIDE:
        raise ImageProblem(path, f"too small: {width} x {height} pixels, at least {MIN_SIDE} on each side")
    if getattr(image, "is_animated", False):
        raise ImageProblem(path, "several frames: save the one that is meant as its own file")


def _decode(path: str | Path, image: Image.Image) -> None:
    """Load the pixels; a truncated file must raise, never come back half grey."""
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise ImageProblem(path, "PIL.ImageFile.LOAD_TRUNCATED_IMAGES is on, truncated files would pass: turn it off")
    image.load()


def _is_white_zero(image: Image.Image) -> bool:
    """Whether a TIFF stores white as 0; Pillow inverts such files up to 8 bits and leaves 16 bits as they are."""
    return getattr(image, "tag_v2", {}).get(_TIFF_PHOTOMETRIC) == _WHITE_IS_ZERO


def _grey(path: str | Path, image: Image.Image) -> Image.Image:
    mode = image.mode
    if mode == "L":
        return image  # as most radiographs are: a copy of the pixels would take a tenth of the time of reading them
    if mode in ("1", "LA"):
        return image.convert("L")
    if mode in ("P", "PA"):
        return image.convert("RGBA").convert("RGB").convert("L")
    if mode in ("RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV"):
        return image.convert("RGB").convert("L")
    if mode.startswith("I"):
        values = np.asarray(image)
        if values.min() < 0 or values.max() > 65535:
            raise ImageProblem(path, "32-bit values outside 0..65535 have no fixed range: save as 8 or 16 bits")
        grey = np.empty(values.shape, np.uint8)
        for top in range(0, len(values), 64):  # the whole at once takes twice the time, and 8 bytes a pixel
            strip = values[top : top + 64].astype(np.int32)
            grey[top : top + 64] = (strip * (255 * 2) + 65535) // (2 * 65535)
        return Image.fromarray(255 - grey if _is_white_zero(image) else grey)
    kind = "floating-point pixels" if mode == "F" else f"pixels of mode {mode}"
    raise ImageProblem(path, f"{kind} have no fixed range: save as 8 or 16 bits")


def _reason(path: str | Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, UnidentifiedImageError):
        if os.path.getsize(path) == 0:
            return "empty"
        return "not an image (PNG, JPEG, TIFF and the like are read; DICOM has to be converted)"
    if isinstance(error, (Image.DecompressionBombError, Image.DecompressionBombWarning)):
        return f"too many pixels, not decoded: {error}"
    if "truncated" in str(error).lower():
        return f"truncated ({error})"
    return f"cannot be decoded ({error})"
