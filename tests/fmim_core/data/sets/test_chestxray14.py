"""ChestX-ray14: the real metadata gives the paper's counts, each release is read right, and a study runs on it."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from fmim.data.sources import find_listing
from fmim_core.data.sets.base import FileSource, Listing
from fmim_core.data.sets.chestxray14 import FOLDER_DEPTH, ChestXray14
from fmim_core.records import DONE, StudyFile, read_records
from tests.support.mini_study import mini_plan, options_in, run_here
from tests.support.nih_folders import TEST, TRAIN, V2017, V2020, add_images, longitudinal, told, write
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
            "The paper's rule leaves out 9 test images after year 12 (25,596 → 25,587), but its 58.1 % male among the "
            "test images and its 15,735 test images with disease include them. Without them there are 58.2 and 15,730.",
            "36,024 training images with disease; the paper has 36,324.",
        ],
    }
    (dropped,) = real.findings
    assert (dropped.severity, len(dropped.places)) == ("note", 9)
    assert dropped.what == "test images after year 12, left out as in the paper"
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
    assert (len(differences), differences[0]) == (21, "5 training images; the paper has 86,524.")


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
    what = "warning: release v2017, but the paper used v2020"
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


def test_flat_and_nested_layouts_give_one_index(tmp_path: Path) -> None:
    layouts: dict[str, Callable[[str], str]] = {
        "flat": lambda name: ".",
        "folder": lambda name: "images",
        "nested": lambda name: f"images_{int(name[7]):03}/images",
        "deep": lambda name: f"CXR8/images/part {name[7]}",
    }
    sources = {}
    for name, folder_of in layouts.items():
        root = add_images(write(tmp_path / name), folder_of)
        for path in root.glob("*list.txt"):
            (root / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes().replace(b"\n", b"\r\n\n")))
            path.unlink()
        sources[name] = FileSource(ChestXray14().listing(root, metadata_only=False))
        pd.testing.assert_frame_equal(sources[name].index, sources["flat"].index)
        # Rows 3 and 4 are the sixth and seventh images in reverse order.
        assert [int(sources[name].read(row, 8)[0, 0]) for row in (0, 2, 3, 4)] == [0, 60, 180, 150]


def test_folders_through_links_and_in_circles(tmp_path: Path) -> None:
    """A folder of images may be a link to another disk; a circle ends; hidden and deep folders are not looked into."""
    elsewhere = add_images(tmp_path / "disk")
    root = write(tmp_path / "root")
    (root / "images").symlink_to(elsewhere)
    (root / "same").symlink_to(elsewhere)
    (root / "loop").symlink_to(root)
    (root / "circle").symlink_to("circle")
    (elsewhere / "00000099_000.png").symlink_to("00000099_000.png")
    for unseen in (".trash", "/".join("abcdefgh"[: FOLDER_DEPTH + 1])):
        add_images(root / unseen)
    listing = ChestXray14().listing(root, metadata_only=False)
    assert list(listing.findings) == []
    assert listing.paths[0] == "images/00000001_000.png"


def test_images_twice_missing_and_unknown(tmp_path: Path) -> None:
    root = add_images(write(tmp_path / "my data"), lambda name: "images")
    (root / "more").mkdir()
    (root / "more" / TRAIN[0]).write_bytes(b"")
    (root / "more" / "00000099_000.png").write_bytes(b"")
    (root / "more" / "figure.png").write_bytes(b"")  # not an image of the NIH's
    (root / "images" / TRAIN[2]).unlink()
    listing = ChestXray14().listing(root, metadata_only=False)
    assert told(listing) == {
        "error: images found more than once": ("images/00000001_000.png and more/00000001_000.png",),
        "warning: images without a row in the table, left out": ("00000099_000.png",),
        "error: missing images": ("00000002_000.png",),
    }
    with pytest.raises(ValueError, match=r"--data-root '.*/my data' --out '.*/my data'/mine\.csv` \(1\): 00000002_000"):
        FileSource(listing)


def test_year_13_is_dropped_from_the_test_alone(tmp_path: Path) -> None:
    table = V2020.replace("0,3,74,F", "0,3,68,F").replace("0,8,69,F", "0,8,57,F")
    table += "00000003_002.png,Hernia,6,3,80,F,PA,1,1,1,1,\n"
    root = write(tmp_path, table)
    (root / "test_list.txt").write_text("\n".join([*TEST, "00000003_002.png"]))
    add_images(root)  # all but the last
    Image.new("L", (8, 8)).save(root / "00000003_002.png")
    (root / "00000003_000.png").unlink()  # the dropped image need not be there
    listing = ChestXray14().listing(root, metadata_only=False)
    assert told(listing) == {"note: test images after year 12, left out as in the paper": ("00000003_000.png",)}
    assert listing.index["image"].tolist() == [*TRAIN[:3], TEST[1], *TRAIN[3:], "00000003_002.png"]
    assert listing.index["months"].tolist() == [0, 12, 0, 0, 0, 156, 144]


@pytest.mark.parametrize(
    ("train", "test", "found"),
    [
        (TRAIN, TEST[1:], {"error: images in neither list": ("00000003_000.png",)}),
        ([*TRAIN, TEST[0]], TEST, {"error: images in both lists": ("00000003_000.png",)}),
        (
            [*TRAIN, "00000099_000.png"],
            [*TEST, "00000098_000.png"],
            {
                "error: images in the lists without a row in the table": ("00000099_000.png", "00000098_000.png"),
            },
        ),
        (TRAIN[:-1], [*TEST, TRAIN[-1]], {"error: subjects in both train and test": ("8",)}),
        (
            TRAIN + TEST,
            [],
            {
                "error: no subject in test has an image at month 0 and a later one, so retrieval cannot be scored": (
                    "0 images",
                )
            },
        ),
    ],
)
def test_lists_that_do_not_fit(tmp_path: Path, train: list[str], test: list[str], found: dict[str, object]) -> None:
    root = write(tmp_path)
    (root / "train_val_list.txt").write_text("\n".join(train))
    (root / "test_list.txt").write_text("\n".join(test))
    listing = ChestXray14().listing(root, metadata_only=True)
    assert told(listing) == found
    assert listing.description.release == "v2020"


def test_files_missing_or_there_twice(tmp_path: Path) -> None:
    root = write(tmp_path)
    (root / "Data_Entry_2017.csv").write_text(V2017)
    (root / "test_list.txt").unlink()
    (root / "train_val_list.txt.gz").write_bytes(b"")
    with pytest.raises(ValueError, match="must contain one") as caught:
        ChestXray14().listing(root, metadata_only=True)
    assert [line for line in str(caught.value).splitlines() if line.startswith("  ")] == [
        "  Data_Entry_2017*.csv: Data_Entry_2017.csv, Data_Entry_2017_v2020.csv",
        "  train_val_list.txt: train_val_list.txt, train_val_list.txt.gz",
        "  test_list.txt: none",
    ]
