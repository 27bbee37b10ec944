"""Settings of the engines, rows for them, and the ranking that they must give."""

import numpy as np

from pellucid.search import Collection

# settings at which every engine must find everything
FULL = {
    "exact": ("exact", {}),
    "flat": ("faiss", {"kind": "flat"}),
    "hnsw": ("faiss", {"kind": "hnsw", "ef_search": 4000, "ef_construction": 200}),
    "ivfpq": ("faiss", {"kind": "ivfpq", "lists": 3, "probes": 3, "refine": 1000}),
}
DATABASES = {
    "lance flat": ("lance", {"kind": "flat"}),
    "lance ivfpq": ("lance", {"lists": 2, "probes": 2, "refine": 1000}),
    "postgres flat": ("postgres", {"kind": "flat"}),
    "postgres hnsw": ("postgres", {"ef_search": 1000, "ef_construction": 200}),
    "milvus flat": ("milvus", {"kind": "flat"}),
    "milvus hnsw": ("milvus", {"ef_search": 2000, "ef_construction": 200}),
    "qdrant": ("qdrant", {}),
}


def ranking(rows, queries, alive, k):
    """The slow obvious way, in float64."""
    wide, wanted = rows.astype(np.float64), np.asarray(queries, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=1) * np.linalg.norm(wanted, axis=1)[:, None]
    scores = wanted @ wide.T / np.where(lengths > 0, lengths, 1)
    scores[:, ~alive] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, : min(k, alive.sum())]
    return order, np.take_along_axis(scores, order, 1)


def planted(rng, n=600, d=16):
    """Rows in bunches, as embeddings come, so that graphs and lists have something to find."""
    centres = rng.standard_normal((12, d))
    return (centres[rng.integers(0, 12, n)] + 0.5 * rng.standard_normal((n, d))).astype(np.float32)


def same_as_exact(collection, queries, k=10):
    positions, scores = collection.search(queries, k)
    plain = Collection.open(collection.folder, engine="exact")
    expected = plain.search(queries, k)
    np.testing.assert_allclose(scores, expected[1], atol=1e-12)
    np.testing.assert_array_equal(positions, expected[0])
