"""Concept subspaces (paper 1, SLiCS): which concepts is this vector made of?"""

from pellucid.concepts.certificate import ErasureCertificate
from pellucid.concepts.cones import Cones
from pellucid.concepts.erasure import ConceptErasure
from pellucid.concepts.estimator import ConceptSubspaces
from pellucid.concepts.model_selection import AtomCounts
from pellucid.concepts.predicting import LabelErrors
from pellucid.concepts.stability import Stability
from pellucid.concepts.words import Vocabulary, WordConcept
from pellucid.concepts.zero_shot import zero_shot_labels, zero_shot_scores

__all__ = [
    "AtomCounts",
    "ConceptErasure",
    "ConceptSubspaces",
    "Cones",
    "ErasureCertificate",
    "LabelErrors",
    "Stability",
    "Vocabulary",
    "WordConcept",
    "zero_shot_labels",
    "zero_shot_scores",
]
