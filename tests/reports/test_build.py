"""Building a report: what it reads, writes, keeps and imports."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from fmim_core.records import SCHEMA
from fmim_reports.build import build_report
from fmim_reports.reading.cost import utilisation
from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import arm_summaries
from tests.support.factories import SPACES, best, make_out


def test_a_moved_folder_still_reads_and_a_second_build_writes_the_same_and_keeps_the_rest(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", arms=("triplet_grid", "triplet_automargin"))
    (out / "report").mkdir()
    (out / "report" / "my_notes.md").write_text("mine", encoding="utf-8")
    build_report(out)
    assert not list((out / "report").rglob(".*"))
    first = {path.relative_to(out): path.read_bytes() for path in sorted((out / "report").rglob("*")) if path.is_file()}
    moved = tmp_path / "elsewhere" / "run"
    shutil.copytree(out, moved)
    shutil.rmtree(out)
    build_report(moved)
    second = {p.relative_to(moved): p.read_bytes() for p in sorted((moved / "report").rglob("*")) if p.is_file()}
    assert first == second
    assert second[Path("report/my_notes.md")] == b"mine"
    assert str(tmp_path) not in (moved / "report/index.html").read_text(encoding="utf-8")


def test_utilisation_is_busy_time_over_slots_times_wall(out: Path) -> None:
    results = read_results(out)
    assert utilisation(results.study.executions, results.trials) == pytest.approx(147 * 11.5 / 2400)
    assert math.isnan(utilisation([], results.trials))


def test_every_arm_reads_from_its_own_records(out: Path) -> None:
    results = read_results(out)
    assert len(results.trials) == 147
    assert {trial.status for trial in results.trials} == {"completed"}
    assert {arm.name: arm.configuration for arm in arm_summaries(results)} == {arm: best(arm) for arm in SPACES}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "holds no study.json"),
        ("{", "is not readable JSON"),
        ('{"schema": 9}', f"has schema 9, this version reads {SCHEMA}"),
        (f'{{"schema": {SCHEMA}}}', "is malformed: id: is missing; study: is missing"),
    ],
)
def test_a_folder_that_is_no_run_says_so(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "study.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        build_report(tmp_path)
