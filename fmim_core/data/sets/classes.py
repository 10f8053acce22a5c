"""Data sets of classes: class folders, and metric learning's benchmarks as they are downloaded."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from fmim_core.data.image_set import BOTH
from fmim_core.data.images.check import image_files
from fmim_core.data.sets.base import DATA_SETS, DataSet, Listing, check_index
from fmim_core.data.tables.findings import Findings, shortened
from fmim_core.data.tables.formats import read_content
from fmim_core.data.tables.reading import read_lines

COUNTS = ("train classes", "train images", "test classes", "test images", "test queries", "test gallery")
SIDES = {"train", "training", "test", "testing", "val", "valid", "validation", "dev"}  # as others call folders
IMAGENET = {"augmentation.mean": 0.449, "augmentation.std": 0.226}  # means over its colours


class ClassImage(NamedTuple):
    """An image by its full path, its class, and its split and role as an index has them."""

    image: Path
    subject: str
    split: str
    role: str = BOTH


class ClassSet(DataSet):
    """A data set of classes, each a subject; training never sees the test classes.

    what: the data set in words, with its source. lists: files that say what is in it, in its folder or `within` that.
    published: the `COUNTS` that its papers print. asked: what is searched for in the test.
    """

    what: ClassVar[str]
    lists: ClassVar[tuple[str, ...]] = ()
    within: ClassVar[str] = ""
    published: ClassVar[tuple[int, ...]] = ()
    asked: ClassVar[str] = "each of them is searched for among all others"

    @abstractmethod
    def images(self, root: Path, *lists: Path) -> Iterator[ClassImage]:
        """Yield the images; a `ValueError` or a `LookupError` says that the lists are not as they should be."""

    def listing(self, root: Path, metadata_only: bool) -> Listing:
        root, findings = root.resolve(), Findings()
        inner = (root / self.within).joinpath(*self.lists[:1])
        lists = [(inner.parent if inner.is_file() else root) / name for name in self.lists]
        try:
            if lacking := [path.name for path in lists if not path.is_file()]:
                raise ValueError(f"there is no {lacking[0]}")
            index = pd.DataFrame(self.images(root, *lists), columns=ClassImage._fields).assign(side="", months=np.nan)
        except (ValueError, LookupError) as error:
            raise ValueError(f"{root} cannot be read as {self.what}: {error}") from error
        index["image"] = paths = [os.path.relpath(path, root).replace(os.sep, "/") for path in index["image"]]
        findings.error(f"images outside {root}", [shortened(path) for path in paths if path.startswith("../")])
        if not metadata_only:
            missing = [shortened(path) for path in paths if not os.path.isfile(root / path)]
            findings.error(f"missing images: unpack all images into {root}", missing)
        check_index(index, findings)
        return self.listed(
            root,
            index,
            None if metadata_only else paths,
            findings,
            about=f"{len(index)} images of {index['subject'].nunique()} classes, {self.what}; the test images "
            f"are not trained on; {self.asked}.",
            files={path.name: read_content(path)[1] for path in lists},
            settings=IMAGENET,
            details={"published": dict(zip(COUNTS, self.published, strict=False))},
        ).with_channels()


@DATA_SETS.register
class ClassFolders(ClassSet):
    """Images of your own classes, one folder per class: CLASS/…, or train/CLASS/… and test/CLASS/….

    Without the folders train and test, the first half of the classes by name is trained on, as in CUB-200 and Cars-196.
    """

    kind: Literal["class_folders"] = "class_folders"
    what = "class folders"

    def images(self, root: Path, *lists: Path) -> Iterator[ClassImage]:
        found = {path: path.relative_to(root).parts[:-1] for path in image_files(root)}
        outer = {parts[0] for parts in found.values() if parts}
        at = int(outer == {"train", "test"})  # of the class, in the path
        sides = outer >= {"train", "test"} or {name.lower() for name in outer} <= SIDES
        if outer and not at and (sides or len(outer) == 1):
            said = f"the folders {', '.join(sorted(outer))} are not all classes, or there is only one"
            raise ValueError(f"{said}: use only train/CLASS/… and test/CLASS/…, or only CLASS/…")
        found = {path: parts for path, parts in found.items() if len(parts) > at}
        if not found:
            raise ValueError("there are no images in folders CLASS/…, or train/CLASS/… and test/CLASS/…")
        classes = sorted({parts[at] for parts in found.values()})
        half = {name: "train" if place < len(classes) // 2 else "test" for place, name in enumerate(classes)}
        for path, parts in found.items():
            yield ClassImage(path, parts[at], parts[0] if at else half[parts[0]])


@DATA_SETS.register
class CUB200(ClassSet):
    """CUB-200-2011, birds (Wah et al. 2011): classes 1 to 100 are for training, 101 to 200 for the test."""

    kind: Literal["cub200"] = "cub200"
    what = "CUB-200-2011 (Wah et al. 2011)"
    lists, within = ("images.txt", "image_class_labels.txt"), "CUB_200_2011"
    published = (100, 5864, 100, 5924)

    def images(self, root: Path, *lists: Path) -> Iterator[ClassImage]:
        paths, classes = map(_rows, lists)
        numbers = dict(classes)
        for image, path in paths:
            yield ClassImage(lists[0].parent / "images" / path, path.partition("/")[0], _half(numbers[image], 100))


@DATA_SETS.register
class Cars196(ClassSet):
    """Cars-196 (Krause et al. 2013): classes 1 to 98 are for training, 99 to 196 for the test.

    The download must be the one with `cars_annos.mat` and `car_ims/`.
    """

    kind: Literal["cars196"] = "cars196"
    what = "Cars-196 (Krause et al. 2013)"
    lists = ("cars_annos.mat",)
    published = (98, 8054, 98, 8131)

    def images(self, root: Path, *lists: Path) -> Iterator[ClassImage]:
        from scipy.io import loadmat

        try:
            rows = loadmat(lists[0], squeeze_me=True)["annotations"]
        except Exception as error:  # of damaged bytes
            raise ValueError(f"{lists[0].name} cannot be read: {error}") from error
        for row in rows:
            yield ClassImage(root / str(row["relative_im_path"]), str(row["class"]), _half(row["class"], 98))


@DATA_SETS.register
class StanfordOnlineProducts(ClassSet):
    """Stanford Online Products (Song et al. 2016), with its own lists of training and test images."""

    kind: Literal["sop"] = "sop"
    what = "Stanford Online Products (Song et al. 2016)"
    lists, within = ("Ebay_train.txt", "Ebay_test.txt"), "Stanford_Online_Products"
    published = (11318, 59551, 11316, 60502)

    def images(self, root: Path, *lists: Path) -> Iterator[ClassImage]:
        for split, path in zip(("train", "test"), lists, strict=True):
            for _, item, _, image in _rows(path)[1:]:
                yield ClassImage(path.parent / image, item, split)


@DATA_SETS.register
class InShop(ClassSet):
    """In-shop Clothes Retrieval of DeepFashion (Liu et al. 2016), with its own list of training, query and gallery.

    The images are in img/ or Img/img/. In validation every training image is searched for among all others.
    """

    kind: Literal["inshop"] = "inshop"
    what = "In-shop Clothes Retrieval (Liu et al. 2016)"
    lists, within = ("list_eval_partition.txt",), "Eval"
    published = (3997, 25882, 3985, 26830, 14218, 12612)
    asked = "the queries are searched for in the gallery"

    def images(self, root: Path, *lists: Path) -> Iterator[ClassImage]:
        parts = {"train": ("train", BOTH), "query": ("test", "query"), "gallery": ("test", "gallery")}
        folder = root / "Img" if (root / "Img" / "img").is_dir() else root
        for image, item, part in _rows(lists[0])[2:]:
            yield ClassImage(folder / image, item, *parts[part])


def _half(number: str, last: int) -> str:
    """Return the side of a class by its number, of which those up to `last` are trained on."""
    return "train" if int(number) <= last else "test"


def _rows(path: Path) -> list[list[str]]:
    return [line.split() for line in read_lines(path)[0]]
