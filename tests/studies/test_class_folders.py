"""Studies on class folders in colour: from the folder to the report, and a killed training goes on the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import fmim
from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.sets.base import DATA_SETS
from fmim_core.records import StudyFile, read_records
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.classes import class_folders
from tests.support.documents import comparable
from tests.support.mini_study import ARM, first_search_trials, mini_plan, options_in, run_here


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return class_folders(tmp_path / "things")


def colour_bank(folder: Path) -> Bank:
    return build_bank(
        DATA_SETS.make({"kind": "class_folders"}).listing(folder, False).source(), 28, folder.parent / "b"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_study_of_classes_has_its_metrics_and_no_years(folder: Path, tmp_path: Path) -> None:
    options = options_in(tmp_path, data="class_folders", data_root=folder)
    assert run_here(mini_plan(), options) == 0
    records = list(read_records(options.folder))
    assert {record.status for record in records} == {"completed"}
    for record in records:
        if record.stage != "reference":
            assert record.config["model"]["channels"] == 3
        for measured in filter(None, (record.metrics.validation, record.metrics.test)):
            assert {"mAP", "mAP_at_R", "CMC_1", "CMC_5", "CMC_10"} <= set(measured)
            assert not any("year" in name for name in measured)
    study = StudyFile.read(options.folder / "study.json")
    assert (study.data.channels, study.data.test.queries, study.data.test.gallery) == (3, 48, 48)
    report = (options.folder / "report" / "report.md").read_text(encoding="utf-8")
    assert "Images: 96 of 28 × 28 pixels, in colour" in report
    assert "cosine similarity of red, green and blue values" in report
    assert "year" not in report.partition("## Provenance")[0].lower().replace("published", "")
    assert not list((options.folder / "report" / "tables").glob("by_year*"))
    model = fmim.load_model(options.folder, ARM, 0)
    files = sorted(folder.glob("c2*/*.jpg"))
    assert model.rank(files[:1], files, top=1)["candidate"].tolist() != [str(files[0])]
    assert model.embed(model.images(folder)).shape == (96, 16)


def test_a_killed_training_in_colour_goes_on_the_same(folder: Path, tmp_path: Path) -> None:
    bank = colour_bank(folder)
    plan = replace(mini_plan(epochs=4), data_settings=tuple(bank.description.training.items()))
    spec = first_search_trials(plan, bank)[1]
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    settings = RunSettings(tmp_path / "parts", "cpu", checkpoint_every_s=0.0)
    stopped = Trial(spec, settings)
    for _ in range(2):
        stopped.step()
    resumed = Trial(spec, settings)
    assert resumed.step().epoch == 3
    assert comparable(resumed.run()) == comparable(whole)


def test_channels_that_do_not_fit_the_images_are_refused(folder: Path, tmp_path: Path) -> None:
    spec = first_search_trials(mini_plan(), colour_bank(folder))[0]
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    assert record.status == "failed"
    assert str(record.error.message).startswith("model.channels = 1, but the bank's images have 3: the data set says")
