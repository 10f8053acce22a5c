"""Users without a home directory, as containers have them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fmim.runner.backends.home import usable_home


@pytest.mark.parametrize("home", ["/dev/null/x", "/no/such/folder"])
def test_where_there_is_no_home_there_is_one_for_a_while(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", home)
    said: list[str] = []
    with usable_home(said.append):
        folder = Path.home()
        (folder / "file").write_text("")
    assert os.environ["HOME"] == home
    assert not folder.exists()
    (warning,) = said
    assert f"HOME ({home}) cannot be written to" in warning


def test_a_home_that_can_be_read_alone_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/self")  # not even root can write there
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    with usable_home(lambda text: None):
        assert os.environ["HOME"] == "/proc/self"
        assert Path(os.environ["MPLCONFIGDIR"]).is_dir()
    assert "MPLCONFIGDIR" not in os.environ


def test_a_home_of_ones_own_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said: list[str] = []
    with usable_home(said.append):
        assert Path.home() == tmp_path
    assert (said, list(tmp_path.iterdir())) == ([], [])
