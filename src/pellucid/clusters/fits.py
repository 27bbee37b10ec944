"""What a fit leaves in the estimator, for either reading of the model, and how that becomes a model again."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid._core.saved import Fitted
from pellucid.clusters import learning, likelihood
from pellucid.clusters.certainty import Certainty
from pellucid.clusters.coding import Sums
from pellucid.clusters.directions import Directions, signed
from pellucid.clusters.ellipsoids import (
    Ellipsoids,
    Moments,
    atoms_of,
    drawn_to_ball,
    own_covariances,
    scatter,
)
from pellucid.clusters.neighbours import Neighbours
from pellucid.clusters.objective import Dictionary, Penalties
from pellucid.clusters.readings import DictionaryReading, LikelihoodReading, Reading
from pellucid.clusters.starts import Start, new_starts
from pellucid.rows import Blocks
from pellucid.rows.fitting import checkpoint_of

# the paper's sizes
PAPER_ATOMS, PAPER_COMMON = 20, 30
# share of what is a cluster's own, or common, that the atoms given by default hold
HELD = 0.9
# parameters that the default reading has no use for
PAPER_ONLY = ("ridge", "sparsity", "incoherence", "common_incoherence", "codes", "incoherence_between")

PAPER_ARRAYS = {
    "products_": Fitted("f", ("C", "codes", "n_features_in_"), optional=True),
    "grams_": Fitted("f", ("C", "codes", "codes"), optional=True),
}
LIKELIHOOD_ARRAYS = {
    "mean_": Fitted("f", ("n_features_in_",), optional=True),
    "column_scale_": Fitted("f", ("n_features_in_",), optional=True),
    "directions_": Fitted("f", ("G", "n_features_in_"), optional=True),
    "places_": Fitted("f", ("C", "D"), optional=True),
    "covariances_": Fitted("f", ("C", "D", "D"), optional=True),
    "prior_covariance_": Fitted("f", ("D", "D"), optional=True),
    "common_covariance_": Fitted("f", ("D", "D"), optional=True),
    "firsts_": Fitted("f", ("C", "D"), optional=True),
    "seconds_": Fitted("f", ("C", "D", "D"), optional=True),
    "neighbours_": Fitted("f", ("m", "G"), optional=True),
    "neighbour_labels_": Fitted("i", ("m",), optional=True),
    "neighbour_scale_": Fitted("f", ("m",), optional=True),
    "neighbour_degree_": Fitted("f", ("m",), optional=True),
    "pull_": Fitted("f", (1,), optional=True),
    "shares_": Fitted("f", ("C",), optional=True),
    "sharpness_": Fitted("f", (1,), optional=True),
    "rest_": Fitted("f", (2,), optional=True),
    "score_quantiles_": Fitted("f", ("quantiles",), optional=True),
}


def check_reading(model: Any) -> None:
    """Whether the parameters belong to one reading."""
    if model.reading == "paper":
        if model.codes == "one" and model.n_atoms not in (1, "auto"):
            raise ValueError(
                f'codes="one" gives every cluster a single atom, but n_atoms is {model.n_atoms}; set it to 1.'
            )
        if model.scale is True:
            raise ValueError('reading="paper" takes columns as they are: standardise them before fitting.')
        return
    defaults = type(model)().get_params(deep=False)
    for name in PAPER_ONLY:
        if getattr(model, name) != defaults[name]:
            raise ValueError(
                f'{name} belongs to reading="paper": the default reading has no such weight. Set reading, or leave '
                f"{name} alone."
            )
    if isinstance(model.init, str) and model.init == "paper":
        raise ValueError('init="paper" (k-means and K-SVD) starts dictionaries, so it needs reading="paper".')


def reading_of(model: Any) -> Reading:
    """A fitted estimator at work."""
    if not hasattr(model, "places_"):
        return DictionaryReading(Dictionary(model.atoms_, model.common_atoms_), penalties_of(model))
    return LikelihoodReading(placing_of(model), model.common_covariance_, model.atoms_, model.common_atoms_)


def forget(model: Any) -> None:
    """Take away what another reading left."""
    for name in (*PAPER_ARRAYS, *LIKELIHOOD_ARRAYS, "modularity_"):
        model.__dict__.pop(name, None)


# the default


# rows for each cluster, on average, among which a cluster of one is odd
ROWS_A_CLUSTER = 10


def fit_likelihood(
    model: Any, rows: Blocks, rng: np.random.RandomState, checkpoint: str | os.PathLike[str] | None
) -> None:
    """Learn the default model, and keep it."""
    init = model.init
    if model.warm_start and hasattr(model, "places_"):
        before = placing_of(model).costs(rows.take(np.arange(len(rows)))).argmin(axis=1)
        if len(np.unique(before)) == model.n_clusters:  # else one has no row of these
            init = before
    kept = checkpoint_of(checkpoint, model, rows, likelihood.KINDS, rng=rng)
    asked = likelihood.Schedule(
        model.n_clusters,
        init,
        model.n_init,
        model.scale,
        model.max_iter,
        float(model.tol),
        model.batch_size,
        model.verbose,
    )
    found = likelihood.learn(rows, asked, rng, kept)
    forget(model)
    keep_likelihood(model, found, rows.dtype)
    model.n_iter_ = len(found.objective) - 1
    if found.modularity is not None:
        model.modularity_ = found.modularity
    say_who_is_alone(model)


def say_who_is_alone(model: Any) -> None:
    """A warning of clusters that are a single row where others are many: rows far off have taken them."""
    counts = np.bincount(model.labels_)
    alone = np.flatnonzero(counts == 1)
    if not len(alone) or len(model.labels_) < ROWS_A_CLUSTER * len(counts):
        return
    rows = np.flatnonzero(np.isin(model.labels_, alone))[:3]
    warnings.warn(
        f"{len(alone)} of {len(counts)} clusters are a single row (row {', row '.join(map(str, rows))}"
        f"{' ...' if len(alone) > 3 else ''}, counting from 0), far from all others: look whether the numbers there "
        "are right, and fit without such rows.",
        stacklevel=4,
    )


def add_to_likelihood(model: Any, rows: Blocks) -> None:
    """One mini-batch more for a model that is fitted."""
    before = placing_of(model)
    moments = Moments(model.counts_, model.firsts_, model.seconds_)
    X = rows.take(np.arange(len(rows)))
    placing, moments, cost = likelihood.batch_step(X, before, moments)
    history, seen, values = [*model.objective_, cost], model.n_iter_ + 1, getattr(model, "modularity_", None)
    labels = placing.costs(X).argmin(axis=1)
    found = likelihood.Passing(placing, moments, labels, history, values, certainty_of(model))
    keep_likelihood(model, found, rows.dtype)
    model.n_iter_ = seen


def keep_likelihood(model: Any, found: likelihood.Passing, dtype: Any) -> None:
    """Fitted attributes of the default reading."""
    directions, ellipsoids, near = found.placing.directions, found.placing.ellipsoids, found.placing.near
    moments, certainty = found.moments, found.certainty
    model.labels_ = found.labels.astype(np.int64)
    model.objective_, model.inertia_ = np.array(found.objective), float(found.objective[-1])
    model.mean_, model.column_scale_, model.directions_ = directions.mean, directions.scale, directions.basis
    model.places_, model.covariances_ = ellipsoids.means, ellipsoids.covariances
    model.prior_covariance_ = ellipsoids.common
    within = scatter(moments)[1].sum(axis=0) / max(float(moments.counts.sum()), 1e-300)
    model.common_covariance_ = drawn_to_ball(within, len(near.places))
    model.counts_, model.firsts_, model.seconds_ = moments.counts, moments.firsts, moments.seconds
    model.neighbours_, model.neighbour_labels_ = near.places, near.labels
    model.neighbour_scale_, model.neighbour_degree_ = near.scale, near.degree
    model.pull_ = np.array([near.pull])
    model.shares_, model.sharpness_ = certainty.shares, np.array([certainty.sharpness])
    model.rest_, model.score_quantiles_ = certainty.rest, certainty.quantiles
    own = own_covariances(Ellipsoids(ellipsoids.means, ellipsoids.covariances, model.common_covariance_))
    least = 1e-9 * float(np.trace(model.common_covariance_)) / max(1, len(model.common_covariance_))
    each = [atoms_of(covariance, least) for covariance in own]
    k = asked_size(model.n_atoms, [variances for _, variances in each])
    model.atoms_ = np.stack([unit_atoms(directions, axes[:k]) for axes, _ in each]).astype(dtype)
    axes, variances = atoms_of(model.common_covariance_, least)
    k = asked_size(model.n_common, [variances])
    model.common_atoms_ = unit_atoms(directions, axes[:k]).astype(dtype)


def asked_size(size: int | str, variances: list[Floats]) -> int:
    """As many atoms as are asked for, if there are so many directions; "auto": those that hold enough everywhere."""
    D = len(variances[0])
    if not isinstance(size, str):
        return min(size, D)
    needed = [int(np.searchsorted(np.cumsum(one), HELD * one.sum())) + 1 for one in variances if one.sum() > 0]
    return max(needed, default=min(1, D))


def unit_atoms(directions: Directions, axes: Floats) -> Floats:
    """Directions among places (k, D) as unit rows (k, d)."""
    rows = directions.back(axes)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    return signed(rows / np.where(lengths > 0, lengths, 1.0))


def placing_of(model: Any) -> likelihood.Placing:
    near = Neighbours(
        model.neighbours_,
        model.neighbour_labels_,
        model.neighbour_scale_,
        model.neighbour_degree_,
        float(model.pull_[0]),
    )
    return likelihood.Placing(
        Directions(model.mean_, model.column_scale_, model.directions_),
        Ellipsoids(model.places_, model.covariances_, model.prior_covariance_),
        near,
    )


def certainty_of(model: Any) -> Certainty:
    return Certainty(model.shares_, float(model.sharpness_[0]), model.rest_, model.score_quantiles_)


# the paper's reading


def penalties_of(model: Any) -> Penalties:
    across = model.incoherence if model.common_incoherence is None else model.common_incoherence
    return Penalties(
        float(model.ridge),
        float(model.sparsity),
        float(model.incoherence),
        float(across),
        model.codes,
        model.incoherence_between == "all",
    )


def paper_sizes(model: Any) -> tuple[int, int]:
    """Atoms of each cluster, and common ones."""
    atoms = (1 if model.codes == "one" else PAPER_ATOMS) if model.n_atoms == "auto" else model.n_atoms
    return atoms, PAPER_COMMON if model.n_common == "auto" else model.n_common


def fit_dictionaries(
    model: Any, rows: Blocks, rng: np.random.RandomState, checkpoint: str | os.PathLike[str] | None, graph: Any
) -> None:
    """Learn the paper's model, and keep it."""
    penalties = penalties_of(model)
    # a fit from one start may be made longer; of several starts each was as long as it was to be
    several = model.init in ("kmeans", "random", "paper") if isinstance(model.init, str) else False
    several = several and model.n_init > 1 and model.batch_size is None
    silent = ("verbose",) if several else ("verbose", "max_iter")
    kept = checkpoint_of(checkpoint, model, rows, learning.KINDS, silent=silent, rng=rng)
    schedule = learning.Schedule(model.max_iter, float(model.tol), model.batch_size, model.verbose)
    best, modularity = learning.learn(rows, lambda: starts_of(model, rows, rng, graph), penalties, schedule, rng, kept)
    history, last = best.objective, best
    if model.batch_size is not None:
        history, last = best.objective[1:], learning.begin(rows, best.dictionary, None, penalties)
    sums = best.sums if best.sums.counts.any() else last.sums  # stopped before the first sweep
    forget(model)
    keep_dictionaries(model, best.dictionary, last.labels, history, sums, rows.dtype)
    model.n_iter_, model.inertia_ = len(best.objective) - 1, float(last.objective[-1])
    if modularity is not None:
        model.modularity_ = modularity


def add_to_dictionaries(model: Any, rows: Blocks, rng: np.random.RandomState, first: bool) -> None:
    """One mini-batch for the paper's model; the first one starts it."""
    penalties, data = penalties_of(model), rows.take(np.arange(len(rows)))
    if first:
        starts, modularity = starts_of(model, rows, rng, None)
        dictionary = starts[0].dictionary.astype(data.dtype)
        sums, history = Sums.zero(dictionary), []
        if modularity is not None:
            model.modularity_ = modularity
    else:
        dictionary = Dictionary(model.atoms_, model.common_atoms_).astype(data.dtype)
        sums, history = Sums(model.counts_, model.products_, model.grams_, 0.0), list(model.objective_)
    dictionary, sums, cost = learning.batch_step(data, dictionary, sums, penalties)
    last = learning.begin(rows, dictionary, None, penalties)
    keep_dictionaries(model, dictionary, last.labels, [*history, cost], sums, data.dtype)
    model.n_iter_, model.inertia_ = len(model.objective_), float(last.objective[-1])


def starts_of(model: Any, X: Blocks, rng: np.random.RandomState, graph: Any) -> tuple[list[Start], Any]:
    """Where to start, and if it comes from communities the modularity of all partitions that were found."""
    k, n_common = paper_sizes(model)
    if model.warm_start and hasattr(model, "atoms_") and not hasattr(model, "places_"):
        shape = (model.n_clusters, k, X.shape[1])
        if model.atoms_.shape != shape or len(model.common_atoms_) != n_common:
            raise ValueError("warm_start needs the n_clusters, n_atoms and n_common of the fit before.")
        return [Start(Dictionary(model.atoms_, model.common_atoms_), None)], getattr(model, "modularity_", None)
    return new_starts(X, model.init, model.n_init, (model.n_clusters, k), n_common, model.codes, graph, rng)


def keep_dictionaries(
    model: Any, dictionary: Dictionary, labels: NDArray[Any], objective: list[float], sums: Sums, dtype: Any
) -> None:
    model.atoms_, model.common_atoms_ = dictionary.atoms.astype(dtype), dictionary.common.astype(dtype)
    model.labels_ = labels.astype(np.int64)
    model.objective_ = np.array(objective)
    model.counts_, model.products_, model.grams_ = sums.counts, sums.products, sums.grams
