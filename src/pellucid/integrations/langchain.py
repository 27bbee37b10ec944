"""A retriever for LangChain: ``pip install "pellucid[langchain]"``."""

from __future__ import annotations

from typing import Any

from pellucid._core.extras import require
from pellucid.integrations.retrieval import Retrieval

require("langchain_core", "langchain")

from langchain_core.callbacks import CallbackManagerForRetrieverRun  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from pydantic import Field  # noqa: E402

__all__ = ["ConceptRetriever"]


class ConceptRetriever(BaseRetriever):
    """Documents that :class:`~pellucid.search.ConceptSearch` finds: their metadata has score, parts and explanation.

    ``invoke(query, k=3, concept="animal")`` asks something else for once. The fields are those of
    :class:`~pellucid.integrations.Retrieval`.
    """

    search: Any = Field(exclude=True, repr=False)
    concept: Any = None
    without: Any = None
    k: int = Field(10, ge=1)
    diverse: bool = False
    where: Any = None
    score: str | None = None
    explain: bool = True
    text_column: str | None = None

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self.retrieval()  # says so if the search is none

    def retrieval(self) -> Retrieval:
        """What is asked of the search."""
        return Retrieval(
            self.search, self.concept, self.without, self.k, self.diverse, self.where, self.score, self.explain,
            self.text_column,
        )  # fmt: skip

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **asked: Any
    ) -> list[Document]:
        asked.pop("verbose", None)  # for LangChain's callbacks
        found = self.retrieval().changed(**asked).documents(query)
        return [Document(page_content=one.text, metadata=one.metadata, id=one.id) for one in found]
