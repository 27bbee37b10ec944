"""Concepts of a fitted model, changed one at a time: whatever is not named keeps its bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.utils import check_random_state

from pellucid.concepts.coding import solve_codes
from pellucid.concepts.labels import Indicator, align
from pellucid.concepts.learning import Learner, sample_atoms
from pellucid.concepts.online import ATOMS, OneConcept, atoms_that_hold
from pellucid.concepts.predicting import PredictedConcepts, warn_of_few
from pellucid.rows import Blocks

Model = TypeVar("Model", bound="EditedConcepts")

# the passes of a fit of one concept, at most
PASSES = 10
# a row of a concept that is split has every part that holds this share of what the largest part holds
PART = 0.5


class EditedConcepts(PredictedConcepts):
    """Adding, refitting, dropping, splitting, merging and renaming concepts."""

    n_atoms: Any
    ridge: float
    sparsity_: float
    usage_: NDArray[Any]
    label_names_: NDArray[Any]  # only where a concept was renamed

    def add_concept(self: Model, name: str, X: ArrayLike, members: ArrayLike, y: Any = None) -> Model:
        """Learn one more concept.

        Parameters
        ----------
        name : str
            What it is called.
        X : array-like of shape (n, d)
            Raw rows, some of which have the concept; if presence is known, also some that lack it.
        members : array-like of bool of shape (n,)
            Which rows have it.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets, default=None
            Which of the other concepts rows have; None takes those that :meth:`predict` finds.

        Returns
        -------
        ConceptSubspaces
            The model itself.

        Raises
        ------
        ValueError
            If there is such a concept already, or no row has it.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0, 0], [3, 0, 1], [0, 2, 0], [0, 1, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> model = ConceptSubspaces(1).fit(X, y)
        >>> model.add_concept("bell", X, [False, True, False, True] * 5).concept_names_.tolist()
        ['cat', 'dog', 'bell']
        """
        if str(name) in set(map(str, self.cones.names)):
            raise ValueError(f"There is a concept {name!r} already: refit it, or choose another name.")
        rows, has, others = self._given(name, X, members, y)
        self._append(str(name), *self._learned(rows, has, others), self._told(rows, has, name))
        return self

    def refit_concept(self: Model, name: str, X: ArrayLike, members: ArrayLike, y: Any = None) -> Model:
        """Learn one concept again, from other rows or labels.

        Parameters
        ----------
        name : str
            The concept.
        X : array-like of shape (n, d)
            Raw rows.
        members : array-like of bool of shape (n,)
            Which rows have it.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets, default=None
            Which of the other concepts rows have; None takes those that :meth:`predict` finds.

        Returns
        -------
        ConceptSubspaces
            The model itself.

        Raises
        ------
        ValueError
            If there is no such concept, or no row has it.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> model = ConceptSubspaces(1).fit(X, y)
        >>> model.refit_concept("cat", X, [True, False, False, False] * 5).concept_names_.tolist()
        ['cat', 'dog']
        """
        j = self.cones.index(name)
        rows, has, others = self._given(name, X, members, y)
        others[:, j] = False
        learned, told = self._learned(rows, has, others), self._told(rows, has, name)
        order = [*range(j), len(self.concept_names_) - 1, *range(j, len(self.concept_names_) - 1)]
        self.drop_concept(name)
        self._append(str(name), *learned, told)
        self._order(order)
        return self

    def drop_concept(self: Model, name: str) -> Model:
        """Forget a concept.

        Parameters
        ----------
        name : str
            The concept.

        Returns
        -------
        ConceptSubspaces
            The model itself.

        Raises
        ------
        ValueError
            If there is no such concept, or no other.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> ConceptSubspaces(1).fit(X, y).drop_concept("dog").concept_names_.tolist()
        ['cat']
        """
        j, count = self.cones.index(name), len(self.concept_names_)
        if count == 1:
            raise ValueError(f"{name!r} is the model's only concept, and a model needs one.")
        self._order([i for i in range(count) if i != j])
        return self

    def split_concept(
        self: Model, name: str, X: ArrayLike, members: ArrayLike, into: int | Sequence[str] = 2, y: Any = None
    ) -> Model:
        """Split a concept by its atoms, which stay as they are: those that point the same way make a concept.

        Parameters
        ----------
        name : str
            The concept.
        X : array-like of shape (n, d)
            Raw rows.
        members : array-like of bool of shape (n,)
            Which rows have it; each goes to the part, or parts, that it uses.
        into : int or list of str, default=2
            How many parts, or their names; without names they are numbered.
        y : array-like of shape (n, S) or (n,), sparse matrix, dataframe or list of sets, default=None
            Which of the other concepts rows have; None takes those that :meth:`predict` finds.

        Returns
        -------
        ConceptSubspaces
            The model itself; the parts stand at the end.

        Raises
        ------
        ValueError
            If there is no such concept, it has fewer atoms than there are to be parts, or a part would have no row.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0, 0], [0, 3, 0], [0, 0, 2], [0, 0, 1]] * 5, ["pet", "pet", "car", "car"] * 5
        >>> model = ConceptSubspaces(2).fit(X, y)
        >>> names = model.split_concept("pet", X, [True, True, False, False] * 5, ["cat", "dog"]).concept_names_
        >>> names.tolist()
        ['car', 'cat', 'dog']
        """
        j = self.cones.index(name)
        names = [f"{name} {i + 1}" for i in range(into)] if isinstance(into, int) else [str(part) for part in into]
        mine = np.flatnonzero(self.groups_ == j)
        if not 2 <= len(names) <= len(mine):
            raise ValueError(f"{name!r} has {len(mine)} atoms, so it can be split into 2 to {len(mine)} parts.")
        rows, has, others = self._given(name, X, members, y)
        others[:, j] = False
        atoms = self.atoms_[mine]
        part_of = fcluster(linkage(atoms.astype(np.float64), "average", metric="cosine"), len(names), "maxclust") - 1
        if part_of.max() + 1 < len(names):
            raise ValueError(f"The atoms of {name!r} fall into {part_of.max() + 1} parts only: split it into fewer.")
        uses = has[:, None] & self._parts_used(rows, has, others, mine, part_of)
        if not uses.any(axis=0).all():
            none = names[int(np.argmin(uses.any(axis=0)))]
            raise ValueError(f"No row would have {none!r}: split {name!r} into fewer parts, or give more rows.")
        told = [self._told(rows, uses[:, i], part) for i, part in enumerate(names)]
        usage = self._usage()[mine]
        rest = [i for i in range(len(self.concept_names_)) if i != j]
        self._order(rest)
        for i, part in enumerate(names):
            self._append(part, atoms[part_of == i], usage[part_of == i], told[i])
        return self

    def merge_concepts(self: Model, names: Sequence[str], name: str, X: ArrayLike, members: ArrayLike) -> Model:
        """Make one concept of several: its cone has all of their atoms.

        Parameters
        ----------
        names : list of str
            The concepts.
        name : str
            What they are called together.
        X : array-like of shape (n, d)
            Raw rows, from which it is learned which rows have the new one.
        members : array-like of bool of shape (n,)
            Which rows have any of them.

        Returns
        -------
        ConceptSubspaces
            The model itself; the new concept stands at the end.

        Raises
        ------
        ValueError
            If a concept is not known, there are fewer than two, or another has that name.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0, 0], [3, 0, 1], [0, 2, 0], [0, 0, 1]] * 5, ["cat", "cat", "dog", "car"] * 5
        >>> model = ConceptSubspaces(1).fit(X, y)
        >>> merged = model.merge_concepts(["cat", "dog"], "pet", X, [True, True, True, False] * 5)
        >>> merged.concept_names_.tolist(), len(merged.atoms_)
        (['car', 'pet'], 3)
        """
        which = sorted(set(self.cones.indices(list(names))))
        if len(which) < 2:
            raise ValueError("Name at least two concepts to merge.")
        kept = [j for j in range(len(self.concept_names_)) if j not in which]
        if str(name) in {str(self.concept_names_[j]) for j in kept}:
            raise ValueError(f"There is a concept {name!r} already: choose another name.")
        rows, has, _ = self._given(
            name, X, members, np.zeros((len(np.asarray(members)), len(self.concept_names_)), bool)
        )
        mine = np.isin(self.groups_, which)
        atoms, usage, told = self.atoms_[mine], self._usage()[mine], self._told(rows, has, name)
        self._order(kept)
        self._append(str(name), atoms, usage, told)
        return self

    def rename_concept(self: Model, name: str, new: str) -> Model:
        """Give a concept another name.

        Parameters
        ----------
        name : str
            The concept.
        new : str
            What it is to be called.

        Returns
        -------
        ConceptSubspaces
            The model itself.

        Raises
        ------
        ValueError
            If there is no such concept, or another has that name.

        Examples
        --------
        >>> from pellucid import ConceptSubspaces
        >>> X, y = [[1, 0], [3, 0], [0, 2], [0, 1]] * 5, ["cat", "cat", "dog", "dog"] * 5
        >>> ConceptSubspaces(1).fit(X, y).rename_concept("dog", "hound").concept_names_.tolist()
        ['cat', 'hound']
        """
        j = self.cones.index(name)
        if str(new) in {str(other) for i, other in enumerate(self.concept_names_) if i != j}:
            raise ValueError(f"There is a concept {new!r} already: choose another name.")
        if not hasattr(self, "label_names_"):
            self.label_names_ = self.concept_names_.copy()  # what the labels are called that it was learned from
        self.concept_names_ = np.array(
            [*self.concept_names_[:j], str(new), *self.concept_names_[j + 1 :]], dtype=object
        )
        return self

    # the small print

    def _given(self, name: str, X: ArrayLike, members: ArrayLike, y: Any) -> tuple[NDArray[Any], Indicator, Indicator]:
        """Prepared rows, which of them have the concept, and who has which others (n, S)."""
        rows = np.asarray(self.prepare(X))
        has = np.asarray(members)
        if has.shape != (len(rows),) or not np.isin(has, (0, 1)).all():
            raise ValueError(f"members must say yes or no of each of the {len(rows)} rows, but has shape {has.shape}.")
        has = has.astype(bool)
        if not has.any():
            raise ValueError(f"No row has the concept {name!r}: give at least one that has it.")
        if y is not None:
            others = align(y, [str(known) for known in self.concept_names_]).copy()
        elif self.knows_presence:
            others = self.presence_model.has(rows)
        else:
            others = np.zeros((len(rows), len(self.concept_names_)), dtype=bool)
        if len(others) != len(rows):
            raise ValueError(f"X has {len(rows)} rows, but y has {len(others)}.")
        return rows, has, others

    def _parts_used(
        self,
        rows: NDArray[Any],
        has: Indicator,
        others: Indicator,
        mine: NDArray[np.int64],
        part_of: NDArray[np.int64],
    ) -> Indicator:
        """Which parts of a concept's atoms ``mine`` each row uses (n, parts): those that hold much of it."""
        rest = np.flatnonzero(~np.isin(np.arange(len(self.atoms_)), mine))
        allowed = np.column_stack([others[:, self.groups_[rest]], np.repeat(has[:, None], len(mine), axis=1)])
        atoms = self.atoms_[np.concatenate([rest, mine])]
        codes = solve_codes(rows, allowed, atoms, np.arange(len(atoms)), float(self.ridge))[:, len(rest) :]
        parts = range(part_of.max() + 1)
        size = np.stack(
            [np.linalg.norm(codes[:, part_of == i] @ self.atoms_[mine[part_of == i]], axis=1) for i in parts]
        )
        return np.asarray(((size > 0) & (size >= PART * size.max(axis=0))).T)

    def _learned(self, rows: NDArray[Any], has: Indicator, others: Indicator) -> tuple[NDArray[Any], NDArray[Any]]:
        """Atoms of one concept beside those that stay, and how much each is used."""
        rng, members = check_random_state(self.random_state), np.flatnonzero(has)
        auto = isinstance(self.n_atoms, str)
        size = ATOMS if auto else self.n_atoms
        if not isinstance(size, (int, np.integer)):
            size = int(np.bincount(self.groups_).max())
        start = sample_atoms(rows, members, min(int(size), len(members)), rng, np.zeros(len(rows), dtype=bool))
        S = len(self.concept_names_)
        atoms = np.vstack([self.atoms_, start.astype(self.atoms_.dtype)])
        groups = np.concatenate([self.groups_, np.full(len(start), S)])
        Y = np.column_stack([others, has])[has]
        learner = Learner(atoms, groups, ridge=float(self.ridge), sparsity=self.sparsity_)
        found = OneConcept(Blocks.held(rows[has]), Y, learner, S).learn(PASSES, rng)
        atoms, usage = (part[len(self.atoms_) :] for part in (found.atoms, np.asarray(found.grams.diagonal())))
        keep = atoms_that_hold(usage, np.zeros(len(usage), dtype=np.int64)) if auto else slice(None)
        return atoms[keep], usage[keep]

    def _told(self, rows: NDArray[Any], has: Indicator, name: str) -> Any:
        """What tells who has the concept, if the model knows that of the others."""
        if not self.knows_presence:
            return None
        warn_of_few(np.array([has.sum()]), len(rows), np.array([name]))
        return self._presence_of(Blocks.held(rows), has[:, None])

    def _per_concept(self) -> list[str]:
        """The arrays that have a row for each concept, as far as presence is known."""
        names = [f"presence_{name}_" for name in self._presence_names() if name != "weight"]
        return names if self.knows_presence else []

    def _usage(self) -> NDArray[Any]:
        return np.asarray(getattr(self, "usage_", np.zeros(len(self.atoms_))))

    def _append(self, name: str, atoms: NDArray[Any], usage: NDArray[Any], told: Any) -> None:
        """One more concept, at the end."""
        S = len(self.concept_names_)
        self.usage_ = np.concatenate([self._usage(), usage])
        self.atoms_ = np.vstack([self.atoms_, atoms.astype(self.atoms_.dtype)])
        self.groups_ = np.concatenate([self.groups_, np.full(len(atoms), S)])
        self.concept_names_ = np.array([*self.concept_names_, name], dtype=object)
        if hasattr(self, "label_names_"):
            self.label_names_ = np.array([*self.label_names_, name], dtype=object)
        for attribute in self._per_concept() if told is not None else ():
            mine = getattr(told, attribute.removeprefix("presence_").removesuffix("_"))
            setattr(self, attribute, np.concatenate([getattr(self, attribute), mine]))

    def _order(self, kept: Sequence[int]) -> None:
        """These concepts, in this order, and no others."""
        places = [np.flatnonzero(self.groups_ == j) for j in kept]
        atoms = np.concatenate(places)
        self.usage_ = self._usage()[atoms]
        self.atoms_ = self.atoms_[atoms]
        self.groups_ = np.repeat(np.arange(len(places)), [len(place) for place in places])
        self.concept_names_ = self.concept_names_[list(kept)]
        if hasattr(self, "label_names_"):
            self.label_names_ = self.label_names_[list(kept)]
        for attribute in self._per_concept():
            setattr(self, attribute, getattr(self, attribute)[list(kept)])
