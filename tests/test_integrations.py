"""Retrievers for LangChain, LlamaIndex and Haystack, by the real packages: they find what a search by concept finds."""

import asyncio
import inspect
import json
import sys
import warnings

import numpy as np
import pytest

import pellucid
from pellucid import ConceptSubspaces
from pellucid.integrations import Retrieval
from pellucid.search import Collection, ConceptSearch
from support.standins import vector

SIZE, COUNT = 10, 120


def embed(texts):
    return np.stack([vector(text, SIZE) for text in texts])


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    folder = tmp_path_factory.mktemp("retrievers")
    texts = [f"text {i}" for i in range(COUNT)]
    X = embed(texts)
    model = ConceptSubspaces(2, random_state=0).fit(X, X[:, :3] > 0.3, ["a", "b", "c"])
    collection = Collection.create(
        folder / "c", X, [f"id-{i}" for i in range(COUNT)], text=texts, year=list(range(COUNT)),
        thumbnail=[b"\x89PNG"] * COUNT, score=[0.5] * COUNT,
    )  # fmt: skip
    pellucid.save(model, folder / "m.safetensors")
    return ConceptSearch(collection, model, embed)


ASKED = [
    {},
    {"concept": "a", "k": 3},
    {"concept": {"a": 2.0, "b": -1.0}, "k": 5},
    {"concept": ["a", "c"], "without": "b", "k": 4},
    {"diverse": True, "k": 6, "concept": "b"},
    {"where": [("year", ">", 60)], "k": 5},
    {"score": "projection", "concept": "a", "k": 5},
]


def wanted(search, query, k=10, **asked):
    return [(hit.id, hit.score) for hit in search.search(query, k=k, **asked)]


def check_document(search, metadata, asked, query="a question"):
    """What a document says of itself is what the search says of the hit."""
    position = search.collection.position(metadata["id"])
    more = {name: value for name, value in asked.items() if name in ("concept", "without", "score")}
    why = search.explain(query, metadata["id"], **more)
    told = metadata["explanation"]
    assert told["score"] == pytest.approx(metadata["score"], abs=1e-5)
    assert sum(told["terms"].values()) + told["residual"] + told["presence"] == pytest.approx(told["score"], abs=1e-6)
    assert told["terms"] == pytest.approx(dict(zip(why.names, why.terms)), abs=1e-6)
    shares = dict(zip("abc", search.stored.shares(search.collection.vectors([position]).astype(float))[0]))
    assert metadata["parts"] == pytest.approx({n: s for n, s in shares.items() if s >= 0.005}, abs=1e-3)
    assert list(metadata["parts"].values()) == sorted(metadata["parts"].values(), reverse=True)
    assert (metadata["year"], metadata["item_score"]) == (position, 0.5)
    assert "thumbnail" not in metadata
    assert "text" not in metadata
    json.dumps(metadata, allow_nan=False)


@pytest.fixture
def langchain():
    pytest.importorskip("langchain_core", reason="the langchain extra is not installed")
    from pellucid.integrations import langchain

    return langchain


@pytest.fixture
def llama_index():
    pytest.importorskip("llama_index.core", reason="the llama-index extra is not installed")
    from pellucid.integrations import llama_index

    return llama_index


@pytest.fixture
def haystack():
    pytest.importorskip("haystack", reason="the haystack extra is not installed")
    from pellucid.integrations import haystack

    return haystack


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_langchain_finds_what_a_search_finds(search, langchain, asked):
    retriever = langchain.ConceptRetriever(search=search, **asked)
    found = retriever.invoke("a question")
    assert [(one.id, one.metadata["score"]) for one in found] == wanted(search, "a question", **asked)
    assert [one.page_content for one in found] == [f"text {one.metadata['year']}" for one in found]
    assert [one.metadata["rank"] for one in found] == list(range(1, len(found) + 1))
    check_document(search, found[0].metadata, asked)


def test_langchain_runs_in_chains_batches_and_asynchronously(search, langchain):
    retriever = langchain.ConceptRetriever(search=search, k=2)
    ids = [one for one, _ in wanted(search, "a question", k=2)]
    chain = retriever | (lambda documents: [one.id for one in documents])
    assert chain.invoke("a question") == ids
    assert chain.batch(["a question", "text 3"])[1][0] == "id-3"
    assert [one.id for one in asyncio.run(retriever.ainvoke("a question"))] == ids
    assert [one.id for one in retriever.invoke("a question", k=3, concept="a")] == [
        one for one, _ in wanted(search, "a question", k=3, concept="a")
    ]
    with pytest.raises(TypeError, match="has no parameter 'concpt': did you mean 'concept'"):
        retriever.invoke("a question", concpt="a")
    with pytest.raises(ValueError, match="There is no concept 'z'"):
        retriever.invoke("a question", concept="z")
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        langchain.ConceptRetriever(search=search, k=0)
    with pytest.raises(TypeError, match="search must be a ConceptSearch, got str"):
        langchain.ConceptRetriever(search="photos")


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_llama_index_finds_what_a_search_finds(search, llama_index, asked):
    found = llama_index.ConceptRetriever(search, **asked).retrieve("a question")
    assert [(one.node_id, one.score) for one in found] == wanted(search, "a question", **asked)
    assert [one.text for one in found] == [f"text {one.metadata['year']}" for one in found]
    check_document(search, found[0].metadata, asked)
    assert "explanation" not in found[0].node.get_content("llm")


def test_llama_index_takes_vectors_and_runs_asynchronously(search, llama_index):
    from llama_index.core.schema import QueryBundle

    retriever = llama_index.ConceptRetriever(search, k=2)
    bundle = QueryBundle("ignored", embedding=vector("text 5", SIZE).tolist())
    assert retriever.retrieve(bundle)[0].node_id == "id-5"
    assert asyncio.run(retriever.aretrieve("text 4"))[0].node_id == "id-4"
    with pytest.raises(TypeError, match="has no parameter 'top'"):
        llama_index.ConceptRetriever(search, top=3)


@pytest.mark.parametrize("asked", [{}, {"concept": "a"}, {"concept": "b", "without": "a"}, {"score": "projection"}])
def test_llama_index_ranks_nodes_of_others(search, llama_index, asked):
    """All items from another retriever, in any order: then the first are those of the search itself."""
    from llama_index.core.schema import NodeWithScore, TextNode

    order = np.random.default_rng(0).permutation(COUNT)
    nodes = []
    for i in order:  # a third by id, a third by embedding, a third by text
        row = vector(f"text {i}", SIZE).tolist() if i % 3 == 1 else None
        node = TextNode(id_=f"id-{i}" if i % 3 == 0 else f"other-{i}", text=f"text {i}", embedding=row)
        nodes.append(NodeWithScore(node=node, score=0.0))
    before = [one.model_dump() for one in nodes]
    postprocessor = llama_index.ConceptPostprocessor(search=search, k=5, **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = postprocessor.postprocess_nodes(nodes, query_str="a question")
    truth = wanted(search, "a question", k=5, **asked)
    assert [one.text for one in found] == [f"text {name.removeprefix('id-')}" for name, _ in truth]
    np.testing.assert_allclose([one.score for one in found], [score for _, score in truth], atol=1e-5)
    assert found[0].metadata["explanation"]["score"] == pytest.approx(found[0].score, abs=1e-5)
    assert [one.model_dump() for one in nodes] == before


def test_ranking_again_at_the_edges(search, llama_index):
    assert llama_index.ConceptPostprocessor(search=search).postprocess_nodes([], query_str="a") == []
    assert len(search.rerank("a", ["id-1", "id-2"])) == 2
    diverse = search.rerank("a", search.collection.ids, concept="a", k=4, diverse=True)
    assert len({hit.position for hit in diverse}) == 4
    with pytest.raises(ValueError, match="k must be at least 1"):
        search.rerank("a", ["id-1"], k=0)
    with pytest.raises(ValueError, match="give query_str or query_bundle"):
        llama_index.ConceptPostprocessor(search=search).postprocess_nodes([])


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_haystack_finds_what_a_search_finds(search, haystack, asked):
    found = haystack.ConceptRetriever(search, **asked).run(query="a question")["documents"]
    assert [(one.id, one.score) for one in found] == wanted(search, "a question", **asked)
    check_document(search, found[0].meta, asked)


def test_haystack_runs_in_a_pipeline_that_is_written_and_read(search, haystack, tmp_path, monkeypatch):
    from haystack import Pipeline

    (tmp_path / "haystack_encoder.py").write_text(
        "import numpy as np\nfrom support.standins import vector\n"
        "def embed(texts):\n    return np.stack([vector(t, 10) for t in texts])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    folder = search.collection.folder
    places = {"collection": str(folder), "model": str(folder.parent / "m.safetensors")}
    pipeline = Pipeline()
    retriever = haystack.ConceptRetriever(**places, encoder="haystack_encoder:embed", k=3, concept="a")
    pipeline.add_component("retriever", retriever)
    # earlier versions read whatever a file names
    asks = "allowed_modules" in inspect.signature(Pipeline.loads).parameters
    more = {"allowed_modules": ["pellucid.integrations.haystack"]} if asks else {}
    again = Pipeline.loads(pipeline.dumps(), **more)
    for each in (pipeline, again):
        found = each.run({"retriever": {"query": "a question", "without": "b"}})["retriever"]["documents"]
        assert [one.id for one in found] == [
            one for one, _ in wanted(search, "a question", 3, concept="a", without="b")
        ]
    with pytest.raises(ValueError, match="cannot be written: give collection, model, encoder"):
        haystack.ConceptRetriever(search).to_dict()
    with pytest.raises(ValueError, match="not both"):
        haystack.ConceptRetriever()


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index.core", "llama-index"),
        ("haystack", "haystack", "haystack"),
    ],
)
def test_a_missing_framework_says_what_to_install(monkeypatch, module, package, extra):
    import importlib

    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"pellucid.integrations.{module}", raising=False)
    with pytest.raises(ImportError) as error:
        importlib.import_module(f"pellucid.integrations.{module}")
    assert f'pip install "pellucid[{extra}]"' in str(error.value)


def test_documents_without_a_model_or_a_text(tmp_path):
    plain = ConceptSearch(Collection.create(tmp_path / "c", np.eye(3), note=["x", "y", "z"], weight=[1.0, np.nan, 2.0]))
    first, *_ = Retrieval(plain, k=2).documents([0, 1, 0])
    assert first.metadata == {"note": "y", "weight": None, "id": "1", "rank": 1, "score": 1.0}
    assert first.text == ""
    assert Retrieval(plain, text_column="note").documents([0, 1, 0])[0].text == "y"
    with pytest.raises(ValueError, match="There is no column 'notes': did you mean 'note'"):
        Retrieval(plain, text_column="notes").documents([0, 1, 0])
    with pytest.raises(ValueError, match="give the encoder"):
        Retrieval(plain).documents("a question")
