"""The input of metrics: embeddings and labels, checked, whatever form they come in."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def checked_embeddings(values: Any, side: str, device: torch.device) -> Tensor:
    vectors = values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.array(values))
    if vectors.ndim != 2 or vectors.shape[1] == 0 or not vectors.is_floating_point():
        raise ValueError(
            f"{side}: embeddings must be floating-point numbers of shape (images, dimensions), "
            f"got {vectors.dtype} of shape {tuple(vectors.shape)}"
        )
    for kind, bad in (("NaN", vectors.isnan()), ("inf", vectors.isinf())):
        if rows := int(bad.any(dim=1).sum()):
            raise ValueError(
                f"{kind} in embeddings: {rows} of {len(vectors)} {side} rows; "
                "the model has diverged or its input is not finite: score an earlier checkpoint, or check the images"
            )
    return vectors.to(device)


def checked_labels(values: Any, name: str, count: int, strings: bool = True) -> NDArray[Any]:
    """Return one label an embedding `(count,)`, as int64 or as strings."""
    labels = values.cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if labels.shape != (count,):
        raise ValueError(f"{name}: expected one for each of {count} embeddings, got shape {labels.shape}")
    if strings and (labels.dtype.kind in "UT" or _all(labels, str)):
        return labels.astype(str)
    whole = labels.dtype.kind in "iu" or _all(labels, Integral)
    if not whole and labels.dtype.kind == "f":
        whole = bool((np.abs(labels) < 2**53).all() and (labels == np.rint(labels)).all())
    if not whole:
        allowed = "whole numbers, or all strings" if strings else "whole numbers"
        raise ValueError(f"{name}: expected {allowed}, got {labels[:3].tolist()} ...; is a value missing?")
    return labels.astype(np.int64)


def _all(labels: NDArray[Any], kind: type) -> bool:
    return labels.dtype == object and len(labels) > 0 and all(isinstance(label, kind) for label in labels)
