"""The benchmarks' own machinery, on sizes of a second; mypy checks the rest of them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from fmim_core.models.base import multiply_adds
from tests.benchmarks import __main__ as program
from tests.benchmarks import full, retrieval, roofline, scale, step
from tests.benchmarks.__main__ import ENTRIES, Entry
from tests.benchmarks.measurement import Measurement, fastest
from tests.support.paths import ROOT

CPU = torch.device("cpu")


def test_a_measurement_is_ok_up_to_the_ratio_that_was_asked() -> None:
    assert [Measurement("a", "b", ours, "c", 4.0, 0.25).ok for ours in (0.9, 1.0, 1.1)] == [True, True, False]
    assert Measurement("a", "b", 3.0, "c", 4.0).ok is None
    assert Measurement("a", "b", 3.0, "c", 4.0).ratio == 0.75


def test_the_fastest_of_several_calls_counts() -> None:
    calls: list[str] = []
    best = fastest({name: lambda name=name: calls.append(name) for name in "ab"}, repeats=3, warm_up=1)
    assert "".join(calls) == "ab" + 3 * "ab"
    assert 0 <= min(best.values()) < float("inf")


def test_an_entry_that_fails_loses_neither_its_own_measurements_nor_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(device: torch.device) -> Iterator[Measurement]:
        yield Measurement("broken", "before", 0.002, "a peer", 0.004, 0.9)
        raise RuntimeError("no such kernel")

    entries = {"broken": broken, "sound": lambda device: [Measurement("sound", "x", 8.0, "y", 4.0, 1.0)]}
    for name, measure in entries.items():
        monkeypatch.setitem(sys.modules, f"tests.benchmarks.{name}", module := ModuleType(name))
        module.measure = measure
    monkeypatch.setattr(program, "ENTRIES", {"broken": Entry(600, 1, {}), "sound": Entry(30, 1, {})})
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--json", str(tmp_path / "a.json"), "--device", "cpu"])
    assert program.main() == 1
    report = json.loads((tmp_path / "a.json").read_text())
    assert [(row["what"], row["ok"], row["ratio"]) for row in report["measurements"]] == [
        ("before", True, 0.5),
        ("x", False, 2.0),
    ]
    assert report["failures"] == [{"entry": "broken", "device": "cpu", "error": "RuntimeError: no such kernel"}]
    assert {"torch", "cpu", "threads", "gpu"} <= set(report["environment"])
    assert [one["entry"] for one in report["seconds"]] == ["broken", "sound"]
    shown, told = capsys.readouterr()
    assert "2 idle cores this takes about 10 min: broken about 10 min, sound about 30 s." in told
    assert all(word in shown for word in ("2 ms", "8 s", "≤ 0.9", "over", "failed: broken on cpu"))


@pytest.mark.parametrize("name", ENTRIES)
def test_what_quick_makes_smaller_is_an_argument_of_the_entry(name: str) -> None:
    tree = ast.parse(Path(program.__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    (measure,) = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "measure"]
    assert {"device", *ENTRIES[name].quick, *ENTRIES[name].tiny} <= {argument.arg for argument in measure.args.args}


def test_a_quick_entry_says_what_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tests.benchmarks.small", module := ModuleType("small"))
    module.measure = lambda device, count=9: [Measurement("small", f"{count}", 1.0, "a peer", 2.0, note="as it is")]
    monkeypatch.setattr(program, "ENTRIES", {"small": Entry(2, 1, {"count": 3})})
    for size, expected in (("", ("9", "as it is")), ("quick", ("3", "as it is; quick: count = 3"))):
        report = {"measurements": [], "failures": [], "seconds": []}
        list(program.run("small", "cpu", report, size))
        (row,) = report["measurements"]
        assert (row["what"], row["note"]) == expected


def test_a_step_and_its_parts_are_timed(tmp_path: Path) -> None:
    size = step.Size("tiny", "small", 32, 4, steps=2, repeats=1)
    rows = list(step._compare(size, step.phantom_bank(size, tmp_path), CPU))
    assert [row.what for row in rows] == [
        "whole step, tiny",
        "  of it data",
        "  of it augmentation",
        "  of it loss and statistics",
    ]
    assert all(0 < row.ours < 60 for row in rows)
    assert all(row.theirs == rows[0].ours for row in rows[1:])


def test_late_trials_stand_beside_early_ones() -> None:
    seconds = [0.001] * 2_000
    seconds[-200 - scale.SLOTS : -scale.SLOTS] = [0.003] * 200  # the last tenth with all slots busy
    time = scale.late_beside_early(seconds)
    assert (time.ours, time.theirs, time.ratio, time.ok) == pytest.approx((0.003, 0.001, 3.0, False))


def test_matches_are_those_of_chestxray14() -> None:
    query, gallery = retrieval.chestxray14_identities()
    assert (len(query), len(gallery), len(np.unique(gallery))) == (12450, 13137, 2797)
    matches = np.bincount(gallery)
    assert (matches.min(), np.median(matches), matches.max()) == (1, 1, 146)
    assert set(query) <= set(gallery)


def test_a_step_and_its_work_at_a_size_of_a_moment_as_on_a_gpu(tmp_path: Path) -> None:
    sizes = [size.shrunk(compiles=False) for size in step.ON_GPU]
    assert [size.precision for size in sizes] == ["float32", "tf32", "bfloat16", "bfloat16", "bfloat16"]
    rows = list(step._compare(sizes[-1], step.phantom_bank(sizes[-1], tmp_path), CPU))
    assert sum("streamed" in row.what or "the same" in row.what for row in rows) == 2
    small, large = (roofline.step_work(replace(sizes[0], subjects=subjects)) for subjects in (4, 8))
    assert list(small) == ["augmentation", "forward", "loss", "backward", "optimizer", "statistics"]
    products = 2 * multiply_adds(step.train_config(sizes[0]).model, 32)
    assert (small["forward"].operations, large["forward"].operations) == (16 * products, 32 * products)
    assert all(one.launches == other.launches for one, other in zip(small.values(), large.values(), strict=True))
    assert large["augmentation"].moved == pytest.approx(2 * small["augmentation"].moved, rel=0.01)
    assert small["optimizer"].moved == large["optimizer"].moved


def program_in(folder: Path, name: str, text: str) -> Path:
    """A program that a script calls."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("tests_fail", "code"), [(0, 0), (1, 1)])
def test_the_script_for_a_gpu_gives_the_benchmarks_what_they_take(
    tests_fail: int, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script with another Python; `DEVICE=cpu SMALL=1 tests/benchmarks/gpu.sh` tries it with the real one."""
    python = program_in(tmp_path, "python", f'echo "$PYTHONPATH" "$@"; [ $2 != pytest ] || exit {tests_fail}')
    variables = {"PYTHON": str(python), "DEVICE": "cpu", "SMALL": "1", "PYTHONPATH": "/elsewhere"}
    script = [str(ROOT / "tests" / "benchmarks" / "gpu.sh"), str(tmp_path / "out")]
    done = subprocess.run(script, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, "")
    assert (tmp_path / "out" / "gpu.log").read_text() == done.stdout
    (paths, *_, tests), (_, *arguments) = ([*line.split(" -m ")] for line in done.stdout.splitlines())
    assert paths.split(":") == [
        *(str(ROOT / one) for one in ("studies", "search_spaces", "reports")),
        str(ROOT),
        "/elsewhere",
    ]
    assert all((ROOT / word).exists() for word in tests.split() if word.endswith(".py"))
    ran: list[tuple[str, str, str]] = []
    monkeypatch.setattr(program, "run", lambda *given: iter(ran.append((given[0], given[1], given[3])) or ()))
    monkeypatch.setattr(sys, "argv", arguments[0].split())
    assert program.main() == 0
    assert ran == [(name, "cpu", "tiny") for name in ("loss", "step", "roofline", "retrieval", "precision", "full")]


def test_how_busy_a_gpu_is_follows_from_nvidia_smi_while_a_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_in(tmp_path, "nvidia-smi", "echo 87; echo 3")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(full, "EVERY_S", 0.02)
    gpu = torch.device("cuda")
    interrupted = [
        sys.executable,
        "-c",
        "import time, sys\ntry: time.sleep(9)\nexcept KeyboardInterrupt: sys.exit(130)",
    ]
    assert {share for _, share in full.busy_during(interrupted, tmp_path, 0.2, gpu)} == {0.87}
    with pytest.raises(RuntimeError, match="exit code 2: no such arm"):
        list(full.busy_during(["sh", "-c", "echo no such arm; exit 2"], tmp_path, 9, gpu))
    assert list(full.measure(CPU)) == []
