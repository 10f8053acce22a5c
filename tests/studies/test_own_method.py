"""`studies/README.md` shows how to add a loss, a schedule and a study: the page is followed to the letter, and run."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path

from fmim_core.records import read_records
from tests.support.paths import ROOT


def follow(readme: str, copy: Path) -> int:
    """Write the page's files and extend its two unions; returns the lines of code it took."""
    lines = 0
    for name, code in re.findall(r"`([\w/]+\.py)`:\n\n```python\n(.*?)```", readme, re.DOTALL):
        (copy / name).write_text(code, encoding="utf-8")
        lines += sum(bool(line.strip()) for line in code.splitlines())
    for added, module, union, path in (
        ("SmoothTriplet", "fmim_core.losses.smooth", "SoftTriple, Field", "fmim_core/losses/__init__.py"),
        ("Warmup", "fmim_core.warmup", "AutoMargin, Field", "fmim_core/training/config.py"),
    ):
        assert f"and `| {added}` in" in readme
        text = (copy / path).read_text(encoding="utf-8")
        assert text.count(f"| {union}") == 1
        text = text.replace(f"| {union}", f"| {union.replace(',', f' | {added},')}")
        marker = "from pydantic import"
        (copy / path).write_text(text.replace(marker, f"from {module} import {added}\n{marker}", 1), encoding="utf-8")
    return lines


def test_the_page_on_ones_own_method_works_as_it_stands(tmp_path: Path) -> None:
    copy = tmp_path / "project"
    for package in ("fmim_core", "search_spaces", "studies", "reports"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    lines = follow((ROOT / "studies" / "README.md").read_text(encoding="utf-8"), copy)
    assert lines < 40
    command = [sys.executable, str(copy / "studies" / "run.py"), "smooth_warmup", "--preset", "smoke"]
    done = subprocess.run([*command, "--backend", "inline"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "runs" / "smooth_warmup"
    records = list(read_records(out))
    assert len(records) == 4 * 2 + 2
    assert {record["status"] for record in records} == {"completed"}
    searched = [record for record in records if record["configuration"] == {"tau": 0.1, "step": 0.05}]
    assert [row["epsilon"] for row in searched[0]["history"]] == [0.0, 0.05]
    with (out / "report" / "tables" / "search_cost.csv").open() as file:
        assert [row["n_s"] for row in csv.DictReader(file)] == ["4"]
