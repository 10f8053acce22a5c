"""ChestX-ray14: the real metadata gives the paper's counts; either release in any layout is read right or refused."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from rich.console import Console

from fmim_core.data.sets.chestxray14 import FOLDER_DEPTH, ChestXray14
from fmim_core.data.sets.chestxray14_table import COLUMNS, OPTIONAL, release_of, years_of_age
from fmim_core.data.tables.listing import FileSource, Listing
from fmim_core.data.tables.reading import read_table
from fmim_core.records import StudyFile, read_records
from studies.data.sources import find_listing
from studies.exit_codes import DONE
from studies.options import Options
from studies.runner.run_study import run_plan
from tests.support.mini_study import mini_plan
from tests.support.paths import REAL_DATA, needs_nih

NIH = REAL_DATA / "nih"

# Lines of the two releases as the NIH wrote them: headers that split into 11 named cells and a blank one.
HEADER_2017 = (
    "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position,"
    "OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],"
)
HEADER_2020 = HEADER_2017.replace("Gender", "Sex")
V2017 = f"""{HEADER_2017}
00000001_000.png,Cardiomegaly,000,00000001,058Y,M,PA,2682,2749,0.143,0.143
00000001_001.png,Cardiomegaly|Emphysema,001,00000001,058Y,M,PA,2894,2729,0.143,0.143
00000002_000.png,No Finding,000,00000002,081Y,M,PA,2500,2048,0.171,0.171
00000003_000.png,Hernia,000,00000003,081Y,F,PA,2582,2991,0.143,0.143
00000003_001.png,Hernia,001,00000003,074Y,F,PA,2500,2048,0.168,0.168
00000008_000.png,Cardiomegaly,000,00000008,069Y,F,PA,2048,2500,0.171,0.171
00000008_001.png,No Finding,001,00000008,070Y,F,AP,2048,2500,0.171,0.171
"""
V2020 = f"""{HEADER_2020}
00000001_000.png,Cardiomegaly,0,1,57,M,PA,2682,2749,0.14300000000000002,0.14300000000000002,
00000001_001.png,Cardiomegaly|Emphysema,1,1,58,M,PA,2894,2729,0.14300000000000002,0.14300000000000002,
00000002_000.png,No Finding,0,2,80,M,PA,2500,2048,0.171,0.171,
00000003_001.png,Hernia,0,3,74,F,PA,2500,2048,0.168,0.168,
00000003_000.png,Hernia,7,3,81,F,PA,2582,2991,0.14300000000000002,0.14300000000000002,
00000008_000.png,Cardiomegaly,0,8,69,F,PA,2048,2500,0.171,0.171,
00000008_001.png,No Finding,1,8,70,F,AP,2048,2500,0.171,0.171,
"""
TRAIN = ["00000001_000.png", "00000001_001.png", "00000002_000.png", "00000008_000.png", "00000008_001.png"]
TEST = ["00000003_000.png", "00000003_001.png"]


def write(root: Path, table: str | bytes = V2020, name: str = "Data_Entry_2017_v2020.csv") -> Path:
    """The table and both lists in `root`; the lists end without a newline, as the real ones do."""
    root.mkdir(exist_ok=True)
    (root / name).write_bytes(table.encode() if isinstance(table, str) else table)
    (root / "train_val_list.txt").write_text("\n".join(TRAIN))
    (root / "test_list.txt").write_text("\n".join(TEST))
    return root


def add_images(root: Path, folder_of: Callable[[str], str] = lambda name: ".") -> Path:
    """An image for each name, of its own grey level."""
    for level, name in enumerate([*TRAIN, *TEST]):
        folder = root / folder_of(name)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), 30 * level, np.uint8)).save(folder / name)
    return root


def told(listing: Listing) -> dict[str, tuple[str, ...]]:
    """What is found wrong, by severity and the first words before a colon."""
    return {f"{f.severity}: {f.what.partition(':')[0]}": f.places for f in listing.findings}


@pytest.fixture(scope="module")
def real() -> Listing:
    """The real metadata of all images."""
    return find_listing("chestxray14", NIH, metadata_only=True)


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


@needs_nih
def test_the_real_metadata_with_few_of_its_images() -> None:
    """The thousand images of the sample lie in a folder below; the others are missing, and what to do is said."""
    listing = ChestXray14().listing(NIH, metadata_only=False)
    assert sum(path is not None for path in listing.paths) == 1000
    assert listing.paths[0] == "images64/00000001_000.png"
    (missing,) = listing.findings.errors
    assert len(missing.places) == 112_111 - 1000
    assert (
        f"`fmim data manifest chestxray14 --data-root {NIH.resolve()} --out {NIH.resolve()}/mine.csv`" in missing.what
    )


def test_a_small_v2020(tmp_path: Path) -> None:
    listing = find_listing("chestxray14", write(tmp_path), metadata_only=True)
    index = listing.index
    assert index["image"].tolist() == [*TRAIN[:3], TEST[1], TEST[0], *TRAIN[3:]]
    assert index["subject"].tolist() == ["1", "1", "2", "3", "3", "8", "8"]
    assert index["side"].tolist() == [""] * 7
    assert index["months"].tolist() == [0, 12, 0, 0, 84, 0, 12]
    assert index["split"].tolist() == ["train"] * 3 + ["test"] * 2 + ["train"] * 2
    assert index["sex"].tolist() == list("MMMFFFF")
    assert index["age"].tolist() == ["57", "58", "80", "74", "81", "69", "70"]
    assert index["view"].tolist() == ["PA"] * 6 + ["AP"]
    assert index["disease"].tolist() == ["yes", "yes", "no", "yes", "yes", "yes", "no"]
    assert listing.paths == [None] * 7
    assert list(listing.findings) == []
    description = listing.description
    assert (description.name, description.kind, description.release) == ("chestxray14", "chestxray14", "v2020")
    assert not description.synthetic
    assert description.settings == {"augmentation.mean": 0.5, "augmentation.std": 0.5}
    assert "7 frontal chest radiographs of 4 subjects from ChestX-ray14 (Wang et al., CVPR 2017)" in description.about
    assert list(description.files) == ["Data_Entry_2017_v2020.csv", "train_val_list.txt", "test_list.txt"]
    differences = description.details["differences_from_paper"]
    assert len(differences) == 21  # every count the paper prints
    assert differences[0] == "5 training images, where the paper prints 86,524."


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


@pytest.mark.parametrize(
    "table",
    [
        V2020.rstrip("\n"),  # the last row counts
        V2020.replace("\n", "\r\n"),
        V2020.replace("Patient Sex", "Patient Gender"),
        V2020.replace("OriginalImage[Width,Height]", "Width,Height"),
        V2020.replace(",\n", "\n"),
        V2020.encode("utf-8-sig"),
        gzip.compress(V2020.encode()),
        "\n".join(",".join(reversed(line.rstrip(",").split(","))) for line in V2020.splitlines()),
    ],
)
def test_the_same_table_written_otherwise(tmp_path: Path, table: str | bytes) -> None:
    expected = ChestXray14().listing(write(tmp_path / "a"), metadata_only=True)
    found = ChestXray14().listing(write(tmp_path / "b", table), metadata_only=True)
    pd.testing.assert_frame_equal(found.index, expected.index)
    assert found.description.release == "v2020"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\n\n"])
def test_lists_end_their_lines_as_they_like(tmp_path: Path, ending: str) -> None:
    expected = ChestXray14().listing(write(tmp_path), metadata_only=True).index
    for name in ("train_val_list.txt", "test_list.txt"):
        lines = (tmp_path / name).read_text().split("\n")
        (tmp_path / name).unlink()
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(ending.join(lines).encode()))
    pd.testing.assert_frame_equal(ChestXray14().listing(tmp_path, metadata_only=True).index, expected)


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
        sources[name] = FileSource(ChestXray14().listing(root, metadata_only=False))
        pd.testing.assert_frame_equal(sources[name].index, sources["flat"].index)
        # Rows 3 and 4 are the sixth and seventh images in reverse order.
        assert [int(sources[name].read(row, 8)[0, 0]) for row in (0, 2, 3, 4)] == [0, 60, 180, 150]
    nested = ChestXray14().listing(tmp_path / "nested", metadata_only=False)
    assert nested.paths[:3] == [
        "images_001/images/00000001_000.png",
        "images_001/images/00000001_001.png",
        "images_002/images/00000002_000.png",
    ]


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
        "error: images in two places": ("images/00000001_000.png and more/00000001_000.png",),
        "warning: images without a row in the table, left out": ("00000099_000.png",),
        "error: missing images": ("00000002_000.png",),
    }
    with pytest.raises(ValueError, match=r"--data-root '.*/my data' --out '.*/my data'/mine\.csv` \(1\): 00000002_000"):
        FileSource(listing)


def test_no_images_at_all(tmp_path: Path) -> None:
    listing = ChestXray14().listing(write(tmp_path), metadata_only=False)
    assert [len(finding.places) for finding in listing.findings.errors] == [7]
    assert "finish the download" in listing.findings.errors[0].what


@pytest.mark.parametrize(
    ("cell", "years"),
    [
        *[("57", 57), ("057", 57), ("57.0", 57), ("0", 0), ("120", 120), ("058Y", 58), ("58y", 58), ("000Y", 0)],
        *[("013M", 1), ("011M", 0), ("024M", 2), ("005D", 0), ("364D", 0), ("730D", 2)],
        *[("121", math.nan), ("411", math.nan), ("411Y", math.nan), ("", math.nan), ("-1", math.nan)],
        *[("old", math.nan), ("58.5", math.nan), ("58W", math.nan), ("5 8", math.nan), ("٥٨", math.nan)],
    ],
)
def test_ages(tmp_path: Path, cell: str, years: float) -> None:
    (tmp_path / "t.csv").write_text(",".join(COLUMNS) + f"\nx,y,1,{cell},PA\n", encoding="utf-8")
    np.testing.assert_array_equal(years_of_age(read_table(tmp_path / "t.csv", COLUMNS)), [years])


@pytest.mark.parametrize("cell", ["411", "", "unknown"])
def test_an_age_that_cannot_be_takes_the_subject_out_of_evaluation(tmp_path: Path, cell: str) -> None:
    table = V2020.replace("1,1,58,M", f"1,1,{cell},M").replace("0,3,74,F", f"0,3,{cell},F")
    listing = ChestXray14().listing(write(tmp_path, table), metadata_only=True)
    np.testing.assert_array_equal(listing.index["months"], [math.nan] * 2 + [0] + [math.nan] * 2 + [0, 12])
    assert listing.index["age"].tolist() == ["57", "", "80", "", "81", "69", "70"]
    assert listing.description.details["months_unknown"] == 4
    (finding,) = (finding for finding in listing.findings if "ages" in finding.what)
    assert finding.severity == "warning"
    assert finding.what == (
        "ages that are none from 0 to 120 years: the first visits of these subjects are unknown, "
        "so that their 4 images may be trained on and are not evaluated"
    )
    assert finding.places == (f"00000001_001.png {cell!r}", f"00000003_001.png {cell!r}")


def test_year_13_is_dropped_from_the_test_alone(tmp_path: Path) -> None:
    table = V2020.replace("0,3,74,F", "0,3,68,F").replace("0,8,69,F", "0,8,57,F")
    table += "00000003_002.png,Hernia,6,3,80,F,PA,1,1,1,1,\n"
    root = write(tmp_path, table)
    (root / "test_list.txt").write_text("\n".join([*TEST, "00000003_002.png"]))
    add_images(root)  # all but the last
    Image.new("L", (8, 8)).save(root / "00000003_002.png")
    (root / "00000003_000.png").unlink()  # the dropped image need not be there
    listing = ChestXray14().listing(root, metadata_only=False)
    assert told(listing) == {"note: test images beyond year 12, dropped as by the paper": ("00000003_000.png",)}
    assert listing.index["image"].tolist() == [*TRAIN[:3], TEST[1], *TRAIN[3:], "00000003_002.png"]
    assert listing.index["months"].tolist() == [0, 12, 0, 0, 0, 156, 144]
    assert FileSource(listing).description.details["findings"] == [
        {"severity": "note", "what": "test images beyond year 12, dropped as by the paper", "count": 1}
    ]


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (
            V2020.replace("Cardiomegaly,0,1", "Cardiomegaly,0,"),
            {"error: rows without a Patient ID": ("line 2",)},
        ),
        (
            V2020.replace("00000002_000.png", ""),
            {
                "error: rows without an image": ("line 4",),
                "error: images in the lists without a row in the table": ("00000002_000.png",),
            },
        ),
        (
            V2020.replace("No Finding,0,2,80", "No Finding,0,22,80"),
            {"error: images named after another patient than their Patient ID": ("00000002_000.png of 22",)},
        ),
        (
            V2020 + V2020.splitlines()[-1],
            {"error: images named more than once": ("00000008_001.png",)},
        ),
        (
            V2020.replace("80,M", "80,O").replace("Hernia,7", ",7"),
            {
                "warning: sexes other than M, F, taken as unknown": ("line 4 'O'",),
                "warning: rows without a finding label, their disease taken as unknown": ("line 6",),
            },
        ),
    ],
)
def test_rows_that_are_wrong(tmp_path: Path, table: str, found: dict[str, tuple[str, ...]]) -> None:
    assert told(ChestXray14().listing(write(tmp_path, table), metadata_only=True)) == found


def test_a_lacking_cell_is_not_hidden_by_the_separator_that_ends_every_row(tmp_path: Path) -> None:
    write(tmp_path, V2020.replace("0,2,80,M", "2,80,M"))
    with pytest.raises(ValueError, match=r"rows without the 12 cells of the header \(1\): line 4 has 11"):
        ChestXray14().listing(tmp_path, metadata_only=True)


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
    with pytest.raises(ValueError, match="must hold one") as caught:
        ChestXray14().listing(root, metadata_only=True)
    assert str(caught.value) == (
        f"{root} must hold one Data_Entry_2017*.csv, one train_val_list.txt, one test_list.txt (each may end in .gz); "
        "found\n"
        "  Data_Entry_2017*.csv: Data_Entry_2017.csv, Data_Entry_2017_v2020.csv\n"
        "  train_val_list.txt: train_val_list.txt, train_val_list.txt.gz\n"
        "  test_list.txt: none\n"
        "Give the folder that ChestX-ray14 was downloaded to, and keep one file of each."
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (V2020.replace("Patient Sex", "Gender"), "has 0 of the columns Patient Sex and Patient Gender"),
        (V2020.replace("OriginalImage[Width", "Patient Gender"), "has 2 of the columns"),
        (V2020.replace("Patient Age", "Age"), r"lacks the columns \['patient age'\]"),
        (V2020.replace("0,2,80,M,", ""), r"rows without the 12 cells of the header \(1\): line 4 has 8"),
        (V2020[:-40], "rows without the 12 cells of the header"),  # a download that broke off
        (HEADER_2020, "no rows"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChestXray14().listing(write(tmp_path, table), metadata_only=True)


def rows(*cells: str, header: str = "Image Index,Follow-up #,Patient ID,Patient Age,Patient Gender") -> str:
    """A table of these rows, with a blank view and no finding."""
    return "\n".join([f"{header},View Position,Finding Labels", *(f"{row},F,,No Finding" for row in cells)])


@pytest.mark.parametrize(
    ("table", "release", "evidence"),
    [
        # Each sign alone, whatever the name of the file.
        (rows("00000002_000.png,0,2,081Y"), "v2017", "ages with a unit or above 120: 1"),
        (rows("00000002_000.png,0,2,411"), "v2017", "ages with a unit or above 120: 1"),
        (
            rows("00000003_001.png,1,3,74", "00000003_000.png,0,3,81"),
            "v2017",
            "ages that fall from one follow-up to the next: 1",
        ),
        (rows("00000003_001.png,0,3,74"), "v2020", "follow-up numbers other than in the image's name: 1"),
        (rows("00000001_000.png,0,1,58"), "v2017", "age of 00000001_000.png: 58"),
        (rows("00000001_000.png,0,1,57"), "v2020", "age of 00000001_000.png: 57"),
        # The name of the column counts where there is no other sign.
        (rows("00000002_000.png,0,2,80").replace("Gender", "Sex"), "v2020", "a column Patient Sex"),
        (rows("00000001_000.png,000,1,58").replace("Gender", "Sex"), "v2017", "age of 00000001_000.png: 58"),
        (rows("00000002_000.png,0,2,80"), "unknown", "no sign of either release"),
        (rows("00000002_000.png,,2,"), "unknown", "no sign of either release"),
        (
            rows("00000003_001.png,0,3,74", "00000004_000.png,0,4,082Y"),
            "unknown",
            "ages with a unit or above 120: 1, as in v2017; "
            "follow-up numbers other than in the image's name: 1, as in v2020",
        ),
    ],
)
def test_the_release_is_told_by_the_content(tmp_path: Path, table: str, release: str, evidence: str) -> None:
    (tmp_path / "t.csv").write_text(table)
    read = read_table(tmp_path / "t.csv", COLUMNS, OPTIONAL)
    assert release_of(read, years_of_age(read)) == (release, evidence)


def test_an_unknown_release_is_said(tmp_path: Path) -> None:
    lines = [
        line for line in V2020.replace("Sex", "Gender").splitlines() if not line.startswith(("00000001", "00000003"))
    ]
    listing = ChestXray14().listing(write(tmp_path, "\n".join(lines)), metadata_only=True)
    assert listing.description.release == "unknown (no sign of either release)"
    what = "warning: release unknown, while the paper's numbers come with v2020"
    assert told(listing)[what] == ("no sign of either release",)


def small_download(root: Path, development: int = 20, test: int = 8) -> Path:
    """The official layout, cut to the sample's images of some subjects that have later visits."""
    root.mkdir()
    sample = pd.read_csv(NIH / "images64_manifest.csv", dtype={"subject": str})
    later = sample[sample["subject"].isin(sample["subject"][sample["months"] > 0])]
    chosen = [
        name
        for split, count in (("train_val", development), ("test", test))
        for name in later[later["split"] == split]["subject"].unique()[:count]
    ]
    names = [Path(image).name for image in sample["image"][sample["subject"].isin(chosen)]]
    with gzip.open(NIH / "Data_Entry_2017_v2020.csv.gz", "rt") as file:
        header, *table = csv.reader(file)
    with (root / "Data_Entry_2017_v2020.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *(row for row in table if row[0] in names)])
    for name in ("train_val_list.txt", "test_list.txt"):
        listed = gzip.decompress((NIH / f"{name}.gz").read_bytes()).decode().split()
        (root / name).write_text("\n".join(image for image in listed if image in names))
    for name in names:
        folder = root / f"images_{int(name[:8]) % 3 + 1:03}" / "images"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(NIH / "images64" / name)
    return root


@needs_nih
def test_a_study_on_it_says_release_and_checksums_everywhere(tmp_path: Path) -> None:
    root = small_download(tmp_path / "download")
    options = Options(
        study="automargin_vs_grid",
        data="chestxray14",
        data_root=root,
        out=tmp_path / "out",
        backend="inline",
        gpus_per_trial=0.0,
        tracking_uri=f"sqlite:///{tmp_path}/mlflow.db",
        banks=tmp_path / "banks",
    )
    assert run_plan(mini_plan(epochs=1, replicates=1), options, Console(quiet=True)) == DONE
    files = {
        name: hashlib.sha256((root / name).read_bytes()).hexdigest()
        for name in ("Data_Entry_2017_v2020.csv", "train_val_list.txt", "test_list.txt")
    }
    data = StudyFile.read(options.folder / "study.json").data
    assert (data.name, data.kind, data.release, data.files) == (*["chestxray14"] * 2, "v2020", files)
    assert not data.synthetic
    records = list(read_records(options.folder))
    assert len(records) == 8
    for record in records:
        assert record.status == "completed"
        assert (record.data["name"], record.data["release"]) == ("chestxray14", "v2020")
        assert record.data["files"] == files
        augmentation = record.config["augmentation"]
        assert (augmentation["mean"], augmentation["std"]) == (0.5, 0.5)
