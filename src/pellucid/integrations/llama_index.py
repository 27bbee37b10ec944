"""A retriever and a node postprocessor for LlamaIndex: ``pip install "pellucid[llama-index]"``."""

from __future__ import annotations

from typing import Any

from pellucid._core.extras import require
from pellucid.integrations.retrieval import OWN, Retrieval
from pellucid.search import ConceptSearch, Text

require("llama_index.core", "llama-index")

from llama_index.core.base.base_retriever import BaseRetriever  # noqa: E402
from llama_index.core.bridge.pydantic import Field  # noqa: E402
from llama_index.core.postprocessor.types import BaseNodePostprocessor  # noqa: E402
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode  # noqa: E402

__all__ = ["ConceptPostprocessor", "ConceptRetriever"]

HIDDEN = [name for name in OWN if name != "id"]  # from the language model: they would fill its context


class ConceptRetriever(BaseRetriever):
    """Nodes that :class:`~pellucid.search.ConceptSearch` finds, with score, parts and explanation in their metadata.

    Parameters
    ----------
    search : ConceptSearch
        What is searched.
    callback_manager : CallbackManager, default=None
        LlamaIndex's.
    **asked : object
        The other parameters of :class:`~pellucid.integrations.Retrieval`: ``concept``, ``without``, ``k``, ``diverse``,
        ``where``, ``score``, ``explain``, ``text_column``.
    """

    def __init__(self, search: ConceptSearch, *, callback_manager: Any = None, **asked: Any) -> None:
        self.retrieval = Retrieval(search).changed(**asked)
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked: Any = query_bundle.query_str if query_bundle.embedding is None else query_bundle.embedding
        return [
            NodeWithScore(
                node=TextNode(
                    id_=one.id,
                    text=one.text,
                    metadata=one.metadata,
                    excluded_llm_metadata_keys=HIDDEN,
                    excluded_embed_metadata_keys=HIDDEN,
                ),
                score=one.score,
            )
            for one in self.retrieval.documents(asked)
        ]


class ConceptPostprocessor(BaseNodePostprocessor):
    """Puts nodes that another retriever found into the order of a search by concept, and says why.

    A node that is an item of the collection by its id has its vector from there; another its own embedding, or that of
    its text by the search's encoder. ``k`` is the most nodes to keep, all if None. A filter (``where``) is for the
    retriever.
    """

    search: Any = Field(exclude=True, repr=False)
    concept: Any = None
    without: Any = None
    k: int | None = None
    diverse: bool = False
    score: str | None = None
    explain: bool = True

    @classmethod
    def class_name(cls) -> str:
        """Name LlamaIndex's way."""
        return "ConceptPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("Nodes are ranked by concept for a query: give query_str or query_bundle.")
        asked: Any = query_bundle.query_str if query_bundle.embedding is None else query_bundle.embedding
        hits = self.search.rerank(
            asked,
            [self._candidate(one.node) for one in nodes],
            concept=self.concept,
            k=self.k,
            diverse=self.diverse,
            without=self.without,
            score=self.score,
        )
        found = []
        for hit in hits:
            node = nodes[hit.position].node.model_copy()
            node.metadata = {**node.metadata, "rank": hit.rank, "score": hit.score}
            if self.explain and hit.why is not None:
                node.metadata["explanation"] = hit.explain().to_dict()
            node.excluded_llm_metadata_keys = [*{*node.excluded_llm_metadata_keys, *HIDDEN}]
            node.excluded_embed_metadata_keys = [*{*node.excluded_embed_metadata_keys, *HIDDEN}]
            found.append(NodeWithScore(node=node, score=hit.score))
        return found

    def _candidate(self, node: Any) -> Any:
        if node.node_id in self.search.collection:
            return node.node_id
        return Text(node.get_content()) if node.embedding is None else node.embedding
