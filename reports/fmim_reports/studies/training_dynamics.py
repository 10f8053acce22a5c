"""The tables and the answer of `training_dynamics`: what margins, loss and similarities did from epoch to epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from fmim_reports.parts.training.dynamics import distributions_plot, margins_plot, movement
from fmim_reports.parts.training.surfaces import surfaces_plot
from fmim_reports.parts.verdict import Verdict, epochs_caution, verdict_of
from fmim_reports.reading.results import Results
from fmim_reports.reading.summary import Histories, at, epochs_of, histories_by_arm, milestones
from fmim_reports.studies import Contents
from fmim_reports.writing.captions import caption, curve_model
from fmim_reports.writing.columns import ARM, under
from fmim_reports.writing.formats import decimal
from fmim_reports.writing.tables import Column, Table

_WHY_EPOCHS_MATTER = (
    "Margins that are still moving have not ended anywhere, and the published end is no target for them."
)
PAPER = "Published, AdaTriplet + AutoMargin on OAI: ε = 0.419 and β = 0.491 after 100 epochs"
_ENTRIES = ("epsilon", "beta", "loss", "delta_mean", "phi_an_mean", "active_share", "batches", "empty_batches")


def milestones_table(results: Results) -> Table:
    """Return a few epochs of every arm, from the first to the last, for the reader."""
    return _epochs_table(results, "epoch_milestones", "From the first epoch to the last", milestones)


def epochs_table(results: Results) -> Table:
    """Return every epoch of every arm."""
    return _epochs_table(results, "epochs", "Every epoch", list)


def _epochs_table(results: Results, name: str, title: str, choose: Callable[[Iterable[int]], list[int]]) -> Table:
    rows: list[dict[str, Any]] = []
    for arm, seeds in histories_by_arm(results).items():
        for position, epoch in enumerate(choose(epochs_of(seeds))):
            found = {entry: at(seeds, entry, epoch) for entry in _ENTRIES}
            row = {"arm": results.arm(arm), "epoch": epoch, "n": found["loss"].n, "rule": bool(rows) and position == 0}
            # a dash where no seed has the entry at all, as Triplet has no β
            rows.append(row | {name: None if stat.nan == stat.n else stat.mean for name, stat in found.items()})
    group = "Mean over seeds"
    columns = [
        ARM,
        Column("epoch", "Epoch", "count"),
        *under(group, "number", epsilon="ε", beta="β", loss="Loss", delta_mean="Mean Δ", phi_an_mean="Mean φ_an"),
        Column("active_share", "Active triplets, %", "percent", group),
        Column("batches", "Batches", "count", group),
        Column("empty_batches", "Of these empty", "number", group),
        Column("n", "Seeds", "count"),
    ]
    text = (
        "The margins in force in an epoch and what they met, mean over seeds, on training images. Δ is averaged over "
        "all triplets, φ_an over negative pairs; active are those with a non-zero term; an empty batch had none. "
        "β is a dash for a loss without it. All epochs: tables/epochs.csv. "
        f"Of {curve_model(results)}."
    )
    return Table(name, title, caption(results, text), columns, rows, empty="No replicate is completed yet.")


def dynamics_verdict(results: Results) -> Verdict:
    """Say where the margins end and the published ones do, how Δ and φ_an moved, and of batches without a triplet."""
    found, own = histories_by_arm(results), epochs_caution(results, _WHY_EPOCHS_MATTER)
    if not found:
        return verdict_of(results, ["No replicate is completed yet."], own=own)

    def each(describe: Callable[[Histories], str], after: str = "") -> str:
        return "; ".join(f"{results.arm(arm).label}{after} {describe(seeds)}" for arm, seeds in found.items())

    findings = (
        *(f"{results.arm(arm).label} {_margins(seeds)}." for arm, seeds in found.items()),
        f"{PAPER}.",
        f"Similarities of training images, first to last epoch: {each(movement, ':')}.",
        f"Batches without an active triplet, over all epochs and seeds: {each(_empty)}.",
    )
    return verdict_of(results, findings, own=own)


def _margins(seeds: Histories) -> str:
    last = epochs_of(seeds)[-1]
    ends = [(sign, at(seeds, name, last)) for name, sign in (("epsilon", "ε"), ("beta", "β"))]
    listed = " and ".join(
        f"{sign} = {decimal(stat.mean, 3)}{'' if stat.se is None else f' ± {decimal(stat.se, 3)}'}"
        for sign, stat in ends
        if not math.isnan(stat.mean)
    )
    return f"ends at {listed or 'no margin that is a number'} (epoch {last}, n = {len(seeds)})"


def _empty(seeds: Histories) -> str:
    rows = [row for history in seeds.values() for row in history.values()]
    empty, batches = sum(row.empty_batches for row in rows), sum(row.batches for row in rows)
    first = sum(history[min(history)].empty_batches for history in seeds.values())
    loss = at(seeds, "loss", epochs_of(seeds)[0]).mean
    where = f" ({first} of them in the first epoch, whose mean loss was {decimal(loss, 2)})" if empty else ""
    return f"{empty} of {batches}{where}"


CONTENTS = Contents(
    verdict=dynamics_verdict,
    tables=(milestones_table,),
    figures=(margins_plot, surfaces_plot, distributions_plot),
    more=(epochs_table,),
)
