"""The images that a manifest names."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the images of `manifests.GOOD`, each with a bright left column."""
    (tmp_path / "x").mkdir()
    for name in "abcde":
        pixels = np.full((8, 8), 50, np.uint8)
        pixels[:, 0] = 250
        Image.fromarray(pixels).save(tmp_path / "x" / f"{name}.png")
    return tmp_path
