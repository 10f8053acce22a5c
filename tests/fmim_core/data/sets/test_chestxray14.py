"""ChestX-ray14: the real metadata gives the paper's counts, each release is read right, and a study runs on it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from fmim.data.sources import find_listing
from fmim_core.data.sets.base import Listing
from fmim_core.data.sets.chestxray14 import ChestXray14
from fmim_core.records import DONE, StudyFile, read_records
from tests.support.mini_study import mini_plan, options_in, run_here
from tests.support.nih_folders import TEST, TRAIN, V2017, longitudinal, told, write
from tests.support.paths import REAL_DATA, needs_nih

NIH = REAL_DATA / "nih"


@pytest.fixture(scope="module")
def real() -> Listing:
    """The real metadata of all images."""
    return find_listing("chestxray14", NIH, metadata_only=True)


@pytest.mark.slow
@needs_nih
def test_the_real_metadata_gives_the_papers_counts(real: Listing) -> None:
    expected = json.loads((NIH / "expected.json").read_text())
    index = real.index
    train, test = (index[index["split"] == split] for split in ("train", "test"))
    assert len(train) == expected["train_images"] == 86524
    assert train["subject"].nunique() == expected["train_subjects"] == 28008
    assert (train["disease"] == "yes").sum() == expected["train_with_disease"] == 36024
    assert round(float((train["sex"] == "M").mean()), 4) == expected["train_male_images"]
    assert len(test) == expected["test_images_years_0_12"] == 25587
    assert test["subject"].nunique() == expected["test_subjects"] == 2797
    assert (test["disease"] == "yes").sum() == expected["test_with_disease_years_0_12"] == 15730
    years = Counter((test["months"] / 12).astype(int))
    assert years.pop(0) == expected["test_gallery"] == 13137
    assert years == {int(year): n for year, n in expected["test_queries_by_year"].items() if year != "13"}
    assert test["subject"][test["months"] > 0].nunique() == expected["query_subjects"]
    assert int((train["months"] > 144).sum()) == 89  # training images beyond year 12 stay


@needs_nih
def test_the_real_metadata_differs_from_the_paper_in_two_things(real: Listing) -> None:
    assert real.description.release == "v2020"
    assert real.description.details == {
        "release_evidence": "follow-up numbers other than in the image's name: 24106; age of 00000001_000.png: 57",
        "split": {"rule": "official lists"},
        "months_unknown": 0,
        "differences_from_paper": [
            "9 test images beyond year 12 are dropped by the paper's rule (25,596 → 25,587), yet its 58.1 % male among "
            "the test images and its 15,735 test images with disease count them: without them 58.2 and 15,730.",
            "36,024 training images with disease, where the paper prints 36,324.",
        ],
    }
    (dropped,) = real.findings
    assert (dropped.severity, len(dropped.places)) == ("note", 9)
    assert dropped.what == "test images beyond year 12, dropped as by the paper"
    names = ["Data_Entry_2017_v2020.csv.gz", "train_val_list.txt.gz", "test_list.txt.gz"]
    assert real.description.files == {name: hashlib.sha256((NIH / name).read_bytes()).hexdigest() for name in names}


def test_a_small_v2020(tmp_path: Path) -> None:
    listing = find_listing("chestxray14", write(tmp_path), metadata_only=True)
    index = listing.index
    assert index["image"].tolist() == [*TRAIN[:3], TEST[1], TEST[0], *TRAIN[3:]]
    assert index["subject"].tolist() == ["1", "1", "2", "3", "3", "8", "8"]
    assert index["months"].tolist() == [0, 12, 0, 0, 84, 0, 12]
    assert index["split"].tolist() == ["train"] * 3 + ["test"] * 2 + ["train"] * 2
    about = index[["side", "sex", "age", "view", "disease"]].agg(" ".join, axis=1).tolist()
    assert about == [" M 57 PA yes", " M 58 PA yes", " M 80 PA no", " F 74 PA yes", " F 81 PA yes", " F 69 PA yes",
                     " F 70 AP no"]  # fmt: skip
    assert (listing.paths, list(listing.findings)) == ([None] * 7, [])
    description = listing.description
    assert (description.name, description.kind, description.release) == ("chestxray14", "chestxray14", "v2020")
    assert not description.synthetic
    assert "7 frontal chest radiographs of 4 subjects from ChestX-ray14" in description.about
    assert list(description.files) == ["Data_Entry_2017_v2020.csv", "train_val_list.txt", "test_list.txt"]
    differences = description.details["differences_from_paper"]
    assert (len(differences), differences[0]) == (21, "5 training images, where the paper prints 86,524.")


def test_a_small_v2017(tmp_path: Path) -> None:
    """Ages with a unit, IDs with zeros, rows a cell shorter than the header, follow-ups out of order."""
    listing = ChestXray14().listing(write(tmp_path, V2017, "Data_Entry_2017.csv"), metadata_only=True)
    index = listing.index
    assert index["subject"].tolist() == ["1", "1", "2", "3", "3", "8", "8"]
    assert index["age"].tolist() == ["58", "58", "81", "81", "74", "69", "70"]
    assert index["months"].tolist() == [0, 0, 0, 84, 0, 0, 12]
    assert listing.description.release == "v2017"
    evidence = (
        "ages with a unit or above 120: 7; ages that fall from one follow-up to the next: 1; "
        "age of 00000001_000.png: 58"
    )
    assert listing.description.details["release_evidence"] == evidence
    what = "warning: release v2017, while the paper's numbers come with v2020"
    assert told(listing) == {what: (evidence,)}


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_study_on_it_says_release_and_checksums_everywhere(tmp_path: Path) -> None:
    root = tmp_path / "download"
    longitudinal(root, subjects=24, visits=3)
    options = options_in(tmp_path, out=tmp_path / "out", data="chestxray14", data_root=root)
    assert run_here(mini_plan(epochs=1, replicates=1), options) == DONE
    names = ("Data_Entry_2017_v2020.csv", "train_val_list.txt", "test_list.txt")
    files = {name: hashlib.sha256((root / name).read_bytes()).hexdigest() for name in names}
    data = StudyFile.read(options.folder / "study.json").data
    assert (data.name, data.kind, data.files, data.synthetic) == (*["chestxray14"] * 2, files, False)
    records = list(read_records(options.folder))
    assert len(records) == 11  # 6 of the search, 2 replicates, 3 references
    for record in records:
        assert (record.status, record.data["name"], record.data["files"]) == ("completed", "chestxray14", files)
        assert record.data["release"] == data.release
        if record.stage != "reference":
            augmentation = record.config["augmentation"]
            assert (augmentation["mean"], augmentation["std"]) == (0.5, 0.5)
        if record.stage == "replicate":
            test = record.metrics.test
            assert test["queries"] + test["queries_without_match"] == data.test.queries == 16
    page = (options.folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "synthetic, not radiographs" not in page
    assert "8 subjects" in page
