"""How a report finds its parts: CONTRIBUTING.md, followed to the letter."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fmim_reports.parts
import fmim_reports.studies
from fmim_reports.build import build_report
from fmim_reports.parts.years import year_plot
from fmim_reports.reading.results import read_results
from fmim_reports.studies import Contents, contents_of, parts_of_every_study
from tests.support.declared import make_declared_out
from tests.support.factories import make_out
from tests.support.file_contents import edit
from tests.support.paths import ROOT
from tests.support.reports import figure_names, table, tables_alone

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The guide's files, as if they lay in the packages."""
    files = dict(re.findall(r"```python\n# (reports/\S+)\n(.*?)```", GUIDE, flags=re.DOTALL))
    before = set(sys.modules)
    for package in (fmim_reports.parts, fmim_reports.studies):
        folder = tmp_path / package.__name__
        folder.mkdir()
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    for path, code in files.items():
        package, name = ".".join(Path(path).parent.parts[1:]), Path(path).name
        (tmp_path / package / name).write_text(code, encoding="utf-8")
    yield files
    for name in set(sys.modules) - before:
        if name.startswith(("fmim_reports.parts.", "fmim_reports.studies.")):
            del sys.modules[name]


def own(out: Path) -> Path:
    edit(out / "study.json", study="my_study")
    for path in (out / "records").iterdir():
        edit(path, study="my_study")
    return out


@pytest.mark.slow
def test_one_file_adds_a_table_to_every_study(followed: dict[str, str], tmp_path: Path) -> None:
    out = make_out(tmp_path / "grid", arms=("triplet_q1", "triplet_q2"))
    edit(out / "records" / "triplet_q1.c00.seed0.json", warnings=["few images"])
    without_search = make_declared_out(tmp_path / "baselines", "baselines", lambda arm, _: 0.5 + len(arm) / 100)
    assert 'id="warnings_by_arm"' in build_report(out).read_text(encoding="utf-8")
    for each in (own(make_out(tmp_path / "mine")), without_search):
        tables_alone(each)
        assert (each / "report/tables/warnings_by_arm.csv").exists()
    found = {row["arm_label"]: row["warnings"] for row in table(out, "warnings_by_arm")}
    assert (found["Triplet + Q1"], found["Triplet + Q2"]) == ("1", "0")


def test_a_studys_file_is_found_by_being_there(followed: dict[str, str], tmp_path: Path) -> None:
    out = own(make_out(tmp_path / "out"))
    contents = contents_of(read_results(out))
    assert contents.leaves_out == (year_plot,)
    figures = figure_names(read_results(out))
    assert "margins_over_epochs" in figures
    assert "map_by_year" not in figures


def test_a_study_called_like_a_table_has_its_tidy_file_under_another_name(tmp_path: Path) -> None:
    name = "search_cost"
    out = make_out(tmp_path / "out")
    for path in (out / "study.json", *(out / "records").iterdir()):
        edit(path, study=name)
    tables_alone(out)
    heads = [table(out, one)[0].keys() for one in (name, f"{name}_values")]
    assert ["setting" in head for head in heads] == [False, True]


def test_without_a_file_a_study_has_what_every_study_has(tmp_path: Path) -> None:
    out = own(make_out(tmp_path / "out"))
    assert contents_of(read_results(out)) == Contents()
    edit(out / "study.json", study="unlisted")
    assert contents_of(read_results(out)) == Contents()


def test_parts_have_names_of_their_own_and_are_listed_once() -> None:
    names = [part.name for part in parts_of_every_study()]
    assert len(names) == len(set(names))
    assert {"search_cost_table", "paired_table", "year_plot", "failures_table"} <= set(names)
