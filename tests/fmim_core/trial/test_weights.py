"""A weights file is part of what decides a trial's result: by its content, wherever it lies."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch
from torchvision.models import resnet18

from fmim.declare.study import with_changes
from fmim.plan import Plan
from fmim_core.data.bank.bank import Bank
from fmim_core.seeding import scoped_torch_seed
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.mini_study import MINI, MINI_STUDY, first_search_trials, mini_plan


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
