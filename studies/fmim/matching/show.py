"""The output of `fmim match`: the first candidates of the first queries, and how many were found at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median
from typing import Any

from fmim.matching.ranking import Ranking
from fmim.printing import TextConsole, TextTable

CANDIDATES, QUERIES = 5, 10
CELLS: dict[str, Callable[[Any], str]] = {
    "query": str,
    "rank": str,
    "candidate": str,
    "subject": str,
    "months": lambda months: "" if math.isnan(months) else f"{months:g}",
    "similarity": lambda similarity: f"{similarity:.4f}",
    "match": lambda match: "yes" if match else "no",
}
NUMBERS = frozenset(("rank", "months", "similarity"))


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
    left_out = f"; {without:,} of somebody who is not in the gallery" if without else ""
    if not ranks:
        return f"none of {without:,} queries is of somebody in the gallery"
    at_once = sum(rank == 1 for rank in ranks)
    return (
        f"the person is found first for {at_once:,} of {len(ranks):,} queries ({at_once / len(ranks):.1%}), at a "
        f"median rank of {median(ranks):g} among {len(ranking.gallery):,} images{left_out}"
    )
