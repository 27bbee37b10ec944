"""Clusters that vary each in its own way, beside what all of them share."""

from pellucid.clusters.base import Encoded
from pellucid.clusters.describing import ClusterCard, ClusterDescription, FeatureDifference
from pellucid.clusters.estimator import CommonalityClustering
from pellucid.clusters.model_selection import ClusterCounts
from pellucid.clusters.segmenting import segment

__all__ = [
    "ClusterCard",
    "ClusterCounts",
    "ClusterDescription",
    "CommonalityClustering",
    "Encoded",
    "FeatureDifference",
    "segment",
]
