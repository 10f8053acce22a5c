"""What every loss, margin schedule, backbone and data set does, whichever are registered."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from fmim_core.augmentations.base import AUGMENTATIONS
from fmim_core.data.sets.base import DATA_SETS, DataSet, FileSource
from fmim_core.fingerprint import fingerprint
from fmim_core.losses.base import LOSSES, Loss
from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import MARGINS, MarginConfig, Margins, MarginSchedule
from fmim_core.models.base import BACKBONES, Backbone, multiply_adds
from fmim_core.optimizers.base import OPTIMIZERS
from fmim_core.references.base import REFERENCES
from fmim_core.registry import KindConfig, Registry
from fmim_core.seeding import scoped_torch_seed, torch_generator
from fmim_core.training.config import TrainConfig
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from fmim_core.triplets.statistics import EpochStatistics, StatisticsCollector
from tests.conftest import tiny_config
from tests.support.own_files import register_for_a_test

REGISTRIES: list[Registry[Any]] = [AUGMENTATIONS, LOSSES, MARGINS, BACKBONES, OPTIMIZERS, DATA_SETS, REFERENCES]
EXAMPLES: dict[str, dict[str, Any]] = {
    "arcface": {"margin_degrees": 14.3},
    "automargin": {"k_delta": 2, "k_an": 4},
    "contrastive": {"m_pos": 0.5, "m_neg": 0.75},
    "fixed": {"epsilon": 0.25, "beta": 0.5},
    "pml": {"name": "MultiSimilarityLoss", "miner": {"name": "MultiSimilarityMiner"}},
    "quartile": {"quartile": 1},
    "sct": {"lam": 1.0},
    "softtriple": {"margin": 0.02},
    "torchvision": {"transforms": [{"name": "RandomResizedCrop"}]},
    "timm": {"name": "test_resnet"},
    "torch": {"name": "AdamW", "params": {"betas": (0.9, 0.98)}},
    "wat": {"beta": 0.1},
}
"""Values of the fields without a default."""


def examples(*registries: Registry[Any]) -> pytest.MarkDecorator:
    """Every kind of the registries as `entry`."""
    kinds = [(registry, kind) for registry in registries for kind in registry.kinds()]
    made = [registry.make({"kind": kind} | EXAMPLES.get(kind, {})) for registry, kind in kinds]
    return pytest.mark.parametrize("entry", made, ids=lambda entry: entry.kind)


def batch_of(labels: list[int], epoch: int = 0) -> tuple[torch.Tensor, Similarities]:
    """Random embeddings `(B, 5)` before normalisation, a leaf of the graph; and their similarities."""
    raw = torch.randn(len(labels), 5, generator=torch_generator(0, "batch", epoch)).requires_grad_()
    classes = torch.tensor(labels)
    return raw, Similarities.of(unit(raw), TripletIndex.of(classes), classes)


def statistics_of(schedule: MarginSchedule, epoch: int) -> tuple[list[Margins], EpochStatistics]:
    """An epoch of two batches: the margins that the schedule gave each, and the statistics."""
    collector, given = StatisticsCollector(torch.device("cpu"), schedule.needs_values), []
    for number in range(2):
        batch = batch_of(LABELS, 2 * epoch + number)[1]
        given.append(schedule.for_batch(batch).as_numbers())
        collector.add(batch)
    return given, collector.finish()


LABELS = [0, 0, 0, 1, 1, 2, 2, 3]


@examples(*REGISTRIES)
def test_every_configuration_prints_hashes_pickles_and_survives_json(entry: KindConfig) -> None:
    for again in (
        pickle.loads(pickle.dumps(entry)),
        type(entry).model_validate(entry.model_dump()),
        type(entry).model_validate_json(entry.model_dump_json()),
    ):
        assert again == entry
        assert hash(again) == hash(entry)
        assert fingerprint(again) == fingerprint(entry)
    assert repr(entry).startswith(type(entry).__name__)
    with pytest.raises(ValueError, match="frozen"):
        entry.kind = "other"
    with pytest.raises(ValueError, match="no_such_field"):
        type(entry).model_validate(entry.model_dump() | {"no_such_field": 1})


@examples(LOSSES)
def test_every_loss_has_finite_gradients_and_nothing_to_say_of_an_empty_batch(entry: Loss) -> None:
    module = entry.build(5, max(LABELS) + 1)
    raw, batch = batch_of(LABELS)
    output = module(batch, Margins(0.25, 0.5))
    output.value.backward()
    assert output.value.shape == output.active.shape == ()
    assert output.value.isfinite()
    assert raw.grad.isfinite().all()
    assert all(weights.grad.isfinite().all() for weights in module.parameters())

    same = torch.ones(4, 5).requires_grad_()
    module(Similarities.of_labels(unit(same), torch.tensor([0, 0, 1, 1])), Margins(0.25, 0.5)).value.backward()
    assert same.grad.isfinite().all()

    raw, batch = batch_of([0])  # no pair and no triplet
    output = module(batch, Margins(0.25, 0.5))
    output.value.backward()
    assert raw.grad.isfinite().all()
    if not output.active.isnan():  # a loss of triplets
        assert (output.value, output.active) == (0, 0)
        assert raw.grad.abs().max() == 0


@examples(LOSSES)
def test_every_loss_knows_whether_margins_matter(entry: Loss) -> None:
    """The value depends on ε and β only if the loss says so."""
    module, (_, batch) = entry.build(5, max(LABELS) + 1), batch_of(LABELS)
    base, other_epsilon, other_beta = (module(batch, Margins(*m)).value for m in ((0.25, 0.5), (0.9, 0.5), (0.25, 0.1)))
    assert (base != other_epsilon) == entry.uses_margins
    assert (base != other_beta) == entry.uses_beta


@examples(MARGINS)
def test_every_schedule_goes_on_from_its_state_as_if_it_had_not_been_stopped(
    entry: MarginConfig, tmp_path: Path
) -> None:
    whole, stopped, resumed = (entry.build() for _ in range(3))
    for epoch in (1, 2):
        for schedule in (whole, stopped):
            schedule.observe(epoch, statistics_of(schedule, epoch)[1])
    torch.save(stopped.state(), tmp_path / "state.pt")
    resumed.load_state(torch.load(tmp_path / "state.pt", weights_only=True))
    for epoch in (3, 4):
        (margins, statistics), (same, _) = (statistics_of(schedule, epoch) for schedule in (whole, resumed))
        assert repr(same) == repr(margins)  # repr: NaN equals NaN, floats to the last bit
        for schedule in (whole, resumed):
            schedule.observe(epoch, statistics)
    assert repr(resumed.state()) == repr(whole.state())


@examples(MARGINS)
def test_every_schedule_says_whether_its_margins_change_during_a_training(entry: MarginConfig) -> None:
    schedule = entry.build()
    first, statistics = statistics_of(schedule, 1)
    schedule.observe(1, statistics)
    second, _ = statistics_of(schedule, 2)
    assert (repr(first) != repr(second)) == entry.vary


@examples(BACKBONES)
def test_every_backbone_embeds_grey_images_draws_nothing_in_training_and_can_be_counted(entry: Backbone) -> None:
    with scoped_torch_seed("models"):
        network, images = entry.build(32), torch.randn(4, 1, 32, 32)
    before, outputs = torch.get_rng_state(), list[torch.Tensor]()
    entry.head(network).register_forward_hook(lambda module, given, output: outputs.append(output))
    embeddings = network.train()(images)
    assert torch.equal(outputs[-1].view_as(embeddings), embeddings)
    assert embeddings.shape == (4, entry.embedding_dim)
    assert embeddings.isfinite().all()
    assert 0 < multiply_adds(entry, 32) == multiply_adds(entry.without_weights(), 32)
    assert torch.equal(torch.get_rng_state(), before)


@examples(DATA_SETS)
def test_every_data_set_refuses_an_empty_folder_and_says_what_it_is(entry: DataSet, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        FileSource(entry.listing(tmp_path, metadata_only=False))
    assert entry.about().endswith(".")


class Doubled(Triplet):
    """A loss that is not in the package."""

    kind: Literal["doubled"] = "doubled"
    weight: float = 2.0


def test_a_kind_of_any_module_is_registered_and_then_like_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="unknown loss kind 'doubled'; there are adatriplet, arcface"):
        tiny_config(loss={"kind": "doubled"}, margins={"kind": "fixed", "epsilon": 0.1})
    register_for_a_test(LOSSES, Doubled, monkeypatch)
    LOSSES.register(Doubled)  # as a notebook's cell does that is run again
    config = tiny_config(loss={"kind": "doubled", "weight": 3}, margins={"kind": "fixed", "epsilon": 0.1})
    assert config.loss == Doubled(weight=3)
    assert TrainConfig.model_validate_json(config.model_dump_json()) == config


def test_what_is_no_kind_of_its_own_is_not_registered() -> None:
    class Same(Triplet):
        pass

    class Nameless(Triplet):
        kind: Literal["a", "b"]

    class Unfinished(Loss):
        kind: Literal["unfinished"] = "unfinished"

    for cls, message in (
        (Same, "loss kind 'triplet' of .*Same is taken by fmim_core.losses.triplet.Triplet: choose another name"),
        (Nameless, "Nameless needs a name as its kind"),
        (Unfinished, r"loss 'unfinished' \(.*Unfinished\) must define build"),
    ):
        with pytest.raises(ValueError, match=message):
            LOSSES.register(cls)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": {"kind": "tripet"}}, r"loss\n.*unknown loss kind 'tripet'; there are .*\. Did you mean 'triplet'\?"),
        ({"loss": {"lam": 1.0}}, r"loss\n.*`kind` is missing: give one of adatriplet, arcface, "),
        ({"loss": "triplet"}, r"loss\n.*give a mapping with `kind`, or a Loss; this is 'triplet'"),
        ({"loss": {"kind": "adatriplet", "lam": -1}}, r"loss\.lam\n.*greater than or equal to 0.*input_value=-1"),
        (
            {"loss": {"kind": "adatriplet", "lamb": 1}},
            r"unknown field 'lamb'; AdaTriplet has kind, .*Did you mean 'lam'",
        ),
        ({"margins": {"kind": "quartile", "quartile": 3}}, r"margins\.quartile\n.*should be 1 or 2.*input_value=3"),
        ({"model": {"kind": "small", "widths": (4, 8)}}, r"model\.widths\.2\n.*Field required"),
        ({"margins": {"kind": "fixed", "epsilon": 0.1}}, r"margins.beta is missing"),
        ({"loss": {"kind": "triplet"}}, r"margins.k_an = 2 has no effect"),
        ({"loss": {"kind": "triplet"}, "margins": {"kind": "none"}}, "margins are missing"),
        ({"loss": {"kind": "sct", "lam": 1.0}}, "the loss 'sct' has none"),
        ({"margins": {"kind": "wat", "beta": 0.1}}, r"give no β"),
        ({"marign": 0.2}, "marign"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_what_is_wrong_in_a_configuration_is_told_by_field_and_value(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tiny_config(**changes)
