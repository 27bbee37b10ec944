"""How much of a model would come out again from other rows of the same kind, and how much it tells about new ones."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.linalg import subspace_angles
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

from pellucid._core.arrays import unit_rows
from pellucid._core.progress import progress
from pellucid.concepts.labels import Indicator

if TYPE_CHECKING:
    from pellucid.concepts.estimator import ConceptSubspaces

# an atom "comes out again" if its partner in another run has at least this cosine with it
SAME_ATOM = 0.9


@dataclass(frozen=True)
class Stability:
    """What refitting on resampled rows says about a model: means over the runs; nan where a label is constant.

    Attributes
    ----------
    concept_names : list of str
        The S concepts.
    atom_cosine : ndarray of shape (M,)
        Cosine of each atom with its partner in a refit (partners within a concept, best pairing overall).
    cone_overlap : ndarray of shape (S,)
        Mean squared cosine of the principal angles between a cone's span and the refit's: 1 is the same span, 0 an
        orthogonal one.
    reproduced : float
        Share of atoms whose partner has a cosine of at least 0.9.
    explained : float
        Share of the energy of held-out rows that the cones of their concepts explain.
    auc : ndarray of shape (S,)
        How well a concept's share tells held-out rows that have it from others (area under the ROC curve).
    auc_random : ndarray of shape (S,)
        The same for random cones with as many atoms.
    auc_permuted : ndarray of shape (S,)
        The same for a fit to labels that were shuffled among the rows.
    n_runs : int
        Refits.

    See Also
    --------
    ConceptSubspaces.stability : Makes it.

    Examples
    --------
    >>> from pellucid import ConceptSubspaces
    >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
    >>> model = ConceptSubspaces(1, center=False, random_state=0).fit(X, y)
    >>> print(str(model.stability(X, y, n_runs=2)).splitlines()[0])
    100% of the atoms come out again (cosine ≥ 0.9) in 2 refits; 100% of the energy of held-out rows is explained.
    """

    concept_names: list[str]
    atom_cosine: NDArray[np.float64]
    cone_overlap: NDArray[np.float64]
    reproduced: float
    explained: float
    auc: NDArray[np.float64]
    auc_random: NDArray[np.float64]
    auc_permuted: NDArray[np.float64]
    n_runs: int

    def __str__(self) -> str:
        width = max(map(len, self.concept_names), default=0)
        lines = [
            f"{self.reproduced:.0%} of the atoms come out again (cosine ≥ {SAME_ATOM}) in {self.n_runs} refits; "
            f"{self.explained:.0%} of the energy of held-out rows is explained.",
            f"{'':{width}}  same span   AUC   random  permuted",
        ]
        for name, overlap, auc, random, permuted in zip(
            self.concept_names, self.cone_overlap, self.auc, self.auc_random, self.auc_permuted
        ):
            lines.append(f"{name:{width}}  {overlap:9.2f}  {auc:5.3f}  {random:6.3f}  {permuted:8.3f}")
        return "\n".join(lines)


def stability(
    model: Any,
    X: NDArray[Any],
    Y: Indicator,
    n_runs: int,
    held_out: tuple[NDArray[Any], Indicator] | None,
    n_jobs: int | None,
) -> Stability:
    """Refit ``model`` on ``n_runs`` bootstrap samples of the rows, and once more on each with shuffled labels."""
    if n_runs < 1:
        raise ValueError(f"n_runs must be at least 1, got {n_runs}.")
    seeds = check_random_state(model.random_state).randint(2**31 - 1, size=n_runs)
    jobs = (delayed(_one_run)(model, X, Y, held_out, int(seed)) for seed in seeds)
    runs = []
    with progress("Refits", n_runs, bool(getattr(model, "verbose", 0))) as advance:
        for run in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
            runs.append(run)
            advance("")
    cosines, overlaps, explained, *aucs = (np.array(column) for column in zip(*runs))
    auc, random, permuted = (_mean_of_known(a) for a in aucs)
    return Stability(
        [str(name) for name in model.concept_names_],
        cosines.mean(axis=0),
        overlaps.mean(axis=0),
        float((cosines >= SAME_ATOM).mean()),
        float(_mean_of_known(explained)),
        auc,
        random,
        permuted,
        n_runs,
    )


def _one_run(
    model: ConceptSubspaces, X: NDArray[Any], Y: Indicator, held_out: tuple[NDArray[Any], Indicator] | None, seed: int
) -> tuple[Any, ...]:
    """X and held-out rows are raw: a refit takes the mean of its own rows."""
    rng = np.random.default_rng(seed)
    rows = _resample(Y, rng)
    unseen = np.setdiff1d(np.arange(len(X)), rows)
    new_X, new_Y = held_out if held_out is not None else (X[unseen], Y[unseen])
    sizes: Any = np.bincount(model.groups_, minlength=len(model.concept_names_)).tolist()
    if isinstance(model.n_atoms, str):  # a refit finds by itself how many
        sizes = model.n_atoms
    fresh = clone(model).set_params(n_atoms=sizes, verbose=0, random_state=seed, presence=False)
    names = list(model.concept_names_)
    with progress("A refit", 2, enabled=False) as advance:
        again = clone(fresh).fit(X[rows], Y[rows], names)
        advance("")
        permuted = fresh.fit(X[rows], Y[rng.permutation(rows)], names)
        advance("")
    return (
        *match(model, again),
        explained_energy(again, new_X, new_Y),
        share_auc(again, new_X, new_Y),
        share_auc(with_random_atoms(again, rng), new_X, new_Y),
        share_auc(permuted, new_X, new_Y),
    )


def match(model: ConceptSubspaces, other: ConceptSubspaces) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cosine of each atom (M,) with its partner in the same concept of another model, the pairing with the largest sum;
    and the overlap (S,) of the spans. An atom without a partner has cosine 0."""
    cosines = np.zeros(len(model.groups_))
    overlaps = np.empty(len(model.concept_names_))
    for j in range(len(overlaps)):
        mine = np.flatnonzero(model.groups_ == j)
        A = model.atoms_[mine].astype(np.float64)
        B = other.atoms_[other.groups_ == j].astype(np.float64)
        pairs = linear_sum_assignment(A @ B.T, maximize=True)
        cosines[mine[pairs[0]]] = (A @ B.T)[pairs]
        overlaps[j] = float(np.mean(np.cos(subspace_angles(A.T, B.T)) ** 2))
    return cosines, overlaps


def explained_energy(model: ConceptSubspaces, X: NDArray[Any], Y: Indicator) -> float:
    """1 − ‖X − X̂‖²/‖X‖² of prepared rows, each coded over the atoms of its own concepts; nan without rows."""
    rows = model.prepare(X) if len(X) else X
    total = float(np.einsum("ij,ij->", rows, rows, dtype=np.float64))
    if total == 0:
        return np.nan
    rest = rows - model.inverse_transform(model.cones.encode(rows, Y)).astype(rows.dtype)
    return 1 - float(np.einsum("ij,ij->", rest, rest, dtype=np.float64)) / total


def share_auc(model: ConceptSubspaces, X: NDArray[Any], Y: Indicator) -> NDArray[np.float64]:
    """Per concept, how often a row that has it has a larger share of it than one that has not; nan if all agree."""
    out = np.full(Y.shape[1], np.nan)
    if len(X):
        shares = model.shares(X)
        for j in np.flatnonzero(Y.any(axis=0) & ~Y.all(axis=0)):
            out[j] = roc_auc_score(Y[:, j], shares[:, j])
    return out


def with_random_atoms(model: ConceptSubspaces, rng: np.random.Generator) -> ConceptSubspaces:
    """A model of the same shape that has learned nothing."""
    other = copy.copy(model)
    other.atoms_ = unit_rows(rng.standard_normal(model.atoms_.shape)).astype(model.atoms_.dtype)
    return other


def _resample(Y: Indicator, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows drawn with replacement, and one more for each concept that the draw missed."""
    rows = rng.integers(len(Y), size=len(Y))
    missed = np.flatnonzero(~Y[rows].any(axis=0))
    return np.concatenate([rows, [rng.choice(np.flatnonzero(Y[:, j])) for j in missed]]).astype(np.int64)


def _mean_of_known(values: NDArray[np.float64]) -> NDArray[np.float64]:
    known = ~np.isnan(values)
    return np.where(
        known.any(axis=0), np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1), np.nan
    )
