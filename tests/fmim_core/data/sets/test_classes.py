"""Class folders and small ones of the shapes of the benchmarks, which pytorch-metric-learning reads alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytorch_metric_learning.datasets.cub import CUB
from pytorch_metric_learning.datasets.sop import StanfordOnlineProducts
from scipy.io import savemat

from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.base import DATA_SETS, Listing
from tests.support.classes import SIDE, cub, save_thing

Make = Callable[[Path], None]


def listed(kind: str, root: Path, metadata_only: bool = False) -> Listing:
    return DATA_SETS.make({"kind": kind}).listing(root, metadata_only)


def cars(root: Path) -> None:
    """Classes 97 to 100, three images each."""
    names = [f"car_ims/{number:06d}.jpg" for number in range(1, 13)]
    for number, name in enumerate(names):
        save_thing(root / name, number // 3, number)
    kinds = [("relative_im_path", object), ("bbox_x1", np.uint8), ("class", np.uint8), ("test", np.uint8)]
    rows = [(name, 1, 97 + number // 3, number % 2) for number, name in enumerate(names)]
    savemat(root / "cars_annos.mat", {"annotations": np.array([rows], dtype=kinds)})


def sop(root: Path) -> None:
    """Two products on each side, of two images each."""
    folder = root / "Stanford_Online_Products"
    for split, products in (("train", (1, 2)), ("test", (11319, 11320))):
        lines = ["image_id class_id super_class_id path"]
        for product in products:
            for number in range(2):
                name = f"bicycle_final/{product}_{number}.JPG"
                save_thing(folder / name, product, number)
                lines.append(f"{len(lines)} {product} 1 {name}")
        (folder / f"Ebay_{split}.txt").write_text("\n".join(lines) + "\n")


def inshop(root: Path) -> None:
    """Two items to train on, two of the test, each with two queries and one image in the gallery."""
    rows = []
    train, test = ("train",) * 3, ("query", "query", "gallery")
    for item, kinds in ((1, train), (2, train), (7, test), (8, test)):
        for number, kind in enumerate(kinds):
            name = f"img/WOMEN/Tees/id_{item:08d}/{number:02d}_1_front.jpg"
            save_thing(root / "Img" / name, item, number)
            rows.append(f"{name}    id_{item:08d}    {kind}")
    (root / "Eval").mkdir()
    head = [str(len(rows)), "image_name item_id evaluation_status"]
    (root / "Eval" / "list_eval_partition.txt").write_text("\n".join([*head, *rows]) + "\n")


@pytest.mark.parametrize(
    ("kind", "make", "theirs"),
    [("cub200", cub, CUB), ("sop", sop, StanfordOnlineProducts)],
)
def test_images_classes_and_sides_are_those_of_pytorch_metric_learning(
    kind: str, make: Make, theirs: type, tmp_path: Path
) -> None:
    make(tmp_path)
    found = listed(kind, tmp_path)
    assert [one for one in found.findings if one.severity != "note"] == []
    for split in ("train", "test"):
        expected = theirs(root=str(tmp_path), split=split)
        ours = found.index[found.index["split"] == split]
        assert sorted(str(found.root / path) for path in ours["image"]) == sorted(expected.paths)
        labels = dict(zip(expected.paths, expected.labels, strict=True))
        names = zip(ours["image"], ours["subject"], strict=True)
        pairs = {(subject, labels[str(found.root / path)]) for path, subject in names}
        assert len(pairs) == len({one for one, _ in pairs}) == len({one for _, one in pairs}) == 2


@pytest.mark.parametrize(
    ("kind", "make", "counts"),
    [
        ("cub200", cub, {("train", "both"): 6, ("test", "both"): 6}),
        ("cars196", cars, {("train", "both"): 6, ("test", "both"): 6}),
        ("sop", sop, {("train", "both"): 4, ("test", "both"): 4}),
        ("inshop", inshop, {("train", "both"): 6, ("test", "query"): 4, ("test", "gallery"): 2}),
    ],
)
def test_a_folder_as_it_is_downloaded_becomes_a_bank_in_colour(
    kind: str, make: Make, counts: dict[tuple[str, str], int], tmp_path: Path
) -> None:
    make(tmp_path)
    found = listed(kind, tmp_path)
    assert Counter(zip(found.index["split"], found.index["role"], strict=True)) == counts
    assert (found.index["subject"].groupby(found.index["split"]).nunique() == 2).all()
    bank = build_bank(found.source(), SIDE, tmp_path.with_name("banks"))
    development, test = bank.development(), bank.open_test()
    assert (bank.images.shape[1:], development.same_set) == ((SIDE, SIDE, 3), True)
    assert test.same_set == (kind != "inshop")
    assert bank.summary["test"]["queries_without_match"] == 0
    assert bank.summary["test"]["queries"] == counts.get(("test", "query"), len(test))
    assert len(found.description.files) > 0
    without = listed(kind, tmp_path, metadata_only=True)
    assert without.index.equals(found.index)


def test_class_folders_are_split_by_their_names_or_into_halves(tmp_path: Path) -> None:
    for class_, name in enumerate(("ant", "bee", "cat", "dog", "eel")):
        for number in range(2):
            save_thing(tmp_path / "halves" / name / f"{number}.png", class_, number)
            save_thing(
                tmp_path / "sides" / ("test" if class_ < 2 else "train") / name / f"{number}.png", class_, number
            )
    save_thing(tmp_path / "halves" / "loose.png", 0, 0)
    halves, sides = (listed("class_folders", tmp_path / name).index for name in ("halves", "sides"))
    assert set(halves[halves["split"] == "train"]["subject"]) == {"ant", "bee"}
    assert set(sides[sides["split"] == "test"]["subject"]) == {"ant", "bee"}
    assert (len(halves), len(sides), set(sides["role"])) == (10, 10, {"both"})


@pytest.mark.parametrize(
    ("folders", "refused"),
    [
        (("train", "val", "test"), True),
        (("train", "test", "more"), True),
        (("Train", "Val"), True),
        (("images",), True),
        (("train", "bus", "car"), False),
    ],
)
def test_folders_of_other_sides_are_no_classes(folders: tuple[str, ...], refused: bool, tmp_path: Path) -> None:
    for class_, name in enumerate(folders):
        for number in range(2):
            save_thing(tmp_path / name / "ant" / f"{number}.png", class_, number)
    if refused:
        with pytest.raises(ValueError, match=r"are not all classes.*: use only train/CLASS"):
            listed("class_folders", tmp_path)
    else:
        assert set(listed("class_folders", tmp_path).index["subject"]) == {"train", "bus", "car"}


def test_classes_behind_links_are_read_and_hidden_copies_are_not(tmp_path: Path) -> None:
    for class_, name in enumerate(("a", "b", "c", "d")):
        save_thing(tmp_path / "elsewhere" / name / "0.png", class_, 0)
    root = tmp_path / "classes"
    root.mkdir()
    for path in (tmp_path / "elsewhere").iterdir():
        (root / path.name).symlink_to(path)
    (root / "a" / "up").symlink_to(root)
    (tmp_path / "elsewhere" / "a" / "._0.png").write_bytes(b"of a Mac")
    found = listed("class_folders", root)
    assert sorted(found.index["image"]) == ["a/0.png", "b/0.png", "c/0.png", "d/0.png"]
    assert (found.read(0).shape, len(found.rows())) == ((SIDE, SIDE, 3), 4)


def test_labels_of_cub_are_found_by_the_number_of_the_image(tmp_path: Path) -> None:
    cub(tmp_path)
    before = listed("cub200", tmp_path).index
    labels = tmp_path / "CUB_200_2011" / "image_class_labels.txt"
    labels.write_text("".join(reversed(labels.read_text().splitlines(keepends=True))))
    assert listed("cub200", tmp_path).index.equals(before)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"as CUB-200-2011 .*: there is no images\.txt"):
        listed("cub200", tmp_path)
    with pytest.raises(ValueError, match=r"as class folders: there are no images in folders CLASS/…, or train"):
        listed("class_folders", tmp_path)
    cub(tmp_path)
    (tmp_path / "CUB_200_2011" / "images" / "099.Some_bird" / "Some_bird_99_0.jpg").unlink()
    (error,) = listed("cub200", tmp_path).findings.errors
    assert (error.what.partition(":")[0], len(error.places)) == ("missing images", 1)
    (tmp_path / "CUB_200_2011" / "image_class_labels.txt").write_text("1 99\n2 ninety\n")
    with pytest.raises(ValueError, match=r"invalid literal .*'ninety'"):
        listed("cub200", tmp_path)
    sop(tmp_path)
    train = tmp_path / "Stanford_Online_Products" / "Ebay_train.txt"
    train.write_text(train.read_text().replace("bicycle_final/1_0.JPG", "../../etc/1_0.JPG"))
    outside, *_ = listed("sop", tmp_path).findings.errors
    assert outside.what.startswith("images outside")
    train.write_text("image_id class_id\n1 1\n")
    with pytest.raises(ValueError, match=r"as Stanford Online Products .*not enough values"):
        listed("sop", tmp_path)
    inshop(tmp_path)
    lines = (tmp_path / "Eval" / "list_eval_partition.txt").read_text().replace("gallery", "galery")
    (tmp_path / "Eval" / "list_eval_partition.txt").write_text(lines)
    with pytest.raises(ValueError, match=r"as In-shop .*'galery'"):
        listed("inshop", tmp_path)
    (tmp_path / "cars_annos.mat").write_bytes(b"none" * 99)
    with pytest.raises(ValueError, match=r"as Cars-196 .*Unknown mat file type"):
        listed("cars196", tmp_path)
    cars(tmp_path)
    whole = (tmp_path / "cars_annos.mat").read_bytes()
    (tmp_path / "cars_annos.mat").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"as Cars-196 .*cars_annos\.mat cannot be read"):
        listed("cars196", tmp_path)
