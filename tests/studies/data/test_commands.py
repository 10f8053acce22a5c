"""`fmim data …` as a user starts it: the tables, every problem at once, the bank, the manifest, and nothing lost."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fmim_core.data.bank.building import build_bank
from fmim_core.data.check import check_images, unnamed_images
from fmim_core.data.describe import describe
from fmim_core.data.images.contact_sheet import CAPTION, GAP, LABEL, TILE, TITLE, contact_sheet, sheet_lines
from fmim_core.data.images.reading import ImageProblem
from fmim_core.data.sets.base import DATA_SETS, DataSet
from fmim_core.data.sets.manifest import manifest
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.tables.findings import Findings
from fmim_core.data.tables.listing import FileSource, Listing, Window
from studies import cli
from studies.presets import SMOKE
from tests.support.paths import NIH_MANIFEST, REAL_DATA, needs_nih
from tests.support.registering import register_for_a_test

Fmim = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fmim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fmim:
    """Runs `fmim …` in an empty folder; returns exit code, standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fmim", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    return run


def picture(seed: int, height: int = 24, width: int = 20) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)


def folder_of(folder: Path, rows: list[str], header: str = "image,subject,months,side,split") -> Path:
    """A manifest of these lines, with a picture of its own for each image that is not there yet."""
    folder.mkdir(exist_ok=True)
    for number, row in enumerate(rows):
        path = folder / row.partition(",")[0]
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            Image.fromarray(picture(number)).save(path)
    (folder / "manifest.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return folder / "manifest.csv"


GOOD = [f"{split}{n}_{months}.png,{split}{n},{months},,{split}" for split in ("train", "test") for n in range(3)
        for months in (0, 12)]  # fmt: skip


# --- describe


def slow_counts(rows: list[dict], split: str) -> dict:
    """The counts of a split by the words of their definitions, a row at a time."""
    part = [row for row in rows if row["split"] == split and row["subject"] is not None and row["image"] is not None]
    baselines = {row["subject"] for row in part if row["months"] == 0}
    later = [row for row in part if row["months"] > 0]
    sexes = [row["sex"] for row in part if row["sex"] in ("M", "F")]
    diseases = [row["disease"] for row in part if row["disease"] in ("yes", "no")]
    return {
        "images": len(part),
        "subjects": len({row["subject"] for row in part}),
        "sex_known": len(sexes),
        "male_percent": 100 * sexes.count("M") / len(sexes) if sexes else None,
        "disease_known": len(diseases),
        "with_disease": diseases.count("yes") if diseases else None,
        "gallery": sum(row["months"] == 0 for row in part),
        "queries": dict(Counter(max(1, int(row["months"] / 12 + 0.5)) for row in later)),
        "queries_without_match": sum(row["subject"] not in baselines for row in later),
        "months_unknown": sum(row["months"] != row["months"] for row in part),
    }


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "image": st.sampled_from(["a", "b", None]),
                "subject": st.sampled_from(["1", "NA", "nan", None]),
                "side": st.sampled_from(["", "L", "R", None]),
                "months": st.sampled_from([0.0, 3.0, 6.0, 17.9, 18.0, 144.0, np.nan]),
                "split": st.sampled_from(["train", "test", None]),
                "sex": st.sampled_from(["M", "F", ""]),
                "disease": st.sampled_from(["yes", "no", ""]),
            }
        ),
        min_size=1,
        max_size=30,
    )
)
@settings(deadline=None)
def test_counts_are_those_of_their_definitions_whatever_is_missing(rows: list[dict]) -> None:
    found = describe(pd.DataFrame(rows))
    assert {split: vars(counts) for split, counts in found.items()} == {
        split: slow_counts(rows, split) for split in ("train", "test")
    }


def test_a_table_without_sex_and_disease_says_unknown_and_not_none() -> None:
    rows = [{"image": "a", "subject": "1", "side": "", "months": 0.0, "split": "train"}]
    counts = describe(pd.DataFrame(rows))["train"]
    assert (counts.male_percent, counts.with_disease) == (None, None)


def test_the_phantom_is_described_in_pure_json(fmim: Fmim) -> None:
    code, out, err = fmim("data", "describe", "phantom", "--preset", "smoke", "--json", "--sheet", "s.png")
    found = json.loads(out)
    assert (code, err) == (0, "contact sheet: s.png\n")
    assert list(found) == [
        "name", "kind", "release", "files", "about", "splits", "differences_from_paper", "findings",
    ]  # fmt: skip
    assert (found["name"], found["kind"], found["release"], found["files"]) == ("phantom", "phantom", "", {})
    rows = PhantomSource(SMOKE.phantom).index.to_dict("records")
    for split in ("train", "test"):
        expected = slow_counts(rows, split)
        expected["queries"] = {str(year): count for year, count in sorted(expected["queries"].items())}
        assert found["splits"][split] == expected
    assert (found["differences_from_paper"], found["findings"]) == ([], [])


@needs_nih
def test_the_real_sample_in_words(fmim: Fmim) -> None:
    code, out, err = fmim("data", "describe", NIH_MANIFEST)
    assert (code, err) == (0, "")
    lines = [" ".join(line.replace("│", "|").split()) for line in out.splitlines()]
    assert "| train | 690 | 249 | unknown | unknown |" in lines
    assert "| gallery: baseline | 429 | 112 |" in lines
    for year, queries in {1: (88, 67), 2: (39, 12), 5: (23, 60), 8: (13, 0), 13: (2, 0)}.items():
        assert f"| queries: year {year} | {queries[0]} | {queries[1]} |" in lines
    assert "| queries without a match | 14 | 0 |" in lines
    assert "SHA-256 e47130648600a2f6573f43de10264c2c8e87c7ff4bb7fa29f809ad27dd666cae" in out


def test_a_data_set_with_errors_is_described_with_them(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", [*GOOD, "x.png,train0,twelve,,train", "y.png,,0,,train"])
    code, out, _ = fmim("data", "describe", path, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["splits"]["train"]["images"] == 7, "a row without a subject is in no split"
    assert found["splits"]["train"]["months_unknown"] == 1
    errors = [(f["severity"], f["count"], f["places"]) for f in found["findings"]]
    assert errors == [("error", 1, ["line 15 ''"]), ("error", 1, ["line 14 'twelve'"])]


def test_metadata_only_looks_for_no_image(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", GOOD)
    for image in path.parent.glob("*.png"):
        image.unlink()
    assert json.loads(fmim("data", "describe", path, "--json")[1])["findings"][0]["what"] == "missing image files"
    for command in ("describe", "check", "prepare"):
        code, out, _ = fmim("data", command, path, "--metadata-only")
        assert code == 0
        assert "nothing was found wrong" in out
    code, _, err = fmim("data", "describe", path, "--metadata-only", "--sheet", "s.png")
    assert code == 2
    assert "--sheet shows images" in err


# --- the contact sheet


def tile(sheet: Image.Image, line: int, column: int) -> np.ndarray:
    left, top = LABEL + column * (TILE + GAP), TITLE + line * (TILE + CAPTION + GAP)
    return np.asarray(sheet)[top : top + TILE, left : left + TILE]


def test_a_sheet_shows_visits_in_their_order_with_true_aspect() -> None:
    rows = [("a", "L", 12.0, 50), ("a", "L", 0.0, 100), ("a", "R", 0.0, 150), ("a", "L", 0.0, 0), ("b", "", 0.0, 0)]
    index = pd.DataFrame(rows, columns=["subject", "side", "months", "grey"]).assign(split="train")
    lines = sheet_lines(index, range(5))
    assert [(line.subject, line.side, line.visits, line.of) for line in lines] == [
        ("a", "L", ((0.0, 1, 2), (12.0, 0, 1)), 2),
        ("a", "R", ((0.0, 2, 1),), 1),
    ], "b was seen once, so it shows nothing over time"

    def read(row: int) -> np.ndarray:
        if row == 2:
            raise ImageProblem("c.png", "empty")
        return np.full((20, 40), index["grey"][row], np.uint8)

    sheet = contact_sheet("title", lines, read, mirrored=True)
    for column, grey in enumerate((100, 50)):
        shown = tile(sheet, 0, column)
        assert (shown[TILE // 4 : 3 * TILE // 4] == grey).all()
        assert (shown[: TILE // 4] == 255).all()
        assert (shown[3 * TILE // 4 :] == 255).all()
    assert len(np.unique(tile(sheet, 1, 0))) > 10, "the reason stands where the image would"


def test_a_sheet_takes_long_histories_evenly_and_the_same_subjects_in_any_order() -> None:
    rows = [(f"s{n}", 12.0 * visit, "test" if n > 18 else "train") for n in range(20) for visit in range(n)]
    index = pd.DataFrame(rows, columns=["subject", "months", "split"]).assign(side="")
    lines = sheet_lines(index, range(len(index)))
    assert len(lines) == 8
    assert {line.of for line in lines} <= set(range(2, 19))
    for line in lines:
        shown = [months for months, _, _ in line.visits]
        assert (shown[0], shown[-1]) == (0.0, 12.0 * (line.of - 1))
        assert len(shown) == min(6, line.of)
    backwards = sheet_lines(index[::-1], range(len(index)))
    assert [line.subject for line in backwards] == [line.subject for line in lines]


def test_nothing_of_the_users_is_overwritten(fmim: Fmim, tmp_path: Path) -> None:
    mine = tmp_path / "mine.png"
    mine.write_text("mine")
    for command in (("describe", "phantom", "--sheet"), ("check", "phantom", "--csv")):
        code, _, err = fmim("data", *command, mine)
        assert code == 2
        assert "is there already, and nothing is overwritten" in err
    assert mine.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.png"]


# --- check


def test_every_problem_is_listed_at_once(fmim: Fmim, tmp_path: Path) -> None:
    """Broken, blank, copied, missing, unnamed and mislabelled, in a table with row errors besides."""
    data = tmp_path / "d"
    (data / "sub").mkdir(parents=True)
    (data / "out" / "report").mkdir(parents=True)
    Image.fromarray(picture(0)).save(data / "copy.bmp")  # of train0_0.png, in another format
    Image.fromarray(picture(3)[:, ::-1]).save(data / "mirrored.png")  # of train1_12.png
    Image.fromarray(np.full((9, 9), 70, np.uint8)).save(data / "blank.png")
    Image.fromarray(np.full((5, 7), 0, np.uint8)).save(data / "black.png")
    Image.fromarray(picture(1) // 16).save(data / "dark.png")
    Image.fromarray(picture(99)).save(data / "sub" / "unnamed.PNG")
    Image.fromarray(picture(99)).save(data / "out" / "report" / "figure.png")
    (data / "out" / "study.json").write_text("{}")
    (data / "text.png").write_text("text")
    rows = [*GOOD, "copy.bmp,train0,24,,train", "mirrored.png,test1,24,R,test", "blank.png,test2,24,,test",
            "black.png,train2,24,,train", "dark.png,train2,36,,train", "text.png,test0,24,,test",
            "late.png,train9,24,,train", "gone.png,train1,24,,train", "sided.png,train1,36,up,train"]  # fmt: skip
    path = folder_of(data, rows)
    (data / "gone.png").unlink()
    code, out, _ = fmim("data", "check", path, "--csv", "problems.csv")
    assert code == 2
    assert "d: 20 of 21 images decoded" in out
    assert "errors: 4, warnings: 6" in out
    with (tmp_path / "problems.csv").open(newline="", encoding="utf-8") as file:
        header, *found = csv.reader(file)
    assert header == ["severity", "problem", "place"]
    assert sorted((severity, place) for severity, _, place in found) == [
        ("error", "gone.png"),
        ("error", "line 22 'up'"),
        ("error", "mirrored.png (subject test1) = train1_12.png (subject train1)"),
        ("error", "text.png: not an image, or cut short (PNG, JPEG, TIFF, DICOM and the like are read)"),
        ("warning", "black.png"),
        ("warning", "blank.png"),
        ("warning", "copy.bmp = train0_0.png (subject train0)"),
        ("warning", "dark.png"),
        ("warning", "sub/unnamed.PNG"),
        ("warning", "train9"),
    ]
    assert not set("│┃") & set((tmp_path / "problems.csv").read_text())


def test_a_subject_on_both_sides_is_an_error(fmim: Fmim, tmp_path: Path) -> None:
    code, out, _ = fmim("data", "check", folder_of(tmp_path / "d", [*GOOD, "x.png,test1,24,,train"]))
    assert code == 2
    assert "subjects in both train and test" in out
    assert "• test1" in out


@pytest.mark.skipif(not REAL_DATA.is_dir(), reason="no shared/data beside the repository")
@pytest.mark.parametrize("name", ["nih/images64_manifest.csv", "open_cxr/manifest.csv"])
def test_real_data_sets_have_no_errors(name: str, fmim: Fmim) -> None:
    code, out, _ = fmim("data", "check", REAL_DATA / name)
    assert code == 0
    assert "errors" not in out


@needs_nih
def test_each_odd_image_is_told_as_expected(fmim: Fmim, tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    with (REAL_DATA / "odd" / "expected.csv").open(encoding="utf-8") as file:
        expected = {row["image"]: row["expected"] for row in csv.DictReader(file)}
    for name in expected:
        (folder / name).symlink_to(REAL_DATA / "odd" / name)
    path = folder_of(folder, [f"{name},s{n},0" for n, name in enumerate(expected)], "image,subject,months")
    fmim("data", "check", path, "--csv", tmp_path / "found.csv")
    with (tmp_path / "found.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    unreadable = dict(row["place"].split(": ", 1) for row in found if row["problem"] == "unreadable images")
    for name, words in expected.items():
        if words.startswith("refused by name: "):
            assert words.removeprefix("refused by name: ").split(" (")[0].split()[0] in unreadable[name]
        elif words.startswith("read"):
            assert name not in unreadable
    assert [row["place"] for row in found if row["problem"] == "blank images"].count("blank.png") == 1
    assert [row["place"] for row in found if "nearly" in row["problem"]] == ["grey16_only_12_bits_used.png"]


def test_checking_keeps_no_image() -> None:
    index = pd.DataFrame({"image": [f"{n}.png" for n in range(100)], "subject": "one"})
    findings, steps = Findings(), []
    tracemalloc.start()
    pattern = np.arange(1000, dtype=np.uint16) % 200
    check_images(
        index,
        range(100),
        lambda row: np.tile((pattern + row % 50).astype(np.uint8), (1000, 1)),
        findings,
        lambda *step: steps.append(step),
    )
    assert tracemalloc.get_traced_memory()[1] < 4e6 * (4 + (os.cpu_count() or 1)), "100 MB of images passed"
    tracemalloc.stop()
    assert steps == [(n + 1, 100) for n in range(100)]
    assert [(f.severity, len(f.places)) for f in findings] == [("warning", 50)]


def test_a_large_folder_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fmim_core.data.check.MAX_FILES", 3)
    for name in ("a.png", "b.txt", "c.png", "d.png", ".hidden/e.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    findings = Findings()
    unnamed_images(tmp_path, ["a.png", None], findings)
    assert [(f.severity, f.places) for f in findings] == [("note", (str(tmp_path),)), ("warning", ("c.png",))]


# --- prepare


def test_prepare_makes_the_bank_of_a_run_and_finds_it_again(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", GOOD)
    code, out, _ = fmim("data", "prepare", path, "--preset", "smoke")
    assert code == 0
    assert "12 images of 35 × 35 pixels (0.0 MB): 6 development, 6 test" in out
    assert "made in" in out
    (bank,) = (tmp_path / "runs" / "banks").iterdir()
    assert f"bank: {bank}" in out
    decoded = []
    same = build_bank(FileSource(manifest(path)), 35, "runs/banks", lambda *step: decoded.append(step))
    assert (same.path, decoded) == (bank, [])
    assert f"fingerprint {same.fingerprint}" in out
    assert "was there already" in fmim("data", "prepare", path, "--preset", "smoke")[1]


def test_prepare_refuses_what_cannot_be_used_and_makes_nothing(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", [*GOOD, "x.png,train0,-1,,train"])
    code, out, _ = fmim("data", "prepare", path)
    assert code == 2
    assert "line 14 '-1'" in out
    assert "no bank was made" in out
    (path.parent / "train0_0.png").write_text("text")
    folder_of(path.parent, GOOD)
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
    path = folder_of(tmp_path / "films", [f"in/{row},M,{n}" for n, row in enumerate(GOOD)],
                     "image,subject,months,side,split,sex,age")  # fmt: skip
    for name in ("train0_12", "test2_0"):
        (path.parent / "in" / f"{name}.png").unlink()

    register_for_a_test(DATA_SETS, Clinic, monkeypatch)
    return path.parent


def test_a_manifest_of_what_is_there_can_be_used(fmim: Fmim, clinic: Path) -> None:
    code, out, _ = fmim("data", "manifest", "clinic", "--data-root", clinic, "--out", clinic / "part.csv")
    assert code == 0
    assert f"{clinic / 'part.csv'}: 10 of 12 images" in out
    assert "the others are not there or cannot be used: `fmim data check clinic` lists them" in out
    assert "augmentation.std = 0.3: clinic sets this, the manifest does not" in out
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
        ({}, "elsewhere/part.csv", r"10 images .* are not inside .*elsewhere, where a manifest's must be"),
        ({}, "films/manifest.csv", "is there already, and nothing is overwritten"),
        ({"windows": {0: Window(0, 0, 9, 9)}}, "films/part.csv", "are parts of larger films"),
        ({"mirror_right": False}, "films/part.csv", "used as they are, those of a manifest mirrored"),
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
    lines = [line.strip() for line in out.splitlines()]
    assert "clinic       Films of a clinic." in lines
    for word in ("phantom", "FILE", "describe", "check", "prepare", "manifest"):
        assert any(line.lstrip("│ ").startswith(word) for line in lines)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("describe", "nope.csv"), "unknown data set 'nope.csv': give one of phantom"),
        (("describe", "chestxray"), "the path of a manifest (a CSV file). Did you mean 'chestxray14'?"),
        (("check", "phantom", "--preset", "tiny"), "unknown preset 'tiny'; there are smoke, quick, full, paper"),
        (("prepare", "clinic"), "clinic needs --data-root"),
        (("manifest", "phantom", "--data-root", ".", "--out", "x.csv"), "no data set in files called 'phantom'"),
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
