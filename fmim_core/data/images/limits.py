"""Limits of an image that hold before anything is decoded, and the errors that say why one cannot be used."""

from __future__ import annotations

from pathlib import Path

MAX_PIXELS = 89_478_485  # a quarter of a gigabyte as RGB, Pillow's own limit of suspicion
MAX_FILE_BYTES = 2**30  # the largest picture that is read needs half of it, uncompressed
MIN_SIDE = 4
MAX_ASPECT = 20  # longer side / shorter side
SEVERAL_FRAMES = "several frames: save the one you want as a separate file"


class Refused(ValueError):
    """The reason in words why an image cannot be used; whoever knows its file makes an `ImageProblem` of it."""


class ImageProblem(ValueError):
    """An image that cannot be used: its `path`, and the `reason` in words."""

    def __init__(self, path: str | Path, reason: object) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = str(path), str(reason)

    def __reduce__(self) -> tuple[type[ImageProblem], tuple[str, str]]:
        return ImageProblem, (self.path, self.reason)


def check_shape(width: int, height: int) -> None:
    """Raise `Refused` for an image of too many pixels, too narrow, or too small."""
    if width * height > MAX_PIXELS:
        raise Refused(f"too many pixels, not decoded: {width} x {height}, at most {MAX_PIXELS}")
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise Refused(f"too narrow: {width} x {height} pixels, the sides may differ by at most {MAX_ASPECT} to 1")
    if min(width, height) < MIN_SIDE:
        raise Refused(f"too small: {width} x {height} pixels, at least {MIN_SIDE} on each side")
