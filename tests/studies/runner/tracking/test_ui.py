"""`fmim ui` on a study whose folder has moved with MLflow's database, in a real browser, and the models in there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mlflow
import numpy as np
import pytest
from mlflow import MlflowClient
from playwright.sync_api import Browser, expect

import fmim
from fmim.runner.ending.exit_codes import BAD_INPUT, DONE
from fmim.runner.tracking.pages import run_page
from tests.stress.processes import MARK, marked, seconds_until
from tests.support.browser import DESK, PHONE, visited
from tests.support.mini_study import MINI_STUDY, mini_plan, options_in, run_here
from tests.support.mlflow_databases import tracked_in
from tests.support.paths import ROOT
from tests.support.program import Program
from tests.support.services import free_port, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

ARM = "adatriplet_automargin"
PATIENCE_MS = 60_000.0  # on a machine that has other things to do


@dataclass(frozen=True)
class Mirrored:
    """A study's folder beside its database; both have moved there since the study ran."""

    out: Path
    client: MlflowClient
    experiment: str

    def run(self, query: str) -> str:
        """The run that a query finds."""
        (run,) = self.client.search_runs([self.experiment], query)
        return str(run.info.run_id)


@pytest.fixture(scope="module", autouse=True)
def patience() -> Iterator[None]:
    expect.set_options(timeout=PATIENCE_MS)
    yield
    expect.set_options(timeout=5_000)  # Playwright's own


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Mirrored:
    before, folder = (tmp_path_factory.mktemp(name) for name in ("before", "now"))
    tracked_in(before)
    options = options_in(before, tracking_uri=None)
    assert run_here(mini_plan(), options) == DONE
    shutil.move(before, folder / "moved")
    out = folder / "moved" / "study"
    client = MlflowClient(f"sqlite:///{out.parent}/mlflow.db")
    return Mirrored(out, client, client.get_experiment_by_name("automargin_vs_grid").experiment_id)


@pytest.fixture(scope="module")
def page(mirrored: Mirrored, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that `fmim ui` opens in the user's browser.

    In the end it is killed, and leaves no process: `mlflow server` starts others, which outlived it.
    """
    folder = tmp_path_factory.mktemp("screen")
    browser, opened, log = folder / "browser", folder / "opened", folder / "log"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    command = [sys.executable, str(ROOT / "studies" / "run.py"), "ui", str(mirrored.out), "--port", str(free_port())]
    with log.open("w") as file:
        environment = os.environ | {"BROWSER": f"{browser} %s", "COLUMNS": "300", MARK: str(folder)}
        process = subprocess.Popen(
            command, stdout=file, stderr=file, env=environment, cwd=folder, start_new_session=True
        )
    try:
        wait_for(opened.exists, process, log, seconds=120)
        assert f"has moved to {mirrored.out.parent}: artifacts are looked for there" in log.read_text()
        yield opened.read_text().strip()
        assert len(marked(str(folder))) == 1
    finally:
        process.kill()
        process.wait()
    assert seconds_until(lambda: not marked(str(folder)), at_most=15) < 15, marked(str(folder))
    assert {path.name for path in folder.iterdir()} == {"browser", "opened", "log"}  # nothing of MLflow's


def test_the_page_shows_arms_their_answer_and_the_report(mirrored: Mirrored, page: str, browser: Browser) -> None:
    with visited(browser, page) as visit:
        visit.page.set_default_timeout(PATIENCE_MS)
        expect(visit.page.get_by_text("automargin_vs_grid (mini)").first).to_be_visible()
        parent = run_page(mirrored.experiment, mirrored.run("tags.`fmim.preset` = 'mini'"))
        visit.page.goto(page.partition("#")[0] + parent)
        visit.page.get_by_text("Show more").click()
        expect(visit.page.get_by_text("Does it run?")).to_be_visible()
        expect(visit.page.get_by_role("cell", name="AdaTriplet + AutoMargin")).to_be_visible()
        with visit.page.expect_popup() as report:
            visit.page.get_by_role("link", name="Report", exact=True).click()
        title = report.value.frame_locator("iframe").first.get_by_role("heading", name="A small study")
        expect(title).to_be_visible()


def test_a_trials_page_has_its_name_training_fields_and_data_on_a_phone_too(
    mirrored: Mirrored, page: str, browser: Browser
) -> None:
    trial = mirrored.run(f"tags.`fmim.trial` = '{ARM}.c00.seed1'")
    for width in (DESK, PHONE):
        with visited(browser, page.partition("#")[0] + run_page(mirrored.experiment, trial), width) as visit:
            visit.page.set_default_timeout(PATIENCE_MS)
            name = "AdaTriplet + AutoMargin, K_Δ = 2, K_an = 2 · seed 1"
            expect(visit.page.get_by_role("heading", name=name)).to_be_visible()
            expect(visit.page.get_by_text("phantom").first).to_be_attached()
            visit.page.get_by_placeholder("Search parameters").fill("subjects_per_batch")
            expect(visit.page.get_by_text("batches.subjects_per_batch")).to_be_visible()


@pytest.mark.usefixtures("page")  # which has found the artifacts of the database that has moved
def test_a_winners_model_embeds_as_the_studys_own(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    found = mirrored.client.search_logged_models([mirrored.experiment])
    assert {(model.name, model.tags["fmim.trial"].rpartition(".")[2]) for model in found} == {
        (arm.name, "seed0") for arm in MINI_STUDY.arms
    }
    (model,) = [model for model in found if model.name == ARM]
    images = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
    expected = fmim.load_model(mirrored.out, ARM, 0, "cpu").embed(images)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{mirrored.out.parent}/mlflow.db")
    loaded = mlflow.pyfunc.load_model(f"models:/{model.model_id}", model_config={"device": "cpu"})
    np.testing.assert_array_equal(loaded.predict(images), expected)
    assert str(loaded.metadata.signature.outputs) == "[Tensor('float32', (-1, 16))]"


def test_a_copy_without_its_database_is_told_so_and_nothing_is_made(
    mirrored: Mirrored, tmp_path: Path, fmim_here: Program
) -> None:
    shutil.copytree(mirrored.out, tmp_path / "alone" / "study")
    done = fmim_here("ui", "alone/study", cwd=tmp_path)
    assert done.returncode == BAD_INPUT
    assert "database of alone/study is not there" in done.stderr
    assert "`fmim mirror alone/study` writes it anew" in done.stderr
    assert [path.name for path in (tmp_path / "alone").iterdir()] == ["study"]
