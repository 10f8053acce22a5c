"""A user's table with mistakes: refused at once with everything that is wrong and where, and what is odd is noted."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fmim_core.data.sets.base import FileSource, manifest_of
from fmim_core.data.sets.manifest import manifest
from fmim_core.data.tables import cells, formats
from tests.support.manifests import GOOD, listed, read, source


def test_everything_wrong_is_told_at_once(folder: Path) -> None:
    content = """image,subject,months,side,split
x/a.png,1,0,both,train
x/./a.png,2,soon,L,train

x/none.png,,-1,L,holdout
../x/b.png,3,inf,L,train
/etc/passwd,3,0,,
x/c.png,4,0,,train
x/d.png,4,0,,test
x,5,0,,test
x/pipe.png,5,12,,test
..\\x\\e.png,5,24,,test
"""
    os.mkfifo(folder / "x" / "pipe.png")
    with pytest.raises(ValueError, match="cannot be used") as caught:
        source(folder, content)
    assert str(caught.value) == "\n  ".join(
        [
            f"{folder / 'table.csv'} cannot be used:",
            f"images outside {folder} (3): line 6 '../x/b.png', "
            r"line 7 '/etc/passwd', line 12 '..\\x\\e.png'",
            "rows without a subject (1): line 5 ''",
            "months that are neither blank nor a number from 0 to 1440 (12.5, not 12,5 or a date) (3): "
            "line 3 'soon', line 5 '-1', line 6 'inf'",
            "sides other than L, R, left, right or blank (1): line 2 'both'",
            "splits other than train, train_val, dev, development, test (2): line 5 'holdout', line 7 ''",
            "missing image files (1): x/none.png",
            "images that cannot be read (2): x (a folder), x/pipe.png (a pipe (FIFO))",
            "images named more than once (1): x/a.png",
            "subjects in both train and test (1): 4",
        ]
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("image,subject,months\n", "no rows"),
        ("picture,subject,age\nx,1,2\n", r"lacks the columns \['image', 'months'\]; found: \['picture', 'subject'"),
        ("image\nx/a.png\n", r"lacks the columns \['subject', 'months'\]"),
        ("image,subject,months,Months\nx/a.png,1,0,0\n", r"the columns \['months'\] more than once"),
        (GOOD + "x/f.png,1\n", r"rows that do not have 5 cells .* \(1\): line 7 has 2"),
        (GOOD.replace("007", "n\xe4m").encode("latin-1"), r"not UTF-8 text \(line 2\)"),
        (GOOD.replace("x/e.png", '"x/e.png'), r"not a readable table \(line"),
        (GOOD.replace("x/e.png", "x/\0.png"), r"a NUL character \(line 6\)"),
        (GOOD.replace("x/e.png", '"x/e\n.png"'), r"image with a line break or a NUL character in it \(1\): line 7"),
        (GOOD.replace("Test", "train").replace("test", "train"), r"no subject in test has an image at month 0"),
        (GOOD.replace("12.5", ""), r"no subject in train has an image at month 0 and a later one"),
    ],
)
def test_tables_that_are_refused(folder: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source(folder, content)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.csv cannot be read: No such file"):
        FileSource(manifest(tmp_path / "none.csv"))
    with pytest.raises(ValueError, match="cannot be read: it is a folder"):
        FileSource(manifest(tmp_path))
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match=r"pipe\.csv cannot be read: it is a pipe \(FIFO\)\. Give the path"):
        manifest(tmp_path / "pipe.csv")
    with pytest.raises(ValueError, match="/dev/zero cannot be read: it is a device"):
        manifest("/dev/zero")


@pytest.mark.parametrize("fraction", [0, 1, -0.5, float("nan")])
def test_fractions_out_of_range_are_refused(folder: Path, fraction: float) -> None:
    with pytest.raises(ValueError, match="test_fraction"):
        source(folder, test_fraction=fraction)


def test_a_file_whose_name_is_written_otherwise_is_pointed_at(folder: Path) -> None:
    (folder / "x" / "é.png").touch()
    content = GOOD.replace("x/a.png", "x/A.PNG").replace("x/b.png", "x/e\u0301.png")
    with pytest.raises(ValueError, match="missing image files") as caught:
        source(folder, content)
    assert str(caught.value).splitlines()[1:] == [
        "  missing image files (2): x/A.PNG, x/e\u0301.png",
        "  missing files whose names are spelt differently on disk (2): "
        "x/A.PNG (found 'a.png'), x/e\u0301.png (found 'é.png')",
    ]


def test_what_was_done_to_cells_and_columns_is_noted(folder: Path) -> None:
    content = GOOD.replace("split", "spilt").replace("12.5", "n/a").replace("x/c.png,NA,,", "x/c.png,s,?,-")
    found = {finding.what: (finding.severity, finding.places) for finding in listed(folder, content).findings}
    assert found["columns that are not used"] == ("note", ("spilt",))
    assert found["months cells read as blank"] == ("note", ("line 3 'n/a'", "line 4 '?'"))
    assert found["side cells read as blank"] == ("note", ("line 4 '-'",))


def test_subjects_that_differ_in_case_are_told(folder: Path) -> None:
    found = listed(folder, GOOD.replace("007", "s1").replace("NA", "S1")).findings
    assert [(f.severity, str(f)) for f in found] == [
        ("warning", "subjects that differ only in upper and lower case, treated as different people (1): 'S1' = 's1'")
    ]


# 20 subjects with two visits each, one of whose letters is not ASCII
LETTERS = "image,subject,months\n" + "".join(f"{n}.png,é{n // 2},{12 * (n % 2)}\n" for n in range(40))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-32", "mac-roman"])
def test_other_encodings_are_refused_and_the_line_is_named(encoding: str) -> None:
    with pytest.raises(ValueError, match=r"line (1|2)\)?.* save it as CSV UTF-8"):
        read(LETTERS.encode(encoding))


@settings(deadline=None, max_examples=60)
@given(data=st.data(), parquet=st.booleans())
def test_a_packed_table_that_lost_its_end_is_refused(data: st.DataObject, parquet: bool) -> None:
    if parquet:
        file = io.BytesIO()
        pd.read_csv(io.StringIO(LETTERS)).to_parquet(file)
        content = file.getvalue()
    else:
        content = gzip.compress(LETTERS.encode())
    cut = data.draw(st.integers(4, len(content) - 1))
    with pytest.raises(ValueError, match=r"damaged gzip file|cannot be read as Parquet"):
        read(content[:cut], "table.parquet" if parquet else "table.csv.gz")


@pytest.mark.parametrize(
    "cell",
    [
        "12,5",
        "１２",
        "2011-03-05",
        "05.03.2011",
        "20110305",
        "2011",
        "1_2",
        "-1",
        "-999",
        "inf",
        "12 months",
        "½",
        "1e4",
        "١٢",
    ],
)
def test_what_months_are_not(cell: str) -> None:
    assert cells.months_of(cell) is None
    content = LETTERS.replace("1.png,é0,12", f'1.png,é0,"{cell}"').encode()
    with pytest.raises(
        ValueError,
        match=r"months that are neither blank nor a number from 0 to 1440 \(12.5, not 12,5 or a date\).*line 3 ",
    ):
        read(content)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("1", "01", True),
        ("1", "1.0", True),
        ("1", "１", True),
        ("é", "e\u0301", True),
        ("1.5", "1.50", True),
        ("+1", "1", True),
        ("-1", "1", False),
        ("10", "1", False),
        ("0", "000", True),
        ("1e2", "100", False),
        ("a1", "a01", False),
        ("a1", "a1\u200b", True),
        ("a b", "a\xa0b", True),
    ],
)
def test_subjects_written_in_two_ways_are_refused_together(a: str, b: str, same: bool) -> None:
    assert (cells.one_spelling(a) == cells.one_spelling(b)) is same
    content = f"{LETTERS}a.png,{a},0\nb.png,{b},12\n".encode()
    if not same:
        assert read(content)["subject"].tolist()[-2:] == [a, b]
        return
    with pytest.raises(ValueError, match=r"subjects written in several ways.*\(1\): '.*' = '.*'"):
        read(content)


def test_a_packed_table_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(LETTERS.encode() * 200))
    monkeypatch.setattr(formats, "MAX_BYTES", 50_000)
    with pytest.raises(ValueError, match=r"table\.csv\.gz has more than 50000 bytes, the limit for a table"):
        manifest(path)


def test_images_behind_a_link_out_of_the_folder_are_not_listed(tmp_path: Path) -> None:
    disk, folder = tmp_path / "disk", tmp_path / "folder"
    disk.mkdir()
    folder.mkdir()
    for name in "abcde":
        Image.new("L", (8, 8)).save(disk / f"{name}.png")
    (folder / "x").symlink_to(disk)
    listing = listed(folder, GOOD)
    with pytest.raises(
        ValueError, match=r"5 images \(e\.g\. \.\./disk/a\.png\) are outside .*folder, or are links out of it"
    ):
        manifest_of(listing, folder)
    text, count = manifest_of(listing, tmp_path)
    assert count == 5
    assert [line.split(",")[0] for line in text.splitlines()[1:]] == [f"disk/{name}.png" for name in "abcde"]
