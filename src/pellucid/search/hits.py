"""A result of a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.search.explanation import Explanation


@dataclass(frozen=True)
class Hit:
    """One result: where it ranks, how close it is, which item it is; :meth:`explain` says why.

    Attributes
    ----------
    rank : int
        1 for the best.
    score : float
        How close it is.
    position : int
        Where the item stands in the collection.
    read : callable
        Gives the item, which is looked up when it is first asked for.
    why : callable or None
        Explains the score; None without a model.
    split : callable or None
        Splits the score by aspect of the query; None where it has but one.
    known_id : str or None
        The item's id, where it is known before the item is read.
    """

    rank: int
    score: float
    position: int
    read: Callable[[], dict[str, Any]] = field(repr=False, compare=False)
    why: Callable[..., Explanation] | None = field(default=None, repr=False, compare=False)
    split: Callable[[], dict[str, float]] | None = field(default=None, repr=False, compare=False)
    known_id: str | None = field(default=None, repr=False, compare=False)

    @property
    def aspects(self) -> dict[str, float]:
        """What each aspect of the query adds to the score: its concepts, and all of it."""
        return {"all of it": self.score} if self.split is None else self.split()

    @property
    def item(self) -> dict[str, Any]:
        """Id and columns of the item."""
        kept = self.__dict__  # functools.cached_property takes a lock, and longer than the look-up
        if "_item" not in kept:
            kept["_item"] = self.read()
        return kept["_item"]  # type: ignore[no-any-return]

    @property
    def id(self) -> str:
        """Id of the item."""
        return str(self.item["id"]) if self.known_id is None else self.known_id

    def explain(self, **more: Any) -> Explanation:
        """Say which concepts make up this score.

        Parameters
        ----------
        **more : dict
            As for :meth:`ConceptSearch.explain`: ``vocabulary``, ``top`` and ``active``.

        Returns
        -------
        Explanation
            One term per concept; print it for a table.

        Raises
        ------
        ValueError
            If the search had no model.
        """
        if self.why is None:
            raise ValueError("Only a hit that a search with a model returned can be explained.")
        return self.why(**more)
