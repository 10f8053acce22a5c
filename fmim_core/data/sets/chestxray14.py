"""ChestX-ray14 as the NIH gives it out: one table, two lists, and the images flat or in folders."""

from __future__ import annotations

import fnmatch
import os
import shlex
from collections import defaultdict
from pathlib import Path
from typing import Literal

import pandas as pd

from fmim_core.data.files import files_below
from fmim_core.data.sets.base import DATA_SETS, DataSet, Listing, check_index
from fmim_core.data.sets.chestxray14_table import COLUMNS, IMAGE, OPTIONAL, listed_index, release_of, years_of_age
from fmim_core.data.tables.findings import Findings
from fmim_core.data.tables.reading import read_lines, read_table

TABLE = "Data_Entry_2017*.csv"
LISTS = {"train_val_list.txt": "train", "test_list.txt": "test"}
LAST_YEAR = 12  # of queries, in the paper
FOLDER_DEPTH = 3  # below the root: enough for CXR8/images_001/images, too little to walk through a whole disk
NORMALISATION = {"augmentation.mean": 0.5, "augmentation.std": 0.5}

PAPER = {
    "training images": 86524,
    "training subjects": 28008,
    "% male among the training images": 56.0,
    "training images with disease": 36324,
    "test images": 25587,
    "test subjects": 2797,
    "% male among the test images": 58.1,
    "test images with disease": 15735,
    "gallery images": 13137,
} | {
    f"queries at year {year}": count
    for year, count in enumerate((5662, 1944, 1216, 1123, 636, 528, 541, 236, 304, 105, 75, 80), start=1)
}
"""The paper's counts (AdaTriplet, MICCAI 2022, supplementary table of the data)."""


@DATA_SETS.register
class ChestXray14(DataSet):
    """ChestX-ray14, chest radiographs of the NIH, used as in the paper, in the folder it was downloaded to.

    The folder holds one `Data_Entry_2017*.csv` of either release, `train_val_list.txt` and `test_list.txt`, gzipped or
    not; images are found by name in it and in its folders. A subject's baseline is the smallest age, and months =
    12 × (age − smallest age), with ages in whole years. As in the paper, test images after year 12 are left out;
    training images are not.
    """

    kind: Literal["chestxray14"] = "chestxray14"

    def listing(self, root: Path, metadata_only: bool) -> Listing:
        """List the folder.

        Raises:
            ValueError: a table or list is missing, there twice, or cannot be read. What is wrong with the rows and the
                images is in the listing's findings.
        """
        root = root.resolve()
        files = _files(root)
        table = read_table(files[TABLE], COLUMNS, OPTIONAL)
        lists = {split: read_lines(files[name]) for name, split in LISTS.items()}
        findings = Findings()
        ages = years_of_age(table)
        listed = listed_index(table, ages, {split: names for split, (names, _) in lists.items()}, findings)
        beyond = (listed["split"] == "test") & (listed["months"] > 12 * LAST_YEAR)
        findings.note(f"test images after year {LAST_YEAR}, left out as in the paper", listed["image"][beyond])
        index = listed[~beyond].reset_index(drop=True)
        paths = None if metadata_only else _image_paths(root, index, set(listed["image"].dropna()), findings)
        check_index(index, findings)
        release, evidence = release_of(table, ages)
        if release != "v2020":
            findings.warning(f"release {release}, but the paper used v2020", [evidence])
        return self.listed(
            root,
            index,
            paths,
            findings,
            about=f"{len(index)} frontal chest radiographs of {index['subject'].nunique()} subjects "
            f"from ChestX-ray14 (Wang et al., CVPR 2017), release {release}.",
            release=f"unknown ({evidence})" if release == "unknown" else release,
            files={
                table.path.name: table.sha256,
                **{files[name].name: lists[split][1] for name, split in LISTS.items()},
            },
            settings=NORMALISATION,
            details={
                "release_evidence": evidence,
                "split": {"rule": "official lists"},
                "months_unknown": int(index["months"].isna().sum()),
                "differences_from_paper": differences_from_paper(index, listed),
            },
        )


def differences_from_paper(index: pd.DataFrame, listed: pd.DataFrame) -> list[str]:
    """Return sentences on every count of `PAPER` that `index` does not give, one for all that the dropped images give.

    Args:
        index: the images used. listed: the same and the test images beyond `LAST_YEAR`.
    """
    here, with_dropped = _counts(index), _counts(listed)
    differing = [name for name, published in PAPER.items() if here[name] != published]
    counted = [name for name in differing if with_dropped[name] == PAPER[name]]
    sentences = [f"{here[n]:,} {n}; the paper has {PAPER[n]:,}." for n in differing if n not in counted]
    if counted:
        sentences.insert(
            0,
            f"The paper's rule leaves out {len(listed) - len(index):,} test images after year {LAST_YEAR} "
            f"({with_dropped['test images']:,} → {here['test images']:,}), but "
            + " and ".join(f"its {PAPER[name]:,} {name}" for name in counted)
            + " include them. Without them there are "
            + " and ".join(f"{here[name]:,}" for name in counted)
            + ".",
        )
    return sentences


def _counts(index: pd.DataFrame) -> dict[str, float]:
    """Count what `PAPER` counts, under the same names."""
    counts: dict[str, float] = {}
    for split, word in (("train", "training"), ("test", "test")):
        part = index[index["split"] == split]
        counts |= {
            f"{word} images": len(part),
            f"{word} subjects": part["subject"].nunique(),
            f"% male among the {word} images": round(100 * float((part["sex"] == "M").mean()), 1),
            f"{word} images with disease": int((part["disease"] == "yes").sum()),
        }
    by_month = index["months"][index["split"] == "test"].value_counts()
    queries = {f"queries at year {year}": int(by_month.get(12 * year, 0)) for year in range(1, LAST_YEAR + 1)}
    return counts | {"gallery images": int(by_month.get(0, 0))} | queries


def _files(root: Path) -> dict[str, Path]:
    """Find the table and both lists in `root`, each of which must be there once, gzipped or not."""
    try:
        names = sorted(name for name in os.listdir(root) if not name.endswith(".png"))
    except OSError as error:
        raise ValueError(f"{root} cannot be read: {error.strerror}") from None
    wanted = (TABLE, *LISTS)
    found = {name: fnmatch.filter(names, name) + fnmatch.filter(names, f"{name}.gz") for name in wanted}
    if wrong := [f"{name}: {', '.join(some) or 'none'}" for name, some in found.items() if len(some) != 1]:
        raise ValueError(
            f"{root} must contain one {', one '.join(wanted)} (each may end in .gz). Found:\n  "
            + "\n  ".join(wrong)
            + "\nGive the folder that ChestX-ray14 was downloaded to, and keep only one file of each."
        )
    return {name: root / some[0] for name, some in found.items()}


def _image_paths(root: Path, index: pd.DataFrame, known: set[str], findings: Findings) -> list[str | None]:
    """Return the file of each row of `index`, relative to `root`, if any; `known` are all images of the table."""
    found, closed = defaultdict(list), list[OSError]()
    for path in files_below(root, FOLDER_DEPTH, closed.append):
        name = path.rpartition("/")[2]
        if (name in known or IMAGE.fullmatch(name)) and os.path.isfile(root / path):
            found[name].append(path)
    shut = [f"{os.path.relpath(error.filename, root)}/ ({error.strerror})" for error in closed]
    findings.warning("folders that cannot be opened, so their images were not found", shut)
    folder = shlex.quote(str(root))
    twice = sorted(" and ".join(places) for places in found.values() if len(places) > 1)
    findings.error(f"images found more than once: keep one of each below {folder}", twice)
    findings.warning("images without a row in the table, left out", sorted(found.keys() - known))
    findings.error(
        "missing images: finish the download, or make a data set of the images you have with "
        f"`fmim data manifest chestxray14 --data-root {folder} --out {folder}/mine.csv`",
        [image for image in index["image"].dropna() if image not in found],
    )
    return [found[image][0] if image in found else None for image in index["image"]]
