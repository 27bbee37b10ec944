"""Clusters with a dictionary each, and one dictionary for what all of them share."""

from pellucid.clusters.estimator import CommonalityClustering, Encoded

__all__ = ["CommonalityClustering", "Encoded"]
