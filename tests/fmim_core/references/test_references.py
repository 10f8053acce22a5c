"""References against the slow and obvious: pixels in plain numpy, a training before its first step; their trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from fmim_core.data.bank.bank import Bank
from fmim_core.data.image_set import ImageSet
from fmim_core.records import read_record
from fmim_core.references.base import REFERENCES, Reference
from fmim_core.references.pixels import SIDES, Values
from fmim_core.seeding import scoped_torch_seed
from fmim_core.training.trainer import Training
from fmim_core.trial.spec import TrialSpec
from fmim_core.trial.trial import RunSettings, Trial
from tests.conftest import tiny_config
from tests.oracles.retrieval import retrieval
from tests.support.documents import comparable
from tests.support.mini_study import first_replicates, mini_plan

CPU = torch.device("cpu")
CONFIG = tiny_config()
SUBJECTS, PER_SUBJECT, SIZE = 20, 6, 28


def image_set(first: int) -> ImageSet:
    """Ten of the subjects with three images a side: noise, and as faint what all, a subject and a side have in common.

    Raw pixels, and less so pixels without the mean image, find some of them again.
    """
    draw = np.random.default_rng(0)
    shared, noise = draw.random((SIZE, SIZE)), draw.random((SUBJECTS, PER_SUBJECT, SIZE, SIZE))
    own = draw.random((SUBJECTS, 1, SIZE, SIZE)) + np.repeat(draw.random((SUBJECTS, 2, SIZE, SIZE)), 3, axis=1)
    images = (255 * (0.5 * shared + 0.05 * own + 0.4 * noise)).astype(np.uint8).reshape(-1, SIZE, SIZE)
    rows = np.arange(first * PER_SUBJECT, (first + 10) * PER_SUBJECT)
    sides = np.array(["L", "L", "L", "R", "R", "R"] * 10)
    months = np.array([0.0, 12.0, 48.0] * 20)
    subjects = (rows // PER_SUBJECT).astype(str)
    return ImageSet.of(pd.DataFrame({"row": rows, "subject": subjects, "side": sides, "months": months}), images)


DEVELOPMENT, TEST = image_set(0), image_set(10)


def metrics(kind: str, seed: int = 0, **changes: object) -> dict[str, float]:
    """What a reference measures on the test set."""
    return REFERENCES.make({"kind": kind}).evaluator(tiny_config(**changes), DEVELOPMENT, seed, CPU).evaluate(TEST)


def crops(images: ImageSet) -> np.ndarray:
    """The grey values `(n, D)` of the centre crops, float64."""
    side, crop = images.images.shape[1], CONFIG.augmentation.crop
    edge = (side - crop) // 2
    return images.images[images.rows, edge : edge + crop, edge : edge + crop].reshape(len(images), -1) / 255.0


def scored(vectors: np.ndarray, images: ImageSet, per_side: bool = False) -> dict[str, float]:
    """The oracle's metrics: every later visit against all baseline images."""
    query, gallery = images.query_mask, images.gallery_mask
    names = [f"{a}{b}" if per_side else a for a, b in zip(images.subjects, images.sides, strict=True)]
    identities = np.array(names)
    years = images.times[query].tolist()
    return retrieval(vectors[query], vectors[gallery], identities[query], identities[gallery], years)


@pytest.mark.parametrize("identity", ["subject", "side"])
def test_pixels_are_the_cosines_of_grey_values(identity: str) -> None:
    for kind, vectors in (("pixels", crops(TEST)), ("pixels_less_mean", crops(TEST) - crops(DEVELOPMENT).mean(axis=0))):
        expected = scored(vectors, TEST, identity == "side")
        found = metrics(kind, identity=identity)
        assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)
        assert 0.2 < found["mAP"] < 0.95


@pytest.mark.parametrize("channels", [1, 3])
def test_large_images_are_averaged_over_equal_parts(channels: int) -> None:
    side = SIDES[channels]
    images = torch.rand(2, channels, 2 * side, 2 * side, dtype=torch.float64)
    parts = images.numpy().reshape(2, channels, side, 2, side, 2).mean(axis=(3, 5)).reshape(2, -1)
    np.testing.assert_allclose(Values()(images).numpy(), parts, rtol=0, atol=1e-12)
    assert parts.shape[1] <= 64**2, "as many numbers in colour as in grey, or a large set's scores would need 20 GB"


def test_the_untrained_network_is_a_training_before_its_first_step() -> None:
    found = []
    for seed in (3, 4):
        training = Training(CONFIG, DEVELOPMENT, None, seed, CPU)
        found.append(metrics("untrained_network", seed))
        assert found[-1] == training.evaluate(TEST)
        with scoped_torch_seed(seed, "model"):
            network = CONFIG.model.build(CONFIG.augmentation.crop).eval()
        side = CONFIG.augmentation.crop
        images = torch.from_numpy((crops(TEST) - 0.5) / 0.3).float().view(-1, 1, side, side)
        with torch.no_grad():
            by_hand = scored(network(images).double().numpy(), TEST)
        assert {name: found[-1][name] for name in by_hand} == pytest.approx(by_hand, abs=1e-9)
    assert found[0]["mAP"] != found[1]["mAP"]


@pytest.mark.parametrize("kind", REFERENCES.kinds())
def test_every_reference_says_what_it_depends_on(kind: str) -> None:
    reference: Reference = REFERENCES.make({"kind": kind})
    before = torch.get_rng_state()
    base = metrics(kind)
    assert torch.equal(torch.get_rng_state(), before)
    other_method = {"loss": {"kind": "triplet"}, "margins": {"kind": "fixed", "epsilon": 0.5}, "learning_rate": 0.1}
    assert reference.settings(tiny_config(**other_method)) == reference.settings(CONFIG)
    assert metrics(kind, **other_method) == base
    smaller = {"augmentation": {"crop": 20}}
    assert reference.settings(tiny_config(**smaller)) != reference.settings(CONFIG)
    assert (metrics(kind, seed=1) != base) == reference.seeded
    assert reference.label(CONFIG)
    assert reference.about(CONFIG)


def test_a_network_that_starts_from_weights_is_called_pretrained_features() -> None:
    reference = REFERENCES.make({"kind": "untrained_network"})
    names = [reference.label(tiny_config(model={"kind": "resnet18", "weights": w})) for w in ("none", "imagenet")]
    assert names == ["Untrained network", "Pretrained features"]


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


def test_one_that_fails_is_a_failed_record_and_the_next_attempt_lists_it(tiny_bank: Bank, tmp_path: Path) -> None:
    for attempts in (0, 1):
        record = Trial(with_crop(specs(tiny_bank)[0], 99), RunSettings(tmp_path, "cpu")).run()
        assert (record.status, len(record.attempts), record.test_opened_at) == ("failed", attempts, None)
        assert "augmentation.crop = 99" in record.error.message
