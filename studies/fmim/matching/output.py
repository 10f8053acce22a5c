"""The output of `fmim embed` and `fmim match`: files, a picture of each query beside its candidates, and text."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from PIL import Image

from fmim.matching.images import GivenImages
from fmim.printing import TextConsole, TextTable
from fmim_core.data.images.sheet import INK, MATCH, QUIET, SIDE_WORDS, TILE, Row, Text, Tile, picture_sheet, visit_name
from fmim_core.records import check_place, without_controls, write_bytes, write_text

if TYPE_CHECKING:
    from fmim.matching.model import Ranking  # with torch, whose import is slow

COLUMNS, SHOWN = 5, 20  # candidates in a line, and at most
QUERY = 320  # pixels
CANDIDATES, QUERIES = 5, 10
CELLS: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys(("query", "rank", "candidate", "subject"), str),
    "months": lambda months: "" if math.isnan(months) else f"{months:g}",
    "similarity": lambda similarity: f"{similarity:.4f}",
    "match": lambda match: "yes" if match else "no",
}
NUMBERS = frozenset(("rank", "months", "similarity"))


def check_embeddings_file(path: Path) -> None:
    """Raise a `ValueError` where embeddings cannot be written to the path: its ending, or something is there."""
    if path.suffix.lower() not in WRITERS:
        raise ValueError(f"--to {path}: the name must end in {' or '.join(WRITERS)}")
    if path.exists():
        raise ValueError(f"--to {path} exists and is not overwritten: give another name or move it")
    check_place(path.parent)


def write_embeddings(path: Path, about: pd.DataFrame, embeddings: np.ndarray, sentence: str) -> None:
    """Write one row an image: what is known of it, and its embedding `(N, D)`, by the ending of `path`.

    Parquet has it in a column `embedding`, a list of D numbers, and the `sentence` on their model in its metadata under
    `fmim`; CSV has it in columns e0, e1, …, in full precision.
    """
    WRITERS[path.suffix.lower()](path, about, embeddings, sentence)


def _write_parquet(path: Path, about: pd.DataFrame, embeddings: np.ndarray, sentence: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = pa.Table.from_pandas(about, preserve_index=False)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(embeddings.ravel()), embeddings.shape[1])
    table = table.append_column("embedding", lists)
    buffer = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"fmim": sentence}), buffer, compression="zstd")
    write_bytes(path, buffer.getvalue())


def _write_csv(path: Path, about: pd.DataFrame, embeddings: np.ndarray, sentence: str) -> None:
    numbers = pd.DataFrame(embeddings, about.index).add_prefix("e")
    write_text(path, as_csv(pd.concat([about, numbers], axis=1)))


WRITERS: dict[str, Callable[[Path, pd.DataFrame, np.ndarray, str], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
}


def as_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV: unknowns are blank, and names as they are, so that they join; � for control characters."""
    shown = table.map(lambda cell: without_controls(cell) if isinstance(cell, str) else cell)
    return shown.to_csv(index=False, lineterminator="\n")


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
    title = f"A query and the most similar of {len(ranking.gallery):,} images: rank and similarity"
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
    visit = "" if math.isnan(about["months"]) else visit_name(about["months"])
    seen = ", ".join(filter(None, (visit, SIDE_WORDS[about["side"]])))
    return [f"subject {about['subject']}", *([seen] if seen else [])]


def _beside(ranking: Ranking, number: int, shown: int) -> list[Text]:
    """Return the lines below the query, with their colours."""
    query, first = ranking.query, ranking.first_matches[number]
    name = Path(query.about["image"].iloc[number]).stem
    lines = [(text, QUIET) for text in (name, *(_about(query, number) if query.known else ()))]
    if ranking.known:
        known = "no match in the gallery" if first is None else f"first match: rank {first:,}"
        lines.append((known, MATCH if first is not None and first <= shown else INK))
    return lines


def show_ranking(ranking: Ranking, console: TextConsole) -> None:
    """Print a table of candidates, and where it is known who is who a sentence on the first true matches."""
    rows = ranking.table()
    rows = rows[(ranking.candidates["query"] < QUERIES) & (rows["rank"] <= CANDIDATES)]
    names = [name for name in CELLS if name in rows]
    cells = [tuple(CELLS[name](row[name]) for name in names) for _, row in rows.iterrows()]
    console.show(TextTable(names, cells, NUMBERS))
    if len(ranking.query) > QUERIES:
        console.say(f"and {len(ranking.query) - QUERIES:,} more queries")
    if ranking.known:
        console.say(_first_matches(ranking))


def _first_matches(ranking: Ranking) -> str:
    """Say how well it went, in the words of a report."""
    ranks = [rank for rank in ranking.first_matches if rank is not None]
    without = len(ranking.query) - len(ranks)
    left_out = f"; {without:,} queries have no match in the gallery" if without else ""
    if not ranks:
        return f"none of {without:,} queries has a match in the gallery"
    at_once = sum(rank == 1 for rank in ranks)
    return (
        f"a match is at rank 1 for {at_once:,} of {len(ranks):,} queries ({at_once / len(ranks):.1%}); the "
        f"median rank is {median(ranks):g} among {len(ranking.gallery):,} images{left_out}"
    )
