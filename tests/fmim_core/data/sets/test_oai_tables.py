"""The OAI's tables: read the same in every edition, and everything odd about their rows told."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fmim_core.data.sets.base import FileSource, Listing
from fmim_core.data.sets.oai_tables import VISITS
from tests.support.oai_folders import (
    IDS,
    MISSING,
    PEOPLE,
    WRITERS,
    crops,
    expected_index,
    found,
    oai,
    people_folder,
    pipes,
    tables,
    text,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return people_folder(tmp_path)


@pytest.mark.parametrize("edition", WRITERS)
def test_every_edition_reads_alike(tmp_path: Path, edition: str) -> None:
    tables(tmp_path, PEOPLE, WRITERS[edition])
    crops(tmp_path / "ResizedImages", IDS)
    listing = oai(tmp_path)
    pd.testing.assert_frame_equal(listing.index, expected_index())
    assert len(found(listing).get("second lines that describe the columns, skipped", ())) == 15 * ("dict" in edition)


def test_the_edition_of_the_data_archive(tmp_path: Path) -> None:
    write = text("\t", dictionary=True)
    ids, sites, sexes = zip(*PEOPLE, strict=True)
    guid = {"subjectkey": [f"NDAR{n}" for n in range(4)], "src_subject_id": ids}
    visit = {"visit": ["V00"] * 4}
    write(
        tmp_path / "oai_enrollee01",
        guid | visit | {"site": sites, "sex": [sex[3:][0] for sex in sexes], "ageyears": [60] * 4},
    )
    rows = [
        (i, f"V{v}", side, min(4, n) if side == "1" else 4 - min(4, n))
        for i in ids
        for n, v in enumerate(VISITS)
        for side in "12"
    ]
    names = ("src_subject_id", "visit", "side", "xrkl")
    write(
        tmp_path / "oai_kxrsemiquant01", dict(zip(names, zip(*rows, strict=True), strict=True)) | {"readprj": [15] * 56}
    )
    write(tmp_path / "oai_outcome01", guid | {"visit": ["V99"] * 4, "rkblrp": [0] * 4, "rkvspr": ["", "V00", 1, ""]})
    crops(tmp_path / "ResizedImages", IDS)
    listing = oai(tmp_path)
    expected = expected_index()
    # The left knees' columns are not there; 9000002's right knee was replaced after V00, 9000003's after V01.
    expected["tkr"] = ["", "no", "", "no", "", "no", "", "yes", *["", "no"] * 4]
    pd.testing.assert_frame_equal(listing.index, expected)
    warned = found(listing, "warning")
    assert warned == {"visits with images but no clinical table (allclinical…)": ("month 0", "month 12")}


@pytest.mark.parametrize("missing", [MISSING, ".", ".A: Not Expected", "", "nan"])
def test_coded_cells(folder: Path, missing: str) -> None:
    metadata = folder / "metadata"
    pipes(
        metadata / "Enrollees",
        {"id": ["9000001.0", "09000002", "9000003", "9000004"], "V00SITE": ["A", "b", "C: Site C", "C"]}
        | {"P02SEX": ["1", "2.0", missing, "1: Male"]},
    )
    pipes(metadata / "AllClinical01", {"ID": IDS, "V01AGE": ["61.5", missing, "62: years", missing]})
    pipes(
        metadata / "kxr_sq_bu00",
        {"id": [9000001, 9000001, "9000002.00", 9000002], "side": ["1", "2: Left", "1.0", "2"]}
        | {"readprj": [15] * 4, "v00xrkl": ["2.0", missing, "3: 3", "0"]},
    )
    listing = oai(folder)
    index = listing.index
    assert index["sex"][::4].tolist() == ["M", "F", "", "M"]
    assert index["split"][::4].tolist() == ["train", "train", "test", "test"]
    assert index["age"][2::4].tolist() == ["61.5", "61", "62", "61"]
    assert index["grade"][index["months"] == 0].tolist() == ["", "2", "0", "3", "", "", "", ""]
    assert index["disease"][index["months"] == 0].tolist() == ["", "yes", "no", "yes", "", "", "", ""]
    assert found(listing) == {
        "visits without an age in their clinical table: their age is baseline age + months/12": (
            "9000002 month 12",
            "9000004 month 12",
        ),
        "knees without a known grade": tuple(
            f"ResizedImages/{i}_00_1234_{s}.png"
            for i, s in [("9000001", "L"), *((n, s) for n in IDS[2:] for s in "LR")]
        ),
    }


def test_cells_that_mean_nothing_are_told_and_unknown(folder: Path) -> None:
    metadata = folder / "metadata"
    pipes(
        metadata / "Enrollees",
        {"ID": [*IDS, "9x", ""], "V00SITE": ["A", "F", "C", "C", "A", "A"], "P02SEX": [3, 1, 2, "x", 1, 1]},
    )
    pipes(metadata / "AllClinical00", {"ID": IDS, "V00AGE": [60, 60, 160, "old"]})
    pipes(
        metadata / "kxr_sq_bu01",
        {"ID": [9000001] * 4 + [9000003], "SIDE": [1, 2, 3, MISSING, 1], "V01XRKL": [9, "1.5", 1, 1, "two"]},
    )
    listing = oai(folder)
    assert listing.index["subject"].unique().tolist() == ["9000001", "9000003", "9000004"]
    assert listing.index["sex"][::4].tolist() == ["", "F", ""]
    assert listing.index["age"][::4].tolist() == ["60", "", ""]
    assert set(listing.index["grade"][listing.index["months"] == 12]) == {""}
    there = found(listing, "warning")
    assert there == {
        "rows without an ID of digits, left out": (
            "metadata/Enrollees.txt line 6 '9x'",
            "metadata/Enrollees.txt line 7 ''",
        ),
        "sites other than A to E, set to unknown": ("metadata/Enrollees.txt line 3 'F'",),
        "sexes other than 1 (male) and 2 (female), set to unknown": (
            "metadata/Enrollees.txt line 2 '3'",
            "metadata/Enrollees.txt line 5 'x'",
        ),
        "ages that are not a number from 0 to 120, set to unknown": (
            "metadata/AllClinical00.txt line 4 '160'",
            "metadata/AllClinical00.txt line 5 'old'",
        ),
        "readings of a side other than 1 (right) and 2 (left), left out": (
            "metadata/kxr_sq_bu01.txt line 4 '3'",
            f"metadata/kxr_sq_bu01.txt line 5 '{MISSING}'",
        ),
        "grades other than 0 to 4, set to unknown": (
            "metadata/kxr_sq_bu01.txt line 2 '9'",
            "metadata/kxr_sq_bu01.txt line 3 '1.5'",
            "metadata/kxr_sq_bu01.txt line 6 'two'",
        ),
        "knees of participants whose site is unknown, left out": tuple(
            f"ResizedImages/9000002_{months}_1234_{side}.png" for months in ("00", "12") for side in "LR"
        ),
    }


def test_contradictions_between_rows(folder: Path) -> None:
    pipes(
        folder / "metadata" / "Enrollees",
        {"ID": [*IDS, *IDS[:2], IDS[0]], "V00SITE": [*"ABCC", "A", "C", "A"], "P02SEX": [1, 2, 2, 1, 2, 2, 1]},
    )
    pipes(folder / "metadata" / "AllClinical01", {"ID": [*IDS, *IDS[:2]], "V01AGE": [61, 61, 61, 61, 62, 61]})
    readings = {"ID": [9000001, 9000001, 9000001, 9000002, 9000002, 9000003], "SIDE": [1, 1, 1, 2, 2, 1]}
    readings |= {"READPRJ": [42, 15, 37, 15, 37, ""], "V00XRKL": [".", 2, 3, 1, 1, 0]}
    pipes(folder / "metadata" / "kxr_sq_bu00", readings)
    listing = oai(folder)
    at_baseline = listing.index[(listing.index["months"] == 0) & (listing.index["grade"] != "")]
    grades = {(row.subject, row.side): row.grade for row in at_baseline.itertuples()}
    assert grades == {("9000001", "R"): "2", ("9000002", "L"): "1", ("9000003", "R"): "0"}, "the first known ones"
    assert found(listing, "error") == {"participants enrolled at more than one site": ("9000002: B, C",)}
    assert found(listing, "warning") == {
        "participants of two sexes: the first in file order is used": ("9000001: M, F",),
        "visits with two ages: the first in file order is used": ("9000001 month 12: 61.0 years, 62.0 years",),
        "knees with several grades: the first in file order is used": (
            "9000001 month 0 R: 2 (project 15), 3 (project 37)",
        ),
    }
    with pytest.raises(ValueError, match=r"participants enrolled at more than one site \(1\): 9000002: B, C"):
        FileSource(listing)


def test_replaced_knees(folder: Path) -> None:
    crops(folder / "ResizedImages", IDS, months=(0, 12, 24, 72), sides="R")
    columns = {
        "id": ["9000001", "9000002", "9000003"],
        "V99ERKBLRP": ["0: No", "1: Yes", "0: No"],
        "V99ERKVSPR": ["2: 18-month", MISSING, "1: 12-month"],
        "V99ERKDATE": ["01/02/2006", MISSING, "03/04/2006"],
        "V99ERKRPCF": [
            "3: Replacement adjudicated, confirmed",
            MISSING,
            "0: Replacement adjudicated, failed to confirm",
        ],
    }
    pipes(folder / "OUTCOMES99", columns)

    def right(listing: Listing) -> dict[str, list[str]]:
        index = listing.index[listing.index["side"] == "R"]
        return index.groupby("subject")["tkr"].agg(list).to_dict()

    listing = oai(folder)
    assert right(listing) == {
        "9000001": ["no", "no", "yes", "yes"],  # months 0, 12, 24, 72: visits 0, 1, 3, 8
        "9000002": ["yes"] * 4,
        "9000003": ["no"] * 4,
        "9000004": [""] * 4,
    }
    assert found(listing, "warning") == {}
    assert set(listing.index["tkr"][listing.index["side"] == "L"]) == {""}
    del columns["V99ERKVSPR"]
    pipes(folder / "OUTCOMES99", columns)
    listing = oai(folder)
    assert right(listing) == {**right(listing), "9000001": [""] * 4, "9000002": ["yes"] * 4, "9000003": ["no"] * 4}
    what = "replaced knees without their last visit before it (V99E.KVSPR), set to unknown"
    assert found(listing, "warning") == {what: ("OUTCOMES99.txt line 2 '01/02/2006'",)}
