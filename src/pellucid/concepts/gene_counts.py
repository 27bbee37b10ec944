"""Counts of genes in cells made ready for programmes: which matrix, on which scale, and where cells lie.

Cells are taken as of 10,000 counts each. The variance of a gene between them is set against what other genes of its
mean have: what is well above that is where programmes show. In units of their standard deviations these genes count
alike, and the first eigenvectors of the cells, deep ones counting for more, are where programmes lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pellucid._core.arrays import Floats, Ints
from pellucid._core.checks import as_matrix
from pellucid._core.hints import did_you_mean

# counts that a cell is taken to have, genes that programmes are looked for in, and columns of the embedding, at most
SCALE, GENES, COLUMNS = 10_000.0, 2000, 100
# groups of genes of about the same mean, by which it is known what variance is usual
BINS = 20
# numbers that are no counts and all below this are logarithms: no 10,000 counts of a cell are one of these
LOGARITHMS = 30.0
# rows that are made dense at a time
DENSE_ROWS = 4096


@dataclass(frozen=True)
class Expression:
    """Cells by genes.

    values : sparse (n, G), each cell scaled to 10,000
    chosen, scale : which genes vary more than their like, and the standard deviations of these
    depth : (n,) how much was seen of each cell, with the mean 1
    """

    values: sparse.csr_array
    chosen: Ints
    scale: Floats
    depth: Floats

    def scaled(self) -> sparse.csr_array:
        """The chosen genes in units of their standard deviations (n, g)."""
        return sparse.csr_array(self.values[:, self.chosen] @ sparse.diags_array(1 / self.scale))


def matrix_of(data: Any, layer: str | None) -> tuple[Any, list[str], str]:
    """The matrix to take of an AnnData, the names of its genes, and where it was found; as it is of anything else.

    Without a layer it is the layer "counts", or X, or, where X was centred, what ``raw`` keeps of the same genes.
    """
    if not (hasattr(data, "obs_names") and hasattr(data, "var_names")):
        if layer is not None:
            raise ValueError("layer= names a layer of an AnnData, but counts came as a matrix.")
        names = [str(name) for name in data.columns] if hasattr(data, "columns") else []
        return (data.to_numpy() if hasattr(data, "columns") else data), names, "counts"
    genes = [str(name) for name in data.var_names]
    if layer is not None:
        if layer not in data.layers:
            raise ValueError(f"There is no layer {layer!r}: {did_you_mean(layer, list(data.layers))}")
        return data.layers[layer], genes, f"layer {layer!r}"
    if "counts" in data.layers:
        return data.layers["counts"], genes, "layer 'counts'"
    if data.X is not None and least(data.X) >= 0:
        return data.X, genes, "X"
    if data.raw is not None and least(data.raw.X) >= 0 and set(genes) <= set(map(str, data.raw.var_names)):
        place = {str(name): j for j, name in enumerate(data.raw.var_names)}
        return data.raw.X[:, [place[name] for name in genes]], genes, "raw"
    return None, genes, "nothing"


def least(X: Any) -> float:
    """The least number of a matrix."""
    values = X.data if sparse.issparse(X) else np.asarray(X)
    return float(values.min()) if values.size else 0.0


def as_counts(X: Any) -> sparse.csr_array:
    """Counts or what was made of them, as a sparse matrix of float32, with logarithms undone."""
    if sparse.issparse(X):
        found = sparse.csr_array(X).astype(np.float32)
    else:
        found = sparse.csr_array(as_matrix(X, "counts").astype(np.float32))
    bad = np.flatnonzero(~np.isfinite(found.data))
    if len(bad):
        row = int(np.searchsorted(found.indptr, bad[0], side="right")) - 1
        raise ValueError(f"counts has {found.data[bad[0]]} in row {row}: fix or drop the cell.")
    if found.data.size and found.data.min() < 0:
        raise ValueError("Counts must not be negative: give those from before they were scaled, by layer= or raw.")
    whole = bool((found.data == np.round(found.data)).all())
    if not whole and float(found.data.max()) < LOGARITHMS:
        found.data = np.expm1(found.data)
    return found


def scaled_cells(X: Any) -> tuple[sparse.csr_array, Floats]:
    """Cells scaled alike, and what each had (n,)."""
    values = as_counts(X)
    total = np.asarray(values.sum(axis=1), dtype=np.float64).ravel()
    each = np.divide(SCALE, total, out=np.zeros_like(total), where=total > 0)
    values.data *= np.repeat(each, np.diff(values.indptr)).astype(np.float32)
    return values, total


def expression(X: Any) -> Expression:
    """Cells scaled alike, and which of their genes vary more than others of the same mean."""
    values, total = scaled_cells(X)
    if not total.any():
        raise ValueError("All counts are zero.")
    mean = np.asarray(values.sum(axis=0), dtype=np.float64).ravel() / len(total)
    squares = np.bincount(values.indices, weights=values.data.astype(np.float64) ** 2, minlength=values.shape[1])
    variance = squares / len(total) - mean**2
    usual = usual_variance(mean, variance)
    beyond = np.where(usual > 0, variance / np.where(usual > 0, usual, 1), 0)
    chosen = np.sort(np.argsort(-beyond, kind="stable")[: min(GENES, int((beyond > 0).sum()))])
    if len(chosen) < 2:
        raise ValueError("Fewer than 2 genes vary between cells, so there is no programme to be found.")
    return Expression(values, chosen, np.sqrt(variance[chosen]).astype(np.float32), total / total.mean())


def usual_variance(mean: Floats, variance: Floats) -> Floats:
    """The variance (G,) that genes of the same mean have: the middle ones of groups, and in between a line."""
    varying = np.flatnonzero((mean > 0) & (variance > 0))
    order = varying[np.argsort(mean[varying], kind="stable")]
    if not len(order):
        return np.zeros_like(mean)
    groups = np.array_split(order, min(BINS, max(1, len(order) // 5)))
    at = [float(np.median(np.log(mean[rows]))) for rows in groups]
    ratio = [float(np.median(np.log(variance[rows] / mean[rows]))) for rows in groups]
    return np.where(mean > 0, mean * np.exp(np.interp(np.log(np.where(mean > 0, mean, 1)), at, ratio)), 0.0)


def embedding(scaled: sparse.csr_array, depth: Floats) -> NDArray[np.float32]:
    """Cells (n, r) along the first eigenvectors of their products, in which deep cells count for more."""
    n, g = scaled.shape
    products = np.zeros((g, g))
    for start in range(0, n, DENSE_ROWS):
        rows = scaled[start : start + DENSE_ROWS].toarray()
        rows *= np.sqrt(depth[start : start + DENSE_ROWS, None]).astype(rows.dtype)
        products += rows.T @ rows
    r = max(2, min(COLUMNS, g // 2, n // 4))
    vectors = linalg.eigh(products, subset_by_index=[max(0, g - r), g - 1])[1][:, ::-1]
    return np.asarray(scaled @ vectors.astype(np.float32))
