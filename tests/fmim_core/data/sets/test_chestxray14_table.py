"""The table of ChestX-ray14: ages, rows that are wrong, tables that cannot be read, and which release it is."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fmim_core.data.sets.chestxray14 import ChestXray14
from fmim_core.data.sets.chestxray14_table import COLUMNS, OPTIONAL, release_of, years_of_age
from fmim_core.data.tables.reading import read_table
from tests.support.nih_folders import HEADER_2020, V2020, told, write


@pytest.mark.parametrize(
    "table",
    [
        V2020.replace("Patient Sex", "Patient Gender"),
        V2020.replace("OriginalImage[Width,Height]", "Width,Height"),
        V2020.replace(",\n", "\n"),
        "\n".join(",".join(reversed(line.rstrip(",").split(","))) for line in V2020.splitlines()),
    ],
)
def test_the_same_table_written_otherwise(tmp_path: Path, table: str | bytes) -> None:
    expected = ChestXray14().listing(write(tmp_path / "a"), metadata_only=True)
    found = ChestXray14().listing(write(tmp_path / "b", table), metadata_only=True)
    pd.testing.assert_frame_equal(found.index, expected.index)
    assert found.description.release == "v2020"


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


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (V2020.replace("Patient Sex", "Gender"), "has 0 of the columns Patient Sex and Patient Gender"),
        (V2020.replace("OriginalImage[Width", "Patient Gender"), "has 2 of the columns"),
        (V2020.replace("Patient Age", "Age"), r"lacks the columns \['patient age'\]"),
        (V2020.replace("0,2,80,M", "2,80,M"), r"rows without the 12 cells of the header \(1\): line 4 has 11"),
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
