"""Search by concept: a collection of items with their vectors, engines that rank them, and why two items are close."""

from typing import TYPE_CHECKING

from pellucid._core.lazy import lazily

if TYPE_CHECKING:
    from pellucid.search._folder import CollectionError
    from pellucid.search.attached import AttachedCollection, attach
    from pellucid.search.causes import Cause
    from pellucid.search.changes import Change
    from pellucid.search.collection import Collection
    from pellucid.search.compared_sets import ComparedSets, compare_sets
    from pellucid.search.encoders import EncoderError
    from pellucid.search.engines import ENGINES, Engine, EngineError, make_engine
    from pellucid.search.explanation import Explanation, explain
    from pellucid.search.hits import Hit
    from pellucid.search.pool_quality import PoolReport, pool_report
    from pellucid.search.quantised import TokenPool
    from pellucid.search.query import ConceptSearch
    from pellucid.search.readable import ReadableCollection
    from pellucid.search.stored import stored_model
    from pellucid.search.texts import Text, TextCheck, TextEncoder
    from pellucid.search.tokens import TokenQueries, unit_tokens
    from pellucid.search.tracing import Trace, TracedItem, trace

_HOMES = {
    "ENGINES": "engines",
    "AttachedCollection": "attached",
    "Cause": "causes",
    "Change": "changes",
    "Collection": "collection",
    "CollectionError": "_folder",
    "ComparedSets": "compared_sets",
    "ConceptSearch": "query",
    "EncoderError": "encoders",
    "Engine": "engines",
    "EngineError": "engines",
    "Explanation": "explanation",
    "Hit": "hits",
    "PoolReport": "pool_quality",
    "ReadableCollection": "readable",
    "Text": "texts",
    "TextCheck": "texts",
    "TextEncoder": "texts",
    "TokenPool": "quantised",
    "TokenQueries": "tokens",
    "Trace": "tracing",
    "TracedItem": "tracing",
    "attach": "attached",
    "compare_sets": "compared_sets",
    "explain": "explanation",
    "make_engine": "engines",
    "pool_report": "pool_quality",
    "stored_model": "stored",
    "trace": "tracing",
    "unit_tokens": "tokens",
}
__all__ = [
    "ENGINES",
    "AttachedCollection",
    "Cause",
    "Change",
    "Collection",
    "CollectionError",
    "ComparedSets",
    "ConceptSearch",
    "EncoderError",
    "Engine",
    "EngineError",
    "Explanation",
    "Hit",
    "PoolReport",
    "ReadableCollection",
    "Text",
    "TextCheck",
    "TextEncoder",
    "TokenPool",
    "TokenQueries",
    "Trace",
    "TracedItem",
    "attach",
    "compare_sets",
    "explain",
    "make_engine",
    "pool_report",
    "stored_model",
    "trace",
    "unit_tokens",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
