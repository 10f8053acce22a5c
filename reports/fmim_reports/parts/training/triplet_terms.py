"""Whether the triplet term of each arm had anything to do: initial margins, batches without an active triplet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fmim_core.records import EpochRow
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.columns import ARM
from fmim_reports.writing.formats import in_percent
from fmim_reports.writing.sections import Section, in_every_study
from fmim_reports.writing.tables import Column, Table

MOST_EMPTY = 0.02
"""Share of an arm's batches that may be without an active triplet before a report warns of it."""


@dataclass(frozen=True)
class TripletTerm:
    """What became of an arm's triplet term in all epochs of its completed trials' models, search and replicates.

    initial: how its schedule begins, as its configuration says; empty for margins that are given.
    epsilon, beta: means over models of the margins in force in the first epoch; not-a-number where there are none.
    empty, batches: batches without an active triplet, and all. first_empty, first_batches: of the first epochs alone.
    without_margin: of the empty batches, those of epochs whose ε was 0 throughout.
    active_share: mean over epochs of the share of triplets with a non-zero term; not-a-number for losses without any.
    """

    arm: str
    label: str
    initial: str
    epsilon: float
    beta: float
    empty: int
    batches: int
    first_empty: int
    first_batches: int
    without_margin: int
    active_share: float

    @property
    def empty_share(self) -> float:
        return self.empty / self.batches if self.batches else math.nan


def triplet_terms(results: Results) -> list[TripletTerm]:
    """Every arm with a completed trial, in plan order."""
    found = []
    for arm in results.arms:
        records = [
            trial.record
            for stage in results.stages
            for trial in results.of(arm.name, stage)
            if trial.record and trial.status == "completed" and trial.record.history
        ]
        if not records:
            continue
        histories = [history for record in records for history in record.histories if history]
        rows, first = [row for history in histories for row in history], [history[0] for history in histories]
        found.append(
            TripletTerm(
                arm=arm.name,
                label=arm.label,
                initial=str(records[0].config["margins"].get("initial", "")),
                epsilon=_mean([row.epsilon for row in first]),
                beta=_mean([row.beta for row in first]),
                empty=_empty(rows),
                batches=sum(row.batches for row in rows),
                first_empty=_empty(first),
                first_batches=sum(row.batches for row in first),
                without_margin=_empty([row for row in rows if row.epsilon == 0]),
                active_share=_mean([row.active_share for row in rows]),
            )
        )
    return found


def _empty(rows: Sequence[EpochRow]) -> int:
    return sum(row.empty_batches for row in rows)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


@in_every_study(Section.MORE)
def triplet_terms_table(results: Results) -> Table:
    """Initial margins, empty batches and the active share of every arm."""
    rows = [
        {
            "arm": results.arm(one.arm),
            "initial": one.initial or "given",
            "epsilon": _number(one.epsilon),
            "beta": _number(one.beta),
            "batches": one.batches,
            "empty": one.empty,
            "empty_share": _number(one.empty_share),
            "first_empty": one.first_empty / one.first_batches if one.first_batches else None,
            "active_share": _number(one.active_share),
        }
        for one in triplet_terms(results)
        if not math.isnan(one.active_share)
    ]
    first, empty = "First epoch", "Batches without an active triplet"
    columns = [
        ARM,
        Column("initial", "Initial margins", "text", first),
        Column("epsilon", "ε", "number", first),
        Column("beta", "β", "number", first),
        Column("batches", "Batches", "count"),
        Column("empty", "All", "count", empty),
        Column("empty_share", "%", "percent", empty),
        Column("first_empty", "% of the first epoch", "percent", empty),
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


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def empty_batches_caution(results: Results) -> list[str]:
    """The arms whose triplet term was empty in more than 2 % of their batches, with the reason where ε was 0."""
    empty = [one for one in triplet_terms(results) if one.empty_share > MOST_EMPTY]
    if not empty:
        return []
    listed = "; ".join(f"{one.label} in {in_percent(one.empty_share, 0)} % of its batches{_why(one)}" for one in empty)
    return [f"The triplet term was empty, with no active triplet to learn from: {listed}."]


def _why(one: TripletTerm) -> str:
    if one.without_margin < one.empty:
        return ""
    return " (always where its schedule had set ε = 0, under which semi-hard selection, 0 < Δ ≤ ε, selects nothing)"
