"""Colour: which files have some, banks of three channels, and that grey ones stay what they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank, development_index
from fmim_core.data.images.reading import has_colour, read_image, square
from fmim_core.data.sets.base import FileSource, Listing
from fmim_core.data.sets.manifest import manifest
from tests.support.classes import SIDE, coloured_table, thing
from tests.support.manifests import picture


def messages(listing: Listing) -> list[tuple[str, str]]:
    return [(one.severity, one.what) for one in listing.findings if "colour" in one.what]


def test_a_file_is_in_colour_if_that_can_be_seen_whatever_its_mode(tmp_path: Path) -> None:
    colour, grey = Image.fromarray(thing(0, 0)), Image.fromarray(picture(0, 60, 60))
    speck = np.asarray(grey.convert("RGB")).copy()
    speck[:4, :4] = (255, 0, 0)  # 16 of 3600 pixels
    saved = {
        "colour.png": (colour, True),
        "colour.jpg": (colour, True),
        "palette.png": (colour.quantize(16), True),
        "inks.jpg": (colour.convert("CMYK"), True),
        "alpha.png": (colour.convert("RGBA"), True),
        "grey.png": (grey, False),
        "as_rgb.png": (grey.convert("RGB"), False),
        "as_rgb.jpg": (grey.convert("RGB"), False),
        "speck.png": (Image.fromarray(speck), False),
        "deep.png": (Image.fromarray(np.full((8, 8), 9, np.uint16)), False),
    }
    for name, (image, _) in saved.items():
        image.save(tmp_path / name)
    (tmp_path / "broken.png").write_bytes(b"none")
    assert {name: has_colour(tmp_path / name) for name in saved} == {name: found for name, (_, found) in saved.items()}
    assert not has_colour(tmp_path / "broken.png")
    np.testing.assert_array_equal(read_image(tmp_path / "colour.png", channels=3), thing(0, 0))
    np.testing.assert_array_equal(read_image(tmp_path / "colour.png"), np.asarray(colour.convert("L")))
    np.testing.assert_array_equal(read_image(tmp_path / "grey.png", channels=3), np.asarray(grey.convert("RGB")))
    narrow = square(thing(0, 0)[:, :12], 16, channels=3)
    assert (narrow.shape, narrow[:, :4].max(), narrow[:, 12:].max()) == ((16, 16, 3), 0, 0)
    np.testing.assert_array_equal(narrow[:, 4:12], np.asarray(colour.crop((0, 0, 12, SIDE)).resize((8, 16), 2)))


def test_a_table_is_read_as_its_files_are_unless_it_says_otherwise(tmp_path: Path) -> None:
    path = coloured_table(tmp_path / "d")
    found = manifest(path)
    assert messages(found) == [("note", "all images are read in colour, because some are in colour")]
    assert found.description.training == {"model.channels": 3}
    source = FileSource(found)
    assert development_index(source, SIDE).images.shape == (0, SIDE, SIDE, 3)
    bank = build_bank(source, SIDE, tmp_path / "banks")
    assert Bank.open(bank.path).images.shape == (48, SIDE, SIDE, 3)
    np.testing.assert_array_equal(bank.images[5], thing(1, 1))
    (path.parent / "things.toml").write_text("channels = 3")
    assert (messages(manifest(path)), FileSource(manifest(path)).fingerprint) == ([], source.fingerprint)
    (path.parent / "things.toml").write_text("channels = 1")
    grey = manifest(path)
    assert messages(grey) == [("warning", "all images are read in grey (channels = 1), but some are in colour")]
    assert (grey.description.training, grey.loses_colour(0), found.loses_colour(0)) == ({}, True, False)
    other = build_bank(FileSource(grey), SIDE, tmp_path / "banks")
    assert (other.images.shape, other.path != bank.path) == ((48, SIDE, SIDE), True)
    np.testing.assert_array_equal(other.images[5], np.asarray(Image.fromarray(thing(1, 1)).convert("L")))
    assert manifest(path, metadata_only=True).description.channels == 1


def test_one_file_in_colour_among_grey_ones_is_enough(tmp_path: Path) -> None:
    path = coloured_table(tmp_path)
    files = sorted(tmp_path.glob("*.png"))
    for file in files:
        Image.fromarray(thing(0, 0)).convert("L").save(file)
    assert (manifest(path).description.channels, messages(manifest(path))) == (1, [])
    Image.fromarray(thing(0, 0)).save(files[29])
    assert manifest(path).description.channels == 3


def test_a_build_in_colour_that_was_stopped_goes_on_and_takes_nothing_from_a_grey_one(tmp_path: Path) -> None:
    path = coloured_table(tmp_path / "d", settings="channels = 1")
    broken = path.parent / "07_3.png"
    whole = broken.read_bytes()
    broken.write_bytes(b"none")
    for settings in ("channels = 1", "channels = 3"):
        (path.parent / "things.toml").write_text(settings)
        with pytest.raises(ValueError, match="1 of 48 images cannot be used"):
            build_bank(FileSource(manifest(path)), SIDE, tmp_path / "banks")
    broken.write_bytes(whole)
    bank = build_bank(FileSource(manifest(path)), SIDE, tmp_path / "banks")
    elsewhere = build_bank(FileSource(manifest(path)), SIDE, tmp_path / "others")
    assert bank.fingerprint == elsewhere.fingerprint
    np.testing.assert_array_equal(bank.images[31], thing(7, 3))
