"""A run as its observer sees it: its progress, counted, written to progress.json and shown; and what it ends with."""

from __future__ import annotations

import io
from pathlib import Path

from fmim.printing import TextConsole
from fmim.runner.folder.study_file import write_study
from fmim.runner.run import kept_current
from fmim.runner.schedule.progress import StudyProgress
from fmim.terminal.run_display import RunDisplay, show_next, show_results
from fmim_core.data.bank.bank import Bank
from fmim_core.records import ProgressFile, progress_path, record_path
from fmim_reports.reading.results import read_results
from tests.support.documents import epoch_row, execution, fold_entry, trial_record
from tests.support.factories import make_out
from tests.support.mini_study import ensemble_plan, first_replicates, first_search_trials, mini_plan


def test_running_trials_are_shown_with_epoch_and_best_and_written_for_others(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = mini_plan(epochs=4)
    study = write_study(tmp_path, plan, tiny_bank, [fold_entry(0), fold_entry(1)], execution())
    text = io.StringIO()
    display = RunDisplay(TextConsole(width=100, file=text))
    one, other = first_search_trials(plan, tiny_bank)
    progress = StudyProgress(study, {}, slots=2, warn=display.warn)
    with kept_current(progress, tmp_path, "fmim run mine.py", display.progress):
        progress.started(one)
        progress.started(other)
        for epoch, value in enumerate((0.5, 0.75, 0.625), start=1):
            progress.epoch(one, epoch_row(epoch, validation_mAP=value, seconds=2.0))
        written = progress.document("fmim run mine.py")
        TextConsole(width=100, file=text).print(display.shown())
        progress.finished(other, trial_record(other, "failed", None))
        TextConsole(width=100, file=text).print(display.shown())
    assert [(run.trial, run.epoch, run.best) for run in written.running] == [(one.id, 3, 0.75), (other.id, 0, None)]
    assert written.command == "fmim run mine.py"
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert f"{one.id} 3/4 75.0 %" in lines
    assert f"{other.id} 0/4 –" in lines
    assert any(line.startswith(f"{other.id} failed") for line in lines)
    assert "0 of 14 trials are over, 2 running, the first ones" in lines
    assert any(line.startswith("1 of 14 trials are over, 1 running") for line in lines)
    assert ProgressFile.read(progress_path(tmp_path)).running == []


def test_the_models_of_an_ensemble_count_on(tiny_bank: Bank, tmp_path: Path) -> None:
    """Two models of three epochs each, which count from 1."""
    plan = ensemble_plan(mini_plan(epochs=3))
    study = StudyProgress(write_study(tmp_path, plan, tiny_bank, [], execution()), {}, slots=1)
    spec = first_replicates(plan, tiny_bank)[0]
    study.started(spec)
    counted = []
    for epoch in (1, 2, 3, 1, 2, 3):
        study.epoch(spec, epoch_row(epoch))
        counted.append(study.running[spec.id].epoch)
    assert (counted, study.running[spec.id].epochs) == ([1, 2, 3, 4, 5, 6], 6)


ARMS = ("triplet_grid", "triplet_automargin")


def test_a_run_ends_with_its_arms_the_answers_and_what_follows(tmp_path: Path) -> None:
    """Validation is the level 78 and 78.5 %, test 5 points below it ± 0.71; one replicate of AutoMargin is missing."""
    out = make_out(tmp_path / "my study", arms=ARMS)
    record_path(out, "triplet_automargin.c00.seed2").unlink()
    text = io.StringIO()
    console = TextConsole(width=100, force_terminal=True, color_system=None, file=text)
    show_results(read_results(out), console)
    show_next(out, console)
    lines = [" ".join(line.split()) for line in text.getvalue().splitlines()]
    assert lines[0] == "arm selected validation test N_s"
    assert "Triplet + grid search ε = 0.5 78.00 73.00 ± 0.71 4" in lines
    assert "Triplet + AutoMargin K_Δ = 2 78.50 73.75 ± 0.85 (4 of 5 seeds) 2" in lines
    said = " ".join(lines)
    assert "Triplet: AutoMargin scored 0.5 points higher than grid search in mAP (95 % CI" in said
    assert "with 1/2 of the search epochs" in said
    assert any(line.startswith("progress of each arm: fmim status '") and line.endswith("my study'") for line in lines)
