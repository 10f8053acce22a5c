"""`fmim embed` and `fmim match`: the pictures, what they write, print and refuse as a user types them."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from PIL import Image, ImageColor

from fmim import load_model
from fmim.matching.images import GivenImages
from fmim.matching.model import Ranking
from fmim.matching.output import COLUMNS, QUERY, match_sheet
from fmim_core.data.bank.building import build_bank
from fmim_core.data.images.sheet import FRAME, GAP, LINE, MATCH, TILE, TITLE, wrapped
from fmim_core.data.sets.base import FileSource
from fmim_core.data.sets.manifest import manifest
from fmim_core.records import BAD_INPUT, DONE, read_queries
from tests.support.manifests import folder_of
from tests.support.mini_study import ARM, ensemble_plan, mini_plan, trained
from tests.support.paths import NIH_MANIFEST, needs_nih
from tests.support.program import Program

TABLE = ["=a.png,=1+1,0,L", "b.png,-2,12,R", "c.png,@x,,", "d.png,-2,0,L", "e.png,y,6,"]
HEADER = "image,subject,months,side"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Five pictures of four people, whose names are what a spreadsheet would compute."""
    return folder_of(tmp_path / "images", TABLE, HEADER)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_embeddings_as_csv_with_what_the_table_says(
    fmim_here: Program, single: Path, table: Path, tmp_path: Path
) -> None:
    done = fmim_here("embed", single, table, "--arm", ARM, "--to", "new/e.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (DONE, "")
    assert "5 embeddings of 16 numbers: new/e.csv" in done.stdout
    assert f"arm {ARM} (AdaTriplet + AutoMargin), seed 0, of the study automargin_vs_grid (mini)" in done.stdout
    assert "not a probability" in done.stdout
    found = rows(tmp_path / "new/e.csv")
    assert list(found[0]) == ["image", "subject", "side", "months", "split", *(f"e{number}" for number in range(16))]
    assert [(row["image"], row["subject"], row["months"], row["side"]) for row in found] == [
        ("=a.png", "=1+1", "0.0", "L"),
        ("b.png", "-2", "12.0", "R"),
        ("c.png", "@x", "", ""),
        ("d.png", "-2", "0.0", "L"),
        ("e.png", "y", "6.0", ""),
    ]
    numbers = np.array([[row[f"e{number}"] for number in range(16)] for row in found]).astype(np.float32)
    np.testing.assert_array_equal(numbers, load_model(single, ARM, device="cpu").embed(table))


def test_embeddings_as_parquet_with_their_model(
    fmim_here: Program, ensemble: Path, table: Path, tmp_path: Path
) -> None:
    assert fmim_here("embed", ensemble, table, "--arm", ARM, "--to", "e.parquet", cwd=tmp_path).returncode == DONE
    found = parquet.read_table(tmp_path / "e.parquet")
    assert found["subject"].to_pylist() == ["=1+1", "-2", "@x", "-2", "y"]
    assert found["months"].to_pylist() == [0.0, 12.0, None, 0.0, 6.0]
    model = load_model(ensemble, ARM, device="cpu")
    np.testing.assert_array_equal(np.array(found["embedding"].to_pylist()), model.embed(table))
    assert found.schema.metadata[b"fmim"].decode() == model.replicate.sentence


def test_candidates_of_unknown_people_with_a_picture_of_each(
    fmim_here: Program, single: Path, table: Path, tmp_path: Path
) -> None:
    queries = [tmp_path / "images/b.png", tmp_path / "images/c.png"]
    command = ("match", single, *queries, "--arm", ARM, "--side", "R", "--gallery", table, "--to", "found")
    done = fmim_here(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (DONE, "")
    assert "not a probability" in done.stdout
    folder = tmp_path / "found"
    assert sorted(path.name for path in folder.iterdir()) == ["001_b.png", "002_c.png", "matches.csv", "model.txt"]
    found, expected = rows(folder / "matches.csv"), load_model(single, ARM, device="cpu")
    assert list(found[0]) == ["query", "rank", "candidate", "subject", "side", "months", "similarity"]
    names, people = ["=a.png", "d.png"], {"=a.png": "=1+1", "d.png": "-2"}
    cosines = expected.embed(queries, side="R").astype(float) @ expected.embed(table)[[0, 3]].astype(float).T
    for number, path in enumerate(queries):
        part = found[2 * number : 2 * number + 2]
        assert [(row["query"], row["rank"]) for row in part] == [(str(path), "1"), (str(path), "2")]
        best = np.argsort(-cosines[number])
        assert [row["candidate"] for row in part] == [names[place] for place in best]
        assert [row["subject"] for row in part] == [people[row["candidate"]] for row in part]
        np.testing.assert_allclose([float(row["similarity"]) for row in part], cosines[number][best], atol=1e-6)


def test_a_table_asks_by_later_visits_and_all_images_can_be_searched(
    fmim_here: Program, single: Path, table: Path, tmp_path: Path
) -> None:
    command = ("match", single, table, "--arm", ARM, "--gallery", table, "--sheets", "0", "--all-images", "--to", "m")
    done = fmim_here(*command, cwd=tmp_path)
    found = pd.read_csv(tmp_path / "m/matches.csv")
    assert found.groupby("query")["candidate"].agg(set).to_dict() == {
        "b.png": {"=a.png", "c.png", "d.png", "e.png"},
        "e.png": {"=a.png", "b.png", "c.png", "d.png"},
    }, "no image is its own candidate"
    assert found[found["match"]][["query", "candidate"]].to_numpy().tolist() == [["b.png", "d.png"]]
    assert "of 1 queries" in done.stdout
    assert "1 queries have no match in the gallery" in done.stdout
    assert not list((tmp_path / "m").glob("*.png"))


def test_nothing_is_overwritten(fmim_here: Program, single: Path, table: Path, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    for name in ("old/note.txt", "old.csv"):
        (tmp_path / name).write_text("mine", encoding="utf-8")
    matching = ("match", single, table, "--gallery", table)
    for command in (
        ("embed", single, table, "--to", "old.csv"),
        (*matching, "--to", "old"),
        (*matching, "--to", "old.csv"),
    ):
        done = fmim_here(*command, "--arm", ARM, cwd=tmp_path)
        assert done.returncode == BAD_INPUT
        assert "overwritten" in done.stderr
    assert [path.read_text() for path in (tmp_path / "old/note.txt", tmp_path / "old.csv")] == ["mine", "mine"]
    assert list((tmp_path / "old").iterdir()) == [tmp_path / "old/note.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("images", "--gallery", "images", "--split", "test"), "neither QUERY nor --gallery is one"),
        (("images/b.png", "--gallery", "images", "--all-images"), "all images are searched anyway"),
        (("images/manifest.csv", "--gallery", "empty"), "there are no images in the folder empty"),
        (("images/b.png", "images/none.png", "--gallery", "images"), "there is no image file images/none.png"),
        (("later.csv", "--gallery", "images"), "there is no query (a later visit, or by role) among 1 images"),
        (("images/b.png", "--gallery", "later.csv", "--split", "test"), "there is no image of a subject in test"),
    ],
)
def test_what_cannot_be_matched_is_told(
    fmim_here: Program, single: Path, table: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "later.csv").write_text("image,subject,months\nimages/b.png,x,0\n", encoding="utf-8")
    done = fmim_here("match", single, *arguments, "--arm", ARM, cwd=tmp_path)
    assert done.returncode == BAD_INPUT
    assert message in done.stderr


@pytest.mark.slow
@needs_nih
@pytest.mark.parametrize("change", [lambda plan: plan, ensemble_plan], ids=["one model", "fold ensemble"])
def test_real_radiographs_have_the_ranks_of_the_report(fmim_here: Program, tmp_path: Path, change: object) -> None:
    out, plan = tmp_path / "study", change(mini_plan(replicates=1, epochs=2))
    [record] = trained(out, plan, build_bank(FileSource(manifest(NIH_MANIFEST)), 28, tmp_path / "banks"))
    command = ("match", out, NIH_MANIFEST, "--arm", ARM, "--gallery", NIH_MANIFEST, "--split", "test")
    done = fmim_here(*command, "--top", 1000, "--to", "found", "--sheets", 1, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (DONE, "")
    found = pd.read_csv(tmp_path / "found/matches.csv")
    queries = read_queries(tmp_path / f"study/records/{record.trial}.queries.parquet", str(record.queries_sha256))
    first = found[found["match"]].groupby("query")["rank"].min()
    assert len(queries) == 198
    assert first.to_dict() == queries.set_index("query")["rank"].to_dict()
    assert found.groupby("query").size().unique().tolist() == [112]
    assert f"for {(first == 1).sum()} of 198 queries" in done.stdout
    assert f"median rank is {first.median():g} among 112 images" in done.stdout
    assert Image.open(tmp_path / "found/001_00000003_000.png").width > 1000


# --- the picture of a query and its candidates

LEFT, HEIGHT = 2 * GAP + QUERY, TILE + 3 * LINE + GAP  # of the first candidate; of a line of them


def images(levels: list[int], subject: str) -> GivenImages:
    """Images of one grey level each."""
    about = pd.DataFrame({"image": [f"f/{n}.png" for n in levels], "subject": subject, "side": "L", "months": 12.0})
    return GivenImages(
        "f", about, lambda row, size: np.full((size, size), levels[row], np.uint8), about["image"], threads=1
    )


@pytest.fixture
def ranking() -> Ranking:
    """Eight candidates in backward order, of whom the third and the seventh are true."""
    levels = list(range(10, 90, 10))
    found = pd.DataFrame({"query": 0, "rank": range(1, 9), "candidate": np.arange(8)[::-1]})
    found = found.assign(similarity=np.linspace(0.9, 0.2, 8), match=found["rank"].isin([3, 7]))
    return Ranking(images([100], "q"), images(levels, "a long name of somebody"), found, [3])


def test_candidates_stand_by_rank_and_true_ones_are_framed(ranking: Ranking) -> None:
    sheet = np.asarray(match_sheet(ranking, 0, "One sentence."))
    assert (sheet[TITLE : TITLE + QUERY, GAP : GAP + QUERY] == 100).all()
    green = ImageColor.getrgb(MATCH)
    for rank in range(8):
        top, left = TITLE + rank // COLUMNS * HEIGHT, LEFT + rank % COLUMNS * (TILE + GAP)
        tile = sheet[top : top + TILE, left : left + TILE]
        assert (tile[FRAME:-FRAME, FRAME:-FRAME] == 80 - 10 * rank).all()
        frame = green if rank in (2, 6) else (80 - 10 * rank,) * 3
        assert (tile[0] == frame).all()
        text = sheet[top + TILE : top + HEIGHT, left : left + TILE]
        assert (text < 200).any(axis=(1, 2)).any(), "something is written below"
        assert (sheet[top : top + HEIGHT - GAP, left + TILE : left + TILE + GAP] == 255).all(), (
            "and nothing between them"
        )
    assert (sheet[TITLE:, GAP + QUERY : LEFT][: 2 * HEIGHT - GAP] == 255).all()


def test_it_is_as_high_as_its_lines_and_shows_twenty_at_most(ranking: Ranking) -> None:
    found = ranking.candidates
    heights = [
        match_sheet(replace(ranking, candidates=each), 0, "One sentence.").height
        for each in (found, pd.concat([found.drop(columns="match")] * 4))
    ]
    assert heights == [TITLE + lines * HEIGHT + LINE + GAP for lines in (2, 4)]


def test_a_sentence_is_broken_between_words_where_it_is_too_wide() -> None:
    lines = wrapped("one two three four five six seven " * 4, 300)
    assert len(lines) > 3
    assert " ".join(lines).split() == ["one", "two", "three", "four", "five", "six", "seven"] * 4
    assert wrapped("short", 300) == ["short"]
