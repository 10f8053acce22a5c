"""The importance of a search's hyperparameters, and their marginals, as the report shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmim_reports.parts.importance import importance_table, marginals_plot, marginals_table, several_hyperparameters
from fmim_reports.reading.results import read_results
from fmim_reports.stats import importance
from tests.support.factories import configurations, level, make_out
from tests.support.file_contents import edit
from tests.support.reports import assert_drawn, panels, rows

GRID, AUTOMARGIN = "adatriplet_grid", "adatriplet_automargin"


def test_of_each_arm_that_searched_two_or_more(tmp_path: Path) -> None:
    results = read_results(make_out(tmp_path / "out", arms=("triplet_grid", GRID)))
    found = rows(importance_table(results))
    every = configurations(GRID)
    values = [sorted({each[name] for each in every}) for name in ("epsilon", "beta")]
    places = [[(values[i].index(value) + 0.5) / 4 for i, value in enumerate(each.values())] for each in every]
    direct = importance(np.array(places), np.array([level(GRID, each) for each in every]), (4, 4))
    assert direct is not None
    assert [(row["arm"], row["name"], row["n"]) for row in found] == [
        (GRID, name, "16") for name in ("ε", "β", "only together")
    ]
    shares = [float(row["alone"]) for row in found]
    assert shares == pytest.approx([*direct.shares, 1 - sum(direct.shares)])
    ends = [float(row[end]) for row in found[:2] for end in ("low", "high")]
    assert ends == pytest.approx(np.repeat(shares[:2], 2), abs=0.01)  # folds differ by a constant: rounding alone
    marginals = {(row["name"], row["value"]): float(row["marginal"]) for row in rows(marginals_table(results))}
    assert max(marginals, key=lambda key: marginals[key] if key[0] == "ε" else 0) == ("ε", "0.5")
    assert len(marginals) == 8
    plot = marginals_plot(results)
    assert_drawn(plot)
    (points, line) = panels(plot)[0].lines
    assert len(np.asarray(points.get_xdata())) == 16
    assert 100 * marginals[("ε", "0.1")] == pytest.approx(np.asarray(line.get_ydata())[0])


def test_of_a_range_and_of_one_fold(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=(AUTOMARGIN,), folds=1)
    edit(out / "study.json", arms=[_in_a_range(one) for one in read_results(out).study.model_dump(mode="json")["arms"]])
    results = read_results(out)
    assert {row["low"] for row in rows(importance_table(results))} == {""}
    values = [row["value"] for row in rows(marginals_table(results)) if row["name"] == "K_Δ"]
    assert values == [f"{10 ** (part / 10 + 0.05):.3g}" for part in range(10)]


def _in_a_range(arm: dict[str, Any]) -> dict[str, Any]:
    return arm | {"space": arm["space"] | {"k_delta": {"low": 1.0, "high": 10.0, "scale": "log"}}}


def test_not_of_one_hyperparameter(tmp_path: Path) -> None:
    assert not several_hyperparameters(read_results(make_out(tmp_path / "out", arms=("triplet_grid",))))
