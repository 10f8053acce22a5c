"""Reading images: every file that real folders contain is read by a stated rule or refused by name."""

import csv
import io
import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from fmim_core.data.images import ImageProblem, appearance, read_grey, square

ODD = Path(__file__).parents[1].parent / "shared" / "data" / "odd"
needs_odd = pytest.mark.skipif(not ODD.is_dir(), reason="no shared/data/odd beside the repository")

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


def saved(image: Image.Image, **options: object) -> io.BytesIO:
    file = io.BytesIO()
    image.save(file, **options)
    return file


@needs_odd
def test_every_odd_file_has_an_expectation() -> None:
    with (ODD / "expected.csv").open(encoding="utf-8") as file:
        assert {row["image"] for row in csv.DictReader(file)} == READ.keys() | REFUSED.keys()


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
@pytest.mark.parametrize("name", ["really_png.jpg", "名前 with space.png"])
def test_name_and_extension_do_not_matter(name: str) -> None:
    np.testing.assert_array_equal(read_grey(ODD / name), read_grey(ODD / "whole.png"))


@needs_odd
def test_cmyk_is_inverse_black_where_only_black_is_printed() -> None:
    with Image.open(ODD / "cmyk.jpg") as image:
        inks = np.asarray(image).astype(int)
    assert inks[..., :3].max() == 0
    assert np.abs(read_grey(ODD / "cmyk.jpg") - (255 - inks[..., 3])).max() <= 3


@needs_odd
def test_exif_orientation_is_applied() -> None:
    with Image.open(ODD / "exif_rotated.jpg") as image:
        stored = np.asarray(image)
    np.testing.assert_array_equal(read_grey(ODD / "exif_rotated.jpg"), np.rot90(stored, -1))


def test_sixteen_bits_are_scaled_to_the_nearest_level() -> None:
    values = np.array([[0, 128, 129, 13107, 65406, 65407, 65534, 65535]] * 8, np.uint16)
    expected = np.round(values.astype(float) * 255 / 65535).astype(np.uint8)
    for form in ("PNG", "TIFF"):
        np.testing.assert_array_equal(read_grey(saved(Image.fromarray(values), format=form)), expected)


def test_tiff_with_white_as_zero_is_inverted_at_any_depth() -> None:
    white_is_zero = {"format": "TIFF", "tiffinfo": {262: 0}}
    levels = np.tile(np.array([0, 255], np.uint8), (4, 2))
    eight = saved(Image.fromarray(levels), **white_is_zero)  # Pillow stores 255 for 0 here ...
    sixteen = saved(Image.fromarray((255 - levels) * np.uint16(257)), **white_is_zero)  # ... and here does not
    for file in (eight, sixteen):
        with Image.open(file) as image:
            assert image.tag_v2[262] == 0
        np.testing.assert_array_equal(read_grey(file), levels)


def test_thirty_two_bits_without_a_range_are_refused() -> None:
    with pytest.raises(ImageProblem, match="32-bit values outside"):
        read_grey(saved(Image.fromarray(np.full((4, 4), 70_000, np.int32)), format="TIFF"))


def test_colour_is_luminance() -> None:
    pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [90, 90, 90]]] * 4, np.uint8)
    np.testing.assert_array_equal(read_grey(saved(Image.fromarray(pixels), format="PNG"))[0], [76, 150, 29, 90])


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(ImageProblem, match=r"none.png: no such file"):
        read_grey(tmp_path / "none.png")
    with pytest.raises(ImageProblem, match="cannot be decoded"):
        read_grey(tmp_path)


@needs_odd
def test_switching_truncated_files_on_elsewhere_does_not_let_them_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(ImageProblem, match="LOAD_TRUNCATED_IMAGES"):
        read_grey(ODD / "truncated.jpg")


@needs_odd
def test_lifting_pillows_limit_elsewhere_does_not_let_a_bomb_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    with pytest.raises(ImageProblem, match="too many pixels, not decoded: 40000 x 40000, at most 89478485"):
        read_grey(ODD / "bomb.png")


@needs_odd
@pytest.mark.parametrize("cut", [1, 40, 500, 1500, 2500, 4000])
def test_a_file_cut_anywhere_is_whole_or_refused(cut: int, tmp_path: Path) -> None:
    content = (ODD / "whole.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(content[:cut])
    with pytest.raises(ImageProblem, match=r"cut\.png"):
        read_grey(tmp_path / "cut.png")


def test_square_pads_the_shorter_side_with_black() -> None:
    wide = np.full((2, 5), 9, np.uint8)
    np.testing.assert_array_equal(square(wide, 5), [[0] * 5, [9] * 5, [9] * 5, [0] * 5, [0] * 5])
    np.testing.assert_array_equal(square(wide.T, 5), square(wide, 5).T)


def test_square_keeps_an_image_that_fits_and_scales_one_that_does_not() -> None:
    image = np.random.default_rng(0).integers(0, 256, (16, 16), dtype=np.uint8)
    np.testing.assert_array_equal(square(image, 16), image)
    board = (np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8)
    assert np.abs(square(board, 8).astype(int) - 127).max() <= 1  # averaged, not sampled
    assert (square(np.full((3, 60), 200, np.uint8), 20) > 0).sum() == 20  # at least one line is left


def test_appearance_looks_inside_the_black_border() -> None:
    assert appearance(np.zeros((8, 8), np.uint8)) == "blank"
    assert appearance(square(np.full((10, 40), 77, np.uint8), 40)) == "blank"
    dark = np.full((40, 40), 20, np.uint8)
    dark[0, :10] = 255  # a bright letter does not make a dark film readable
    assert appearance(dark) == "nearly black"
    dark[0] = 255
    assert appearance(dark) is None


def slow_appearance(image: np.ndarray) -> str | None:
    """The definition, pixel by pixel."""
    bright = np.argwhere(image)
    if not len(bright):
        return "blank"
    (top, left), (bottom, right) = bright.min(axis=0), bright.max(axis=0)
    inside = image[top : bottom + 1, left : right + 1]
    if int(inside.max()) - int(inside.min()) <= 2:
        return "blank"
    return "nearly black" if np.percentile(inside, 99) < 26 else None


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


@pytest.mark.parametrize("size", [None, 9, 16])
def test_mirroring_exchanges_left_and_right_before_scaling(size: int | None) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16), dtype=np.uint8)
    for stored in (pixels, pixels.astype(np.uint16) * 257):
        file = saved(Image.fromarray(stored), format="PNG")
        expected = pixels[:, ::-1] if size is None else square(pixels[:, ::-1], size)
        np.testing.assert_array_equal(read_grey(file, size, mirror=True), expected)


def test_a_problem_survives_pickling() -> None:
    problem = pickle.loads(pickle.dumps(ImageProblem("a/b.png", "empty")))
    assert (problem.path, problem.reason, str(problem)) == ("a/b.png", "empty", "a/b.png: empty")
