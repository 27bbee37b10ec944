"""Representations that the data itself suggests (paper 4): a sparse code, and the map that keeps neighbours close."""

from pellucid.manifold.codes import LassoCode, NearestCode, ThresholdCode
from pellucid.manifold.images import PatchManifoldTransform
from pellucid.manifold.kmeans import SphericalKMeans
from pellucid.manifold.statistics import GraphStatistics, PairStatistics, Statistics
from pellucid.manifold.transform import SparseManifoldTransform
from pellucid.manifold.words import WordManifoldTransform

__all__ = [
    "GraphStatistics",
    "LassoCode",
    "NearestCode",
    "PairStatistics",
    "PatchManifoldTransform",
    "SparseManifoldTransform",
    "SphericalKMeans",
    "Statistics",
    "ThresholdCode",
    "WordManifoldTransform",
]
