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

import importlib

__version__ = "0.1.0.dev0"

# public name -> module that defines it (None: the name is the module itself); nothing is imported before it is used
_PUBLIC: dict[str, str | None] = {
    "BinaryAutoencoder": "binary",
    "CommonalityClustering": "clusters",
    "ConceptDiscovery": "concepts",
    "ConceptErasure": "concepts",
    "ConceptSubspaces": "concepts",
    "compare": "concepts",
    "binary": None,
    "clusters": None,
    "concepts": None,
    "explorer": None,
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

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'pellucid' has no attribute {name!r}")
    home = _PUBLIC[name]
    module = importlib.import_module(f"pellucid.{home or name}")
    value = module if home is None else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
