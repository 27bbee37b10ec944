"""Pictures of what was found. Every function draws into ``ax``, or into a figure of its own, and returns the axes.

A figure of its own is no part of pyplot's state, so drawing is safe in servers and threads; only in a notebook it is
made by pyplot, which shows it under the cell. Save one with ``ax.figure.savefig("picture.png")``.
"""

from pellucid.plots.bars import component_bars, explanation, retrieval
from pellucid.plots.comparisons import differences, drivers, trends
from pellucid.plots.curves import cka_curve, n_atoms_curve, n_clusters_curve, objective, partial_vs_full
from pellucid.plots.graphs import analogram
from pellucid.plots.lists import captions, neighbours, walk
from pellucid.plots.patches import accuracy_by_dimension, atom_neighbours, dictionary, matching_patches
from pellucid.plots.profiles import cluster_profiles
from pellucid.plots.programmes import programmes
from pellucid.plots.structures import structures
from pellucid.plots.surfaces import atoms_as_images, cluster_parts, heatmap, map

__all__ = [
    "accuracy_by_dimension",
    "analogram",
    "atom_neighbours",
    "atoms_as_images",
    "captions",
    "cka_curve",
    "cluster_parts",
    "cluster_profiles",
    "component_bars",
    "dictionary",
    "differences",
    "drivers",
    "explanation",
    "heatmap",
    "map",
    "matching_patches",
    "n_atoms_curve",
    "n_clusters_curve",
    "neighbours",
    "objective",
    "partial_vs_full",
    "programmes",
    "retrieval",
    "structures",
    "trends",
    "walk",
]
