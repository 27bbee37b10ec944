"""A retriever for Haystack: ``pip install "pellucid[haystack]"``."""

from __future__ import annotations

from typing import Any

from pellucid._core.extras import require
from pellucid.integrations.retrieval import Retrieval
from pellucid.search import ConceptSearch

require("haystack", "haystack")

from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402

__all__ = ["ConceptRetriever"]


@component
class ConceptRetriever:
    """Documents that :class:`~pellucid.search.ConceptSearch` finds, with score, parts and explanation in their meta.

    Parameters
    ----------
    search : ConceptSearch, default=None
        What is searched. None opens it from the next three, and the component can then be written to YAML.
    collection, model, encoder : str, default=None
        Folder of a collection, file of a model, and name of an encoder.
    concept, without, k, diverse, where, score, explain, text_column : object
        As for :class:`~pellucid.integrations.Retrieval`; ``run`` takes them too.
    """

    def __init__(
        self,
        search: ConceptSearch | None = None,
        collection: str | None = None,
        model: str | None = None,
        encoder: str | None = None,
        concept: Any = None,
        without: Any = None,
        k: int = 10,
        diverse: bool = False,
        where: Any = None,
        score: str | None = None,
        explain: bool = True,
        text_column: str | None = None,
    ) -> None:
        if (search is None) == (collection is None):
            raise ValueError("Give a search, or the folder of a collection to open one, not both.")
        self.asked = {
            "concept": concept, "without": without, "k": k, "diverse": diverse, "where": where, "score": score,
            "explain": explain, "text_column": text_column,
        }  # fmt: skip
        self.places = {"collection": collection, "model": model, "encoder": encoder}
        self.search = search

    def warm_up(self) -> None:
        """Open what is searched, if only its place was given; Haystack calls it before the first run."""
        if self.search is None:
            from pellucid import persistence
            from pellucid.search import Collection

            model = None if self.places["model"] is None else persistence.load(self.places["model"])
            opened = Collection.open(str(self.places["collection"]))
            self.search = ConceptSearch(opened, model, self.places["encoder"])

    def to_dict(self) -> dict[str, Any]:
        """What Haystack writes of it."""
        if self.places["collection"] is None:
            raise ValueError("A retriever that was given a search cannot be written: give collection, model, encoder.")
        written: dict[str, Any] = default_to_dict(self, **self.places, **self.asked)
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ConceptRetriever:
        """Read what ``to_dict`` wrote."""
        made: ConceptRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        concept: Any = None,
        without: Any = None,
        k: int | None = None,
        diverse: bool | None = None,
        where: Any = None,
    ) -> dict[str, list[Document]]:
        """Documents for a query; what is given here is asked for in place of what the retriever was made with."""
        self.warm_up()
        assert self.search is not None
        retrieval = Retrieval(self.search).changed(**self.asked)
        asked = retrieval.changed(concept=concept, without=without, k=k, diverse=diverse, where=where)
        found = asked.documents(query)
        return {
            "documents": [Document(id=one.id, content=one.text, meta=one.metadata, score=one.score) for one in found]
        }
