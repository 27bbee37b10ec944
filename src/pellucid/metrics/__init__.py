"""Every figure the papers report."""

from pellucid.metrics.geometry import cka, isometry_loss
from pellucid.metrics.matching import Recovery, binary_recovery, clustering_error, matched_labels
from pellucid.metrics.neighbours import cosine_neighbours, neighbour_vote, soft_knn_accuracy
from pellucid.metrics.retrieval import Retrieval, average_precision, concept_retrieval, mean_average_precision, top_k

__all__ = [
    "Recovery",
    "Retrieval",
    "average_precision",
    "binary_recovery",
    "cka",
    "clustering_error",
    "concept_retrieval",
    "cosine_neighbours",
    "isometry_loss",
    "matched_labels",
    "mean_average_precision",
    "neighbour_vote",
    "soft_knn_accuracy",
    "top_k",
]
