"""Concepts that were found, put in order by hand: whatever is not named keeps its bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pellucid._core.arrays import unit_rows
from pellucid._core.checks import as_matrix, check_finite
from pellucid._core.hints import did_you_mean
from pellucid._core.interrupts import unchanged_by_failure
from pellucid.concepts.dictionary import partners
from pellucid.concepts.discovered import UNSTABLE, DiscoveredConcepts
from pellucid.concepts.discriminant import used
from pellucid.concepts.editing import PASSES
from pellucid.concepts.labels import Indicator
from pellucid.concepts.learning import Learner
from pellucid.concepts.online import OneConcept
from pellucid.concepts.words import Vocabulary
from pellucid.rows import Blocks

Model = TypeVar("Model", bound="RearrangedConcepts")

# the arrays that have a row for each concept
PER_CONCEPT = ("concept_words_", "share_", "stability_", "example_rows_", "under_")


# what a concept has there that nothing is known of
BLANK = {"concept_words_": "", "example_rows_": -1}


class RearrangedConcepts(DiscoveredConcepts):
    """Merging, splitting, dropping, renaming, and seeding concepts with examples or words."""

    @unchanged_by_failure
    def merge(self: Model, names: Sequence[str], X: ArrayLike, name: str | None = None) -> Model:
        """Make one concept of several, whose cone has all of their directions.

        Parameters
        ----------
        names : list of str
            The concepts.
        X : array-like of shape (n, d)
            Raw rows, those of the fit or some of them, from which it is learned which rows have the new one.
        name : str, default=None
            What it is called; None keeps the name of the most frequent.

        Returns
        -------
        ConceptDiscovery
            The model itself; the new concept stands at the end.

        Raises
        ------
        ValueError
            If a concept is not known, there are fewer than two, no row has one, or another has that name.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X, texts = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [0, 1, 9]] * 9, ["cats", "cats", "dogs", "cars"] * 9
        >>> model = ConceptDiscovery(3, n_coarse=0).fit(X, texts=texts)
        >>> model.merge(["cats", "dogs"], X, "pets").concept_names_.tolist()
        ['cars', 'pets']
        """
        which = self._known(names)
        if len(which) < 2:
            raise ValueError("Name at least two concepts to merge.")
        first = which[int(np.argmax(self.share_[which]))]
        wanted = str(self.concept_names_[first]) if name is None else str(name)
        members = np.asarray(used(self.activations(X))[:, which].any(axis=1))
        words = list(dict.fromkeys(word for j in which for word in self._words(j)))
        under = self.under_[which].any(axis=0) if hasattr(self, "under_") else None
        stability = float(np.mean(self.stability_[which]))
        self.merge_concepts([str(self.concept_names_[j]) for j in which], wanted, X, members)
        self._note(-1, X, members, words, stability, under)
        return self

    @unchanged_by_failure
    def split(self: Model, name: str, X: ArrayLike, into: int | Sequence[str] = 2) -> Model:
        """Split a concept into parts that its rows use apart.

        A merged concept falls into groups of its directions, any other into directions that are learned anew from its
        rows, all other concepts fixed.

        Parameters
        ----------
        name : str
            The concept.
        X : array-like of shape (n, d)
            Raw rows, those of the fit or some of them.
        into : int or list of str, default=2
            How many parts, or their names; without names they are numbered.

        Returns
        -------
        ConceptDiscovery
            The model itself; the parts stand at the end.

        Raises
        ------
        ValueError
            If there is no such concept, or too few rows have it to fall into that many parts.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X, texts = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [0, 1, 9]] * 9, ["cats", "cats", "dogs", "cars"] * 9
        >>> model = ConceptDiscovery(3, n_coarse=0).fit(X, texts=texts)
        >>> model.split("cats", X).concept_names_.tolist()
        ['cars', 'dogs', 'cats 1', 'cats 2']
        """
        (j,) = self._known([name])
        names = [f"{name} {i + 1}" for i in range(into)] if isinstance(into, int) else [str(part) for part in into]
        if len(names) < 2:
            raise ValueError(f"A concept is split into at least 2 parts, not {len(names)}.")
        taken = {str(other) for i, other in enumerate(self.concept_names_) if i != j} & set(names)
        if taken or len(set(names)) < len(names):
            raise ValueError(f"Parts of {name!r} need names that no concept has, each another: {names}.")
        rows = np.asarray(self.prepare(X))
        members = used(self._active(rows))[:, j]
        if members.sum() < len(names):
            raise ValueError(f"{int(members.sum())} rows have {name!r}, so it cannot be split into {len(names)} parts.")
        under = self.under_[j] if hasattr(self, "under_") else None
        atoms, uses = self._parts_of(rows[members], j, len(names))
        told, words = [], self._words(j)
        for i, part in enumerate(names):
            has = np.zeros(len(rows), dtype=bool)
            has[np.flatnonzero(members)[uses[:, i]]] = True
            if not has.any():
                raise ValueError(f"No row would have {part!r}: split {name!r} into fewer parts, or give more rows.")
            told.append((has, self._told(rows, has, part)))
        again = partners(atoms, self.atoms_[self.groups_ == j]) * float(self.stability_[j])
        self._order([i for i in range(len(self.concept_names_)) if i != j])
        for i, part in enumerate(names):
            has, presence = told[i]
            self._append(part, atoms[i : i + 1], np.array([float(uses[:, i].sum())]), presence)
            self._note(-1, X, has, words, float(again[i]), under)
        return self

    def drop(self: Model, names: str | Sequence[str]) -> Model:
        """Forget concepts.

        Parameters
        ----------
        names : str or list of str
            The concepts.

        Returns
        -------
        ConceptDiscovery
            The model itself.

        Raises
        ------
        ValueError
            If a concept is not known, or none would be left.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X, texts = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [0, 1, 9]] * 9, ["cats", "cats", "dogs", "cars"] * 9
        >>> ConceptDiscovery(3, n_coarse=0).fit(X, texts=texts).drop("dogs").concept_names_.tolist()
        ['cats', 'cars']
        """
        which = self._known(names)
        kept = [j for j in range(len(self.concept_names_)) if j not in which]
        if not kept:
            raise ValueError("No concept would be left, and a model needs one.")
        if which:
            self._order(kept)
        return self

    def rename(self: Model, name: str, new: str) -> Model:
        """Give a concept another name.

        Parameters
        ----------
        name : str
            The concept.
        new : str
            What it is to be called.

        Returns
        -------
        ConceptDiscovery
            The model itself.

        Raises
        ------
        ValueError
            If there is no such concept, or another has that name.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [1, 8, 0]] * 5
        >>> ConceptDiscovery(2).fit(X).rename("concept 1", "dog").concept_names_.tolist()
        ['concept 0', 'dog']
        """
        self._known([name])
        return self.rename_concept(name, new)

    @unchanged_by_failure
    def seed(
        self: Model,
        name: str,
        X: ArrayLike,
        items: Sequence[int] | None = None,
        words: Vocabulary | None = None,
        examples: Sequence[str] = (),
        vectors: ArrayLike | None = None,
    ) -> Model:
        """Add a concept that a few example items or words must have.

        Its direction starts in the middle of the examples and is learned from the rows that use it, all other concepts
        fixed. If it strays from the examples it stays where it began.

        Parameters
        ----------
        name : str
            What it is called.
        X : array-like of shape (n, d)
            Raw rows, those of the fit or some of them.
        items : list of int, default=None
            Numbers of rows that have the concept; they have it by :meth:`predict` too.
        words : Vocabulary, default=None
            Words with vectors, of which ``examples`` names some.
        examples : list of str, default=()
            Words of the vocabulary that are kinds of the concept.
        vectors : array-like of shape (k, d), default=None
            More examples, as raw rows.

        Returns
        -------
        ConceptDiscovery
            The model itself; the new concept stands at the end.

        Raises
        ------
        ValueError
            If there is such a concept already, there is no example, or a word is not known.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [0, 1, 9]] * 9
        >>> model = ConceptDiscovery(2, n_coarse=0).fit(X).seed("car", X, items=[3, 7])
        >>> model.predict(X[:4])[:, -1].tolist()
        [False, False, False, True]
        """
        check_is_fitted(self, "atoms_")
        if str(name) in set(map(str, self.concept_names_)):
            raise ValueError(f"There is a concept {name!r} already: choose another name.")
        rows = np.asarray(self.prepare(X))
        held = self._items(items, len(rows))
        start = self._middle(rows[held], words, examples, vectors).astype(self.atoms_.dtype)
        atom, has = self._grown(rows, start)
        has[held] = True
        told = self._told(rows, has, name)
        self._append(str(name), atom, np.array([float(has.sum())]), told)
        if len(held):
            likely = self.presence_model.probabilities(rows[held], np.array([-1]))
            self.presence_threshold_[-1] = min(self.presence_threshold_[-1], float(likely.min()))
        self._note(-1, X, has, [*dict.fromkeys([str(name), *examples])], float("nan"), None)
        self.stability_[-1] = float(np.clip(atom[0] @ start[0], 0, 1))
        return self

    def add_concept(self: Model, name: str, X: ArrayLike, members: ArrayLike, y: Any = None) -> Model:
        """Learn one more concept from labels, beside those that were found.

        Parameters
        ----------
        name : str
            What it is called.
        X : array-like of shape (n, d)
            Raw rows, some of which have the concept and some of which lack it.
        members : array-like of bool of shape (n,)
            Which rows have it.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets, default=None
            Which of the other concepts rows have; None takes those that :meth:`predict` finds.

        Returns
        -------
        ConceptDiscovery
            The model itself.

        Examples
        --------
        >>> from pellucid import ConceptDiscovery
        >>> X = [[9, 1, 0], [8, 0, 1], [0, 9, 1], [0, 1, 9]] * 9
        >>> model = ConceptDiscovery(2, n_coarse=0).fit(X).add_concept("car", X, [False, False, False, True] * 9)
        >>> float(model.share_[-1])
        0.25
        """
        super().add_concept(name, X, members, y)
        # its direction is that of the labels, which would be the same again
        self._note(-1, X, np.asarray(members, dtype=bool), [str(name)], 1.0, None)
        return self

    # the small print

    def _known(self, names: str | Sequence[str]) -> list[int]:
        """Numbers of concepts by their names."""
        check_is_fitted(self, "atoms_")
        place = {str(name): j for j, name in enumerate(self.concept_names_)}
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if str(name) not in place:
                raise ValueError(f"There is no concept {str(name)!r}: {did_you_mean(str(name), place)}")
        return sorted({place[str(name)] for name in wanted})

    def _items(self, items: Sequence[int] | None, n: int) -> NDArray[np.int64]:
        held = np.asarray([] if items is None else items, dtype=np.int64)
        beyond = held[(held < 0) | (held >= n)]
        if len(beyond):
            raise ValueError(f"There is no row {beyond[0]}: there are {n}, counted from 0.")
        return np.unique(held)

    def _middle(
        self, rows: NDArray[Any], words: Vocabulary | None, examples: Sequence[str], vectors: ArrayLike | None
    ) -> NDArray[Any]:
        """The direction (1, d) in the middle of examples."""
        held = [rows]
        if len(examples):
            if words is None:
                raise ValueError("Words need vectors: give words=Vocabulary(words, vectors).")
            held.append(np.stack([words[word] for word in examples]))
        if vectors is not None:
            more = as_matrix(vectors, "vectors")
            check_finite(more, "vectors")
            held.append(np.asarray(self.prepare(more)))
        every = unit_rows(np.concatenate(held))
        if not every.any():
            raise ValueError("A concept needs examples: give items, words or vectors.")
        return unit_rows(every.mean(axis=0, keepdims=True))

    def _grown(self, rows: NDArray[Any], start: NDArray[Any]) -> tuple[NDArray[Any], Indicator]:
        """A direction (1, d) learned from where it starts, and which rows have it."""
        has = self._using(rows, start)[:, 0]
        if has.any():
            atom = self._learned_beside(rows[has], self.atoms_, start)
            if float(atom[0] @ start[0]) >= UNSTABLE:
                has = self._using(rows, atom)[:, 0]
                return atom, has
        return start, has

    def _using(self, rows: NDArray[Any], more: NDArray[Any], beside: NDArray[Any] | None = None) -> Indicator:
        """Which rows (n, k) have concepts with these directions (k, d), beside those that there are."""
        atoms = np.vstack([self.atoms_ if beside is None else beside, more])
        learner = Learner(atoms, np.zeros(len(atoms), dtype=np.int64), sparsity=self.sparsity_)
        codes = learner.codes(rows, np.ones((len(rows), 1), dtype=bool))
        return used(codes)[:, len(atoms) - len(more) :]

    def _learned_beside(self, rows: NDArray[Any], fixed: NDArray[Any], start: NDArray[Any]) -> NDArray[Any]:
        """Directions learned from rows that may use them all, and those that stay."""
        atoms = np.vstack([fixed, start.astype(fixed.dtype)])
        groups = np.repeat([0, 1], [len(fixed), len(start)])
        learner = Learner(atoms, groups, sparsity=self.sparsity_)
        rng = check_random_state(self.random_state)
        source = OneConcept(Blocks.held(rows), np.ones((len(rows), 2), dtype=bool), replace(learner), 1)
        return np.asarray(source.learn(PASSES, rng).atoms[len(fixed) :])

    def _parts_of(self, rows: NDArray[Any], j: int, count: int) -> tuple[NDArray[Any], Indicator]:
        """Directions (count, d) that the rows of a concept use apart, and which of them have which."""
        mine = self.groups_ == j
        fixed = self.atoms_[~mine]
        learner = Learner(self.atoms_, np.zeros(len(self.atoms_), dtype=np.int64), sparsity=self.sparsity_)
        codes = learner.codes(rows, np.ones((len(rows), 1), dtype=bool))
        rest = unit_rows(rows - codes[:, ~mine] @ fixed)
        start = kmeans_plusplus(rest, count, random_state=check_random_state(self.random_state))[0]
        atoms = self._learned_beside(rows, fixed, start) if len(fixed) else unit_rows(start)
        return atoms, self._using(rows, atoms, fixed)

    def _note(self, j: int, X: ArrayLike, has: Indicator, words: list[str], stability: float, under: Any) -> None:
        """What belongs to a concept that stands there now."""
        strength = self.activations(X)[:, j]
        order = np.argsort(-strength, kind="stable")[: self.example_rows_.shape[1]]
        rows = np.full(self.example_rows_.shape[1], -1, dtype=np.int64)
        rows[: len(order)] = np.where(strength[order] > 0, order, -1)
        self.concept_words_[j], self.share_[j], self.stability_[j] = ", ".join(words), has.mean(), stability
        self.example_rows_[j] = rows
        if hasattr(self, "under_"):
            self.under_[j] = False if under is None else under

    def _append(self, name: str, atoms: NDArray[Any], usage: NDArray[Any], told: Any) -> None:
        super()._append(name, atoms, usage, told)
        for attribute in PER_CONCEPT:
            if hasattr(self, attribute):
                before = getattr(self, attribute)
                blank = np.zeros((1, *before.shape[1:]), dtype=before.dtype)
                if attribute in BLANK:
                    blank[:] = BLANK[attribute]
                setattr(self, attribute, np.concatenate([before, blank]))

    def _order(self, kept: Sequence[int]) -> None:
        super()._order(kept)
        for attribute in PER_CONCEPT:
            if hasattr(self, attribute):
                setattr(self, attribute, getattr(self, attribute)[list(kept)])
