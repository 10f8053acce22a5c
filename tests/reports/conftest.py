"""The OUT folder that tests of the report as a whole start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim_reports.build import build_report
from tests.support.factories import make_out
from tests.support.query_files import with_queries


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A finished study with the nine arms of `automargin_vs_grid` (see `factories`)."""
    return make_out(tmp_path / "out")


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with queries and its report, for tests that only read it: drawing the figures takes seconds."""
    out = with_queries(make_out(tmp_path_factory.mktemp("reported") / "out"))
    build_report(out)
    return out
