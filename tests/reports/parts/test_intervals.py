"""Reports of data sets that are grouped by weeks, or by no time at all: the words and tables follow the interval."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fmim_reports.parts.queries.pictures import samples_plot, worst_queries_plot
from fmim_reports.parts.queries.uncertainty import uncertainty_by_year_table
from fmim_reports.parts.years import by_year_table, year_plot
from fmim_reports.reading.results import read_results
from fmim_reports.studies import baselines, contents_of, lambda_sweep
from fmim_reports.writing.sections import Section
from tests.support.declared import make_declared_out
from tests.support.factories import make_out
from tests.support.file_contents import YEARS, edit, write
from tests.support.query_files import asked_queries, queries_by, write_images, write_query_files
from tests.support.reports import rows, table, tables_alone

ARMS = ["triplet_q1", "triplet_grid"]


def by_weeks(out: Path) -> Path:
    """The same study of a data set whose years are weeks."""
    _edit_data(out, interval="week")
    for path in (out / "records").glob("*.json"):
        write(path, json.loads(path.read_text().replace("/year_", "/week_")))
    return out


def undated(out: Path) -> Path:
    """The same study of a data set without months."""
    _edit_data(out, test=json.loads((out / "study.json").read_text())["data"]["test"] | {"by_time": {"unknown": 188}})
    for path in (out / "records").glob("*.json"):
        write(path, json.loads(re.sub(r'\s*"\w+/year_\d+": [^\n]*', "", path.read_text())))
    return out


def _edit_data(out: Path, **changes: object) -> None:
    edit(out / "study.json", data=json.loads((out / "study.json").read_text())["data"] | changes)


def in_tables(out: Path) -> dict[str, str]:
    """Name → Markdown of each table of the report."""
    tables_alone(out)
    return {path.stem: path.read_text(encoding="utf-8") for path in (out / "report" / "tables").glob("*.md")}


def test_weeks_are_called_weeks_everywhere(tmp_path: Path) -> None:
    out = by_weeks(make_out(tmp_path / "out", folds=1, arms=ARMS))
    asked = asked_queries().rename(columns={"year": "week"})
    write_query_files(out, asked.assign(months=asked["week"] * 7 / 30.4375))
    write_images(out, range(248))
    results, tables = read_results(out), in_tables(out)
    assert results.problems == ()
    assert {"by_week", "uncertainty_by_week"} <= tables.keys()
    assert tables.keys().isdisjoint({"by_year", "uncertainty_by_year", "by_interval"})
    assert not [name for name, text in tables.items() if "year" in text]
    plots = year_plot(results), samples_plot(results), worst_queries_plot(results)
    assert plots[0].name == "map_by_week"
    assert not [plot.name for plot in plots if "year" in plot.title + plot.alt + plot.caption]
    assert re.search(r"s\d\d_\d{3} \(\d w\) at rank", plots[2].alt)
    by_week = {row["week"]: row for row in rows(uncertainty_by_year_table(results)) if row["arm"] == "triplet_q1"}
    assert {week: int(row["queries"]) for week, row in by_week.items()} == {str(w): n for w, n in YEARS.items()}
    found = queries_by(results, "triplet_q1")
    of_week = found[(found["week"] == 4) & (found["matches"] > 0)]
    assert float(by_week["4"]["mean"]) == pytest.approx(of_week["ap"].mean(), abs=1e-12)
    (row,) = [row for row in rows(by_year_table(results)) if row["arm"] == "triplet_q1"]
    expected = np.mean([t.record.metrics.test["mAP/week_4"] for t in results.of("triplet_q1", "replicate")])
    assert float(row["week_4_mean"]) == pytest.approx(expected, abs=1e-12)
    values = table(out, "automargin_vs_grid")
    assert {value["week"] for value in values} == {*map(str, YEARS), "all"}


def test_without_months_nothing_is_grouped(tmp_path: Path) -> None:
    out = undated(make_out(tmp_path / "out", folds=1, arms=ARMS))
    write_query_files(out, asked_queries().assign(months=np.nan, year=np.nan))
    write_images(out, range(248))
    results, tables = read_results(out), in_tables(out)
    assert results.problems == ()
    assert tables.keys().isdisjoint({"by_year", "uncertainty_by_year", "by_interval"})
    assert year_plot not in contents_of(results).parts(results)[Section.FIGURES]
    captions = [samples_plot(results).caption, worst_queries_plot(results).caption]
    assert not [text for text in (*tables.values(), *captions) if "after baseline" in text]
    assert re.search(r"s\d\d_\d{3} at rank", worst_queries_plot(results).alt)


def test_published_values_by_year_stand_beside_years_alone(tmp_path: Path) -> None:
    out = make_declared_out(tmp_path / "baselines", "baselines", lambda arm, configuration: 0.7)
    for expected in ({"1", "2", "4", "6", "8", "all"}, {"all"}):
        results = read_results(out)
        unit, losses = results.interval.unit, baselines.ours_table(results)
        values = rows(baselines.baselines_tidy(results))
        assert {value[unit] for value in values if value["published_mean"]} == expected
        assert losses.name == f"losses_by_{unit}"
        assert set(rows(losses)[0]) >= {f"{unit}_{time}_mean" for time in YEARS}
        by_weeks(out)
    assert "weeks" in " ".join(contents_of(results).verdict(results).findings)


def test_lambda_is_judged_by_far_weeks_without_the_papers_years(tmp_path: Path) -> None:
    out = by_weeks(make_declared_out(tmp_path / "lambda_sweep", "lambda_sweep", lambda arm, configuration: 0.7))
    results = read_results(out)
    table = lambda_sweep.lambda_table(results)
    assert {value["published_mAP_6y"] for value in rows(table)} == {""}
    assert "≥ 6 weeks" in " ".join(column.group for column in table.columns)
    said = contents_of(results).verdict(results).findings
    assert "at least 6 weeks apart" in said[3]  # after a sentence a comparison
    assert not [sentence for sentence in said if "published" in sentence or "year" in sentence]
