"""What the shell completes, asked as a shell does."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmim.commands.completion import complete_out, complete_study
from tests.support.program import Program


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("fmim st", {"status"}),
        ("fmim run automargin_vs", {"automargin_vs_grid", "automargin_vs_search"}),
        ("fmim plan x --preset q", {"quick"}),
        ("fmim run x --data ", {"phantom", "oai", "chestxray14", "table.csv", "studies/"}),
        ("fmim data check ph", {"phantom"}),
        ("fmim status s", {"studies/"}),
    ],
)
def test_names_are_completed(
    typed: str, expected: set[str], fmim_here: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "table.csv").touch()
    for name, value in {"_FMIM_COMPLETE": "complete_bash", "COMP_WORDS": typed}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    done = fmim_here(cwd=tmp_path)
    assert set(done.stdout.split()) >= expected


def test_paths_go_on_from_what_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / ".hidden").mkdir()
    (tmp_path / "runs" / "mine.py").touch()
    monkeypatch.chdir(tmp_path)
    assert complete_out("runs/m") == ["runs/mine/"]
    assert complete_out("nowhere/m") == []
    assert complete_study("runs/") == ["runs/mine.py", "runs/mine/"]
    assert complete_out(f"{tmp_path}/ru") == [f"{tmp_path}/runs/"]
