"""Reading images: every file that real folders contain is read by a stated rule or refused by name."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from fmim_core.data.images.reading import ImageProblem, appearance, read_grey, square
from tests.fmim_core.data.images.conftest import Save
from tests.support.paths import ODD, ODD_2, needs_odd, needs_odd_2

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
    "extreme_aspect.png": "extreme aspect: 20000 x 3",
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
    image = read_grey(ODD / name)
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
        read_grey(ODD / name)
    assert caught.value.path == str(ODD / name)


@needs_odd
def test_odd_files_are_read_as_a_viewer_shows_them() -> None:
    """By content, not by name; turned as EXIF says; CMYK is inverse black where only black is printed."""
    stored = {name: np.asarray(Image.open(ODD / name)).astype(int) for name in ("whole.png", "exif_rotated.jpg")}
    for name in ("whole.png", "really_png.jpg", "名前 with space.png"):
        np.testing.assert_array_equal(read_grey(ODD / name), stored["whole.png"])
    np.testing.assert_array_equal(read_grey(ODD / "exif_rotated.jpg"), np.rot90(stored["exif_rotated.jpg"], -1))
    inks = np.asarray(Image.open(ODD / "cmyk.jpg")).astype(int)
    assert inks[..., :3].max() == 0
    assert np.abs(read_grey(ODD / "cmyk.jpg") - (255 - inks[..., 3])).max() <= 3


def test_sixteen_bits_are_scaled_to_the_nearest_level(saved: Save) -> None:
    values = np.array([[0, 128, 129, 13107, 65406, 65407, 65534, 65535]] * 8, np.uint16)
    expected = np.round(values.astype(float) * 255 / 65535).astype(np.uint8)
    for form in ("PNG", "TIFF"):
        np.testing.assert_array_equal(read_grey(saved(Image.fromarray(values), format=form)), expected)


def test_a_tiff_of_twelve_bits_is_scaled_by_its_own_range(tmp_path: Path) -> None:
    values = [0, 1, 8, 9, 2047, 2048, 4087, 4095]
    bits = int("".join(f"{value:012b}" for value in values), 2).to_bytes(12, "big")
    tags = [(256, 8), (257, 8), (258, 12), (259, 1), (262, 1), (273, 8), (277, 1), (278, 8), (279, 96)]
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    directory = struct.pack("<H", len(tags)) + entries + bytes(4)
    path = tmp_path / "twelve.tiff"
    path.write_bytes(b"II*\0" + struct.pack("<I", 8 + 96) + bits * 8 + directory)
    np.testing.assert_array_equal(read_grey(path), [[round(255 * value / 4095) for value in values]] * 8)


def test_tiff_with_white_as_zero_is_inverted_at_any_depth(saved: Save) -> None:
    white_is_zero = {"format": "TIFF", "tiffinfo": {262: 0}}
    levels = np.tile(np.array([0, 255], np.uint8), (4, 2))
    eight = Image.fromarray(levels)  # Pillow stores 255 for 0 here ...
    sixteen = Image.fromarray((255 - levels) * np.uint16(257))  # ... and here does not
    for image in (eight, sixteen):
        file = saved(image, **white_is_zero)
        with Image.open(file) as stored:
            assert stored.tag_v2[262] == 0
        np.testing.assert_array_equal(read_grey(file), levels)


def test_thirty_two_bits_without_a_range_are_refused(saved: Save) -> None:
    with pytest.raises(ImageProblem, match="32-bit values outside"):
        read_grey(saved(Image.fromarray(np.full((4, 4), 70_000, np.int32)), format="TIFF"))


def test_colour_is_luminance(saved: Save) -> None:
    pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [90, 90, 90]]] * 4, np.uint8)
    np.testing.assert_array_equal(read_grey(saved(Image.fromarray(pixels), format="PNG"))[0], [76, 150, 29, 90])


def test_what_is_no_file_is_named_and_never_opened(tmp_path: Path) -> None:
    """Opening a pipe waits for a writer for ever."""
    with pytest.raises(ImageProblem, match=r"none.png: no such file"):
        read_grey(tmp_path / "none.png")
    with pytest.raises(ImageProblem, match="a folder, not an image file"):
        read_grey(tmp_path)
    os.mkfifo(tmp_path / "pipe.dcm")
    (tmp_path / "zero.png").symlink_to("/dev/zero")
    with pytest.raises(ImageProblem, match=r"pipe\.dcm: a pipe \(FIFO\), not an image file"):
        read_grey(tmp_path / "pipe.dcm")
    with pytest.raises(ImageProblem, match=r"zero\.png: a device, not an image file"):
        read_grey(tmp_path / "zero.png")


def test_a_file_too_large_to_be_a_picture_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large.dcm").open("wb") as file:
        file.truncate(2**40)  # of which the disk holds nothing
    with pytest.raises(ImageProblem, match=r"large\.dcm: too large, not read: 1099511627776 bytes, at most 1073741824"):
        read_grey(tmp_path / "large.dcm")


def test_a_drawing_is_not_run(tmp_path: Path) -> None:
    """Pillow hands PostScript to Ghostscript."""
    (tmp_path / "a.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\nshowpage\n")
    with pytest.raises(ImageProblem, match=r"a\.png: a drawing \(EPS\)"):
        read_grey(tmp_path / "a.png")


def test_of_a_jpeg_with_several_pictures_the_first_is_read(tmp_path: Path) -> None:
    large, small = (Image.new("L", (side, side), 128) for side in (48, 16))  # mid-grey, as the end of a cut file
    large.paste(40, (0, 0, 24, 24))
    large.save(tmp_path / "one.jpg")
    large.save(tmp_path / "two.jpg", format="MPO", save_all=True, append_images=[small])
    with Image.open(tmp_path / "two.jpg") as image:
        assert image.n_frames == 2
    np.testing.assert_array_equal(read_grey(tmp_path / "two.jpg"), read_grey(tmp_path / "one.jpg"))
    content = (tmp_path / "two.jpg").read_bytes()
    scan = content.index(b"\xff\xda") + 12
    (tmp_path / "cut.jpg").write_bytes(content[: scan + 4] + b"\xff\xd9")  # and ended, as a repaired download
    with pytest.raises(ImageProblem, match="truncated"):
        read_grey(tmp_path / "cut.jpg")


@needs_odd_2
def test_a_telephones_picture() -> None:
    np.testing.assert_array_equal(read_grey(ODD_2 / "phone" / "phone.jpg"), read_grey(ODD_2 / "phone" / "plain.jpg"))


@needs_odd
def test_pillows_switches_set_elsewhere_let_nothing_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    with pytest.raises(ImageProblem, match="too many pixels, not decoded: 40000 x 40000, at most 89478485"):
        read_grey(ODD / "bomb.png")
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(ImageProblem, match="LOAD_TRUNCATED_IMAGES"):
        read_grey(ODD / "truncated.jpg")


@pytest.mark.parametrize("size", [None, 9, 16])
def test_mirroring_exchanges_left_and_right_before_scaling(saved: Save, size: int | None) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16), dtype=np.uint8)
    for stored in (pixels, pixels.astype(np.uint16) * 257):
        file = saved(Image.fromarray(stored), format="PNG")
        expected = pixels[:, ::-1] if size is None else square(pixels[:, ::-1], size)
        np.testing.assert_array_equal(read_grey(file, size, mirror=True), expected)
