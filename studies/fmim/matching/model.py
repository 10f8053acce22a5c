"""A trained model: it embeds images as its study did, and ranks a gallery of images for each query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from fmim.matching.images import GivenImages, Side, images_at, images_of_array, images_of_files
from fmim.own.study_file import run_code
from fmim.runner.folder.study_folder import Replicate
from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import Progress
from fmim_core.metrics.ranks import ExactVectors
from fmim_core.records import Record
from fmim_core.training.config import TrainConfig
from fmim_core.training.evaluation import CPU_EVALUATION_BATCH, Evaluator
from fmim_core.training.trainer import pick_device
from fmim_core.trial.checkpoint import kept_model

Given = GivenImages | str | Path | Sequence[str | Path] | np.ndarray
"""Images; or the path of a table, data set, folder or image; or the paths of image files; or an array."""

QUERIES_AT_ONCE = 256
KNOWN_OF_CANDIDATES = ("subject", "side", "months")


@dataclass(frozen=True, eq=False)
class Ranking:
    """The candidates of a gallery for each query, in the order of the queries.

    candidates: one row per query and rank, the most similar first: the positions `query` and `candidate`, the `rank`
        from 1, the cosine `similarity` and, if known, `match`: whether both show the same person.
    first_matches: for each query, the rank of its first true match among all candidates, kept or not; None if there is
        none.
    """

    query: GivenImages
    gallery: GivenImages
    candidates: pd.DataFrame
    first_matches: Sequence[int | None]

    @property
    def known(self) -> bool:
        """Return whether true matches are known."""
        return "match" in self.candidates

    def table(self) -> pd.DataFrame:
        """Return one row per query and rank: query, rank, candidate, facts about the candidate, similarity, match.

        `query` and `candidate` are image names, `similarity` is a cosine in [−1, 1]. `match` says whether both
        show the same person; it is there only if subjects are known.
        """
        found, about = self.candidates, self.gallery.about.iloc[self.candidates["candidate"]]
        columns = {
            "query": self.query.about["image"].to_numpy()[found["query"]],
            "rank": found["rank"],
            "candidate": about["image"].to_numpy(),
            **{name: about[name].to_numpy() for name in KNOWN_OF_CANDIDATES if name in about},
            "similarity": found["similarity"],
        }
        return pd.DataFrame(columns | ({"match": found["match"]} if self.known else {}))


@dataclass(frozen=True, eq=False)
class EmbeddingModel:
    """The model of one replicate, on the device that it was loaded to.

    replicate: the replicate, with its study and its record.
    evaluator: the evaluator that its trial used.
    """

    replicate: Replicate
    evaluator: Evaluator

    @property
    def arm(self) -> str:
        """Return the name of its arm."""
        return self.record.arm

    @property
    def seed(self) -> int:
        """Return the number of its fresh seed."""
        return self.record.replicate

    @property
    def record(self) -> Record:
        """Return the record of its training."""
        return self.replicate.record

    @property
    def config(self) -> TrainConfig:
        """Return its training's configuration."""
        return self.evaluator.config

    @property
    def image_size(self) -> int:
        """Return the side of the study's images in pixels; their centre is cropped to `augmentation.crop`."""
        return self.replicate.study.data.image_size

    @property
    def module(self) -> nn.Module:
        """Return the network: images `(B, C, crop, crop)`, normalised → embeddings `(B, D)`, not yet of length 1.

        For a fold ensemble it is an `nn.ModuleList` of such networks, one per fold.
        """
        return self.evaluator.model

    def images(self, place: str | Path, data_root: Path | None = None, side: Side = "") -> GivenImages:
        """Return the images of a table, a named data set, a folder or a file, to choose from: `.gallery`, `.queries`,
        `.of_split("test")`; raises as `embed`.

        Args:
            data_root: the folder of the table or data set.
            side: the side of images without a table; R is mirrored.
        """
        return images_at(str(place), self.replicate.study, data_root, side)

    def embed(self, images: Given, side: Side = "", progress: Progress | None = None) -> np.ndarray:
        """Return embeddings of length 1: float32 `(N, D)`, or float64 `(N, k D)` for a fold ensemble of k models.

        Images are prepared like the study's own: read and scaled as in its bank, right sides mirrored, the centre
        cropped, normalised. On a CPU the embeddings of the test images equal the trial's to the bit, and they do not
        depend on the number of images.

        An ensemble searches by the mean of its members' squared distances. This embedding has exactly these distances:
        it is (a_1, …, a_k)/√k of the members' unit embeddings a_i, and its cosines are the means of theirs.

        Args:
            images: the path of a table, folder or image, or the name of a data set; a sequence of image files; or an
                array, uint8 `(N, H, W)` or `(N, H, W, 3)` of any size. All are converted to the study's grey or colour.
            side: the side of images without a table: L, or R, which is mirrored.

        Raises:
            ValueError: something is missing, a table cannot be used, or images cannot be read; says how many,
                and names the first.
        """
        given = self._given(images, side)
        fewest = CPU_EVALUATION_BATCH if len(given) < CPU_EVALUATION_BATCH else 0
        blocks = given.blocks(self.image_size, progress)
        parts = [self.evaluator.embed(_as_set(block, fewest))[: len(block)].cpu().numpy() for block in blocks]
        return np.concatenate(parts)

    def rank(self, query: Given, gallery: Given, top: int | None = None) -> pd.DataFrame:
        """Return the gallery's images for each query, the most similar first; the columns are those of `Ranking.table`.

        Similarity is the cosine of two embeddings, 1 − d²/2 with distance d: it ranks, and is not a probability. Ties
        are those of `rank_gallery`. All images of both are used: choose a report's queries and gallery from a table by
        `images(…).queries` and `images(…).gallery`.

        Args:
            top: number of candidates for each query; None for all.

        Raises:
            ValueError: as `embed`, or `top` is below 1.
        """
        return self.ranking(self._given(query), self._given(gallery), top).table()

    def ranking(
        self, query: GivenImages, gallery: GivenImages, top: int | None = None, progress: Progress | None = None
    ) -> Ranking:
        """Rank as `rank` does, and return the images that were found, too."""
        if top is not None and top < 1:
            raise ValueError(f"top = {top} is too small: give at least 1, or None for all")
        embeddings = (self.embed(query, progress=progress), self.embed(gallery, progress=progress))
        return rank_gallery(query, gallery, embeddings, self.config.identity == "side", top)

    def _given(self, images: Given, side: Side = "") -> GivenImages:
        if isinstance(images, GivenImages):
            return images
        if isinstance(images, np.ndarray):
            return images_of_array(images, self.replicate.study.data.channels, side)
        if isinstance(images, str | Path):
            return self.images(images, side=side)
        return images_of_files(images, self.replicate.study.data.channels, side)


def load_replicate(replicate: Replicate, device: str) -> EmbeddingModel:
    """Return the trained model of a replicate; see `fmim.load_model`.

    Raises:
        ValueError: its weights are missing or do not belong to it, or there is no such device.
    """
    if replicate.study.code is not None:
        run_code(replicate.study.code, replicate.out / "code")
    evaluator = kept_model(replicate.out, replicate.record, _device(device))
    return EmbeddingModel(replicate, evaluator)


def _device(name: str) -> torch.device:
    try:
        device = pick_device(name)
    except RuntimeError as error:
        raise ValueError(f"device {name!r} is unknown: give auto, cpu, cuda or cuda:1") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {name!r}: torch finds no GPU here; give cpu")
    return device


def _as_set(images: np.ndarray, fewest: int) -> ImageSet:
    """Return a set of the images, repeated up to `fewest`.

    A CPU multiplies a few rows differently from many, so the last bits of an embedding would depend on their number.
    """
    rows = np.resize(np.arange(len(images)), max(len(images), fewest))
    nobody = np.full(len(rows), "")
    return ImageSet(images, rows, subjects=nobody, sides=nobody, months=np.full(len(rows), np.nan), roles=nobody)


def rank_gallery(
    query: GivenImages, gallery: GivenImages, embeddings: tuple[np.ndarray, np.ndarray], per_side: bool, top: int | None
) -> Ranking:
    """Return the most similar images of the gallery for each query, by the embeddings `(Q, D)` and `(G, D)` of both.

    Similarities have no rounding error, as in `metrics.retrieval`, and ties count against the embedding here as there:
    of equally similar images the true matches stand last, and otherwise the gallery's order decides. So the first true
    match has the rank that the same queries and gallery give it in a report. No image is a candidate for itself.

    Args:
        per_side: whether the other side of a person is somebody else.
        top: how many candidates to keep of each query; None for all.
    """
    double = any(part.dtype == np.float64 for part in embeddings)
    queries, images = (ExactVectors.of(torch.from_numpy(part), double) for part in embeddings)
    known = query.known and gallery.known
    people = [part.identities(per_side) if known else np.array([]) for part in (query, gallery)]
    own: dict[str, list[int]] = defaultdict(list)
    for position, place in enumerate(gallery.places):
        own[place].append(position)
    found: dict[str, list[np.ndarray]] = defaultdict(list)
    first_matches: list[int | None] = []
    for start in range(0, len(query), QUERIES_AT_ONCE):
        similar = queries[start : start + QUERIES_AT_ONCE].similarity(images).numpy()
        for number, similarity in enumerate(similar, start):
            match = people[1] == people[0][number] if known else np.zeros(len(similarity), dtype=bool)
            order = np.lexsort((match, -similarity))  # by similarity; of equals those that match after the others
            order = order[~np.isin(order, own.get(query.places.iloc[number], []))]
            true = np.flatnonzero(match[order])
            first_matches.append(int(true[0]) + 1 if len(true) else None)
            kept = order[:top]
            columns = {"query": np.full(len(kept), number), "rank": np.arange(1, len(kept) + 1), "candidate": kept}
            columns |= {"similarity": similarity[kept]} | ({"match": match[kept]} if known else {})
            for name, values in columns.items():
                found[name].append(values)
    candidates = pd.DataFrame({name: np.concatenate(values) for name, values in found.items()})
    return Ranking(query, gallery, candidates, first_matches)
