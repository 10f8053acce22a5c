"""The finds of a replicate for each test query, as the columns of the file beside its record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fmim_core.data.image_set import ImageSet
from fmim_core.data.source import ABOUT_COLUMNS
from fmim_core.metric_names import METRICS
from fmim_core.metrics import QueryScores


def query_columns(images: ImageSet, about: pd.DataFrame, scores: QueryScores) -> dict[str, Any]:
    """Return an array `(Q,)` for each column of `records.QUERY_COLUMNS` that the data set has.

    Args:
        images: the set whose queries were scored, in the order of its `query_mask`, against its gallery.
        about: all that is known of the same images, in the same order.
        scores: what was found, the image at rank 1 included.
    """
    assert scores.first_found is not None
    queries, gallery_rows = images.query_mask, images.rows[images.gallery_mask]
    asked, times = about[queries], images.times[queries]
    found = scores.matches > 0
    return {
        "query": asked["image"].to_numpy(),
        "subject": images.subjects[queries],
        "side": images.sides[queries],
        "months": images.months[queries],
        images.interval.unit: np.where(times < 0, np.nan, times),
        "matches": scores.matches,
        "rank": np.where(found, scores.first_rank, np.nan),
        **{metric.of_query: scores.values[metric.name] for metric in METRICS.values()},
        "chance_ap": scores.values["chance_mAP"],
        "query_row": images.rows[queries],
        "truth_row": np.where(found, gallery_rows[scores.nearest_match], np.nan),
        "top_row": np.where(found, gallery_rows[scores.first_found], np.nan),
        **{name: asked[name].to_numpy() for name in ABOUT_COLUMNS if name in asked},
    }
