"""Concept subspaces (paper 1, SLiCS): which concepts is this vector made of? Found without labels if there are none."""

from pellucid.concepts.certificate import ErasureCertificate
from pellucid.concepts.comparing import compare
from pellucid.concepts.comparison import Comparison
from pellucid.concepts.cones import Cones
from pellucid.concepts.discovered import FoundConcept
from pellucid.concepts.discovery import ConceptDiscovery
from pellucid.concepts.drivers import Drivers
from pellucid.concepts.erasure import ConceptErasure
from pellucid.concepts.estimator import ConceptSubspaces
from pellucid.concepts.found_names import Names
from pellucid.concepts.held_out import HeldOut
from pellucid.concepts.model_selection import AtomCounts
from pellucid.concepts.predicting import LabelErrors
from pellucid.concepts.stability import Stability
from pellucid.concepts.trends import Trends
from pellucid.concepts.words import Vocabulary, WordConcept
from pellucid.concepts.zero_shot import zero_shot_labels, zero_shot_scores

__all__ = [
    "AtomCounts",
    "Comparison",
    "ConceptDiscovery",
    "ConceptErasure",
    "ConceptSubspaces",
    "Cones",
    "Drivers",
    "ErasureCertificate",
    "FoundConcept",
    "HeldOut",
    "LabelErrors",
    "Names",
    "Stability",
    "Trends",
    "Vocabulary",
    "WordConcept",
    "compare",
    "zero_shot_labels",
    "zero_shot_scores",
]
