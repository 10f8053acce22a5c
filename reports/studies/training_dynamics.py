"""The tables and the answer of `training_dynamics`: what margins, loss and similarities did from epoch to epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from reports.parts.overview import caption
from reports.parts.tidy_arms import tidy_arms_table
from reports.parts.verdict import Verdict, epochs_caution, generic_verdict
from reports.reading import published
from reports.reading.histories import Histories, at, epochs_of, histories_by_arm, milestones
from reports.reading.results import Results
from reports.stats import MeanSE
from reports.writing.formats import configuration_text, decimal
from reports.writing.tables import Column, Table

_SHORT = "Margins that are still moving have not ended anywhere, and the published end is no target for them."
_ENTRIES = ("epsilon", "beta", "loss", "delta_mean", "phi_an_mean", "active_share", "batches", "empty_batches")


def dynamics_tidy_table(results: Results) -> Table:
    """`tables/training_dynamics.csv`; its columns are a contract."""
    return tidy_arms_table(results, {arm["name"]: _setting(results, arm["name"]) for arm in results.arms})


def _setting(results: Results, arm: str) -> str:
    """The one configuration of an arm, in words, whether it has run or not."""
    declared = next(a for a in results.arms if a["name"] == arm)
    return configuration_text(results.selected(arm) or declared["configurations"][0])


def milestones_table(results: Results) -> Table:
    """A few epochs of every arm, from the first to the last, for the reader."""
    title = "From the first epoch to the last"
    return _epochs_table(results, "epoch_milestones", title, milestones)


def epochs_table(results: Results) -> Table:
    """Every epoch of every arm."""
    return _epochs_table(results, "epochs", "Every epoch", list)


def _epochs_table(results: Results, name: str, title: str, choose: Callable[[Iterable[int]], list[int]]) -> Table:
    labels = {arm["name"]: arm["label"] for arm in results.arms}
    rows: list[dict[str, Any]] = []
    for arm, seeds in histories_by_arm(results).items():
        for position, epoch in enumerate(choose(epochs_of(seeds))):
            found = {entry: at(seeds, entry, epoch) for entry in _ENTRIES}
            row = {"arm": labels[arm], "epoch": epoch, "n": found["loss"].n, "rule": bool(rows) and position == 0}
            rows.append(row | {entry: _value(stat) for entry, stat in found.items()})
    group = "Mean over seeds"
    columns = [
        Column("arm", "Arm"),
        Column("epoch", "Epoch", "count"),
        Column("epsilon", "ε", "number", group),
        Column("beta", "β", "number", group),
        Column("loss", "Loss", "number", group),
        Column("delta_mean", "Mean Δ", "number", group),
        Column("phi_an_mean", "Mean φ_an", "number", group),
        Column("active_share", "Active triplets, %", "percent", group),
        Column("batches", "Batches", "count", group),
        Column("empty_batches", "Of these empty", "number", group),
        Column("n", "Seeds", "count"),
    ]
    text = (
        "The margins in force in an epoch and what they met, mean over seeds, on training images. Δ is averaged over "
        "all triplets, φ_an over negative pairs; active are those with a non-zero term; an empty batch had none. "
        "β is a dash for a loss without it. All epochs: tables/epochs.csv."
    )
    return Table(name, title, caption(results, text), columns, rows, empty="No replicate is completed yet.")


def _value(stat: MeanSE) -> float | None:
    """The mean; None, a dash, where no seed has the entry at all, as Triplet has no β."""
    return None if stat.nan == stat.n else stat.mean


def dynamics_verdict(results: Results) -> Verdict:
    """Where the margins end and where the published ones do, how Δ and φ_an moved, and batches without a triplet."""
    found, general = histories_by_arm(results), generic_verdict(results)
    if not found:
        return replace(general, findings=("No replicate is completed yet.",))
    labels = {arm["name"]: arm["label"] for arm in results.arms}
    findings = (
        "Margins. " + "; ".join(f"{labels[arm]} {_margins(seeds)}" for arm, seeds in found.items()) + f". {_paper()}.",
        "Similarities of training images, first to last epoch. "
        + "; ".join(f"{labels[arm]}: {movement(seeds)}" for arm, seeds in found.items())
        + ".",
        "Batches without any triplet to learn from, over all epochs and seeds: "
        + "; ".join(f"{labels[arm]} {_empty(seeds)}" for arm, seeds in found.items())
        + ".",
    )
    return replace(general, findings=findings, cautions=(*epochs_caution(results, _SHORT), *general.cautions))


def _margins(seeds: Histories) -> str:
    last = epochs_of(seeds)[-1]
    ends = [(sign, at(seeds, name, last)) for name, sign in (("epsilon", "ε"), ("beta", "β"))]
    said = " and ".join(
        f"{sign} = {decimal(stat.mean, 3)}{'' if stat.se is None else f' ± {decimal(stat.se, 3)}'}"
        for sign, stat in ends
        if not math.isnan(stat.mean)
    )
    return f"ends at {said or 'no margin that is a number'} (epoch {last}, n = {len(seeds)})"


def _paper() -> str:
    ends = {name: published.dynamics(name) for name in ("epsilon", "beta")}
    epsilon, beta = (decimal(float(series.iloc[-1]), 3) for series in ends.values())
    epochs = max(int(series.index[-1]) for series in ends.values()) + 1
    return f"Published, AdaTriplet + AutoMargin on OAI: ε = {epsilon} and β = {beta} after {epochs} epochs"


def movement(seeds: Histories) -> str:
    """`mean Δ 0.11 → 0.18, mean φ_an 0.14 → 0.08`, first to last epoch."""
    epochs = epochs_of(seeds)
    return ", ".join(
        f"mean {sign} {decimal(at(seeds, name, epochs[0]).mean, 2)} to {decimal(at(seeds, name, epochs[-1]).mean, 2)}"
        for name, sign in (("delta_mean", "Δ"), ("phi_an_mean", "φ_an"))
    )


def _empty(seeds: Histories) -> str:
    rows = [row for history in seeds.values() for row in history.values()]
    empty, batches = (sum(row.get(name) or 0 for row in rows) for name in ("empty_batches", "batches"))
    first = sum(history[min(history)].get("empty_batches") or 0 for history in seeds.values())
    loss = at(seeds, "loss", epochs_of(seeds)[0]).mean
    where = f" ({int(first)} of them in the first epoch, whose mean loss was {decimal(loss, 2)})" if empty else ""
    return f"{int(empty)} of {int(batches)}{where}"
