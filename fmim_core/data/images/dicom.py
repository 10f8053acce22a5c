"""DICOM radiographs, an optional extra: from stored values to 8-bit grey, by the file's own rescaling and window."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pydicom
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.pixels import apply_color_lut, pixel_array

from fmim_core.data.images.limits import SEVERAL_FRAMES, ImageProblem, check_shape

GREY = ("MONOCHROME1", "MONOCHROME2")
COLOUR = ("RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT", "PALETTE COLOR")
DECODERS = "pip install pylibjpeg pylibjpeg-libjpeg pylibjpeg-openjpeg"

# It remarks on every odd header it meets; what matters for the pixels is refused below, by name.
warnings.filterwarnings("ignore", module=r"pydicom\b")


def read_dicom(path: str | Path) -> np.ndarray:
    """Grey image of a DICOM file, uint8 `(H, W)`.

    Rules for MONOCHROME: stored values are rescaled (modality LUT, or slope and intercept); the VOI LUT, or else the
    first window (LINEAR, LINEAR_EXACT or SIGMOID, PS3.3 C.11.2), gives the share of white from 0 to 1; without
    either, the full range that the stored bits can have is stretched over it, whatever part is used. Grey is
    ⌊255 · share + 1/2⌋, and 255 less that for MONOCHROME1. Colour of 8 bits gives its luminance. Pixels count as
    square.

    Raises:
        ImageProblem: no pixels, too many (found before they are read), too few, too narrow, several frames, cut
            short, floating-point, or stored in a way that is not known or needs another decoder.
        Exception: whatever pydicom meets in a damaged file.
    """
    _check_header(path, _header(path))
    dataset = pydicom.dcmread(path, force=True)
    _check_pixels(path, dataset)
    stored = _decoded(path, dataset)
    if dataset.PhotometricInterpretation == "PALETTE COLOR":
        stored = apply_color_lut(stored, dataset)
        if stored.itemsize > 1:
            stored = np.floor(stored * (255 / 65535) + 0.5).astype(np.uint8)
    if stored.ndim == 3:
        return np.asarray(Image.fromarray(stored[..., :3]).convert("L"))
    stored = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    unsigned = np.dtype(f"u{stored.itemsize}")
    every = np.arange(256**stored.itemsize).astype(unsigned).view(stored.dtype)  # each stored value there can be
    levels = np.floor(255 * _share_of_white(path, dataset, every) + 0.5).astype(np.uint8)
    if dataset.PhotometricInterpretation == "MONOCHROME1":
        levels = 255 - levels
    shown = np.empty(stored.shape, np.uint8)
    for row, values in zip(shown, stored.view(unsigned), strict=True):  # one at a time: an index needs 8 bytes a pixel
        row[:] = levels[values]
    return shown


def _header(path: str | Path) -> Dataset:
    """All but the pixels. Files without the DICM mark are read too: the caller knows why it tries."""
    return pydicom.dcmread(path, stop_before_pixels=True, force=True)


def _check_header(path: str | Path, header: Dataset) -> None:
    if "Rows" not in header or "Columns" not in header:
        kind = header.get("SOPClassUID")
        raise ImageProblem(path, f"DICOM without an image, or cut short ({kind.name if kind else 'no SOPClassUID'})")
    check_shape(path, int(header.Columns), int(header.Rows))
    if int(header.get("NumberOfFrames") or 1) > 1:
        raise ImageProblem(path, SEVERAL_FRAMES)
    form, bits = header.get("PhotometricInterpretation"), header.get("BitsAllocated")
    if form not in (*GREY, *COLOUR):
        raise ImageProblem(path, f"pixels of the kind {form} are not read, only {', '.join((*GREY, *COLOUR))}")
    if bits not in ((1, 8, 16) if form in (*GREY, "PALETTE COLOR") else (8,)):
        raise ImageProblem(path, f"{form} pixels of {bits} bits have no fixed range: save as 8 or 16 bits")


def _check_pixels(path: str | Path, dataset: Dataset) -> None:
    if "FloatPixelData" in dataset or "DoubleFloatPixelData" in dataset:
        raise ImageProblem(path, "floating-point pixels have no fixed range: save as 8 or 16 bits")
    if "PixelData" not in dataset:
        raise ImageProblem(path, "no pixel data: truncated, or a header alone")
    if "TransferSyntaxUID" not in dataset.file_meta:  # files of old, which start with the data itself
        implicit, little_endian = dataset.original_encoding
        known = {True: pydicom.uid.ImplicitVRLittleEndian, False: pydicom.uid.ExplicitVRLittleEndian}
        uid = known[bool(implicit)] if little_endian else pydicom.uid.ExplicitVRBigEndian
        dataset.file_meta.TransferSyntaxUID = uid
    if dataset.file_meta.TransferSyntaxUID.is_compressed:
        return
    samples = 2 if dataset.PhotometricInterpretation == "YBR_FULL_422" else dataset.SamplesPerPixel
    needed = math.ceil(dataset.Rows * dataset.Columns * samples * dataset.BitsAllocated / 8)
    if len(dataset.PixelData) < needed:
        raise ImageProblem(path, f"truncated: {len(dataset.PixelData)} of {needed} bytes of pixels")


def _decoded(path: str | Path, dataset: Dataset) -> np.ndarray:
    try:
        return pixel_array(dataset)
    except RuntimeError as error:  # no decoder, or (NotImplementedError, which is one) none that can
        if "truncated" in str(error):
            raise
        kind, why = dataset.file_meta.TransferSyntaxUID.name, str(error).splitlines()[-1].strip()
        reason = f"stored as {kind}, which cannot be decoded here ({why}): save it uncompressed, or {DECODERS}"
        raise ImageProblem(path, reason) from error


@dataclass(frozen=True, eq=False)
class _Lut:
    """A lookup table: entries for the inputs from `first` on; inputs beside them take the nearest entry."""

    first: int
    entries: np.ndarray
    top: int

    @classmethod
    def of(cls, dataset: Dataset, sequence: str) -> _Lut | None:
        """The first table of that sequence, None where there is none; PS3.3 C.11.1.1.1."""
        item = next(iter(dataset.get(sequence) or ()), None)
        if item is None or item.get("LUTDescriptor") is None or item.get("LUTData") is None:
            return None
        count, first, bits = (int(value) for value in item.LUTDescriptor)
        count = count or 65536
        data = item.LUTData
        if isinstance(data, bytes):
            wide = len(data) >= 2 * count
            data = np.frombuffer(data, ("<u2" if dataset.original_encoding[1] else ">u2") if wide else np.uint8)
        entries = np.atleast_1d(data)[:count].astype(np.float64)
        if len(entries) < count or not 1 <= bits <= 16:
            raise ValueError(f"{sequence} has {len(entries)} of {count} entries of {bits} bits")
        return cls(first, entries, 2**bits - 1)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return self.entries[np.clip(np.rint(values) - self.first, 0, len(self.entries) - 1).astype(np.intp)]


def _share_of_white(path: str | Path, dataset: Dataset, stored: np.ndarray) -> np.ndarray:
    """How white each stored value is shown, from 0 (black in MONOCHROME2) to 1."""
    half = 2 ** (dataset.BitsStored - 1)
    ends = np.array([-half, half - 1] if dataset.PixelRepresentation else [0, 2 * half - 1])
    if modality := _Lut.of(dataset, "ModalityLUTSequence"):
        values, ends = modality(stored), np.array([0, modality.top])
    else:
        slope, intercept = _number(dataset, "RescaleSlope"), _number(dataset, "RescaleIntercept")
        slope, intercept = 1.0 if slope is None else slope, intercept or 0.0
        if slope == 0:
            raise ImageProblem(path, "RescaleSlope is 0: every pixel would be the same")
        values, ends = slope * stored + intercept, np.sort(slope * ends + intercept)
    centre, width = _number(dataset, "WindowCenter"), _number(dataset, "WindowWidth")
    if voi := _Lut.of(dataset, "VOILUTSequence"):
        share = voi(values) / voi.top
    elif centre is not None and width is not None:
        share = _window(path, values, centre, width, dataset.get("VOILUTFunction") or "LINEAR")
    else:
        share = (values - ends[0]) / (ends[1] - ends[0])
    return np.clip(share, 0, 1)


def _window(path: str | Path, values: np.ndarray, centre: float, width: float, function: str) -> np.ndarray:
    """The share of white that a window gives; PS3.3 C.11.2.1.2 and C.11.2.1.3."""
    if width < 1 if function == "LINEAR" else width <= 0:
        raise ImageProblem(path, f"WindowWidth {width:g} is too small for the window {function}")
    if function == "SIGMOID":
        return 1 / (1 + np.exp(np.clip(-4 * (values - centre) / width, -700, 700)))
    if function == "LINEAR":
        centre, width = centre - 0.5, width - 1
    elif function != "LINEAR_EXACT":
        raise ImageProblem(path, f"VOILUTFunction {function} is not known: LINEAR, LINEAR_EXACT and SIGMOID are")
    return (values - centre) / width + 0.5 if width else (values > centre).astype(np.float64)


def _number(dataset: Dataset, name: str) -> float | None:
    """The element's number, its first where it has several, None where it is missing or blank."""
    element = dataset.get(name)
    if isinstance(element, pydicom.multival.MultiValue):
        element = element[0] if element else None
    return None if element is None or element == "" else float(element)
