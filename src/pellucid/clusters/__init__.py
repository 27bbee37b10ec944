"""Clusters with a dictionary each, and one dictionary for what all of them share."""

from pellucid.clusters.base import Encoded
from pellucid.clusters.estimator import CommonalityClustering
from pellucid.clusters.model_selection import ClusterCounts

__all__ = ["ClusterCounts", "CommonalityClustering", "Encoded"]
