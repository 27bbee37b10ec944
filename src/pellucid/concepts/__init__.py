"""Concept subspaces (paper 1, SLiCS): which concepts is this vector made of? Found without labels if there are none."""

from typing import TYPE_CHECKING

from pellucid._core.lazy import lazily

if TYPE_CHECKING:
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
    from pellucid.concepts.found_programmes import GeneProgrammes
    from pellucid.concepts.held_out import HeldOut
    from pellucid.concepts.model_selection import AtomCounts
    from pellucid.concepts.predicting import LabelErrors
    from pellucid.concepts.programmes import gene_programmes
    from pellucid.concepts.stability import Stability
    from pellucid.concepts.trends import Trends
    from pellucid.concepts.words import Vocabulary, WordConcept
    from pellucid.concepts.zero_shot import zero_shot_labels, zero_shot_scores

_HOMES = {
    "AtomCounts": "model_selection",
    "Comparison": "comparison",
    "ConceptDiscovery": "discovery",
    "ConceptErasure": "erasure",
    "ConceptSubspaces": "estimator",
    "Cones": "cones",
    "Drivers": "drivers",
    "ErasureCertificate": "certificate",
    "FoundConcept": "discovered",
    "GeneProgrammes": "found_programmes",
    "HeldOut": "held_out",
    "LabelErrors": "predicting",
    "Names": "found_names",
    "Stability": "stability",
    "Trends": "trends",
    "Vocabulary": "words",
    "WordConcept": "words",
    "compare": "comparing",
    "gene_programmes": "programmes",
    "zero_shot_labels": "zero_shot",
    "zero_shot_scores": "zero_shot",
}
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
    "GeneProgrammes",
    "HeldOut",
    "LabelErrors",
    "Names",
    "Stability",
    "Trends",
    "Vocabulary",
    "WordConcept",
    "compare",
    "gene_programmes",
    "zero_shot_labels",
    "zero_shot_scores",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
