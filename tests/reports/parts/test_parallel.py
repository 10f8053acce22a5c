"""A line per configuration crosses each axis where its value lies, and ends at its validation score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from fmim_reports.drawing.hints import Hints
from fmim_reports.parts.parallel import parallel_plot
from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import on_validation

EPSILONS = (0.1, 0.25, 0.5, 0.75)


def test_every_configuration_is_a_line_from_its_values_to_its_score(out: Path) -> None:
    results, figure = read_results(out), Figure()
    parallel_plot(results).draw(figure)
    drawn = {(hints.look.name, hints.texts[0].partition(":")[0]): hints.places for hints in figure.findobj(Hints)}
    searched = [arm for arm in results.arms if any(len(space) > 1 for space in arm.space.values())]
    assert len(drawn) == sum(len(arm.configurations) for arm in searched)
    places = [drawn["adatriplet_grid", f"ε = {one}, β = 0.25"] for one in EPSILONS]
    assert [line[0].tolist() for line in places] == [[0, 0.125], [0, 0.375], [0, 0.625], [0, 0.875]]
    assert {tuple(line[1]) for line in places} == {(1, 0.375)}
    estimates = [on_validation(results, "adatriplet_grid", {"epsilon": one, "beta": 0.25}, "mAP") for one in EPSILONS]
    heights = [line[2][1] for line in places]
    assert np.corrcoef([one.stat.mean for one in estimates], heights)[0, 1] == pytest.approx(1)
