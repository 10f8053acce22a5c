"""A trial ends in a record, whatever happens; the test set is opened in the replicate stage alone."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision.models import resnet18

from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim_core.data.bank.bank import Bank
from fmim_core.models.torchvision_networks import ResNet18
from fmim_core.records import Metrics, read_json, read_record, record_path
from fmim_core.seeding import scoped_torch_seed
from fmim_core.training.trainer import Training
from fmim_core.trial.checkpoint import checkpoint_path, kept_model, read_checkpoint, write_checkpoint
from fmim_core.trial.spec import RESULTS_VERSION, TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, keep_stopped
from tests.support.documents import comparable
from tests.support.mini_study import MINI, MINI_STUDY, first_replicates, first_search_trials, mini_plan

KEYS = {"study", "arm", "configuration", "replicate", "stage", "status", "fingerprint", "seed", "fold", "metrics"}
KEYS |= {"history", "cost", "peak_memory", "error", "environment"}
COST = {"train_s", "eval_s", "data_s", "startup_s", "device", "device_share", "epochs", "images"}


def search_spec(bank: Bank, epochs: int | None = None, **train: Any) -> TrialSpec:
    spec = first_search_trials(mini_plan(epochs=epochs), bank)[1]
    return spec.model_copy(update={"train": spec.train.model_copy(update=train)})


def test_a_search_record_says_everything_and_never_saw_the_test_set(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank)
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    on_disk = read_json(record_path(tmp_path, "adatriplet_automargin.c00.fold1"))
    assert repr(read_record(tmp_path, record.trial)) == repr(record)
    assert set(on_disk) >= KEYS
    assert set(on_disk["cost"]) >= COST
    assert (record.status, record.stage, record.fold, record.replicate) == ("completed", "search", 1, 1)
    assert record.configuration == {"k_delta": 2, "k_an": 2}
    assert (record.metrics.test, record.test_opened_at) == (None, None)
    assert record.metrics.validation["mAP"] == record.history[-1].validation_mAP
    assert (record.cost.epochs, record.cost.device) == (2, "cpu")
    assert record.cost.images == sum(row.batches for row in record.history) * 16
    assert not list((tmp_path / "checkpoints").glob("*"))
    again = Trial(spec, RunSettings(tmp_path / "again", "cpu")).run()
    assert comparable(again) == comparable(record)


def test_a_search_trial_runs_on_a_bank_whose_test_index_is_gone(tiny_bank: Bank, tmp_path: Path) -> None:
    bank = Path(shutil.copytree(tiny_bank.path, tmp_path / "bank"))
    (bank / "test.csv").unlink()
    search, replicate = search_spec(tiny_bank), first_replicates(mini_plan(), tiny_bank)[0]
    done, failed = (
        Trial(spec.model_copy(update={"bank": bank}), RunSettings(tmp_path, "cpu")).run()
        for spec in (search, replicate)
    )
    assert (done.status, failed.status) == ("completed", "failed")
    assert "test.csv" in failed.error.message


def test_a_replicate_trains_on_all_development_subjects_and_embeds_the_test_set_once(
    tiny_bank: Bank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, embed = [], Training.embed
    monkeypatch.setattr(Training, "embed", lambda self, images: (seen.append(images), embed(self, images))[1])
    written, replace = list[str](), Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (written.append(Path(to).name), replace(self, to))[1])
    spec = first_replicates(mini_plan(), tiny_bank)[1]
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    assert (record.stage, record.fold, record.replicate) == ("replicate", None, 1)
    assert record.metrics.validation is None
    assert record.metrics.test["gallery"] == 12
    assert record.started_at <= record.test_opened_at <= record.ended_at
    assert [images.rows.tolist() for images in seen] == [tiny_bank.open_test().rows.tolist()]
    # The queries are there before the record that names them.
    assert written == [f"{spec.id}.queries.parquet", f"{spec.id}.pt", f"{spec.id}.json"]
    kept = torch.load(checkpoint_path(tmp_path, spec.id))  # with torch's safe default
    spec.train.model.build(24).load_state_dict(kept["model"])


def test_a_kept_model_needs_nothing_but_its_record_and_its_weights(tiny_bank: Bank, tmp_path: Path) -> None:
    model, start = ResNet18(embedding_dim=4, weights=str(tmp_path / "start.pt")), tmp_path / "start.pt"
    torch.save(model.without_weights().network(24).state_dict(), start)
    spec = first_replicates(mini_plan(epochs=1), tiny_bank)[0]
    train = spec.train.model_copy(update={"model": model})
    record = Trial(spec.model_copy(update={"train": train}), RunSettings(tmp_path, "cpu")).run()
    start.unlink()
    kept = kept_model(tmp_path, record, torch.device("cpu"))
    assert kept.config == train
    assert kept.evaluate(tiny_bank.open_test()) == record.metrics.test


@pytest.mark.parametrize("another_seed", [False, True])
def test_an_interrupted_trial_goes_on_from_its_checkpoint_and_from_no_other(
    tiny_bank: Bank, tmp_path: Path, another_seed: bool
) -> None:
    spec = search_spec(tiny_bank, epochs=4).model_copy(update={"another_seed": another_seed})
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    settings = RunSettings(tmp_path / "parts", "cpu", checkpoint_every_s=0.0)
    stopped = Trial(spec, settings)
    for _ in range(2):
        stopped.step()
    path = checkpoint_path(settings.out, spec.id)
    saved = path.read_bytes()
    assert len(torch.load(path)["training"]["history"]) == 2
    assert Trial(search_spec(tiny_bank, epochs=4, learning_rate=5e-4), settings).step().epoch == 1
    write_checkpoint(path, torch.load(path) | {"format": 1})  # of another version
    assert read_checkpoint(path, torch.device("cpu")) is None
    assert Trial(spec, settings).step().epoch == 1
    path.write_bytes(saved)
    resumed = Trial(spec, settings)
    assert resumed.step().epoch == 3
    assert comparable(resumed.run()) == comparable(whole)


def flipped(content: bytes) -> bytes:
    """One bit of it another one, among the weights."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [lambda content: b"", lambda content: bytes(len(content)), flipped])
def test_a_trial_with_a_damaged_checkpoint_begins_anew_and_warns(
    tiny_bank: Bank, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    spec = search_spec(tiny_bank)
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    settings = RunSettings(tmp_path / "damaged", "cpu", checkpoint_every_s=0)
    Trial(spec, settings).step()
    path = checkpoint_path(settings.out, spec.id)
    path.write_bytes(damaged := damage(path.read_bytes()))
    record = Trial(spec, settings).run()
    (aside,) = path.parent.glob(f"{path.name}.damaged-*")
    assert aside.read_bytes() == damaged
    (warning,) = [text for text in record.warnings if "damaged" in text]
    assert str(path) in warning
    assert aside.name in warning
    others = tuple(text for text in record.warnings if text != warning)
    assert comparable(record.changed({"warnings": others})) == comparable(whole)


def test_a_stopped_trial_keeps_what_it_measured_apart_and_nothing_to_resume_from(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    spec = search_spec(tiny_bank, epochs=4, keep="best")
    trial = Trial(spec, RunSettings(tmp_path, "cpu", checkpoint_every_s=0.0))
    rows = [trial.step() for _ in range(3)]
    path = checkpoint_path(tmp_path, spec.id)
    assert path.exists()
    keep_stopped(tmp_path, trial.stopped())
    assert not path.exists()
    record = read_record(tmp_path, spec.id)
    assert record is not None
    assert (record.status, record.metrics, record.kept_epoch) == ("stopped", Metrics(), None)
    best = max(rows, key=lambda row: row.validation_mAP)
    assert (record.stopped.after_epoch, record.stopped.kept_epoch) == (3, best.epoch)
    assert record.stopped.validation["mAP"] == best.validation_mAP
    assert (record.cost.epochs, len(record.history)) == (3, 3)


def test_whatever_goes_wrong_is_a_status_with_its_error(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = search_spec(tiny_bank)
    huge = spec.train.model.model_copy(update={"embedding_dim": 10**13})
    for number, (trial, status, kind, message) in enumerate(
        (
            (search_spec(tiny_bank, learning_rate=1e30), "diverged", "Diverged", "epoch"),
            (spec.model_copy(update={"bank_fingerprint": "0" * 64}), "failed", "ValueError", "has changed since"),
            (search_spec(tiny_bank, model=huge), "failed", "out of memory", ""),
        )
    ):
        record = Trial(trial, RunSettings(tmp_path / str(number), "cpu")).run()
        assert (record.status, record.error.kind, record.metrics) == (status, kind, Metrics())
        assert message in record.error.message
        assert "Traceback" in record.error.traceback


def test_a_fingerprint_is_the_sha256_of_canonical_json(tiny_bank: Bank) -> None:
    """The slow way: everything at once, nothing kept from another trial."""
    specs = mini_plan().possible(tiny_bank, lambda arm, search_split: ())
    assert {spec.stage for spec in specs} == {"search", "replicate", "reference"}
    assert [TrialSpec.model_validate_json(spec.model_dump_json()) for spec in specs] == list(specs)
    compiled = specs[0].train.model_copy(update={"compile": "default"})
    infinite = specs[0].train.model_copy(update={"learning_rate": math.inf})
    others = [specs[0].model_copy(update={"train": train}) for train in (compiled, infinite)]
    others += [
        specs[0].model_copy(update=one) for one in ({"search_split": 1}, {"code": "0" * 64}, {"another_seed": True})
    ]
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
        names |= {"another_seed"} if spec.another_seed else set()
        whole = {"results_version": RESULTS_VERSION, "train": of} | spec.model_dump(mode="json", include=names)
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert spec.fingerprint == hashlib.sha256(text.encode()).hexdigest()


def write_weights(file: Path, seed: int) -> str:
    """Write random weights; returns their file's SHA-256."""
    with scoped_torch_seed("weights", seed):
        torch.save(resnet18().state_dict(), file)
    return hashlib.sha256(file.read_bytes()).hexdigest()


def plan_with(weights: Path | str) -> Plan:
    changes = [("model.kind", "resnet18"), ("model.weights", str(weights)), ("epochs", 1)]
    return Plan(MINI_STUDY, with_changes(MINI, changes), seed=0)


def first_trial(weights: Path | str, bank: Bank) -> TrialSpec:
    return first_search_trials(plan_with(weights), bank)[0]


def test_a_plan_changes_with_the_content_of_a_weights_file_and_not_with_its_place(
    tiny_bank: Bank, tmp_path: Path
) -> None:
    sha256 = write_weights(tmp_path / "a.pt", seed=0)
    spec = first_trial(tmp_path / "a.pt", tiny_bank)
    assert spec.record("2026-01-01T00:00:00+00:00").environment["weights_sha256"] == sha256
    without = first_search_trials(mini_plan(), tiny_bank)[0]
    assert "weights_sha256" not in without.record("2026-01-01T00:00:00+00:00").environment
    assert without.model_copy(update={"weights_sha256": "0" * 64}).fingerprint == without.fingerprint
    (tmp_path / "a.pt").rename(tmp_path / "b.pt")
    assert first_trial(tmp_path / "b.pt", tiny_bank).fingerprint == spec.fingerprint
    write_weights(tmp_path / "b.pt", seed=1)
    assert first_trial(tmp_path / "b.pt", tiny_bank).fingerprint != spec.fingerprint


def test_references_are_of_the_weights_file_only_if_they_use_the_network(tiny_bank: Bank, tmp_path: Path) -> None:
    def fingerprints() -> dict[str, str]:
        plan = plan_with(tmp_path / "a.pt")
        return {planned.entry.name: plan.reference(planned, tiny_bank)[0].fingerprint for planned in plan.references}

    write_weights(tmp_path / "a.pt", seed=0)
    before = fingerprints()
    write_weights(tmp_path / "a.pt", seed=1)
    after = fingerprints()
    assert {name for name in before if after[name] != before[name]} == {"reference.untrained_network"}


@pytest.mark.parametrize("reference", [False, True], ids=["training", "reference"])
def test_a_trial_whose_weights_are_others_than_planned_fails(tiny_bank: Bank, tmp_path: Path, reference: bool) -> None:
    write_weights(tmp_path / "a.pt", seed=0)
    plan = plan_with(tmp_path / "a.pt")
    untrained = next(planned for planned in plan.references if planned.entry.name == "reference.untrained_network")
    spec = plan.reference(untrained, tiny_bank)[0] if reference else first_search_trials(plan, tiny_bank)[0]
    write_weights(tmp_path / "a.pt", seed=1)
    record = Trial(spec, RunSettings(tmp_path / "out", device="cpu")).run()
    assert record.status == "failed"
    assert "weights has changed since the study was planned" in record.error.message
