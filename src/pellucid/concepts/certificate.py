"""What linear probes still tell of rows that an eraser was not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import Floats
from pellucid._core.threads import one_blas_thread
from pellucid.concepts.moments import moments_of, targets_spread
from pellucid.concepts.probes import chance, probed
from pellucid.solvers.erasing import live

if TYPE_CHECKING:
    from pellucid.concepts.erasure import ConceptErasure


@dataclass(frozen=True)
class ErasureCertificate:
    """What linear probes tell of rows that an eraser was not fitted to; nan where a concept is constant.

    Attributes
    ----------
    concept_names : list of str
        The S concepts.
    before : ndarray of shape (S,)
        Area under the ROC curve of a probe that was trained on other rows, before erasure. For a quantity: how many of
        all pairs of rows the probe puts in the right order.
    after : ndarray of shape (S,)
        The same after erasure; 0.5 is knowing nothing.
    chance : ndarray of shape (S,)
        Standard deviation of such an area where there is nothing to know.
    residual : float
        Norm of the cross-covariance after erasure as a share of that before; where nothing is to be known, what the
        number of rows makes of nothing.
    squared_change : float
        Mean squared change of a row.
    relative_change : float
        The same as a share of the rows' variance.
    n_rows : int
        Rows that were measured.
    n_fitted : int
        Rows that the eraser was fitted to.
    n_features : int
        Numbers in a row.

    See Also
    --------
    ConceptErasure.certify : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import ConceptErasure
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(600) < 0.5
    >>> X = rng.normal(size=(600, 4)) + 2 * y[:, None]
    >>> print(str(ConceptErasure().fit(X[:300], y[:300]).certify(X[300:], y[300:])).splitlines()[0])
    300 rows that the eraser has not seen; it was fitted to 300 rows of 4 numbers.
    """

    concept_names: list[str]
    before: Floats
    after: Floats
    chance: Floats
    residual: float
    squared_change: float
    relative_change: float
    n_rows: int
    n_fitted: int
    n_features: int

    def __str__(self) -> str:
        width = max(map(len, self.concept_names), default=0)
        lines = [
            f"{self.n_rows} rows that the eraser has not seen; it was fitted to {self.n_fitted} rows of "
            f"{self.n_features} numbers.",
            f"{'':{width}}  AUC before  after  chance",
        ]
        for name, before, after, spread in zip(self.concept_names, self.before, self.after, self.chance):
            lines.append(f"{name:{width}}  {before:10.3f}  {after:5.3f}  ±{spread:.3f}")
        lines.append(f"Changed: {self.relative_change:.2%} of the variance. {self.verdict}")
        return "\n".join(lines)

    @property
    def verdict(self) -> str:
        """One sentence on whether what was erased is gone from other rows, too."""
        left = [
            name for name, after, spread in zip(self.concept_names, self.after, self.chance) if after > 0.5 + 3 * spread
        ]
        if not left and any(self.after < 0.5 - 3 * self.chance):
            return (
                "These look like rows of the fit, of which some tell the opposite of the others: give rows that the "
                "eraser has not seen, or refit=True."
            )
        if not left:
            return "No probe tells more than chance."
        named = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        return (
            f"Of {named} something is left: {self.n_fitted / self.n_features:.1f} rows a dimension do not tell exactly "
            "where a concept lies. Fit to more, or to these, too."
        )


def judged(eraser: ConceptErasure, X: NDArray[Any], Z: Floats, n_splits: int, rng: Any) -> ErasureCertificate:
    """What probes tell of rows and their concepts (n, S), before and after erasure."""
    erased = eraser.transform(X)
    before, after = (moments_of((rows, Z)) for rows in (X, erased))
    scale = live(targets_spread(before))
    sizes = [float(np.linalg.norm(sums.cross / scale)) for sums in (before, after)]
    change = float(np.square(X - erased).sum(axis=1, dtype=np.float64).mean())
    variance = float(np.trace(before.scatter)) / len(X)
    seed = rng.randint(2**31 - 1)  # the same folds before and after
    with one_blas_thread():
        aucs = [probed(rows, Z, n_splits, seed) for rows in (X, erased)]
    return ErasureCertificate(
        concept_names=[str(name) for name in eraser.concept_names_],
        before=aucs[0],
        after=aucs[1],
        chance=np.array([chance(z) for z in Z.T]),
        residual=sizes[1] / sizes[0] if sizes[0] > 0 else 0.0,
        squared_change=change,
        relative_change=change / variance if variance > 0 else 0.0,
        n_rows=len(X),
        n_fitted=eraser.n_samples_seen_,
        n_features=eraser.n_features_in_,
    )


def mean_certificate(found: list[ErasureCertificate]) -> ErasureCertificate:
    """Of certificates of as many halves, what they say on average."""
    first = found[0]

    def mean(name: str) -> Any:
        return np.mean([getattr(each, name) for each in found], axis=0)

    return ErasureCertificate(
        first.concept_names,
        mean("before"),
        mean("after"),
        mean("chance"),
        float(mean("residual")),
        float(mean("squared_change")),
        float(mean("relative_change")),
        sum(each.n_rows for each in found),
        min(each.n_fitted for each in found),
        first.n_features,
    )
