"""The losses of pytorch-metric-learning by name, with its miners, distances and reducers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from fmim_core.library import Library, LibraryClass, parameters
from fmim_core.losses.base import LOSSES, LibraryLoss, Loss, LossModule

_BASE = "it is the base of others"
_WRAPS = "it is made of others"
_OBJECTS = dict.fromkeys(
    (
        "aggregation_func",
        "collect_stats",
        "embedding_reg_weight",
        "embedding_regularizer",
        "is_inverted",
        "mat_based_loss",
        "reducer",
        "weight_init_func",
        "weight_reg_weight",
        "weight_regularizer",
    ),
    "numbers and words alone can be",
)
_OF_TRAINING = dict.fromkeys(("num_classes", "embedding_size", "descriptors_dim"), "the training knows it")


class Distance(LibraryClass):
    """A distance or similarity of pytorch-metric-learning, e.g. `LpDistance` with p = 1."""

    library: ClassVar = Library(
        "distance of pytorch-metric-learning",
        "pytorch_metric_learning.distances",
        "BaseDistance",
        {"BaseDistance": _BASE, "BatchedDistance": _WRAPS},
        _OBJECTS,
    )


class Reducer(LibraryClass):
    """What pytorch-metric-learning makes of the loss of each element, pair or triplet: one number."""

    library: ClassVar = Library(
        "reducer of pytorch-metric-learning",
        "pytorch_metric_learning.reducers",
        "BaseReducer",
        {
            "BaseReducer": _BASE,
            "ClassWeightedReducer": "it needs a weight of each class, and each fold has other classes",
            "DoNothingReducer": "it returns no number",
            "MultipleReducers": _WRAPS,
        },
        _OBJECTS,
    )


class Miner(LibraryClass):
    """A miner of pytorch-metric-learning: it says which pairs or triplets of a batch count.

    Args:
        distance: by which it chooses; the miner's own default if nothing is said, whatever the loss has.
    """

    library: ClassVar = Library(
        "miner of pytorch-metric-learning",
        "pytorch_metric_learning.miners",
        "BaseMiner",
        {"BaseMiner": _BASE, "EmbeddingsAlreadyPackagedAsTriplets": "batches here are no triplets"},
        _OBJECTS | {"distance": "it is a field of its own beside params"},
    )
    distance: Distance | None = None

    def make(self, **given: Any) -> Any:
        """Return the miner."""
        return super().make(**given, **_made(distance=self.distance))


@LOSSES.register
class PML(LibraryClass, Loss):
    """Any loss of pytorch-metric-learning that takes embeddings and labels, by the library's own names.

    Embeddings have length 1. The number of classes and the size of embeddings are given to losses that need them;
    their weights, float32, are trained with the network.

    Args:
        name: of the loss, e.g. `MultiSimilarityLoss`.
        params: its parameters, e.g. {"alpha": 2, "beta": 50}; the library's defaults for all others.
        miner: chooses the pairs or triplets of each batch that count; all do without one.
        distance, reducer: instead of the loss's own.

    Raises:
        ValueError: a name or a parameter that the installed version does not have, with those that it has.
    """

    library: ClassVar = Library(
        "loss of pytorch-metric-learning",
        "pytorch_metric_learning.losses",
        "BaseMetricLossFunction",
        dict.fromkeys(("BaseMetricLossFunction", "GenericPairLoss", "BaseLossWrapper"), _BASE)
        | dict.fromkeys(("EmbeddingRegularizerMixin", "WeightRegularizerMixin"), _BASE)
        | dict.fromkeys(("CrossBatchMemory", "MultipleLosses", "SelfSupervisedLoss"), _WRAPS)
        | dict.fromkeys(("ManifoldLoss", "VICRegLoss"), "it takes no labels"),
        _OBJECTS | _OF_TRAINING | dict.fromkeys(("distance", "reducer"), "it is a field of its own beside params"),
    )
    kind: Literal["pml"] = "pml"
    miner: Miner | None = None
    distance: Distance | None = None
    reducer: Reducer | None = None
    uses_margins = False
    waits_for_device = True

    @classmethod
    def called(cls, fields: Mapping[str, Any]) -> str:
        """Return the library's name of the loss."""
        return str(fields.get("name", cls.__name__))

    def build(self, embedding_dim: int, classes: int) -> LossModule:
        sizes = {"num_classes": classes, "embedding_size": embedding_dim, "descriptors_dim": embedding_dim}
        takes = parameters(self.library.find(self.name)).values()
        required = {one.name for one in takes if one.default is one.empty}
        needed = {name: size for name, size in sizes.items() if name in required}
        loss = self.make(**needed, **_made(distance=self.distance, reducer=self.reducer))
        return LibraryLoss(loss, None if self.miner is None else self.miner.make())


def _made(**parts: LibraryClass | None) -> dict[str, Any]:
    """Return objects of the parts that there are."""
    return {name: part.make() for name, part in parts.items() if part is not None}
