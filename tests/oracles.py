"""Slow and obvious: what the solvers are compared with."""

import numpy as np
import scipy.optimize


def nonnegative_least_squares(atoms, x):
    """SciPy's answer for one row; SciPy 1.12 to 1.15 sometimes returns a point that is not optimal, which its own
    gradient gives away: then another of its solvers answers."""
    code = scipy.optimize.nnls(atoms.T, x)[0]
    gradient = (x - code @ atoms) @ atoms.T
    scale = np.linalg.norm(x) * np.linalg.norm(atoms, axis=1) + np.finfo(float).tiny
    if (gradient / scale).max() <= 1e-10 and (np.abs(gradient) / scale)[code > 0].max(initial=0) <= 1e-10:
        return code
    return scipy.optimize.lsq_linear(atoms.T, x, bounds=(0, np.inf), method="bvls", tol=1e-15).x
