"""The overview of studies: their states, what is left alone, and that two who write it at once lose nothing."""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fmim.runner.folder.locks import locked
from fmim.runner.folder.overview import update_overview, write_overview
from fmim_core.records import ReportSummary, summary_path
from fmim_reports.across.overview import State, read_overview, summary_of
from fmim_reports.build import status_lines
from fmim_reports.reading.results import read_results
from tests.support.factories import make_out
from tests.support.file_contents import edit, spoil
from tests.support.program import Program

ARM = "triplet_grid"


def nobody(out: Path) -> bool:
    """Whether somebody works in the folder."""
    return False


def ended(out: Path, **changes: Any) -> Path:
    """The study with another end of its last start."""
    execution = json.loads((out / "study.json").read_text(encoding="utf-8"))["executions"][0]
    edit(out / "study.json", executions=[execution | changes])
    return out


def summarised(out: Path, *sentences: str) -> Path:
    """The study with the summary of its report, without the report."""
    results = read_results(out)
    summary_of(results, sentences, status_lines(results)).write(summary_path(out))
    return out


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study in every state, and with what is no study."""
    runs = tmp_path_factory.mktemp("parent") / "runs"
    made = {name: make_out(runs / name, folds=1, replicates=2, arms=[ARM]) for name in ("whole", "failed", "killed")}
    summarised(made["whole"], "A scored better.")
    spoil(made["failed"] / "records" / f"{ARM}.c00.fold0.json", "failed")
    summarised(ended(made["failed"], exit_code=1, ended_at="2026-03-01T00:00:00Z"))
    ended(made["killed"], exit_code=None, ended_at=None, wall_s=None, started_at="2026-02-01T00:00:00Z")
    shutil.copytree(made["killed"], runs / "at_work")
    (runs / "killed" / "records" / f"{ARM}.c00.fold0.json").unlink()
    shutil.copytree(made["whole"], runs / "stopped")
    ended(runs / "stopped", exit_code=130, ended_at="2025-12-01T00:00:00Z")
    shutil.copytree(made["whole"], runs / "<b>damaged")
    (runs / "<b>damaged" / "study.json").write_text("{", encoding="utf-8")
    (runs / "banks").mkdir()
    (runs / "mlflow.db").write_text("", encoding="utf-8")
    return runs


def test_every_study_has_its_state_its_trials_and_its_date(runs: Path) -> None:
    with locked(runs / "at_work"):
        write_overview(runs)
    found = read_overview(runs, lambda out: out.name == "at_work")
    assert [(one.folder, one.state) for one in found] == [
        ("<b>damaged", State.DAMAGED),
        ("failed", State.FAILED),
        ("at_work", State.RUNNING),
        ("killed", State.INTERRUPTED),
        ("whole", State.COMPLETE),
        ("stopped", State.INTERRUPTED),
    ]
    facts = {one.folder: dict(one.facts) for one in found}
    assert facts["whole"] == {
        "Last ended": "2026-01-02 03:24 UTC",
        "Study": "automargin_vs_grid, preset quick, seed 0",
        "Data": "phantom images - synthetic, not radiographs",
        "Trials": "6 of 6",
        "Device time": "1 min 12 s",  # 6 trials of 12 seconds
    }
    assert (facts["killed"]["Started"], facts["killed"]["Trials"]) == ("2026-02-01 00:00 UTC", "5 of at most 6")
    words = page_words(runs / "index.html")
    assert "6 studies: 1 complete, 1 running, 2 interrupted, 1 with failed trials, 1 damaged." in words
    assert "3 of 4 search trials completed: 1 failed." in words
    assert "study.json is not readable JSON" in words
    assert "A scored better." in words
    assert "<b>" not in (runs / "index.html").read_text(encoding="utf-8")


def page_words(page: Path) -> str:
    """A page without its tags and style."""
    text = re.sub(r"<style>.*?</style>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split()).replace(" .", ".")


def test_a_summary_counts_what_is_planned_and_what_it_cost(tmp_path: Path) -> None:
    out = make_out(tmp_path / "out", folds=2, replicates=3, arms=[ARM, "triplet_automargin"])
    (out / "records" / f"{ARM}.c00.fold1.json").unlink()
    spoil(out / "records" / f"{ARM}.c02.seed1.json", "diverged")
    summary = ReportSummary.read(summary_path(summarised(out, "One.", "Two.")))
    assert summary.trials == {"completed": 16, "missing": 1, "diverged": 1}
    assert (summary.planned, summary.device_seconds, summary.sentences) == (
        18,
        pytest.approx(17 * 12),
        ["One.", "Two."],
    )
    edit(out / "selection.json", arms={})  # without winners their replicates are still to come
    assert ReportSummary.read(summary_path(summarised(out))).trials == {"completed": 11, "missing": 7}


def test_a_report_from_before_the_last_start_is_said_to_be_so(tmp_path: Path) -> None:
    out = summarised(make_out(tmp_path / "out", folds=1, replicates=2, arms=[ARM]), "Old.")
    execution = json.loads((out / "study.json").read_text(encoding="utf-8"))["executions"][0]
    edit(out / "study.json", executions=[execution, execution])
    (one,) = read_overview(tmp_path, nobody)
    assert (one.up_to_date, dict(one.facts)["Trials"]) == (False, "6 of at most 6")
    write_overview(tmp_path)
    assert "The report was built before the study’s last start: Old." in page_words(tmp_path / "index.html")


def test_a_page_of_somebody_else_stays(tmp_path: Path, fmim_here: Program) -> None:
    page = tmp_path / "index.html"
    page.write_text("<h1>mine</h1>", encoding="utf-8")
    said: list[str] = []
    update_overview(tmp_path, said.append)
    assert said == [
        f"the overview of studies is not up to date: {page} was not written by fmim, so it is not "
        "overwritten: move it to get an overview there"
    ]
    done = fmim_here("overview", ".", cwd=tmp_path)
    assert (done.returncode, page.read_text(encoding="utf-8")) == (2, "<h1>mine</h1>")
    page.unlink()
    page.symlink_to(tmp_path / "nowhere")
    assert fmim_here("overview", ".", cwd=tmp_path).returncode == 2
    assert page.is_symlink()
    missing = fmim_here("overview", "rnus", cwd=tmp_path)
    assert (missing.returncode, missing.stderr.strip()) == (
        2,
        "error: rnus is not a folder: give the folder of the studies, e.g. runs",
    )


def test_whoever_writes_last_has_seen_all(tmp_path: Path) -> None:
    """Many add a study and write the overview at once; the page that is left has every one of them."""
    one = make_out(tmp_path / "one", folds=1, replicates=2, arms=[ARM])
    runs = tmp_path / "runs"
    runs.mkdir()

    def add(number: int) -> None:
        (runs / f"study_{number}").mkdir()
        shutil.copy(one / "study.json", runs / f"study_{number}")
        write_overview(runs)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(12)))
    text = (runs / "index.html").read_text(encoding="utf-8")
    assert all(f">study_{number} (no report yet)<" in text for number in range(12))
    assert [path.name for path in runs.iterdir() if path.is_file()] == ["index.html"]
