"""A query beside its candidates, as a picture that is read at the width of a page."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

from PIL import Image, ImageDraw

from fmim.matching.images import Images
from fmim.matching.ranking import Candidates, Ranking
from fmim_core.data.images.drawing import EMPTY, GAP, INK, LARGE, PAPER, QUIET, SMALL, place, wrapped, write
from fmim_core.data.listings.contact_sheet import SIDES, TILE, visit_name
from fmim_core.records import write_bytes

COLUMNS, SHOWN = 5, 20  # candidates in a line, and at most
QUERY, MARGIN, LINE, TITLE = 320, 24, 29, 56  # pixels
MATCH = "#009E73"  # the green of the report's figures, in its colour-blind safe shade
FRAME = 5
WIDTH = MARGIN + QUERY + MARGIN + COLUMNS * (TILE + GAP) - GAP + MARGIN


def write_match_sheet(path: Path, ranking: Ranking, number: int, sentence: str) -> None:
    """Draw query `number` of a ranking and its first candidates as a PNG file, with the `sentence` on their model."""
    content = io.BytesIO()
    match_sheet(ranking, number, sentence).save(content, "PNG")
    write_bytes(path, content.getvalue())


def match_sheet(ranking: Ranking, number: int, sentence: str) -> Image.Image:
    """The query on the left; then the candidates by rank, line by line, each with rank, similarity and who it is.

    True matches, where they are known, have a green frame and say so.
    """
    query, found = ranking.query, ranking.found[number]
    captions = [_about(ranking.gallery, int(position)) for position in found.positions[:SHOWN]]
    height = TILE + LINE * (1 + max(map(len, captions))) + MARGIN
    grid = -(-len(captions) // COLUMNS) * height
    footer = wrapped(sentence, SMALL, WIDTH - 2 * MARGIN)
    beside = _beside(query, number, found, len(captions))
    top = TITLE + max(grid, QUERY + len(beside) * LINE + MARGIN)
    sheet = Image.new("RGB", (WIDTH, top + len(footer) * LINE + MARGIN), PAPER)
    draw = ImageDraw.Draw(sheet)
    write(draw, (MARGIN, GAP), "Query", LARGE, INK, QUERY)
    left = MARGIN + QUERY + MARGIN
    write(
        draw,
        (left, GAP),
        f"Most similar of {len(ranking.gallery):,} images: rank and similarity",
        LARGE,
        INK,
        WIDTH - left,
    )
    place(sheet, (MARGIN, TITLE), QUERY, partial(query.read, query.about.index[number], QUERY))
    for line, (text, color) in enumerate(beside):
        write(draw, (MARGIN, TITLE + QUERY + 4 + line * LINE), text, SMALL, color, QUERY)
    for rank, caption in enumerate(captions):
        corner = (left + rank % COLUMNS * (TILE + GAP), TITLE + rank // COLUMNS * height)
        _candidate(sheet, corner, ranking, found, rank, caption)
    draw.line((MARGIN, top - GAP, WIDTH - MARGIN, top - GAP), fill=EMPTY, width=2)
    for line, text in enumerate(footer):
        write(draw, (MARGIN, top + line * LINE), text, SMALL, QUIET, WIDTH - 2 * MARGIN)
    return sheet


def _candidate(
    sheet: Image.Image, corner: tuple[int, int], ranking: Ranking, found: Candidates, rank: int, caption: list[str]
) -> None:
    """The image at a rank, counted from 0, with its lines of text."""
    (left, top), draw = corner, ImageDraw.Draw(sheet)
    row = ranking.gallery.about.index[found.positions[rank]]
    place(sheet, corner, TILE, partial(ranking.gallery.read, row, TILE))
    match = found.matches is not None and bool(found.matches[rank])
    if match:
        draw.rectangle((left, top, left + TILE - 1, top + TILE - 1), outline=MATCH, width=FRAME)
    first = f"{rank + 1}  {found.similarities[rank]:.4f}" + ("  match" if match else "")
    write(draw, (left, top + TILE + 4), first, SMALL, MATCH if match else INK, TILE)
    for line, text in enumerate(caption, 1):
        write(draw, (left, top + TILE + 4 + line * LINE), text, SMALL, QUIET, TILE)


def _about(images: Images, position: int) -> list[str]:
    """Who is on an image and when; or else its name, below that of its folder where there are several."""
    about = images.about.iloc[position]
    path = Path(about["image"])
    if not images.known:
        path = path.relative_to(images.origin) if path.is_relative_to(images.origin) else path
        return [*path.parts[-2:-1], path.stem]
    side = SIDES[about["side"]]
    return [f"subject {about['subject']}", visit_name(float(about["months"])) + (f", {side}" if side else "")]


def _beside(query: Images, number: int, found: Candidates, shown: int) -> list[tuple[str, str]]:
    """The lines below the query, with their colours."""
    name = Path(query.about["image"].iloc[number]).stem
    lines = [(text, QUIET) for text in (name, *(_about(query, number) if query.known else ()))]
    if found.matches is not None:
        known = "no image of this person" if found.first_match is None else f"first match: rank {found.first_match:,}"
        lines.append((known, MATCH if found.first_match is not None and found.first_match <= shown else INK))
    return lines
