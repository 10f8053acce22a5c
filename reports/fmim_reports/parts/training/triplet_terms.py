"""The work of each arm's triplet term: initial margins, and batches without an active triplet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from fmim_core.records import EpochRow
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

MOST_EMPTY = 0.02
"""Share of an arm's batches that may be without an active triplet before a report warns of it."""


def triplet_terms(results: Results) -> list[dict[str, Any]]:
    """Return a row for every arm with a completed trial, of all epochs of its trials' models, search and replicates.

    `initial`: how its schedule begins, as its configuration says. `epsilon`, `beta`: means over models of the margins
    in force in the first epoch. `batches`; `empty` of them without an active triplet, `empty_share`, `first_empty` as a
    share of the first epochs' alone, and `without_margin` of them in epochs whose ε was 0 throughout. `active_share`:
    mean over epochs of the share of triplets with a non-zero term. What there is not is not a number.
    """
    rows = []
    for arm in results.arms:
        trials = [trial for stage in results.stages for trial in results.of(arm.name, stage)]
        records = [t.record for t in trials if t.record and t.status == "completed" and t.record.history]
        histories = [history for record in records for history in record.histories if history]
        if histories:
            initial = str(records[0].config["margins"].get("initial", "")) or "given"
            rows.append({"arm": arm, "initial": initial} | _counted(histories))
    return rows


def _counted(histories: Sequence[Sequence[EpochRow]]) -> dict[str, Any]:
    every, first = [row for history in histories for row in history], [history[0] for history in histories]
    batches, empty = sum(row.batches for row in every), _empty(every)
    of_first = sum(row.batches for row in first)
    return {
        "epsilon": fmean(row.epsilon for row in first),
        "beta": fmean(row.beta for row in first),
        "batches": batches,
        "empty": empty,
        "empty_share": empty / batches if batches else math.nan,
        "first_empty": _empty(first) / of_first if of_first else math.nan,
        "without_margin": _empty([row for row in every if row.epsilon == 0]),
        "active_share": fmean(row.active_share for row in every),
    }


def _empty(rows: Sequence[EpochRow]) -> int:
    return sum(row.empty_batches for row in rows)


@in_every_study(Section.MORE)
def triplet_terms_table(results: Results) -> Table:
    """Return initial margins, empty batches and the active share of every arm whose loss has triplets."""
    rows = [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in triplet_terms(results)
        if not math.isnan(row["active_share"])
    ]
    first, empty = "First epoch", "Batches without an active triplet"
    columns = [
        ARM,
        Column("initial", "Initial margins", "text", first),
        *under(first, "number", epsilon="ε", beta="β"),
        Column("batches", "Batches", "count"),
        Column("empty", "All", "count", empty),
        *under(empty, "percent", empty_share="%", first_empty="% of the first epoch"),
        Column("active_share", "Active triplets, %", "percent"),
    ]
    text = (
        "The triplet term in training, over all completed trials of an arm (search and replicates). Initial margins: "
        "measured, by the schedule's own formula on the first epoch's batches before anything is learnt; released, "
        "ε = 0.25 and β = 0; paper, both 0; given, since the margins never change. Measured is the default because it "
        "needs no value and leaves no first epoch without triplets: both can be seen without looking at any result. A "
        "batch without an active triplet trains nothing through this term."
    )
    return Table("triplet_terms", "Work of the triplet term", caption(results, text), columns, rows)


def empty_batches_caution(results: Results) -> list[str]:
    """Name the arms whose triplet term was empty in more than 2 % of their batches, with the reason where ε was 0."""
    reason = " (always where its schedule had set ε = 0, under which semi-hard selection, 0 < Δ ≤ ε, selects nothing)"
    listed = [
        f"{row['arm'].label} in {in_percent(row['empty_share'], 0)} % of its batches"
        f"{reason if row['without_margin'] == row['empty'] else ''}"
        for row in triplet_terms(results)
        if row["empty_share"] > MOST_EMPTY
    ]
    if not listed:
        return []
    return [f"The triplet term was empty, with no active triplet to learn from: {'; '.join(listed)}."]
