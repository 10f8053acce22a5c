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
def test_the_same_table_written_otherwise(tmp_path: Path, table: str) -> None:
    expected = ChestXray14().listing(write(tmp_path / "a"), metadata_only=True)
    found = ChestXray14().listing(write(tmp_path / "b", table), metadata_only=True)
    pd.testing.assert_frame_equal(found.index, expected.index)
    assert found.description.release == "v2020"


def test_ages(tmp_path: Path) -> None:
    years = {"57": 57, "057": 57, "57.0": 57, "0": 0, "120": 120, "058Y": 58, "58y": 58, "013M": 1, "011M": 0}
    years |= {"005D": 0, "730D": 2, **dict.fromkeys(("121", "411Y", "", "-1", "old", "58.5", "58W", "٥٨"), math.nan)}
    rows = [f"x,y,1,{cell},PA" for cell in years]
    (tmp_path / "t.csv").write_text("\n".join([",".join(COLUMNS), *rows]), encoding="utf-8")
    np.testing.assert_array_equal(years_of_age(read_table(tmp_path / "t.csv", COLUMNS)), list(years.values()))


@pytest.mark.parametrize("cell", ["411", ""])
def test_an_age_that_cannot_be_takes_the_subject_out_of_evaluation(tmp_path: Path, cell: str) -> None:
    table = V2020.replace("1,1,58,M", f"1,1,{cell},M").replace("0,3,74,F", f"0,3,{cell},F")
    listing = ChestXray14().listing(write(tmp_path, table), metadata_only=True)
    np.testing.assert_array_equal(listing.index["months"], [math.nan] * 2 + [0] + [math.nan] * 2 + [0, 12])
    assert listing.index["age"].tolist() == ["57", "", "80", "", "81", "69", "70"]
    assert listing.description.details["months_unknown"] == 4
    (finding,) = (finding for finding in listing.findings if "ages" in finding.what)
    assert finding.severity == "warning"
    assert "their 4 images are not evaluated" in finding.what
    assert finding.places == (f"00000001_001.png {cell!r}", f"00000003_001.png {cell!r}")


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("Cardiomegaly,0,1", "Cardiomegaly,0,", {"error: rows without a Patient ID": ("line 2",)}),
        (
            "00000002_000.png",
            "",
            {
                "error: rows without an image": ("line 4",),
                "error: images in the lists without a row in the table": ("00000002_000.png",),
            },
        ),
        (
            "No Finding,0,2,80",
            "No Finding,0,22,80",
            {"error: images whose name and Patient ID are of two patients": ("00000002_000.png of 22",)},
        ),
        ("00000008_000.png", "00000008_001.png", {"error: images named more than once": ("00000008_001.png",)}),
        ("80,M", "80,O", {"warning: sexes other than M and F, set to unknown": ("line 4 'O'",)}),
        (
            "Hernia,7",
            ",7",
            {"warning: rows without a finding label": ("line 6",)},
        ),
    ],
)
def test_rows_that_are_wrong(tmp_path: Path, old: str, new: str, found: dict[str, tuple[str, ...]]) -> None:
    listing = ChestXray14().listing(write(tmp_path, V2020.replace(old, new)), metadata_only=True)
    assert found.items() <= told(listing).items()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (V2020.replace("Patient Sex", "Gender"), "has 0 of the columns Patient Sex and Patient Gender"),
        (V2020.replace("OriginalImage[Width", "Patient Gender"), "has 2 of the columns"),
        (V2020.replace("Patient Age", "Age"), r"lacks the columns \['patient age'\]"),
        (V2020.replace("0,2,80,M", "2,80,M"), r"rows that do not have 12 cells .* \(1\): line 4 has 11"),
        (V2020[:-40], "rows that do not have 12 cells"),  # a download that broke off
        (HEADER_2020, "no rows"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChestXray14().listing(write(tmp_path, table), metadata_only=True)


UNITS, FALLING = "ages with a unit or above 120: 1", "ages that fall from one follow-up to the next: 1"
RENUMBERED, FIRST = "follow-up numbers other than in the image's name: 1", "age of 00000001_000.png: {}"


@pytest.mark.parametrize(
    ("rows", "sex", "release", "evidence"),
    [
        # Each sign alone, whatever the name of the file.
        (["00000002_000.png,0,2,081Y"], "Gender", "v2017", UNITS),
        (["00000002_000.png,0,2,411"], "Gender", "v2017", UNITS),
        (["00000003_001.png,1,3,74", "00000003_000.png,0,3,81"], "Gender", "v2017", FALLING),
        (["00000003_001.png,0,3,74"], "Gender", "v2020", RENUMBERED),
        (["00000001_000.png,0,1,58"], "Gender", "v2017", FIRST.format(58)),
        (["00000001_000.png,0,1,57"], "Gender", "v2020", FIRST.format(57)),
        # The name of the column counts where there is no other sign.
        (["00000002_000.png,0,2,80"], "Sex", "v2020", "a column Patient Sex"),
        (["00000001_000.png,000,1,58"], "Sex", "v2017", FIRST.format(58)),
        (["00000002_000.png,0,2,80"], "Gender", "unknown", "no sign of either release"),
        (["00000002_000.png,,2,"], "Gender", "unknown", "no sign of either release"),
        (
            ["00000003_001.png,0,3,74", "00000004_000.png,0,4,082Y"],
            "Gender",
            "unknown",
            f"{UNITS}, as in v2017; {RENUMBERED}, as in v2020",
        ),
    ],
)
def test_the_release_is_told_by_the_content(
    tmp_path: Path, rows: list[str], sex: str, release: str, evidence: str
) -> None:
    header = f"Image Index,Follow-up #,Patient ID,Patient Age,Patient {sex},View Position,Finding Labels"
    (tmp_path / "t.csv").write_text("\n".join([header, *(f"{row},F,,No Finding" for row in rows)]))
    read = read_table(tmp_path / "t.csv", COLUMNS, OPTIONAL)
    assert release_of(read, years_of_age(read)) == (release, evidence)
