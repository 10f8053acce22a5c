"""A shortened form of the fuzzed inputs: `python -m tests.stress --only fuzz` has 10,000."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.stress.fuzz import batch
from tests.stress.fuzz.guard import Input, Wrong, tried


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("configurations", 100),
        ("tables", 40),
        ("documents", 15),
        ("command_lines", 15),
    ],
)
def test_inputs_that_nobody_means_are_taken_as_given_or_refused(kind: str, inputs: int, tmp_path: Path) -> None:
    found = batch(kind, inputs, "1", tmp_path)
    assert found.problem == ""
    assert 0 < found.measured["refused"] < inputs


def test_the_guard_sees_what_it_is_there_for(tmp_path: Path) -> None:
    def stray() -> None:
        (tmp_path / "stray").touch()

    def foreign() -> None:
        json.loads("{")

    def wrong() -> None:
        raise Wrong("5 became 5.0")

    def loud() -> None:
        print("UserWarning: \x1b[31m")

    def ends() -> None:
        raise SystemExit(1)

    problems = [tried(Input("", call), tmp_path).problem for call in (stray, foreign, wrong, loud, ends)]
    assert problems[0].startswith("written or gone")
    assert problems[1].startswith("JSONDecodeError")
    assert problems[2].startswith("Wrong: 5 became 5.0")
    assert problems[3].startswith("said 'UserWarning")
    assert problems[4] == "exit code 1"
