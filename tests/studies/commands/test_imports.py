"""What needs no training answers at once: lists, help, status and errors of usage import nothing that takes seconds."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import typer

from fmim.cli import app
from fmim_core.records import BAD_INPUT, DONE
from tests.benchmarks.imports import programs
from tests.support.factories import make_out
from tests.support.paths import ROOT
from tests.support.program import imports_of

TRAINING = {"torch", "torchvision", "ray", "mlflow", "optuna", "matplotlib", "seaborn"}
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

WITHOUT_TABLES = (
    "--nothing",
    "run",
    f"run {STUDY} --espilon 0.1",
    f"run {STUDY} --epochs 0",
    "status nowhere",
    "report nowhere",
    "compare nowhere nowhere",
    "overview nowhere",
    "ui nowhere",
    "mirror nowhere",
    "embed nowhere t.csv --arm a --to e.csv",
    "match nowhere q.png --arm a --gallery t.csv",
    "data nothing",
)
WITHOUT_TORCH = (
    "nothing",
    "plan nothing",
    f"{STUDY} --preset nothing",
    f"{STUDY} --dry-run --data nothing.csv",
    f"{STUDY} --data chestxray14",
    f"plan {STUDY} --calibrate --data oai --data-root nowhere",
    f"{STUDY} --tracking-uri ./mlruns",
    f"{STUDY} --backend inline --address auto",
    "baselines --selected nowhere",
    f"{STUDY} --out {ROOT / 'README.md'}",
    f"plan {STUDY} --out {ROOT}",
    "data describe nothing.csv",
    "data check phantom --preset nothing",
    "data prepare chestxray14",
    "data manifest nothing --data-root . --out new.csv",
    "embed ../out t.csv --arm triplet_grdi --to e.csv",
    "embed ../out t.csv --arm triplet_grid --seed 9 --to e.csv",
    "embed ../out t.csv --arm triplet_grid --to e.csv",
    "match ../out q.png --arm triplet_grid --gallery t.csv",
)


def every_command(group: typer.Typer = app, before: Command = ()) -> Iterator[Command]:
    """The program, its commands and theirs."""
    yield before
    for command in group.registered_commands:
        assert command.callback is not None
        yield (*before, command.name or command.callback.__name__)
    for sub in group.registered_groups:
        assert sub.typer_instance is not None
        yield from every_command(sub.typer_instance, (*before, str(sub.name)))


def test_what_trains_nothing_imports_no_package_that_takes_seconds(tmp_path: Path) -> None:
    make_out(tmp_path / "out", arms=["triplet_grid"])
    here = tmp_path / "here"
    here.mkdir()
    expected = {(*command, "--help"): (DONE, TRAINING | TABLES) for command in every_command()}
    expected |= dict.fromkeys([("list",), ("--version",), ("status", "../out")], (DONE, TRAINING | TABLES))
    expected |= {tuple(text.split()): (BAD_INPUT, TRAINING | TABLES) for text in WITHOUT_TABLES}
    expected |= {tuple(text.split()): (BAD_INPUT, TRAINING) for text in WITHOUT_TORCH}
    done = subprocess.run(
        [sys.executable, "-c", CALLED_IN_TURN, json.dumps(list(expected))],
        cwd=here,
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        check=True,
    )
    results = json.loads(done.stdout.splitlines()[-1])
    for (command, (code, banned)), (ended, modules) in zip(expected.items(), results, strict=True):
        assert (command, ended, banned & set(modules)) == (command, code, set())
    assert list(here.iterdir()) == []


def test_what_must_begin_at_once_imports_nothing_that_takes_long(tmp_path: Path) -> None:
    for name, (arguments, unwanted) in programs(make_out(tmp_path / "out", arms=["triplet_grid"])).items():
        imported = set(imports_of(arguments, tmp_path))
        assert (name, imported & unwanted) == (name, set())
        assert "pydantic" in imported
