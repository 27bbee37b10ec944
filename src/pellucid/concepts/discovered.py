"""What can be done with concepts that were found: look at them, and judge them by rows that they never saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import unit_rows
from pellucid._core.tables import data_frame
from pellucid.concepts import levels
from pellucid.concepts.dictionary import codes_of
from pellucid.concepts.estimator import ConceptSubspaces
from pellucid.concepts.found_names import Names, told_apart
from pellucid.concepts.held_out import HeldOut, held_out
from pellucid.concepts.stability import Stability

Model = TypeVar("Model", bound="DiscoveredConcepts")

# from this cosine on two directions are one, and below this one a direction hardly comes out again
ALIKE, UNSTABLE = 0.9, 0.7
# rows that a concept has at least, where there are many; of few rows one is enough
FEW_ROWS = 5


@dataclass(frozen=True)
class FoundConcept:
    """One concept that was found.

    Attributes
    ----------
    name : str
        Its name.
    words : list of str
        The words that name it, the best first.
    share : float
        The share of the items that have it.
    stability : float
        The cosine of its direction with its partner among those found in a half of the items.
    mark : str
        "empty", "duplicate of …" (of one that more items have) or "unstable"; empty if there is nothing to say.
    under : list of str
        The coarse concepts that hold it.
    example_rows : list of int
        Numbers of the items that hold most of it, the most first.

    See Also
    --------
    pellucid.ConceptDiscovery.found : Lists them.

    Examples
    --------
    >>> from pellucid.concepts import FoundConcept
    >>> FoundConcept("cat", ["cat", "kitten"], 0.1, 0.95, "", ["animal"], [3, 17]).mark
    ''
    """

    name: str
    words: list[str]
    share: float
    stability: float
    mark: str
    under: list[str]
    example_rows: list[int]


class DiscoveredConcepts(ConceptSubspaces):
    """The table of the concepts, their tree, and how they fare on other rows."""

    concept_words_: NDArray[Any]
    share_: NDArray[Any]
    stability_: NDArray[Any]
    example_rows_: NDArray[Any]
    under_: NDArray[np.bool_]
    explained_: float
    n_rows_: int

    # looking

    def found(self) -> list[FoundConcept]:
        """List the concepts, the most frequent first.

        Returns
        -------
        list of FoundConcept
            What is known of each.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5
        >>> [round(concept.share, 1) for concept in ConceptDiscovery(2).fit(X).found()]
        [0.5, 0.5]
        """
        check_is_fitted(self, "atoms_")
        marks, coarse = self.marks(), getattr(self, "coarse_concept_names_", np.empty(0))
        listed = [
            FoundConcept(
                str(name),
                self._words(j),
                float(self.share_[j]),
                float(self.stability_[j]),
                marks[j],
                [str(coarse[c]) for c in np.flatnonzero(self.under_[j])] if len(coarse) else [],
                [int(row) for row in self.example_rows_[j] if row >= 0],
            )
            for j, name in enumerate(self.concept_names_)
        ]
        return sorted(listed, key=lambda concept: -concept.share)

    def to_frame(self) -> Any:
        """Make a table of the concepts.

        Returns
        -------
        pandas.DataFrame
            A row for each of :meth:`found`.
        """
        return data_frame([asdict(concept) for concept in self.found()])

    def marks(self) -> list[str]:
        """Say of each concept whether it should be dropped or merged.

        Returns
        -------
        list of str
            In the order of ``concept_names_``: "empty" where fewer than five rows have it, "duplicate of …" where its
            direction has a cosine of .9 with that of a more frequent one, "unstable" where ``stability_`` is below .7;
            else "".

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5
        >>> ConceptDiscovery(2).fit(X).marks()
        ['', '']
        """
        check_is_fitted(self, "atoms_")
        directions = self._directions()
        alike = directions @ directions.T
        rank = np.lexsort((np.arange(len(alike)), -self.share_))
        marks = []
        for j in range(len(alike)):
            before = rank[: int(np.flatnonzero(rank == j)[0])]
            twin = before[np.argmax(alike[j, before])] if len(before) else None
            if self.share_[j] * self.n_rows_ < min(FEW_ROWS, 1 + self.n_rows_ // 20) - 0.5:
                marks.append("empty")
            elif twin is not None and alike[j, twin] >= ALIKE:
                marks.append(f"duplicate of {self.concept_names_[twin]}")
            else:
                marks.append("unstable" if self.stability_[j] < UNSTABLE else "")
        return marks

    def coarse(self) -> ConceptSubspaces | None:
        """Make a model of the coarse concepts, which can do all that any model of concepts can.

        Returns
        -------
        ConceptSubspaces or None
            The model; None if there are no coarse concepts.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> from pellucid.datasets import load_scenes
        >>> scenes = load_scenes()
        >>> model = ConceptDiscovery(20, n_coarse=4, max_iter=2).fit(scenes.vectors[:400])
        >>> len(model.coarse().concept_names_)
        4
        """
        check_is_fitted(self, "atoms_")
        return levels.kept(self)

    def tree(self) -> dict[str, list[str]]:
        """Sort the concepts under the coarse ones that hold them.

        Returns
        -------
        dict of str to list of str
            For each coarse concept the names of its concepts, the most frequent first; a concept may be under several.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> from pellucid.datasets import load_scenes
        >>> model = ConceptDiscovery(20, n_coarse=4, max_iter=2).fit(load_scenes().vectors[:400])
        >>> under = [name for names in model.tree().values() for name in names]
        >>> set(under) == set(model.concept_names_)
        True
        """
        names = [str(name) for name in getattr(self, "coarse_concept_names_", ())]
        listed = self.found()
        return {name: [concept.name for concept in listed if name in concept.under] for name in names}

    def activations(self, X: ArrayLike) -> NDArray[Any]:
        """Code rows over all concepts at once, sparsely: how much of each was found in them.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.

        Returns
        -------
        ndarray of shape (n, S)
            Non-negative, most of them zero; of a concept with several atoms their sum.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5
        >>> int((ConceptDiscovery(2).fit(X).activations(X[:2]) > 0).sum())
        2
        """
        return self._active(np.asarray(self.prepare(X)))

    # judging

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Measure how much of rows their concepts explain.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        y : None
            Ignored; here because scikit-learn passes it.

        Returns
        -------
        float
            The share of the energy of the prepared rows that is in the concepts they have by :meth:`predict`.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5
        >>> ConceptDiscovery(2).fit(X).score(X) > 0.9
        True
        """
        rows = np.asarray(self.prepare(X))
        total = float(np.einsum("ij,ij->", rows, rows, dtype=np.float64))
        rest = rows - self.inverse_transform(self.encode(X)).astype(rows.dtype)
        return 1 - float(np.einsum("ij,ij->", rest, rest, dtype=np.float64)) / total if total > 0 else 0.0

    def held_out(self, X: ArrayLike, y: Any = None, label_names: Sequence[str] | None = None) -> HeldOut:
        """Say what the concepts are worth on rows that they were not found in.

        Labels are matched with concepts one to one by half of the rows, and judged by the other half.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows, others than those of the fit.
        y : array-like of shape (n, L) or (n,), sparse matrix, dataframe or list of sets, default=None
            Labels, if there are any: nobody needs to have had them in mind.
        label_names : list of str, default=None
            Names of the columns of an indicator.

        Returns
        -------
        HeldOut
            How much is explained, how many concepts would come out again, and which label is which concept; print it.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X, y = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> ConceptDiscovery(2).fit(X).held_out(X, y).auc.tolist()
        [1.0, 1.0]
        """
        return held_out(self, X, y, label_names, check_random_state(self.random_state))

    def stability(self, X: ArrayLike, y: Any = None, n_runs: int = 10, **more: Any) -> Stability:
        """Refit cones to these concepts on resampled rows; ``stability_`` says how far they would be found again.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Raw rows.
        y : array-like of shape (n, S), default=None
            Which rows have which concept; None takes :meth:`predict`.
        n_runs : int, default=10
            Refits.
        **more : dict
            As for :meth:`ConceptSubspaces.stability`.

        Returns
        -------
        Stability
            Means over the refits.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5
        >>> ConceptDiscovery(2).fit(X).stability(X, n_runs=2).n_runs
        2
        """
        plain = ConceptSubspaces(1, center=self.center, random_state=self.random_state, sparsity=self.sparsity_)
        for name in ("atoms_", "groups_", "concept_names_", "preparation_", "n_features_in_", "sparsity_"):
            setattr(plain, name, getattr(self, name))
        return plain.stability(X, self.predict(X) if y is None else y, n_runs, **more)

    # naming

    def name_concepts(self: Model, namer: Callable[[Names], str], texts: Sequence[str] | None = None) -> Model:
        """Name the concepts by a function of one's own.

        Parameters
        ----------
        namer : callable
            Called with what is known of each concept (:class:`pellucid.concepts.Names`), returns its name; one that
            was given already, or an empty one, is made up for.
        texts : sequence of str, default=None
            A text for each row of the fit, if the function is to see those of the examples.

        Returns
        -------
        ConceptDiscovery
            The model itself.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5
        >>> model = ConceptDiscovery(2).fit(X).name_concepts(lambda concept: f"in {concept.share:.0%}")
        >>> model.concept_names_.tolist()
        ['in 50%', 'in 50% 2']
        """
        check_is_fitted(self, "atoms_")
        self._name([self._words(j) for j in range(len(self.share_))], texts, namer)
        return self

    # the small print

    @property
    def partial_fit(self) -> Any:
        """Not there: which concepts there are is found from all rows at once."""
        raise AttributeError("ConceptDiscovery has no partial_fit: fit goes through blocks by itself.")

    @property
    def select_n_atoms(self) -> Any:
        """Not there: a concept that was found is one direction."""
        raise AttributeError("ConceptDiscovery has no select_n_atoms: a concept that was found is one direction.")

    def _words(self, j: int) -> list[str]:
        return [word for word in str(self.concept_words_[j]).split(", ") if word]

    def _name(self, words: list[list[str]], texts: Sequence[str] | None, namer: Callable[[Names], str] | None) -> None:
        names = told_apart(words)
        if namer is not None:
            given: list[str] = []
            for j, own in enumerate(words):
                rows = [int(row) for row in self.example_rows_[j] if row >= 0]
                said = [] if texts is None else [str(texts[row]) for row in rows]
                name = str(namer(Names(own, names[j], float(self.share_[j]), rows, said)) or "").strip()
                given.append(name or names[j])
            names = told_apart([[name] for name in given])
        self.concept_names_ = np.array(names, dtype=object)
        self.concept_words_ = np.array([", ".join(own) for own in words], dtype=object)

    def _directions(self) -> NDArray[Any]:
        """Where each concept points as a whole (S, d)."""
        sums = np.zeros((len(self.concept_names_), self.atoms_.shape[1]))
        np.add.at(sums, self.groups_, self.atoms_)
        return unit_rows(sums)

    def _active(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Sparse codes of prepared rows, added up within each concept."""
        codes = codes_of(rows, self.atoms_, self.sparsity_)
        if len(self.concept_names_) == len(self.atoms_):
            return codes
        return np.stack([codes[:, self.groups_ == j].sum(axis=1) for j in range(len(self.concept_names_))], axis=1)
