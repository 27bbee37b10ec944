"""Atoms under way, and the steps that improve them on rows that are at hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pellucid._core.threads import one_blas_thread
from pellucid.concepts.labels import Indicator
from pellucid.concepts.learning import Floats, Sweep, mean_error, solve_codes, update_atoms
from pellucid.rows.batches import batches


@dataclass
class Learner:
    """Atoms (M, d) of concepts ``groups`` (M,), and how they are improved."""

    atoms: Floats
    groups: NDArray[np.int64]
    update: str
    monotone: bool
    ridge: float

    def codes(self, X: Floats, Y: Indicator, init: Floats | None = None) -> Floats:
        return solve_codes(X, Y, self.atoms, self.groups, self.ridge, init)

    def step(self, X: Floats, Y: Indicator, codes: Floats, reseed: bool = True) -> Sweep:
        """Every atom once, in place."""
        # one thread for the many small products; passes over rows run on all threads anyway
        with one_blas_thread():
            return update_atoms(
                X, Y, self.atoms, self.groups, codes, self.update, self.monotone, self.ridge, reseed=reseed
            )

    def batch_steps(self, X: Floats, Y: Indicator, batch_size: int, rng: np.random.RandomState) -> Sweep:
        """Mini-batches of Algorithm 1 that cover the rows."""
        total = Sweep(0.0, 0.0, 0, 0.0)
        for rows in batches(len(X), batch_size, rng):
            x, y = np.asarray(X[rows]), np.asarray(Y[rows])
            total.add(self.step(x, y, self.codes(x, y), reseed=False))
        return total

    def error(self, X: Floats, Y: Indicator, codes: Floats | None = None) -> float:
        """Mean squared error of a row, plus the ridge term."""
        return mean_error(X, Y, self.atoms, self.groups, self.ridge, codes)
