"""`--set FIELD=VALUE`: what it may change, what it is recorded as, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fmim import catalogue
from fmim.commands.options import Options
from fmim.declare.presets import QUICK
from fmim.declare.study import read_changes, with_changes
from fmim_core.records import DONE, StudyFile, read_records
from fmim_reports.parts.verdict import cautions
from fmim_reports.reading.results import read_results
from tests.support.mini_study import MINI, mini_plan, options_in, run_here
from tests.support.program import Program


def test_numbers_are_numbers_and_words_are_words() -> None:
    assert read_changes(["epochs=50", "learning_rate=1e-3", "model.kind=resnet50", "model.weights=a=b"]) == (
        ("epochs", 50),
        ("learning_rate", 0.001),
        ("model.kind", "resnet50"),
        ("model.weights", "a=b"),
    )


def test_a_change_is_of_the_training_or_of_the_preset_and_the_preset_remembers_it() -> None:
    changed = with_changes(QUICK, read_changes(["epochs=3", "folds=5", "phantom.ageing=2", "model.kind=resnet18"]))
    assert (changed.folds, changed.phantom.ageing) == (5, 2.0)
    assert changed.phantom.acquisition == QUICK.phantom.acquisition
    study = catalogue.find("lambda_sweep")
    training = study.arms[0].train_config(changed, next(study.arms[0].space.corners()))
    assert (training.epochs, training.model.kind, training.augmentation.crop) == (3, "resnet18", 64)
    assert dict(changed.changed) == {"epochs": 3, "folds": 5, "phantom.ageing": 2, "model.kind": "resnet18"}
    assert with_changes(QUICK, ()) == QUICK


def test_epochs_is_short_for_a_change() -> None:
    short, long = (
        Options(study="lambda_sweep", **how).declared()[1]  # type: ignore[arg-type]
        for how in ({"epochs": 7}, {"changes": ("epochs=7",)})
    )
    assert short == long
    assert short.changed == (("epochs", 7),)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["epochs"], "--set epochs: write FIELD=VALUE, e.g. --set epochs=50"),
        (["=3"], "--set =3: write FIELD=VALUE"),
        (["epochs=3", "epochs=4"], "--set epochs is given twice"),
        (["epoch=3"], "--set: unknown field 'epoch'; TrainConfig has loss, margins"),
        (["batches.per_epochs=3"], "per_epoch. Did you mean 'per_epoch'?"),
        (["folds=1"], "--set: folds: Input should be greater than or equal to 2 (given '1')"),
        (["phantom.age=1"], "--set: phantom: unknown field 'age'; PhantomConfig has"),
        (["learning_rate=fast"], "--set: learning_rate: Input should be a valid number"),
        (["model.kind=resnet18", "model.weights=3"], "valid string (given '3')\n"),
        (["model.kind=resnt50"], "unknown model kind 'resnt50'; there are convnext_tiny, resnet18"),
        (["margins.k_delta=3"], "sets margins.k_delta itself; change the study's arms instead"),
        (["loss=triplet"], "sets loss.kind itself"),
        (["margins.kind.x=1"], "sets margins.kind itself"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: list[str], message: str, tmp_path: Path, fmim_here: Program) -> None:
    arguments = [word for text in given for word in ("--set", text)]
    done = fmim_here("plan", "automargin_vs_grid", *arguments, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_phantoms_are_changed_only_where_they_are_used() -> None:
    with pytest.raises(ValueError, match=r"--set phantom.ageing is of phantoms, but --data is x.csv"):
        Options(study="lambda_sweep", data="x.csv", changes=["phantom.ageing=2"])


def test_a_fields_value_that_no_training_takes_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match=r"--set: batches.images_per_subject: Input should be greater than"):
        Options(study="lambda_sweep", changes=["batches.images_per_subject=0"]).plan()


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_change_is_recorded_told_and_part_of_the_plan(tmp_path: Path) -> None:
    preset = with_changes(MINI, read_changes(["epochs=1", "augmentation.crop=20"]))
    plan = mini_plan(replicates=1)
    changed = type(plan)(plan.study, preset, plan.seed, 1)
    assert run_here(changed, options_in(tmp_path)) == DONE
    out = tmp_path / "study"
    assert StudyFile.read(out / "study.json").changed == {"epochs": 1, "augmentation.crop": 20}
    trained = [record for record in read_records(out) if record.stage != "reference"]
    assert {(r.config["epochs"], r.config["augmentation"]["crop"]) for r in trained} == {(1, 20)}
    said = cautions(read_results(out))
    assert "This is not the preset mini as it is declared: the run set epochs = 1, augmentation.crop = 20." in said
    shutil.rmtree(tmp_path / "banks")
    with pytest.raises(ValueError, match=r"--set was \{'epochs': 1, 'augmentation.crop': 20\}, is \{\}"):
        run_here(plan, options_in(tmp_path))
