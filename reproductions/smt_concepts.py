"""A pipeline without any network: patches make vectors of CIFAR-10 images, cones split them, search by concept."""

from __future__ import annotations

import os

import numpy as np
from sklearn.decomposition import PCA

from pellucid import ConceptSubspaces, PatchManifoldTransform
from pellucid.metrics import concept_retrieval
from pellucid.preparation import CenteredNormalizer
from reproductions.data import load_cifar10
from reproductions.smt_cifar import RECIPE

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
GROUPS = {"vehicle": [0, 1, 8, 9], "pet": [3, 5], "hoofed animal": [4, 7], "bird or frog": [2, 6]}


def concepts(save, n_train=2000, n_queries=300, n_candidates=1000, n_atoms=2048):
    """Retrieval by group and by class, against plain search in the same vectors; sizes by ``SMT_CONCEPTS``."""
    n_train = int(os.environ.get("SMT_CONCEPTS", n_train))
    data = load_cifar10()
    model = PatchManifoldTransform(6, n_atoms, **{**RECIPE, "n_components": 64}, skip=8, random_state=0)
    model.fit(data.x_train[:n_train])
    vectors = [model.transform(part) for part in (data.x_train[:n_train], data.x_test[: n_queries + n_candidates])]
    reduce = PCA(256, random_state=0).fit(vectors[0])  # cones of 9 216 numbers from 2 000 images would fit anything
    centre = CenteredNormalizer().fit(reduce.transform(vectors[0]))
    train, test = (centre.transform(reduce.transform(part)) for part in vectors)
    fine_to_coarse = np.array([next(g for g, own in enumerate(GROUPS.values()) if c in own) for c in range(10)])
    fine = [np.eye(10, dtype=int)[labels] for labels in (data.y_train[:n_train], data.y_test[: len(test)])]
    coarse = [np.eye(len(GROUPS), dtype=int)[fine_to_coarse[labels.argmax(axis=1)]] for labels in fine]
    cones = ConceptSubspaces(n_atoms=8, random_state=0, center=False).fit(train, coarse[0], list(GROUPS))
    queries, candidates = slice(0, n_queries), slice(n_queries, None)
    lines = [
        f"{n_train} training images, {n_queries} queries among {n_candidates} candidates of the test images; "
        f"{n_atoms} atoms, 64 dimensions a patch, 256 principal components of the image vectors. mAP@20.\n",
        "| search | group of classes | class |",
        "| --- | --- | --- |",
    ]
    for name, given in (("plain cosine", None), ("projection onto the group's cone", cones)):
        found = concept_retrieval(
            given, test[queries], test[candidates], coarse[1][queries], coarse[1][candidates],
            query_fine=fine[1][queries], candidate_fine=fine[1][candidates], fine_to_coarse=fine_to_coarse,
        )  # fmt: skip
        lines.append(f"| {name} | {found.general:.3f} | {found.sub:.3f} |")
    save("\n".join(lines) + "\n")
