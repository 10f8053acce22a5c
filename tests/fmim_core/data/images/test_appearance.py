"""What becomes of a picture that was read: made square, and told when it shows nothing."""

from collections import Counter

import numpy as np

from fmim_core.data.images.reading import appearance, square


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
    return "hardly any contrast" if light - dark < 26 else None


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
