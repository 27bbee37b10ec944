"""Concepts by name: which is where, and which of them rows may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.hints import did_you_mean
from pellucid.concepts.labels import Indicator, align

Names = str | Sequence[str]


class NamedConcepts:
    """What has concepts with names."""

    names: NDArray[Any]

    def index(self, name: str) -> int:
        """Find where a concept stands among the names.

        Parameters
        ----------
        name : str
            The concept.

        Returns
        -------
        int
            Its index.

        Raises
        ------
        ValueError
            If there is no such concept; the sentence names the nearest.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"])).index("dog")
        1
        """
        matches = np.flatnonzero(self.names == str(name))
        if matches.size:
            return int(matches[0])
        raise ValueError(f"There is no concept {name!r}: {did_you_mean(str(name), self.names)}")

    def indices(self, concept: Names) -> list[int]:
        """Find where one or several concepts stand among the names.

        Parameters
        ----------
        concept : str or list of str
            The concepts.

        Returns
        -------
        list of int
            Their indices, in the order given.

        Raises
        ------
        ValueError
            If there is no such concept, or none is named.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"])).indices(["dog", "cat"])
        [1, 0]
        """
        names = [concept] if isinstance(concept, str) else list(concept)
        if not names:
            raise ValueError("Name at least one concept.")
        return [self.index(name) for name in names]

    def active(self, active: Any, n: int) -> Indicator:
        """Say which concepts each row may use.

        Parameters
        ----------
        active : str, list of str or array-like of shape (n, S)
            Names for all rows, or an indicator.
        n : int
            Number of rows.

        Returns
        -------
        ndarray of shape (n, S)
            Booleans.

        Raises
        ------
        ValueError
            If a concept is not known, or the indicator has another number of rows.

        Examples
        --------
        >>> import numpy as np
        >>> from pellucid.concepts import Cones
        >>> Cones(np.eye(2), np.array([0, 1]), np.array(["cat", "dog"])).active("dog", 2).tolist()
        [[False, True], [False, True]]
        """
        if are_names(active):
            indicator = np.zeros((n, len(self.names)), dtype=bool)
            indicator[:, self.indices(active)] = True
            return indicator
        indicator = align(active, list(self.names))
        if len(indicator) != n:
            raise ValueError(f"active has {len(indicator)} rows, but X has {n}.")
        return indicator


def are_names(active: Any) -> bool:
    """Whether these are the names of concepts, the same for all rows."""
    return isinstance(active, str) or (len(active) > 0 and all(isinstance(name, str) for name in active))
