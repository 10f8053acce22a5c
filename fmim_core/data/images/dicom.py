"""DICOM radiographs, an optional extra: from stored values to 8-bit grey, by the file's own rescaling and window."""

from __future__ import annotations

import math
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.encaps import get_frame
from pydicom.filereader import _read_file_meta_info, read_preamble
from pydicom.pixels import apply_color_lut, pixel_array
from pydicom.pixels.utils import get_j2k_parameters
from pydicom.uid import DeflatedExplicitVRLittleEndian, JPEG2000TransferSyntaxes, RLELossless

from fmim_core.data.images.dicom_levels import grey_levels, stored_values
from fmim_core.data.images.limits import MAX_PIXELS, SEVERAL_FRAMES, Refused, check_shape

GREY, PALETTE = ("MONOCHROME1", "MONOCHROME2"), "PALETTE COLOR"
KINDS = (*GREY, "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT", PALETTE)
ELSEWHERE = ("PresentationLUTSequence", "PixelValueTransformationSequence", "FrameVOILUTSequence")
FUNCTIONAL_GROUPS = ("SharedFunctionalGroupsSequence", "PerFrameFunctionalGroupsSequence")
DECODERS = "pip install pylibjpeg pylibjpeg-libjpeg pylibjpeg-openjpeg"
_PIECE = 1 << 20  # bytes inflated at once
MAX_INFLATED = 3 * MAX_PIXELS + (1 << 24)  # bytes of the largest picture in colour, and of all that stands around it
ADVICE = "give the window's width in pixels"

# It remarks on every odd header it meets; what matters for the pixels is refused below, by name.
warnings.filterwarnings("ignore", module=r"pydicom\b")


def read_dicom(path: str | Path) -> np.ndarray:
    """Return the grey image of a DICOM file, uint8 `(H, W)`.

    Rules for MONOCHROME, by `dicom_levels.grey_levels`: the stored bits are rescaled (modality LUT, or slope and
    intercept); the VOI LUT, or else the first window, gives the share of white; without either, the full range that
    the stored bits can have is stretched over it, whatever part is used. Padding is black. Colour of 8 bits gives its
    luminance. Overlays and other graphics are not drawn, and pixels count as square.

    Raises:
        Refused: no pixels, too many (found before they are decoded), too few, too narrow, several frames, cut short,
            floating-point, stored in a way that is not known or needs another decoder, or an attribute that changes
            grey values and is contradictory, no finite number, or not read here.
        Exception: whatever pydicom meets in a damaged file.
    """
    _check_inflated(path)
    dataset = pydicom.dcmread(path, force=True)  # also without the mark: the caller knows why
    _check_header(dataset)
    _check_display(dataset)
    _check_pixels(dataset)
    words = _decoded(dataset)
    if words.ndim == 3:
        return np.asarray(Image.fromarray(words).convert("L"))
    words = words.astype(words.dtype.newbyteorder("="), copy=False).view(f"u{words.itemsize}")
    every = np.arange(256**words.itemsize)  # each word there can be
    if dataset.PhotometricInterpretation == PALETTE:
        colours = apply_color_lut(stored_values(dataset, every).astype(words.dtype), dataset)
        if colours.itemsize > 1:
            colours = np.floor(colours * (255 / 65535) + 0.5).astype(np.uint8)
        levels = np.asarray(Image.fromarray(colours[np.newaxis, :, :3]).convert("L"))[0]
    else:
        levels = grey_levels(dataset, every)
    shown = np.empty(words.shape, np.uint8)
    for row, of_row in zip(shown, words, strict=True):  # one at a time: an index needs 8 bytes a pixel
        row[:] = levels[of_row]
    return shown


def _check_inflated(path: str | Path) -> None:
    """Refuse a deflated file that grows beyond `MAX_INFLATED`: pydicom inflates it whole before it reads a word."""
    with open(path, "rb") as file:
        read_preamble(file, force=True)
        meta = _read_file_meta_info(file)
        if meta.get("TransferSyntaxUID") != DeflatedExplicitVRLittleEndian:
            return
        unpack, left = zlib.decompressobj(-zlib.MAX_WBITS), MAX_INFLATED
        while left > 0 and not unpack.eof and (piece := unpack.unconsumed_tail or file.read(_PIECE)):
            left -= len(unpack.decompress(piece, _PIECE))
    if left <= 0:
        raise Refused(f"unpacked, it has more than {MAX_INFLATED} bytes: too large to read")


def _check_header(header: Dataset) -> None:
    if "Rows" not in header or "Columns" not in header:
        kind = header.get("SOPClassUID")
        raise Refused(f"DICOM without an image, or cut short ({kind.name if kind else 'no SOPClassUID'})")
    check_shape(int(header.Columns), int(header.Rows))
    if int(header.get("NumberOfFrames") or 1) > 1:
        raise Refused(SEVERAL_FRAMES)
    form, bits = header.get("PhotometricInterpretation"), header.get("BitsAllocated")
    if form not in KINDS:
        raise Refused(f"pixels of kind {form} cannot be read; allowed: {', '.join(KINDS)}")
    one = form in (*GREY, PALETTE)
    if bits not in ((1, 8, 16) if one else (8,)):
        raise Refused(f"{form} pixels of {bits} bits have no fixed range: save as 8 or 16 bits")
    samples, signed = header.get("SamplesPerPixel"), header.get("PixelRepresentation")
    if samples != (1 if one else 3) or (signed and form not in GREY):
        raise Refused(f"SamplesPerPixel {samples} and PixelRepresentation {signed} do not fit {form} pixels")
    used, high = header.get("BitsStored"), header.get("HighBit")
    if None in (used, high) or not 1 <= used <= high + 1 <= bits or (samples == 3 and used != 8):
        raise Refused(f"BitsStored {used} and HighBit {high} do not fit {form} pixels with BitsAllocated {bits}")


def _check_display(header: Dataset) -> None:
    """Refuse what changes grey values and is not read here, or contradicts what is."""
    shape, form = header.get("PresentationLUTShape"), header.PhotometricInterpretation
    if shape not in (None, "", "INVERSE" if form == "MONOCHROME1" else "IDENTITY"):  # PS3.3 C.7.6.3.1.2
        raise Refused(f"PresentationLUTShape {shape} contradicts {form}, so viewers differ: save it as PNG")
    if header.get("PixelPresentation") in ("COLOR", "MIXED"):
        raise Refused("PixelPresentation: its grey values stand for colours, which are not read: save it as PNG")
    groups = [item for name in FUNCTIONAL_GROUPS for item in header.get(name) or ()]
    found = {name for name in ELSEWHERE for part in (header, *groups) if part.get(name)}
    if found:
        raise Refused(f"{', '.join(sorted(found))} changes grey values, but cannot be read here: save it as PNG")


def _check_pixels(dataset: Dataset) -> None:
    if "FloatPixelData" in dataset or "DoubleFloatPixelData" in dataset:
        raise Refused("floating-point pixels have no fixed range: save as 8 or 16 bits")
    if "PixelData" not in dataset:
        raise Refused("no pixel data: the file is cut short, or only a header")
    if "TransferSyntaxUID" not in dataset.file_meta:  # files of old, which start with the data itself
        implicit, little_endian = dataset.original_encoding
        known = {True: pydicom.uid.ImplicitVRLittleEndian, False: pydicom.uid.ExplicitVRLittleEndian}
        uid = known[bool(implicit)] if little_endian else pydicom.uid.ExplicitVRBigEndian
        dataset.file_meta.TransferSyntaxUID = uid
    if dataset.file_meta.TransferSyntaxUID.is_compressed:
        _check_compressed(dataset)
        return
    samples = 2 if dataset.PhotometricInterpretation == "YBR_FULL_422" else dataset.SamplesPerPixel
    needed = math.ceil(dataset.Rows * dataset.Columns * samples * dataset.BitsAllocated / 8)
    if len(dataset.PixelData) < needed:
        raise Refused(f"truncated: {len(dataset.PixelData)} of {needed} bytes of pixels")


def _check_compressed(dataset: Dataset) -> None:
    """Refuse pictures that JPEG and its kin cannot hold as the file says.

    Their decoders give the lowest bits, whatever High Bit says. JPEG 2000 says its own bits: with fewer than the file
    uses it would be dark, and for more than it has room for the upper ones would be lost.
    """
    syntax = dataset.file_meta.TransferSyntaxUID
    if syntax != RLELossless and dataset.HighBit != dataset.BitsStored - 1:
        which = f"HighBit {dataset.HighBit}, BitsStored {dataset.BitsStored}"
        raise Refused(f"{which} contradict its picture, stored as {syntax.name}: save it as PNG")
    if syntax in JPEG2000TransferSyntaxes:
        bits = get_j2k_parameters(get_frame(dataset.PixelData, 0, number_of_frames=1)).get("precision")
        if bits is not None and not dataset.BitsStored <= bits <= dataset.BitsAllocated:
            stored = f"BitsStored {dataset.BitsStored} in BitsAllocated {dataset.BitsAllocated}"
            raise Refused(f"its JPEG 2000 picture of {bits} bits contradicts {stored}: save it as PNG")


def _decoded(dataset: Dataset) -> np.ndarray:
    try:
        return pixel_array(dataset, correct_unused_bits=False)  # that would look for the pixels in the lowest bits
    except RuntimeError as error:  # no decoder, or (NotImplementedError, which is one) none that can
        if "truncated" in str(error):
            raise
        kind, why = dataset.file_meta.TransferSyntaxUID.name, str(error).splitlines()[-1].strip()
        reason = f"stored as {kind}, which cannot be decoded here ({why}): save it uncompressed, or {DECODERS}"
        raise Refused(reason) from error


def pixel_spacing(path: str | Path) -> float:
    """Return the millimetres from row to row of a DICOM file: its Imager Pixel Spacing or else its Pixel Spacing.

    The same two in this order are what KNEEL reads; the first is measured at the detector.

    Raises:
        Refused: not a DICOM file, no such tag or none above 0.
    """
    tags = ["ImagerPixelSpacing", "PixelSpacing"]
    try:
        header = pydicom.dcmread(path, stop_before_pixels=True, specific_tags=tags)
        stated: Any = next((value for tag in tags if (value := header.get(tag))), 0.0)
        spacing = float(stated[0] if hasattr(stated, "__len__") else stated)
    except Exception as error:  # a decoder fed damaged bytes raises nearly anything
        raise Refused(f"its pixel spacing cannot be read, {ADVICE}: {error}") from error
    if not 0 < spacing < math.inf:
        raise Refused(f"it does not state its pixel spacing: {ADVICE}")
    return spacing
