"""Clusters with a dictionary each, and one dictionary for what all of them share."""

from pellucid.clusters.estimator import CommonalityClustering, Encoded
from pellucid.clusters.shares import part_shares
from pellucid.clusters.sizes import ClusterCounts

__all__ = ["ClusterCounts", "CommonalityClustering", "Encoded", "part_shares"]
