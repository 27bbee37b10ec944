"""CommonalityClustering: clusters that are dictionaries, beside one dictionary for what all of them share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags, check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.threads import one_blas_thread
from pellucid.clusters.coding import Coder, Labels, Sums, code_rows, row_blocks, row_costs
from pellucid.clusters.learning import KINDS, Schedule, batch_step, begin, learn
from pellucid.clusters.model_selection import ClusterCounts, select_n_clusters
from pellucid.clusters.objective import Dictionary, Penalties
from pellucid.clusters.starts import Start, first_dictionary, given_labels, sample, start_partitions
from pellucid.preparation import PreparesRows
from pellucid.rows import Blocks, as_blocks, is_lazy, lazily
from pellucid.rows.fitting import checkpoint_of

# rows that the first dictionaries are made from, and of these the rows that the graph of neighbours is made of
START_ROWS, GRAPH_ROWS = 200_000, 20_000


class Encoded(NamedTuple):
    """Rows in terms of a fitted model: clusters (n,), codes over their atoms (n, k), over the common ones (n, K₀)."""

    labels: Labels
    codes: NDArray[Any]
    common: NDArray[Any]


class CommonalityClustering(
    PreparesRows, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, SavedMixin, BaseEstimator
):
    """Clusters that are dictionaries, beside one dictionary for what all of them share (paper 3, MtCluster).

    A row of cluster c is a combination of the cluster's atoms and a sparse one of the common atoms, and belongs where
    that costs least: Σ ‖x − aD_c − a₀D₀‖² + ridge·‖a‖² + sparsity·‖a₀‖₁ over the rows, plus ``incoherence`` times the
    squared inner products of different atoms. The penalties are meant for rows of about unit length: set ``normalize``
    where rows have any other.

    Parameters
    ----------
    n_clusters : int
    n_atoms : int, atoms of each cluster
    n_common : int, common atoms; 0 does without
    normalize : bool, bring rows to unit length first, in every method
    center : bool, bring rows to unit length, subtract their mean and bring them to unit length again
    ridge : float, weight of ‖a‖²
    sparsity : float, weight of ‖a₀‖₁; with ``codes="lasso"`` of ‖a‖₁ too, which then has no ridge
    incoherence : float, weight of squared inner products of atoms of clusters (the paper's λ₃)
    common_incoherence : float or None, that of atoms of clusters with common ones (λ₄); None takes ``incoherence``
    codes : "ridge"; "lasso" (with ``n_common=0`` a sparse dictionary per cluster, by Sprechmann and Sapiro); or "one",
        where a cluster is one atom of any length with coefficient 1 (k-means, with ``n_common=0, incoherence=0``)
    incoherence_between : "all" atoms of clusters, or only those of different "clusters" (as in DLSI)
    n_init : int, starts that are tried. Of communities the partition of largest modularity is refined (each start tries
        three node orders at two resolutions); from "kmeans" and "random" every start is, and the lowest objective kept
        (with mini-batches the first start alone is refined)
    max_iter : int, sweeps over atoms and codes
    tol : float, stop when the objective falls by less than this share in a sweep, or fewer than one row in 500 goes
        to another cluster; 0 goes on while anything changes
    init : "auto" (communities of the graph of nearest neighbours), "kmeans", "random", or a label from 0 to
        n_clusters − 1 for every row
    batch_size : int or None, rows per mini-batch, reshuffled every sweep; None uses all rows at once. For millions of
        rows, which may be in a memory map
    warm_start : bool, begin the next fit where the last one ended
    random_state : int, RandomState or None
    verbose : int, show a bar while fitting if positive (on a terminal)

    Attributes
    ----------
    preparation_ : fitted ``CenteredNormalizer`` that every method applies to its rows, or None
    labels_ : (n,) cluster of each row
    atoms_ : (n_clusters, n_atoms, d), of unit length unless ``codes="one"``
    common_atoms_ : (n_common, d), of unit length
    objective_ : (sweeps + 1,) at the start and after each sweep; never rises (with mini-batches: the mean cost of the
        rows as they were met in that sweep)
    inertia_ : float, the objective at the end
    n_iter_ : int, sweeps made
    modularity_ : (runs,) of the partitions that were found to start from, if ``init="auto"``
    counts_, products_, grams_ : what :meth:`partial_fit` remembers of the rows so far: (n_clusters,) how many; and of
        their codes, k over the cluster's and K₀ over the common atoms, the products with the rows
        (n_clusters, k + K₀, d) and with each other (n_clusters, k + K₀, k + K₀)
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "labels_": Fitted("i", ("n",)),
        "atoms_": Fitted("f", ("C", "k", "n_features_in_")),
        "common_atoms_": Fitted("f", ("K0", "n_features_in_")),
        "objective_": Fitted("f", ("T",)),
        "modularity_": Fitted("f", ("runs",), optional=True),
        "counts_": Fitted("f", ("C",)),
        "products_": Fitted("f", ("C", "codes", "n_features_in_")),
        "grams_": Fitted("f", ("C", "codes", "codes")),
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int, "n_iter_": int, "inertia_": float}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_atoms": [Interval(Integral, 1, None, closed="left")],
        "n_common": [Interval(Integral, 0, None, closed="left")],
        "normalize": ["boolean"],
        "center": ["boolean"],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "sparsity": [Interval(Real, 0, None, closed="neither")],
        "incoherence": [Interval(Real, 0, None, closed="left")],
        "common_incoherence": [Interval(Real, 0, None, closed="left"), None],
        "codes": [StrOptions({"ridge", "lasso", "one"})],
        "incoherence_between": [StrOptions({"all", "clusters"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "init": [StrOptions({"auto", "kmeans", "random"}), "array-like"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        n_atoms: int = 20,
        n_common: int = 30,
        *,
        normalize: bool = False,
        center: bool = False,
        ridge: float = 0.01,
        sparsity: float = 0.1,
        incoherence: float = 1.0,
        common_incoherence: float | None = None,
        codes: str = "ridge",
        incoherence_between: str = "all",
        n_init: int = 4,
        max_iter: int = 50,
        tol: float = 1e-5,
        init: str | ArrayLike = "auto",
        batch_size: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_atoms = n_atoms
        self.n_common = n_common
        self.normalize = normalize
        self.center = center
        self.ridge = ridge
        self.sparsity = sparsity
        self.incoherence = incoherence
        self.common_incoherence = common_incoherence
        self.codes = codes
        self.incoherence_between = incoherence_between
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.batch_size = batch_size
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    # learning

    def fit(
        self, X: Any, y: object = None, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> CommonalityClustering:
        """Learn clusters and dictionaries from rows X (n, d).

        X may be :class:`pellucid.rows.Blocks` or a ``dask.array``: then a sample makes the starts, and every sweep is
        one pass over the blocks, which brings back sums, and of every row its cluster and its cost.

        ``checkpoint`` names a file that is written after every sweep. The same call finds it there, goes on from it
        after a crash, and ends with the same bits as a fit without one.
        """
        return self._fit(X, None, checkpoint)

    def _fit(self, X: Any, graph: Any, checkpoint: str | os.PathLike[str] | None = None) -> CommonalityClustering:
        """``fit``, where the graph of the rows' neighbours may be known."""
        data = self._begin(X)
        rng, penalties = check_random_state(self.random_state), self._penalties()
        # a fit from one start may be made longer; of several starts each was as long as it was to be
        several = self.init in ("kmeans", "random") if isinstance(self.init, str) else False
        several = several and self.n_init > 1 and self.batch_size is None
        silent = ("verbose",) if several else ("verbose", "max_iter")
        kept = checkpoint_of(checkpoint, self, data, KINDS, silent=silent, rng=rng)
        schedule = Schedule(self.max_iter, float(self.tol), self.batch_size, self.verbose)
        with one_blas_thread():  # sums in one order: the same bits on any number of threads
            best, modularity = learn(data, lambda: self._starts(data, rng, graph), penalties, schedule, rng, kept)
            history, last = best.objective, best
            if self.batch_size is not None:
                history, last = best.objective[1:], begin(data, best.dictionary, None, penalties)
        sums = best.sums if best.sums.counts.any() else last.sums  # stopped before the first sweep
        self._keep(best.dictionary, last.labels, history, sums, data.dtype)
        self.n_iter_, self.inertia_ = len(best.objective) - 1, float(last.objective[-1])
        self.__dict__.pop("modularity_", None)
        if modularity is not None:
            self.modularity_ = modularity
        return self

    def partial_fit(self, X: ArrayLike, y: object = None) -> CommonalityClustering:
        """One mini-batch step on rows X (n, d).

        The first call starts from its rows as ``fit`` does, so give it a few hundred of every cluster. ``labels_`` are
        those of the last batch, and ``objective_`` holds each batch's cost per row before the step.
        """
        first = not hasattr(self, "atoms_")
        rows = self._begin(X) if first else Blocks.held(self.prepare(X))
        data = rows.take(np.arange(len(rows)))
        penalties, rng = self._penalties(), check_random_state(self.random_state)
        with one_blas_thread():
            if first:
                starts, modularity = self._starts(rows, rng, None)
                dictionary = starts[0].dictionary.astype(data.dtype)
                sums, history = Sums.zero(dictionary), []
                if modularity is not None:
                    self.modularity_ = modularity
            else:
                dictionary = Dictionary(self.atoms_, self.common_atoms_).astype(data.dtype)
                sums, history = Sums(self.counts_, self.products_, self.grams_, 0.0), list(self.objective_)
            dictionary, sums, cost = batch_step(data, dictionary, sums, penalties)
            last = begin(rows, dictionary, None, penalties)
        self._keep(dictionary, last.labels, [*history, cost], sums, data.dtype)
        self.n_iter_, self.inertia_ = len(self.objective_), float(last.objective[-1])
        return self

    def _begin(self, X: Any) -> Blocks:
        """The parameters checked, and the rows as a source."""
        self._validate_params()
        if self.codes == "one" and self.n_atoms != 1:
            raise ValueError(
                f'codes="one" gives every cluster a single atom, but n_atoms is {self.n_atoms}; set it to 1.'
            )
        if is_lazy(X):
            blocks = as_blocks(X)
            self.__dict__.pop("feature_names_in_", None)
            self.n_features_in_ = blocks.shape[1]
            rows: Blocks = self._learn_preparation(blocks)
        else:
            raw = self._rows(X, reset=True)
            rows = Blocks.held(self._learn_preparation(raw, in_batches=self.batch_size is not None))
        if len(rows) < self.n_clusters:
            raise ValueError(f"n_samples={len(rows)} should be >= n_clusters={self.n_clusters}.")
        if rows.array is None and not isinstance(self.init, str):
            raise ValueError("Blocks start from a sample of rows, so init must be a word and not labels.")
        return rows

    def _starts(self, X: Blocks, rng: np.random.RandomState, graph: Any) -> tuple[list[Start], Any]:
        """Where to start, and if it comes from communities the modularity of all partitions that were found."""
        if self.warm_start and hasattr(self, "atoms_"):
            shape = (self.n_clusters, self.n_atoms, X.shape[1])
            if self.atoms_.shape != shape or len(self.common_atoms_) != self.n_common:
                raise ValueError("warm_start needs the n_clusters, n_atoms and n_common of the fit before.")
            return [Start(Dictionary(self.atoms_, self.common_atoms_), None)], getattr(self, "modularity_", None)
        found = None
        if isinstance(self.init, str):
            some = X.take(sample(len(X), GRAPH_ROWS if self.init == "auto" else START_ROWS, rng))
            partitions, found = start_partitions(some, self.init, self.n_clusters, self.n_init, graph, rng)
        else:
            some = X.take(np.arange(len(X)))
            partitions = [given_labels(self.init, len(X), self.n_clusters)]
        size = (self.n_clusters, self.n_atoms)
        return [
            Start(
                first_dictionary(some, labels, size, self.n_common, self.codes, rng),
                labels.astype(np.min_scalar_type(self.n_clusters - 1)) if len(some) == len(X) else None,
            )
            for labels in partitions
        ], found

    def _keep(
        self, dictionary: Dictionary, labels: NDArray[Any], objective: list[float], sums: Sums, dtype: Any
    ) -> None:
        self.atoms_, self.common_atoms_ = dictionary.atoms.astype(dtype), dictionary.common.astype(dtype)
        self.labels_ = labels.astype(np.int64)
        self.objective_ = np.array(objective)
        self.counts_, self.products_, self.grams_ = sums.counts, sums.products, sums.grams

    def _penalties(self) -> Penalties:
        across = self.incoherence if self.common_incoherence is None else self.common_incoherence
        return Penalties(
            float(self.ridge),
            float(self.sparsity),
            float(self.incoherence),
            float(across),
            self.codes,
            self.incoherence_between == "all",
        )

    # using it

    def predict(self, X: Any) -> Any:
        """The cluster (n,) of least cost for each row; of blocks, blocks (n, 1)."""
        if is_lazy(X):
            check_is_fitted(self, "atoms_")
            return lazily(copy(self).predict, X, None, np.int64)
        return self.encode(X).labels

    def transform(self, X: Any) -> Any:
        """The cost (n, n_clusters) of each row in each cluster: its squared error with the penalties of its codes.
        Blocks give blocks."""
        if is_lazy(X):
            check_is_fitted(self, "atoms_")
            return lazily(copy(self).transform, X, len(self.atoms_))
        data = self.prepare(X)
        costs = np.empty((len(data), len(self.atoms_)), dtype=data.dtype)
        coder = self._coder(data.dtype)
        for rows in row_blocks(len(data)):
            costs[rows] = row_costs(np.asarray(data[rows]), coder)
        return costs

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the sum of the rows' costs in their clusters."""
        data = self.prepare(X)
        coder = self._coder(data.dtype)
        return -float(sum(code_rows(np.asarray(data[rows]), coder, None).costs.sum() for rows in row_blocks(len(data))))

    def encode(self, X: ArrayLike) -> Encoded:
        """Clusters of rows, and their codes over the cluster's atoms and over the common ones."""
        data = self.prepare(X)
        coder = self._coder(data.dtype)
        parts = [code_rows(np.asarray(data[rows]), coder, None) for rows in row_blocks(len(data))]
        return Encoded(*(np.concatenate(column) for column in zip(*((p.labels, p.own, p.common) for p in parts))))

    def reconstruct(self, X: ArrayLike, parts: str = "both") -> NDArray[Any]:
        """Rows (n, d) as their codes say: by the "cluster" atoms, by the "common" ones, or by "both", their sum."""
        if parts not in ("cluster", "common", "both"):
            raise ValueError(f'parts must be "cluster", "common" or "both", got {parts!r}.')
        found = self.encode(X)
        out = np.zeros((len(found.labels), self.atoms_.shape[2]), dtype=found.codes.dtype)
        if parts != "common":
            for c, atoms in enumerate(self.atoms_):
                mine = found.labels == c
                out[mine] = found.codes[mine] @ atoms.astype(out.dtype)
        if parts != "cluster":
            out += found.common @ self.common_atoms_.astype(out.dtype)
        return out

    def shares(self, X: ArrayLike) -> NDArray[np.float64]:
        """How much of each row is its cluster's own, and how much is common (n, 2): v·x/‖x‖² for either part v. With
        what is in neither they add up to 1."""
        rows = self.prepare(X)
        lengths = np.maximum(np.einsum("ij,ij->i", rows, rows, dtype=np.float64), np.finfo(np.float64).tiny)
        parts = (self.reconstruct(X, parts=part) for part in ("cluster", "common"))
        return np.stack([np.einsum("ij,ij->i", v, rows, dtype=np.float64) / lengths for v in parts], axis=1)

    # is it any good

    def select_n_clusters(
        self, X: ArrayLike, sizes: Iterable[int] = range(2, 13), *, n_runs: int = 5, n_jobs: int | None = None
    ) -> ClusterCounts:
        """Fit each number of clusters to ``n_runs`` subsamples of rows X (n, d), and see how well the runs agree.

        This estimator's other parameters are used, and it stays as it is; ``n_jobs`` subsamples run at the same time.
        """
        self._validate_params()
        if not isinstance(self.init, str):
            raise ValueError(
                "select_n_clusters needs a start of its own for every number of clusters, not given labels."
            )
        data = check_array(X, dtype=[np.float64, np.float32])
        return select_n_clusters(self, data, sizes, n_runs, n_jobs)

    def _rows(self, X: ArrayLike, reset: bool = False) -> NDArray[Any]:
        data: NDArray[Any] = validate_data(self, X, dtype=[np.float64, np.float32], reset=reset)
        return data

    def prepare(self, X: ArrayLike) -> NDArray[Any]:
        """Raw rows (n, d) as the dictionaries see them: normalised, or centred too, if the model asks for it."""
        check_is_fitted(self, "atoms_")
        return np.asarray(self._prepared(self._rows(X)))

    def _coder(self, dtype: Any) -> Coder:
        return Coder(Dictionary(self.atoms_, self.common_atoms_), self._penalties(), dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.atoms_)

    # pictures

    def plot_parts(self, X: ArrayLike, shape: tuple[int, ...], ax: Any = None) -> Any:
        """Rows that are images, as what their cluster and what all clusters have in common; see
        :func:`pellucid.plots.cluster_parts`."""
        from pellucid.plots import cluster_parts

        return cluster_parts(self, X, shape, ax=ax)

    def plot_objective(self, ax: Any = None) -> Any:
        """The objective after each sweep; see :func:`pellucid.plots.objective`."""
        from pellucid.plots import objective

        return objective(self, ax=ax)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
