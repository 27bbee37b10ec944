"""Yes/no concepts behind a geometry (paper 2): factors that are truly binary, their weights, and their graph."""

from pellucid.binary.analogram import Analogram, AnalogramView, analogram_of
from pellucid.binary.assignment import IterativeAssignment
from pellucid.binary.autoencoder import BinaryAutoencoder
from pellucid.binary.bit_flips import LocalSearchResult, improve_concepts
from pellucid.binary.combined import CombinedConcepts
from pellucid.binary.comparison import StructureComparison, compare_structure
from pellucid.binary.partial_cubes import partial_cube_concepts
from pellucid.binary.projection import SubConcepts, concept_projection
from pellucid.binary.weights import concept_weights

__all__ = [
    "Analogram",
    "AnalogramView",
    "BinaryAutoencoder",
    "CombinedConcepts",
    "IterativeAssignment",
    "LocalSearchResult",
    "StructureComparison",
    "SubConcepts",
    "analogram_of",
    "compare_structure",
    "concept_projection",
    "concept_weights",
    "improve_concepts",
    "partial_cube_concepts",
]
