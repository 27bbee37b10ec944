"""Slow and obvious: what the solvers are compared with."""

import numpy as np
import scipy.optimize


def nonnegative_least_squares(atoms, x):
    """SciPy's answer for one row; SciPy 1.12 to 1.15 sometimes returns a point that is not optimal, which its own
    gradient gives away, or none where atoms are alike: then another of its solvers answers."""
    try:
        code = scipy.optimize.nnls(atoms.T, x)[0]
    except (np.linalg.LinAlgError, RuntimeError):
        code = np.zeros(len(atoms))
    gradient = (x - code @ atoms) @ atoms.T
    scale = np.linalg.norm(x) * np.linalg.norm(atoms, axis=1) + np.finfo(float).tiny
    if (gradient / scale).max() <= 1e-10 and (np.abs(gradient) / scale)[code > 0].max(initial=0) <= 1e-10:
        return code
    return scipy.optimize.lsq_linear(atoms.T, x, bounds=(0, np.inf), method="bvls", tol=1e-15).x


def planted_cones(n=400, d=40, n_concepts=4, per_concept=3, noise=0.0, seed=0):
    """Rows that are non-negative mixtures of the atoms of one or two concepts each."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((n_concepts * per_concept, d))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    groups = np.repeat(np.arange(n_concepts), per_concept)
    Y = np.zeros((n, n_concepts), dtype=bool)
    for row in Y:
        row[rng.permutation(n_concepts)[: rng.integers(1, 3)]] = True
    codes = rng.exponential(size=(n, len(atoms))) * Y[:, groups] * (rng.random((n, len(atoms))) < 0.7)
    X = codes @ atoms + noise * rng.standard_normal((n, d))
    return X, Y, atoms, groups
