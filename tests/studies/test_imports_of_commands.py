"""What needs no training answers at once: lists, help, status and errors of usage import nothing that takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from fmim.cli import app
from fmim.exit_codes import BAD_INPUT, DONE
from tests.support.factories import make_out
from tests.support.paths import ROOT
from tests.support.program import fmim

TRAINING = {"torch", "torchvision", "ray", "mlflow", "optuna", "matplotlib", "seaborn"}
TABLES = {"pandas", "scipy"}
STUDY = "automargin_vs_grid"


def heavy_imports(arguments: tuple[str, ...], folder: Path, exit_code: int) -> set[str]:
    """Which of the slow packages the program imports for these arguments, by Python's own log of imports."""
    done = fmim(*arguments, cwd=folder, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == exit_code, done.stderr
    log = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    imported = {line.rpartition("|")[2].strip() for line in log}
    assert {"fmim.cli", "typer"} <= imported
    return imported & (TRAINING | TABLES)


def commands(group: typer.Typer = app, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The program, its commands and theirs."""
    yield before
    for command in group.registered_commands:
        assert command.callback is not None
        yield (*before, command.name or command.callback.__name__)
    for sub in group.registered_groups:
        assert sub.typer_instance is not None
        yield from commands(sub.typer_instance, (*before, str(sub.name)))


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_help_imports_no_package_that_takes_seconds(command: tuple[str, ...], tmp_path: Path) -> None:
    assert heavy_imports((*command, "--help"), tmp_path, DONE) == set()


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (("list",), DONE),
        (("--version",), DONE),
        (("--nothing",), BAD_INPUT),
        (("run",), BAD_INPUT),
        (("run", STUDY, "--espilon", "0.1"), BAD_INPUT),
        (("run", STUDY, "--epochs", "0"), BAD_INPUT),
        (("status", "nowhere"), BAD_INPUT),
        (("report", "nowhere"), BAD_INPUT),
        (("ui", "nowhere"), BAD_INPUT),
        (("mirror", "nowhere"), BAD_INPUT),
        (("embed", "nowhere", "t.csv", "--arm", "a", "--to", "e.csv"), BAD_INPUT),
        (("match", "nowhere", "q.png", "--arm", "a", "--gallery", "t.csv"), BAD_INPUT),
        (("data", "nothing"), BAD_INPUT),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_reads_no_data_imports_no_package_that_takes_seconds(
    arguments: tuple[str, ...], exit_code: int, tmp_path: Path
) -> None:
    assert heavy_imports(arguments, tmp_path, exit_code) == set()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
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
    ],
    ids=" ".join,
)
def test_an_error_of_usage_is_told_before_torch_is_imported(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert heavy_imports(arguments, tmp_path, BAD_INPUT) & TRAINING == set()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("embed", "t.csv", "--arm", "triplet_grdi", "--to", "e.csv"),
        ("embed", "t.csv", "--arm", "triplet_grid", "--seed", "9", "--to", "e.csv"),
        ("embed", "t.csv", "--arm", "triplet_grid", "--to", "e.csv"),
        ("match", "q.png", "--arm", "triplet_grid", "--gallery", "t.csv"),
    ],
    ids=" ".join,
)
def test_a_model_or_an_image_that_is_not_there_is_told_before_torch_is_imported(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    out = make_out(tmp_path / "out", arms=["triplet_grid"])
    assert heavy_imports((arguments[0], str(out), *arguments[1:]), tmp_path, BAD_INPUT) & TRAINING == set()
    assert list(tmp_path.iterdir()) == [out]


def test_status_reads_json_alone(tmp_path: Path) -> None:
    assert heavy_imports(("status", str(make_out(tmp_path / "out"))), tmp_path, DONE) == set()
