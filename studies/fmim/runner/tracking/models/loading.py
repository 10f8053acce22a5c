"""A winner's model as MLflow loads it, by this module's name, which the model has; nothing is unpickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from fmim.matching.model import EmbeddingModel


@dataclass(frozen=True)
class Embedder:
    """Grey images, uint8 `(N, H, W)` of any size → embeddings of length 1 `(N, D)`, as those of `fmim.load_model`."""

    model: EmbeddingModel

    def predict(self, model_input: np.ndarray, params: Mapping[str, Any] | None = None) -> np.ndarray:
        """Return the embeddings of images; there are no `params`."""
        return self.model.embed(model_input)


def _load_pyfunc(data_path: str, model_config: Mapping[str, Any]) -> Embedder:
    """Return the model from the part of a study's folder that lies in it, as `model_config` says."""
    import fmim

    return Embedder(fmim.load_model(Path(data_path), **model_config))
