"""Images to read back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

Save = Callable[..., Path]


@pytest.fixture
def saved(tmp_path: Path) -> Save:
    """Saves an image in a form that its name does not tell, and returns the file."""

    def save(image: Image.Image, **options: object) -> Path:
        path = tmp_path / "saved"
        image.save(path, **options)
        return path

    return save
