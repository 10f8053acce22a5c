"""What holds of the files and figures of every study of the catalogue."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from fmim_reports.build import tables_of, write_tables
from fmim_reports.drawing.plotting import NothingToDraw, drawn, drawn_in_place_of
from fmim_reports.reading.results import Results, read_results
from fmim_reports.studies import contents_of
from fmim_reports.writing.captions import source_line
from fmim_reports.writing.formats import without_data
from fmim_reports.writing.sections import Section
from tests.support.declared import make_declared_out
from tests.support.file_contents import NETWORK, PIXELS, add_references
from tests.support.query_files import with_queries
from tests.support.reports import cut_off, touching

pytestmark = pytest.mark.slow

PAGE_INCHES = 7.16
NUMERIC = ("integer", "number")
CLASSES = {
    "article": r"\documentclass[twocolumn]{article}",
    "lncs": r"\documentclass{article}\setlength{\textwidth}{347.1pt}\setlength{\textheight}{549pt}",
}


DIFFERENT = ("automargin_vs_grid", "baselines", "lambda_sweep", "training_dynamics")
"""Studies whose reports have the most different tables and figures: each takes half a minute."""


@pytest.fixture(scope="module", params=DIFFERENT)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The study with queries, references and its tables; one of its arms has collapsed."""
    arms: dict[str, int] = {}

    def value(arm: str, configuration: dict[str, object]) -> float:
        place = arms.setdefault(arm, len(arms))
        numbers = [float(v) for v in configuration.values() if isinstance(v, int | float)]
        return 0.2 if place == 3 else 0.8 - 0.01 * place - 0.02 * sum(numbers) % 0.05

    name = request.param
    out = make_declared_out(tmp_path_factory.mktemp(name) / "out", name, value)
    with_queries(add_references(out, {PIXELS: [0.4], NETWORK: [0.1, 0.2, 0.3]}, study=name))
    results = read_results(out)
    write_tables(results, out / "report")
    return results


@pytest.fixture
def files(results: Results) -> dict[str, pd.DataFrame]:
    """Every CSV file of the study, its cells as text."""
    paths = (results.out / "report" / "tables").glob("*.csv")
    return {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in paths}


def test_csv_files_are_tidy_and_described(files: dict[str, pd.DataFrame], results: Results) -> None:
    described = files["columns"].set_index(["table", "column"])
    assert described.index.is_unique
    assert set(described.index) == {(name, c) for name, file in files.items() if name != "columns" for c in file}
    assert set(described["type"]) <= {"text", *NUMERIC}
    labels: dict[str, set[str]] = {}
    for name, file in files.items():
        for column in file:
            known = file[column][file[column] != ""]
            if name != "columns" and described.loc[(name, column), "type"] in NUMERIC:
                whole = (known.astype(float).dropna() % 1 == 0).all()
                assert whole or described.loc[(name, column), "type"] == "number", (name, column)
            assert not known.str.contains(r"\d ± ", regex=True).any(), (name, column)
            if f"{column}_label" in file:
                for arm, label in zip(file[column], file[f"{column}_label"], strict=True):
                    labels.setdefault(arm, set()).add(label)
    several = labels.pop("", set())
    assert several <= {"", "All", "All arms", "References"}
    expected = {arm.name: {arm.label} for arm in results.arms}
    assert labels == expected | {one.name: {f"Reference: {one.label}"} for one in results.references}


def test_a_cell_of_text_is_a_text(results: Results) -> None:
    """Anything else would be shown as Python prints it; on the page a reference's row was."""
    cells = [
        (table.name, column.key, row[column.key])
        for table in (table for found in tables_of(results).values() for table in found)
        for column in [*table.columns, *table.also]
        for row in (table.rows if column.kind == "text" else ())
        if row.get(column.key) is not None
    ]
    assert [cell for cell in cells if not isinstance(cell[2], str)] == []


def test_no_caption_has_more_than_sixty_words(results: Results) -> None:
    captions = {table.name: table.caption for found in tables_of(results).values() for table in found}
    assert {name: text for name, text in captions.items() if len(without_data(text).split()) > 60} == {}


def test_means_of_tables_follow_from_the_values_of_replicates(files: dict[str, pd.DataFrame], results: Results) -> None:
    values = files["per_replicate"].astype({"value": float})
    tested = values[(values["status"] == "completed") & (values["stage"] != "search") & (values["search_split"] == "0")]
    unit = results.interval.unit
    expected = tested.groupby(["arm", "metric", unit])["value"].agg(["mean", "sem", "count"])
    for row in files["test_metrics"].to_dict("records"):
        for metric in ("mAP", "mAP_at_R", "CMC_1", "CMC_5", "CMC_10", "CMC_1_all_shots"):
            mean, se, n = expected.loc[(row["arm"], metric, "all")]
            assert (float(row[f"{metric}_mean"]), int(row["test_n"])) == (pytest.approx(mean), n)
            assert row[f"{metric}_se"] == "" if np.isnan(se) else float(row[f"{metric}_se"]) == pytest.approx(se)
    searched = values[values["stage"] == "search"]
    if "configurations" in files:
        keys = ["arm", "configuration"]
        folds = searched[(searched["metric"] == "mAP") & (searched[unit] == "all")].groupby(keys)["value"].mean()
        found = files["configurations"].set_index(keys)["validation_mAP_mean"].astype(float)
        assert found.to_dict() == pytest.approx(folds.to_dict())
    recorded = {path.name for path in (results.out / "records").glob("*.json")}
    assert set(values["record"]) == recorded


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_latex_tables_fit_papers_of_one_column_and_of_two(results: Results, tmp_path: Path) -> None:
    folder = results.out / "report" / "tables"
    there = sorted(path.stem for path in folder.glob("*.tex"))
    inputs = "\n".join(rf"\typeout{{now {name}}}\input{{{(folder / name).as_posix()}}}\clearpage" for name in there)
    for name, head in CLASSES.items():
        source = rf"{head}\usepackage{{array,booktabs,graphicx}}\begin{{document}}{inputs}\end{{document}}"
        (tmp_path / f"{name}.tex").write_text(source, encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-draftmode", f"{name}.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        log = done.stdout.decode(errors="replace")
        assert done.returncode == 0, log[-2000:]
        assert re.findall(r"now \S+|.*Overfull.*|.*too large.*", log) == [f"now {table}" for table in there]


def test_no_label_of_a_figure_touches_another_or_leaves_the_figure(results: Results) -> None:
    for part in contents_of(results).parts(results)[Section.FIGURES]:
        try:
            plot = part(results)
        except NothingToDraw:
            continue
        alone = drawn(plot, source_line(results))
        page = Figure(figsize=(PAGE_INCHES, alone.get_figheight()), dpi=100, layout="constrained")
        drawn_in_place_of(page.subplots(), plot, source_line(results))
        for figure in (alone, page):
            assert (plot.name, touching(figure), cut_off(figure)) == (plot.name, [], [])
