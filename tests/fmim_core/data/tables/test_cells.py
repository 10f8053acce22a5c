"""Names that a spreadsheet has spoilt are told with their rows; those of true data sets are not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fmim_core.data.tables.cells import check_identifiers
from fmim_core.data.tables.findings import Findings
from tests.support.manifests import read


def told(names: Sequence[str], images: Sequence[str] | None = None) -> list[tuple[str, str, tuple[str, ...]]]:
    """Severity, the third to fifth word and the places of each finding."""
    findings = Findings()
    places = [f"line {n}" for n in range(2, 2 + len(names))]
    check_identifiers(names, images or [""] * len(names), places, findings)
    return [(finding.severity, " ".join(finding.what.split()[1:4]), finding.places) for finding in findings]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["1.23457E+11", "1.23457E+11", "s"],
            ("error", "in exponent form,", ("line 2 '1.23457E+11'", "line 3 '1.23457E+11'")),
        ),
        (["7", "1e+05"], ("error", "in exponent form,", ("line 3 '1e+05'",))),
        (["1.2345678901234568e+16"], ("error", "in exponent form,", ("line 2 '1.2345678901234568e+16'",))),
        (["5-Mar", "s"], ("warning", "that are dates;", ("line 2 '5-Mar'",))),
        (["a", "Mar-05"], ("warning", "that are dates;", ("line 3 'Mar-05'",))),
        (["05-Mar-2011"], ("warning", "that are dates;", ("line 2 '05-Mar-2011'",))),
        (
            ["2011-03-05", "2011-03-05 00:00:00"],
            ("warning", "that are dates;", ("line 2 '2011-03-05'", "line 3 '2011-03-05 00:00:00'")),
        ),
        (["3/5/2011"], ("warning", "that are dates;", ("line 2 '3/5/2011'",))),
        (["05.03.2011"], ("warning", "that are dates;", ("line 2 '05.03.2011'",))),
        (["123.0", "124.0"], ("warning", "in decimal form,", ("line 2 '123.0'", "line 3 '124.0'"))),
        (["007", "12", "1234"], ("warning", "shorter than others", ("line 3 '12'",))),
        (
            ["1234567890123450", "12345678901234600"],
            ("warning", "of more than", ("line 2 '1234567890123450'", "line 3 '12345678901234600'")),
        ),
    ],
)
def test_what_a_program_made_of_names(names: list[str], expected: tuple[str, str, tuple[str, ...]]) -> None:
    assert told(names) == [expected]


def test_one_number_for_images_of_several() -> None:
    images = ["007_a.png", "07/b.png", "7.png", "012_a.png", "x/012_b.png"]
    assert told(["7", "7", "7", "12", "12"], images) == [("warning", "whose images differ", ("7 (007, 07, 7)",))]


@pytest.mark.parametrize(
    ("names", "images"),
    [
        (["1", "1", "2", "13"], ["00000001_000.png", "00000001_001.png", "00000002_000.png", "00000013_026.png"]),
        (["9000099", "9993833"], ["9000099_00_SAG_R.png", "9993833_12_L.png"]),
        (["1", "1", "10", "100"], ["visit01_subject001.png", "visit02_subject001.png", "010.png", "100/001.png"]),
        (["0", "0"], ["0_00.png", "0_000.png"]),
        (["MAR-05", "PAR-12", "s1", "NA", ""], [""] * 5),
        (["1e5", "12e4", "8e10", "3.50", "1.2.840.10008"], [""] * 5),  # of hashes, versions and DICOM
        (["1234567890123450", "1234567890123456"], [""] * 2),
        (["007", "012", "1234"], [""] * 3),
    ],
)
def test_true_names_are_not_told(names: list[str], images: list[str]) -> None:
    assert told(names, images) == []


def test_a_table_with_lost_digits_is_refused_with_its_rows() -> None:
    rows = "".join(f"{n}.png,{'1.23457E+11' if n < 4 else n // 2},{12 * (n % 2)}\n" for n in range(20))
    with pytest.raises(ValueError, match=r"loses digits .*\(4\): line 2 '1\.23457E\+11', line 3 .*, line 4 "):
        read(f"image,subject,months\n{rows}".encode())
