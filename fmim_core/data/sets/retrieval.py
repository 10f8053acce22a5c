"""The benchmarks of metric learning as they are downloaded: CUB-200-2011, Cars-196, SOP and In-shop."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Literal

from fmim_core.data.sets.base import DATA_SETS
from fmim_core.data.sets.classes import ClassImage, ClassSet, Found, Published
from fmim_core.data.tables.formats import as_text, read_content
from fmim_core.data.tables.reading import read_lines


@DATA_SETS.register
class CUB200(ClassSet):
    """CUB-200-2011, birds (Wah et al. 2011): classes 1 to 100 are trained on, 101 to 200 are the test's.

    The folder, or CUB_200_2011/ in it, holds `images.txt`, `image_class_labels.txt` and `images/`.
    """

    kind: Literal["cub200"] = "cub200"
    what = "birds of CUB-200-2011 (Wah et al. 2011)"
    published = Published(100, 5864, 100, 5924)

    def found(self, root: Path) -> Found:
        folder = _folder_with("images.txt", root, root / "CUB_200_2011")
        images, labels = folder / "images.txt", folder / "image_class_labels.txt"
        classes, found = dict(_rows(labels, 2)), []
        for number, path in _rows(images, 2):
            split = _side_of(classes.get(number, f"none of image {number}"), 100, labels)
            found.append(ClassImage(f"images/{path}", path.partition("/")[0], split))
        return Found(folder, found, (images, labels))


@DATA_SETS.register
class Cars196(ClassSet):
    """Cars-196 (Krause et al. 2013): classes 1 to 98 are trained on, 99 to 196 are the test's.

    The folder holds `cars_annos.mat` and `car_ims/`; or, as Kaggle has it, `anno_train.csv`, `anno_test.csv`,
    `names.csv` and `car_data/car_data/`.
    """

    kind: Literal["cars196"] = "cars196"
    what = "cars of Cars-196 (Krause et al. 2013)"
    published = Published(98, 8054, 98, 8131)

    def found(self, root: Path) -> Found:
        if (names := root / "names.csv").is_file():
            return self._found_by_tables(root, names)
        from scipy.io import loadmat

        path = _folder_with("cars_annos.mat", root) / "cars_annos.mat"
        try:
            table = loadmat(io.BytesIO(read_content(path)[0]), squeeze_me=True)["annotations"]
            rows = [(str(row["relative_im_path"]), str(row["class"])) for row in table]
        except Exception as error:  # of damaged bytes
            raise ValueError(f"{path} is not Cars-196's file of annotations: {error}") from error
        return Found(root, [ClassImage(image, car, _side_of(car, 98, path)) for image, car in rows], (path,))

    def _found_by_tables(self, root: Path, names: Path) -> Found:
        folders = [line.strip('"').replace("/", "-") for line in read_lines(names)[0]]
        found, tables = [], {split: root / f"anno_{split}.csv" for split in ("train", "test")}
        for split, path in tables.items():
            for image, *_, car in csv.reader(io.StringIO(as_text(path, read_content(path)[0]))):
                side, folder = _side_of(car, 98, path), folders[int(car) - 1]
                found.append(ClassImage(f"car_data/car_data/{split}/{folder}/{image}", car, side))
        return Found(root, found, (names, *tables.values()))


@DATA_SETS.register
class StanfordOnlineProducts(ClassSet):
    """Stanford Online Products (Song et al. 2016), by its own lists.

    The folder, or Stanford_Online_Products/ in it, holds `Ebay_train.txt`, `Ebay_test.txt` and the folders they name.
    """

    kind: Literal["sop"] = "sop"
    what = "products of Stanford Online Products (Song et al. 2016)"
    published = Published(11318, 59551, 11316, 60502)

    def found(self, root: Path) -> Found:
        folder = _folder_with("Ebay_train.txt", root, root / "Stanford_Online_Products")
        lists = {split: folder / f"Ebay_{split}.txt" for split in ("train", "test")}
        rows = ((split, row) for split, path in lists.items() for row in _rows(path, 4, header=1))
        return Found(
            folder, [ClassImage(image, item, split) for split, (_, item, _, image) in rows], tuple(lists.values())
        )


@DATA_SETS.register
class InShop(ClassSet):
    """In-shop Clothes Retrieval of DeepFashion (Liu et al. 2016), by its own list of training, queries and gallery.

    The folder holds `list_eval_partition.txt`, there or in Eval/, and `img/`, there or in Img/. In validation every
    training image is searched for among all others.
    """

    kind: Literal["inshop"] = "inshop"
    what = "clothes of In-shop Clothes Retrieval (Liu et al. 2016)"
    published = Published(3997, 25882, 3985, 26830, 14218, 12612)

    def found(self, root: Path) -> Found:
        path = _folder_with("list_eval_partition.txt", root, root / "Eval") / "list_eval_partition.txt"
        kinds = {"train": ("train", "both"), "query": ("test", "query"), "gallery": ("test", "gallery")}
        rows = _rows(path, 3, header=2)
        if odd := {kind for _, _, kind in rows} - set(kinds):
            raise ValueError(f"{path}: the last column is one of {', '.join(kinds)}, and not {', '.join(sorted(odd))}")
        folder = root if (root / "img").is_dir() or not (root / "Img").is_dir() else root / "Img"
        return Found(folder, [ClassImage(image, item, *kinds[kind]) for image, item, kind in rows], (path,))


def _side_of(number: str, last: int, path: Path) -> str:
    """Return the side of a class by its number, of which those up to `last` are trained on."""
    if not number.isdecimal():
        raise ValueError(f"{path}: classes are numbers, and not {number!r}")
    return "train" if int(number) <= last else "test"


def _folder_with(name: str, *folders: Path) -> Path:
    for folder in folders:
        if (folder / name).is_file():
            return folder
    raise ValueError(f"there is no {name} in {' or '.join(map(str, folders))}: give the folder of the whole download")


def _rows(path: Path, width: int, header: int = 0) -> list[list[str]]:
    """Return the lines of a list below its header, cut at blanks into so many parts."""
    rows = [line.split(maxsplit=width - 1) for line in read_lines(path)[0][header:]]
    if odd := [" ".join(row) for row in rows if len(row) != width]:
        raise ValueError(f"{path} has a line without the {width} parts of the others: {odd[0][:80]!r}")
    return rows
