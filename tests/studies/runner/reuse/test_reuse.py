"""Two studies that share trials: the second one takes them over, and has the results that it would have trained."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from mlflow import MlflowClient

import fmim
from fmim.declare import Study
from fmim.plan import Plan
from fmim.printing import TextConsole
from fmim.runner.reuse.equal_trials import EarlierTrials, Reused, earlier_trials, reused_before
from fmim.runner.reuse.shared_records import SharedRecords, read_usable
from fmim.runner.run import check_plan
from fmim.runner.setup import Setup
from fmim_core.data.bank.building import find_bank
from fmim_core.records import (
    DONE,
    Record,
    SelectionFile,
    StudyFile,
    queries_path,
    read_json,
    read_record,
    read_records,
    record_path,
)
from fmim_core.trial.checkpoint import checkpoint_path, read_checkpoint, write_checkpoint
from fmim_core.trial.spec import TrialSpec
from fmim_reports.reading.cost import search_cost
from fmim_reports.reading.results import read_results
from fmim_reports.writing.captions import reuse_sentence
from tests.support.documents import comparable_records
from tests.support.file_contents import edit
from tests.support.mini_study import MINI, MINI_STUDY, mini_plan, options_in, run_here, tracked_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_figures")]

# The small study's arms under other names, the grid with one value more, in another order.
AUTOMARGIN, GRID = (arm.model_copy(update={"name": f"other_{arm.loss_kind}"}) for arm in MINI_STUDY.arms)
GRID = GRID.model_copy(
    update={"space": fmim.Space(choices=(fmim.Choice(path="margins.epsilon", values=(1.0, 0.5, 0.25)),))}
)
OTHER = Study(name="other", title="Another study", question="Is it reused?", presets=(MINI,), arms=(GRID, AUTOMARGIN))
SHARED = {"search": 2 * 2 + 2, "replicate": 2, "reference": 4}
"""Of `OTHER`, if a replicate of the grid's winner is not among those of the small study."""


def other_plan() -> Plan:
    """Its plan, with the seed and the replicates of the small one."""
    return Plan(OTHER, MINI, seed=0, replicates=2)


def marked(out: Path) -> list[Record]:
    return [record for record in read_records(out) if record.reused_from is not None]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders: `first` of the small study, and of the other one `reusing` its trials, and trained `anew`."""
    root = tmp_path_factory.mktemp("two")
    assert run_here(mini_plan(), options_in(root, out=root / "first")) == DONE
    reusing = options_in(root, out=root / "reusing", reuse=True, tracking_uri=tracked_in(root))
    assert run_here(other_plan(), reusing) == DONE
    assert run_here(other_plan(), options_in(root, out=root / "anew")) == DONE
    return root


def test_the_results_are_those_of_training_anew(two: Path) -> None:
    assert marked(two / "anew") == []
    reused, anew = comparable_records(two / "reusing"), comparable_records(two / "anew")
    assert reused.keys() == anew.keys()
    assert {name for name in reused if reused[name] != anew[name]} == set()
    winners = [
        {arm: one.configuration for arm, one in SelectionFile.read(out / "selection.json").arms.items()}
        for out in (two / "reusing", two / "anew")
    ]
    assert winners[0] == winners[1]


def test_every_shared_trial_is_marked_with_where_it_ran(two: Path) -> None:
    theirs = {record.fingerprint: record for record in read_records(two / "first")}
    shared = [record for record in read_records(two / "reusing") if record.fingerprint in theirs]
    assert [record.trial for record in marked(two / "reusing")] == [record.trial for record in shared]
    by_stage = {stage: sum(record.stage == stage for record in shared) for stage in SHARED}
    assert all(by_stage[stage] >= number for stage, number in SHARED.items())
    for record in shared:
        origin, source = record.reused_from, theirs[record.fingerprint]
        assert origin is not None
        assert (origin.folder, origin.study, origin.trial) == ("first", "automargin_vs_grid", source.trial)
        assert origin.sha256 == read_json(record_path(two / "first", source.trial))["sha256"]
        assert (record.study, record.preset) == ("other", "mini")
        assert record.arm.startswith(("other_", "reference."))
        assert (record.cost, record.started_at, record.ended_at) == (source.cost, source.started_at, source.ended_at)
    number = len(list(read_records(two / "reusing")))
    assert StudyFile.read(two / "reusing" / "study.json").executions[0].trials == number - len(shared)


def test_no_replicate_is_taken_over_before_its_winner_is_fixed(two: Path) -> None:
    chosen = SelectionFile.read(two / "reusing" / "selection.json").arms
    tested = [record for record in marked(two / "reusing") if record.stage != "search"]
    assert tested
    for record in tested:
        fixed = [chosen[record.arm]] if record.arm in chosen else chosen.values()
        assert record.reused_from is not None
        assert all(record.reused_from.taken_over_at >= one.selected_at for one in fixed)


def test_costs_count_as_what_they_were_and_the_report_says_what_was_spent_here(two: Path) -> None:
    ours, theirs = read_results(two / "reusing"), read_results(two / "first")
    assert ours.problems == ()
    cost, there = search_cost(ours, "other_adatriplet"), search_cost(theirs, "adatriplet_automargin")
    assert (cost.n_s, cost.trials, cost.device_seconds) == (there.n_s, there.trials, there.device_seconds)
    assert search_cost(ours, "other_triplet").n_s == 3
    number, spent = (
        len(marked(two / "reusing")),
        sum(r.cost.device_seconds for r in read_records(two / "reusing") if not r.reused_from),
    )
    sentence = f"{number} of {len(ours.trials)} trials reuse the result of an equal one ({number} from first)"
    assert reuse_sentence(ours.every_trial).startswith(sentence)
    assert f" {spent:.1f} of " in reuse_sentence(ours.every_trial)
    assert reuse_sentence(theirs.every_trial) == ""
    assert sentence in (two / "reusing" / "report" / "report.md").read_text()
    frame = fmim.load(two / "reusing").trials
    assert (frame["reused_from"] == "first").sum() == number


def test_mlflow_has_the_trials_with_where_they_came_from(two: Path) -> None:
    client = MlflowClient(f"sqlite:///{two}/mlflow.db")
    experiment = client.get_experiment_by_name("other")
    study = StudyFile.read(two / "reusing" / "study.json").id
    runs = client.search_runs([experiment.experiment_id], f"tags.`fmim.study_id` = '{study}'")
    tags = {
        run.data.tags["fmim.trial"]: run.data.tags.get("fmim.reused_from")
        for run in runs
        if "fmim.trial" in run.data.tags
    }
    assert tags == {
        record.trial: f"first: {record.reused_from.trial}" if record.reused_from else None
        for record in read_records(two / "reusing")
    }


def test_either_folder_stays_whole_without_the_other(two: Path, tmp_path: Path) -> None:
    for kept, gone in (("reusing", "first"), ("first", "reusing")):
        root = tmp_path / kept
        shutil.copytree(two, root, copy_function=_link)  # as the files are: one content in two places
        shutil.rmtree(root / gone)
        results = read_results(root / kept)
        assert results.problems == ()
        model = fmim.load_model(root / kept, arm="other_adatriplet" if kept == "reusing" else "adatriplet_automargin")
        assert model.images("phantom").queries is not None
    [path] = (two / "reusing").glob("checkpoints/other_adatriplet.*.seed0.pt")
    assert path.stat().st_nlink > 1


def _link(source: str, place: str) -> None:
    Path(place).hardlink_to(source)


def reused(setup: Setup) -> Reused:
    checked = check_plan(other_plan(), setup)
    return reused_before(checked.plan, checked.source, setup.banks, setup.studies, setup.folder, setup.reuse)


def test_a_plan_says_how_much_is_there(two: Path) -> None:
    found = reused(options_in(two, out=two / "new", reuse=True))
    assert (found.reused, found.by_folder, found.to_train) == (
        {"search": 8, "variation": 0, "replicate": 4, "reference": 4},
        {"anew": 16},
        0,
    )
    (sentence,) = found.sentences
    assert sentence.startswith(
        "Up to 16 of 16 trials repeat another one and reuse its result (16 from anew); at least 0"
    )
    assert reused(options_in(two, out=two / "new")).sentences == []
    there = reused(options_in(two, out=two / "reusing", reuse=True))  # whose trials are all over
    assert (there.left, there.trials, there.to_train) == (0, 0, 0)
    undecoded = reused(options_in(two, out=two / "new", reuse=True, banks=two / "none"))
    assert (undecoded.trials, undecoded.others_known) == (0, False)
    assert undecoded.sentences[0].startswith("The images are not decoded yet")


@pytest.fixture
def copied(two: Path, tmp_path: Path) -> tuple[TrialSpec, Record, Path]:
    """A trial of the other study, its record in the small one, and the path of that in a copy to be damaged."""
    out, options = Path(shutil.copytree(two / "first", tmp_path / "first")), options_in(two, out=tmp_path / "new")
    bank = find_bank(check_plan(other_plan(), options).source, MINI.image_size, options.banks)
    assert bank is not None
    specs = {spec.id: spec for spec in other_plan().possible(bank, lambda arm, split: ())}
    spec = specs["other_adatriplet.c00.seed1"]
    [record] = [record for record in read_records(out) if record.fingerprint == spec.fingerprint]
    return spec, record, record_path(out, record.trial)


def test_a_damaged_foreign_or_other_trial_is_not_usable(copied: tuple[TrialSpec, Record, Path]) -> None:
    spec, record, path = copied
    out = path.parents[1]
    whole = path.read_bytes()
    assert read_usable(path, spec, on_gpu=False) == record
    with pytest.raises(ValueError, match="trained on the CPU, which rounds differently from a GPU"):
        read_usable(path, spec, on_gpu=True)

    path.write_bytes(whole.replace(b'"replicate": 1', b'"replicate": 0'))
    with pytest.raises(ValueError, match="does not match its sha256"):
        read_usable(path, spec, on_gpu=False)
    edit(path, status="failed", metrics={"validation": None, "test": None})
    with pytest.raises(ValueError, match="contradicts its first lines"):
        read_usable(path, spec, on_gpu=False)
    path.write_bytes(whole)
    edit(path, environment=record.environment | {"torch": "1.0"})
    with pytest.raises(ValueError, match=f"torch 1.0, .*{torch.__version__}".replace("+", r"\+")):
        read_usable(path, spec, on_gpu=False)
    path.write_bytes(whole)

    queries, weights = queries_path(out, record.trial), checkpoint_path(out, record.trial)
    for file in (queries, weights):
        content = file.read_bytes()
        file.write_bytes(content[:-1])
        with pytest.raises(ValueError, match="is damaged"):
            read_usable(path, spec, on_gpu=False)
        file.unlink()
        with pytest.raises(ValueError, match=file.stem):
            read_usable(path, spec, on_gpu=False)
        file.write_bytes(content)
    of_another = read_checkpoint(weights, torch.device("cpu"))
    assert of_another is not None
    write_checkpoint(weights, of_another | {"fingerprint": "0" * 64})
    with pytest.raises(ValueError, match="weights of another trial"):
        read_usable(path, spec, on_gpu=False)


def test_a_study_that_is_deleted_while_its_records_are_taken_over_leaves_nothing_half_and_is_told_once(
    copied: tuple[TrialSpec, Record, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, _, path = copied
    told, earlier = list[str](), EarlierTrials(tmp_path, {spec.fingerprint: [path, path.with_name("other.json")]})

    def read_and_lose(*arguments: Any) -> Record:
        found = read_usable(*arguments)
        shutil.rmtree(path.parents[1])
        return found

    monkeypatch.setattr("fmim.runner.reuse.shared_records.read_usable", read_and_lose)
    shared = SharedRecords(tmp_path / "new", earlier, tell=told.append)
    assert shared.take_over(spec) is None
    assert (len(told), list((tmp_path / "new").rglob("*"))) == (1, [])


def test_only_complete_trials_of_the_same_data_seed_and_version_are_found(
    copied: tuple[TrialSpec, Record, Path],
) -> None:
    spec, _, path = copied
    out, runs = path.parents[1], path.parents[2]
    data = StudyFile.read(out / "study.json").data.fingerprint
    found = earlier_trials(runs, data, seed=0)
    assert list(found.of(spec)) == [path]
    stoppable = spec.model_copy(update={"rungs": (1,)})  # whether it is stopped is its own search's business
    assert list(found.of(stoppable)) == []
    assert earlier_trials(runs, data, seed=0, but=out).records == {}
    assert earlier_trials(runs, data, seed=1).records == earlier_trials(runs, "another", seed=0).records == {}
    edit(path, status="failed", metrics={"validation": None, "test": None})
    assert list(earlier_trials(runs, data, seed=0).of(spec)) == []
    aside = out.rename(out.with_name("first.until-20260102T030405000000"))
    assert earlier_trials(runs, data, seed=0).records == {}
    nested = runs / "paper" / "first"
    nested.parent.mkdir()
    aside.rename(nested)
    assert {found.name(path) for paths in earlier_trials(runs, data, 0).records.values() for path in paths} == {
        "paper/first"
    }
    edit(nested / "study.json", results_version=0)
    assert earlier_trials(runs, data, seed=0).records == {}


def test_a_damaged_record_is_named_and_its_trial_trained(two: Path, tmp_path: Path, capsys: Any) -> None:
    shutil.copytree(two / "first", tmp_path / "first")
    trial = "adatriplet_automargin.c00.fold0"
    path = record_path(tmp_path / "first", trial)
    path.write_text(path.read_text().replace('"mAP": ', '"mAP": 1'))
    options = options_in(tmp_path, out=tmp_path / "reusing", reuse=True, banks=two / "banks")
    assert run_here(other_plan(), options, TextConsole(width=1000, soft_wrap=True)) == DONE
    said = capsys.readouterr().out
    assert f"results of first are not reused: {path}: its content does not match its sha256" in said
    mine = read_record(tmp_path / "reusing", "other_adatriplet.c00.fold0")
    assert mine is not None
    assert mine.reused_from is None
    assert comparable_records(tmp_path / "reusing") == comparable_records(two / "anew")
