"""Clusters of rows that are never held as a whole: sums of every block, one small step for all atoms in the middle.

The steps are those of rows in memory. Of the rows themselves a pass brings back their labels, a byte each if there are
few clusters.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from pellucid._core.checkpoint import Checkpoint, fingerprint
from pellucid._core.progress import progress
from pellucid._core.threads import one_blas_thread
from pellucid.clusters.atoms import update_atoms
from pellucid.clusters.coding import Coder, Sums, code_rows, row_blocks, sums_of
from pellucid.clusters.learning import SETTLED, batch_step
from pellucid.clusters.objective import Dictionary, Floats, Penalties, incoherence
from pellucid.clusters.starts import leading_directions, sample
from pellucid.rows import Blocks
from pellucid.rows.batches import batches

if TYPE_CHECKING:
    from pellucid.clusters.estimator import CommonalityClustering

# rows by which a checkpoint knows its data again
KNOWN_ROWS = 64


@dataclass
class State:
    """A fit under way: the objective at the start and after each sweep (of mini-batches the cost of a row in each), and
    the labels under the dictionary, which mini-batches find at the end."""

    dictionary: Dictionary
    sums: Sums | None
    history: list[float]
    labels: NDArray[Any]
    done: bool = False

    def packed(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays = {"atoms": self.dictionary.atoms, "common": self.dictionary.common, "history": np.array(self.history)}
        arrays["labels"] = self.labels
        if self.sums is None:
            return arrays, {"done": self.done}
        sums = {"counts": self.sums.counts, "products": self.sums.products, "grams": self.sums.grams}
        return arrays | sums, {"done": self.done, "cost": self.sums.cost}

    @staticmethod
    def unpacked(arrays: dict[str, NDArray[Any]], values: dict[str, Any]) -> State:
        dictionary = Dictionary(arrays["atoms"], arrays["common"])
        sums = None
        if "counts" in arrays:
            sums = Sums(arrays["counts"], arrays["products"], arrays["grams"], float(values["cost"]))
        return State(dictionary, sums, arrays["history"].tolist(), arrays["labels"], bool(values["done"]))


def fit_blocks(
    model: CommonalityClustering, X: Blocks, start_rows: int, checkpoint: str | os.PathLike[str] | None
) -> CommonalityClustering:
    """``model`` fitted by sweeps over blocks, from one start that a sample of ``start_rows`` rows makes."""
    model._check()
    model._check_size(len(X))
    if not isinstance(model.init, str):
        raise ValueError("Blocks start from a sample of rows, so init must be a word and not labels.")
    model.__dict__.pop("feature_names_in_", None)
    model.n_features_in_ = X.shape[1]
    penalties = model._penalties()
    with one_blas_thread():  # sums in one order: the same bits on any number of threads
        state = descend(model, X, start_rows, penalties, checkpoint)
        sums, labels, inertia, history = state.sums, state.labels, state.history[-1], state.history
        if model.batch_size is not None:
            found, labels = block_sums(X, state.dictionary, penalties)
            sums, inertia, history = sums or found, objective(found, state.dictionary, penalties), history[1:]
    assert sums is not None
    model._keep(state.dictionary, labels.astype(np.int64), history, sums, X.dtype)
    model.n_iter_, model.inertia_ = len(state.history) - 1, float(inertia)
    return model


def descend(
    model: CommonalityClustering,
    X: Blocks,
    start_rows: int,
    penalties: Penalties,
    checkpoint: str | os.PathLike[str] | None,
) -> State:
    """Sweeps from a start, or from where a checkpoint is."""
    rng = check_random_state(model.random_state)
    settings = {key: value for key, value in model.get_params().items() if key not in ("max_iter", "verbose")}
    mark = fingerprint(sorted(settings.items(), key=str), *known_rows(X))
    kept = None if checkpoint is None else Checkpoint(checkpoint, mark)
    found = None if kept is None else kept.load(rng)
    if found is None:
        some = X.take(sample(len(X), start_rows, rng))
        start = model._starts(some, rng, None)[0][0].astype(X.dtype)
        state = State(start, None, [np.nan], np.empty(0, dtype=np.uint8))
        if model.batch_size is None:
            state.sums, state.labels = block_sums(X, start, penalties)
            state.history = [objective(state.sums, start, penalties)]
    else:
        state = State.unpacked(*found)
        model.__dict__.pop("modularity_", None)
        if "modularity" in found[0]:
            model.modularity_ = found[0]["modularity"]
    try:
        with progress("clustering", model.max_iter, bool(model.verbose)) as advance:
            while True:
                if kept is not None:
                    arrays, values = state.packed()
                    if hasattr(model, "modularity_"):  # of the start, which a resumed fit does not make
                        arrays["modularity"] = model.modularity_
                    kept.save(arrays, values, rng)
                if state.done or len(state.history) > model.max_iter:
                    break
                state = next_state(X, state, penalties, model.batch_size, float(model.tol), rng)
                advance(f"objective {state.history[-1]:.5g}")
    except KeyboardInterrupt:
        warnings.warn(f"Stopped after {len(state.history) - 1} sweeps; what was learned is usable.", stacklevel=5)
        return state
    if not state.done and model.tol > 0 and model.batch_size is None:
        warnings.warn(
            f"CommonalityClustering made {model.max_iter} sweeps and rows still moved; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return state


def next_state(
    X: Blocks,
    state: State,
    penalties: Penalties,
    batch_size: int | None,
    tol: float,
    rng: np.random.RandomState,
) -> State:
    """One sweep, and whether it was the last that was needed."""
    if batch_size is not None:
        dictionary, sums, cost = batch_sweep(X, state.dictionary, state.sums, penalties, batch_size, rng)
        done = abs(state.history[-1] - cost) <= max(tol, 1e-3 * (tol > 0)) * cost
        return State(dictionary, sums, [*state.history, cost], state.labels, bool(done))
    assert state.sums is not None
    dictionary, sums, labels = block_sweep(X, state.dictionary, state.sums, penalties, rng)
    value = objective(sums, dictionary, penalties)
    fell = (state.history[-1] - value) / max(state.history[-1], 1e-300)
    moved = float(np.mean(labels != state.labels))
    done = fell <= tol or moved < SETTLED * (tol > 0)
    return State(dictionary, sums, [*state.history, value], labels, bool(done))


def block_sums(X: Blocks, dictionary: Dictionary, penalties: Penalties) -> tuple[Sums, NDArray[Any]]:
    """Sums and labels of all rows under a dictionary: one pass."""
    total: Sums | None = None
    labels = []
    for part, found in X.each(partial(part_sums, dictionary, penalties)):
        labels.append(found)
        if total is None:
            total = part
        else:
            total.add(part)
    assert total is not None
    return total, np.concatenate(labels)


def part_sums(
    dictionary: Dictionary, penalties: Penalties, blocks: Iterator[NDArray[Any]]
) -> tuple[Sums, NDArray[Any]]:
    total = coder = None
    labels = []
    for block in blocks:
        coder = coder or Coder(dictionary, penalties, block.dtype)
        for rows in row_blocks(len(block)):
            coded = code_rows(block[rows], coder, None)
            labels.append(coded.labels.astype(np.min_scalar_type(coder.C - 1)))
            found = sums_of(block[rows], coded, coder.C)
            if total is None:
                total = found
            else:
                total.add(found)
    assert total is not None
    return total, np.concatenate(labels)


def objective(sums: Sums, dictionary: Dictionary, penalties: Penalties) -> float:
    return sums.cost + incoherence(dictionary, penalties)


def block_sweep(
    X: Blocks,
    dictionary: Dictionary,
    sums: Sums,
    penalties: Penalties,
    rng: np.random.RandomState,
) -> tuple[Dictionary, Sums, NDArray[Any]]:
    """Every atom, then the sums of all rows under the new ones; empty clusters take two passes more."""
    new = update_atoms(sums, dictionary, penalties).astype(X.dtype)
    found, labels = block_sums(X, new, penalties)
    for c in np.flatnonzero(found.counts == 0):
        filled = with_new_atoms(X, new, found, int(c), penalties, rng).astype(X.dtype)
        refound, relabelled = block_sums(X, filled, penalties)
        if objective(refound, filled, penalties) < objective(found, new, penalties):
            new, found, labels = filled, refound, relabelled
    return new, found, labels


def with_new_atoms(
    X: Blocks, dictionary: Dictionary, sums: Sums, c: int, penalties: Penalties, rng: np.random.RandomState
) -> Dictionary:
    """An empty cluster gets the atoms of those rows of the largest cluster that cost more than the mean."""
    largest = int(np.argmax(sums.counts))
    moments, mean = X.total(partial(costly_moments, dictionary, penalties, largest, sums.cost / len(X)))
    atoms = dictionary.atoms.copy()
    if penalties.codes == "one":
        atoms[c] = mean[:-1] / max(mean[-1], 1.0)
    else:
        atoms[c] = leading_directions(moments, atoms.shape[1], rng)
    return Dictionary(atoms, dictionary.common)


class Moments(tuple[Floats, Floats]):
    """Second moments (d, d), and sums with the count behind them (d + 1,)."""

    def __add__(self, other: Any) -> Moments:
        return Moments((self[0] + other[0], self[1] + other[1]))


def costly_moments(
    dictionary: Dictionary, penalties: Penalties, cluster: int, limit: float, block: NDArray[Any]
) -> Moments:
    coded = code_rows(block, Coder(dictionary, penalties, block.dtype), None)
    rows = block[(coded.labels == cluster) & (coded.costs >= limit)].astype(np.float64)
    return Moments((rows.T @ rows, np.append(rows.sum(axis=0), len(rows))))


def batch_sweep(
    X: Blocks,
    dictionary: Dictionary,
    sums: Sums | None,
    penalties: Penalties,
    size: int,
    rng: np.random.RandomState,
) -> tuple[Dictionary, Sums, float]:
    """Mini-batches through all parts, in an order of its own, and the cost of a row as it was met."""
    order = rng.permutation(len(X.parts))
    seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=len(order))]
    step = partial(part_steps, penalties, size)
    dictionary, sums, spent = X.fold(step, (dictionary, sums, 0.0), order.tolist(), seeds)
    assert sums is not None
    return dictionary, sums, spent / len(X)


def part_steps(
    penalties: Penalties,
    size: int,
    state: tuple[Dictionary, Sums | None, float],
    blocks: Iterator[NDArray[Any]],
    seed: int,
) -> tuple[Dictionary, Sums | None, float]:
    dictionary, sums, spent = state
    rng = np.random.RandomState(seed)
    for block in blocks:
        for rows in batches(len(block), size, rng):
            dictionary, sums, cost = batch_step(block[rows], dictionary, sums, penalties)
            spent += cost * len(rows)
    return dictionary, sums, spent


def known_rows(X: Blocks) -> list[Any]:
    """What a checkpoint knows its data by."""
    first = next(iter(X.like(X.parts[:1]).each(first_rows)))
    return [X.shape, str(X.dtype), np.array([part.rows for part in X.parts]), first]


def first_rows(blocks: Iterator[NDArray[Any]]) -> NDArray[Any]:
    return next(blocks)[:KNOWN_ROWS]
