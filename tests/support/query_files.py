"""Writes the queries of replicates beside records that are there, with values of which the records' mAP is the mean."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from fmim_core.metric_names import METRICS
from fmim_core.records import write_queries
from fmim_reports.frames.metrics import QUERIES
from fmim_reports.parts.queries.shown import shown_rows
from fmim_reports.reading.results import Results, read_results
from tests.support.file_contents import YEARS, edit

SUBJECTS = 40


def asked_queries() -> pd.DataFrame:
    """146 queries of 40 subjects, as `file_contents.YEARS` has them by year, and two of a subject without a match."""
    years = [year for year, count in YEARS.items() for _ in range(count)] + [1, 4]
    person = [number % SUBJECTS for number in range(len(years) - 2)] + [SUBJECTS] * 2
    rows = np.arange(len(years))
    return pd.DataFrame(
        {
            "query": [f"s{who:02d}_{row:03d}" for who, row in zip(person, rows, strict=True)],
            "subject": [f"s{who:02d}" for who in person],
            "side": ["LR"[row % 2] for row in rows],
            "months": [12.0 * year for year in years],
            "year": years,
            "matches": [1] * (len(years) - 2) + [0, 0],
            "chance_ap": [0.05] * (len(years) - 2) + [np.nan] * 2,
            "query_row": rows,
            "sex": ["FM"[who % 2] for who in person],
            "view": ["PA" if who % 3 else "AP" for who in person],
            "disease": ["yes" if who % 5 > 1 else "no" for who in person],
            "age": [str(45 + who) if who % 10 else "" for who in person],
            "grade": [str(who % 5) if who % 4 else "" for who in person],
        }
    )


def found_queries(asked: pd.DataFrame, mean: float, seed: int) -> pd.DataFrame:
    """Return what is found for them at random, with a mean AP of `mean`: of subjects some are easier than others."""
    rng, scored = np.random.default_rng(seed), asked["matches"].to_numpy() > 0
    easy = np.random.default_rng(0).uniform(-0.5, 0.5, SUBJECTS + 1)[asked["subject"].str[1:].astype(int)]
    off = easy + rng.uniform(-0.5, 0.5, len(asked))
    off -= off[scored].mean()
    ap = mean + off * min(mean, 1 - mean) / max(np.abs(off).max(), 1e-9)
    rank = np.where(ap > mean, 1.0, 1 + np.ceil(20 * (mean - ap)))
    found = {metric.of_query: (rank == 1).astype(float) for metric in METRICS.values()} | {"ap": ap, "rank": rank}
    found |= {"truth_row": 200.0 + asked["query_row"] % SUBJECTS, "top_row": np.where(rank == 1, 0.0, 7) + 200}
    return pd.DataFrame({name: np.where(scored, values, np.nan) for name, values in found.items()})


def write_query_files(out: Path, asked: pd.DataFrame | None = None) -> None:
    """Write a file of queries beside every completed replicate's record in the folder, which then names it."""
    asked = asked_queries() if asked is None else asked
    for number, path in enumerate(sorted((out / "records").glob("*.json"))):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["stage"] == "replicate" and record["status"] == "completed":
            found = found_queries(asked, record["metrics"]["test"]["mAP"], number)
            add_queries(path, pd.concat([asked, found], axis=1))


def add_queries(record: Path, queries: pd.DataFrame) -> None:
    """Write these queries beside a record, which then names them."""
    sha256 = write_queries(record.parent.parent, record.stem, {name: queries[name] for name in queries})
    edit(record, queries_sha256=sha256)


def with_queries(out: Path) -> Path:
    """The study in a folder with queries beside its records, and the images that its report shows."""
    write_query_files(out)
    write_images(out, shown_rows(read_results(out)))
    return out


def write_images(out: Path, rows: Iterable[int]) -> None:
    """The images of these rows of the bank, each of one grey."""
    (out / "samples").mkdir(exist_ok=True)
    for row in rows:
        Image.fromarray(np.full((8, 8), row % 256, dtype=np.uint8)).save(out / "samples" / f"{row}.png")


def queries_by(results: Results, arm: str) -> pd.DataFrame:
    """Return what every seed of an arm found, one row per seed and query."""
    frame = QUERIES.of(results)
    return frame[frame["arm"] == arm]
