"""The stress program's own machinery, and shortened forms of its scenarios."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.stress import __main__ as program
from tests.stress.outcome import Outcome


def test_every_outcome_is_kept_and_one_that_did_not_hold_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
        yield Outcome(f"one of {times}, seed {seed}", measured={"seconds": 2.0})
        yield Outcome("the second", "a record was lost", {"seconds": 4.0})
        raise RuntimeError("no such folder")

    def holds(times: int, seed: int, folder: Path) -> Iterator[Outcome]:
        (folder / "written").touch()
        yield Outcome("all")

    for name, attempts in {"breaks": breaks, "holds": holds}.items():
        monkeypatch.setitem(sys.modules, f"tests.stress.{name}", module := ModuleType(name))
        module.attempts, module.TIMES = attempts, 7
    monkeypatch.setattr(program, "SCENARIOS", ("breaks", "holds"))
    monkeypatch.setattr(sys, "argv", ["stress", "--json", str(tmp_path / "a.json"), "--keep", str(tmp_path)])
    assert program.main() == 1
    report = json.loads((tmp_path / "a.json").read_text())["scenarios"]
    assert [(outcome["what"], outcome["problem"]) for outcome in report["breaks"]] == [
        ("one of 7, seed 0", ""),
        ("the second", "a record was lost"),
        ("the scenario itself", "RuntimeError: no such folder"),
    ]
    assert [outcome["ok"] for outcome in report["holds"]] == [True]
    assert (tmp_path / "holds" / "written").exists()
    shown = capsys.readouterr().out
    assert "seconds: 2, 3, 4" in shown
    assert "a record was lost" in shown
    monkeypatch.setattr(sys, "argv", ["stress", "--only", "holds"])
    assert program.main() == 0
