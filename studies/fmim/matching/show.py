"""What `fmim match` prints: the first candidates of the first queries, and how many were found at once."""

from __future__ import annotations

import math
from statistics import median

from rich.console import Console
from rich.table import Table

from fmim.matching.ranking import Candidates, Ranking
from fmim_core.records import in_terminal

CANDIDATES, QUERIES = 5, 10
NUMBERS = frozenset(("rank", "months", "similarity"))


def show_ranking(ranking: Ranking, console: Console) -> None:
    """A table of candidates, and where it is known who is who a sentence on the first true matches."""
    matches = ranking.found[0].matches is not None
    table = Table(show_edge=False)
    for name in ("query", "rank", "candidate", *(("subject", "months") if ranking.gallery.known else ()), "similarity"):
        table.add_column(name, overflow="fold", justify="right" if name in NUMBERS else "left")
    if matches:
        table.add_column("match")
    for number, found in enumerate(ranking.found[:QUERIES]):
        _add_rows(table, str(ranking.query.about["image"].iloc[number]), ranking, found)
    console.print(table)
    if len(ranking.found) > QUERIES:
        console.print(f"and {len(ranking.found) - QUERIES:,} more queries", highlight=False)
    if matches:
        console.print(_first_matches(ranking), highlight=False)


def _add_rows(table: Table, query: str, ranking: Ranking, found: Candidates) -> None:
    """The first candidates of a query, whose name stands beside the first of them."""
    shown = found.positions[:CANDIDATES]
    for place, (_, about) in enumerate(ranking.gallery.about.iloc[shown].iterrows()):
        cells = [query if place == 0 else "", str(place + 1), about["image"]]
        if ranking.gallery.known:
            cells += [about["subject"], "" if math.isnan(about["months"]) else f"{about['months']:g}"]
        cells.append(f"{found.similarities[place]:.4f}")
        if found.matches is not None:
            cells.append("yes" if found.matches[place] else "no")
        table.add_row(*map(in_terminal, cells), end_section=place + 1 == len(shown))


def _first_matches(ranking: Ranking) -> str:
    """How well it went, in the words of a report."""
    ranks = [found.first_match for found in ranking.found if found.first_match is not None]
    without = len(ranking.found) - len(ranks)
    left_out = f"; {without:,} of somebody who is not in the gallery" if without else ""
    if not ranks:
        return f"none of {without:,} queries is of somebody in the gallery"
    at_once = sum(rank == 1 for rank in ranks)
    return (
        f"the person is found first for {at_once:,} of {len(ranks):,} queries ({at_once / len(ranks):.1%}), at a "
        f"median rank of {median(ranks):g} among {len(ranking.gallery):,} images{left_out}"
    )
