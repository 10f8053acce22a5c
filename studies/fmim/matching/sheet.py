"""A query beside its candidates, as a picture that is read at the width of a page."""

from __future__ import annotations

import io
import re
from collections.abc import Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from fmim.matching.files import as_csv
from fmim.matching.images import GivenImages
from fmim.matching.ranking import Ranking
from fmim_core.data.images.sheet import INK, MATCH, QUIET, SIDES, TILE, Row, Text, Tile, picture_sheet, visit_name
from fmim_core.records import write_bytes, write_text

COLUMNS, SHOWN = 5, 20  # candidates in a line, and at most
QUERY = 320  # pixels


def write_matches(folder: Path, ranking: Ranking, sheets: int, sentence: str) -> None:
    """Write the candidates, the sentence on their model, and the first queries' pictures, named by number and query."""
    write_text(folder / "matches.csv", as_csv(ranking.table()))
    write_text(folder / "model.txt", sentence + "\n")
    for number, name in enumerate(ranking.query.about["image"].iloc[:sheets]):
        called = re.sub(r"[^\w.-]+", "_", Path(name).stem)[:60]
        content = io.BytesIO()
        match_sheet(ranking, number, sentence).save(content, "PNG")
        write_bytes(folder / f"{number + 1:03d}_{called}.png", content.getvalue())


def match_sheet(ranking: Ranking, number: int, sentence: str) -> Image.Image:
    """Draw the query on the left; then the candidates by rank, line by line, with rank, similarity and who it is.

    True matches, where they are known, have a green frame and say so.
    """
    query = ranking.query
    found = ranking.candidates[ranking.candidates["query"] == number].head(SHOWN)
    tiles = [_candidate(ranking, row) for row in found.to_dict("records")]
    read = partial(query.read, query.about.index[number], QUERY)
    row = Row(Tile(read, _beside(ranking, number, len(tiles))), tiles)
    title = f"A query, and the most similar of {len(ranking.gallery):,} images: rank and similarity"
    return picture_sheet(title, [row], COLUMNS, QUERY, sentence)


def _candidate(ranking: Ranking, found: Mapping[Hashable, Any]) -> Tile:
    """Return the image of a row of candidates, with its lines of text."""
    position, match = found["candidate"], found.get("match", False)
    first = f"{found['rank']}  {found['similarity']:.4f}" + ("  match" if match else "")
    text = [(first, MATCH if match else INK), *((line, QUIET) for line in _about(ranking.gallery, position))]
    read = partial(ranking.gallery.read, ranking.gallery.about.index[position], TILE)
    return Tile(read, text, MATCH if match else None)


def _about(images: GivenImages, position: int) -> list[str]:
    """Return who is on an image and when; or else its name, below that of its folder where there are several."""
    about = images.about.iloc[position]
    path = Path(about["image"])
    if not images.known:
        path = path.relative_to(images.origin) if path.is_relative_to(images.origin) else path
        return [*path.parts[-2:-1], path.stem]
    side = SIDES[about["side"]]
    return [f"subject {about['subject']}", visit_name(float(about["months"])) + (f", {side}" if side else "")]


def _beside(ranking: Ranking, number: int, shown: int) -> list[Text]:
    """Return the lines below the query, with their colours."""
    query, first = ranking.query, ranking.first_matches[number]
    name = Path(query.about["image"].iloc[number]).stem
    lines = [(text, QUIET) for text in (name, *(_about(query, number) if query.known else ()))]
    if ranking.known:
        known = "no image of this person" if first is None else f"first match: rank {first:,}"
        lines.append((known, MATCH if first is not None and first <= shown else INK))
    return lines
