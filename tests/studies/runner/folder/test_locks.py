"""A study's folder is used by one process at a time, who is named; a drive without locks is warned of."""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import re
from pathlib import Path

import pytest

from fmim.runner.folder.locks import locked


def test_who_holds_the_lock_is_told(tmp_path: Path) -> None:
    holder = rf"^process {os.getpid()} on {re.escape(platform.node())}, since 20.*Z, is running in .*: wait for it"
    with locked(tmp_path) as warning, pytest.raises(ValueError, match=holder), locked(tmp_path):
        pass
    assert warning == ""
    with locked(tmp_path):  # the next one may be shorter than this one, and leaves nothing of it
        assert (tmp_path / ".lock").read_text().count("\n") == 1


def test_a_lock_is_the_same_by_every_name_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    out.mkdir()
    link.symlink_to(out)
    monkeypatch.chdir(tmp_path)
    with locked(out):
        for spelling in (link, Path("out"), Path("link/../out"), tmp_path / "." / "link" / ".." / "out"):
            with pytest.raises(ValueError, match=f"^process {os.getpid()} on .* is running in"), locked(spelling):
                pass


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    (tmp_path / ".lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match=r"\.lock"), locked(tmp_path):
        pass
    assert (tmp_path / "mine").read_text() == ""


def test_a_file_system_without_locks_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a network drive answers; none can be mounted here."""

    def refuse(*given: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with locked(tmp_path) as warning:
        assert warning.startswith(f"{tmp_path} cannot be locked (No locks available): see to it that nobody else")
