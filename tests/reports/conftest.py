"""The OUT folder that tests of the report as a whole start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.factories import make_out


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A finished study with the nine arms of `automargin_vs_grid` (see `factories`)."""
    return make_out(tmp_path / "out")
