"""The column `role` of a table: which images are gallery and which queries, with and without months."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fmim_core.data.bank.building import build_bank
from fmim_core.data.describe import Counts, describe
from fmim_core.data.sets.base import FileSource, Listing
from fmim_core.data.sets.manifest import manifest
from fmim_core.metric_names import YEAR
from tests.support.manifests import folder_of

SAME_SET = ["a0.png,a,both,train", "a1.png,a,Both,train", "b0.png,b,both,train", "c0.png,c,,train",
            "d0.png,d,both,test", "d1.png,d,both,test", "d2.png,d,NA,test"]  # fmt: skip
TWO_SETS = ["a0.png,a,gallery,,train", "a1.png,a,query,,train", "b0.png,b,query,3,train", "a2.png,a,,0,train",
            "d0.png,d,query,0,test", "d1.png,d,gallery,24,test", "d2.png,d,query,24,test"]  # fmt: skip


def same_set(folder: Path) -> Listing:
    return manifest(folder_of(folder / "d", SAME_SET, "image,subject,role,split"))


def two_sets(folder: Path) -> Listing:
    return manifest(folder_of(folder / "d", TWO_SETS, "image,subject,role,months,split"))


def test_a_table_without_months_has_every_image_as_query_and_gallery(tmp_path: Path) -> None:
    listing = same_set(tmp_path)
    assert [(f.severity, f.what, f.places) for f in listing.findings] == [
        ("note", "role taken as blank", ("line 8 'NA'",)),
        ("warning", "subjects with one image of the role both: their queries have no match", ("b",)),
    ]
    assert listing.description.about.endswith("every image of the role both is query and gallery, itself left out.")
    bank = build_bank(FileSource(listing), 8, tmp_path / "banks")
    bank.check()
    development, test = bank.development(), bank.open_test()
    assert development.same_set
    assert development.roles.tolist() == ["both", "both", "both", ""]
    assert development.gallery_mask.tolist() == development.query_mask.tolist() == [True, True, True, False]
    assert development.matched_query_mask().tolist() == [True, True, False, False]
    assert development.times.tolist() == [-1, -1, -1, -1]
    assert test.select(np.array([2, 0])).roles.tolist() == ["", "both"]
    assert bank.summary["development"] == {
        "images": 4, "subjects": 3, "queries": 3, "queries_without_match": 1, "gallery": 3, "years": {"unknown": 4},
    }  # fmt: skip


def test_roles_decide_and_months_only_group(tmp_path: Path) -> None:
    source = FileSource(two_sets(tmp_path))
    (found,) = source.description.details["findings"]
    assert found["what"] == "subjects with queries and no gallery image: their queries have no match"
    bank = build_bank(source, 8, tmp_path / "banks")
    development, test = bank.development(), bank.open_test()
    assert not development.same_set
    assert development.gallery_mask.tolist() == [True, False, False, False]
    assert development.query_mask.tolist() == [False, True, True, False]
    assert development.times.tolist() == [-1, -1, 1, 0]
    assert test.gallery_mask.tolist() == [False, True, False]
    assert (test.times.tolist(), test.matched_query_mask().tolist()) == ([1, 2, 2], [True, False, True])
    assert "role" in bank.about_test()


def test_counts_say_what_is_evaluated(tmp_path: Path) -> None:
    found = describe(two_sets(tmp_path).index, YEAR)
    blank = {"sex_known": 0, "male_percent": None, "disease_known": 0, "with_disease": None}
    assert found["train"] == Counts(
        images=4, subjects=2, gallery=1, queries={1: 1}, queries_undated=1, queries_without_match=1, months_unknown=2,
        not_evaluated=1, **blank,
    )  # fmt: skip
    assert (found["test"].queries, found["test"].queries_undated, found["test"].not_evaluated) == ({1: 1, 2: 1}, 0, 0)


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        ("image,subject,role,split", [*SAME_SET, "e.png,e,probe,test"],
         r"roles other than gallery, query, both, blank \(1\): line 9 'probe'"),
        ("image,subject,role,split", [*SAME_SET, "e.png,d,query,test"],
         r"roles both beside gallery or query: .* \(2\): 5 both, 1 query"),
        ("image,subject,role,split", [*SAME_SET[:4], "e.png,e,both,test"],
         "no subject in test has two images of the role both, so retrieval cannot be scored"),
        ("image,subject,role,months,split", [*TWO_SETS[:4], "e.png,e,query,0,test", "f.png,f,gallery,0,test"],
         "no subject in test has a gallery image and a query, so"),
        ("image,subject,side,split", ["e.png,e,,test"],
         r"lacks the columns \['months'\]; found: .*; 'role' can stand for 'months'"),
    ],
)  # fmt: skip
def test_roles_that_are_refused(tmp_path: Path, header: str, rows: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FileSource(manifest(folder_of(tmp_path / "d", rows, header)))
