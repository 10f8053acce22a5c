"""Image files cut short: the whole picture or a refusal, whatever a decoder fills in."""

import numpy as np
import pytest
from PIL import Image

from fmim_core.data.images.reading import ImageProblem, read_grey
from tests.fmim_core.data.images.conftest import Save
from tests.support.radiographs import refusals


def noisy(mode: str, size: tuple[int, int] = (50, 37)) -> Image.Image:
    """Blurred noise, away from mid-grey."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(0).integers(0, 100, (*size[::-1], bands), dtype=np.uint8)
    return Image.fromarray(pixels.squeeze()).convert(mode)


FORMS = [
    ("L", {"format": "PNG"}),
    ("RGB", {"format": "JPEG"}),
    ("L", {"format": "JPEG", "progressive": True}),
    ("L", {"format": "TIFF"}),
    ("L", {"format": "TIFF", "compression": "tiff_lzw"}),
    ("RGB", {"format": "TIFF", "compression": "tiff_deflate"}),
    ("L", {"format": "BMP"}),
    ("L", {"format": "GIF"}),
    ("RGB", {"format": "WEBP"}),
    ("L", {"format": "JPEG2000"}),
    ("L", {"format": "PPM"}),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("mode", "options"), FORMS)
def test_a_file_cut_anywhere_is_the_whole_picture_or_refused(mode: str, options: dict, saved: Save) -> None:
    path = saved(noisy(mode), **options)
    assert refusals(path, path, times=40) >= 35  # a few bytes at the end may tell nothing of the picture


JPEGS = [
    ("L", {}),
    ("RGB", {}),
    ("RGB", {"subsampling": 0, "quality": 30}),
    ("CMYK", {}),
    ("L", {"restart_marker_blocks": 3}),
    ("RGB", {"restart_marker_rows": 1}),
    ("L", {"progressive": True}),
    ("RGB", {"progressive": True}),
]


@pytest.mark.parametrize(("mode", "options"), JPEGS)
def test_a_jpeg_cut_and_ended_anew_is_refused(mode: str, options: dict, saved: Save) -> None:
    """The decoder fills the rest with mid-grey and does not tell, if only an end marker follows."""
    path = saved(noisy(mode, (120, 90)), format="JPEG", **options)
    content = path.read_bytes()
    first = content.index(b"\xff\xda") + 20
    end = len(content) - 300  # the last block, whose loss is not seen, takes fewer bytes
    in_a_pair = content.rfind(b"\xff\0", first, end) + 1
    for cut in [*np.linspace(first, end, 25).astype(int), *([in_a_pair] if in_a_pair else [])]:
        path.write_bytes(content[:cut] + b"\xff\xd9")
        with pytest.raises(ImageProblem, match="truncated"):
            read_grey(path)


@pytest.mark.parametrize(("mode", "options"), JPEGS)
@pytest.mark.parametrize("after", [b"", b"\xff\xd9", b"a camera's notes \xff\xd8\xff\xd9"])
def test_a_whole_jpeg_whose_corner_is_mid_grey_is_read(mode: str, options: dict, after: bytes, saved: Save) -> None:
    image = noisy(mode, (64, 48))
    image.paste((128,) * len(image.getbands()), (20, 0, 64, 48))
    path = saved(image, **{"format": "JPEG", "quality": 100, **options})
    path.write_bytes(path.read_bytes() + after)
    with Image.open(path) as stored:
        np.testing.assert_array_equal(read_grey(path), np.asarray(stored.convert("RGB").convert("L")))
