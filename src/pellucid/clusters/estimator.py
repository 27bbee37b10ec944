"""CommonalityClustering: clusters that are dictionaries, beside one dictionary for what all of them share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.threads import one_blas_thread
from pellucid.clusters.base import ClusterModel
from pellucid.clusters.coding import Sums
from pellucid.clusters.learning import KINDS, Schedule, batch_step, begin, learn
from pellucid.clusters.model_selection import ClusterCounts, select_n_clusters
from pellucid.clusters.objective import Dictionary
from pellucid.clusters.starts import Start, new_starts
from pellucid.rows import Blocks, is_lazy
from pellucid.rows.fitting import checkpoint_of
from pellucid.rows.lazy import fitted_blocks


class CommonalityClustering(ClusterModel, SavedMixin):
    """Clusters that are dictionaries, beside one dictionary for what all of them share (paper 3, MtCluster).

    A row of cluster c is a combination of the cluster's atoms and a sparse one of the common atoms, and belongs where
    that costs least: Σ ‖x − aD_c − a₀D₀‖² + ridge·‖a‖² + sparsity·‖a₀‖₁ over the rows, plus ``incoherence`` times the
    squared inner products of different atoms. The penalties are meant for rows of about unit length: set ``normalize``
    where rows have any other.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_atoms : int, default=20
        Atoms of each cluster.
    n_common : int, default=30
        Common atoms; 0 does without.
    normalize : bool, default=False
        Bring rows to unit length first, in every method.
    center : bool, default=False
        Bring rows to unit length, subtract their mean and bring them to unit length again, in every method.
    ridge : float, default=0.01
        Weight of ‖a‖².
    sparsity : float, default=0.1
        Weight of ‖a₀‖₁; with ``codes="lasso"`` of ‖a‖₁ too, which then has no ridge.
    incoherence : float, default=1.0
        Weight of squared inner products of atoms of clusters (the paper's λ₃).
    common_incoherence : float or None, default=None
        That of atoms of clusters with common ones (λ₄); None takes ``incoherence``.
    codes : {"ridge", "lasso", "one"}, default="ridge"
        How a cluster's atoms make up a row:

        - "ridge": a combination with small coefficients;
        - "lasso": a sparse one (with ``n_common=0`` a sparse dictionary per cluster, by Sprechmann and Sapiro);
        - "one": a cluster is one atom of any length with coefficient 1 (k-means, with ``n_common=0, incoherence=0``).
    incoherence_between : {"all", "clusters"}, default="all"
        "all" atoms of clusters, or only those of different "clusters" (as in DLSI).
    n_init : int, default=4
        Starts that are tried. Of communities the partition of largest modularity is refined (each start tries three
        node orders at two resolutions); from "kmeans" and "random" every start is, and the lowest objective kept (with
        mini-batches the first start alone is refined).
    max_iter : int, default=50
        Sweeps over atoms and codes.
    tol : float, default=1e-5
        Stop when the objective falls by less than this share in a sweep, or fewer than one row in 500 goes to another
        cluster; 0 goes on while anything changes.
    init : {"auto", "kmeans", "random"} or array-like of int of shape (n,), default="auto"
        "auto" starts from communities of the graph of nearest neighbours; labels name a cluster from 0 to
        n_clusters − 1 for every row.
    batch_size : int or None, default=None
        Rows per mini-batch, reshuffled every sweep; None uses all rows at once. For millions of rows, which may be in a
        memory map.
    warm_start : bool, default=False
        Begin the next fit where the last one ended.
    random_state : int, RandomState or None, default=None
        Seed; the same seed gives the same bits.
    verbose : int, default=0
        Show a bar while fitting if positive (on a terminal).

    Attributes
    ----------
    preparation_ : CenteredNormalizer or None
        What every method does to its rows first; None without ``normalize`` and ``center``.
    labels_ : ndarray of shape (n,)
        Cluster of each row.
    atoms_ : ndarray of shape (n_clusters, n_atoms, d)
        Atoms of the clusters, of unit length unless ``codes="one"``.
    common_atoms_ : ndarray of shape (n_common, d)
        Common atoms, of unit length.
    objective_ : ndarray of shape (sweeps + 1,)
        The objective at the start and after each sweep; it never rises. With mini-batches: the mean cost of the rows as
        they were met in that sweep.
    inertia_ : float
        The objective at the end.
    n_iter_ : int
        Sweeps made.
    modularity_ : ndarray of shape (runs,)
        Modularity of the partitions that were found to start from, if ``init="auto"``.
    counts_ : ndarray of shape (n_clusters,)
        How many rows of each cluster there were; earlier mini-batches count a little less. This and the next two are
        what :meth:`partial_fit` remembers.
    products_ : ndarray of shape (n_clusters, k + K₀, d)
        Products of the rows' codes, k over the cluster's and K₀ over the common atoms, with the rows.
    grams_ : ndarray of shape (n_clusters, k + K₀, k + K₀)
        Products of the codes with each other.
    n_features_in_ : int
        Numbers per row, d.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import CommonalityClustering
    >>> from pellucid.metrics import clustering_error
    >>> X = np.eye(4)[np.arange(60) % 3]  # three groups ...
    >>> X[:, 3] = 0.5 * np.random.default_rng(0).standard_normal(60)  # ... that vary alike in the last number
    >>> model = CommonalityClustering(n_clusters=3, n_atoms=1, n_common=1, n_init=1, random_state=0).fit(X)
    >>> clustering_error(model.labels_, np.arange(60) % 3)
    0.0
    >>> np.abs(model.common_atoms_).round(1)
    array([[0., 0., 0., 1.]])
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
        """Learn clusters and dictionaries from rows.

        Blocks and a ``dask.array`` are never held as a whole: a sample makes the starts, and every sweep is one pass
        over the blocks, which brings back sums, and of every row its cluster and its cost.

        Parameters
        ----------
        X : array-like, dask.array or pellucid.rows.Blocks of shape (n, d)
            Rows.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.
        checkpoint : str, path or None, default=None
            A file that is written after every sweep. The same call finds it there, goes on from it after a crash, and
            ends with the same bits as a fit without one.

        Returns
        -------
        CommonalityClustering
            The fitted model itself.

        Raises
        ------
        ValueError
            If X is not finite, there are fewer rows than clusters, a parameter is out of its range, ``codes="one"`` is
            asked for with several atoms, or labels are given as ``init`` for blocks.

        Examples
        --------
        >>> from pellucid import CommonalityClustering
        >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]
        >>> CommonalityClustering(2, 1, 0, init=[0, 0, 1, 1], random_state=0).fit(X).labels_
        array([0, 0, 1, 1])
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
        """Make one mini-batch step.

        The first call starts from its rows as ``fit`` does, so give it a few hundred of every cluster. ``labels_`` are
        those of the last batch, and ``objective_`` holds each batch's cost per row before the step.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of this batch.
        y : Ignored
            Not used; here because scikit-learn's pipelines pass it.

        Returns
        -------
        CommonalityClustering
            The model itself.

        Raises
        ------
        ValueError
            If X is not finite or of another width, or the first batch has fewer rows than clusters.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import CommonalityClustering
        >>> X = np.eye(4)[np.arange(60) % 3]
        >>> model = CommonalityClustering(3, 1, 0, n_init=1, random_state=0)
        >>> for batch in np.split(X, 2):
        ...     _ = model.partial_fit(batch)
        >>> len(model.labels_), len(model.objective_)
        (30, 2)
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
            rows: Blocks = self._learn_preparation(fitted_blocks(self, X))
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
        size = (self.n_clusters, self.n_atoms)
        return new_starts(X, self.init, self.n_init, size, self.n_common, self.codes, graph, rng)

    def _keep(
        self, dictionary: Dictionary, labels: NDArray[Any], objective: list[float], sums: Sums, dtype: Any
    ) -> None:
        self.atoms_, self.common_atoms_ = dictionary.atoms.astype(dtype), dictionary.common.astype(dtype)
        self.labels_ = labels.astype(np.int64)
        self.objective_ = np.array(objective)
        self.counts_, self.products_, self.grams_ = sums.counts, sums.products, sums.grams

    # is it any good

    def select_n_clusters(
        self, X: ArrayLike, sizes: Iterable[int] = range(2, 13), *, n_runs: int = 5, n_jobs: int | None = None
    ) -> ClusterCounts:
        """Fit each number of clusters to several subsamples, and see how well the runs agree.

        This estimator's other parameters are used, and it stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        sizes : iterable of int, default=range(2, 13)
            Numbers of clusters to try, each at least 2.
        n_runs : int, default=5
            Subsamples, at least 2, each of 80 % of the rows.
        n_jobs : int or None, default=None
            Subsamples that run at the same time.

        Returns
        -------
        ClusterCounts
            The agreement for each number, and the number to take.

        Raises
        ------
        ValueError
            If X is not finite, ``sizes`` or ``n_runs`` is too small, or ``init`` are labels.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import CommonalityClustering
        >>> X = np.eye(4)[np.arange(60) % 3]
        >>> X[:, 3] = 0.5 * np.random.default_rng(0).standard_normal(60)
        >>> model = CommonalityClustering(n_atoms=1, n_common=1, n_init=1, random_state=0)
        >>> model.select_n_clusters(X, sizes=[2, 3], n_runs=2).best
        3
        """
        self._validate_params()
        if not isinstance(self.init, str):
            raise ValueError(
                "select_n_clusters needs a start of its own for every number of clusters, not given labels."
            )
        data = check_array(X, dtype=[np.float64, np.float32])
        return select_n_clusters(self, data, sizes, n_runs, n_jobs)
