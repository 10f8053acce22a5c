"""`fmim data describe`: counts, findings, and the contact sheet."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fmim.declare.presets import SMOKE
from fmim_core.data.image_set import describe
from fmim_core.data.images.reading import ImageProblem
from fmim_core.data.images.sheet import GAP, LINE, SUBJECT, TILE, TITLE, contact_rows, contact_sheet
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.metric_names import YEAR
from tests.studies.data.conftest import Fmim
from tests.support.manifests import GOOD_ROWS, folder_of
from tests.support.paths import NIH_MANIFEST, needs_nih


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
        "queries_undated": 0,
        "months_unknown": sum(row["months"] != row["months"] for row in part),
        "not_evaluated": sum(row["months"] != row["months"] for row in part),
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
    found = describe(pd.DataFrame(rows), YEAR)
    assert {split: vars(counts) for split, counts in found.items()} == {
        split: slow_counts(rows, split) for split in ("train", "test")
    }


def test_the_phantom_is_described_in_pure_json(fmim: Fmim) -> None:
    code, out, err = fmim("data", "describe", "phantom", "--preset", "smoke", "--json", "--sheet", "s.png")
    found = json.loads(out)
    assert (code, err) == (0, "contact sheet: s.png\n")
    assert list(found) == [
        "name", "kind", "release", "files", "about", "interval", "channels", "splits", "published",
        "differences_from_paper", "findings",
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
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "train 690 249" in lines
    assert "gallery: baseline 429 112" in lines
    for year, queries in {1: (88, 67), 2: (39, 12), 5: (23, 60), 8: (13, 0), 13: (2, 0)}.items():
        assert f"queries: year {year} {queries[0]} {queries[1]}" in lines
    assert "queries without a match 14 0" in lines
    assert "SHA-256 e47130648600a2f6573f43de10264c2c8e87c7ff4bb7fa29f809ad27dd666cae" in out


def test_a_data_set_with_errors_is_described_with_them(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", [*GOOD_ROWS, "x.png,train0,twelve,,train", "y.png,,0,,train"])
    code, out, _ = fmim("data", "describe", path, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["splits"]["train"]["images"] == 7, "a row without a subject is in no split"
    assert found["splits"]["train"]["months_unknown"] == 1
    errors = [(f["severity"], f["count"], f["places"]) for f in found["findings"]]
    assert errors == [("error", 1, ["line 15 ''"]), ("error", 1, ["line 14 'twelve'"])]


def test_metadata_only_looks_for_no_image(fmim: Fmim, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "d", GOOD_ROWS)
    for image in path.parent.glob("*.png"):
        image.unlink()
    assert json.loads(fmim("data", "describe", path, "--json")[1])["findings"][0]["what"] == "missing image files"
    for command in ("describe", "check", "prepare"):
        code, out, _ = fmim("data", command, path, "--metadata-only")
        assert code == 0
        assert "no problems found" in out
    code, _, err = fmim("data", "describe", path, "--metadata-only", "--sheet", "s.png")
    assert code == 2
    assert "--sheet needs images" in err


# --- the contact sheet


def tile(sheet: Image.Image, line: int, column: int) -> np.ndarray:
    left, top = GAP + SUBJECT + GAP + column * (TILE + GAP), TITLE + line * (TILE + LINE + GAP)
    return np.asarray(sheet)[top : top + TILE, left : left + TILE]


def test_a_sheet_shows_visits_in_their_order_with_true_aspect() -> None:
    rows = [("a", "L", 12.0, 50), ("a", "L", 0.0, 100), ("a", "R", 0.0, 150), ("a", "L", 0.0, 0), ("b", "", 0.0, 0)]
    index = pd.DataFrame(rows, columns=["subject", "side", "months", "grey"]).assign(split="train")

    def read(row: int) -> np.ndarray:
        if row == 2:
            raise ImageProblem("c.png", "empty")
        return np.full((20, 40), index["grey"][row], np.uint8)

    shown = contact_rows(index, range(5), read, mirrored=True)
    assert [[text for text, _ in row.head.text] for row in shown] == [["a", "left"], ["a", "right (mirrored)"]], (
        "b was seen once, so it shows nothing over time"
    )
    texts = [[tile.text[0][0] for tile in row.tiles] for row in shown]
    assert texts == [["baseline (1 of 2)", "month 12"], ["baseline"]]
    sheet = contact_sheet("title", shown)
    for column, grey in enumerate((100, 50)):
        drawn = tile(sheet, 0, column)
        assert (drawn[TILE // 4 : 3 * TILE // 4] == grey).all()
        assert (drawn[: TILE // 4] == 255).all()
        assert (drawn[3 * TILE // 4 :] == 255).all()
    assert len(np.unique(tile(sheet, 1, 0))) > 10, "the reason stands where the image would"


def test_a_sheet_takes_long_histories_evenly_and_the_same_subjects_in_any_order() -> None:
    rows = [(f"s{n}", 12.0 * visit, "test" if n > 18 else "train") for n in range(20) for visit in range(n)]
    index = pd.DataFrame(rows, columns=["subject", "months", "split"]).assign(side="")
    rows_shown, backwards = (contact_rows(one, range(len(index)), int, False) for one in (index, index[::-1]))  # type: ignore[arg-type]
    assert len(rows_shown) == 8
    for row in rows_shown:
        visits = int(row.head.text[0][0][1:])
        assert visits <= 18, "the development subjects"
        months = [0, *(int(tile.text[0][0].split()[1]) for tile in row.tiles[1:])]
        assert (months[-1], len(months)) == (12 * (visits - 1), min(6, visits))
        assert [text for text, _ in row.head.text[2:]] == ([f"6 of {visits} visits"] if visits > 6 else [])
    assert [row.head.text for row in backwards] == [row.head.text for row in rows_shown]


def test_a_sheet_of_classes_shows_several_images_of_each() -> None:
    rows = [(f"{name}/{number}.jpg", name) for name in ("ant", "bee") for number in range(9)]
    index = pd.DataFrame(rows, columns=["image", "subject"]).assign(side="", months=np.nan, split="train", role="both")
    shown = contact_rows(index, range(18), int, False)  # type: ignore[arg-type]
    assert [[tile.text[0][0] for tile in row.tiles] for row in shown] == [["0", "2", "3", "5", "6", "8"]] * 2
    assert {row.head.text[2][0] for row in shown} == {"6 of 9 images"}


def test_nothing_of_the_users_is_overwritten(fmim: Fmim, tmp_path: Path) -> None:
    mine = tmp_path / "mine.png"
    mine.write_text("mine")
    for command in (("describe", "phantom", "--sheet"), ("check", "phantom", "--csv")):
        code, _, err = fmim("data", *command, mine)
        assert code == 2
        assert "exists and is not overwritten" in err
    assert mine.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.png"]


def test_weeks_and_roles_are_said_and_counted(fmim: Fmim, tmp_path: Path) -> None:
    rows = [f"{s}{n}.png,{s},{n / 4},{role},{split}" for s, split in (("a", "train"), ("b", "test"))
            for n, role in enumerate(("gallery", "query", "query", ""))]  # fmt: skip
    path = folder_of(tmp_path / "d", [*rows, "c.png,a,,query,train"], "image,subject,months,role,split")
    path.with_name("manifest.toml").write_text('interval = "week"\nmean = 0.25\n')
    _, out, _ = fmim("data", "describe", path)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "Gallery and queries by week after baseline" in lines
    assert "augmentation.mean = 0.25, unless a preset or an arm sets it" in lines
    counted = {"gallery": (1, 1), "queries: week 1": (1, 1), "queries: week 2": (1, 1)}
    counted |= {"queries: months unknown": (1, 0), "in neither (no role)": (1, 1)}
    for name, (train, test) in counted.items():
        assert f"{name} {train} {test}" in lines
    found = json.loads(fmim("data", "describe", path, "--json")[1])
    assert (found["interval"], found["splits"]["train"]["queries"]) == ("week", {"1": 1, "2": 1})
    assert list(found["files"]) == ["manifest.csv", "manifest.toml"]
