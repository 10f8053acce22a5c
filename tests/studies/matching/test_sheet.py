"""The picture of a query and its candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import ImageColor

from fmim.matching.images import GivenImages
from fmim.matching.model import Ranking
from fmim.matching.output import COLUMNS, QUERY, match_sheet
from fmim_core.data.images.sheet import FRAME, GAP, LINE, MATCH, TILE, TITLE, wrapped

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
