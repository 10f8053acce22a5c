"""What needs no training answers at once: lists, help, status and errors of usage import nothing that takes seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from fmim.cli import app
from fmim.runner.ending.exit_codes import BAD_INPUT, DONE
from tests.benchmarks.programs import programs
from tests.support.factories import make_out
from tests.support.imports import imports_of
from tests.support.paths import ROOT

TRAINING = {"torch", "torchvision", "ray", "mlflow", "optuna", "matplotlib"}
TABLES = {"pandas", "scipy"}
STUDY = "automargin_vs_grid"
Command = tuple[str, ...]

# One process for many commands, since most of the time of each is Python's own start: what the first of them imported
# is there for the others, so that only a package that none imported is surely none of theirs.
CALLED_IN_TURN = """
import json, sys
from fmim.cli import main
results = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["fmim", *arguments]
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    results.append([code, sorted(name for name in sys.modules if "." not in name)])
sys.__stdout__.write("\\n" + json.dumps(results))
"""


def called(commands: list[Command], folder: Path) -> list[tuple[Command, int, set[str]]]:
    """Each command in turn, with its exit code and those of the slow packages that are imported after it."""
    done = subprocess.run(
        [sys.executable, "-c", CALLED_IN_TURN, json.dumps(commands)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    return [
        (command, code, set(modules) & (TRAINING | TABLES))
        for command, (code, modules) in zip(commands, results, strict=True)
    ]


def every_command(group: typer.Typer = app, before: Command = ()) -> Iterator[Command]:
    """The program, its commands and theirs."""
    yield before
    for command in group.registered_commands:
        assert command.callback is not None
        yield (*before, command.name or command.callback.__name__)
    for sub in group.registered_groups:
        assert sub.typer_instance is not None
        yield from every_command(sub.typer_instance, (*before, str(sub.name)))


def test_what_reads_no_data_imports_no_package_that_takes_seconds(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    expected = {(*command, "--help"): DONE for command in every_command()}
    expected |= {("list",): DONE, ("--version",): DONE, ("status", str(make_out(tmp_path / "out"))): DONE}
    wrong: list[Command] = [
        ("--nothing",),
        ("run",),
        ("run", STUDY, "--espilon", "0.1"),
        ("run", STUDY, "--epochs", "0"),
        ("status", "nowhere"),
        ("report", "nowhere"),
        ("compare", "nowhere", "nowhere"),
        ("overview", "nowhere"),
        ("ui", "nowhere"),
        ("mirror", "nowhere"),
        ("embed", "nowhere", "t.csv", "--arm", "a", "--to", "e.csv"),
        ("match", "nowhere", "q.png", "--arm", "a", "--gallery", "t.csv"),
        ("data", "nothing"),
    ]
    expected |= dict.fromkeys(wrong, BAD_INPUT)
    for command, code, imported in called(list(expected), tmp_path / "here"):
        assert (command, code, imported) == (command, expected[command], set())
    assert list((tmp_path / "here").iterdir()) == []


def test_an_error_of_usage_is_told_before_torch_is_imported(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    out = str(make_out(tmp_path / "out", arms=["triplet_grid"]))
    commands: list[Command] = [
        ("nothing",),
        ("plan", "nothing"),
        (STUDY, "--preset", "nothing"),
        (STUDY, "--dry-run", "--data", "nothing.csv"),
        (STUDY, "--data", "chestxray14"),
        ("plan", STUDY, "--calibrate", "--data", "oai", "--data-root", "nowhere"),
        (STUDY, "--tracking-uri", "./mlruns"),
        (STUDY, "--backend", "inline", "--address", "auto"),
        ("baselines", "--selected", "nowhere"),
        (STUDY, "--out", str(ROOT / "README.md")),
        ("plan", STUDY, "--out", str(ROOT)),
        ("data", "describe", "nothing.csv"),
        ("data", "check", "phantom", "--preset", "nothing"),
        ("data", "prepare", "chestxray14"),
        ("data", "manifest", "nothing", "--data-root", ".", "--out", "new.csv"),
        ("embed", out, "t.csv", "--arm", "triplet_grdi", "--to", "e.csv"),
        ("embed", out, "t.csv", "--arm", "triplet_grid", "--seed", "9", "--to", "e.csv"),
        ("embed", out, "t.csv", "--arm", "triplet_grid", "--to", "e.csv"),
        ("match", out, "q.png", "--arm", "triplet_grid", "--gallery", "t.csv"),
    ]
    for command, code, imported in called(commands, tmp_path / "here"):
        assert (command, code, imported & TRAINING) == (command, BAD_INPUT, set())
    assert list((tmp_path / "here").iterdir()) == []


def test_what_must_begin_at_once_imports_nothing_that_takes_long(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=["triplet_grid"])
    for name, (arguments, unwanted) in programs(out).items():
        imported = set(imports_of(arguments, tmp_path))
        assert (name, imported & unwanted) == (name, set())
        assert "pydantic" in imported
