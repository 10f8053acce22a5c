"""Retrieval metrics of embeddings against a gallery, all from the ranks of each query's matching images.

Similarities are exact, which is what makes ties visible and the result independent of the gallery's order, of the
block size, of the number of threads, and of TF32 or autocast: see `ranks.ExactVectors`.
"""

from fmim_core.metrics.scores import QueryScores, retrieval, score_queries

__all__ = ["QueryScores", "retrieval", "score_queries"]
