"""The losses of pytorch-metric-learning by name, with its miners, distances and reducers."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter
from typing import Any, ClassVar, Literal

from fmim_core.library import Library, LibraryClass, parameters
from fmim_core.losses.base import LOSSES, LibraryLoss, Loss, LossModule

_GIVEN = {
    **dict.fromkeys(("num_classes", "embedding_size", "descriptors_dim"), "the training sets it"),
    **dict.fromkeys(("distance", "reducer"), "it is a separate field, outside of params"),
    **dict.fromkeys(("embedding_reg_weight", "weight_reg_weight"), "regularizers are not supported"),
    **dict.fromkeys(("embedding_regularizer", "weight_regularizer"), "regularizers are not supported"),
    **dict.fromkeys(("aggregation_func", "weight_init_func"), "a settings file cannot hold a function"),
    **dict.fromkeys(("collect_stats", "is_inverted", "mat_based_loss"), "the library sets it"),
}
_BASE = "it is only a base class"
_WRAPS = "it combines others"
_WORDS = {"type_of_triplets": ("all", "easy", "semihard", "hard")}


def _library(noun: str, part: str, base: str, **left_out: str) -> Library:
    what, module = f"pytorch-metric-learning {noun}", f"pytorch_metric_learning.{part}"
    return Library(what, module, base, left_out, _GIVEN, _WORDS)


class Distance(LibraryClass):
    """A distance or similarity of pytorch-metric-learning, e.g. `LpDistance` with p = 1."""

    library: ClassVar = _library(
        "distance", "distances", "BaseDistance", BaseDistance=_BASE, BatchedDistance="it only wraps another distance"
    )


class Reducer(LibraryClass):
    """A reducer of pytorch-metric-learning: it turns the losses of all elements, pairs or triplets into one number."""

    library: ClassVar = _library(
        "reducer",
        "reducers",
        "BaseReducer",
        BaseReducer=_BASE,
        ClassWeightedReducer="it needs a weight for each class, but folds have different classes",
        DoNothingReducer="it does not return one number",
        MultipleReducers=_WRAPS,
    )


class Miner(LibraryClass):
    """A miner of pytorch-metric-learning: it chooses which pairs or triplets of a batch count.

    Args:
        distance: the distance by which it chooses; by default the miner's own, not the loss's.
    """

    library: ClassVar = _library(
        "miner", "miners", "BaseMiner", BaseMiner=_BASE, EmbeddingsAlreadyPackagedAsTriplets="batches are not triplets"
    )
    distance: Distance | None = None

    def make(self, **given: Any) -> Any:
        """Return the miner."""
        return super().make(**given, **_made(distance=self.distance))


@LOSSES.register
class PML(LibraryClass, Loss):
    """Any loss of pytorch-metric-learning that takes embeddings and labels, by the library's own names.

    Embeddings have length 1. Losses that need the number of classes or the size of embeddings receive them; their
    weights, float32, are trained with the network.

    Args:
        name: the loss's name, e.g. `MultiSimilarityLoss`.
        params: its parameters, e.g. {"alpha": 2, "beta": 50}; others have the library's defaults.
        miner: chooses which pairs or triplets of each batch count; by default all.
        distance, reducer: replacements for the loss's own.

    Raises:
        ValueError: the installed version has no such name or parameter; the message lists those it has.
    """

    library: ClassVar = _library(
        "loss",
        "losses",
        "BaseMetricLossFunction",
        **dict.fromkeys(("BaseMetricLossFunction", "GenericPairLoss", "BaseLossWrapper"), _BASE),
        **dict.fromkeys(("EmbeddingRegularizerMixin", "WeightRegularizerMixin"), _BASE),
        **dict.fromkeys(("CrossBatchMemory", "MultipleLosses", "SelfSupervisedLoss"), _WRAPS),
        **dict.fromkeys(("ManifoldLoss", "VICRegLoss"), "it takes no labels"),
    )
    kind: Literal["pml"] = "pml"
    miner: Miner | None = None
    distance: Distance | None = None
    reducer: Reducer | None = None
    uses_margins = False
    waits_for_device = True

    @classmethod
    def called(cls, settings: Mapping[str, Any]) -> str:
        """Return the library's name of the loss, and of its miner if it has one."""
        name, miner = settings.get("loss.name", cls.__name__), settings.get("loss.miner.name")
        return f"{name} with {miner}" if miner else str(name)

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        sizes = {"num_classes": classes, "embedding_size": embedding_dim, "descriptors_dim": embedding_dim}
        takes = parameters(self.library.find(self.name))
        needed = {
            name: size for name, size in sizes.items() if name in takes and takes[name].default is Parameter.empty
        }
        loss = self.make(**needed, **_made(distance=self.distance, reducer=self.reducer))
        return LibraryLoss(loss, None if self.miner is None else self.miner.make())


def _made(**parts: LibraryClass | None) -> dict[str, Any]:
    """Return objects of the parts that there are."""
    return {name: part.make() for name, part in parts.items() if part is not None}
