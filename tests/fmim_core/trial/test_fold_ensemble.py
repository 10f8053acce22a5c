"""A replicate of fold models: what each of them is, what they find together, and that interruptions change nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.data.splits import subject_folds
from fmim_core.records import Record
from fmim_core.seeding import derive_seed
from fmim_core.training.evaluation import Evaluator
from fmim_core.training.trainer import Training
from fmim_core.trial.checkpoint import checkpoint_path
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial, training_of
from tests.oracles import ensembles as oracle
from tests.support.documents import comparable
from tests.support.mini_study import ensemble_plan, first_replicates, mini_plan
from tests.support.trainings import run_all

CPU = torch.device("cpu")
EPOCHS = 2


def replicate_spec(bank: Bank, **train: object) -> TrialSpec:
    """The second replicate of the small study, as two fold models of two epochs each."""
    spec = first_replicates(ensemble_plan(mini_plan(seed=3)), bank)[1]
    return spec.model_copy(update={"train": spec.train.model_copy(update={"keep": "best", "epochs": EPOCHS} | train)})


def plain_trainings(spec: TrialSpec, bank: Bank) -> list[Training]:
    """Each fold's model trained by itself."""
    found = []
    for fold in subject_folds(bank.development(), spec.folds, derive_seed(spec.study_seed, "folds")):
        seed = derive_seed(spec.seed, "fold", fold.number)
        training = run_all(Training(spec.train, fold.train, fold.validation, seed, CPU))
        training.finish()
        found.append(training)
    return found


@pytest.fixture(scope="module")
def whole(tiny_bank: Bank, tmp_path_factory: pytest.TempPathFactory) -> tuple[TrialSpec, Record, Path]:
    spec, out = replicate_spec(tiny_bank), tmp_path_factory.mktemp("whole")
    return spec, Trial(spec, RunSettings(out, "cpu")).run(), out


def test_each_member_is_what_a_training_of_its_own_gives(
    whole: tuple[TrialSpec, Record, Path], tiny_bank: Bank
) -> None:
    spec, record, out = whole
    alone = plain_trainings(spec, tiny_bank)
    assert [member.fold for member in record.members] == [0, 1]
    assert len({member.seed for member in record.members} | {record.seed}) == 3
    for member, result in zip(record.members, alone, strict=True):
        assert (member.kept_epoch, member.validation) == result.kept
        best = max(member.history, key=lambda row: row.validation_mAP)
        assert (member.kept_epoch, member.validation["mAP"]) == (best.epoch, best.validation_mAP)
        assert [row.loss for row in member.history] == [row.loss for row in result.history]
    assert (record.history, record.kept_epoch) == (record.members[0].history, record.members[0].kept_epoch)
    assert record.metrics.validation is None
    rows = [row for member in record.members for row in member.history]
    assert record.cost.epochs == len(rows) == spec.folds * EPOCHS
    assert record.cost.images == sum(row.batches for row in rows) * spec.train.batches.size
    assert record.cost.train_s + record.cost.eval_s + record.cost.data_s > 0.5 * sum(row.seconds for row in rows)
    saved = torch.load(checkpoint_path(out, spec.id))["model"]
    for number, result in enumerate(alone):
        weights = result.model.state_dict()
        assert all(torch.equal(saved[f"{number}.{name}"], value) for name, value in weights.items())


def test_the_test_distances_are_the_mean_of_the_members(whole: tuple[TrialSpec, Record, Path], tiny_bank: Bank) -> None:
    spec, record, _ = whole
    test = tiny_bank.open_test()
    query, gallery = (np.flatnonzero(mask) for mask in (test.query_mask, test.gallery_mask))
    models = []
    for result in plain_trainings(spec, tiny_bank):
        embeddings = Evaluator(spec.train, result.model, CPU).embed(test).tolist()
        models.append(([embeddings[i] for i in query], [embeddings[i] for i in gallery]))
    distances = oracle.mean_distances(models)

    ensemble = training_of(spec, tiny_bank.development(), CPU)
    while not ensemble.done:
        ensemble.run_epoch()
    embeddings = ensemble.embed(test)
    ours = 2 - 2 * embeddings[query] @ embeddings[gallery].T
    assert ours.dtype == torch.float64
    np.testing.assert_allclose(ours.numpy(), distances, rtol=0, atol=1e-9)

    identities = test.identities()
    is_match = [[identities[i] == identities[j] for j in gallery] for i in query]
    expected = oracle.mean_average_precision(distances, is_match)
    assert record.metrics.test["mAP"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("after", [1, 2, 3])  # within the first member, between the two, within the second
def test_an_interruption_changes_nothing(
    whole: tuple[TrialSpec, Record, Path], tiny_bank: Bank, tmp_path: Path, after: int
) -> None:
    spec, record, out = whole
    settings = RunSettings(tmp_path, "cpu", checkpoint_every_s=0.0)
    stopped = Trial(spec, settings)
    for _ in range(after):
        stopped.step()
    resumed = Trial(spec, settings)
    assert resumed.step().epoch == after % EPOCHS + 1
    assert comparable(resumed.run()) == comparable(record)
    weights, expected = (torch.load(checkpoint_path(at, spec.id))["model"] for at in (tmp_path, out))
    assert all(torch.equal(weights[name], value) for name, value in expected.items())


def test_a_member_that_diverges_is_named_and_the_finished_ones_are_kept(tiny_bank: Bank, tmp_path: Path) -> None:
    trial = Trial(replicate_spec(tiny_bank), RunSettings(tmp_path, "cpu"))
    for _ in range(EPOCHS + 1):
        trial.step()
    with torch.no_grad():
        next(trial._training._training.model.parameters()).fill_(float("nan"))
    record = trial.run()
    assert record.status == "diverged"
    assert "model of fold 1: epoch 2" in record.error.message
    assert [len(member.history) for member in record.members] == [EPOCHS, 1]
