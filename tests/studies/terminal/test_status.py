"""What `fmim status` says: what is over, what runs, in which process, and how to go on; as text and as JSON."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fmim.printing import TextConsole
from fmim.runner.folder.locks import locked
from fmim.terminal.status import StudyStatus
from fmim_core.records import ProgressFile, RunningTrial, TrialLengths, now, progress_path, record_path
from tests.support.factories import make_out
from tests.support.file_contents import edit, spoil
from tests.support.program import Program

ARMS = ("triplet_grid", "triplet_automargin")  # 4 and 2 configurations, on 3 folds, with 5 seeds each
COMMAND = "fmim run automargin_vs_grid --out out"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A study in which one replicate failed, two are missing, and one of these was running when its driver wrote."""
    folder = make_out(tmp_path / "out", arms=ARMS)
    spoil(record_path(folder, "triplet_grid.c02.seed0"), "failed")
    for seed in (3, 4):
        record_path(folder, f"triplet_automargin.c00.seed{seed}").unlink()
    running = RunningTrial(
        trial="triplet_automargin.c00.seed3",
        arm="triplet_automargin",
        stage="replicate",
        started_at=(datetime.now(UTC) - timedelta(seconds=8)).isoformat(),
        epochs=6,
        epoch=4,
        epoch_s=2.0,
        best=0.75,
    )
    lengths = dict.fromkeys(ARMS, TrialLengths(search=1.0, replicate=1.0))
    ProgressFile(at=now(), command=COMMAND, running=[running], lengths=lengths, reused={}).write(progress_path(folder))
    return folder


def text_of(out: Path, width: int = 200) -> str:
    text = io.StringIO()
    console = TextConsole(width=width, force_terminal=True, color_system=None, file=text)
    console.show(StudyStatus(out).shown)
    return text.getvalue()


def test_nobody_runs_it(out: Path) -> None:
    """The failed one and both missing ones are left: each of 12 s, two at once."""
    status = StudyStatus(out)
    assert (status.owner, status.progress.running, status.failed) == (None, {}, 1)
    assert (status.progress.done, status.progress.total) == (25, 28)
    assert status.seconds_left == pytest.approx(24)
    assert f"not running; 1 failed and will run again; about 24 s left; to continue: {COMMAND}" in text_of(out)


def test_a_process_runs_it(out: Path) -> None:
    with locked(out):
        fields = json.loads(StudyStatus(out).as_json)
        text = text_of(out)
    assert fields["process"].startswith(f"process {os.getpid()} on ")
    assert fields["trials"] == {"over": 26, "planned": 28, "failed": 1, "reused": 0, "to_reuse": 0}
    assert [one["trial"] for one in fields["running"]] == ["triplet_automargin.c00.seed3"]
    assert fields["seconds_left"] == pytest.approx(12, abs=0.5)  # one that waits takes longer than what runs
    assert (fields["complete"], fields["command"], fields["metric"]) == (False, COMMAND, "mAP")
    grid = fields["arms"][0]
    assert (grid["name"], grid["planned"], grid["statuses"]) == ("triplet_grid", 17, {"completed": 16, "failed": 1})
    assert (grid["best_of_a_fold"], grid["selected"]) == (pytest.approx(0.79), {"epsilon": 0.5})
    assert grid["selected_score"] == pytest.approx(0.78)
    assert f"running: process {os.getpid()} on " in text
    assert "about 12 s left" in text
    assert "triplet_automargin.c00.seed3   4/6     75.0 %" in text
    assert "Triplet + grid search" in text
    assert "epsilon = 0.5 (78.0 %)" in text


def test_what_takes_the_record_of_an_equal_trial_is_counted_and_takes_no_time(out: Path) -> None:
    origin = {"folder": None, "study": "automargin_vs_grid", "trial": "x.c00.seed1", "sha256": "0" * 64}
    edit(record_path(out, "triplet_automargin.c00.seed0"), reused_from=origin | {"taken_over_at": now()})
    edit(progress_path(out), reused={"triplet_automargin": {"search": 0, "replicate": 2}})
    with locked(out):
        fields = json.loads(StudyStatus(out).as_json)
        text = text_of(out)
    assert fields["trials"] == {"over": 26, "planned": 28, "failed": 1, "reused": 1, "to_reuse": 1}
    assert fields["seconds_left"] == pytest.approx(4, abs=0.5)  # of what runs, two of six epochs
    assert "26 of 28 trials are over (1 reused, 1 more will be reused), 1 running" in text


def test_a_complete_study_and_one_whose_progress_is_damaged(out: Path, tmp_path: Path) -> None:
    assert "complete; nothing runs" in text_of(make_out(tmp_path / "whole", arms=ARMS))
    edit(progress_path(out), running="damaged")
    assert "to continue: give the same command again" in text_of(out)


def test_a_study_that_was_stopped_between_two_looks_is_not_complete(tmp_path: Path) -> None:
    whole = make_out(tmp_path / "whole", arms=ARMS)  # one comparison of five seeds, which is undecided
    for looks, complete in (([], True), ([5, 8], False), ([3, 5], True)):
        edit(whole / "study.json", looks=looks)
        status = StudyStatus(whole)
        assert (status.progress.done, status.complete) == (status.progress.total, complete)
        assert ("get more seeds" in text_of(whole)) is not complete


def test_in_40_columns_each_arm_has_lines_of_its_own(out: Path) -> None:
    text = text_of(out, width=40)
    assert max(map(len, text.splitlines())) <= 40
    lines = text.splitlines()
    at = lines.index("Triplet + AutoMargin")
    assert lines[at + 1 : at + 5] == [
        "  completed: 9",
        "  planned: 11",
        "  best mAP of a fold: 79.5 %",
        "  selected: k_delta = 2 (78.5 %)",
    ]


def test_through_a_pipe_an_arm_is_a_line_and_json_is_alone(out: Path, fmim_here: Program) -> None:
    said = fmim_here("status", out, cwd=out.parent).stdout.splitlines()
    assert said[0] == "automargin_vs_grid (quick): 25 of 28 trials are over"
    (grid,) = [line for line in said if line.startswith("Triplet + grid search ")]
    assert grid.split()[5:7] == ["17", "79.0"]  # of 17 planned trials 16, and its best fold
    done = fmim_here("status", out, "--json", cwd=out.parent)
    assert (json.loads(done.stdout)["preset"], done.stderr) == ("quick", "")
    watched = fmim_here("status", out, "--watch", cwd=out.parent)
    assert (watched.returncode, "25 of 28 trials" in watched.stdout) == (0, True)
