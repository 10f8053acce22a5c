"""The finds of each test query with every seed of every arm, from the Parquet files beside the replicates' records."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from fmim_core.metric_names import METRICS, Metric
from fmim_core.records import QUERY_COLUMNS, Record, queries_path, read_queries
from fmim_reports.reading.files import Problem

FOUND = ("rank", *(metric.of_query for metric in METRICS.values()), "truth_row", "top_row")
"""The columns that depend on the model; the others say which query it is, and are the same for all models."""
ASKED = tuple(name for name in QUERY_COLUMNS if name not in FOUND)


@dataclass(frozen=True)
class Queries:
    """The test queries of a study, and what was found for each.

    asked: one row a query, with what is known of it (`ASKED`); the same for every arm and seed.
    found: arm → seed → one row a query in the same order (`FOUND`), of the replicates whose files are whole.
    """

    asked: pd.DataFrame
    found: Mapping[str, Mapping[int, pd.DataFrame]]

    def seeds(self, arm: str) -> list[int]:
        """Return the seeds of an arm whose queries are known, in order."""
        return sorted(self.found.get(arm, {}))

    @cached_property
    def _with_match(self) -> np.ndarray:
        return self.asked["matches"].to_numpy() > 0

    @cached_property
    def scored(self) -> pd.DataFrame:
        """The rows of `asked` that have a match, by `query_row`: metrics are means over these."""
        return self.asked[self._with_match].set_index("query_row", drop=False)

    @cached_property
    def subjects(self) -> Mapping[Hashable, str]:
        """Each scored query's subject, by the query's row in the bank."""
        return dict(zip(self.scored.index.tolist(), self.scored["subject"], strict=True))

    def values(self, arm: str, metric: Metric) -> pd.DataFrame:
        """Return each scored query's value of a metric with each seed of an arm: seeds × queries, by `query_row`.

        The mean of a row is the record's metric. Without a seed it has no rows.
        """
        found = self.found.get(arm, {})
        rows = [found[seed][metric.of_query].to_numpy()[self._with_match] for seed in self.seeds(arm)]
        values = np.stack(rows) if rows else np.empty((0, len(self.scored)))
        return pd.DataFrame(values, index=self.seeds(arm), columns=self.scored.index)


def queries_of(out: Path, records: Iterable[Record], problems: list[Problem]) -> Queries:
    """Return the queries of these completed replicates; a file that cannot be used becomes a problem.

    It cannot where it is missing, is not the one that its record names, has another mean than the record's mAP, or has
    other queries than the files before it.
    """
    asked: pd.DataFrame | None = None
    found: dict[str, dict[int, pd.DataFrame]] = {}
    for record in records:
        if record.queries_sha256 is None:
            continue
        path = queries_path(out, record.trial)
        try:
            whole = read_queries(path, record.queries_sha256)
            own = whole[[name for name in ASKED if name in whole]]
            asked = own if asked is None else asked
            _check(path.name, record, whole, own.equals(asked))
        except ValueError as error:
            why = f"{error}; the record's own metrics are used. To rewrite the file, move it aside and run again"
            problems.append(Problem(f"records/{path.name}", why))
            continue
        found.setdefault(record.arm, {})[record.replicate] = whole[list(FOUND)]
    return Queries(pd.DataFrame(columns=list(ASKED)) if asked is None else asked, found)


def _check(name: str, record: Record, whole: pd.DataFrame, same_queries: bool) -> None:
    mean, recorded = float(whole["ap"].mean()), (record.measured or {}).get("mAP", math.nan)
    if not math.isclose(mean, recorded, abs_tol=1e-9) and not (math.isnan(mean) and math.isnan(recorded)):
        raise ValueError(f"the mean AP in {name} is {mean:.6f}, the record's mAP {recorded:.6f}")
    if not same_queries:
        raise ValueError(f"{name} has different queries from the study's other files")
