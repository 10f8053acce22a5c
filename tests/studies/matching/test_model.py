"""A trained model embeds as its trial did, whatever form the images come in, and ranks: order, ties, candidates."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from fmim import load_model
from fmim.matching.images import GivenImages
from fmim.matching.model import EmbeddingModel, Ranking, rank_gallery
from fmim_core.data.bank.bank import Bank
from fmim_core.metrics import score_queries
from fmim_core.records import read_queries
from fmim_core.training.evaluation import Evaluator
from fmim_core.trial.checkpoint import checkpoint_path, write_checkpoint
from tests.oracles import ensembles as oracle
from tests.support.mini_study import ARM

CPU = torch.device("cpu")
NAMES = ("single", "ensemble")


@pytest.fixture(params=NAMES)
def model(request: pytest.FixtureRequest) -> EmbeddingModel:
    return load_model(request.getfixturevalue(request.param), ARM, device="cpu")


def pixels(bank: Bank) -> np.ndarray:
    """The test images as the bank has them."""
    test = bank.open_test()
    return np.array(test.images[test.rows])


def evaluators(model: EmbeddingModel, out: Path) -> list[Evaluator]:
    """The networks of a checkpoint, loaded by hand."""
    saved = torch.load(checkpoint_path(out, model.record.trial))["model"]
    members, found = len(model.record.members), []
    for number in range(members or 1):
        network = model.config.model.build(24).to(memory_format=torch.channels_last)
        start = f"{number}." if members else ""
        network.load_state_dict({k.removeprefix(start): v for k, v in saved.items() if k.startswith(start)})
        found.append(Evaluator(model.config, network, CPU))
    return found


def test_what_is_known_of_a_model(single: Path) -> None:
    model = load_model(str(single), ARM, seed=1, device="cpu")
    assert (model.arm, model.seed, model.image_size, model.config.augmentation.crop) == (ARM, 1, 28, 24)
    assert model.record.trial == f"{ARM}.c00.seed1"
    assert model.module(torch.zeros(2, 1, 24, 24)).shape == (2, 16)
    assert not np.array_equal(model.embed("phantom"), load_model(single, ARM, device="cpu").embed("phantom"))


def test_one_models_embeddings_are_those_of_the_evaluation_to_the_bit(single: Path, tiny_bank: Bank) -> None:
    model = load_model(single, ARM, device="cpu")
    expected = evaluators(model, single)[0].embed(tiny_bank.open_test()).numpy()
    found = model.embed(model.images("phantom").of_split("test"))
    assert (found.dtype, found.shape) == (np.float32, (32, 16))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_an_ensembles_squared_distances_are_the_mean_of_its_members(ensemble: Path, tiny_bank: Bank) -> None:
    model = load_model(ensemble, ARM, device="cpu")
    members = [one.embed(tiny_bank.open_test()).tolist() for one in evaluators(model, ensemble)]
    found = model.embed(model.images("phantom").of_split("test"))
    assert (found.dtype, found.shape) == (np.float64, (32, 32))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=0, atol=1e-12)
    distances = ((found[:, None] - found[None]) ** 2).sum(axis=2)
    expected = oracle.mean_distances([(member, member) for member in members])
    np.testing.assert_allclose(distances, expected, rtol=0, atol=1e-9)


def test_its_embeddings_score_exactly_what_the_record_says(model: EmbeddingModel, tiny_bank: Bank) -> None:
    found, test = model.embed(model.images("phantom").of_split("test")), tiny_bank.open_test()
    query, gallery, people = test.query_mask, test.gallery_mask, test.identities()
    sets = (found[query], found[gallery], people[query], people[gallery])
    assert score_queries(*sets, query_years=test.times[query]).means() == model.record.metrics.test


def test_first_matches_have_the_ranks_of_the_reports_queries(model: EmbeddingModel) -> None:
    images = model.images("phantom").of_split("test")
    ranked = model.rank(images.queries, images.gallery)
    first = ranked[ranked["match"]].groupby("query")["rank"].min()
    record = model.record
    path = record.path(model.replicate.out).with_name(f"{record.trial}.queries.parquet")
    expected = read_queries(path, str(record.queries_sha256)).set_index("query")["rank"]
    assert len(first) == 20
    assert first.to_dict() == expected.to_dict()
    assert list(ranked) == ["query", "rank", "candidate", "subject", "side", "months", "similarity", "match"]
    top = model.rank(images.queries, images.gallery, top=3)
    pd.testing.assert_frame_equal(top, ranked[ranked["rank"] <= 3].reset_index(drop=True))


@pytest.mark.parametrize("count", [1, 2, 9])
def test_few_images_are_embedded_as_among_many(single: Path, tiny_bank: Bank, count: int) -> None:
    model, images = load_model(single, ARM, device="cpu"), pixels(tiny_bank)
    np.testing.assert_array_equal(model.embed(images[5 : 5 + count]), model.embed(images)[5 : 5 + count])


def test_more_images_than_a_block_keep_their_order(single: Path, tiny_bank: Bank) -> None:
    model, images, done = load_model(single, ARM, device="cpu"), pixels(tiny_bank), []
    found = model.embed(np.tile(images, (9, 1, 1)), progress=lambda *counts: done.append(counts))
    np.testing.assert_array_equal(found, np.tile(model.embed(images), (9, 1)))
    assert done == [(256, 288), (288, 288)]


def test_files_tables_folders_and_arrays_are_read_alike(single: Path, tmp_path: Path) -> None:
    """Larger than the bank's images and not square, so that they are scaled and padded; right sides are mirrored."""
    model = load_model(single, ARM, device="cpu")
    images = np.random.default_rng(0).integers(0, 256, (3, 50, 40), dtype=np.uint8)
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for path, image in zip(paths, images, strict=True):
        Image.fromarray(image).save(path)
    expected = model.embed(images)
    np.testing.assert_array_equal(model.embed(paths), expected)
    np.testing.assert_array_equal(model.embed(tmp_path), expected)
    np.testing.assert_array_equal(model.embed(paths[1]), expected[1:2])
    mirrored = model.embed(images[:, :, ::-1])
    assert not np.array_equal(mirrored, expected)
    np.testing.assert_array_equal(model.embed(images, side="R"), mirrored)
    np.testing.assert_array_equal(model.embed(paths, side="R"), mirrored)
    table = tmp_path / "table.csv"
    table.write_text("image,subject,months,side\n0.png,a,0,L\n1.png,a,0,R\n2.png,b,,\n", encoding="utf-8")
    np.testing.assert_array_equal(model.embed(table), [expected[0], mirrored[1], expected[2]])


def broken(change: Callable[[dict], dict]) -> Callable[[Path], None]:
    """Saves a checkpoint with another content."""
    return lambda path: write_checkpoint(path, change(torch.load(path)))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, "the weights of .* are missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:1000]), "is damaged: its SHA-256 differs"),
        (broken(lambda content: content | {"format": 1}), "does not hold the weights of a finished training"),
        (broken(lambda content: content | {"complete": False}), "does not hold the weights of a finished training"),
        (broken(lambda content: content | {"fingerprint": "0"}), "holds the weights of another trial"),
        (broken(lambda content: content | {"model": {}}), "does not fit the network SmallConvNet"),
    ],
)
def test_weights_that_are_not_its_own_are_refused(
    single: Path, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    out = Path(shutil.copytree(single, tmp_path / "copy"))
    damage(checkpoint_path(out, f"{ARM}.c00.seed0"))
    with pytest.raises(ValueError, match=message):
        load_model(out, ARM, device="cpu")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"arm": "adatriplet_autmargin"}, "its arms are .*, triplet_grid. Did you mean 'adatriplet_automargin'"),
        ({"seed": 2}, "no completed replicate with seed 2; seeds with a model: 0, 1"),
        ({"arm": "triplet_grid"}, "no completed replicate with seed 0; seeds with a model: none yet"),
        ({"out": "."}, r"is not a study's folder: it has no study\.json"),
        ({"device": "nothing"}, "device"),
        ({"device": "cuda:99"}, "device"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(single: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_model(**{"out": single, "arm": ARM} | given)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 28, 28)), "must be uint8 of shape"),
        (np.zeros((28, 28), np.uint8), "must be uint8 of shape"),
        (np.zeros((2, 2, 2), np.uint8), "too small"),
        (np.zeros((0, 28, 28), np.uint8), "there are no images"),
        ([], "there are no images"),
        (["nothing.png", "neither.png"], "no image file nothing.png and 1 more"),
        ("nothing.csv", "no such file: nothing.csv"),
    ],
)
def test_images_that_cannot_be_used_are_refused(single: Path, images: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_model(single, ARM, device="cpu").embed(images)


def test_all_unreadable_images_are_told_at_once(single: Path, tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"{number}.png").write_bytes(b"no picture")
    Image.new("L", (30, 30)).save(tmp_path / "good.png")
    with pytest.raises(ValueError, match=r"images that cannot be read \(2\): .*0\.png: not an image.*1\.png"):
        load_model(single, ARM, device="cpu").embed(tmp_path)


# --- ranking, by given embeddings


def letters(names: str, subjects: str = "", places: str = "", sides: str = "") -> GivenImages:
    """An image a letter; nothing is read of it."""
    about = pd.DataFrame({"image": list(names)})
    if subjects:
        about = about.assign(subject=list(subjects), side=list(sides) or "", months=0.0)
    return GivenImages("letters", about, lambda row, size: np.zeros((size, size)), pd.Series(list(places or names)), 1)


def at(*degrees: float) -> np.ndarray:
    """Unit vectors in a plane."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def order(ranking: Ranking) -> list[str]:
    """The candidates of each query, by their names."""
    return ["".join(part["candidate"]) for _, part in ranking.table().groupby("query", sort=False)]


def test_candidates_fall_in_similarity() -> None:
    found = rank_gallery(letters("qp"), letters("abcd"), (at(0, 90), at(80, -10, 180, 45)), per_side=False, top=None)
    assert order(found) == ["bdac", "adcb"]
    table = found.table()
    assert list(table) == ["query", "rank", "candidate", "similarity"]
    assert table["rank"].tolist() == [1, 2, 3, 4] * 2
    np.testing.assert_allclose(table["similarity"][:4], np.cos(np.radians([10, 45, 80, 180])), atol=1e-7)
    assert not found.known
    assert found.first_matches == [None, None]


def test_of_equally_similar_images_the_matches_stand_last_and_the_others_in_their_order() -> None:
    embeddings = (at(0), at(0, 0, 30, 0, 0, -5))
    known = rank_gallery(letters("q", "x"), letters("abcdef", "xyxzxy"), embeddings, per_side=False, top=None)
    assert order(known) == ["bdaefc"]
    assert known.first_matches == [3]
    scores = score_queries(*embeddings, ["x"], list("xyxzxy"))
    assert scores.first_rank.tolist() == [3]
    unknown = rank_gallery(letters("q"), letters("abcdef", "xyxzxy"), embeddings, per_side=False, top=None)
    assert order(unknown) == ["abdefc"]
    assert "match" not in unknown.table()


def test_the_first_match_is_known_beyond_what_is_shown() -> None:
    found = rank_gallery(letters("q", "x"), letters("abc", "yzx"), (at(0), at(1, 2, 3)), per_side=False, top=2)
    assert order(found) == ["ab"]
    assert found.table()["match"].tolist() == [False, False]
    assert found.first_matches == [3]


def test_the_other_side_is_somebody_else_where_sides_are_identities() -> None:
    embeddings, query = (at(0), at(1, 2)), letters("q", "x", sides="L")
    gallery = letters("ab", "xx", sides="RL")
    matches = {
        side: rank_gallery(query, gallery, embeddings, side, None).table()["match"].tolist() for side in (False, True)
    }
    assert matches == {False: [True, True], True: [False, True]}


def test_no_image_is_a_candidate_for_itself() -> None:
    found = rank_gallery(letters("qp", places="ux"), letters("abc", places="uvw"), (at(0, 0), at(0, 1, 2)), False, None)
    assert order(found) == ["bc", "abc"]
    assert found.table()["rank"].tolist() == [1, 2, 1, 2, 3]
