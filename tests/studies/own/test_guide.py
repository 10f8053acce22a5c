"""The guides show how to add kinds, searches and comparisons: followed to the letter."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from PIL import Image

from fmim.declare.presets import SMOKE
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.records import ProposalsFile, StudyFile, read_records
from tests.support.classes import class_folders
from tests.support.mini_study import NO_TRACKER
from tests.support.own_files import guide_files, write_files
from tests.support.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures", "own_code")]

INLINE = ("--preset", "smoke", "--backend", "inline", "--gpus-per-trial", "0", "--tracking-uri", NO_TRACKER)

SEARCH = """
from {module} import {searcher}

from fmim import Arm, Space, Study, Uniform

RANGES = (Uniform(path="margins.epsilon", low=0.05, high=1.0), Uniform(path="margins.beta", low=0.0, high=1.0))
ARM = Arm(name="mine", search="Mine", space=Space(ranges=RANGES), searcher={searcher}(samples=6),
          settings=(("loss.kind", "adatriplet"), ("margins.kind", "fixed")))
STUDY = Study(name="own_search", title="My search", question="Does it run?", arms=(ARM,))
"""


def test_the_pages_study_runs_on_the_pages_data_set(tmp_path: Path, fmim_here: Program) -> None:
    files = guide_files("own-code")
    assert list(files) == ["my_losses.py", "my_margins.py", "my_backbones.py", "my_data.py", "smooth_cosine.py"]
    assert all(len(text.splitlines()) < 50 for text in files.values())
    write_files(tmp_path, files)
    phantom = PhantomSource(SMOKE.phantom)
    left = phantom.index[phantom.index["side"] == "L"]
    for row, subject, months, split in left[["subject", "months", "split"]].itertuples():
        (tmp_path / "images" / split).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(phantom.read(row, SMOKE.image_size))
        image.save(tmp_path / "images" / split / f"{subject}_{months:g}.png")
    data = ("--data", "named_files", "--data-root", "images")
    assert fmim_here("smooth_cosine.py", *INLINE, *data, cwd=tmp_path).returncode == 0
    out = tmp_path / "runs" / "smooth_cosine"
    records = list(read_records(out))
    assert len(records) == 4 * 2 + 2 + 4  # the search, replicates, references
    assert {record.status for record in records} == {"completed"}
    assert {record.config["model"]["kind"] for record in records if "model" in record.config} == {"patches"}
    searched = [record for record in records if record.configuration == {"tau": 0.1, "peak": 0.5}]
    # ε after one of ten epochs: 0.5 (1 − cos 18°)/2.
    assert [row.epsilon for row in searched[0].history] == [0.0, pytest.approx(0.0122358709)]
    study = StudyFile.read(out / "study.json")
    assert study.data.name == "named_files"
    assert study.code is not None
    assert {file.path: file.text for file in study.code.files} == files
    with (out / "report" / "tables" / "search_cost.csv").open() as file:
        assert [row["n_s"] for row in csv.DictReader(file)] == ["4"]


def test_a_study_of_fifteen_lines_compares_a_searched_loss_of_the_library_with_automargin_on_class_folders_in_colour(
    tmp_path: Path, fmim_here: Program
) -> None:
    class_folders(tmp_path / "CLASSES", 64)
    files = guide_files("methods", "Declare a study")
    ((name, text),) = files.items()
    assert len(text.splitlines()) <= 15
    write_files(tmp_path, files)
    done = fmim_here(name, *INLINE, "--data", "class_folders", "--data-root", "CLASSES", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "runs" / "ms_vs_automargin"
    records = list(read_records(out))
    assert {record.status for record in records} == {"completed"}
    for train in (record.config for record in records if record.stage != "reference"):
        assert (train["optimizer"]["name"], train["lr_schedule"]["name"]) == ("AdamW", "CosineAnnealingLR")
        assert train["model"]["channels"] == 3
    searched = [record.config["loss"] for record in records if (record.arm, record.stage) == ("ms", "search")]
    assert len(searched) == 8 * 2
    values = {(loss["params"]["beta"], loss["miner"]["params"]["epsilon"]) for loss in searched}
    assert len(values) == 8
    assert all(10 <= beta <= 100 and 0.05 <= epsilon <= 0.3 for beta, epsilon in values)
    with (out / "report" / "tables" / "paired_differences.csv").open() as file:
        assert [(row["a"], row["b"]) for row in csv.DictReader(file)] == [("automargin", "ms")]
    assert [arm.label for arm in StudyFile.read(out / "study.json").arms] == [
        "MultiSimilarityLoss with MultiSimilarityMiner",
        "AdaTriplet + AutoMargin",
    ]


def run_search(folder: Path, program: Program, heading: str, searcher: str, *options: str) -> Path:
    """Run a study with the searcher of a section of the page; returns the study's folder."""
    ((name, text),) = guide_files("search", heading).items()
    write_files(folder, {name: text, "own_search.py": SEARCH.format(module=Path(name).stem, searcher=searcher)})
    done = program("own_search.py", *INLINE, "--replicates", "1", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "own_search"


def test_the_page_on_ones_own_searcher_works_as_it_stands(tmp_path: Path, fmim_here: Program) -> None:
    out = run_search(tmp_path, fmim_here, "Your own searcher", "OneAtATime")
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


def test_the_page_on_ones_own_stopping_rule_works_as_it_stands(tmp_path: Path, fmim_here: Program) -> None:
    out = run_search(tmp_path, fmim_here, "Your own stopping rule", "MedianStopped", "--epochs", "3")
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
