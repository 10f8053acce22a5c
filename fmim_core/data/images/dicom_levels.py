"""The grey level of each stored value of a DICOM radiograph, by the file's own attributes.

pydicom has `apply_modality_lut`, `apply_voi` and `apply_windowing`. In 3.0 they look 12-bit values up wrongly in
tables of 8-bit entries, take what is no finite number for one, and do not round what they look up.
"""

from __future__ import annotations

import math

import numpy as np
from pydicom.dataset import Dataset
from pydicom.multival import MultiValue

from fmim_core.data.images.limits import Refused


def grey_levels(dataset: Dataset, words: np.ndarray) -> np.ndarray:
    """Return the grey level, uint8, of each of the `words` that a MONOCHROME file may store, as unsigned integers.

    Rules: the bits that are stored (Bits Stored up to High Bit, with their sign) are rescaled by the modality LUT, or
    by slope and intercept; the VOI LUT, or else the first window (LINEAR, LINEAR_EXACT or SIGMOID, PS3.3 C.11.2),
    gives the share of white from 0 to 1; without either, the full range of the stored bits is stretched over it. Grey
    is ⌊255 · share + 1/2⌋, and 255 less that for MONOCHROME1. Padding, one value or a range, is black in both.

    Raises:
        Refused: an attribute that is no finite number, or contradicts another.
    """
    stored = stored_values(dataset, words)
    with np.errstate(all="ignore"):  # what overflows is refused
        share = _share_of_white(dataset, stored)
    if not np.isfinite(share).all():
        raise Refused("rescaling and window give numbers that are not finite")
    levels = np.floor(255 * np.clip(share, 0, 1) + 0.5).astype(np.uint8)
    if dataset.PhotometricInterpretation == "MONOCHROME1":
        levels = 255 - levels
    levels[_is_padding(dataset, words, stored)] = 0
    return levels


def stored_values(dataset: Dataset, words: np.ndarray) -> np.ndarray:
    """Return the values in words of Bits Allocated: other bits, which may hold an overlay, are dropped."""
    values = (words >> (dataset.HighBit + 1 - dataset.BitsStored)) & (2**dataset.BitsStored - 1)
    return _signed(values, dataset.BitsStored) if dataset.PixelRepresentation else values


def _signed(values: np.ndarray, bits: int) -> np.ndarray:
    """Return numbers from 0 to 2^bits − 1 as their bits mean in two's complement."""
    return values - ((values >> (bits - 1)) << bits)


def _is_padding(dataset: Dataset, words: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Find the words that are background: PixelPaddingValue, or the range to its limit; PS3.3 C.7.5.1.1.2.

    A padding value that Bits Stored cannot hold is one of the whole word, as some scanners write it.
    """
    ends = [_number(dataset, f"PixelPadding{end}") for end in ("Value", "RangeLimit")]
    if ends[0] is None:
        return np.zeros(words.shape, np.bool_)
    given, bits = np.array([end for end in ends if end is not None], np.int64), dataset.BitsAllocated
    if dataset.PixelRepresentation:  # −2000 is also found as the unsigned 63536
        given, words = (_signed(values % 2**bits, bits) for values in (given, words))
    low, high = given.min(), given.max()
    return ((low <= stored) & (stored <= high)) | ((low <= words) & (words <= high))


def _looked_up(dataset: Dataset, sequence: str, values: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Look the values up in the first table of that sequence, if any; PS3.3 C.11.1.1.1.

    Values beside the table take its nearest entry. Returned with them is the largest that an entry may be.
    """
    item = next(iter(dataset.get(sequence) or ()), None)
    if item is None:
        return None
    if item.get("LUTDescriptor") is None or item.get("LUTData") is None:
        raise Refused(f"{sequence} lacks its LUTDescriptor or its LUTData")
    count, first, bits = (int(value) for value in item.LUTDescriptor)
    count = count % 65536 or 65536  # found as a signed number, too
    if dataset.PixelRepresentation and first >= 32768:
        first -= 65536  # and this as an unsigned one
    data = item.LUTData
    if isinstance(data, bytes):
        wide = len(data) >= 2 * count
        data = np.frombuffer(data, ("<u2" if dataset.original_encoding[1] else ">u2") if wide else np.uint8)
    entries = np.atleast_1d(data)[:count].astype(np.float64)
    if len(entries) < count or not 1 <= bits <= 16:
        raise Refused(f"{sequence} has {len(entries)} of {count} entries of {bits} bits")
    return entries[np.clip(np.rint(values) - first, 0, count - 1).astype(np.intp)], 2**bits - 1


def _share_of_white(dataset: Dataset, stored: np.ndarray) -> np.ndarray:
    """Return how white each stored value is shown, black being 0 and white 1 in MONOCHROME2, and beyond is clipped."""
    half = 2 ** (dataset.BitsStored - 1)
    ends = np.array([-half, half - 1] if dataset.PixelRepresentation else [0, 2 * half - 1])
    if modality := _looked_up(dataset, "ModalityLUTSequence", stored):
        values, ends = modality[0], np.array([0, modality[1]])
    else:
        slope, intercept = (_number(dataset, f"Rescale{name}") for name in ("Slope", "Intercept"))
        slope, intercept = 1.0 if slope is None else slope, intercept or 0.0
        if slope == 0:
            raise Refused("RescaleSlope is 0: every pixel would be the same")
        values, ends = slope * stored + intercept, np.sort(slope * ends + intercept)
    if voi := _looked_up(dataset, "VOILUTSequence", values):
        return voi[0] / voi[1]
    centre, width = (_number(dataset, f"Window{name}") for name in ("Center", "Width"))
    if centre is not None and width is not None:
        return _window(values, centre, width, dataset.get("VOILUTFunction") or "LINEAR")
    if centre is not None or width is not None:
        raise Refused(f"its window lacks a part: WindowCenter {centre}, WindowWidth {width}")
    return (values - ends[0]) / (ends[1] - ends[0])


def _window(values: np.ndarray, centre: float, width: float, function: str) -> np.ndarray:
    """Return the share of white that a window gives; PS3.3 C.11.2.1.2 and C.11.2.1.3."""
    if width < 1 if function == "LINEAR" else width <= 0:
        raise Refused(f"WindowWidth {width:g} is too small for the window {function}")
    if function == "SIGMOID":
        return 1 / (1 + np.exp(np.clip(-4 * (values - centre) / width, -700, 700)))
    if function == "LINEAR":
        centre, width = centre - 0.5, width - 1
    elif function != "LINEAR_EXACT":
        raise Refused(f"VOILUTFunction {function} is unknown; allowed: LINEAR, LINEAR_EXACT, SIGMOID")
    return (values - centre) / width + 0.5 if width else (values > centre).astype(np.float64)


def _number(dataset: Dataset, name: str) -> float | None:
    """Return the element's number, its first where it has several, None where it is missing or blank."""
    try:
        element = dataset.get(name)
        if isinstance(element, MultiValue):
            element = element[0] if element else None
        number = None if element is None or element == "" else float(element)
    except (ValueError, TypeError) as error:  # pydicom converts a text when it is asked for
        raise Refused(f"{name} is not a number ({error}): correct it, or save the picture as PNG") from None
    if number is not None and not math.isfinite(number):
        raise Refused(f"{name} is {number}, which is not finite: correct it, or save the picture as PNG")
    return number
