"""Names that the shell completes, asked as a shell does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.program import Program


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("fmim st", {"status"}),
        ("fmim run automargin_vs", {"automargin_vs_grid", "automargin_vs_search"}),
        ("fmim plan x --preset q", {"quick"}),
        ("fmim run x --data ", {"phantom", "oai", "chestxray14"}),
        ("fmim data check ph", {"phantom"}),
        ("fmim run my_st", set()),  # the shell completes files where there is no name
    ],
)
def test_names_are_completed(
    typed: str, expected: set[str], fmim_here: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_FMIM_COMPLETE": "complete_bash", "COMP_WORDS": typed}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    assert set(fmim_here(cwd=tmp_path).stdout.split()) == expected
