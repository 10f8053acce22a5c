"""A reference's trial: its record, what it depends on, and that no epoch is run."""

from __future__ import annotations

from pathlib import Path

from fmim_core.data.bank.bank import Bank
from fmim_core.records import read_record
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.support.documents import comparable
from tests.support.mini_study import first_replicates, mini_plan


def specs(bank: Bank) -> list[TrialSpec]:
    """Raw pixels, pixels less the mean image, and the untrained network with two seeds."""
    plan = mini_plan()
    return [spec for planned in plan.references for spec in plan.reference(planned, bank)]


def with_crop(spec: TrialSpec, crop: int) -> TrialSpec:
    augmentation = spec.train.augmentation.model_copy(update={"crop": crop})
    return spec.model_copy(update={"train": spec.train.model_copy(update={"augmentation": augmentation})})


def test_a_record_of_a_reference_says_what_a_replicates_says(tiny_bank: Bank, tmp_path: Path) -> None:
    *_, spec = specs(tiny_bank)
    record = Trial(spec, RunSettings(tmp_path, "cpu")).run()
    assert comparable(read_record(tmp_path, "reference.untrained_network.c00.seed1")) == comparable(record)
    assert (record.status, record.stage, record.arm) == ("completed", "reference", "reference.untrained_network")
    assert (record.replicate, record.fold, record.configuration, record.kept_epoch) == (1, None, {}, None)
    assert record.seed == first_replicates(mini_plan(), tiny_bank)[1].seed
    assert (record.metrics.validation, record.metrics.test["gallery"]) == (None, 12)
    assert record.started_at <= record.test_opened_at <= record.ended_at
    assert (record.history, record.cost.epochs, record.cost.images) == ((), 0, 0)
    assert record.cost.eval_s > 0
    assert record.config["model"] == spec.train.model.model_dump(mode="json")
    assert "loss" not in record.config
    assert not list((tmp_path / "checkpoints").glob("*"))


def test_it_is_the_same_whatever_arm_it_stands_beside(tiny_bank: Bank) -> None:
    for spec in specs(tiny_bank):
        other = spec.train.model_copy(update={"learning_rate": 0.5, "epochs": 9})
        assert spec.model_copy(update={"train": other}).fingerprint == spec.fingerprint
        assert with_crop(spec, 20).fingerprint != spec.fingerprint
        assert TrialSpec.model_validate_json(spec.model_dump_json()) == spec
    assert len({spec.fingerprint for spec in specs(tiny_bank)}) == 4


def test_one_that_fails_is_a_failed_record_and_the_next_attempt_lists_it(tiny_bank: Bank, tmp_path: Path) -> None:
    for attempts in (0, 1):
        record = Trial(with_crop(specs(tiny_bank)[0], 99), RunSettings(tmp_path, "cpu")).run()
        assert (record.status, len(record.attempts), record.test_opened_at) == ("failed", attempts, None)
        assert "augmentation.crop = 99" in record.error.message
