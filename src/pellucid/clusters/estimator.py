"""CommonalityClustering: clusters that are dictionaries, beside one dictionary for what all of them share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from pellucid._core.saved import NAMES_IN, Fitted, SavedMixin
from pellucid._core.tables import check_full_numbers
from pellucid._core.threads import one_blas_thread
from pellucid.clusters.base import ClusterModel
from pellucid.clusters.fits import (
    LIKELIHOOD_ARRAYS,
    PAPER_ARRAYS,
    add_to_dictionaries,
    add_to_likelihood,
    check_reading,
    fit_dictionaries,
    fit_likelihood,
)
from pellucid.clusters.model_selection import ClusterCounts, select_n_clusters
from pellucid.rows import Blocks, is_lazy
from pellucid.rows.lazy import fitted_blocks


class CommonalityClustering(ClusterModel, SavedMixin):
    """Clusters that vary each in its own way, beside what all of them share (paper 3, MtCluster).

    A row of cluster c is its mean, a combination of the cluster's own atoms and one of the common atoms:
    x = m_c + aD_c + bD₀. By default (``reading="likelihood"``) both codes have a ridge, which makes the atoms a
    covariance and the costs a likelihood, so that neither the scale of the rows nor their number matters; neighbours
    in the graph that the partition starts from keep together unless the rows speak against it. ``reading="paper"`` is
    the paper's own model: no means, a ridge on a, an ℓ₁ penalty on b and incoherent atoms, for rows of unit length.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters; :meth:`select_n_clusters` says which numbers the rows speak for.
    n_atoms : int or "auto", default="auto"
        Atoms of each cluster. "auto" gives those that hold nine tenths of what is a cluster's own, and is 20 in the
        paper's reading (1 with ``codes="one"``). By default the clusters do not depend on it.
    n_common : int or "auto", default="auto"
        Common atoms, chosen alike; "auto" is 30 in the paper's reading. 0 does without.
    reading : {"likelihood", "paper"}, default="likelihood"
        Which model is meant, see above.
    scale : "auto" or bool, default="auto"
        Whether columns are brought to one variance. "auto" does it where their ranges differ by more than a factor of
        ten, as those of a table with several units do. Not in the paper's reading.
    normalize : bool, default=False
        Bring rows to unit length first, in every method.
    center : bool, default=False
        Bring rows to unit length, subtract their mean and bring them to unit length again, in every method.
    ridge : float, default=0.01
        Weight of ‖a‖² in the paper's reading, as are the next five parameters; for rows of unit length.
    sparsity : float, default=0.1
        Weight of ‖b‖₁; with ``codes="lasso"`` of ‖a‖₁ too, which then has no ridge.
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
        node orders at two resolutions); from other words every start is.
    max_iter : int, default=50
        Sweeps.
    tol : float, default=1e-5
        Stop when the objective falls by less than this share in a sweep, or fewer than one row in 500 goes to another
        cluster; 0 goes on while anything changes.
    init : {"auto", "kmeans", "random", "paper"} or array-like of int of shape (n,), default="auto"
        "auto" starts from communities of the graph of nearest neighbours; "paper" from k-means and K-SVD, in the
        paper's reading; labels name a cluster from 0 to n_clusters − 1 for every row.
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
        Cluster of each row. By default cluster 0 is the largest.
    atoms_ : ndarray of shape (n_clusters, k, d)
        Atoms of the clusters, of unit length (but for ``codes="one"``); zero where a cluster has fewer.
    common_atoms_ : ndarray of shape (K₀, d)
        Common atoms, of unit length.
    n_atoms_ : int
        How many atoms each cluster has, k.
    n_common_ : int
        How many common atoms there are, K₀.
    means_ : ndarray of shape (n_clusters, d)
        The clusters' means, by default; the paper's clusters have none.
    column_scale_ : ndarray of shape (d,)
        What columns were divided by, by default; one number for all if they kept their units.
    objective_ : ndarray of shape (sweeps + 1,)
        The objective at the start and after each sweep; it never rises. With mini-batches: the mean cost of the rows as
        they were met in that sweep.
    inertia_ : float
        The objective at the end.
    n_iter_ : int
        Sweeps made.
    modularity_ : ndarray of shape (runs,)
        Modularity of the partitions that were found to start from, if ``init="auto"``.
    mean_ : ndarray of shape (d,)
        Mean of the rows; this and what follows up to the counts by default only.
    directions_ : ndarray of shape (G, d)
        Orthonormal directions in which rows vary most, the largest first.
    places_ : ndarray of shape (n_clusters, D)
        Means of the clusters along the first D directions.
    covariances_ : ndarray of shape (n_clusters, D, D)
        Covariances of the clusters along these.
    prior_covariance_ : ndarray of shape (D, D)
        What covariances were drawn towards.
    common_covariance_ : ndarray of shape (D, D)
        The covariance within clusters at the end.
    neighbours_ : ndarray of shape (m, G)
        Rows that pull others into their cluster, along all directions.
    neighbour_labels_ : ndarray of shape (m,)
        Their clusters.
    neighbour_scale_ : ndarray of shape (m,)
        How far each reaches.
    neighbour_degree_ : ndarray of shape (m,)
        The weight of its own neighbours.
    pull_ : ndarray of shape (1,)
        What agreement with all neighbours is worth, in cost.
    shares_ : ndarray of shape (n_clusters,)
        Shares of the rows that clusters have.
    sharpness_ : ndarray of shape (1,)
        How steeply chances fall with cost.
    rest_ : ndarray of shape (2,)
        Mean and deviation of the logarithm of what rows have outside of the directions.
    score_quantiles_ : ndarray of shape (1001,)
        Quantiles of the scores of rows that the clusters' shapes were not learned from.
    counts_ : ndarray of shape (n_clusters,)
        How many rows of each cluster there were; earlier mini-batches count a little less. This and the next four are
        what :meth:`partial_fit` remembers.
    firsts_ : ndarray of shape (n_clusters, D)
        Sums of the rows of each cluster about its place, by default.
    seconds_ : ndarray of shape (n_clusters, D, D)
        Sums of their squares, by default.
    products_ : ndarray of shape (n_clusters, k + K₀, d)
        In the paper's reading, products of the rows' codes with the rows.
    grams_ : ndarray of shape (n_clusters, k + K₀, k + K₀)
        In the paper's reading, products of the codes with each other.
    n_features_in_ : int
        Numbers per row, d.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from pellucid import CommonalityClustering
    >>> from pellucid.metrics import clustering_error
    >>> wine = load_wine()
    >>> model = CommonalityClustering(n_clusters=3, random_state=0).fit(wine.data)
    >>> round(clustering_error(model.labels_, wine.target), 2)
    0.05
    """

    _fitted_arrays: ClassVar[dict[str, Fitted]] = {
        "labels_": Fitted("i", ("n",)),
        "atoms_": Fitted("f", ("C", "k", "n_features_in_")),
        "common_atoms_": Fitted("f", ("K0", "n_features_in_")),
        "objective_": Fitted("f", ("T",)),
        "modularity_": Fitted("f", ("runs",), optional=True),
        "counts_": Fitted("f", ("C",)),
        **PAPER_ARRAYS,
        **LIKELIHOOD_ARRAYS,
        **NAMES_IN,
    }
    _fitted_values: ClassVar[dict[str, type]] = {"n_features_in_": int, "n_iter_": int, "inertia_": float}
    _lacking_params: ClassVar[dict[str, Any]] = {"reading": "paper"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_atoms": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_common": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "reading": [StrOptions({"likelihood", "paper"})],
        "scale": ["boolean", StrOptions({"auto"})],
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
        "init": [StrOptions({"auto", "kmeans", "random", "paper"}), "array-like"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        n_atoms: int | str = "auto",
        n_common: int | str = "auto",
        *,
        reading: str = "likelihood",
        scale: str | bool = "auto",
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
        self.reading = reading
        self.scale = scale
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
        >>> CommonalityClustering(2, init=[0, 0, 1, 1], random_state=0).fit(X).labels_
        array([0, 0, 1, 1])
        """
        return self._fit(X, None, checkpoint)

    def _fit(self, X: Any, graph: Any, checkpoint: str | os.PathLike[str] | None = None) -> CommonalityClustering:
        """``fit``, where the graph of the rows' neighbours may be known."""
        rows, rng = self._begin(X), check_random_state(self.random_state)
        with one_blas_thread():  # sums in one order: the same bits on any number of threads
            if self.reading == "paper":
                fit_dictionaries(self, rows, rng, checkpoint, graph)
            else:
                fit_likelihood(self, rows, rng, checkpoint)
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
        >>> X = np.eye(4)[np.arange(60) % 3] + 0.1 * np.random.default_rng(0).standard_normal((60, 4))
        >>> model = CommonalityClustering(3, random_state=0)
        >>> for batch in np.split(X, 2):
        ...     _ = model.partial_fit(batch)
        >>> len(model.labels_), int(model.counts_.sum())
        (30, 57)
        """
        first = not hasattr(self, "atoms_")
        rows = self._begin(X) if first else Blocks.held(self.prepare(X))
        rng = check_random_state(self.random_state)
        with one_blas_thread():
            if self.reading == "paper":
                add_to_dictionaries(self, rows, rng, first)
            elif first:
                fit_likelihood(self, rows, rng, None)
            else:
                add_to_likelihood(self, rows)
        return self

    def _begin(self, X: Any) -> Blocks:
        """The parameters checked, and the rows as a source."""
        self._validate_params()
        check_reading(self)
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

    # is it any good

    def select_n_clusters(self, X: ArrayLike, sizes: Iterable[int] | None = None, *, n_runs: int = 5) -> ClusterCounts:
        """Which numbers of clusters the rows speak for, and whether they speak for any.

        Partitions of some of the rows are compared with each other, and asked what unseen rows cost; at most 3 000 rows
        are looked at. This estimator stays as it is.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        sizes : iterable of int or None, default=None
            Numbers of clusters to try, each at least 2; None tries all up to what communities of the rows suggest.
        n_runs : int, default=5
            Subsamples, at least 2, each of 80 % of the rows.

        Returns
        -------
        ClusterCounts
            The range of numbers, the most stable one of it, and the curves behind them.

        Raises
        ------
        ValueError
            If X is not finite, or ``sizes`` or ``n_runs`` makes no sense.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid import CommonalityClustering
        >>> noise = np.random.default_rng(0).standard_normal((300, 5))
        >>> CommonalityClustering(random_state=0).select_n_clusters(noise).structured
        False
        """
        self._validate_params()
        check_full_numbers(X)
        data = check_array(X, dtype=[np.float64, np.float32])
        before = self._preparation()
        rows = data if before is None else before.fit(data).apply(data)
        return select_n_clusters(self, rows, sizes, n_runs)
