"""A manifest of what is there says only what it may: links that lead out of its folder are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from fmim_core.data.sets.base import manifest_of
from tests.support import manifests


def test_images_behind_a_link_out_of_the_folder_are_not_listed(tmp_path: Path) -> None:
    disk, folder = tmp_path / "disk", tmp_path / "folder"
    disk.mkdir()
    folder.mkdir()
    for name in "abcde":
        Image.new("L", (8, 8)).save(disk / f"{name}.png")
    (folder / "x").symlink_to(disk)
    listing = manifests.manifest_of(folder, manifests.GOOD)
    with pytest.raises(
        ValueError, match=r"5 images \(e\.g\. \.\./disk/a\.png\) are not inside .*folder, .* through links"
    ):
        manifest_of(listing, folder)
    text, count = manifest_of(listing, tmp_path)
    assert count == 5
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == [f"disk/{name}.png" for name in "abcde"]
