"""Reports of `training_dynamics`, from a folder written by hand with known numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmim_core.records import json_text
from fmim_reports.drawing.plotting import NothingToDraw
from fmim_reports.parts.tidy import every_value_table
from fmim_reports.parts.training import surfaces
from fmim_reports.parts.training.dynamics import distributions_plot, margins_plot, split, varying_margins_plot
from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import at, density, histories, milestones
from fmim_reports.studies import training_dynamics as dynamics
from tests.support.declared import REPLICATES, record, write_study
from tests.support.file_contents import arm_content, edit, epoch_content, spoil, write
from tests.support.reports import assert_drawn, rows

BINS = 80
ARMS: dict[str, tuple[str, str, dict[str, float]]] = {
    "adatriplet_automargin": ("AdaTriplet", "AutoMargin", {"k_delta": 2, "k_an": 2}),
    "triplet_automargin": ("Triplet", "AutoMargin", {"k_delta": 2}),
    "triplet_fixed": ("Triplet", "Fixed margin", {"epsilon": 0.25}),
}


def one_bin(place: int, count: int) -> list[int]:
    return [count if bin_ == place else 0 for bin_ in range(BINS)]


def epoch_row(arm: str, epoch: int, seed: int) -> dict[str, Any]:
    """Epoch 1 has no triplet with AutoMargin; Δ moves from bin 40 (Δ = 0 to 0.05) up by 4 bins an epoch."""
    auto = arm.endswith("automargin")
    return epoch_content(
        epoch,
        loss=0.5 / epoch + seed / 100,
        epsilon=(epoch - 1) / 10 + seed / 1000 if auto else 0.25,
        beta=0.4 if arm.startswith("ada") else math.nan,
        delta_mean=epoch / 5,
        phi_an_mean=0.3 / epoch,
        active_share=0.25,
        batches=10,
        empty_batches=10 if auto and epoch == 1 else 0,
        delta_histogram=one_bin(36 + 4 * epoch, 100 * (seed + 1)),
        phi_an_histogram=one_bin(44 - epoch, 50),
    )


def surface(label: str, lam: float | None) -> dict[str, Any]:
    phi = np.linspace(-1, 1, 41)
    ap, an = np.meshgrid(phi, phi)
    triplet, pair = np.maximum(0, an - ap + 0.25), (lam or 0.0) * np.maximum(0, an - 0.1)
    return {
        "label": label,
        "configuration": {} if lam is None else {"lam": lam},
        "epsilon": 0.25,
        "beta": 0.1,
        "phi": phi.tolist(),
        "loss": (triplet + pair).tolist(),
        "d_phi_ap": np.where(triplet > 0, -1.0, 0.0).tolist(),
        "d_phi_an": (np.where(triplet > 0, 1.0, 0.0) + np.where(pair > 0, lam or 0.0, 0.0)).tolist(),
    }


@pytest.fixture
def training(tmp_path: Path) -> Path:
    arms = [
        arm_content(a, loss, search, a.rpartition("_")[2], label=f"{loss} + {search}", configurations=[c])
        for a, (loss, search, c) in ARMS.items()
    ]
    made = [record(a, c, seed, 0.6 + seed / 10, 0.2) for a, (*_, c) in ARMS.items() for seed in range(REPLICATES)]
    made = [one | {"history": [epoch_row(one["arm"], epoch, one["seed"]) for epoch in (1, 2, 3)]} for one in made]
    out = write_study(tmp_path / "out", "training_dynamics", arms, made)
    write(out / "surfaces.json", {"surfaces": [surface("Triplet", None), surface("AdaTriplet", 1.0)]})
    return out


def test_epochs_are_means_over_seeds(training: Path) -> None:
    found = {(row["arm_label"], row["epoch"]): row for row in rows(dynamics.epochs_table(read_results(training)))}
    assert len(found) == 3 * 3
    row = found["AdaTriplet + AutoMargin", "3"]
    assert float(row["epsilon"]) == pytest.approx(0.201)
    assert float(row["loss"]) == pytest.approx(0.5 / 3 + 0.01)
    assert (float(row["beta"]), float(row["delta_mean"])) == (pytest.approx(0.4), pytest.approx(0.6))
    assert (float(row["empty_batches"]), float(row["active_share"]), row["n"]) == (0.0, 0.25, "3")
    assert float(found["Triplet + AutoMargin", "1"]["empty_batches"]) == 10.0
    assert found["Triplet + AutoMargin", "1"]["beta"] == ""  # Triplet has no β, which is not a failed number


def test_the_answer_names_ends_movement_and_empty_batches(training: Path) -> None:
    *margins, _, similarities, empty = dynamics.dynamics_verdict(read_results(training)).findings
    assert "AdaTriplet + AutoMargin ends at ε = 0.201 ± 0.001 and β = 0.400 ± 0.000 (epoch 3, n = 3)." in margins
    assert "Triplet + Fixed margin: mean Δ 0.20 to 0.60, mean φ_an 0.30 to 0.10" in similarities
    assert "Triplet + AutoMargin 30 of 90 (30 of them in the first epoch, whose mean loss was 0.51)" in empty
    assert "Triplet + Fixed margin 0 of 90." in empty


def test_densities_pool_the_counts_of_all_seeds(training: Path) -> None:
    seeds = histories(read_results(training), "triplet_fixed")
    found = density(seeds, "delta_histogram", 2, -2.0, 2.0)
    assert found is not None
    assert found.sum() * 4 / BINS == pytest.approx(1.0)
    assert found[44] == pytest.approx(20.0)  # everything in one bin of width 0.05
    other = seeds[1][2].model_copy(update={"delta_histogram": one_bin(10, 200)})
    moved_seeds = {**seeds, 1: {**seeds[1], 2: other}}  # seeds count 100, 200, 300: a third moves
    moved = density(moved_seeds, "delta_histogram", 2, -2.0, 2.0)
    assert moved is not None
    assert (moved[10], moved[44]) == (pytest.approx(20 / 3), pytest.approx(40 / 3))
    nothing = {seed: {2: history[2].model_copy(update={"phi_an_histogram": None})} for seed, history in seeds.items()}
    assert density(nothing, "phi_an_histogram", 2, -1.0, 1.0) is None


def test_milestones_and_splits() -> None:
    assert milestones([1, 2, 3]) == [1, 2, 3]
    assert milestones(range(1, 101)) == [1, 26, 51, 75, 100]
    edges, heights = split(np.array([0.0, 1.0, 2.0]), np.array([3.0, 5.0]), 1.25)
    assert (edges.tolist(), heights.tolist()) == ([0.0, 1.0, 1.25, 2.0], [3.0, 5.0, 5.0])
    for outside in (-1.0, 0.0, 1.0, 2.5, math.nan):
        same, _ = split(np.array([0.0, 1.0, 2.0]), np.array([3.0, 5.0]), outside)
        assert same.tolist() == [0.0, 1.0, 2.0]


def test_the_figures_of_training_dynamics_are_drawn(training: Path) -> None:
    results = read_results(training)
    plots = [margins_plot(results), distributions_plot(results)]
    for plot in plots:
        assert "phantom images - synthetic, not radiographs" in plot.caption
        assert_drawn(plot)
    adaptive = varying_margins_plot(results)
    assert "Triplet + AutoMargin ε 0.20" in adaptive.alt
    assert "Fixed margin" not in adaptive.alt
    assert_drawn(adaptive)
    field = surfaces.surfaces_plot(results)
    assert "without data" in field.caption
    assert "AdaTriplet (ε = 0.25, β = 0.1, λ = 1)" in field.alt
    assert "Triplet (ε = 0.25): " in field.alt
    assert_drawn(field)


def test_surfaces_that_are_not_there_are_not_drawn(training: Path) -> None:
    results, path = read_results(training), training / "surfaces.json"
    for text, why in ((json_text({"surfaces": [{"label": "Triplet"}]}), "is malformed"), ("{", "not readable JSON")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(NothingToDraw, match=why):
            surfaces.surfaces_plot(results)
    path.unlink()
    with pytest.raises(NothingToDraw, match=r"surfaces\.json is missing"):
        surfaces.surfaces_plot(results)


def test_a_partial_training_is_reported_as_far_as_it_goes(training: Path) -> None:
    for seed in range(REPLICATES):
        (training / "records" / f"triplet_fixed.c00.seed{seed}.json").unlink()
    spoil(training / "records/triplet_automargin.c00.seed0.json", "failed")
    results = read_results(training)
    assert at(histories(results, "triplet_automargin"), "loss", 1).n == 2
    found = {row["arm"]: row["n"] for row in rows(every_value_table(results))}
    assert found == {"adatriplet_automargin": "3", "triplet_automargin": "2", "triplet_fixed": "0"}
    assert {row["arm_label"] for row in rows(dynamics.milestones_table(results))} == {
        "AdaTriplet + AutoMargin",
        "Triplet + AutoMargin",
    }
    for make in (margins_plot, distributions_plot):
        plot = make(results)
        assert "Triplet + AutoMargin n = 2 of 3" in plot.caption
        assert_drawn(plot)


def test_what_has_no_histograms_or_has_not_begun_is_not_drawn(training: Path) -> None:
    for path in (training / "records").iterdir():
        history = json.loads(path.read_text(encoding="utf-8"))["history"]
        edit(path, history=[{k: v for k, v in row.items() if not k.endswith("histogram")} for row in history])
    with pytest.raises(NothingToDraw, match="no completed replicate recorded histograms"):
        distributions_plot(read_results(training))
    for path in (training / "records").iterdir():
        path.unlink()
    results = read_results(training)
    assert dynamics.dynamics_verdict(results).findings == ("No replicate is completed yet.",)
    for make in (margins_plot, distributions_plot):
        with pytest.raises(NothingToDraw, match="no replicate is completed yet"):
            make(results)
