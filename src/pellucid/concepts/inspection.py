"""What a fitted model holds, in words, numbers and pictures, and whether it is any good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pellucid.concepts.base import ConceptModel
from pellucid.concepts.cones import Cones
from pellucid.concepts.model_selection import AtomCounts, select_n_atoms
from pellucid.concepts.stability import Stability, stability
from pellucid.concepts.words import Vocabulary
from pellucid.preparation import CenteredNormalizer


class InspectedConcepts(ConceptModel):
    """Captions, figures and checks of a model of concepts."""

    objective_: NDArray[np.float64]

    # saying what it holds

    def captions(self, words: Sequence[str], vectors: ArrayLike, top: int = 5) -> dict[str, list[tuple[str, float]]]:
        """Find the words that each concept's cone holds best.

        The vocabulary is normalised, centred with its own mean and normalised again (paper 1, section 3.6).

        Parameters
        ----------
        words : list of str
            The vocabulary.
        vectors : array-like of shape (n_words, d)
            Its vectors, from the same model as the rows.
        top : int, default=5
            Words per concept.

        Returns
        -------
        dict of str to list of (str, float)
            For each concept its words, with the length of what is left of their unit vectors: 0 lies in the cone.

        Raises
        ------
        ValueError
            If there are not as many words as vectors.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> found = ConceptSubspaces(1).fit(X, y).captions(["purr", "bark"], [[2, 1], [1, 2]], top=1)
        >>> [word for [(word, left)] in found.values()]
        ['purr', 'bark']
        """
        cones = self.cones
        vocabulary = CenteredNormalizer().fit_transform(self._rows(vectors))
        if len(vocabulary) != len(words):
            raise ValueError(f"There are {len(words)} words, but {len(vocabulary)} vectors.")
        described = {}
        for name in self.concept_names_:
            left = np.linalg.norm(cones.remove(vocabulary, name), axis=1)
            best = np.argsort(left, kind="stable")[:top]
            described[name] = [(str(words[i]), float(left[i])) for i in best]
        return described

    def name_parts(
        self, X: ArrayLike, vocabulary: Vocabulary, top: int = 3, active: Any = None
    ) -> list[dict[str, Any]]:
        """Name the parts of each row by the words nearest to them.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        vocabulary : Vocabulary
            The words.
        top : int, default=3
            Words per part.
        active : str, list of str or array-like of shape (n, S), default=None
            The concepts that rows may have parts of; see :meth:`encode`.

        Returns
        -------
        list of dict of str to list of str
            For each row its concepts, the largest share first, with their words.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> from pellucid.concepts import Vocabulary
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1).fit(X, y)
        >>> model.name_parts([[3, 1]], Vocabulary(["purr", "bark"], [[2, 1], [1, 2]]), top=1)
        [{'cat': ['purr']}]
        """
        rows = self.prepare(X)
        codes = self._parts(Cones.encode, X, active)(self.cones, rows)
        along = self.cones.terms(rows, rows, codes)
        found = []
        for code, terms in zip(codes, along):
            parts: dict[str, list[str]] = {}
            for j in np.argsort(-terms, kind="stable")[: int((terms > 0).sum())]:
                mine = np.flatnonzero((self.groups_ == j) & (code > 0))
                parts[str(self.concept_names_[j])] = vocabulary.nearest(code[mine] @ self.atoms_[mine], top)
            found.append(parts)
        return found

    def cooccurrence(self, X: ArrayLike, n_nonzero_coefs: int | None = None) -> NDArray[np.float64]:
        """Count how often atoms are used together in greedy codes (Fig. 5).

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        n_nonzero_coefs : int, default=None
            Most atoms per row; None takes the mean number of atoms per concept.

        Returns
        -------
        ndarray of shape (M, M)
            Of the rows that use an atom, the share that also use each other one.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False, max_iter=0).fit(X, y)
        >>> model.cooccurrence([[3, 4], [1, 0]], 2).tolist()
        [[1.0, 0.5], [1.0, 1.0]]
        """
        on = (self.encode(X, method="omp", n_nonzero_coefs=n_nonzero_coefs) > 0).astype(np.float64)
        counts = on.T @ on
        return np.asarray(counts / np.maximum(counts.diagonal()[:, None], 1.0))

    def coherence(self) -> NDArray[np.float64]:
        """Compare all atoms with each other (Fig. 5).

        Returns
        -------
        ndarray of shape (M, M)
            Their cosines.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> ConceptSubspaces(1, center=False).fit(X, y).coherence().round(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        atoms = self.cones.atoms.astype(np.float64)
        return np.asarray(atoms @ atoms.T)

    # is it any good

    def select_n_atoms(
        self,
        X: ArrayLike,
        y: Any,
        queries: ArrayLike,
        candidates: ArrayLike,
        query_concepts: ArrayLike,
        candidate_concepts: ArrayLike,
        *,
        sizes: Sequence[int] = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20),
        n_jobs: int | None = None,
        **evaluation: Any,
    ) -> AtomCounts:
        """Fit with each number of atoms, and see how well validation queries find candidates (Figure 6).

        This estimator's other parameters are used and stay as they are.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw training rows.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            Their concepts.
        queries : array-like of shape (q, d)
            Raw validation rows that are searched for.
        candidates : array-like of shape (c, d)
            Raw rows that are searched in.
        query_concepts : array-like of shape (q, S)
            Indicator of the concepts of the queries.
        candidate_concepts : array-like of shape (c, S)
            Indicator of the concepts of the candidates.
        sizes : sequence of int, default=(2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
            The numbers to try.
        n_jobs : int, default=None
            Fits that run at the same time, as joblib counts them.
        **evaluation : dict
            Further arguments of :func:`pellucid.metrics.concept_retrieval`, such as ``k`` and the fine labels.

        Returns
        -------
        AtomCounts
            What each number reached, and the best.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 1], [0, 2], [1, 4]], [[1, 0], [1, 0], [0, 1], [0, 1]]
        >>> found = ConceptSubspaces(center=False).select_n_atoms(X, y, X, X, y, y, sizes=[1, 2], k=2)
        >>> found.best
        1
        """
        return select_n_atoms(
            self, X, y, (queries, candidates, query_concepts, candidate_concepts), evaluation, sizes, n_jobs
        )

    def stability(
        self,
        X: ArrayLike,
        y: Any,
        n_runs: int = 10,
        *,
        held_out: tuple[ArrayLike, Any] | None = None,
        n_jobs: int | None = None,
    ) -> Stability:
        """Refit on resampled rows: how much would come out again, and how much it tells about rows it has not seen.

        Parameters
        ----------
        X : array-like of shape (n, d)
            The raw rows that the model was fitted on.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets
            Their concepts.
        n_runs : int, default=10
            Refits.
        held_out : tuple of (X, y), default=None
            Rows to judge by; None takes those that a resample left out.
        n_jobs : int, default=None
            Refits that run at the same time, as joblib counts them.

        Returns
        -------
        Stability
            Means over the refits; print it for a table.

        Raises
        ------
        ValueError
            If ``n_runs`` is less than 1, or the labels do not fit the rows.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> model = ConceptSubspaces(1, center=False, random_state=0).fit(X, y)
        >>> model.stability(X, y, n_runs=2).reproduced
        1.0
        """
        check_is_fitted(self, "atoms_")
        raw, *unseen = (
            (self._rows(rows), self._known_concepts(labels, len(rows)))  # type: ignore[arg-type]
            for rows, labels in ((X, y), *([held_out] if held_out else []))
        )
        return stability(self, *raw, n_runs, unseen[0] if unseen else None, n_jobs)

    # pictures

    def plot_components(self, x: ArrayLike, ax: Any = None) -> Any:
        """Draw one row's parts as bars.

        Parameters
        ----------
        x : array-like of shape (d,)
            A raw row.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes
            What was drawn on.

        See Also
        --------
        pellucid.plots.component_bars : The same with more options.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> ax = ConceptSubspaces(1, center=False).fit(X, y).plot_components([3, 4])
        """
        from pellucid.plots import component_bars

        return component_bars(self, x, ax=ax)

    def plot_objective(self, ax: Any = None) -> Any:
        """Draw the error after each sweep.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        matplotlib Axes
            What was drawn on.

        See Also
        --------
        pellucid.plots.objective : The same for any estimator.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]], ["cat", "cat", "dog", "dog"]
        >>> ax = ConceptSubspaces(1, center=False).fit(X, y).plot_objective()
        """
        from pellucid.plots import objective

        return objective(self, ax=ax)
