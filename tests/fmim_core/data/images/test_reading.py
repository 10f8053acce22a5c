"""Reading images: every file that real folders contain is read by a stated rule or refused by name."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from fmim_core.data.images.reading import ImageProblem, appearance, read_image, square
from tests.support.paths import ODD, ODD_2, needs_odd, needs_odd_2
from tests.support.radiographs import refusals

Save = Callable[..., Path]


@pytest.fixture
def saved(tmp_path: Path) -> Save:
    """Saves an image in a form that its name does not tell, and returns the file."""

    def save(image: Image.Image, **options: object) -> Path:
        path = tmp_path / "saved"
        image.save(path, **options)
        return path

    return save


SIXTEEN = [0, 51, 102, 153, 204, 255]
RAMP = [0, 32, 64, 96, 128, 160, 192, 224]

READ = {  # file: each row of its image, or None where another test compares it with whole.png
    "grey16.png": SIXTEEN,
    "grey16_only_12_bits_used.png": [0, 3, 6, 10, 13, 16],
    "rgba_transparent.png": [100] * 8,
    "rgba_half.png": [100] * 8,
    "palette.png": RAMP,
    "grey_alpha.png": RAMP,
    "one_bit.png": [0, 255] * 4,
    "blank.png": [255] * 64,
    "whole.png": None,
    "cmyk.jpg": None,
    "really_png.jpg": None,
    "exif_rotated.jpg": None,
    "名前 with space.png": None,
}
REFUSED = {
    "truncated.png": "truncated",
    "truncated.jpg": "truncated",
    "empty.png": "empty",
    "text.png": "not an image",
    "one_pixel.png": "too small: 1 x 1",
    "extreme_aspect.png": "too narrow: 20000 x 3",
    "animated.gif": "several frames",
    "float32.tiff": "floating-point",
    "bomb.png": "too many pixels, not decoded: .*1600000000",
}
REMARKS = {
    "grey16_only_12_bits_used.png": "nearly black",
    "rgba_transparent.png": "blank",
    "rgba_half.png": "blank",
    "blank.png": "blank",
}


@needs_odd
@pytest.mark.parametrize("name", READ)
def test_odd_file_is_read(name: str) -> None:
    image = read_image(ODD / name)
    assert image.dtype == np.uint8
    assert appearance(image) == REMARKS.get(name)
    if READ[name] is None:
        assert image.shape == (64, 64)
    else:
        np.testing.assert_array_equal(image, np.tile(READ[name], (len(image), 1)))


@needs_odd
@pytest.mark.parametrize("name", REFUSED)
def test_odd_file_is_refused_by_name(name: str) -> None:
    with pytest.raises(ImageProblem, match=f"{name}: {REFUSED[name]}") as caught:
        read_image(ODD / name)
    assert caught.value.path == str(ODD / name)


@needs_odd
@needs_odd_2
def test_odd_files_are_read_as_a_viewer_shows_them() -> None:
    """By content, not name; turned as EXIF says; CMYK is inverse black where only black is printed."""
    stored = {name: np.asarray(Image.open(ODD / name)).astype(int) for name in ("whole.png", "exif_rotated.jpg")}
    for name in ("whole.png", "really_png.jpg", "名前 with space.png"):
        np.testing.assert_array_equal(read_image(ODD / name), stored["whole.png"])
    np.testing.assert_array_equal(read_image(ODD / "exif_rotated.jpg"), np.rot90(stored["exif_rotated.jpg"], -1))
    inks = np.asarray(Image.open(ODD / "cmyk.jpg")).astype(int)
    assert inks[..., :3].max() == 0
    assert np.abs(read_image(ODD / "cmyk.jpg") - (255 - inks[..., 3])).max() <= 3
    np.testing.assert_array_equal(read_image(ODD_2 / "phone" / "phone.jpg"), read_image(ODD_2 / "phone" / "plain.jpg"))


def test_sixteen_bits_are_scaled_to_the_nearest_level_and_colour_is_luminance(saved: Save) -> None:
    values = np.array([[0, 128, 129, 13107, 65406, 65407, 65534, 65535]] * 8, np.uint16)
    expected = np.round(values.astype(float) * 255 / 65535).astype(np.uint8)
    for form in ("PNG", "TIFF"):
        np.testing.assert_array_equal(read_image(saved(Image.fromarray(values), format=form)), expected)
    with pytest.raises(ImageProblem, match="32-bit values outside"):
        read_image(saved(Image.fromarray(np.full((4, 4), 70_000, np.int32)), format="TIFF"))
    pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [90, 90, 90]]] * 4, np.uint8)
    np.testing.assert_array_equal(read_image(saved(Image.fromarray(pixels), format="PNG"))[0], [76, 150, 29, 90])


def test_a_tiff_of_twelve_bits_is_scaled_by_its_own_range(tmp_path: Path) -> None:
    values = [0, 1, 8, 9, 2047, 2048, 4087, 4095]
    bits = int("".join(f"{value:012b}" for value in values), 2).to_bytes(12, "big")
    tags = [(256, 8), (257, 8), (258, 12), (259, 1), (262, 1), (273, 8), (277, 1), (278, 8), (279, 96)]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    path = tmp_path / "twelve.tiff"
    path.write_bytes(b"II*\0" + struct.pack("<I", 8 + 96) + bits * 8 + directory)
    np.testing.assert_array_equal(read_image(path), [[round(255 * value / 4095) for value in values]] * 8)


def test_tiff_with_white_as_zero_is_inverted_at_any_depth(saved: Save) -> None:
    white_is_zero = {"format": "TIFF", "tiffinfo": {262: 0}}
    levels = np.tile(np.array([0, 255], np.uint8), (4, 2))
    eight = Image.fromarray(levels)  # Pillow stores 255 for 0 here ...
    sixteen = Image.fromarray((255 - levels) * np.uint16(257))  # ... and here does not
    for image in (eight, sixteen):
        file = saved(image, **white_is_zero)
        with Image.open(file) as stored:
            assert stored.tag_v2[262] == 0
        np.testing.assert_array_equal(read_image(file), levels)


def test_what_is_no_picture_is_named_and_never_opened_nor_run(tmp_path: Path) -> None:
    """Opening a pipe waits for a writer for ever; Pillow hands PostScript to Ghostscript."""
    with pytest.raises(ImageProblem, match=r"none.png: no such file"):
        read_image(tmp_path / "none.png")
    with pytest.raises(ImageProblem, match="a folder, not an image file"):
        read_image(tmp_path)
    os.mkfifo(tmp_path / "pipe.dcm")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    with pytest.raises(ImageProblem, match=r"pipe\.dcm: a pipe \(FIFO\), not an image file"):
        read_image(tmp_path / "pipe.dcm")
    with pytest.raises(ImageProblem, match=r"zero\.png: a device, not an image file"):
        read_image(tmp_path / "zero.png")
    with (tmp_path / "large.dcm").open("wb") as file:
        file.truncate(2**40)  # of which the disk holds nothing
    with pytest.raises(ImageProblem, match=r"large\.dcm: too large, not read: 1099511627776 bytes, at most 1073741824"):
        read_image(tmp_path / "large.dcm")
    (tmp_path / "a.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n")
    with pytest.raises(ImageProblem, match=r"a\.png: a drawing \(EPS\)"):
        read_image(tmp_path / "a.png")


def test_of_a_jpeg_with_several_pictures_the_first_is_read(tmp_path: Path) -> None:
    large, small = (Image.new("L", (side, side), 128) for side in (48, 16))  # mid-grey, as the end of a cut file
    large.paste(40, (0, 0, 24, 24))
    large.save(tmp_path / "one.jpg")
    large.save(tmp_path / "two.jpg", format="MPO", save_all=True, append_images=[small])
    with Image.open(tmp_path / "two.jpg") as image:
        assert image.n_frames == 2
    np.testing.assert_array_equal(read_image(tmp_path / "two.jpg"), read_image(tmp_path / "one.jpg"))
    content = (tmp_path / "two.jpg").read_bytes()
    scan = content.index(b"\xff\xda") + 12
    (tmp_path / "cut.jpg").write_bytes(content[: scan + 4] + b"\xff\xd9")  # and ended, as a repaired download
    with pytest.raises(ImageProblem, match="truncated"):
        read_image(tmp_path / "cut.jpg")


@needs_odd
def test_pillows_switches_set_elsewhere_let_nothing_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    with pytest.raises(ImageProblem, match="too many pixels, not decoded: 40000 x 40000, at most 89478485"):
        read_image(ODD / "bomb.png")
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(ImageProblem, match="LOAD_TRUNCATED_IMAGES"):
        read_image(ODD / "truncated.jpg")


@pytest.mark.parametrize("size", [None, 9, 16])
def test_mirroring_exchanges_left_and_right_before_scaling(saved: Save, size: int | None) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16), dtype=np.uint8)
    for stored in (pixels, pixels.astype(np.uint16) * 257):
        file = saved(Image.fromarray(stored), format="PNG")
        expected = pixels[:, ::-1] if size is None else square(pixels[:, ::-1], size)
        np.testing.assert_array_equal(read_image(file, size, mirror=True), expected)


def test_square_pads_the_shorter_side_with_black_and_scales_what_does_not_fit() -> None:
    wide = np.full((2, 5), 9, np.uint8)
    np.testing.assert_array_equal(square(wide, 5), [[0] * 5, [9] * 5, [9] * 5, [0] * 5, [0] * 5])
    np.testing.assert_array_equal(square(wide.T, 5), square(wide, 5).T)
    image = np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)
    np.testing.assert_array_equal(square(image, 16), image)
    board = (np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8)
    assert np.abs(square(board, 8).astype(int) - 127).max() <= 1  # averaged, not sampled
    assert (square(np.full((3, 60), 200, np.uint8), 20) > 0).sum() == 20  # at least one line is left


def slow_appearance(image: np.ndarray) -> str | None:
    """The definition, pixel by pixel."""
    bright = np.argwhere(image)
    if not len(bright):
        return "blank"
    (top, left), (bottom, right) = bright.min(axis=0), bright.max(axis=0)
    inside = image[top : bottom + 1, left : right + 1]
    if int(inside.max()) - int(inside.min()) <= 2:
        return "blank"
    if np.percentile(inside, 99) < 26:
        return "nearly black"
    dark, light = (next(v for v in range(256) if (inside <= v).mean() >= share) for share in (0.01, 0.99))
    return "low-contrast" if light - dark < 26 else None


def test_appearance_is_that_of_the_definition_for_any_image() -> None:
    rng = np.random.default_rng(0)
    seen = Counter[str | None]()
    for _ in range(3000):
        height, width = rng.integers(1, 24, 2)
        dark = rng.integers(0, 27, (height, width))
        image = np.where(
            rng.random((height, width)) < rng.choice([0, 0.005, 0.01, 0.02, 1]), rng.integers(26, 255), dark
        )
        image[: rng.integers(0, height), rng.integers(0, width) :] = rng.choice([0, 1, 25])
        image = image.astype(np.uint8)
        assert appearance(image) == slow_appearance(image)
        seen[appearance(image)] += 1
    assert min(seen["blank"], seen["nearly black"], seen[None]) > 100


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
            read_image(path)


@pytest.mark.parametrize(("mode", "options"), JPEGS)
@pytest.mark.parametrize("after", [b"", b"\xff\xd9", b"a camera's notes \xff\xd8\xff\xd9"])
def test_a_whole_jpeg_whose_corner_is_mid_grey_is_read(mode: str, options: dict, after: bytes, saved: Save) -> None:
    image = noisy(mode, (64, 48))
    image.paste((128,) * len(image.getbands()), (20, 0, 64, 48))
    path = saved(image, **{"format": "JPEG", "quality": 100, **options})
    path.write_bytes(path.read_bytes() + after)
    with Image.open(path) as stored:
        np.testing.assert_array_equal(read_image(path), np.asarray(stored.convert("RGB").convert("L")))
