"""The stress program's own machinery, and shortened forms of its scenarios."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from signal import SIGINT
from types import ModuleType

import pytest

from tests.stress import __main__ as program
from tests.stress import fuzz
from tests.stress.odd_inputs import Wrong, refuses
from tests.stress.outcome import Outcome
from tests.stress.signals import COMMANDS, IMPORTS, Interrupted


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


@pytest.mark.parametrize(
    ("kind", "inputs"), [("settings", 40), ("configurations", 60), ("documents", 25), ("command_lines", 25)]
)
def test_inputs_that_nobody_means_are_taken_as_given_or_refused(kind: str, inputs: int, tmp_path: Path) -> None:
    """A shortened form: `python -m tests.stress --only fuzz` has 10,000."""
    found = fuzz.batch(kind, inputs, 1, tmp_path)
    assert found.problem == ""
    assert 0 < found.measured["refused"] < found.measured["inputs"]


def test_ctrl_c_within_the_imports_ends_it_without_a_word(tmp_path: Path) -> None:
    """A shortened form: `python -m tests.stress --only signals` has every stage, and starts again."""
    one = Interrupted(tmp_path, COMMANDS["run"], "inline", None, Random(0), IMPORTS, (SIGINT,))
    what, problems, _ = one.interrupt(due=0)
    assert what.endswith(f"exit code {-SIGINT}")
    assert (problems, one.screen) == ([], "")


def test_the_guard_sees_what_it_is_there_for(tmp_path: Path) -> None:
    def foreign() -> None:
        json.loads("{")

    def ends() -> None:
        raise SystemExit(1)

    for call, problem in (
        ((tmp_path / "stray").touch, "written or gone"),
        (foreign, "a library's words"),
        (lambda: print("UserWarning: \x1b[31m"), "said 'UserWarning"),
        (lambda: print("\x1b[31m"), "a control character"),
        (ends, "exit code 1"),
    ):
        with pytest.raises(Wrong, match=problem):
            refuses(call, tmp_path)
