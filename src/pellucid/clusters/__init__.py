"""Clusters with a dictionary each, and one dictionary for what all of them share."""

from pellucid.clusters.estimator import CommonalityClustering, Encoded
from pellucid.clusters.model_selection import ClusterCounts
from pellucid.clusters.shares import part_shares

__all__ = ["ClusterCounts", "CommonalityClustering", "Encoded", "part_shares"]
