"""Finding JPEG files whose end is missing although they end as JPEG files do."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

_END = b"\xff\xd9"
_PICTURES = 0xB002  # of a multi-picture file: where each lies, the first first
_NOISE = np.random.default_rng(0).integers(0, 0xFF, 200, dtype=np.uint8).tobytes()  # never 0xFF, which marks
_RESTARTS = b"".join(b"\xff" + bytes([code]) + _NOISE for code in range(0xD0, 0xD8))
_PROBE = b"\0" + _NOISE + _RESTARTS  # the zero completes a 0xFF at which the data may have been cut


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
