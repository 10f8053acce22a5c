"""`fmim ui` on a study whose folder has moved with MLflow's database, and what the database then shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import mlflow
import numpy as np
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

import fmim
from fmim_core.records import BAD_INPUT, DONE, read_records
from tests.stress.processes import MARK, marked
from tests.support.browser import chromium, visited
from tests.support.mini_study import MINI_STUDY, mini_plan, options_in, run_here, tracked_in
from tests.support.paths import ROOT
from tests.support.program import Program, free_port, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

ARM = "adatriplet_automargin"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder beside its database; both have moved there since the study ran."""
    before, folder = (tmp_path_factory.mktemp(name) for name in ("before", "now"))
    tracked_in(before)
    assert run_here(mini_plan(), options_in(before, tracking_uri=None)) == DONE
    shutil.move(before, folder / "moved")
    return folder / "moved" / "study"


@pytest.fixture(scope="module")
def page(out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that `fmim ui` opens in the user's browser; it starts no other process, as `mlflow server` does."""
    folder = tmp_path_factory.mktemp("screen")
    browser, opened, log = folder / "browser", folder / "opened", folder / "log"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    command = [sys.executable, str(ROOT / "studies" / "run.py"), "ui", str(out), "--port", str(free_port())]
    environment = os.environ | {"BROWSER": f"{browser} %s", "COLUMNS": "300", MARK: str(folder)}
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, env=environment, cwd=folder)
    try:
        wait_for(opened.exists, process, log, seconds=120)
        assert f"has moved to {out.parent}: artifacts are looked for there" in log.read_text()
        yield opened.read_text().strip()
        assert len(marked(str(folder))) == 1
    finally:
        process.kill()
        process.wait()
    assert {path.name for path in folder.iterdir()} == {"browser", "opened", "log"}  # nothing of MLflow's


def run_of(out: Path, query: str) -> Run:
    """The run that a query finds in the database beside a study."""
    client = MlflowClient(f"sqlite:///{out.parent}/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("automargin_vs_grid").experiment_id], query)
    return run


def test_the_study_is_shown_with_its_answer_and_the_report(out: Path, page: str) -> None:
    address, _, within = page.partition("#")
    run = run_of(out, "tags.`fmim.preset` = 'mini'")
    parent, study_id = run.info, run.data.tags["fmim.study_id"]
    assert within.startswith(f"/experiments/{parent.experiment_id}/runs?viewStateShareKey={study_id}&")
    with urllib.request.urlopen(f"{address}get-artifact?path=report/index.html&run_uuid={parent.run_id}") as answer:
        assert "<h1>A small study" in answer.read().decode()
    (data,) = run_of(out, f"tags.`fmim.trial` = '{ARM}.c00.seed1'").inputs.dataset_inputs
    assert (data.dataset.name, data.tags[0].value) == ("phantom", "development, test")
    note = run_of(out, "tags.`fmim.preset` = 'mini'").data.tags["mlflow.note.content"]
    assert f"[Report](#/experiments/{parent.experiment_id}/runs/{parent.run_id}/artifacts/report/index.html" in note
    for told in ("Does it run?", "AdaTriplet + AutoMargin |"):
        assert told in note


def test_the_charts_are_of_arms_then_of_search_trials_then_of_cost_and_the_parent_run_is_first(page: str) -> None:
    with chromium() as browser, visited(browser, page, width=1800, height=2600) as visit:
        visit.page.get_by_text("search device seconds", exact=True).first.wait_for(timeout=120_000)
        text = visit.page.inner_text("body")
    labels = [arm.label for arm in MINI_STUDY.arms]
    curves = ("validation mAP", "training loss", "margin epsilon", "test mAP")
    assert text.index("automargin_vs_grid (mini)") < min(map(text.index, labels))
    places = [text.index(f"\n{title}\n") for title in (*curves, "Parallel Coordinates", "N_s")]
    assert places == sorted(places)


def test_an_arms_run_has_means_by_epoch_in_digits_that_a_person_reads(out: Path) -> None:
    run = run_of(out, f"tags.`fmim.stage` = 'selected' AND tags.`fmim.arm` = '{ARM}'")
    folds = [one for one in read_records(out) if one.trial.startswith(f"{ARM}.c00.fold")]
    epochs = [[row.number("loss") for row in one.history] for one in folds]
    client = MlflowClient(f"sqlite:///{out.parent}/mlflow.db")
    found = [one.value for one in client.get_metric_history(run.info.run_id, "training loss")]
    assert found == [float(f"{fmean(losses):.6g}") for losses in zip(*epochs, strict=True)]
    assert run.data.metrics["N_s"] == 1


@pytest.mark.usefixtures("page")  # which has found the artifacts of the database that has moved
def test_a_winners_model_embeds_as_the_studys_own(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = MlflowClient(f"sqlite:///{out.parent}/mlflow.db")
    found = client.search_logged_models([client.get_experiment_by_name("automargin_vs_grid").experiment_id])
    assert {(model.name, model.tags["fmim.trial"].rpartition(".")[2]) for model in found} == {
        (arm.name, "seed0") for arm in MINI_STUDY.arms
    }
    (model,) = [model for model in found if model.name == ARM]
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
    expected = fmim.load_model(out, ARM, 0, "cpu").embed(images)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{out.parent}/mlflow.db")
    loaded = mlflow.pyfunc.load_model(f"models:/{model.model_id}", model_config={"device": "cpu"})
    np.testing.assert_array_equal(loaded.predict(images), expected)
    assert str(loaded.metadata.signature.outputs) == "[Tensor('float32', (-1, 16))]"


def test_a_copy_without_its_database_is_told_so_and_nothing_is_made(
    out: Path, tmp_path: Path, fmim_here: Program
) -> None:
    shutil.copytree(out, tmp_path / "alone" / "study")
    done = fmim_here("ui", "alone/study", cwd=tmp_path)
    assert done.returncode == BAD_INPUT
    assert "`fmim mirror alone/study` writes it anew" in done.stderr
    assert [path.name for path in (tmp_path / "alone").iterdir()] == ["study"]
