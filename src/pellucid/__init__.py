"""Pellucid: vectors nobody can read, taken apart into parts that people can read.

Examples
--------
>>> import pellucid
>>> scenes = pellucid.datasets.load_scenes()
>>> model = pellucid.ConceptSubspaces(4, max_iter=1).fit(scenes.vectors, scenes.coarse, scenes.coarse_names)
>>> scenes.texts[4]
'Beside three folding chairs, a black kitten rubs against a round table.'
>>> most = model.shares(scenes.vectors[4:5])[0].argsort()[-2:]
>>> model.concept_names_[most].tolist()
['furniture', 'animal']
"""

from typing import TYPE_CHECKING

from pellucid._core.lazy import lazily

if TYPE_CHECKING:
    from pellucid import (
        binary,
        clusters,
        concepts,
        datasets,
        explorer,
        integrations,
        manifold,
        metrics,
        persistence,
        plots,
        preparation,
        rows,
        search,
        selection,
        solvers,
        vectors,
    )
    from pellucid.binary import BinaryAutoencoder, CombinedConcepts, IterativeAssignment
    from pellucid.clusters import CommonalityClustering
    from pellucid.concepts import ConceptDiscovery, ConceptErasure, ConceptSubspaces, compare, gene_programmes
    from pellucid.explorer import explore
    from pellucid.manifold import PatchManifoldTransform, SparseManifoldTransform, WordManifoldTransform
    from pellucid.persistence import card, load, save
    from pellucid.selection import IsometryPursuit
    from pellucid.solvers import set_threads

__version__ = "0.1.0.dev0"

# public name -> module that defines it (None: the name is the module itself); nothing is imported before it is used
_PUBLIC: dict[str, str | None] = {
    "BinaryAutoencoder": "binary",
    "CommonalityClustering": "clusters",
    "ConceptDiscovery": "concepts",
    "ConceptErasure": "concepts",
    "ConceptSubspaces": "concepts",
    "card": "persistence",
    "compare": "concepts",
    "gene_programmes": "concepts",
    "binary": None,
    "clusters": None,
    "concepts": None,
    "explorer": None,
    "integrations": None,
    "persistence": None,
    "rows": None,
    "IsometryPursuit": "selection",
    "CombinedConcepts": "binary",
    "IterativeAssignment": "binary",
    "datasets": None,
    "explore": "explorer",
    "load": "persistence",
    "manifold": None,
    "metrics": None,
    "PatchManifoldTransform": "manifold",
    "SparseManifoldTransform": "manifold",
    "WordManifoldTransform": "manifold",
    "save": "persistence",
    "search": None,
    "selection": None,
    "set_threads": "solvers",
    "plots": None,
    "preparation": None,
    "solvers": None,
    "vectors": None,
}

__all__ = [
    "BinaryAutoencoder",
    "CombinedConcepts",
    "CommonalityClustering",
    "ConceptDiscovery",
    "ConceptErasure",
    "ConceptSubspaces",
    "IsometryPursuit",
    "IterativeAssignment",
    "PatchManifoldTransform",
    "SparseManifoldTransform",
    "WordManifoldTransform",
    "__version__",
    "binary",
    "card",
    "clusters",
    "compare",
    "concepts",
    "datasets",
    "explore",
    "explorer",
    "gene_programmes",
    "integrations",
    "load",
    "manifold",
    "metrics",
    "persistence",
    "plots",
    "preparation",
    "rows",
    "save",
    "search",
    "selection",
    "set_threads",
    "solvers",
    "vectors",
]


__getattr__, __dir__ = lazily(__name__, _PUBLIC)
