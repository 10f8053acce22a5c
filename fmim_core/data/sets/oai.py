"""The Osteoarthritis Initiative (OAI): knee radiographs over 8 years, as anyone with its data use agreement has them.

A folder, in which the following may lie in any arrangement, and in folders of any name:

    enrollees                     ID, V00SITE (A to E), P02SEX (1 male, 2 female)
    allclinical00 01 03 05 06 08 10   ID, V00AGE, V01AGE, …
    kxr_sq_bu00 01 03 05 06 08 10     ID, SIDE (1 right, 2 left), V00XRKL, V01XRKL, …, and READPRJ
    outcomes99                    ID, V99ERKBLRP, V99ERKVSPR, V99ERKRPCF and the same with ELK; optional

each once, as SAS (.sas7bdat, .xpt), text separated by pipes, commas or tabs (.txt, .csv, .tsv) or Parquet, gzipped or
not. Names of files and columns count without case; a second line that describes the columns is skipped. Instead of
them, the edition of the NIMH Data Archive: oai_enrollee01 (src_subject_id, site, sex, ageyears), oai_kxrsemiquant01
(src_subject_id, visit, side, xrkl, readprj), oai_outcome01. Only the enrollees must be there: without the rest, ages,
grades or tkr are unknown. And either knee crops or films of both knees:

    <ID>_<months>_…_<L or R>.png                        also .jpg, .tif, .dcm; e.g. 9000001_12_x_R.png
    <months>m/<group>/<ID>/<date>/<exam>/<file>         e.g. 00m/0.C.2/9000001/20050101/00000001/001, DICOM or picture

Films need the knees' places: KNEEL's output (…npz), or a table with "landmarks" in its name (`knees_on_films`). A knee
is then a square of 140 mm around the middle of the joint, as KNEEL cuts it, or of the given width in pixels. Films of
the baseline visit are in OAI's screening download.

Months 0, 12, 24, 36, 48, 72, 96 are visits 00, 01, 03, 05, 06, 08, 10. Subject = ID, both knees; test = site C. The
age of a visit is its clinical table's, or baseline age + months/12. A knee's grade is its first known one in file
order; with disease = grade above 1. tkr tells whether a knee was replaced, wholly or partly, by that visit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fmim_core.data.sets.base import DATA_SETS, DataSet, Listing, check_index
from fmim_core.data.sets.oai_images import KneeImage, find_files, knees_in_files
from fmim_core.data.sets.oai_tables import VISITS, Metadata, named
from fmim_core.data.tables.findings import Findings

TEST_SITE = "C"

# The paper's numbers of its knee images (Suppl. Table 2).
GALLERY = 2610
QUERIES = {1: 2498, 2: 2430, 3: 2306, 4: 2252, 5: 0, 6: 1858, 7: 0, 8: 1694}
"""Years after baseline → test images."""
IMAGES, PARTICIPANTS, MEN, DISEASE = "images", "participants", "% men", "images with disease"
PARTS: dict[str, dict[str, float]] = {
    "train": {IMAGES: 37410, PARTICIPANTS: 3490, MEN: 59.1, DISEASE: 14240},
    "test": {IMAGES: 15648, PARTICIPANTS: 1306, MEN: 53.8, DISEASE: 5409},
}


@DATA_SETS.register
class OAI(DataSet):
    """Knee radiographs of the Osteoarthritis Initiative: its tables, and knee crops or films, anywhere in a folder."""

    kind: Literal["oai"] = "oai"

    def listing(self, root: Path, metadata_only: bool) -> Listing:
        """List the folder; with `metadata_only` the knees that its tables say were read.

        Raises:
            ValueError: no enrollees, no images, films without landmarks, the same thing twice, or a file that cannot be
                read. What is wrong with rows and images is in the listing's findings.
        """
        root = root.resolve()
        files = find_files(root)
        metadata = Metadata(root, files.tables)
        findings = Findings(metadata.noticed)
        landmarks: dict[str, str] = {}
        if metadata_only:
            images = [KneeImage("_".join(map(str, knee)), knee) for knee in sorted(metadata.grades)]
            if not images:
                raise ValueError(f"{root} has no readings (kxr_sq_bu00, …) to list the knees without images")
        else:
            images, landmarks = knees_in_files(root, files, findings)
        images = _placed(images, metadata, findings)
        index = _index(images, metadata)
        if not metadata_only:
            _compare(images, metadata, findings)
        check_index(index, findings)
        details: dict[str, Any] = {
            "split": {"rule": "site", "test": TEST_SITE},
            "right_images_mirrored": int((index["side"] == "R").sum()),
        }
        if not metadata_only:
            details["images"] = "films" if files.films else "crops"
            ageless = sum(metadata.ages.get(image.knee[:2]) is None for image in images)
            details["differences_from_paper"] = differences_from_paper(index, ageless)
        listing = self.listed(
            root,
            index,
            None if metadata_only else [image.path for image in images],
            findings,
            about=f"{len(index)} knee images of {index['subject'].nunique()} Osteoarthritis Initiative participants.",
            release=_release(files.tables, metadata),
            files=dict(metadata.files) | landmarks,
            settings={"augmentation.mean": 0.5, "augmentation.std": 0.3},
            details=details,
        )
        return replace(listing, windows={row: image.window for row, image in enumerate(images) if image.window})


def _placed(images: Sequence[KneeImage], metadata: Metadata, findings: Findings) -> list[KneeImage]:
    """Return the images that have a place in the study: a visit of the OAI, and a participant whose site is known."""
    no_visit = f"knees at visits other than months {', '.join(map(str, VISITS.values()))}, left out"
    stranger = "knees of participants who are not in enrollees, left out"
    no_site = "knees of participants whose site is unknown, left out"
    left_out: dict[str, list[str]] = {no_visit: [], stranger: [], no_site: []}
    placed = []
    for image in images:
        subject, month, _ = image.knee
        if month not in VISITS.values():
            left_out[no_visit].append(image.name)
        elif not metadata.sites.get(subject):
            left_out[no_site if subject in metadata.sites else stranger].append(image.name)
        else:
            placed.append(image)
    for what, places in left_out.items():
        findings.warning(what, places)
    return placed


def _index(images: Sequence[KneeImage], metadata: Metadata) -> pd.DataFrame:
    knees = [image.knee for image in images]
    grades = [metadata.grades.get(knee, "") for knee in knees]
    columns = {
        "image": [image.name for image in images],
        "subject": [subject for subject, _, _ in knees],
        "side": [side for _, _, side in knees],
        "months": [float(months) for _, months, _ in knees],
        "split": ["test" if metadata.sites[subject] == TEST_SITE else "train" for subject, _, _ in knees],
        "sex": [metadata.sexes[subject] for subject, _, _ in knees],
        "age": [metadata.age(subject, months) for subject, months, _ in knees],
        "disease": ["" if not grade else "yes" if int(grade) > 1 else "no" for grade in grades],
        "grade": grades,
        "tkr": [metadata.tkr(*knee) for knee in knees],
    }
    return pd.DataFrame(columns)


def _compare(images: Sequence[KneeImage], metadata: Metadata, findings: Findings) -> None:
    """Add what the tables know and the images lack, and the reverse."""
    months = sorted({image.knee[1] for image in images})
    if images and 0 not in months:
        what = "no image of the baseline visit: its films are in the OAI's screening download, folder 00m"
        findings.error(what, [f"{len(images)} images of months {', '.join(map(str, months))}"])
    for what, there in (("clinical table (allclinical…)", metadata.clinical), ("readings (kxr_sq_bu…)", metadata.read)):
        findings.warning(
            f"visits with images but no {what}", [f"month {month}" for month in months if month not in there]
        )
    visits = {image.knee[:2]: image.name for image in images}
    findings.warning(
        "knees without a row in the clinical table of their visit, still used",
        [image.name for image in images if image.knee[1] in metadata.clinical and image.knee[:2] not in metadata.ages],
    )
    findings.note(
        "visits without an age in their clinical table: their age is baseline age + months/12",
        [named(visit) for visit in visits if metadata.ages.get(visit) is None and metadata.age(*visit)],
    )
    findings.note(
        "knees without a known grade", [image.name for image in images if not metadata.grades.get(image.knee)]
    )
    twice = Counter(image.knee for image in images)
    findings.note("knees with more than one image at a visit", [named(knee) for knee, n in twice.items() if n > 1])
    findings.note(
        "knees with a row in a clinical table but no image",
        [named((*visit, side)) for visit in metadata.ages for side in "RL" if (*visit, side) not in twice],
    )
    strangers = {subject for subject, _ in metadata.ages} - metadata.sites.keys()
    findings.warning("participants in clinical tables who are not in enrollees", sorted(strangers))


def _release(tables: Mapping[str, str], metadata: Metadata) -> str:
    """Return each kind of table with the versions that its files tell: "clinical 0.2.2, 1.2.1; readings 0.8"."""
    told: dict[str, list[str]] = {}
    for what, path in tables.items():
        if version := metadata.versions.get(path):
            told.setdefault(what.split()[0], []).append(version)
    return "; ".join(f"{kind} {', '.join(sorted(set(versions)))}" for kind, versions in sorted(told.items()))


def differences_from_paper(index: pd.DataFrame, ageless: int) -> list[str]:
    """Return a sentence for each number that the paper prints and that this index, as `Listing` has it, does not give.

    `ageless`: how many of its images are of visits that have no age in their clinical table.
    """
    years = (index["months"][index["split"] == "test"] / 12).value_counts()
    printed = {"gallery images": GALLERY} | {f"queries at year {year}": count for year, count in QUERIES.items()}
    here = {"gallery images": int(years.get(0, 0))} | {f"queries at year {y}": int(years.get(y, 0)) for y in QUERIES}
    sentences = [
        f"test {what}: {here[what]:,} here, {n:,} in the paper" for what, n in printed.items() if here[what] != n
    ]
    for split, paper in PARTS.items():
        sentences += _differences(split, index[index["split"] == split], paper)
    if ageless:
        what = (
            "images of visits without an age in their clinical table are used here; the paper's authors leave them out"
        )
        sentences.append(f"{ageless:,} {what}")
    return sentences


def _differences(split: str, part: pd.DataFrame, paper: dict[str, float]) -> list[str]:
    people = part.drop_duplicates("subject")
    sexes = people["sex"][people["sex"] != ""]
    men = round(100 * float((sexes == "M").mean()), 1) if len(sexes) else None
    here = {IMAGES: len(part), PARTICIPANTS: len(people), MEN: men, DISEASE: int((part["disease"] == "yes").sum())}
    sentences = [
        f"{split} {what}: {'unknown' if here[what] is None else f'{here[what]:,}'} here, {printed:,} in the paper"
        for what, printed in paper.items()
        if here[what] != printed
    ]
    if men is not None and abs(100 - men - paper[MEN]) < abs(men - paper[MEN]):
        sentences.append(f"{split} % men: the paper's number is closer to the share of women here, {100 - men:.1f}")
    return sentences
