"""A line per configuration crosses each axis where its value lies, and ends at its validation score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from fmim_reports.drawing.hints import Hints
from fmim_reports.parts.parallel import ValueScale, parallel_plot
from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import on_validation


def test_every_configuration_is_a_line_from_its_values_to_its_score(out: Path) -> None:
    results, figure = read_results(out), Figure()
    parallel_plot(results).draw(figure)
    drawn = {(hints.look.name, hints.texts[0].partition(":")[0]): hints.places for hints in figure.findobj(Hints)}
    searched = [arm for arm in results.arms if any(len(space) > 1 for space in arm.space.values())]
    assert len(drawn) == sum(len(arm.configurations) for arm in searched)
    places = [drawn["adatriplet_grid", f"ε = {one}, β = 0.25"] for one in (0.1, 0.25, 0.5, 0.75)]
    assert [line[0].tolist() for line in places] == [[0, 0.125], [0, 0.375], [0, 0.625], [0, 0.875]]
    assert {tuple(line[1]) for line in places} == {(1, 0.375)}
    scores = [
        on_validation(results, "adatriplet_grid", {"epsilon": one, "beta": 0.25}, "mAP").stat.mean
        for one in (0.1, 0.25, 0.5, 0.75)
    ]
    heights = [line[2][1] for line in places]
    assert np.corrcoef(scores, heights)[0, 1] == pytest.approx(1)


def test_a_range_lies_to_scale_and_a_list_beside_it_too() -> None:
    scale = ValueScale.of("lr", [{"low": 1e-4, "high": 1e-2, "scale": "log"}, [1e-5, 1e-3]], [1e-3])
    assert [scale.place(value) for value in (1e-5, 1e-4, 1e-2)] == pytest.approx([0, 1 / 3, 1])
    assert [*scale.ticks] == [0, 0.5, 1]
    p = {"low": 0.0, "high": 0.5, "scale": "linear"}
    assert [*ValueScale.of("p", [p], [0.1]).ticks.values()] == ["0", "0.25", "0.5"]
    assert ValueScale.of("p", [p, ["auto"]], [0.1, "auto"]).place(0.1) == 0.75
