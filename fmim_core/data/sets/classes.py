"""Images of classes, as metric learning's own benchmarks have them: every one is searched for among all others."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd

from fmim_core.data.image_set import BOTH
from fmim_core.data.images.check import image_files
from fmim_core.data.sets.base import DATA_SETS, DataSet, Listing, check_index
from fmim_core.data.source import SourceDescription
from fmim_core.data.tables.findings import Findings, shortened
from fmim_core.data.tables.formats import read_content


class ClassImage(NamedTuple):
    """An image of a class: its path below the data set's folder, the class, and cells as an index has them."""

    image: str
    subject: str
    split: str
    role: str = BOTH


class Found(NamedTuple):
    """What a folder holds: the folder that paths begin in, the images, and the lists that say so."""

    folder: Path
    images: Sequence[ClassImage]
    lists: Sequence[Path] = ()


class Published(NamedTuple):
    """Counts of a data set, as its papers print them; of the test also queries and gallery where these differ."""

    train_classes: int
    train_images: int
    test_classes: int
    test_images: int
    test_queries: int = 0
    test_gallery: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Return those that there are, by their names in words."""
        return {name.replace("_", " "): count for name, count in self._asdict().items() if count}


class ClassSet(DataSet):
    """A data set of classes, each of which is a subject; those of the test are never trained on.

    what: the data set in words, with its source. published: its counts as they are printed, if they are.
    """

    what: ClassVar[str]
    published: ClassVar[Published | None] = None

    @abstractmethod
    def found(self, root: Path) -> Found:
        """Read the lists of the folder `root`.

        Raises:
            ValueError: one is missing or cannot be read.
        """

    def listing(self, root: Path, metadata_only: bool) -> Listing:
        folder, images, lists = self.found(root.resolve())
        index = pd.DataFrame(images, columns=list(ClassImage._fields)).assign(side="", months=np.nan)
        paths, findings = index["image"].tolist(), Findings()
        outside = [path for path in paths if os.path.isabs(path) or ".." in path.split("/")]
        findings.error(f"images not inside {folder}", map(shortened, outside))
        if not metadata_only:
            missing = [path for path in paths if not os.path.isfile(folder / path)]
            findings.error(f"missing images: unpack all of them below {folder}", map(shortened, missing))
        check_index(index, findings)
        asked = (
            "each is searched for among all others" if {*index["role"]} == {BOTH} else "queries and gallery as listed"
        )
        return Listing(
            description=SourceDescription(
                name=self.kind,
                kind=self.kind,
                synthetic=False,
                about=f"{len(index)} images of {index['subject'].nunique()} classes, {self.what}; {asked}, of classes "
                "that were not trained on.",
                files={path.name: read_content(path)[1] for path in lists},
                settings={"augmentation.mean": 0.449, "augmentation.std": 0.226},  # ImageNet's, over its colours
                details={"published": self.published.counts} if self.published else {},
            ),
            origin=folder,
            root=folder,
            index=index,
            paths=[None] * len(paths) if metadata_only else paths,
            findings=findings,
            mirror_right=False,
            metadata_only=metadata_only,
        ).with_channels()


@DATA_SETS.register
class ClassFolders(ClassSet):
    """Images of your own classes, a folder each: CLASS/…, or train/CLASS/… and test/CLASS/….

    Without the folders train and test, the first half of the classes in the order of their names is trained on, as the
    field does with CUB-200 and Cars-196.
    """

    kind: Literal["class_folders"] = "class_folders"
    what = "a folder each"

    def found(self, root: Path) -> Found:
        parts = [path.relative_to(root).parts for path in image_files(root)]
        at = int({part[0] for part in parts if len(part) > 1} == {"train", "test"})  # of the class
        parts = [part for part in parts if len(part) > at + 1]
        if not parts:
            raise ValueError(
                f"{root} has no images in folders: give one with CLASS/…, or train/CLASS/… and test/CLASS/…"
            )
        classes = sorted({part[at] for part in parts})
        half = dict.fromkeys(classes, "test") | dict.fromkeys(classes[: len(classes) // 2], "train")
        rows = (("/".join(part), part[at], part[0] if at else half[part[0]]) for part in parts)
        return Found(root, [ClassImage(*row) for row in rows])
