"""The queries that a report shows as pictures, by their rows of the bank: a few drawn by a hash, and the worst."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import multimode

import numpy as np
import pandas as pd

from fmim_reports.reading.results import Results

SAMPLES = 5
WORST = 4
MAX_ARMS = 7


@dataclass(frozen=True)
class ShownQuery:
    """A query, its nearest true match, and the image found first, as rows of the bank.

    query: its name. time: after baseline, in the study's interval; None where unknown. rank: of the nearest match,
    1 = found at once; the median where there are several replicates. missed: how many of `of` replicates found
    somebody else first.
    """

    query: str
    time: int | None
    query_row: int
    truth_row: int
    top_row: int
    rank: float
    missed: int
    of: int

    @property
    def rows(self) -> tuple[int, int, int]:
        return self.query_row, self.truth_row, self.top_row


def sampled_queries(results: Results) -> dict[str, list[ShownQuery]]:
    """Return what each arm's seed 0 found for the same queries: the latest of a few subjects that a hash draws.

    Of at most seven arms, first of those that are compared.
    """
    compared = {name for pair in results.comparisons for name in pair}
    arms = [arm.name for arm in results.arms]
    if len(arms) > MAX_ARMS:
        arms = sorted(arms, key=lambda name: name not in compared)[:MAX_ARMS]
    asked = results.queries.asked
    matched = asked[asked["matches"] > 0]
    latest = matched.sort_values("months", kind="stable").groupby("subject").tail(1).set_index("subject")
    drawn = sorted(latest.index, key=lambda name: hashlib.sha256(f"samples/{name}".encode()).digest())[:SAMPLES]
    places = matched.index[matched["query_row"].isin(latest.loc[drawn, "query_row"])]
    seeds_0 = {arm: results.queries.found.get(arm, {}).get(0) for arm in arms}
    unit = results.interval.unit
    return {
        arm: [_over_replicates(asked.loc[place], [found.loc[place]], unit) for place in places]
        for arm, found in seeds_0.items()
        if found is not None and len(places)
    }


def best_arm(results: Results) -> str | None:
    """Return the arm with the best test metric over the seeds whose queries are known; None without any."""
    if results.queries.scored.empty:
        return None
    means = {arm: float(results.queries.values(arm, results.metric).to_numpy().mean()) for arm in _known(results)}
    sign = 1 if results.metric.higher_is_better else -1
    return max(means, key=lambda arm: sign * means[arm], default=None)


def worst_of_best_arm(results: Results) -> list[ShownQuery]:
    """Return the queries that the best arm ranks worst: those of lowest mean AP over its seeds that any seed missed."""
    return _worst(results, [best] if (best := best_arm(results)) is not None else [], ["ap"])


def worst_of_all(results: Results) -> list[ShownQuery]:
    """Return the queries that most replicates of all arms missed; among equals those of lowest mean AP."""
    return _worst(results, _known(results), ["hit", "ap"])


def _known(results: Results) -> list[str]:
    """Return the arms of which some seed's queries are known."""
    return [arm.name for arm in results.arms if results.queries.seeds(arm.name)]


def _worst(results: Results, arms: list[str], by: list[str]) -> list[ShownQuery]:
    frames = [frame for arm in arms for frame in results.queries.found[arm].values()]
    if not frames:
        return []
    ranks = np.stack([frame["rank"].to_numpy() for frame in frames])
    aps = np.stack([frame["ap"].to_numpy() for frame in frames])
    means = pd.DataFrame({"hit": (ranks == 1).mean(axis=0), "ap": aps.mean(axis=0)})
    missed = means[(means["hit"] < 1) & (results.queries.asked["matches"] > 0)]
    places = missed.sort_values(by, kind="stable").index[:WORST]
    asked, unit = results.queries.asked, results.interval.unit
    return [_over_replicates(asked.loc[p], [frame.loc[p] for frame in frames], unit) for p in places]


def _over_replicates(asked: pd.Series, found: Sequence[pd.Series], unit: str) -> ShownQuery:
    """Return one query over replicates, with the images that most of them found, of those that missed if any did."""
    missed = [one for one in found if one["rank"] > 1]
    # Of images found equally often, the one of the lowest row.
    truth, top = (int(min(multimode(one[name] for one in missed or found))) for name in ("truth_row", "top_row"))
    rank = float(np.median([one["rank"] for one in found]))
    time = None if pd.isna(asked[unit]) else int(asked[unit])
    return ShownQuery(asked["query"], time, int(asked["query_row"]), truth, top, rank, len(missed), len(found))


def shown_rows(results: Results) -> set[int]:
    """Return the rows of the bank whose images a report shows."""
    shown = [*worst_of_best_arm(results), *worst_of_all(results)]
    shown += [query for queries in sampled_queries(results).values() for query in queries]
    return {row for query in shown for row in query.rows}
