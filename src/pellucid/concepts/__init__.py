"""Concept subspaces (paper 1, SLiCS): which concepts is this vector made of?"""

from pellucid.concepts.estimator import ConceptSubspaces

__all__ = ["ConceptSubspaces"]
