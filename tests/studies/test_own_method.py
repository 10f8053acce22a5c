"""`studies/README.md` shows how to add a loss, schedule, backbone, data set and study: it is followed to the letter."""

from __future__ import annotations

import csv
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from fmim.presets import SMOKE
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.records import StudyFile, read_records
from tests.support.paths import ROOT

ADDED = {
    "fmim_core/losses/smooth.py",
    "fmim_core/margins/cosine.py",
    "fmim_core/models/patches.py",
    "fmim_core/data/sets/named_files.py",
    "studies/fmim/catalogue/smooth_cosine.py",
}


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file by its path in the folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def call(project: Path, *arguments: str, cwd: Path | None = None) -> str:
    """The output of a Python program in the project, which must succeed."""
    done = subprocess.run([sys.executable, *arguments], cwd=cwd or project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this project, in which the page has been followed."""
    copy = tmp_path_factory.mktemp("own") / "project"
    for package in ("fmim_core", "search_spaces", "studies", "reports", "tests"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    before = digests(copy)
    readme = (ROOT / "studies" / "README.md").read_text(encoding="utf-8")
    own = readme[readme.index("## Your own method") : readme.index("## Your own search")]
    blocks = re.findall(r"`([\w/]+\.py)`:\n\n```python\n(.*?)```", own, re.DOTALL)
    assert own.count("```python") == len(blocks)
    for name, code in blocks:
        assert not (copy / name).exists()
        (copy / name).write_text(code, encoding="utf-8")
        assert len(code.splitlines()) < 50, name
    after = digests(copy)
    assert after.keys() - before.keys() == ADDED
    assert {name: digest for name, digest in after.items() if name in before} == before
    return copy


def test_the_pages_code_is_as_this_projects_ruff_wants_it(project: Path) -> None:
    call(project, "-m", "ruff", "check", *ADDED)
    call(project, "-m", "ruff", "format", "--check", *ADDED)


@pytest.mark.slow
def test_what_was_added_does_what_every_kind_must(project: Path) -> None:
    """The contract of the registries finds all four without being told of them."""
    test = "tests/fmim_core/test_registries.py"
    chosen = "[smooth] or [cosine] or [patches] or [named_files]"
    said = call(project, "-m", "pytest", test, "-p", "no:cacheprovider", "-rA", "-k", chosen)
    passed = re.findall(r"PASSED .*::(\w+)\[(\w+)\]", said)
    assert {kind for _, kind in passed} == {"smooth", "cosine", "patches", "named_files"}
    assert len(passed) == 4 + 2 + 3 + 1 + 1


@pytest.mark.slow
def test_the_pages_study_runs_on_the_pages_data_set(project: Path, tmp_path: Path) -> None:
    phantom = PhantomSource(SMOKE.phantom)
    left = phantom.index[phantom.index["side"] == "L"]
    for row, subject, months, split in left[["subject", "months", "split"]].itertuples():
        (tmp_path / "images" / split).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(phantom.read(row, SMOKE.image_size))
        image.save(tmp_path / "images" / split / f"{subject}_{months:g}.png")
    study = [str(project / "studies" / "run.py"), "smooth_cosine", "--preset", "smoke", "--backend", "inline"]
    call(project, *study, "--data", "named_files", "--data-root", "images", cwd=tmp_path)
    out = tmp_path / "runs" / "smooth_cosine"
    records = list(read_records(out))
    assert len(records) == 4 * 2 + 2 + 4  # the search, replicates, references
    assert {record.status for record in records} == {"completed"}
    assert {record.config["model"]["kind"] for record in records if "model" in record.config} == {"patches"}
    searched = [record for record in records if record.configuration == {"tau": 0.1, "peak": 0.5}]
    # ε after one of ten epochs: 0.5 (1 − cos 18°)/2.
    assert [row.epsilon for row in searched[0].history] == [0.0, pytest.approx(0.0122358709)]
    assert StudyFile.read(out / "study.json").data.name == "named_files"
    with (out / "report" / "tables" / "search_cost.csv").open() as file:
        assert [row["n_s"] for row in csv.DictReader(file)] == ["4"]
