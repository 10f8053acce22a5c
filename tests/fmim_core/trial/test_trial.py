"""A trial ends in a record, whatever happens; the test set is opened in the replicate stage alone."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from pathlib import Path

import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.records import Metrics, read_json, read_record, record_path, write_json
from fmim_core.training.trainer import Training
from fmim_core.trial.checkpoint import read_checkpoint, write_checkpoint
from fmim_core.trial.spec import RESULTS_VERSION, TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped
from tests.support.comparison import comparable
from tests.support.mini_study import first_replicates, first_search_trials, mini_plan

KEYS = {
    "study",
    "arm",
    "configuration",
    "replicate",
    "stage",
    "status",
    "fingerprint",
    "seed",
    "fold",
    "metrics",
    "history",
    "cost",
    "peak_memory",
    "error",
    "environment",
}
COST = {"train_s", "eval_s", "data_s", "startup_s", "device", "device_share", "epochs", "images"}


def search_spec(bank: Bank, epochs: int | None = None) -> TrialSpec:
    plan = mini_plan(epochs=epochs)
    return first_search_trials(plan, bank)[1]


def test_a_search_record_says_everything_and_never_saw_the_test_set(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank)
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    on_disk = read_json(record_path(tmp_path, "adatriplet_automargin.c00.fold1"))
    assert repr(on_disk) == repr(json.loads(record.text))
    assert repr(read_record(tmp_path, record.trial)) == repr(record)
    assert set(on_disk) >= KEYS
    assert set(on_disk["cost"]) >= COST
    assert (record.status, record.stage, record.fold, record.replicate) == ("completed", "search", 1, 1)
    assert record.configuration == {"k_delta": 2, "k_an": 2}
    assert record.metrics.test is None
    assert record.test_opened_at is None
    assert record.metrics.validation["mAP"] == record.history[-1].validation_mAP
    assert (record.cost.epochs, record.cost.device) == (2, "cpu")
    assert record.cost.images == sum(row.batches for row in record.history) * 16
    assert not list((tmp_path / "checkpoints").glob("*"))


def test_a_search_trial_runs_on_a_bank_whose_test_index_is_gone(tiny_bank: Bank, tmp_path: Path) -> None:
    copy = tmp_path / "bank"
    shutil.copytree(tiny_bank.path, copy)
    (copy / "test.csv").unlink()
    spec = search_spec(tiny_bank).model_copy(update={"bank": copy})
    assert Trial(spec, RunSettings(tmp_path, "cpu")).run().status == "completed"
    plan = mini_plan()
    replicate = first_replicates(plan, tiny_bank)[0].model_copy(update={"bank": copy})
    record = Trial(replicate, RunSettings(tmp_path, "cpu")).run()
    assert record.status == "failed"
    assert "test.csv" in record.error.message


def test_a_replicate_trains_on_all_development_subjects_and_reads_the_test_set(tiny_bank: Bank, tmp_path: Path) -> None:
    plan = mini_plan()
    spec = first_replicates(plan, tiny_bank)[1]
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    assert (record.stage, record.fold, record.replicate) == ("replicate", None, 1)
    assert record.metrics.validation is None
    assert record.metrics.test["gallery"] == 12
    assert record.started_at <= record.test_opened_at <= record.ended_at
    kept = torch.load(tmp_path / "checkpoints" / f"{spec.id}.pt")
    spec.train.model.build(24).load_state_dict(kept["model"])


def test_a_replicate_embeds_the_test_images_once_for_metrics_and_queries(
    tiny_bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, embed = [], Training.embed
    monkeypatch.setattr(Training, "embed", lambda self, images: (seen.append(images), embed(self, images))[1])
    plan = mini_plan()
    record = Trial(first_replicates(plan, tiny_bank)[0], RunSettings(tmp_path, "cpu")).run()
    test = tiny_bank.open_test()
    assert [images.rows.tolist() for images in seen] == [test.rows.tolist()]
    assert record.metrics.test["queries"] > 0


def test_a_replicate_writes_its_queries_before_the_record_that_names_them(
    tiny_bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, replace = list[str](), Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (written.append(Path(to).name), replace(self, to))[1])
    name = Trial(first_replicates(mini_plan(), tiny_bank)[0], RunSettings(tmp_path, "cpu")).run().trial
    assert written == [f"{name}.queries.parquet", f"{name}.pt", f"{name}.json"]


def test_two_trials_with_the_same_seed_write_the_same_record_apart_from_times(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank)
    first, second = (Trial(spec, RunSettings(tmp_path / name, "cpu")).run() for name in "ab")
    assert comparable(first) == comparable(second)


def test_an_interrupted_trial_goes_on_from_its_checkpoint(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank, epochs=4)
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    settings = RunSettings(tmp_path / "parts", "cpu", checkpoint_every_s=0.0)
    stopped = Trial(spec, settings)
    for _ in range(2):
        stopped.step()
    path = tmp_path / "parts" / "checkpoints" / f"{spec.id}.pt"
    assert len(torch.load(path)["training"]["history"]) == 2
    resumed = Trial(spec, settings)
    assert resumed.step().epoch == 3
    assert comparable(resumed.run()) == comparable(whole)


def test_a_checkpoint_of_another_configuration_is_not_gone_on_from(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank, epochs=4)
    settings = RunSettings(tmp_path, "cpu", checkpoint_every_s=0.0)
    Trial(spec, settings).step()
    other = spec.model_copy(update={"train": spec.train.model_copy(update={"learning_rate": 5e-4})})
    assert Trial(other, settings).step().epoch == 1


def test_a_stopped_trial_keeps_what_it_measured_apart_and_nothing_to_resume_from(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    spec = search_spec(tiny_bank, epochs=4)
    spec = spec.model_copy(update={"train": spec.train.model_copy(update={"keep": "best"})})
    trial = Trial(spec, RunSettings(tmp_path, "cpu", checkpoint_every_s=0.0))
    rows = [trial.step() for _ in range(3)]
    path = tmp_path / "checkpoints" / f"{spec.id}.pt"
    assert path.exists()
    keep_stopped(tmp_path, trial.stopped())
    assert not path.exists()
    record = read_record(tmp_path, spec.id)
    assert record is not None
    assert (record.status, record.metrics, record.kept_epoch) == (
        "stopped",
        Metrics(),
        None,
    )
    best = max(rows, key=lambda row: row.validation_mAP)
    assert record.stopped.after_epoch == 3
    assert record.stopped.kept_epoch == best.epoch
    assert record.stopped.validation["mAP"] == best.validation_mAP
    assert (record.cost.epochs, len(record.history)) == (3, 3)


def test_rungs_do_not_change_a_result_so_they_are_not_in_the_fingerprint(tiny_bank: Bank) -> None:
    spec = search_spec(tiny_bank)
    assert spec.model_copy(update={"rungs": (1,)}).fingerprint == spec.fingerprint


def test_divergence_is_a_status_with_its_history(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank)
    wild = spec.model_copy(update={"train": spec.train.model_copy(update={"learning_rate": 1e30})})
    record = Trial(wild, RunSettings(tmp_path, "cpu")).run()
    assert record.status == "diverged"
    assert record.error.kind == "Diverged"
    assert record.metrics == Metrics()


def test_an_error_is_a_failed_record_with_its_traceback(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank).model_copy(update={"bank_fingerprint": "0" * 64})
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    assert (record.status, record.error.kind) == ("failed", "ValueError")
    assert "has changed since the study was planned" in record.error.message
    assert "Traceback" in record.error.traceback


def test_running_out_of_memory_is_called_that(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank)
    huge = spec.train.model_copy(update={"model": spec.train.model.model_copy(update={"embedding_dim": 10**13})})
    record = Trial(spec.model_copy(update={"train": huge}), RunSettings(tmp_path, "cpu")).run()
    assert (record.status, record.error.kind) == ("failed", "out of memory")


def test_a_fingerprint_covers_what_decides_the_result_and_nothing_else(tiny_bank: Bank) -> None:
    spec = search_spec(tiny_bank)
    same = spec.model_copy(update={"study": "other", "arm": "other", "bank": Path("elsewhere"), "preset": "x"})
    assert same.fingerprint == spec.fingerprint
    for change in ({"replicate": 0}, {"study_seed": 1}, {"folds": 3}, {"bank_fingerprint": "x"}):
        assert spec.model_copy(update=change).fingerprint != spec.fingerprint


def test_a_fingerprint_is_the_sha256_of_canonical_json(tiny_bank: Bank) -> None:
    """The slow way: everything at once, nothing kept from another trial."""
    plan = mini_plan()
    specs = plan.possible(tiny_bank, lambda arm, search_split: ())
    assert {spec.stage for spec in specs} == {"search", "replicate", "reference"}
    compiled = specs[0].train.model_copy(update={"compile": "default"})
    infinite = specs[0].train.model_copy(update={"learning_rate": math.inf})
    others = [specs[0].model_copy(update={"train": train}) for train in (compiled, infinite)]
    others += [specs[0].model_copy(update=one) for one in ({"search_split": 1}, {"code": "0" * 64})]
    for spec in [*specs, *others]:
        of = spec.train.model_dump(mode="json")
        if spec.reference is not None:
            of = spec.reference.model_dump(mode="json") | spec.reference.settings(spec.train)
        if of.get("compile") == "none":
            del of["compile"]
        names = {"stage", "replicate", "folds", "study_seed", "bank_fingerprint"}
        names |= {"code"} if spec.code else set()
        names |= {"test_protocol"} if spec.stage == "replicate" else set()
        names |= {"search_split"} if spec.search_split else set()
        whole = {"results_version": RESULTS_VERSION, "train": of} | spec.model_dump(mode="json", include=names)
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert spec.fingerprint == hashlib.sha256(text.encode()).hexdigest()


def test_json_is_replaced_whole_and_keeps_not_a_number(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_json(path, {"x": float("nan"), "y": float("inf")})
    write_json(path, {"x": float("nan"), "é": 1})
    others = [line for line in path.read_text(encoding="utf-8").splitlines() if "sha256" not in line]
    assert others == ["{", ' "x": NaN,', ' "é": 1', "}"]
    assert [p.name for p in path.parent.iterdir()] == ["b.json"]
    path.write_text("{half", encoding="utf-8")
    with pytest.raises(ValueError, match=r"b.json is not readable JSON"):
        read_json(path)


def test_a_checkpoint_loads_with_the_safe_default(tmp_path: Path) -> None:
    """What is stored beside weights must pass torch's safe default, `weights_only=True`."""
    write_checkpoint(tmp_path / "c.pt", {"weights": torch.ones(2), "best": float("nan"), "history": [{"epoch": 1}]})
    assert torch.equal(torch.load(tmp_path / "c.pt")["weights"], torch.ones(2))


def test_a_checkpoint_of_another_form_is_not_resumed_from(tiny_bank: Bank, tmp_path: Path) -> None:
    spec, settings = search_spec(tiny_bank, epochs=3), RunSettings(tmp_path, "cpu", checkpoint_every_s=0.0)
    Trial(spec, settings).step()
    path = tmp_path / "checkpoints" / f"{spec.id}.pt"
    write_checkpoint(path, torch.load(path) | {"format": 1})
    assert read_checkpoint(path, torch.device("cpu")) is None
    row = Trial(spec, settings).step()
    assert row is not None
    assert row.epoch == 1
