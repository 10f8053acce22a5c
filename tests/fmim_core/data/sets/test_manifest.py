"""A user's table: read the same however it is written, its images found, split and named."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.base import FileSource
from fmim_core.data.sets.manifest import manifest
from fmim_core.training.trainer import train
from tests.conftest import tiny_config
from tests.support.manifests import GOOD, source
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
    with pytest.raises(ValueError, match=r"images not inside .* \(1\): line 2 'x/\.\./\.\./"):
        source(folder, GOOD.replace("x/a.png", "x/../../x/a.png"))
    elsewhere = tmp_path_factory.mktemp("disk")
    (elsewhere / "x").mkdir()
    for name in "ab":
        (folder / "x" / f"{name}.png").rename(elsewhere / "x" / f"{name}.png")
        (folder / "x" / f"{name}.png").symlink_to(elsewhere / "x" / f"{name}.png")
    (folder / "disk").symlink_to(elsewhere / "x")
    out = rf"images that links lead out of {folder}: copy the files into it, or put the table into a folder above them"
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
