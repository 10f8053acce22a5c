"""`fmim data prepare` and `fmim data manifest`: the bank, a manifest of what is there, and bad input refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest

from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.base import DATA_SETS, DataSet, FileSource, Listing, Window
from fmim_core.data.sets.manifest import manifest
from tests.studies.data.conftest import Fmim
from tests.support.manifests import GOOD_ROWS, folder_of
from tests.support.own_files import register_for_a_test

# --- prepare


def test_prepare_makes_the_bank_of_a_run_and_finds_it_again(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", GOOD_ROWS)
    code, out, _ = fmim("data", "prepare", path, "--preset", "smoke")
    assert code == 0
    assert "12 images of 35 × 35 pixels, in grey (0.0 MB): 6 development, 6 test" in out
    assert "made in" in out
    (bank,) = (tmp_path / "runs" / "banks").iterdir()
    assert f"bank: {bank}" in out
    decoded = []
    same = build_bank(FileSource(manifest(path)), 35, "runs/banks", lambda *step: decoded.append(step))
    assert (same.path, decoded) == (bank, [])
    assert f"fingerprint {same.fingerprint}" in out
    assert "already made" in fmim("data", "prepare", path, "--preset", "smoke")[1]


def test_prepare_refuses_what_cannot_be_used_and_makes_nothing(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", [*GOOD_ROWS, "x.png,train0,-1,,train"])
    code, out, _ = fmim("data", "prepare", path)
    assert code == 2
    assert "line 14 '-1'" in out
    assert "no bank was made" in out
    (path.parent / "train0_0.png").write_text("text")
    folder_of(path.parent, GOOD_ROWS)
    code, _, err = fmim("data", "prepare", path)
    assert code == 2
    assert "train0_0.png: not an image" in err
    assert not list(tmp_path.rglob("bank.json"))


# --- manifest, and the rest


class Clinic(DataSet):
    """Films of a clinic.

    And more words.
    """

    kind: Literal["clinic"] = "clinic"

    def listing(self, root: Path, metadata_only: bool) -> Listing:
        listing = manifest(root / "manifest.csv", metadata_only=metadata_only)
        about = replace(listing.description, name="clinic", settings={"augmentation.std": 0.3})
        return replace(listing, description=about)


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A named data set in `films`, two of whose files are not there, with its own training settings."""
    path = folder_of(tmp_path / "films", [f"in/{row},M,{n}" for n, row in enumerate(GOOD_ROWS)],
                     "image,subject,months,side,split,sex,age")  # fmt: skip
    for name in ("train0_12", "test2_0"):
        (path.parent / "in" / f"{name}.png").unlink()

    register_for_a_test(DATA_SETS, Clinic, monkeypatch)
    return path.parent


def test_a_manifest_of_what_is_there_can_be_used(fmim: Fmim, clinic: Path) -> None:
    code, out, _ = fmim("data", "manifest", "clinic", "--data-root", clinic, "--out", clinic / "part.csv")
    assert code == 0
    assert f"{clinic / 'part.csv'}: 10 of 12 images" in out
    assert "the others are missing or cannot be used: `fmim data check clinic` lists them" in out
    assert "augmentation.std = 0.3; the manifest does not" in out
    whole, part = (manifest(clinic / name) for name in ("manifest.csv", "part.csv"))
    there = ~whole.index["image"].isin(["in/train0_12.png", "in/test2_0.png"])
    assert not part.findings.errors
    pd.testing.assert_frame_equal(part.index, whole.index[there].reset_index(drop=True))
    above = fmim("data", "manifest", "clinic", "--data-root", clinic, "--out", "above.csv")
    assert above[0] == 0
    assert manifest("above.csv").index["image"][0] == "films/in/train0_0.png"
    assert fmim("data", "prepare", "above.csv")[0] == 0


@pytest.mark.parametrize(
    ("change", "out", "message"),
    [
        ({}, "elsewhere/part.csv", r"10 images .* are outside .*elsewhere, or are links out of it"),
        ({}, "films/manifest.csv", "exists and is not overwritten"),
        ({"windows": {0: Window(0, 0, 9, 9)}}, "films/part.csv", "are parts of larger films"),
        ({"mirror_right": False}, "films/part.csv", "does not mirror its right images, but a manifest does"),
        ({"root": Path("nowhere")}, "films/part.csv", "no image of clinic is in nowhere"),
    ],
)
def test_a_manifest_that_would_say_something_else_is_refused(
    change: dict, out: str, message: str, fmim: Fmim, clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing_of = Clinic.listing

    def changed(self: Clinic, root: Path, metadata_only: bool) -> Listing:
        listing = replace(listing_of(self, root, metadata_only), **change)
        listing.index.loc[0, "side"] = "R"
        return listing

    monkeypatch.setattr(Clinic, "listing", changed)
    before = {path: path.read_bytes() for path in clinic.parent.rglob("*.csv")}
    code, _, err = fmim("data", "manifest", "clinic", "--data-root", clinic, "--out", out)
    assert code == 2
    assert re.search(message, err)
    assert {path: path.read_bytes() for path in clinic.parent.rglob("*.csv")} == before


def test_data_alone_lists_names_and_commands(fmim: Fmim, clinic: Path) -> None:
    code, out, _ = fmim("data")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "clinic Films of a clinic." in lines
    for word in ("phantom", "FILE", "describe", "check", "prepare", "manifest"):
        assert any(line.lstrip("│ ").startswith(word) for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("describe", "nope.csv"), "no such file: nope.csv"),
        (("describe", "chestxray"), "the path of a manifest (a CSV file). Did you mean 'chestxray14'?"),
        (("check", "phantom", "--preset", "tiny"), "unknown preset 'tiny'; there are smoke, quick, full, paper"),
        (("prepare", "clinic"), "clinic needs --data-root"),
        (("manifest", "phantom", "--data-root", ".", "--out", "x.csv"), "unknown data set in files 'phantom'"),
        (("bogus",), "No such command 'bogus'"),
        (("describe", "phantom", "--sheet", "sheet.jpg"), "--sheet sheet.jpg is a PNG picture: call it sheet.png"),
    ],
)
def test_bad_input_exits_with_2_and_makes_nothing(
    arguments: tuple[str, ...], message: str, fmim: Fmim, clinic: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    code, out, err = fmim("data", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert sorted(tmp_path.rglob("*")) == before
