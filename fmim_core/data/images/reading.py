"""Reading an image file, whatever its mode, as one 8-bit image, grey or in colour, or saying why it cannot be used."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from fmim_core.data.images.limits import MAX_FILE_BYTES, SEVERAL_FRAMES, ImageProblem, Refused, check_shape
from fmim_core.records import other_than_file

READING = 2  # raised when a file may give other pixels than before, so that banks are decoded anew
NEARLY_BLACK = 26  # a tenth of the grey scale
VISIBLE = 16  # levels between the largest and the smallest of red, green and blue: more than JPEG adds to grey
LOOKED_AT = (256, 256)  # pixels, to find out if there are colours
MODES = {1: "L", 3: "RGB"}  # of Pillow, by channels
JPEGS = ("JPEG", "MPO")  # the second with more pictures after the first, as cameras and telephones write it
DRAWINGS = ("EPS", "WMF")
DICOM_EXTRA = "install what reads it with pip install 'fmim-studies[dicom]'"

_TIFF_BITS, _TIFF_PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0
_END = b"\xff\xd9"
_PICTURES = 0xB002  # of a multi-picture file: where each lies, the first first
_NOISE = np.random.default_rng(0).integers(0, 0xFF, 200, dtype=np.uint8).tobytes()  # never 0xFF, which marks
_RESTARTS = b"".join(b"\xff" + bytes([code]) + _NOISE for code in range(0xD0, 0xD8))
_PROBE = b"\0" + _NOISE + _RESTARTS  # the zero completes a 0xFF at which the data may have been cut


def read_image(path: str | Path, size: int | None = None, mirror: bool = False, channels: int = 1) -> np.ndarray:
    """Return the image of a file, uint8 `(H, W)`, or of 3 channels `(H, W, 3)`; mirrored left to right if asked.

    By a `size` it is made `square`. The format is found by content, not by name. Rules: 16-bit values v give
    round(255·v/65535), over the full range whatever bits are used (a TIFF that says 12 bits: round(255·v/4095)); in
    grey, colour, palette and CMYK give the luminance 0.299 R + 0.587 G + 0.114 B; in colour, grey gives three equal
    values; alpha is ignored; the EXIF orientation is applied, so that the picture stands as a viewer shows it; of a
    JPEG with several pictures the first is read. DICOM is grey, shown by the file's own attributes
    (`dicom.read_dicom`), if the extra is installed.

    Raises:
        ImageProblem: no such file, no regular file (a pipe is not opened), too large, empty, not an image, truncated,
            several frames, too small, too narrow, too many pixels (found before decoding), or pixels without a fixed
            range (floating-point, 32-bit).
    """
    try:
        with _open(path) as image:
            _decode(path, image)
            found = _in(channels, _eight_bits(image))
    except MemoryError:
        raise
    except Refused as refused:
        raise ImageProblem(path, refused) from refused
    except Exception as error:  # decoders fed damaged bytes raise nearly anything
        raise ImageProblem(path, _reason(path, error)) from error
    if mirror:
        found = found.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(found) if size is None else _square(found, size)


def square(image: np.ndarray, size: int, channels: int = 1) -> np.ndarray:
    """Return `image`, uint8 `(H, W)` or `(H, W, 3)`, as `(size, size)` or `(size, size, 3)` with its aspect kept.

    The longer side becomes `size` and the shorter one is scaled alike (rounded, at least 1 pixel), by Pillow's
    bilinear filter, which averages over the whole area when it shrinks. Black is then added on both sides of the
    shorter one, the odd pixel after it. Scaling first needs no more memory than the image, however narrow.
    """
    return _square(_in(channels, Image.fromarray(image)), size)


def has_colour(path: str | Path) -> bool:
    """Tell whether an image file is in colour: red, green and blue differ visibly in one pixel of 100.

    One that cannot be read is not, nor is a DICOM film. Most that are not are told by their mode, without decoding.
    """
    with suppress(Exception):  # decoders fed damaged bytes raise nearly anything
        if _is_dicom(path):
            return False
        with _open(path) as image:
            if Image.getmodebase(image.mode) == "L" or image.format in DRAWINGS:
                return False
            check_shape(*image.size)
            image.draft("RGB", LOOKED_AT)  # a large JPEG at half its side or less, in a fraction of the time
            few = _eight_bits(image).resize(LOOKED_AT, Image.Resampling.NEAREST)
            return bool((np.ptp(np.asarray(few), axis=2) > VISIBLE).mean() > 0.01)
    return False


def _square(image: Image.Image, size: int) -> np.ndarray:
    scale = size / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    if (width, height) != image.size:
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    pixels = np.asarray(image)
    result = np.zeros((size, size, *pixels.shape[2:]), np.uint8)
    top, left = (size - height) // 2, (size - width) // 2
    result[top : top + height, left : left + width] = pixels
    return result


def appearance(image: np.ndarray) -> str | None:
    """Return a remark on an image, uint8 `(H, W)` or `(H, W, 3)`, that was read but can hardly be meant, or None.

    "blank" where all pixels inside a black border differ by at most 2 levels; "nearly black" where 99 of 100
    pixels are below 26 of 255, as when 12-bit values were saved as 16-bit; "low-contrast" where 98 of 100
    are within 26 levels, as when a DICOM file uses a part of its range and has no window (of 1,252 real chest
    radiographs the flattest spans 63).
    """
    if image.ndim == 3:
        image = np.asarray(Image.fromarray(image).convert("L"))
    rows, columns = (np.flatnonzero(image.max(axis=side)) for side in (1, 0))
    if not rows.size:
        return "blank"
    inside = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]  # without the padding of `square`
    counts = np.array(Image.fromarray(inside).histogram())
    levels = np.flatnonzero(counts)
    if levels[-1] - levels[0] <= 2:
        return "blank"
    may_be = counts[:NEARLY_BLACK].sum() > int(0.99 * (inside.size - 1))  # spares most the percentile
    if may_be and np.percentile(inside, 99) < NEARLY_BLACK:
        return "nearly black"
    dark, light = np.searchsorted(counts.cumsum() / inside.size, (0.01, 0.99))
    return "low-contrast" if light - dark < NEARLY_BLACK else None


def _open(path: str | Path) -> Image.Image:
    """Open the file by Pillow, or a DICOM film as it is shown, which is decoded then."""
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise Refused("PIL.ImageFile.LOAD_TRUNCATED_IMAGES is on, so truncated files would be accepted: turn it off")
    if other := other_than_file(path):
        raise Refused(f"{other}, not an image file")
    if (size := os.path.getsize(path)) > MAX_FILE_BYTES:
        raise Refused(f"too large, not read: {size} bytes, at most {MAX_FILE_BYTES}")
    if not _is_dicom(path):
        return Image.open(path)
    try:
        from fmim_core.data.images.dicom import read_dicom
    except ModuleNotFoundError as error:
        if error.name != "pydicom":
            raise
        raise Refused(f"a DICOM file: {DICOM_EXTRA}") from None
    return Image.fromarray(read_dicom(path))


def _is_dicom(path: str | Path) -> bool:
    """Tell by the mark after 128 bytes or, for files of old without it, by a name that no content contradicts."""
    with open(path, "rb") as file:
        head = file.read(132)
    if head[128:] == b"DICM" or not head or Path(path).suffix.lower() not in (".dcm", ".dicom"):
        return head[128:] == b"DICM"
    try:
        with Image.open(path):
            return False
    except UnidentifiedImageError:
        return True


def _decode(path: str | Path, image: Image.Image) -> None:
    """Load the pixels as a viewer shows them; a truncated file must raise, never come back half grey.

    All of a JPEG is decoded. Pillow's `draft`, which decodes it at half the side or less, took half the time for images
    of 1024 px read at 280, but gave 1 pixel of 100 another value by more than 1 grey level, and some by 8.
    """
    check_shape(*image.size)
    if image.format in DRAWINGS:
        raise Refused(f"a drawing ({image.format}), which another program would have to draw: save it as PNG")
    if getattr(image, "is_animated", False) and image.format not in JPEGS:
        raise Refused(SEVERAL_FRAMES)
    image.load()
    if image.format in JPEGS and is_cut_short(path, image):
        raise Refused("truncated (the last part of the picture is missing)")
    ImageOps.exif_transpose(image, in_place=True)


def _in(channels: int, image: Image.Image) -> Image.Image:
    """Return an image of the modes L or RGB with so many channels; a copy would take a tenth of the time of reading."""
    mode = MODES[channels]
    return image if image.mode == mode else image.convert(mode)


def _eight_bits(image: Image.Image) -> Image.Image:
    """Return the image in mode L, or where it may have colours in RGB."""
    mode = image.mode
    if mode == "L":
        return image
    if mode in ("1", "LA"):
        return image.convert("L")
    if mode in ("P", "PA"):
        return image.convert("RGBA").convert("RGB")
    if mode in ("RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "HSV"):
        return image.convert("RGB")
    if not mode.startswith("I"):
        kind = "floating-point pixels" if mode == "F" else f"pixels of mode {mode}"
        raise Refused(f"{kind} have no fixed range: save as 8 or 16 bits")
    values, tags = np.asarray(image), getattr(image, "tag_v2", {})
    if values.min() < 0 or values.max() > 65535:
        raise Refused("32-bit values outside 0..65535 have no fixed range: save as 8 or 16 bits")
    white = 4095 if tags.get(_TIFF_BITS) == (12,) else 65535  # Pillow scales other formats that say how many they use
    grey = np.empty(values.shape, np.uint8)
    for top in range(0, len(values), 64):  # the whole at once takes twice the time, and 8 bytes a pixel
        strip = values[top : top + 64].astype(np.int32)
        grey[top : top + 64] = (strip * (255 * 2) + white) // (2 * white)
    # Pillow inverts a TIFF that stores white as 0 up to 8 bits and leaves 16 bits as they are.
    return Image.fromarray(255 - grey if tags.get(_TIFF_PHOTOMETRIC) == _WHITE_IS_ZERO else grey)


def _reason(path: str | Path, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, UnidentifiedImageError):
        if os.path.getsize(path) == 0:
            return "empty"
        return "not an image, or cut short (PNG, JPEG, TIFF, DICOM and the like are read)"
    if isinstance(error, (Image.DecompressionBombError, Image.DecompressionBombWarning)):
        return f"too many pixels, not decoded: {error}"
    if isinstance(error, EOFError) or "truncated" in str(error).lower():
        return f"truncated ({error})"
    return f"cannot be decoded ({error})"


def is_cut_short(path: str | Path, image: Image.Image) -> bool:
    """Tell whether the decoded JPEG `image` of the file lacks the end of its data, up to its last block.

    The decoder fills what is missing with mid-grey and says nothing, if only the file ends in an end marker, as
    repaired downloads do. It ignores what stands between complete data and that marker, and takes it as data where
    some is missing: so bytes are put there and the file is decoded once more. Only files that may have been cut
    pay for that: those whose last pixel is mid-grey, and progressive ones, which lose detail instead.
    """
    corner = np.asarray(image.crop((image.width - 1, image.height - 1, image.width, image.height)))
    if not (image.info.get("progressive") or np.isin(corner, (127, 128)).all()):  # 127: the inks of CMYK
        return False
    pictures = getattr(image, "mpinfo", {}).get(_PICTURES)
    content = Path(path).read_bytes()[: pictures[0]["Size"] or None if pictures else None]
    end = content.rfind(_END)
    with Image.open(io.BytesIO(content[:end] + _PROBE + content[end:])) as probed:
        return not np.array_equal(np.asarray(probed), np.asarray(image))
