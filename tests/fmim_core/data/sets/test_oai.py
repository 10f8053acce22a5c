"""The OAI's images: joined to what the tables say, and everything that has no partner told."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fmim_core.data.sets.base import FileSource
from fmim_core.data.sets.oai import PARTS, QUERIES, differences_from_paper
from fmim_core.data.sets.oai_tables import VISITS
from tests.support.oai_folders import (
    IDS,
    WRITERS,
    crops,
    expected_index,
    found,
    knee,
    oai,
    people_folder,
    pipes,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return people_folder(tmp_path)


def test_crops(folder: Path) -> None:
    listing = oai(folder)
    pd.testing.assert_frame_equal(listing.index, expected_index())
    assert found(listing) == {}
    assert len(next(f for f in listing.findings if "no image" in f.what).places) == 4 * 5 * 2
    description = listing.description
    assert (description.name, description.kind, description.synthetic) == ("oai", "oai", False)
    assert description.about == "16 knee images of 4 Osteoarthritis Initiative participants."
    assert description.settings == {"augmentation.mean": 0.5, "augmentation.std": 0.3}
    assert description.release == "clinical 1.2; enrollees 25"
    path = folder / "metadata" / "kxr_sq_bu10.txt"
    assert description.files["metadata/kxr_sq_bu10.txt"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert len(description.files) == 15
    assert description.details["split"] == {"rule": "site", "test": "C"}
    assert description.details["right_images_mirrored"] == 8
    assert description.details["images"] == "crops"


def test_images_and_rows_without_each_other(folder: Path) -> None:
    pictures = folder / "ResizedImages"
    crops(pictures, ["9000009"], months=(0,))
    crops(pictures, ["9000001"], months=(18, 24), sides="R")
    for name in ("9000001_R.png", "IM-0001.jpg", "9000001_12_x_B.png"):
        Image.fromarray(knee()).save(pictures / name)
    Image.fromarray(knee()).save(pictures / "9000001_12_again_R.png")
    for name in ("Thumbs.db", ".hidden.png", "notes.txt"):
        (pictures / name).touch()
    pipes(folder / "metadata" / "AllClinical00", {"ID": [*IDS[1:], "9000007"], "V00AGE": [60, 60, 60, 50]})
    (folder / "metadata" / "AllClinical03.txt").unlink()
    (folder / "metadata" / "kxr_sq_bu03.txt").unlink()
    listing = oai(folder)
    assert len(listing.index) == 16 + 2
    row = listing.index.set_index("image").loc["ResizedImages/9000001_24_1234_R.png"]
    assert row[["age", "grade", "disease", "split"]].tolist() == ["", "", "", "train"]
    crop = "ResizedImages/9000001_{}.png".format
    assert found(listing, "warning") == {
        "image files left out, because their path does not give ID, visit and side": (
            crop("12_x_B"),
            crop("R"),
            "ResizedImages/IM-0001.jpg",
        ),
        "knees at visits other than months 0, 12, 24, 36, 48, 72, 96, left out": (crop("18_1234_R"),),
        "knees of participants who are not in enrollees, left out": (
            "ResizedImages/9000009_00_1234_L.png",
            "ResizedImages/9000009_00_1234_R.png",
        ),
        "visits with images but no clinical table (allclinical…)": ("month 24",),
        "visits with images but no readings (kxr_sq_bu…)": ("month 24",),
        "knees without a row in the clinical table of their visit, still used": (
            crop("00_1234_L"),
            crop("00_1234_R"),
        ),
        "participants in clinical tables who are not in enrollees": ("9000007",),
    }
    notes = {finding.what: finding.places for finding in listing.findings if finding.severity == "note"}
    assert notes["knees with more than one image at a visit"] == ("9000001 month 12 R",)
    assert notes["knees without a known grade"] == (crop("24_1234_R"),)
    without = notes["knees with a row in a clinical table but no image"]
    assert {"9000007 month 0 R", "9000002 month 96 L"} <= set(without)
    assert not {"9000002 month 0 R", "9000001 month 0 R", "9000001 month 24 L"} & set(without)
    noticed = FileSource(listing).description.details["findings"]
    assert {"severity": "note", "what": "knees with more than one image at a visit", "count": 1} in noticed


def test_what_is_to_be_there_once(folder: Path) -> None:
    WRITERS["xpt"](folder / "enrollees", {"ID": IDS, "V00SITE": list("ABCC")})
    pipes(folder / "oai_kxrsemiquant01", {"src_subject_id": IDS})
    film = folder / "films" / "00m" / "0.C.2" / "9000001" / "20050101" / "00000001" / "001"
    film.parent.mkdir(parents=True)
    film.touch()
    with pytest.raises(ValueError, match="files that exclude each other") as caught:
        oai(folder)
    assert str(caught.value).splitlines() == [
        f"{folder} has files that exclude each other: keep one of each",
        "  2 tables of enrollees: enrollees.xpt, metadata/Enrollees.txt",
        "  readings of two editions: oai_kxrsemiquant01.txt, metadata/kxr_sq_bu00.txt",
        "  16 knee crops (ResizedImages/9000001_00_1234_L.png, …) and 1 films of both knees "
        "(films/00m/0.C.2/9000001/20050101/00000001/001, …)",
    ]


def without_images(folder: Path) -> None:
    for path in (folder / "ResizedImages").iterdir():
        path.unlink()


def test_folders_that_are_refused(folder: Path) -> None:
    enrollees, readings = folder / "metadata" / "Enrollees.txt", folder / "metadata" / "kxr_sq_bu00.txt"
    content = enrollees.read_bytes()
    without_images(folder)
    crops(folder, IDS, months=(12, 24))
    with pytest.raises(ValueError, match=r"no image of the baseline visit: its films are in .* screening download"):
        FileSource(oai(folder))
    for path in folder.glob("*.png"):
        path.unlink()
    with pytest.raises(ValueError, match=r"have no knee images\. Add crops called <ID>_<months>_…_<L"):
        oai(folder)
    readings.rename(readings.with_suffix(".sas7bdat"))
    with pytest.raises(ValueError, match=r"kxr_sq_bu00\.sas7bdat cannot be read as SAS"):
        oai(folder)
    enrollees.write_bytes(content.replace(b"V00SITE", b"V00PLACE"))
    with pytest.raises(ValueError, match=r"Enrollees\.txt lacks the columns \['v00site'\]"):
        oai(folder)
    enrollees.unlink()
    with pytest.raises(ValueError, match=r"have no table called enrollees, .*enrollees\.sas7bdat, enrollees\.xpt"):
        oai(folder)


def test_the_metadata_alone(folder: Path) -> None:
    without_images(folder)
    listing = oai(folder, metadata_only=True)
    assert len(listing.index) == 4 * 7 * 2
    assert listing.index.iloc[1].tolist() == ["9000001_0_R", "9000001", "R", 0.0, "train", "M", "60", "no", "0", ""]
    assert set(listing.paths) == {None}
    assert listing.metadata_only
    assert found(listing) == {}
    assert "differences_from_paper" not in listing.description.details
    for visit in VISITS:
        (folder / "metadata" / f"kxr_sq_bu{visit}.txt").unlink()
    with pytest.raises(ValueError, match=r"has no readings \(kxr_sq_bu00, …\)"):
        oai(folder, metadata_only=True)


def test_differences_from_the_paper() -> None:
    """An index with the very numbers that the paper prints, and one that differs in some."""
    parts = []
    for split, years in (("train", {0: 37410}), ("test", {0: 2610, **QUERIES})):
        months = np.repeat(np.array(list(years)) * 12.0, list(years.values()))
        number, people = np.arange(len(months)), int(PARTS[split]["participants"])
        men = number % people < round(people * PARTS[split]["% men"] / 100)
        diseased = number < PARTS[split]["images with disease"]
        columns = {"subject": number % people, "months": months, "split": split, "sex": np.where(men, "M", "F")}
        parts.append(pd.DataFrame(columns | {"disease": np.where(diseased, "yes", "")}))
    index = pd.concat(parts, ignore_index=True)
    assert differences_from_paper(index, 0) == []
    index.loc[(index["split"] == "train"), "sex"] = index["sex"].map({"M": "F", "F": "M"})
    index.loc[index.index[-1], ["months", "disease"]] = [60.0, "yes"]
    assert differences_from_paper(index, 1) == [
        "test queries at year 5: 1 here, 0 in the paper",
        "test queries at year 8: 1,693 here, 1,694 in the paper",
        "train % men: 40.9 here, 59.1 in the paper",
        "train % men: the paper's number is closer to the share of women here, 59.1",
        "test images with disease: 5,410 here, 5,409 in the paper",
        "1 images of visits without an age in their clinical table are used here; the paper's authors leave them out",
    ]
