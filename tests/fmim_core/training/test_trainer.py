"""Training: learns, is reproducible, resumes exactly, keeps what it says, and notices divergence."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.data.splits import subject_folds
from fmim_core.margins.base import MarginConfig, Margins, MarginSchedule, check_beta
from fmim_core.metrics import retrieval
from fmim_core.records import EpochRow
from fmim_core.training.evaluation import Diverged
from fmim_core.training.trainer import Training, train
from fmim_core.trial.checkpoint import read_checkpoint, write_checkpoint
from fmim_core.triplets.statistics import EpochStatistics
from tests.conftest import tiny_config
from tests.support.trainings import run_all

CPU = torch.device("cpu")


def same_rows(a: list[EpochRow], b: list[EpochRow]) -> bool:
    rows = [[row.model_dump(exclude={"seconds"}) for row in history] for history in (a, b)]
    return repr(rows[0]) == repr(rows[1])  # repr: NaN equals NaN, floats to the last bit


def all_of(bank: Bank, **changes: Any) -> Training:
    """A training on all development images, before its first epoch."""
    return Training(tiny_config(**changes), bank.development(), None, 0, CPU)


def test_train_alone_gives_rows_metrics_and_a_model_and_leaves_the_global_generator(tiny_bank: Bank) -> None:
    rows, before = list[EpochRow](), torch.get_rng_state()
    result = train(tiny_config(), tiny_bank, rows.append, folds=3, fold=1, seed=5)
    assert torch.equal(torch.get_rng_state(), before)
    assert [row.epoch for row in rows] == [1, 2, 3]
    assert rows == result.history
    assert rows[0].epsilon >= 0.0
    # eqs. 7 and 8: the margins of an epoch are those of the statistics of the epoch before
    for earlier, row in itertools.pairwise(rows):
        assert row.epsilon == pytest.approx(max(0.0, earlier.delta_mean / 2), abs=1e-12)
        assert row.beta == pytest.approx(1 + (earlier.phi_an_mean - 1) / 2, abs=1e-12)
    assert result.validation["mAP"] == rows[-1].validation_mAP
    assert result.kept_epoch == 3
    assert {"mAP", "mAP_at_R", "CMC_1", "CMC_5", "CMC_10", "mAP/year_1", "mAP/year_4"} <= set(result.validation)
    again, other = (train(tiny_config(epochs=1), tiny_bank, folds=3, fold=1, seed=seed).history for seed in (5, 4))
    assert same_rows(again, rows[:1])
    assert not same_rows(other, rows[:1])


@pytest.mark.parametrize("kind", [{"kind": "automargin", "k_delta": 2, "k_an": 2}, {"kind": "quartile", "quartile": 2}])
@pytest.mark.parametrize(("initial", "epsilon"), [("paper", 0.0), ("released", 0.25)])
def test_given_initial_margins_hold_through_the_first_epoch(
    tiny_bank: Bank, kind: dict[str, Any], initial: str, epsilon: float
) -> None:
    row = train(tiny_config(margins=kind | {"initial": initial}, epochs=1), tiny_bank).history[0]
    assert (row.epsilon, row.beta) == (epsilon, 0.0)
    assert (row.empty_batches == row.batches) == (initial == "paper")


class Cosine(MarginConfig):
    """ε(t + 1) = 0.15 (1 + cos πt/4) m/(1 + m), m the sum of |mean Δ| so far: the epoch and a memory decide."""

    kind: Literal["cosine"] = "cosine"

    def check(self, uses_beta: bool) -> None:
        check_beta("beta", None, uses_beta)

    def build(self) -> MarginSchedule:
        return CosineSchedule(Margins(0.3))


class CosineSchedule(MarginSchedule):
    def __init__(self, margins: Margins) -> None:
        super().__init__(margins)
        self.memory = 0.0

    def observe(self, epoch: int, statistics: EpochStatistics) -> None:
        self.memory += abs(statistics.delta_mean)
        self.margins = Margins(0.15 * (1 + math.cos(math.pi * epoch / 4)) * self.memory / (1 + self.memory))

    def state(self) -> dict[str, Any]:
        return super().state() | {"memory": self.memory}

    def load_state(self, state: Mapping[str, Any]) -> None:
        super().load_state(state)
        self.memory = state["memory"]


@pytest.mark.parametrize(
    "changes",
    [
        {"keep": "best_all_pairs"},
        {"loss": {"kind": "triplet"}, "margins": Cosine()},
        {"margins": {"kind": "automargin", "k_delta": 2, "k_an": 2, "update": "average"}},
        {"margins": {"kind": "quartile", "quartile": 1}},
    ],
)
def test_stop_and_resume_is_the_uninterrupted_run(tiny_bank: Bank, tmp_path: Path, changes: dict[str, Any]) -> None:
    config = tiny_config(**{"keep": "best", "epochs": 4} | changes)
    fold = subject_folds(tiny_bank.development(), 2, 0)[0]
    whole, first, second = (Training(config, fold.train, fold.validation, 7, CPU) for _ in range(3))
    run_all(whole)
    for _ in range(2):
        first.run_epoch()
    write_checkpoint(tmp_path / "c.pt", first.state())
    state = read_checkpoint(tmp_path / "c.pt", CPU)
    assert state is not None
    if config.keep == "best":
        del state["kept"]["decides"]  # as in checkpoints from before there were two ways to be best
    second.load_state(state)
    assert [row.epoch for row in run_all(second).history] == [1, 2, 3, 4]
    assert same_rows(second.history, whole.history)
    for name, value in whole.finish().state_dict().items():
        assert torch.equal(value, second.finish().state_dict()[name]), name


def test_best_keeps_the_model_of_the_best_validation_map_of_the_epochs_that_are_validated(tiny_bank: Bank) -> None:
    fold = subject_folds(tiny_bank.development(), 2, 0)[0]
    values = dict[int, float]()
    for validate_every, validated in ((1, (1, 2, 3, 4, 5)), (2, (2, 4, 5))):
        config = tiny_config(keep="best", epochs=5, validate_every=validate_every)
        training = run_all(Training(config, fold.train, fold.validation, 2, CPU))
        values = values or {row.epoch: row.validation_mAP for row in training.history}
        expected = [values[epoch] if epoch in validated else None for epoch in values]
        assert [row.validation_mAP for row in training.history] == expected
        best = max(validated, key=values.__getitem__)
        training.finish()
        assert training.kept == (best, training.evaluate(fold.validation))
        assert training.kept[1]["mAP"] == values[best]


@pytest.mark.parametrize("keep", ["best", "best_all_pairs"])
def test_of_equally_good_epochs_the_first_is_kept(tiny_bank: Bank, keep: str) -> None:
    fold = subject_folds(tiny_bank.development(), 2, 0)[0]
    one = fold.validation.select(fold.validation.subjects == fold.validation.subjects[0])  # any order has an mAP of 1
    training = run_all(Training(tiny_config(keep=keep, epochs=3), fold.train, one, 2, CPU))
    assert [row.validation_mAP for row in training.history] == [1, 1, 1]
    assert training.kept[0] == 1


def test_the_best_epoch_over_all_pairs_is_that_of_every_image_searched_for_among_all_others(tiny_bank: Bank) -> None:
    """By hand: the average precision of each image's order of all others, as the authors' training loop ranks them."""
    fold = subject_folds(tiny_bank.development(), 2, 0)[0]
    config = tiny_config(keep="best_all_pairs", epochs=4, learning_rate=0.01)
    training, by_hand = Training(config, fold.train, fold.validation, 3, CPU), list[float]()
    while not training.done:
        training.run_epoch()
        embeddings, people = training.embed(fold.validation).double(), fold.validation.identities()
        precisions = []
        for image, similarities in enumerate(embeddings @ embeddings.T):
            order = [other for other in similarities.argsort(descending=True).tolist() if other != image]
            hits = np.array([people[other] == people[image] for other in order])
            precisions.append((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())
        by_hand.append(float(np.mean(precisions)))
    assert [row.all_pairs_mAP for row in training.history] == pytest.approx(by_hand)
    baseline = [row.validation_mAP for row in training.history]
    training.finish()
    best = by_hand.index(max(by_hand))
    assert training.kept == (best + 1, training.evaluate(fold.validation))
    assert training.kept[1] is not None
    assert training.kept[1]["mAP"] == baseline[best]
    assert baseline.index(max(baseline)) != best  # the two choose different epochs here
    other = run_all(Training(config.model_copy(update={"keep": "best"}), fold.train, fold.validation, 3, CPU))
    assert [row.validation_mAP for row in other.history] == baseline
    assert {row.all_pairs_mAP for row in other.history} == {None}


@pytest.mark.parametrize("identity", ["subject", "side"])
def test_evaluation_is_baseline_gallery_and_later_queries(tiny_bank: Bank, identity: str) -> None:
    training, test = all_of(tiny_bank, identity=identity), tiny_bank.open_test()
    embeddings, later = training.embed(test), test.months > 0
    names = test.subjects + (test.sides if identity == "side" else "")
    expected = retrieval(
        embeddings[torch.from_numpy(later)],
        embeddings[torch.from_numpy(~later)],
        names[later],
        names[~later],
        query_years=(test.months[later] / 12).astype(int),
    )
    assert training.evaluate(test) == expected
    assert expected["gallery"] == 12  # six subjects, two knees each


def test_semihard_with_margin_zero_trains_on_nothing_and_counts_it(tiny_bank: Bank) -> None:
    config = tiny_config(loss={"kind": "triplet"}, margins={"kind": "fixed", "epsilon": 0.0}, epochs=1)
    row = train(config, tiny_bank).history[0]
    assert (row.loss, row.active_share, row.empty_batches) == (0.0, 0.0, row.batches)
    assert math.isnan(row.beta)


def test_divergence_is_raised_even_where_selection_hides_it(tiny_bank: Bank) -> None:
    training = all_of(tiny_bank, loss={"kind": "triplet"}, margins={"kind": "fixed", "epsilon": 0.1})
    with torch.no_grad():
        next(training.model.parameters()).fill_(math.nan)
    with pytest.raises(Diverged, match="epoch 1"):
        training.run_epoch()


def test_a_crop_larger_than_the_images_is_refused(tiny_bank: Bank) -> None:
    with pytest.raises(ValueError, match=r"augmentation.crop = 64, but the bank's images have 28 px"):
        train(tiny_config(augmentation={"crop": 64}), tiny_bank)


def test_the_core_alone_imports_neither_ray_nor_mlflow_nor_optuna() -> None:
    code = "import sys, fmim_core.training.trainer; print([m for m in ('ray', 'mlflow', 'optuna') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
