"""Text queries: encoders by name, what they are checked for, and where texts of another kind than the items are put."""

import json
import sys
import types
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import ConceptSubspaces
from pellucid.search import Collection, ConceptSearch, EncoderError, Text, TextEncoder
from pellucid.search.encoders import openai
from pellucid.search.texts import ANYTHING, KEPT, gap_of, text_encoder
from support.commands import fails, found, run
from support.embedding_server import EmbeddingServer
from support.standins import vector

SIZE = 8


def embed(texts):
    return np.stack([vector(text, SIZE) for text in texts])


@pytest.fixture
def collection(tmp_path):
    texts = [f"text {i}" for i in range(60)]
    return Collection.create(tmp_path / "c", embed(texts), text=texts)


def search_of(collection, encoder=embed, **more):
    return ConceptSearch(collection, encoder=TextEncoder(encoder, **more))


def quietly(call):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return call()


def ranked(hits):
    return [hit.position for hit in hits]


# the same search as by the vector


def test_a_text_finds_what_its_vector_finds(collection):
    search = ConceptSearch(collection, encoder=embed)
    for text in ("text 7", "something else"):
        by_text = quietly(lambda text=text: search.search(text, k=5))
        by_vector = search.search(embed([text])[0], k=5)
        assert ranked(by_text) == ranked(by_vector)
        np.testing.assert_allclose([h.score for h in by_text], [h.score for h in by_vector])
    assert ranked(search.search("text 7", k=1)) == [7]


def test_an_id_is_an_item_unless_it_is_said_to_be_a_text(collection):
    search = ConceptSearch(collection, encoder=embed)
    assert 7 not in ranked(search.search("7", k=60))
    assert ranked(search.search(Text("7"), k=60)) == ranked(search.search(embed(["7"])[0], k=60))


def test_texts_go_with_concepts_parts_swaps_and_explanations(tmp_path):
    texts = [f"text {i}" for i in range(80)]
    X, y = embed(texts), np.array(["a", "b"] * 40)
    model = ConceptSubspaces(2, random_state=0).fit(X, y)
    search = ConceptSearch(Collection.create(tmp_path / "c", X, text=texts), model, embed)
    row = embed(["new"])[0]
    for asked in ({"concept": "a"}, {"concept": {"a": 2.0, "b": -1.0}}, {"without": "b"}, {"diverse": True}):
        assert ranked(search.search("new", k=5, **asked)) == ranked(search.search(row, k=5, **asked))
    parts = [("new", "a", 1.0), ("3", None, 0.5)]
    assert ranked(search.search(parts, k=5)) == ranked(search.search([(row, "a", 1.0), ("3", None, 0.5)], k=5))
    assert ranked(search.swap("new", "3", "a", k=5)) == ranked(search.swap(row, "3", "a", k=5))
    hit = search.search("new", "a", k=1)[0]
    assert hit.explain().score == pytest.approx(hit.score, abs=1e-6)


# another modality


def two_kinds(n=200, d=16, gap=1.5, seed=0):
    """Items and texts that mean the same, each kind around a mean of its own; the last texts are the queries."""
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(n, d))
    means = rng.normal(size=(2, d))
    means *= gap * np.sqrt(d) / np.linalg.norm(means, axis=1, keepdims=True)
    items = (meaning + means[0]).astype(np.float32)
    texts = {f"of {i}": row for i, row in enumerate(meaning + 0.3 * rng.normal(size=(n, d)) + means[1])}
    return items, texts, lambda asked: np.stack([texts[text] for text in asked])


def hits_at_one(search, n):
    return np.mean([search.search(f"of {i}", k=1)[0].position == i for i in range(n)])


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("modelled", [True, False])
def test_texts_of_another_kind_get_a_mean_of_their_own(tmp_path, modelled, center):
    items, _, encode = two_kinds()
    y = (items[:, 0] > items[:, 0].mean()).astype(int)
    model = ConceptSubspaces(3, center=center, random_state=0).fit(items, y) if modelled else None
    collection = Collection.create(tmp_path / "c", items, text=[f"of {i}" for i in range(len(items))])
    search = ConceptSearch(collection, model, encode)
    with pytest.warns(UserWarning, match="lie apart: .* as of captions and photos"):
        search.search("of 0", k=1)
    assert search.texts.check.apart
    assert search.texts.check.source == "items"
    own = hits_at_one(search, 60)
    as_they_come = np.mean([search.search(encode([f"of {i}"])[0], k=1)[0].position == i for i in range(60)])
    assert own > max(0.8, as_they_come + 0.15)


def test_given_texts_tell_the_mean_and_nothing_is_warned_of(tmp_path):
    items, texts, encode = two_kinds()
    collection = Collection.create(tmp_path / "c", items)
    search = ConceptSearch(collection, encoder=TextEncoder(encode, texts=list(texts)[60:]))
    assert quietly(lambda: hits_at_one(search, 60)) > 0.8
    assert search.texts.check.source == "given"


def test_one_kind_is_left_as_it_is_however_narrow_the_items(tmp_path):
    """Items about one thing lie far from texts about anything; their own texts tell that nothing is wrong."""
    rng = np.random.default_rng(0)
    rows = {f"of {i}": row for i, row in enumerate(2 * rng.normal(size=16) + rng.normal(size=(100, 16)))}
    rows |= dict(zip(ANYTHING, rng.normal(size=(len(ANYTHING), 16))))
    items = np.stack([rows[f"of {i}"] for i in range(100)])

    def encode(texts):
        return np.stack([rows[text] for text in texts])

    own = ConceptSearch(Collection.create(tmp_path / "a", items, text=list(rows)[:100]), encoder=encode)
    quietly(lambda: own.search("of 3", k=1))
    assert not own.texts.check.apart


def test_prepared_rows_and_raw_texts_do_not_mix_silently(tmp_path):
    rng = np.random.default_rng(0)
    texts = [f"text {i}" for i in range(100)]
    shift = 3 * np.ones(SIZE)
    raw = embed(texts) + shift
    units = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    prepared = units - units.mean(axis=0)
    prepared /= np.linalg.norm(prepared, axis=1, keepdims=True)
    search = ConceptSearch(
        Collection.create(tmp_path / "c", prepared, text=texts), encoder=lambda asked: embed(asked) + shift
    )
    with pytest.warns(UserWarning, match="the collection's lie around zero"):
        search.search("text 3", k=1)
    asked = [f"text {i}" for i in rng.integers(0, 100, 20)]
    assert all(f"text {search.search(text, k=1)[0].position}" == text for text in asked)


def test_lengths_of_another_making_are_told(collection):
    with pytest.warns(UserWarning, match=r"vectors have length 27\.1, the collection's 2\.71"):
        search_of(collection, lambda texts: 10 * embed(texts)).search("text 1", k=1)


def test_the_encoder_is_looked_at_once(collection):
    asked = []

    def counting(texts):
        asked.append(list(texts))
        return embed(texts)

    search = search_of(collection, counting)
    for _ in range(3):
        search.search("one", k=1)
        search.search("two", k=1)
    assert sum(len(texts) > 1 for texts in asked) == 1
    assert [texts for texts in asked if len(texts) == 1] == [["one"], ["two"]]  # and no text is embedded twice


def test_what_is_kept_of_texts_is_bounded(collection):
    encoder = TextEncoder(embed)
    for i in range(KEPT + 40):
        encoder.encode([f"many {i}"])
    assert len(encoder._kept) == KEPT
    many = [f"more {i}" for i in range(KEPT + 40)]
    np.testing.assert_allclose(encoder.encode(many), embed(many))


@given(st.integers(2, 40), st.integers(2, 40), st.integers(0, 10))
def test_the_gap_is_a_share_and_nothing_for_one_kind(n, m, seed):
    rng = np.random.default_rng(seed)

    def units(count, shift):
        rows = rng.normal(size=(count, 5)) + shift
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    for shift in (0, 3):
        A, B = units(n, 0), units(m, shift)
        gap, squares = gap_of(A.mean(axis=0), n, B.mean(axis=0), m)
        assert 0 <= gap <= 1
        assert max(squares) <= 1 + 1e-9
    large, other = units(4000, 0), units(4000, 0)
    assert gap_of(large.mean(axis=0), 4000, other.mean(axis=0), 4000)[0] < 0.01


# what is wrong with an encoder


@pytest.mark.parametrize(
    ("encoder", "sentence"),
    [
        (lambda texts: np.ones((len(texts), 3)) * np.arange(1, len(texts) + 1)[:, None], "vectors of 3 numbers, but "
         "the collection has 8: search with the model"),
        (lambda texts: np.full((len(texts), SIZE), np.nan), "a value that is not finite for 'a dog'"),
        (lambda texts: np.full((len(texts), SIZE), np.inf), "a value that is not finite for 'a dog'"),
        (lambda texts: np.zeros((len(texts), SIZE)), "a vector of zeros for 'a dog'"),
        (lambda texts: np.ones((len(texts), SIZE)), "the same vector for all of"),
        (lambda texts: np.ones(SIZE), "a list of 1 texts and gave an array of shape (8,): it must give one "),
        (lambda texts: np.ones((len(texts) + 1, SIZE)), "of shape (2, 8)"),
        (lambda texts: [[1.0], [1.0, 2.0]], "which is no table of numbers"),
        (lambda texts: None, "must give one vector for each"),
        (lambda texts: "nonsense", "which is no table of numbers"),
        (lambda texts: 1 / 0, "failed: ZeroDivisionError: division by zero"),
        (lambda: None, "failed: TypeError"),
    ],
)  # fmt: skip
def test_what_an_encoder_does_wrong_is_said(collection, encoder, sentence):
    with pytest.raises(EncoderError) as error:
        search_of(collection, encoder).search("a dog")
    assert sentence in str(error.value)


def test_empty_texts_and_texts_without_an_encoder(collection, tmp_path):
    for empty in ("", " \n"):
        with pytest.raises(EncoderError, match="is empty: write what you look for"):
            search_of(collection).search(empty)
    with pytest.raises(ValueError, match="There is no item 'a dog'; to search by text, give the encoder"):
        ConceptSearch(collection).search("a dog")
    with pytest.raises(TypeError, match="a list of texts, not one"):
        TextEncoder(embed, texts="a dog")
    with pytest.raises(ValueError, match="two at least"):
        TextEncoder(embed, texts=["a dog"])
    nothing = Collection.create(tmp_path / "none", np.eye(SIZE))
    nothing.delete(nothing.ids)
    with pytest.raises(EncoderError, match="The collection is empty"):
        search_of(nothing).search("a dog")


def test_an_encoder_that_knows_no_other_texts_is_taken_as_it_is(collection):
    def known(texts):
        return [{"a dog": vector("text 3", SIZE)}[text] for text in texts]

    with pytest.warns(UserWarning, match="was not looked at: The encoder known failed: KeyError"):
        hits = search_of(collection, known).search("a dog", k=1)
    assert ranked(hits) == [3]


# by name


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the user's in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "their_encoder.py").write_text(
        f"import sys; sys.path.insert(0, {str(sys.path[0])!r})\nfrom support.standins import vector\n"
        "import numpy as np\n"
        "def embed(texts):\n    return np.stack([vector(t, 8) for t in texts])\n"
        "class Kept:\n    embed = staticmethod(embed)\nkept = Kept()\nnumber = 3\n"
    )
    (tmp_path / "their_broken.py").write_text("import nothing_like_this_exists\n")
    (tmp_path / "their_wrong.py").write_text("1 / 0\n")
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    for name in ("their_encoder", "their_broken", "their_wrong"):
        sys.modules.pop(name, None)


def test_a_function_by_its_name(module):
    for name in ("their_encoder:embed", "their_encoder:kept", "their_encoder:kept.embed"):
        np.testing.assert_array_equal(TextEncoder(name).encode(["a"]), embed(["a"]))
    assert str(module) not in sys.path


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nothing", "names no encoder: write module:function"),
        (":embed", "names no encoder"),
        ("their_encoder:", "names no encoder"),
        ("their_encoder:embd", "has no 'embd': did you mean 'embed'?"),
        ("their_encoder:number", "is no encoder: it is neither a function"),
        ("their_encoder:Kept", "is a class"),
        ("their_broken:embed", "cannot be imported: No module named 'nothing_like_this_exists'"),
        ("their_wrong:embed", "cannot be imported: division by zero"),
        ("no_such_module:embed", "There is no module 'no_such_module' for the encoder"),
        ("sentence_transformer:model", "did you mean 'sentence-transformers'?"),
    ],
)
def test_names_that_are_none(module, name, sentence):
    with pytest.raises(EncoderError) as error:
        TextEncoder(name)
    assert sentence in str(error.value)


# adapters, with stand-ins of the same interface


def stand_in(monkeypatch, name, **offered):
    module = types.ModuleType(name)
    vars(module).update(offered)
    monkeypatch.setitem(sys.modules, name, module)


def test_sentence_transformers(monkeypatch):
    class Model:
        def __init__(self, name):
            assert name == "all-MiniLM-L6-v2"

        def encode(self, texts, batch_size=32):
            return embed(texts)

    class WithQueries(Model):
        def encode_query(self, texts):
            return embed([f"query: {text}" for text in texts])

    name = "sentence-transformers:all-MiniLM-L6-v2"
    stand_in(monkeypatch, "sentence_transformers", SentenceTransformer=Model)
    np.testing.assert_array_equal(TextEncoder(name).encode(["a", "b"]), embed(["a", "b"]))
    np.testing.assert_array_equal(TextEncoder(Model("all-MiniLM-L6-v2")).encode(["a"]), embed(["a"]))
    stand_in(monkeypatch, "sentence_transformers", SentenceTransformer=WithQueries)
    np.testing.assert_array_equal(TextEncoder(name).encode(["a"]), embed(["query: a"]))


def test_fastembed(monkeypatch):
    class TextEmbedding:
        def __init__(self, model_name):
            assert model_name == "BAAI/bge-small-en-v1.5"

        def embed(self, documents):
            raise AssertionError("these are queries")

        def query_embed(self, query):
            yield from embed(query)

    stand_in(monkeypatch, "fastembed", TextEmbedding=TextEmbedding)
    encoder = TextEncoder("fastembed:BAAI/bge-small-en-v1.5")
    np.testing.assert_array_equal(encoder.encode(["a", "b"]), embed(["a", "b"]))


class Tensor:
    """What a text tower gives: it must be taken from its graph and its device before it is an array."""

    def __init__(self, array, steps=("detach", "cpu", "float")):
        self.array, self.steps = array, steps

    def __getattr__(self, name):
        if name == "numpy":
            assert not self.steps, f"{self.steps} are missing"
            return lambda: self.array
        if name in self.steps:
            return lambda: Tensor(self.array, tuple(step for step in self.steps if step != name))
        raise AttributeError(name)


@pytest.mark.parametrize("later", [False, True])
def test_clip_of_transformers(monkeypatch, later):
    class Tower:
        @classmethod
        def from_pretrained(cls, name):
            assert name == "openai/clip-vit-base-patch32"
            return cls()

        def eval(self):
            return self

        def get_text_features(self, input_ids, attention_mask):
            rows = Tensor(embed(input_ids))
            return types.SimpleNamespace(pooler_output=rows) if later else rows

    class Tokens:
        @classmethod
        def from_pretrained(cls, name):
            return cls()

        def __call__(self, texts, padding, truncation, return_tensors):
            assert (padding, truncation, return_tensors) == (True, True, "pt")
            assert len(texts) <= 64
            return {"input_ids": texts, "attention_mask": None}

    stand_in(monkeypatch, "transformers", CLIPModel=Tower, AutoTokenizer=Tokens)
    many = [f"a photo of {i}" for i in range(70)]
    encoder = TextEncoder("clip:openai/clip-vit-base-patch32")
    np.testing.assert_array_equal(encoder.encode(many), embed(many))


def test_open_clip(monkeypatch):
    class Tower:
        def eval(self):
            return self

        def encode_text(self, tokens):
            return Tensor(embed(tokens))

    def create_model(name, pretrained):
        assert (name, pretrained) == ("ViT-B-32", "laion2b_s34b_b79k")
        return Tower()

    stand_in(monkeypatch, "open_clip", create_model=create_model, get_tokenizer=lambda name: list)
    encoder = TextEncoder("open_clip:ViT-B-32/laion2b_s34b_b79k")
    np.testing.assert_array_equal(encoder.encode(["a"]), embed(["a"]))


def test_objects_of_other_packages():
    class LangChain:
        def embed_query(self, text):
            return vector(text, SIZE).tolist()

    class LlamaIndex:
        def get_query_embedding(self, query):
            return vector(query, SIZE).tolist()

    for thing in (LangChain(), LlamaIndex()):
        np.testing.assert_allclose(TextEncoder(thing).encode(["a", "b"]), embed(["a", "b"]))


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("sentence-transformers:x", "sentence_transformers", "sentence-transformers"),
        ("fastembed:x", "fastembed", "fastembed"),
        ("clip:x", "transformers", "clip"),
        ("open_clip:x/y", "open_clip", "open-clip"),
    ],
)
def test_a_missing_package_says_what_to_install(monkeypatch, name, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as error:
        TextEncoder(name)
    assert f'pip install "pellucid[{extra}]"' in str(error.value)


# services that speak OpenAI's protocol


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(openai, "WAITS", (0.0, 0.0))
    monkeypatch.delenv(openai.KEY, raising=False)
    monkeypatch.delenv(openai.PLACE, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # which nothing on this machine goes through
    found = EmbeddingServer(SIZE)
    yield found
    found.stop()


def test_a_service_is_asked_in_batches_and_with_the_key(server, monkeypatch):
    monkeypatch.setenv(openai.KEY, "sk-secret")
    encoder = TextEncoder(f"openai:small@{server.url}")
    many = [f"text {i}" for i in range(openai.BATCH + 3)]
    np.testing.assert_allclose(encoder.encode(many), embed(many), rtol=1e-6)
    (path, body), (_, rest) = server.asked
    assert (path, body["model"], len(body["input"]), len(rest["input"])) == ("/v1/embeddings", "small", openai.BATCH, 3)
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer sk-secret"}
    everything = json.dumps([repr(encoder), str(vars(encoder)), str(vars(encoder._function))])
    assert "sk-secret" not in everything


def test_a_service_of_ones_own_by_the_variable_needs_no_key(server, monkeypatch):
    monkeypatch.setenv(openai.PLACE, server.url + "/")
    np.testing.assert_allclose(TextEncoder("openai:small").encode(["a"]), embed(["a"]), rtol=1e-6)
    assert "Authorization" not in server.headers[0]


def test_a_busy_service_is_asked_again(server):
    server.replies = [(429, {"Retry-After": "0"}, {}), (503, {}, b"down")]
    TextEncoder(f"openai:small@{server.url}").encode(["a"])
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ((401, {}, {"error": {"message": "Incorrect API key provided: sk-secret"}}), "refuses (401): Incorrect API key "
         "provided: …. Check the variable OPENAI_API_KEY."),
        ((404, {}, {"error": "model not found"}), "refuses (404): model not found. Check the model's name, 'small'"),
        ((400, {}, b"<html>"), "refuses (400)"),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), "where the key would not be safe"),
        ((200, {}, b"<html>"), "answered with what is no list of vectors"),
        ((200, {}, {"data": "x"}), "answered with what is no list of vectors"),
        ((200, {}, {"data": []}), "answered with what is no list of vectors"),
        ((200, {}, b"[" * 100_000), "answered with what is no list of vectors"),
        ((200, {}, {"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1]}]}), "gave 2 vectors for 1"),
        ((200, {}, {"data": [{"index": 0, "embedding": ["x"]}]}), "answered with what is no list of vectors"),
    ],
)  # fmt: skip
def test_what_a_service_refuses_is_said_without_the_key(server, monkeypatch, reply, sentence):
    monkeypatch.setenv(openai.KEY, "sk-secret")
    server.replies = [reply]
    with pytest.raises(EncoderError) as error:
        TextEncoder(f"openai:small@{server.url}").encode(["a"])
    assert sentence in str(error.value)
    assert "sk-secret" not in str(error.value)
    assert len(server.asked) == 1


def test_a_service_that_stays_busy_or_away(server):
    server.replies = [(503, {}, b"down")] * 3
    with pytest.raises(EncoderError, match=r"refuses \(503\)"):
        TextEncoder(f"openai:small@{server.url}").encode(["a"])
    server.stop()
    with pytest.raises(EncoderError, match=r"does not answer \(.*see that it runs"):
        TextEncoder(f"openai:small@{server.url}").encode(["a"])


def test_a_key_goes_nowhere_unencrypted_and_is_asked_for(monkeypatch):
    monkeypatch.delenv(openai.KEY, raising=False)
    monkeypatch.delenv(openai.PLACE, raising=False)
    with pytest.raises(EncoderError, match="wants a key: set the variable OPENAI_API_KEY"):
        TextEncoder("openai:small").encode(["a"])
    monkeypatch.setenv(openai.KEY, "sk-secret")
    with pytest.raises(EncoderError, match=r"would go to example\.org unencrypted"):
        TextEncoder("openai:small@http://example.org/v1").encode(["a"])
    monkeypatch.setenv(openai.KEY, "sk-\nX-Evil: 1")
    with pytest.raises(EncoderError, match="holds letters that no key has") as error:
        TextEncoder("openai:small@http://127.0.0.1:9/v1").encode(["a"])
    assert "Evil" not in str(error.value)
    with pytest.raises(EncoderError, match="Put no password into the address"):
        TextEncoder("openai:small@https://me:secret@example.org/v1")
    monkeypatch.setenv(openai.PLACE, "file:///etc/passwd")
    with pytest.raises(EncoderError, match="is no address of a service"):
        TextEncoder("openai:small")


def test_seconds_that_a_service_asks_for():
    assert [openai.seconds(said) for said in (None, "", "3", "-1", "Wed, 21 Oct")] == [0, 0, 3, 0, 0]


# the command line and the service


@pytest.mark.usefixtures("module")
def test_the_command_searches_by_text(collection):
    start = ["search", collection.folder, "--text", "text 7", "-k", 3]
    hits = found(*start, "--encoder", "their_encoder:embed")
    assert [hit["item"]["id"] for hit in hits] == [h.id for h in search_of(collection).search("text 7", k=3)]
    (collection.folder.parent / "texts.txt").write_text("one\n\ntwo\nthree\n")
    texts = found(*start, "--encoder", "their_encoder:embed", "--texts", collection.folder.parent / "texts.txt")
    wanted = search_of(collection, texts=["one", "two", "three"]).search("text 7", k=3)
    assert [hit["item"]["id"] for hit in texts] == [hit.id for hit in wanted]
    assert "text 7" in run(*start, "--encoder", "their_encoder:embed").output


@pytest.mark.usefixtures("module")
def test_the_command_says_what_goes_together(collection, tmp_path):
    start = ["search", collection.folder]
    for more, sentence in (
        (["--text", "a"], "--text needs an --encoder"),
        (["--item", "1", "--encoder", "their_encoder:embed"], "--encoder goes with --text"),
        (["--item", "1", "--text", "a", "--encoder", "their_encoder:embed"], "one of them"),
        ([], "Start from an --item, from a --vector or from a --text"),
        (["--item", "1", "--texts", __file__], "--texts goes with --encoder"),
    ):
        assert sentence in " ".join(fails(*start, *more, code=2).split())
    (tmp_path / "one.txt").write_text("only\n")
    said = fails(*start, "--text", "a", "--encoder", "their_encoder:embed", "--texts", tmp_path / "one.txt", code=2)
    assert "needs two texts at least" in " ".join(said.split())
    assert "has no 'embd'" in fails(*start, "--text", "a", "--encoder", "their_encoder:embd")


def test_an_encoder_is_kept_as_it_is():
    encoder = TextEncoder(embed)
    assert text_encoder(encoder) is encoder
    assert text_encoder(None) is None


def test_the_service_searches_and_explains_by_text(tmp_path):
    pytest.importorskip("fastapi", reason="the explore extra is not installed")
    pytest.importorskip("httpx", reason="httpx is not installed")
    from fastapi.testclient import TestClient

    from pellucid.explorer import create_app
    from support.explorer_data import planted, small_collection, small_model

    X, Y = planted()
    collection, model = small_collection(tmp_path / "c", X, Y), small_model(X, Y)

    def encode(texts):
        return np.stack([vector(text, X.shape[1]) + X.mean(axis=0) for text in texts])

    search = ConceptSearch(collection, model, encode)
    asked = {"text": "item-7", "concept": "animal", "k": 4}  # which is also an id
    with TestClient(create_app(collection=collection, model=model, encoder=encode), "http://127.0.0.1") as client:
        hits = client.post("/api/search", json=asked).json()["hits"]
        assert [hit["id"] for hit in hits] == [hit.id for hit in search.search(Text("item-7"), "animal", k=4)]
        (why,) = client.post("/api/explain", json={"text": "item-7", "y": hits[0]["id"], "concept": "animal"}).json()[
            "explanations"
        ]
        assert why["score"] == pytest.approx(hits[0]["score"], abs=1e-6)
        assert client.get("/api/collection").json()["encoder"] == "encode"
        for wrong in ({}, {"x": "item-7", "text": "a"}, {"text": ""}, {"text": "a" * 10_001}, {"text": " "}):
            assert client.post("/api/search", json=wrong).status_code == 422
    with TestClient(create_app(collection=collection, model=model), "http://127.0.0.1") as client:
        reply = client.post("/api/search", json={"text": "a dog"})
        assert (reply.status_code, client.get("/api/collection").json()["encoder"]) == (422, None)
        assert "give the encoder that made the collection's vectors" in reply.json()["detail"]
