"""How large a pixel is, as the image file itself says."""

from __future__ import annotations

import math
from pathlib import Path

from fmim_core.data.images.reading import ImageProblem

ADVICE = "give the window's width in pixels"


def pixel_spacing(path: str | Path) -> float:
    """Millimetres from row to row of a DICOM file: its Imager Pixel Spacing or, without that, its Pixel Spacing.

    The same two in this order are what KNEEL reads; the first is measured at the detector.

    Raises:
        ImageProblem: not a DICOM file, no such tag or none above 0, or pydicom is not installed.
    """
    try:
        import pydicom
    except ImportError:
        raise ImageProblem(path, f"its pixel spacing needs pydicom: install it, or {ADVICE}") from None
    tags = ["ImagerPixelSpacing", "PixelSpacing"]
    try:
        header = pydicom.dcmread(path, stop_before_pixels=True, specific_tags=tags)
        stated = next((value for tag in tags if (value := header.get(tag))), None)
        spacing = float(stated[0] if hasattr(stated, "__len__") else stated) if stated is not None else 0.0
    except Exception as error:  # a decoder fed damaged bytes raises nearly anything
        raise ImageProblem(path, f"no pixel spacing can be read from it, {ADVICE}: {error}") from error
    if not 0 < spacing < math.inf:
        raise ImageProblem(path, f"it does not state its pixel spacing: {ADVICE}")
    return spacing
