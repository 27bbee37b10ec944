"""Where learning starts: a partition of the rows, and the dictionaries of its clusters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import orthogonal_mp_gram
from threadpoolctl import threadpool_limits

from pellucid._core.arrays import unit_rows
from pellucid.clusters.coding import BLOCK_ROWS, Labels
from pellucid.clusters.communities import neighbour_graph, partition
from pellucid.clusters.objective import Dictionary, Floats
from pellucid.rows import Blocks

# rows that the first dictionaries are made from, and of these the rows that the graph of neighbours is made of
START_ROWS, GRAPH_ROWS = 200_000, 20_000
# rounds of K-SVD
KSVD_STEPS = 10


@dataclass(frozen=True)
class Start:
    """A dictionary to start from, with the labels of all rows if they are known."""

    dictionary: Dictionary
    labels: NDArray[Any] | None


def new_starts(
    X: Blocks,
    init: Any,
    n_init: int,
    size: tuple[int, int],
    n_common: int,
    codes: str,
    graph: Any,
    rng: np.random.RandomState,
) -> tuple[list[Start], Floats | None]:
    """Starts of ``size`` (C, k), from a word or from labels, and if they come from communities the modularity of all
    partitions that were found."""
    found = None
    if isinstance(init, str):
        some = X.take(sample(len(X), GRAPH_ROWS if init == "auto" else START_ROWS, rng))
        partitions, found = start_partitions(some, init, size[0], n_init, graph, rng)
    else:
        some = X.take(np.arange(len(X)))
        partitions = [given_labels(init, len(X), size[0])]
    make = ksvd_dictionary if isinstance(init, str) and init == "paper" else first_dictionary
    return [
        Start(
            make(some, labels, size, n_common, codes, rng),
            labels.astype(np.min_scalar_type(size[0] - 1)) if len(some) == len(X) else None,
        )
        for labels in partitions
    ], found


def start_partitions(
    X: NDArray[Any], init: str, n_clusters: int, n_init: int, graph: Any, rng: np.random.RandomState
) -> tuple[list[Labels], Floats | None]:
    """Partitions of rows X to start from, and if they come from communities the modularity of all that were found;
    ``graph`` is that of the rows' neighbours if it is known."""
    if init == "random":
        return [random_labels(len(X), n_clusters, rng) for _ in range(n_init)], None
    if n_clusters == 1:
        return [np.zeros(len(X), dtype=np.int64)], None
    if init in ("kmeans", "paper"):
        return [kmeans_labels(X, n_clusters, rng) for _ in range(n_init)], None
    labels, found = partition(neighbour_graph(X) if graph is None else graph, n_clusters, n_init, rng)
    return [labels], found


def sample(n: int, size: int, rng: np.random.RandomState) -> Labels:
    """So many row numbers in order, or all."""
    if n <= size:
        return np.arange(n)
    return np.sort(rng.choice(n, size, replace=False)).astype(np.int64)


def random_labels(n: int, n_clusters: int, rng: np.random.RandomState) -> Labels:
    return rng.permutation(np.arange(n) % n_clusters).astype(np.int64)


def kmeans_labels(
    X: NDArray[Any], n_clusters: int, rng: np.random.RandomState, weights: Floats | None = None
) -> Labels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # about duplicate rows, which are dealt with below
        means = KMeans(n_clusters, n_init=1, random_state=rng.randint(2**31 - 1))
        with threadpool_limits(1, user_api="openmp"):  # threads would wait for each other longer than they work
            found = means.fit(X, sample_weight=weights).labels_
    return _without_gaps(found.astype(np.int64), n_clusters)


def _without_gaps(labels: Labels, n_clusters: int) -> Labels:
    """Every cluster has a row: clusters without one take rows of the largest."""
    for c in range(n_clusters):
        if not (labels == c).any():
            labels[np.flatnonzero(labels == np.bincount(labels).argmax())[0]] = c
    return labels


def first_dictionary(
    X: NDArray[Any], labels: Labels, shape: tuple[int, int], n_common: int, codes: str, rng: np.random.RandomState
) -> Dictionary:
    """D_c from its cluster's rows, D₀ from the singular vectors of what all of them leave; ``shape`` is (C, k)."""
    d = X.shape[1]
    atoms, left = np.empty((*shape, d)), np.zeros((d, d))
    for c in range(shape[0]):
        members = np.flatnonzero(labels == c)
        atoms[c], rest = first_atoms(*moments(X, members), len(members), shape[1], codes, rng)
        left += rest
    return Dictionary(atoms, leading_directions(left, n_common, rng))


def ksvd_dictionary(
    X: NDArray[Any], labels: Labels, shape: tuple[int, int], n_common: int, codes: str, rng: np.random.RandomState
) -> Dictionary:
    """The paper's start: D_c by K-SVD from its cluster's rows, D₀ by K-SVD from what these leave of all rows."""
    atoms = np.empty((*shape, X.shape[1]))
    rest = np.array(X, dtype=np.float64)
    for c in range(shape[0]):
        members = np.flatnonzero(labels == c)
        atoms[c], rest[members] = ksvd(rest[members], shape[1], rng)
    return Dictionary(atoms, ksvd(rest, n_common, rng)[0] if n_common else np.empty((0, X.shape[1])))


def ksvd(X: Floats, k: int, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Atoms (k, d) of rows by K-SVD (Aharon, Elad and Bruckstein), and what their codes leave of the rows: codes by
    orthogonal matching pursuit, then each atom with its codes by the leading singular vectors of what it has to say."""
    atoms = unit_rows(X[rng.permutation(len(X))[:k]])
    if len(atoms) < k:
        atoms = np.concatenate([atoms, unit_rows(rng.standard_normal((k - len(atoms), X.shape[1])))])
    codes = np.zeros((len(X), k))
    for _ in range(KSVD_STEPS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about atoms that depend on each other
            codes = sparse_codes(X, atoms)
        left = X - codes @ atoms
        for j in range(k):
            users = np.flatnonzero(codes[:, j])
            if not len(users):
                continue
            wanted = left[users] + np.outer(codes[users, j], atoms[j])
            leading = leading_directions(wanted.T @ wanted, 1, rng)[0]
            codes[users, j] = wanted @ leading
            left[users] = wanted - np.outer(codes[users, j], leading)
            atoms[j] = leading
    return atoms, X - codes @ atoms


def sparse_codes(X: Floats, atoms: Floats) -> Floats:
    """Codes (n, k), a quarter of which may differ from zero, by orthogonal matching pursuit."""
    used = max(1, len(atoms) // 4)
    found = orthogonal_mp_gram(atoms @ atoms.T, atoms @ X.T, n_nonzero_coefs=used)
    codes: Floats = np.asarray(found, dtype=np.float64).reshape(len(atoms), len(X)).T.copy()
    return codes


def first_atoms(
    second: Floats, first: Floats, count: int, n_atoms: int, codes: str, rng: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Leading singular vectors of rows (not centred) or with ``codes="one"`` their mean, and the second moments of what
    is left of the rows: from Σ xxᵀ, Σ x and how many they are."""
    if codes == "one":
        mean = first / count
        return mean[None], second - count * np.outer(mean, mean)
    atoms = leading_directions(second, n_atoms, rng)
    outside = np.eye(len(second)) - np.linalg.pinv(atoms) @ atoms
    return atoms, outside @ second @ outside


def moments(X: NDArray[Any], members: Labels) -> tuple[Floats, Floats]:
    """Σ xxᵀ and Σ x over the rows, block by block."""
    second, first = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1])
    for start in range(0, len(members), BLOCK_ROWS):
        rows = np.asarray(X[members[start : start + BLOCK_ROWS]])
        second += rows.T @ rows
        first += rows.sum(axis=0, dtype=np.float64)
    return second, first


def leading_directions(second: Floats, count: int, rng: np.random.RandomState) -> Floats:
    """Leading eigenvectors of second moments; where there are too few, random unit vectors take their place."""
    values, vectors = np.linalg.eigh(second)
    found = vectors[:, ::-1].T[: int(np.count_nonzero(values > 1e-10 * max(values[-1], 1e-300)))][:count]
    # a sign convention makes the atoms the same on every machine
    sign = np.sign(found[np.arange(len(found)), np.abs(found).argmax(axis=1)])
    missing = unit_rows(rng.standard_normal((count - len(found), len(second))))
    return np.concatenate([found * sign[:, None], missing])


def given_labels(labels: Any, n: int, n_clusters: int) -> Labels:
    """Labels that the user starts from."""
    array = np.asarray(labels)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"init must hold a whole number for each of {n} rows, but is {array.dtype} of shape {array.shape}."
        )
    if set(np.unique(array)) != set(range(n_clusters)):
        raise ValueError(f"init must use every label from 0 to {n_clusters - 1}, and no other.")
    return array.astype(np.int64)
