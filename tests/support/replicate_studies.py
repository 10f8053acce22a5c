"""Writes OUT folders of studies without a search stage by hand, with replicates of known numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmim_reports.drawing.plotting import Plot, render
from fmim_reports.writing.tables import Table, to_csv
from tests.support.factories import make_out
from tests.support.file_contents import by_arm, edit, record_content, selection_content, write

COLUMNS = "arm,arm_label,setting,metric,year,mean,se,n,published_mean,published_se"
SEEDS = 3


def metrics(value: float, chance: float) -> dict[str, float]:
    """Test metrics of which mAP is `value`, less 1 and 4 points in years 1 and 4."""
    found = {
        "mAP": value,
        "mAP_at_R": value - 0.05,
        "CMC_1": value - 0.1,
        "CMC_5": 0.9,
        "CMC_10": 1.0,
        "CMC_1_all_shots": value - 0.12,
    }
    found |= {f"{name}/year_{year}": found[name] - year / 100 for name in tuple(found) for year in (1, 4)}
    found |= {"queries": 30, "queries/year_1": 20, "queries/year_4": 10, "queries_without_match": 0, "gallery": 12}
    return found | {"chance_mAP": chance}


def write_study(
    out: Path, name: str, arms: list[dict[str, Any]], records: list[dict[str, Any]], baseline: str | None = None
) -> Path:
    """A study without a search stage: no folds, nothing searched, one configuration per arm."""
    make_out(out, folds=0, replicates=SEEDS, arms=())
    pairs = [[arm["name"], baseline] for arm in arms if baseline is not None and arm["name"] != baseline]
    arms = [{"replicates": SEEDS} | arm for arm in arms]
    edit(out / "study.json", study=name, arms=arms, baseline=baseline, comparisons=pairs)
    chosen = {arm["name"]: selection_content(arm["configurations"][0], 0, None) for arm in arms}
    write(out / "selection.json", by_arm(chosen))
    for record in records:
        write(out / "records" / f"{record['trial']}.json", record | {"study": name})
    return out


def record(arm: str, configuration: Mapping[str, float], seed: int, value: float, chance: float) -> dict[str, Any]:
    """A completed replicate without a history."""
    parts = {"train_s": 1.0, "eval_s": 1.0, "data_s": 1.0, "startup_s": 1.0, "device": "cpu", "device_share": 1.0}
    cost = {**parts, "wall_s": 4.0, "epochs": 3}
    return record_content(arm, configuration, 0, "replicate", seed, metrics(value, chance), seed=seed, cost=cost)


def rows(table: Table) -> list[dict[str, str]]:
    """The rows of a table's CSV file."""
    return list(csv.DictReader(io.StringIO(to_csv(table))))


def assert_drawn(plot: Plot) -> None:
    """Draws, and asserts that there is a PNG and an SVG."""
    drawing = render(plot, "data: phantom images, synthetic")
    assert drawing.png.startswith(b"\x89PNG")
    assert b"<svg" in drawing.svg
