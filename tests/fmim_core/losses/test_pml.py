"""The losses of the installed pytorch-metric-learning by name: every one trains, and is what the library computes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from pytorch_metric_learning import distances, losses, miners, reducers
from torch import Tensor

from fmim_core.config import in_words
from fmim_core.data.bank.bank import Bank
from fmim_core.library import LibraryClass
from fmim_core.losses.base import LibraryLoss
from fmim_core.losses.pml import PML, Distance, Miner, Reducer
from fmim_core.margins.base import Margins
from fmim_core.seeding import scoped_torch_seed
from fmim_core.training.trainer import Training
from fmim_core.trial.checkpoint import checkpoint_path
from fmim_core.trial.trial import RunSettings, Trial
from fmim_core.triplets.similarities import Similarities, unit
from tests.conftest import tiny_config
from tests.support.documents import comparable
from tests.support.mini_study import first_replicates, first_search_trials, mini_plan
from tests.support.trainings import of_library

CPU, NONE = torch.device("cpu"), Margins(0.0)
LABELS = torch.arange(6).repeat_interleave(3)


def leaf() -> Tensor:
    return torch.randn(len(LABELS), 5, generator=torch.Generator().manual_seed(0)).requires_grad_()


def gradient_of(module: LibraryLoss, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Value, active triplets and the gradient of a batch, whatever torch's global generator has been through."""
    torch.manual_seed(seed)
    raw = leaf()
    output = module(Similarities.of_labels(unit(raw), LABELS), NONE)
    output.value.backward()
    return output.value.detach(), output.active, raw.grad


@pytest.mark.parametrize(
    ("part", "module"), [(PML, losses), (Miner, miners), (Distance, distances), (Reducer, reducers)]
)
def test_what_is_left_out_of_the_installed_version_is_named_with_its_reason(
    part: type[LibraryClass], module: Any
) -> None:
    library = part.library
    there = {name for name, cls in vars(module).items() if inspect.isclass(cls)}
    assert {*library.names()} | {*library.left_out} == there
    for name, reason in library.left_out.items():
        with pytest.raises(ValueError, match=re.escape(f"{name} cannot be used here: {reason}")):
            part(name=name)


@pytest.mark.parametrize("name", PML.library.names())
def test_every_loss_trains_with_its_weights_in_single_precision(name: str, tiny_bank: Bank) -> None:
    """What a training computes is what the library does, with the sizes of this training."""
    config = tiny_config(**of_library(name))
    training = Training(config, tiny_bank.development(), None, 0, CPU)
    before = {name: value.clone() for name, value in training._trainer._step.loss.named_parameters()}
    rows = [training.run_epoch() for _ in range(2)]
    assert rows[0].loss != rows[1].loss
    assert {value.dtype for value in before.values()} <= {torch.float32}
    for name, value in training._trainer._step.loss.named_parameters():
        assert not torch.equal(value, before[name]), name
    module = config.loss.build(5, 6)
    direct, raw = module.loss, leaf()
    embeddings = torch.nn.functional.normalize(raw)
    embeddings.retain_grad()
    expected = direct(embeddings, LABELS)
    expected.backward()
    again = config.loss.build(5, 6)
    again.load_state_dict(
        {key: value for key, value in module.state_dict().items() if "hist_" not in key}, strict=False
    )
    value, active, gradient = gradient_of(again)
    assert value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert active.isnan()
    assert torch.allclose(gradient, raw.grad, rtol=1e-3, atol=1e-5)


def with_parts(loss: Any, miner: Any) -> tuple[Tensor, Tensor]:
    """A direct use of the library, seeded as a batch of these labels is."""
    raw = leaf()
    embeddings = torch.nn.functional.normalize(raw)
    with scoped_torch_seed("loss", *LABELS.tolist()):
        value = loss(embeddings, LABELS, miner(embeddings, LABELS))
    value.backward()
    return value.detach(), raw.grad


@pytest.mark.parametrize("name", Miner.library.names())
def test_every_miner_chooses_as_the_library_does_and_draws_the_same_in_every_run(name: str) -> None:
    made = PML(name="ContrastiveLoss", params={"neg_margin": 0.9}, miner={"name": name}).build(5, 6)
    value, _, gradient = gradient_of(made, seed=1)
    expected, expected_gradient = with_parts(losses.ContrastiveLoss(neg_margin=0.9), getattr(miners, name)())
    assert value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert torch.allclose(gradient, expected_gradient, rtol=1e-3, atol=1e-5)
    assert torch.equal(gradient, gradient_of(made, seed=2)[2])


def test_distances_and_reducers_are_those_that_are_named() -> None:
    loss = PML(
        name="TripletMarginLoss",
        params={"margin": 0.3, "swap": "true"},
        miner={"name": "TripletMarginMiner", "distance": {"name": "CosineSimilarity"}},
        distance={"name": "LpDistance", "params": {"p": 1}},
        reducer={"name": "ThresholdReducer", "params": {"low": 0.1}},
    )
    value, _, gradient = gradient_of(loss.build(5, 6))
    direct = losses.TripletMarginLoss(
        margin=0.3, swap=True, distance=distances.LpDistance(p=1), reducer=reducers.ThresholdReducer(low=0.1)
    )
    expected, expected_gradient = with_parts(direct, miners.TripletMarginMiner(distance=distances.CosineSimilarity()))
    assert value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert torch.allclose(gradient, expected_gradient, rtol=1e-3, atol=1e-5)
    assert {Distance(name=name).make().__class__.__name__ for name in Distance.library.names()} >= {"SNRDistance"}
    assert PML.model_validate_json(loss.model_dump_json()) == loss
    assert loss.model_dump()["params"] == {"margin": 0.3, "swap": True}


def test_a_batch_in_which_a_miner_finds_nothing_is_counted_as_empty() -> None:
    """Where all images look alike, no negative is farther than the positive."""
    loss = PML(name="TripletMarginLoss", miner={"name": "TripletMarginMiner", "params": {"type_of_triplets": "easy"}})
    same = torch.ones(len(LABELS), 5).requires_grad_()
    output = loss.build(5, 6)(Similarities.of_labels(unit(same), LABELS), NONE)
    output.value.backward()
    assert (output.value, output.active) == (0, 0)
    assert same.grad.abs().max() == 0


class Remembering(torch.nn.Module):
    """A loss that remembers the batch before, as a view of it."""

    def __init__(self) -> None:
        super().__init__()
        self.before = torch.zeros(1, 5).view(-1, 5)

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        value = (embeddings @ self.before.T).mean() + embeddings.var()
        self.before = embeddings.view(-1, 5)
        return value


def test_no_gradient_goes_to_the_batch_before() -> None:
    module = LibraryLoss(Remembering())
    first, second = gradient_of(module), gradient_of(module)
    assert not torch.equal(first[2], second[2])
    assert not module.loss.before.detach().equal(torch.zeros(1, 5))


@pytest.mark.parametrize(
    "loss",
    [
        PML(name="DynamicSoftMarginLoss"),  # remembers a histogram from batch to batch
        PML(name="ProxyAnchorLoss", miner={"name": "MultiSimilarityMiner"}),
        PML(name="MarginLoss", params={"learn_beta": True}, miner={"name": "DistanceWeightedMiner"}),  # draws
    ],
    ids=lambda loss: loss.name,
)
def test_a_trial_that_was_interrupted_ends_in_the_record_of_an_undisturbed_one(
    loss: PML, tiny_bank: Bank, tmp_path: Path
) -> None:
    spec = first_search_trials(mini_plan(epochs=3), tiny_bank)[1]
    train = tiny_config(**spec.train.model_dump() | {"loss": loss, "margins": {"kind": "none"}})
    spec = spec.model_copy(update={"train": train})
    whole = Trial(spec, RunSettings(tmp_path / "whole", "cpu")).run()
    assert whole.status == "completed"
    stopped = Trial(spec, RunSettings(tmp_path / "parts", "cpu", checkpoint_every_s=0.0))
    stopped.step()
    resumed = Trial(spec, RunSettings(tmp_path / "parts", "cpu"))
    torch.manual_seed(1)
    assert resumed.step().epoch == 2
    assert comparable(resumed.run()) == comparable(whole)


def test_the_weights_of_a_classification_loss_are_kept_with_the_model(tiny_bank: Bank, tmp_path: Path) -> None:
    spec = first_replicates(mini_plan(epochs=1), tiny_bank)[0]
    for name, kept in (("ProxyAnchorLoss", {"loss.proxies": torch.float32}), ("NTXentLoss", {})):
        train = tiny_config(**spec.train.model_dump() | of_library(name))
        Trial(spec.model_copy(update={"train": train}), RunSettings(tmp_path / name, "cpu")).run()
        saved = torch.load(checkpoint_path(tmp_path / name, spec.id))
        assert {key: value.dtype for key, value in saved.get("loss", {}).items()} == kept


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "loss.name: is missing"),
        (
            {"name": "MultiSimilartyLoss"},
            "loss.name: unknown pytorch-metric-learning loss 'MultiSimilartyLoss'; there",
        ),
        ({"name": "MultiSimilartyLoss"}, "Did you mean 'MultiSimilarityLoss'?"),
        (
            {"name": "MultiSimilarityLoss", "params": {"alhpa": 1}},
            "loss.params: unknown field 'alhpa'; MultiSimilarityLoss has alpha, beta, base. Did you mean 'alpha'?",
        ),
        ({"name": "ArcFaceLoss", "params": {"num_classes": 9}}, "num_classes cannot be set: the training sets it"),
        ({"name": "NCALoss", "params": {"distance": "L"}}, "distance cannot be set: it is a separate field"),
        ({"name": "RankedListLoss"}, "loss.params: RankedListLoss needs margin, Tn: give params.margin"),
        ({"name": "MultiSimilarityLoss", "params": {"alpha": "x"}}, "alpha must be a number (given 'x')"),
        ({"name": "MultiSimilarityLoss", "params": {"alpha": True}}, "alpha must be a number (given True)"),
        (
            {"name": "MultiSimilarityLoss", "params": {"alpha": float("nan")}},
            "give a finite number, a word, true, false",
        ),
        ({"name": "MultiSimilarityLoss", "params": 3}, "loss.params: give parameters by name, e.g. {'margin': 0.2}"),
        ({"name": "TripletMarginLoss", "params": {"swap": 1}}, "swap must be true or false (given 1)"),
        (
            {"name": "NCALoss", "miner": {"name": "HDCMine"}},
            "loss.miner.name: unknown pytorch-metric-learning miner",
        ),
        (
            {"name": "NCALoss", "miner": {"name": "TripletMarginMiner", "params": {"type_of_triplets": "semi-hard"}}},
            "type_of_triplets must be one of all, easy, semihard, hard (given 'semi-hard'). Did you mean 'semihard'?",
        ),
        (
            {"name": "NCALoss", "miner": {"name": "HDCMiner", "params": {"a": 1}}},
            "loss.miner.params: unknown field 'a'",
        ),
    ],
)
def test_what_is_wrong_is_told_by_field_and_value(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        tiny_config(loss={"kind": "pml"} | fields, margins={"kind": "none"})
    assert message in in_words(caught.value)
