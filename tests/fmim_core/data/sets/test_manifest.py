"""A user's table: read the same however it is written, its images found, split and named."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmim_core.data.bank.building import build_bank
from fmim_core.data.image_set import Counts, describe
from fmim_core.data.sets.base import FileSource, Listing
from fmim_core.data.sets.manifest import manifest
from fmim_core.metric_names import YEAR
from fmim_core.training.trainer import train
from tests.conftest import tiny_config
from tests.support.manifests import GOOD, folder_of, source
from tests.support.paths import ODD_2, REAL_DATA, needs_odd_2


def test_a_good_table(folder: Path) -> None:
    found = source(folder)
    index = found.index
    assert index["image"].tolist() == [f"x/{name}.png" for name in "abcde"]
    assert index["subject"].tolist() == ["007", "007", "NA", "9", "9"]
    assert index["side"].tolist() == ["R", "L", "", "L", "R"]
    assert index["split"].tolist() == ["train", "train", "train", "test", "test"]
    np.testing.assert_array_equal(index["months"], [0, 12.5, np.nan, 0, 24])
    description = found.description
    assert (description.kind, description.name, description.synthetic) == ("manifest", "table", False)
    assert description.about == "5 images of 3 subjects, from table.csv."
    assert description.files == {"table.csv": hashlib.sha256(GOOD.encode()).hexdigest()}
    findings = description.details.pop("findings")
    assert [(finding["severity"], finding["count"]) for finding in findings] == [("warning", 1), ("warning", 2)]
    assert description.details == {"split": {"rule": "column"}, "months_unknown": 1, "right_images_mirrored": 2}


@pytest.mark.parametrize(
    "content",
    [
        GOOD.replace("\n", "\n,,,,\n"),
        GOOD.replace("\n", ",a note\n").replace("split,a note", "split,remark"),
        GOOD.replace("x/b.png", '"x/./b.png"'),
        GOOD.replace("x/", "x\\"),
        "sep=,\n" + GOOD,
        '"sep=;"\r\n' + GOOD.replace(",", ";").replace("\n", "\r\n"),
        ("SEP=\t\n" + GOOD.replace(",", "\t")).encode("utf-16"),
        GOOD.replace("subject,", "\u200bsub\u00adject\xa0,").replace("months", "\ufeffｍonths"),
    ],
)
def test_the_same_table_written_otherwise(folder: Path, content: str | bytes) -> None:
    """Beside the ways that `test_manifest_fuzz` draws."""
    expected = source(folder).index
    pd.testing.assert_frame_equal(source(folder, content).index, expected)


def test_parquet_reads_as_csv(folder: Path) -> None:
    expected = source(folder).index
    frame = pd.read_csv(folder / "table.csv", dtype={"subject": str}, keep_default_na=False, na_values={"months": [""]})
    frame.to_parquet(folder / "table.parquet")
    pd.testing.assert_frame_equal(FileSource(manifest(folder / "table.parquet")).index, expected)


def test_right_images_are_mirrored_unless_told_not_to(folder: Path) -> None:
    bright = {row: int(source(folder).read(row, 8)[0].argmax()) for row in range(5)}
    assert bright == {0: 7, 1: 0, 2: 0, 3: 0, 4: 7}
    plain = source(folder, mirror_right=False)
    assert [int(plain.read(row, 8)[0].argmax()) for row in range(5)] == [0] * 5
    assert plain.fingerprint != source(folder).fingerprint
    assert plain.description.details["right_images_mirrored"] == 0


def test_images_are_found_beside_the_table_or_the_link_to_it(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    source(folder)
    monkeypatch.chdir(folder)
    found = FileSource(manifest("table.csv"))
    monkeypatch.chdir("/")
    assert found.read(1, 8).shape == (8, 8)
    elsewhere = tmp_path_factory.mktemp("disk")
    (elsewhere / "linked.csv").symlink_to(folder / "table.csv")
    (folder / "x").rename(elsewhere / "x")
    assert FileSource(manifest(elsewhere / "linked.csv")).read(1, 8).shape == (8, 8)


def test_links_are_followed_inside_the_tables_folder_alone(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / "inner").symlink_to(folder / "x")
    (folder / "x" / "f.png").symlink_to(folder / "x" / "a.png")
    assert source(folder, GOOD.replace("x/a", "inner/a").replace("x/b", "x/f")).read(1, 8).shape == (8, 8)
    with pytest.raises(ValueError, match=r"images outside .* \(1\): line 2 'x/\.\./\.\./"):
        source(folder, GOOD.replace("x/a.png", "x/../../x/a.png"))
    elsewhere = tmp_path_factory.mktemp("disk")
    (elsewhere / "x").mkdir()
    for name in "ab":
        (folder / "x" / f"{name}.png").rename(elsewhere / "x" / f"{name}.png")
        (folder / "x" / f"{name}.png").symlink_to(elsewhere / "x" / f"{name}.png")
    (folder / "disk").symlink_to(elsewhere / "x")
    out = rf"images that are links to files outside {folder}: copy the files into it, or move the table above them"
    with pytest.raises(ValueError, match=rf"{out} \(2\): line 2 'x/a\.png' leads to {elsewhere}/x/a\.png, line 3 "):
        source(folder)
    with pytest.raises(ValueError, match=rf"{out} .*line 3 'disk/b\.png' leads to {elsewhere}/x/b\.png"):
        source(folder, GOOD.replace("x/b.png", "disk/b.png"))


@needs_odd_2
@pytest.mark.parametrize("name", ["sep", "mac", "nbsp", "膝关节 数据"])
def test_tables_met_in_the_field(name: str) -> None:
    good = manifest(ODD_2 / "cohort" / "table.csv")
    assert len(good.index) == 144
    assert [finding.severity for finding in good.findings] == ["note"]
    found = manifest(ODD_2 / "cohort" / f"{name}.csv")
    found.findings.refuse_errors(name)
    pd.testing.assert_frame_equal(found.index, good.index)


@pytest.mark.parametrize(
    ("file", "name"), [("manifest.csv.gz", "films"), ("knees.csv.gz", "knees"), ("a b.tsv", "a_b")]
)
def test_a_data_set_is_called_after_its_table_or_folder(file: str, name: str, folder: Path) -> None:
    films = folder / "films"
    films.mkdir()
    (films / file).write_bytes(GOOD.encode())
    assert manifest(films / file).description.name == name


def test_fingerprint_follows_table_and_files(folder: Path) -> None:
    first = source(folder).fingerprint
    assert source(folder).fingerprint == first
    os.utime(folder / "x" / "a.png", ns=(1, 1))
    touched = source(folder).fingerprint
    other = source(folder, GOOD.replace("12.5", "13")).fingerprint
    assert len({first, touched, other}) == 3


@given(
    visits=st.lists(st.lists(st.sampled_from(["", "3", "40"]), max_size=3), min_size=2, max_size=8),
    fraction=st.floats(0.05, 0.95),
    seed=st.integers(0, 1000),
)
def test_a_drawn_test_is_a_share_of_the_people(
    visits: list[list[str]], fraction: float, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [f"{who}_{n}.png,{who},{m}" for who, of in enumerate(visits) for n, m in enumerate(["0", "12", *of])]
    path = tmp_path_factory.mktemp("drawn") / "table.csv"
    path.write_text("\n".join(["image,subject,months", *rows]))
    listing = manifest(path, fraction, seed, metadata_only=True)
    test, train = (set(listing.index["subject"][listing.index["split"] == split]) for split in ("test", "train"))
    assert not test & train
    assert len(test) == min(max(1, round(fraction * len(visits))), len(visits) - 1)
    assert listing.description.details["split"] == {"rule": "drawn", "fraction": fraction, "seed": seed}


@pytest.mark.skipif(not (REAL_DATA / "open_cxr").is_dir(), reason="no shared/data/open_cxr beside the repository")
def test_open_cxr(tmp_path: Path) -> None:
    found = FileSource(manifest(REAL_DATA / "open_cxr" / "manifest.csv"))
    index = found.index
    assert (found.description.name, len(index), index["subject"].nunique()) == ("open_cxr", 252, 79)
    assert found.description.details["months_unknown"] == 4
    assert index.groupby("subject")["split"].nunique().max() == 1
    assert index["subject"][index["split"] == "test"].nunique() == 26  # 12 of 36 with a match, 14 of 43 without
    result = train(tiny_config(epochs=1), build_bank(found, 28, tmp_path), lambda row: None, folds=2, fold=0, seed=0)
    assert len(result.history) == 1
    assert 0 < result.validation["mAP"] < 1
    assert result.validation["queries"] == 49  # images without months are trained on, and not evaluated
    other = FileSource(manifest(REAL_DATA / "open_cxr" / "manifest.csv", seed=1))
    assert set(other.index["split"]) == {"train", "test"}
    assert not other.index.equals(index)


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
        ("note", "role cells read as blank", ("line 8 'NA'",)),
        ("warning", "subjects with only one image with the role both: their queries have no match", ("b",)),
    ]
    assert listing.description.about.endswith("each image with the role both is searched for among all others.")
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
    assert found["what"] == "subjects with queries but no gallery image: their queries have no match"
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
         r"roles other than gallery, query, both or blank \(1\): line 9 'probe'"),
        ("image,subject,role,split", [*SAME_SET, "e.png,d,query,test"],
         r"role both beside gallery or query: .* \(1\): test: 2 both, 1 query"),
        ("image,subject,role,split", [*SAME_SET[:4], "e.png,e,both,test"],
         "no subject in test has two images with the role both, so retrieval cannot be scored"),
        ("image,subject,role,months,split", [*TWO_SETS[:4], "e.png,e,query,0,test", "f.png,f,gallery,0,test"],
         "no subject in test has a gallery image and a query, so"),
        ("image,subject,side,split", ["e.png,e,,test"],
         r"lacks the columns \['months'\]; found: .*; 'role' can replace 'months'"),
    ],
)  # fmt: skip
def test_roles_that_are_refused(tmp_path: Path, header: str, rows: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FileSource(manifest(folder_of(tmp_path / "d", rows, header)))
