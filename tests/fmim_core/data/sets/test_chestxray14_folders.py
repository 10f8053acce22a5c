"""Folders of ChestX-ray14: its images in any layout, its lists, and what is missing, twice or contradicts."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from fmim_core.data.sets.base import FileSource
from fmim_core.data.sets.chestxray14 import FOLDER_DEPTH, ChestXray14
from tests.support.nih_folders import TEST, TRAIN, V2017, V2020, add_images, told, write


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
        "error: images in two places": ("images/00000001_000.png and more/00000001_000.png",),
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
    assert told(listing) == {"note: test images beyond year 12, dropped as by the paper": ("00000003_000.png",)}
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
    with pytest.raises(ValueError, match="must hold one") as caught:
        ChestXray14().listing(root, metadata_only=True)
    assert [line for line in str(caught.value).splitlines() if line.startswith("  ")] == [
        "  Data_Entry_2017*.csv: Data_Entry_2017.csv, Data_Entry_2017_v2020.csv",
        "  train_val_list.txt: train_val_list.txt, train_val_list.txt.gz",
        "  test_list.txt: none",
    ]
