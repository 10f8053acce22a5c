"""The model that a replicate has kept needs nothing but its record and its weights."""

from __future__ import annotations

from pathlib import Path

import torch
from torchvision.models import resnet18

from fmim_core.data.bank.bank import Bank
from fmim_core.models.torchvision_networks import ResNet18
from fmim_core.trial.kept_model import kept_model
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.mini_study import first_replicates, mini_plan


def test_the_weights_that_a_training_started_from_are_not_looked_for_again(tiny_bank: Bank, tmp_path: Path) -> None:
    start = tmp_path / "start.pt"
    torch.save(resnet18().state_dict(), start)
    spec = first_replicates(mini_plan(), tiny_bank)[0]
    train = spec.train.model_copy(update={"model": ResNet18(embedding_dim=4, weights=str(start)), "epochs": 1})
    record = Trial(spec.model_copy(update={"train": train}), RunSettings(tmp_path, "cpu")).run()
    start.unlink()
    kept = kept_model(tmp_path, record, torch.device("cpu"))
    assert kept.config == train
    assert kept.evaluate(tiny_bank.open_test()) == record.metrics.test
