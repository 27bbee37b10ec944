"""Concept subspaces: fitting beside a plain transcription of Algorithm 1 and what a user would take instead."""

import time
from pathlib import Path

import numpy as np
import scipy.optimize
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.linear_model import Lasso

from benchmarks.harness import compare, report
from benchmarks.problems import dictionary, grouped
from pellucid import ConceptSubspaces
from pellucid.solvers import lasso

SWEEPS = 10


def run(results: Path) -> None:
    X, _, mask, groups = grouped()
    Y = np.column_stack([mask[:, groups == g].any(axis=1) for g in range(12)])
    X32 = X.astype(np.float32)
    settings = {"n_atoms": 10, "max_iter": SWEEPS, "tol": 0}
    ConceptSubspaces(10, max_iter=1, center=False).fit(X[:500], Y[:500])
    ConceptSubspaces(10, max_iter=1, center=False).fit(X32[:500], Y[:500])
    ours = ConceptSubspaces(**settings, center=False).fit(X, Y)

    # one sweep of the transcription takes as long as ten of ours many times over: time one, count ten
    one = []

    def plain():
        begun = time.perf_counter()
        result = plain_algorithm_1(X, Y, 10, 1)
        one.append(time.perf_counter() - begun)
        return result

    _, error, begin = plain()
    plain_seconds = begin + SWEEPS * (one[0] - begin)
    learner = MiniBatchDictionaryLearning(
        120, alpha=0.1, positive_code=True, max_iter=1, fit_algorithm="cd", random_state=0
    )
    row = compare(
        "fit, 20 000 × 512, 12 concepts of 10 atoms, 10 sweeps, float64",
        {
            "ours": lambda: ConceptSubspaces(**settings, center=False).fit(X, Y),
            "ours in float32": lambda: ConceptSubspaces(**settings, center=False).fit(X32, Y),
            "MiniBatchDictionaryLearning(positive_code=True), 1 pass, no labels": lambda: learner.fit(X32),
        },
        rounds=3,
        slow={"MiniBatchDictionaryLearning(positive_code=True), 1 pass, no labels": 1},
        target="≥ 25× the transcription",
        agreement=f"error after one sweep: ours {ours.objective_[1]:.6f}, transcription {error:.6f}",
    )
    name = "plain NumPy and SciPy transcription (one sweep timed, ten counted)"
    row.best[name] = row.median[name] = plain_seconds
    row.__post_init__()
    report("concepts", "Concept subspaces", [row, taken_apart()], results)


def taken_apart():
    """A row as parts of 12 concepts, or as words of a vocabulary: SpLiCE's positive lasso, row by row."""
    rows, words = dictionary(1000, 384, 10_000)
    rows, alpha, few = rows.astype(np.float32), 0.15, 5
    model = ConceptSubspaces(10, max_iter=1, center=False).fit(rows, np.eye(12, dtype=bool)[np.arange(len(rows)) % 12])
    peer = Lasso(alpha / rows.shape[1], positive=True, fit_intercept=False, tol=1e-8, max_iter=100_000)

    def row_by_row():
        return np.array([peer.fit(words.T, row).coef_ for row in rows[:few]])

    mine, theirs = lasso(rows[:few].astype(np.float64), words, alpha, positive=True).codes, row_by_row()
    name = f"SpLiCE's way, scikit-learn's Lasso row by row ({few} rows timed, {len(rows)} counted)"
    found = compare(
        f"take {len(rows)} rows of 384 apart: into 120 atoms of 12 concepts, or into 10 000 words",
        {
            "ours": lambda: model.transform(rows),
            "our own lasso over the words": lambda: lasso(rows, words.astype(np.float32), alpha, positive=True),
            name: row_by_row,
        },
        rounds=2,
        agreement=f"lasso codes, largest difference {np.abs(mine - theirs).max():.0e}",
    )
    for times in (found.best, found.median):
        times[name] *= len(rows) / few
    found.__post_init__()
    return found


def scipy_nnls(atoms, x):
    return scipy.optimize.nnls(atoms.T, x)[0]


def plain_algorithm_1(X, Y, n_atoms, sweeps, solve=scipy_nnls):
    """Algorithm 1 as it is printed: a loop over scipy's NNLS, a full SVD an atom. (atoms, error, set-up time)."""
    begun = time.perf_counter()
    groups = np.repeat(np.arange(Y.shape[1]), n_atoms)
    atoms = []
    for j in range(Y.shape[1]):
        left, values, right = np.linalg.svd(X[Y[:, j]], full_matrices=False)
        for k in range(n_atoms):
            up, down = (np.linalg.norm(np.maximum(s * left[:, k], 0)) for s in (1, -1))
            atoms.append(right[k] if up >= down else -right[k])
    atoms = np.array(atoms)
    set_up = time.perf_counter() - begun
    error = np.nan
    for _ in range(sweeps):
        codes = np.zeros((len(X), len(atoms)))
        for i in range(len(X)):
            index = np.flatnonzero(Y[i, groups])
            codes[i, index] = solve(atoms[index], X[i])
        for m in range(len(atoms)):
            support = np.flatnonzero(codes[:, m])
            if not support.size:
                continue
            others = np.arange(len(atoms)) != m
            E = X[support] - codes[np.ix_(support, others)] @ atoms[others]
            left, values, right = np.linalg.svd(E, full_matrices=False)
            beta, b = values[0] * left[:, 0], right[0]
            if np.linalg.norm(np.maximum(beta, 0)) < np.linalg.norm(np.maximum(-beta, 0)):
                beta, b = -beta, -b
            atoms[m], codes[support, m] = b, np.maximum(beta, 0)
        error = np.square(X - codes @ atoms).sum() / len(X)
    return atoms, error, set_up
