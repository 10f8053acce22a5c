"""A damaged file of a study is named and set aside, the rest is used, and what is lost runs again."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from fmim.exit_codes import DONE
from fmim.runner.run_study import run_plan
from fmim_core.records import queries_path, record_path
from tests.support.comparison import comparable_records
from tests.support.mini_study import mini_plan, options_in

DAMAGES = {
    "triplet_grid.c00.fold0": b"",
    "triplet_grid.c01.fold1": b"\0" * 500,
    "adatriplet_automargin.c00.fold0": b"[]",
}


@pytest.mark.slow
def test_damaged_records_and_queries_are_set_aside_and_their_trials_run_again(tmp_path: Path) -> None:
    plan, options, out = mini_plan(epochs=1, replicates=1), options_in(tmp_path), tmp_path / "study"
    assert run_plan(plan, options, Console(quiet=True)) == DONE
    before = comparable_records(out)
    damages = {record_path(out, trial): content for trial, content in DAMAGES.items()}
    changed = record_path(out, "adatriplet_automargin.c00.fold1")
    damages[changed] = changed.read_bytes().replace(b'"mAP": 0.', b'"mAP": 0.1')  # a digit more
    queries = queries_path(out, "adatriplet_automargin.c00.seed0")
    flipped = bytearray(queries.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    damages[queries] = bytes(flipped)
    for path, content in damages.items():
        path.write_bytes(content)
    told = io.StringIO()
    assert run_plan(plan, options, Console(file=told, width=1000)) == DONE
    assert comparable_records(out) == before
    for path, content in damages.items():
        (aside,) = out.glob(f"records/{path.name}.damaged-*")
        assert aside.read_bytes() == content
        assert f"moved to {aside.name}, and its trial runs again" in told.getvalue()
