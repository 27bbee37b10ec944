"""Yes/no concepts behind a geometry (paper 2): factors that are truly binary, their weights, and their graph."""

from pellucid.binary.autoencoder import BinaryAutoencoder
from pellucid.binary.weights import concept_weights

__all__ = ["BinaryAutoencoder", "concept_weights"]
