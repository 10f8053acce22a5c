"""The OUT folder that tests of costs start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.factories import SPACES, make_out

TRIPLET = [arm for arm in SPACES if arm.startswith("triplet")]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The five arms with the triplet loss: N_s 1, 1, 4, 4 and 2; every trial takes 12 s, 6 epochs and 8064 images."""
    return make_out(tmp_path / "out", arms=TRIPLET)
