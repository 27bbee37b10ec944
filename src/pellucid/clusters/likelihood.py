"""How the default model is learned: directions, neighbours and a partition of a sample, then passes over all rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pellucid._core.arrays import Floats
from pellucid._core.checkpoint import Checkpoint
from pellucid._core.progress import progress
from pellucid.clusters.certainty import Certainty, certainty_of
from pellucid.clusters.communities import partition, scaled_graph
from pellucid.clusters.directions import CLUSTER_DIRECTIONS, Directions, DistinctRows, distinct, find_directions
from pellucid.clusters.ellipsoids import Ellipsoids, Moments, best_ellipsoids, moments_of
from pellucid.clusters.learning import FORGET, SETTLED
from pellucid.clusters.neighbours import Neighbours, balanced
from pellucid.clusters.refining import Refined, Rows, believed, random_start, refine, renamed, unseen_cost
from pellucid.clusters.starts import GRAPH_ROWS, given_labels, kmeans_labels, sample
from pellucid.rows import Blocks
from pellucid.rows.batches import batches
from pellucid.rows.fitting import first_state, fold, run

# rows of a sample for each cluster, at least
ROWS_A_CLUSTER = 20
# rows that are placed at a time
BLOCK_ROWS = 16_384
NO_LABELS = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True)
class Schedule:
    """What a fit is asked for."""

    n_clusters: int
    init: Any
    n_init: int
    scale: str | bool
    max_iter: int
    tol: float
    batch_size: int | None
    verbose: Any


@dataclass(frozen=True)
class Placing:
    """All that says where a row belongs."""

    directions: Directions
    ellipsoids: Ellipsoids
    near: Neighbours

    @property
    def D(self) -> int:
        return int(self.ellipsoids.means.shape[1])

    def costs(self, X: NDArray[Any]) -> Floats:
        """What prepared rows (n, d) cost in each cluster (n, C), less what their neighbours pull."""
        return self.costs_at(self.directions.into(X))

    def costs_at(self, Z: Floats) -> Floats:
        own = self.ellipsoids.costs(np.ascontiguousarray(Z[:, : self.D]))
        return own - self.near.pulls(Z, own.shape[1])


@dataclass(frozen=True)
class Sampled:
    """What a partition of a sample leaves: how rows are placed, the distinct rows of the sample and their partition."""

    placing: Placing
    rows: Rows
    distinct: DistinctRows
    refined: Refined
    modularity: Floats | None


@dataclass
class Passing:
    """How far passes over all rows have come.

    moments : of the rows in their clusters, about the means of ``placing``
    labels (n,), objective : of all rows, by ``placing``; with mini-batches the mean cost of a row as it was met
    """

    placing: Placing
    moments: Moments
    labels: NDArray[Any]
    objective: list[float]
    modularity: Floats | None
    certainty: Certainty
    moved: float = 1.0
    done: bool = False

    def said(self) -> str:
        return f"objective {self.objective[-1]:.5g}, {self.moved:.2%} of the rows moved"


# what a checkpoint is made of
KINDS = (Passing, Placing, Directions, Ellipsoids, Neighbours, Moments, Certainty)


# a sample


def learn_sample(X: NDArray[Any], asked: Schedule, rng: np.random.RandomState, graph: Any = None) -> Sampled:
    """A partition of rows in memory, from the start that is asked for."""
    known = distinct(X)
    rows = X[known.first]
    C = min(asked.n_clusters, len(rows))
    if asked.n_clusters > C:
        warnings.warn(
            f"There are only {len(rows)} different rows for {asked.n_clusters} clusters, so there are {C} clusters.",
            stacklevel=7,
        )
    with progress("clustering", 4, bool(asked.verbose)) as advance:
        directions = find_directions(rows, known.weights, asked.scale)
        Z = directions.into(rows)
        advance("neighbours")
        weights, scale = scaled_graph(Z) if graph is None else graph
        advance("communities")
        data = Rows(np.ascontiguousarray(Z[:, :CLUSTER_DIRECTIONS]), known.weights, balanced(weights))
        found, values = partitioned(data, weights, C, asked, known, rng)
        if isinstance(asked.init, str):
            found = renamed(found, known.weights)
        advance("clusters")
    if not found.settled and asked.tol > 0:
        said_unsettled(asked.max_iter)
    degree = np.asarray(weights.sum(axis=1)).ravel()
    near = Neighbours(Z, found.labels, scale, degree, found.pull)
    return Sampled(Placing(directions, found.ellipsoids, near), data, known, found, values)


def partitioned(
    rows: Rows,
    graph: sparse.csr_matrix,
    C: int,
    asked: Schedule,
    known: DistinctRows,
    rng: np.random.RandomState,
) -> tuple[Refined, Floats | None]:
    """The partition, and the modularity of those that were tried if it comes from communities."""
    steps = asked.max_iter, asked.tol
    if not isinstance(asked.init, str):
        given = asked.init[known.first]
        if given.max() >= C:  # there are fewer different rows than labels
            given = np.unique(given, return_inverse=True)[1]
        return refine(rows, given, C, None, *steps), None
    if C == 1:
        return refine(rows, np.zeros(len(rows.Z), dtype=np.int64), 1, 0.0, *steps), None
    if asked.init == "auto":
        start, values = partition(graph, C, asked.n_init, rng)
        return believed(rows, start, C, asked.n_init, *steps, rng), values
    if asked.init == "random":
        tried = [random_start(rows, C, *steps, rng) for _ in range(asked.n_init)]
    else:
        starts = [kmeans_labels(rows.Z, C, rng, rows.weights) for _ in range(asked.n_init)]
        tried = [refine(rows, start, C, None, *steps) for start in starts]
    return min(tried, key=lambda one: unseen_cost(rows, one)), None


def said_unsettled(max_iter: int) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"CommonalityClustering made {max_iter} sweeps and rows still moved; raise max_iter or tol.",
        ConvergenceWarning,
        stacklevel=8,
    )


# all rows


def learn(
    X: Blocks, asked: Schedule, rng: np.random.RandomState, kept: Checkpoint | None, graph: Any = None
) -> Passing:
    """A sample's partition; if there are more rows, passes over all of them, in which the sample's neighbours stay."""

    if not isinstance(asked.init, str):
        asked = replace(asked, init=given_labels(asked.init, len(X), asked.n_clusters))

    def begin_fit() -> Passing:
        index = sample(len(X), max(GRAPH_ROWS, ROWS_A_CLUSTER * asked.n_clusters), rng)
        some = X.take(index)
        here = asked if isinstance(asked.init, str) else replace(asked, init=asked.init[index])
        found = learn_sample(some, here, rng, graph)
        certainty = certainty_of(found.rows, found.refined, found.placing.directions, some[found.distinct.first])
        if len(index) < len(X):
            return begin(X, found.placing, found.modularity, certainty)
        about = found.placing.ellipsoids.means
        moments = moments_of(found.rows.Z, found.rows.weights, found.refined.labels, about)
        labels = found.refined.labels[found.distinct.which]
        return Passing(found.placing, moments, labels, found.refined.objective, found.modularity, certainty, done=True)

    def step(state: Passing) -> Passing:
        if asked.batch_size is not None:
            return batch_sweep(X, state, asked.batch_size, asked.tol, rng)
        return settling(state, sweep(X, state), asked.tol)

    state, _ = run(
        first_state(begin_fit, kept),
        step,
        lambda state: state.done or len(state.objective) > asked.max_iter,
        kept=kept,
        bar=("clustering", asked.max_iter, asked.verbose),
        say=lambda state: state.said(),
        stopped=lambda state: f"Stopped after {len(state.objective) - 1} sweeps; what was learned is usable.",
        stacklevel=5,
    )
    if len(state.labels) < len(X):  # after mini-batches
        last = begin(X, state.placing, state.modularity, state.certainty)
        state = replace(last, moments=state.moments, objective=state.objective[1:] + last.objective)
    return state


def begin(X: Blocks, placing: Placing, values: Floats | None, certainty: Certainty) -> Passing:
    """All rows placed: one pass."""
    moments, labels, cost = Moments.zero(*placing.ellipsoids.means.shape), [], 0.0
    for part, mine, spent in X.each(partial(part_places, placing)):
        moments.add(part)
        labels.append(mine)
        cost += spent
    return Passing(
        placing, moments, np.concatenate(labels), [cost + placing.ellipsoids.prior_cost()], values, certainty
    )


def part_places(placing: Placing, blocks: Iterator[NDArray[Any]]) -> tuple[Moments, NDArray[Any], float]:
    """Moments of a part, the clusters of its rows, and what they cost."""
    about = placing.ellipsoids.means
    moments, labels, cost = Moments.zero(*about.shape), [], 0.0
    for block in blocks:
        for start in range(0, len(block), BLOCK_ROWS):
            Z = placing.directions.into(np.asarray(block[start : start + BLOCK_ROWS]))
            costs = placing.costs_at(Z)
            mine = costs.argmin(axis=1)
            moments.add(moments_of(Z[:, : placing.D], None, mine, about))
            labels.append(mine.astype(np.min_scalar_type(len(about) - 1)))
            cost += float(costs[np.arange(len(mine)), mine].sum())
    return moments, np.concatenate(labels), cost


def sweep(X: Blocks, state: Passing) -> Passing:
    """The ellipsoids of the rows as they are placed, then the place of every row."""
    new = begin(X, with_moments(state.placing, state.moments), state.modularity, state.certainty)
    return replace(new, objective=state.objective + new.objective)


def with_moments(placing: Placing, moments: Moments) -> Placing:
    old = placing.ellipsoids
    return replace(placing, ellipsoids=best_ellipsoids(moments, old.means, old.common))


def settling(before: Passing, after: Passing, tol: float) -> Passing:
    """The state after a sweep, with whether it was the last that is needed."""
    fell = (before.objective[-1] - after.objective[-1]) / max(abs(before.objective[-1]), 1e-300)
    moved = float(np.mean(before.labels != after.labels))
    return replace(after, moved=moved, done=bool(fell <= tol or moved < SETTLED * (tol > 0)))


# mini-batches


def batch_sweep(X: Blocks, state: Passing, size: int, tol: float, rng: np.random.RandomState) -> Passing:
    """Mini-batches that cover all rows, part after part, and the mean cost of a row as it was met."""
    before = state.placing, state.moments, 0.0
    placing, moments, spent = fold(X, partial(part_batches, size), before, rng)
    cost = spent / len(X)
    done = abs(state.objective[-1] - cost) <= max(tol, 1e-3 * (tol > 0)) * abs(cost)
    return replace(
        state, placing=placing, moments=moments, labels=NO_LABELS, objective=[*state.objective, cost], done=bool(done)
    )


def part_batches(
    size: int, state: tuple[Placing, Moments, float], blocks: Iterator[NDArray[Any]], rng: np.random.RandomState
) -> tuple[Placing, Moments, float]:
    placing, moments, spent = state
    for block in blocks:
        for rows in batches(len(block), size, rng):
            placing, moments, cost = batch_step(np.asarray(block[rows]), placing, moments)
            spent += cost * len(rows)
    return placing, moments, spent


def batch_step(X: NDArray[Any], placing: Placing, moments: Moments) -> tuple[Placing, Moments, float]:
    """One mini-batch: its rows placed, then the ellipsoids of the rows so far, in which earlier ones count
    ``1 − FORGET``. Also returns the batch's cost per row, as it was met."""
    Z = placing.directions.into(X)
    costs = placing.costs_at(Z)
    labels = costs.argmin(axis=1)
    about = placing.ellipsoids.means
    new = moments_of(Z[:, : placing.D], None, labels, about)
    new.add(moments, 1.0 - FORGET)
    after = with_moments(placing, new)
    cost = float(costs[np.arange(len(labels)), labels].mean())
    return after, new.about(after.ellipsoids.means - about), cost
