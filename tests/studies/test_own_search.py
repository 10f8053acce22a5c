"""`search_spaces/README.md` shows how to add a searcher and a stopping rule: one file each, followed to the letter."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fmim_core.records import ProposalsFile, StudyFile, read_records
from tests.support.paths import ROOT

PAGE = (ROOT / "search_spaces" / "README.md").read_text(encoding="utf-8")

STUDY = """
from fmim_spaces.domain import Space, Uniform
from fmim_spaces.{module} import {searcher}
from fmim.declare import Arm, Study
from fmim.presets import PRESETS

RANGES = (Uniform(path="margins.epsilon", low=0.05, high=1.0), Uniform(path="margins.beta", low=0.0, high=1.0))
ARM = Arm(name="mine", search="Mine", space=Space(ranges=RANGES), searcher={searcher}(samples=6),
          settings=(("loss.kind", "adatriplet"), ("margins.kind", "fixed")))
STUDY = Study(name="own_search", title="My search", question="Does it run?", presets=PRESETS, arms=(ARM,))
"""


def written(heading: str) -> dict[str, str]:
    """The files that a section of the page shows, by path."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"`([\w/]+\.py)`:\n\n```python\n(.*?)```", section, re.DOTALL))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("project")
    for package in ("fmim_core", "search_spaces", "studies", "reports"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def run(project: Path, heading: str, searcher: str, *options: str) -> Path:
    """Add the section's files to the project, and run a study with its searcher; returns the study's folder."""
    ((path, code),) = written(heading).items()  # one file, and nothing else is touched
    (project / path).write_text(code, encoding="utf-8")
    linted = subprocess.run(
        [sys.executable, "-m", "ruff", "check", path], cwd=project, capture_output=True, text=True, check=False
    )
    assert linted.returncode == 0, linted.stdout
    study = STUDY.format(module=Path(path).stem, searcher=searcher)
    (project / "studies" / "fmim" / "catalogue" / "own_search.py").write_text(study, encoding="utf-8")
    out = project / "runs" / searcher.lower()
    command = [sys.executable, "studies/run.py", "own_search", "--preset", "smoke", "--backend", "inline"]
    done = subprocess.run(
        [*command, "--gpus-per-trial", "0", "--replicates", "1", "--out", str(out), *options],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.slow
def test_the_page_on_ones_own_searcher_works_as_it_stands(project: Path) -> None:
    out = run(project, "Your own searcher", "OneAtATime")
    (arm,) = StudyFile.read(out / "study.json").arms
    assert arm.searcher_facts.model_dump() == {"uses_results": True, "screens": False, "ordered": True}
    entries = ProposalsFile.read(out / "proposals.json").arms["mine"]
    assert [len(entry.values) for entry in entries] == [0, 0, 1, 2, 3, 4]
    for number, entry in enumerate(entries[2:], start=2):
        best = max(range(len(entry.values)), key=lambda n, values=entry.values: (values[n], n))
        near, changed = entries[best].configuration, ("epsilon", "beta")[number % 2]
        assert {name for name, value in entry.configuration.items() if near[name] != value} == {changed}
    assert {record.status for record in read_records(out)} == {"completed"}
    assert len(list(read_records(out))) == 6 * 2 + 1 + 3  # the search, the replicate, references


@pytest.mark.slow
def test_the_page_on_ones_own_stopping_rule_works_as_it_stands(project: Path) -> None:
    out = run(project, "Your own stopping rule", "MedianStopped", "--epochs", "3")
    (arm,) = StudyFile.read(out / "study.json").arms
    assert arm.searcher_facts.model_dump() == {"uses_results": False, "screens": True, "ordered": True}
    records = list(read_records(out))
    seen: dict[int, list[float]] = {}
    for number in range(6):  # one after the other, so that the rule can be followed by hand
        (record,) = [each for each in records if each.trial == f"mine.c{number:02d}.fold0"]
        values = [row.validation_mAP for row in record.history]
        ends = len(values)
        for epoch in (1, 2):
            means = sorted(sum(other[:epoch]) / epoch for other in seen.values() if len(other) >= epoch)
            middle = (means[(len(means) - 1) // 2] + means[len(means) // 2]) / 2 if means else -1.0
            if max(values[:epoch]) < middle:
                ends = epoch
                break
        assert (record.status, len(values)) == ("stopped" if ends < 3 else "completed", ends)
        seen[number] = values[: min(ends, 2)]
        assert (f"mine.c{number:02d}.fold1" in {each.trial for each in records}) == (ends == 3)
    assert {record.status for record in records} == {"stopped", "completed"}
