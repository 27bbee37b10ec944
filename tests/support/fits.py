"""Data and models for fits block by block, and long rows of fits to be interrupted."""

import os
from functools import partial

import numpy as np

from pellucid import CommonalityClustering, ConceptSubspaces
from pellucid.manifold import PatchManifoldTransform, SparseManifoldTransform, WordManifoldTransform
from pellucid.rows import Blocks, TextBlocks

CONCEPTS = 4
FITS = [
    ({}, False),
    ({}, True),
    ({"batch_size": 60}, False),
    ({"update": "svd"}, False),
    ({"update": "svd", "batch_size": 60}, False),
    ({"update": "bcd"}, True),
    ({"update": "svd"}, True),
    ({"update": "svd", "batch_size": 25, "init": "sample"}, True),
]


def problem(n=600, d=12, dtype=np.float64, seed=0):
    """Rows that are sums of parts from cones of one or two concepts, and noise."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((CONCEPTS, 3, d))
    Y = rng.random((n, CONCEPTS)) < 0.4
    Y[np.arange(n), rng.integers(CONCEPTS, size=n)] = True
    codes = rng.random((n, CONCEPTS, 3)) * Y[:, :, None]
    X = np.einsum("nck,ckd->nd", codes, atoms) + 0.1 * rng.standard_normal((n, d))
    return X.astype(dtype), Y


def all_fits(folder=None):
    X, Y = problem(300)
    fitted = []
    for number, (given_settings, blocks) in enumerate(FITS):
        model = ConceptSubspaces(3, max_iter=8, tol=0, random_state=3, **given_settings, center=False)
        path = None if folder is None else os.path.join(folder, f"state{number}")
        fitted.append(model.fit(Blocks(X, rows=60) if blocks else X, Y, checkpoint=path))
    return fitted


PATCHES = [
    {},
    {"augment": "flip", "channels": "grey", "context": 2},
    {"code": "threshold"},
    {"code": "threshold", "context": 3, "augment": "flip"},
]


def pictures(n=90, channels=3):
    """Blurred noise, so that patches that are near are alike; uint8."""
    noise = np.random.default_rng(0).random((n, 14, 14, channels))
    for axis in (1, 2):
        noise = sum(np.roll(noise, shift, axis) for shift in range(4)) / 4
    return (255 * noise[:, 3:, 3:]).astype(np.uint8)


def patch_model(**settings):
    return PatchManifoldTransform(4, 16, n_components=5, random_state=0, **settings)


def some_texts():
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(30)])
    return [" ".join(words[np.minimum(rng.geometric(0.1, size=40) + shift, 29)]) for shift in rng.integers(8, size=120)]


def word_model(**settings):
    return WordManifoldTransform(4, 2, 25, **settings)


def point_model(**settings):
    return SparseManifoldTransform(4, n_atoms=16, random_state=0, **settings)


def long_fits(folder=None):
    """Clusters, patches, words and points one after the other, each with a checkpoint if there is a folder."""
    X = np.random.default_rng(0).standard_normal((600, 12))
    rows = Blocks(X, rows=100)
    clusters = partial(CommonalityClustering, 3, 2, 2, reading="paper", tol=0, random_state=0)
    fits = [(partial(clusters, max_iter=12, batch_size=size), rows) for size in (None, 100)]
    fits.append((partial(clusters, max_iter=6, init="random", n_init=3), X))
    fits += [(partial(patch_model, **settings), Blocks(pictures(), rows=10)) for settings in PATCHES[1:3]]
    fits.append((word_model, TextBlocks(some_texts(), rows=10)))
    fits += [(partial(point_model, **settings), rows) for settings in ({}, {"neighbors": "noise", "code": "threshold"})]
    for number, (make, data) in enumerate(fits):
        yield make().fit(data, checkpoint=None if folder is None else os.path.join(folder, f"state{number}"))
