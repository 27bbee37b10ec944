"""The explorer's service: what it answers, beside what the Python API says."""

import json
import threading

import numpy as np
import pytest

import pellucid
from pellucid._core.kernels import pull_and_push
from pellucid.search import Collection, ConceptSearch
from support.explorer_data import NAMES, PNG, planted, small_collection, small_model
from support.waiting import PATIENCE, until

pytest.importorskip("fastapi", reason="the explore extra is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")
from fastapi.testclient import TestClient  # noqa: E402

from pellucid.explorer import Limits, create_app, explore  # noqa: E402
from pellucid.explorer.background import Background  # noqa: E402
from pellucid.explorer.layout import Axes, between, fit, pca  # noqa: E402
from pellucid.explorer.state import inside  # noqa: E402

LOCAL = "http://127.0.0.1"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    X, Y = planted()
    thumbnails = [PNG if i else b"<svg onload=alert(1)>" for i in range(len(X))]
    weird = [float("nan")] * len(X)
    collection = small_collection(folder / "collection", X, Y, thumbnail=thumbnails, weird=weird)
    model = small_model(X, Y)
    pellucid.save(model, folder / "model.safetensors")
    return folder, collection, model


@pytest.fixture(scope="module")
def client(demo):
    folder, _, _ = demo
    with TestClient(create_app(collection=folder / "collection", model=folder / "model.safetensors"), LOCAL) as client:
        assert client.app.state.pellucid.background.wait(PATIENCE)
        yield client


def floats(reply, dtype="<f4"):
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "application/octet-stream"
    return np.frombuffer(reply.content, dtype)


def test_trace_is_what_the_library_traces(demo, client):
    _, collection, model = demo
    ids = collection.ids
    asked = {"x": ids[0], "expected": [ids[-1], ids[7], "nowhere"], "concept": NAMES[0], "k": 5}
    reply = client.post("/api/trace", json=asked)
    assert reply.status_code == 200, reply.text
    assert reply.json() == json.loads(json.dumps(
        ConceptSearch(collection, model).trace(ids[0], asked["expected"], NAMES[0], 5).to_dict()
    ))  # fmt: skip
    assert client.post("/api/trace", json={**asked, "expected": ids[:17]}).status_code == 422
    assert client.post("/api/trace", json={**asked, "x": "nowhere"}).status_code == 404


def test_collection_and_status_say_what_there_is(client):
    info = client.get("/api/collection").json()
    assert (info["count"], info["dimension"], info["concepts"]) == (60, 12, NAMES)
    kinds = {column["name"]: column["kind"] for column in info["columns"]}
    assert kinds == {"text": "text", "labels": "labels", "kind": "label", "weird": "other"}
    assert info["text_column"] == "text"
    assert info["has_thumbnails"]
    assert info["presence"]
    assert client.get("/api/status").json() == {"progress": {"pca": 1, "neighbours": 1, "shares": 1}, "failed": {}}


@pytest.mark.parametrize("layout", ["pca", "neighbours"])
def test_every_item_has_a_place_on_the_map(client, layout):
    places = floats(client.get("/api/map", params={"layout": layout})).reshape(-1, 2)
    assert places.shape == (60, 2)
    assert np.abs(places).max() == pytest.approx(1, abs=1e-5)
    assert len(np.unique(places.round(5), axis=0)) == 60


def test_shares_add_up_and_are_the_terms_of_an_item_compared_with_itself(client, demo):
    _, collection, model = demo
    columns = np.stack([floats(client.get("/api/shares", params={"concept": name})) for name in NAMES], axis=1)
    exact = model.shares(collection.vectors().astype(np.float64))
    search = ConceptSearch(collection, model)
    for row, item in enumerate(collection.ids):
        why = search.explain(item, item)
        np.testing.assert_allclose(exact[row], why.terms, atol=1e-6)
        parts = client.get("/api/parts", params={"id": item}).json()
        assert parts["explained"] == pytest.approx(1 - why.residual, abs=1e-6)
        assert [p["share"] for p in parts["parts"]] == sorted((p["share"] for p in parts["parts"]), reverse=True)
    np.testing.assert_allclose(columns, exact, atol=1e-3)  # made in float32
    assert (floats(client.get("/api/strongest"), "<u2") == columns.argmax(axis=1)).all()


def test_shares_of_a_zero_vector_are_zero(demo):
    assert (demo[2].shares(np.zeros((1, 12))) == 0).all()


def test_labels_as_codes(client, demo):
    _, collection, _ = demo
    kind = floats(client.get("/api/labels", params={"column": "kind"}), "<u2")
    values = next(c for c in client.get("/api/collection").json()["columns"] if c["name"] == "kind")["values"]
    assert [values[code] for code in kind] == [f"k{i % 2}" for i in range(60)]
    for name in NAMES:
        has = floats(client.get("/api/labels", params={"column": "labels", "value": name}), "<u2")
        assert [bool(h) for h in has] == [name in collection.item(i)["labels"] for i in range(60)]
    for wrong in ({"column": "labels"}, {"column": "text"}, {"column": "kind", "value": "no"}, {"column": "nope"}):
        assert client.get("/api/labels", params=wrong).status_code == 422


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"concept": "animal"},
        {"concept": ["animal", "ding 'ö'"], "k": 3},
        {"without": "plant & tree"},
        {"concept": "animal", "without": ["ding 'ö'"], "diverse": True, "k": 5},
        {"diverse": True},
    ],
)
def test_search_answers_as_python_does(client, demo, asked):
    _, collection, model = demo
    reply = client.post("/api/search", json={"x": "item-7", **asked})
    assert reply.status_code == 200, reply.text
    wanted = ConceptSearch(collection, model).search("item-7", **{"k": 20, **asked})
    hits = reply.json()["hits"]
    assert [hit["id"] for hit in hits] == [hit.id for hit in wanted]
    np.testing.assert_allclose([hit["score"] for hit in hits], [hit.score for hit in wanted], atol=1e-6)
    assert all(hit["item"]["row"] == hit_.position for hit, hit_ in zip(hits, wanted))
    assert all(len(hit["shares"]) == 3 for hit in hits)


def test_an_item_without_the_concept_that_is_asked_for_is_noted(client, demo, recwarn):
    _, collection, model = demo
    search, noted = ConceptSearch(collection, model), set()
    for item in collection.ids[:12]:
        reply = client.post("/api/search", json={"x": item, "concept": "animal", "k": 2}).json()
        assert reply["notes"] == search.notes(item, "animal")
        noted.add(len(reply["notes"]))
    assert noted == {0, 1}
    assert not [one for one in recwarn.list if "probably has no" in str(one.message)]


def test_search_by_vector_and_by_batch(client, demo):
    _, collection, _ = demo
    X = collection.vectors([3, 4]).tolist()
    one = client.post("/api/search", json={"x": X[0], "k": 2}).json()["hits"]
    many = client.post("/api/search", json={"x": X, "k": 2}).json()["hits"]
    assert one == many[0]
    assert [hits[0]["id"] for hits in many] == ["item-3", "item-4"]


def test_explanations_add_up(client, demo):
    _, collection, model = demo
    others = ["item-3", "a/b?c=d&e"]
    reply = client.post("/api/explain", json={"x": "item-9", "y": others, "words": True}).json()["explanations"]
    search = ConceptSearch(collection, model)
    for found, other in zip(reply, others):
        wanted = search.explain("item-9", other)
        np.testing.assert_allclose(found["terms"], wanted.terms, atol=1e-9)
        assert sum(found["terms"]) + found["residual"] == pytest.approx(found["score"], abs=1e-6)
    assert any(word for found in reply for word in found["words"])


def test_items_by_row_by_words_and_by_place(client):
    def ids(**parameters):
        return [item["id"] for item in client.get("/api/items", params=parameters).json()["items"]]

    assert ids(row=[0, 5]) == ["a/b?c=d&e", "item-5"]
    assert ids(find="CAT SITS") == ["a/b?c=d&e"]
    assert ids(find="item-4", k=20)[0] == "item-4"
    assert len(ids(find="item-4", k=20)) == 11
    assert ids(find="(") == []
    assert ids(start=58) == ["item-58", "item-59"]
    assert ids(start=10**9) == []
    for wrong in ({"row": 60}, {"row": -1}, {"k": 1001}, {"row": "x"}, {"find": "x" * 201}):
        assert client.get("/api/items", params=wrong).status_code == 422


def test_one_item_with_any_id_and_any_values(client):
    item = client.get("/api/item", params={"id": "a/b?c=d&e"}).json()
    item = item["columns"]
    assert item["text"] == "a cat sits"
    assert item["weird"] is None
    assert "thumbnail" not in item
    assert client.get("/api/item", params={"id": 'naïve "quote"'}).json()["row"] == 1
    missing = client.get("/api/item", params={"id": "nope"})
    assert missing.status_code == 404
    assert missing.json()["detail"] == "There is no item 'nope'."


def test_thumbnails_are_pictures_or_nothing(client):
    reply = client.get("/api/thumbnail", params={"id": "item-2"})
    assert (reply.status_code, reply.headers["content-type"], reply.content) == (200, "image/png", PNG)
    assert client.get("/api/thumbnail", params={"id": "a/b?c=d&e"}).status_code == 404  # an SVG could run code


def test_selection_counts_what_lies_within(client):
    places = floats(client.get("/api/map")).reshape(-1, 2)
    everything = [[-2, -2], [2, -2], [2, 2], [-2, 2]]
    found = client.post("/api/selection", json={"layout": "pca", "polygon": everything, "k": 3}).json()
    assert found["count"] == 60
    assert len(found["items"]) == 3
    assert dict(found["labels"]["kind"]) == {"k0": 30, "k1": 30}
    right = client.post("/api/selection", json={"polygon": [[0, -2], [2, -2], [2, 2], [0, 2]], "k": 0}).json()
    assert right["count"] == (places[:, 0] > 0).sum()
    nothing = client.post("/api/selection", json={"polygon": [[5, 5], [6, 5], [6, 6]]}).json()
    assert nothing == {"count": 0, "items": [], "shares": None, "labels": {"labels": [], "kind": []}}


def test_inside_agrees_with_a_slow_oracle(rng):
    polygon = rng.uniform(-1, 1, size=(9, 2))
    places = rng.uniform(-1, 1, size=(300, 2)).astype(np.float32)

    def winding(point):  # crossings of a ray to the right, edge by edge
        crossings = 0
        for a, b in zip(polygon, np.roll(polygon, -1, axis=0)):
            if (a[1] > point[1]) != (b[1] > point[1]):
                t = (point[1] - a[1]) / (b[1] - a[1])
                crossings += point[0] < a[0] + t * (b[0] - a[0])
        return crossings % 2 == 1

    assert inside(places, polygon).tolist() == [winding(p.astype(float)) for p in places]


def test_concepts_have_words_sizes_and_top_items(client, demo):
    found = client.get("/api/concepts").json()
    assert found["vocabulary"] == "texts"
    assert found["can_check"]
    assert [c["name"] for c in found["concepts"]] == NAMES
    assert sum(c["strongest"] for c in found["concepts"]) == 60
    for j, concept in enumerate(found["concepts"]):
        assert concept["captions"]
        assert concept["labelled"] == planted()[1][:, j].sum()
        scores = [hit["score"] for hit in concept["top"]]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] == pytest.approx(floats(client.get("/api/shares", params={"concept": concept["name"]})).max())
    together = client.get("/api/cooccurrence").json()
    matrix = np.array(together["matrix"])
    assert (np.diag(matrix) == 1).all()
    assert ((matrix >= 0) & (matrix <= 1)).all()
    counts = np.array(together["counts"])
    np.testing.assert_allclose(matrix * counts[:, None], (matrix * counts[:, None]).T, atol=1e-9)


def test_stability_is_checked_on_demand(client):
    assert client.get("/api/concepts").json()["concepts"][0]["stability"] is None
    assert client.post("/api/stability", json={"n_runs": 1}).json() == {"started": True}

    def ended():
        status = client.get("/api/status").json()
        return status["progress"]["stability"] == 1 or "stability" in status["failed"]

    until(ended)
    for concept in client.get("/api/concepts").json()["concepts"]:
        assert 0 <= concept["stability"]["overlap"] <= 1 + 1e-9
    client.app.state.pellucid.background.progress.pop("stability")


def test_a_given_vocabulary_is_used(demo):
    _, collection, model = demo
    words = ["left", "right", "up"]
    app = create_app(collection=collection, model=model, words=words, word_vectors=np.eye(3, 12))
    with TestClient(app, LOCAL) as client:
        found = client.get("/api/concepts").json()
        assert found["vocabulary"] == "given"
        wanted = model.captions(words, np.eye(3, 12, dtype=np.float32))
        assert [c["word"] for c in found["concepts"][0]["captions"]] == [w for w, _ in wanted["animal"]]
    with pytest.raises(ValueError, match="go together"):
        create_app(collection=collection, model=model, words=words)
    with pytest.raises(ValueError, match="3 rows of 12 numbers"):
        create_app(collection=collection, model=model, words=words, word_vectors=np.eye(3, 11))


# names


def test_renaming_is_saved_in_the_file(demo, tmp_path):
    _, collection, model = demo
    file = tmp_path / "model.safetensors"
    pellucid.save(model, file)
    with TestClient(create_app(collection=collection, model=file), LOCAL) as client:
        reply = client.post("/api/rename", json={"concept": "animal", "name": "  creature \u4e2d "})
        assert reply.json() == {"concepts": ["creature \u4e2d", *NAMES[1:]], "saved": True}
        assert list(pellucid.load(file).concept_names_) == ["creature \u4e2d", *NAMES[1:]]
        np.testing.assert_array_equal(pellucid.load(file).atoms_, model.atoms_)
        assert client.post("/api/search", json={"x": "item-2", "concept": "creature \u4e2d"}).status_code == 200
        old = client.post("/api/search", json={"x": "item-2", "concept": "animal"})
        assert old.status_code == 422
        assert client.post("/api/rename", json={"concept": "creature \u4e2d", "name": NAMES[1]}).status_code == 409
        for name in ("\n", "\ud800", "a\x00b"):
            body = json.dumps({"concept": NAMES[1], "name": name})
            assert (
                client.post("/api/rename", content=body, headers={"content-type": "application/json"}).status_code
                == 422
            )
        assert client.post("/api/rename", json={"concept": "nobody", "name": "x"}).status_code == 422
        pellucid.save(model, file)  # somebody else writes the file
        changed = client.post("/api/rename", json={"concept": NAMES[1], "name": "tree"})
        assert changed.status_code == 409
        assert "changed by someone else" in changed.json()["detail"]
    assert list(pellucid.load(file).concept_names_) == NAMES


def test_a_model_without_a_file_is_renamed_for_the_time_being(demo):
    _, collection, _ = demo
    with TestClient(create_app(collection=collection, model=small_model(*planted())), LOCAL) as client:
        assert client.post("/api/rename", json={"concept": "animal", "name": "x"}).json()["saved"] is False


def test_a_file_that_cannot_be_written_keeps_the_old_name(demo, tmp_path, monkeypatch):
    _, collection, model = demo
    file = tmp_path / "model.safetensors"
    pellucid.save(model, file)
    app = create_app(collection=collection, model=file)

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr("pellucid.explorer.state.persistence.save", full)
    with TestClient(app, LOCAL, raise_server_exceptions=False) as client:
        reply = client.post("/api/rename", json={"concept": "animal", "name": "x"})
        assert reply.status_code == 500
        assert "No space" not in reply.text
        assert client.get("/api/collection").json()["concepts"] == NAMES


# less than everything


def test_without_a_model_there_is_a_map_and_plain_search(demo):
    _, collection, _ = demo
    with TestClient(create_app(collection=collection), LOCAL) as client:
        info = client.get("/api/collection").json()
        assert (info["concepts"], info["model"]) == ([], None)
        hits = client.post("/api/search", json={"x": "item-7", "k": 4}).json()["hits"]
        positions, _ = collection.search(collection.vectors([7]), 5)
        assert [hit["item"]["row"] for hit in hits] == [p for p in positions[0] if p != 7][:4]
        for asked in ({"concept": "animal"}, {"without": "animal"}):
            reply = client.post("/api/search", json={"x": "item-7", **asked})
            assert reply.status_code == 422
            assert "There is no model" in reply.json()["detail"]
        for path in ("/api/concepts", "/api/cooccurrence", "/api/parts?id=item-7", "/api/shares?concept=animal"):
            assert client.get(path).status_code == 422


def test_deleted_items_are_gone_everywhere(tmp_path):
    X, Y = planted()
    collection = small_collection(tmp_path / "c", X, Y)
    collection.delete(["item-2", "item-30"])
    with TestClient(create_app(collection=collection, model=small_model(X, Y)), LOCAL) as client:
        assert client.app.state.pellucid.background.wait(PATIENCE)
        assert client.get("/api/collection").json()["count"] == 58
        assert len(floats(client.get("/api/map"))) == 2 * 58
        assert client.get("/api/item", params={"id": "item-30"}).status_code == 404
        assert client.get("/api/item", params={"id": "item-31"}).json()["row"] == 29
        assert client.get("/api/items", params={"row": 29}).json()["items"][0]["id"] == "item-31"
        hits = client.post("/api/search", json={"x": "item-31", "k": 100}).json()["hits"]
        assert len(hits) == 57
        assert all(client.get("/api/item", params={"id": h["id"]}).json()["row"] == h["item"]["row"] for h in hits[:5])


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 1), (13, 1), (40, 2)])
def test_tiny_and_flat_collections_have_maps(tmp_path, n, d, rng):
    X = rng.normal(size=(n, d))
    X[: n // 2] = X[0]  # duplicates
    collection = Collection.create(tmp_path / "c", X)
    with TestClient(create_app(collection=collection), LOCAL) as client:
        assert client.app.state.pellucid.background.wait(PATIENCE)
        assert client.get("/api/status").json()["failed"] == {}
        for layout in ("pca", "neighbours"):
            places = floats(client.get("/api/map", params={"layout": layout}))
            assert len(places) == 2 * n
            assert np.isfinite(places).all()
        assert client.get("/api/items", params={"find": "0"}).json()["items"][0]["id"] == "0"


def test_what_does_not_fit_is_refused_at_the_start(demo, tmp_path):
    _, collection, model = demo
    other = Collection.create(tmp_path / "other", np.eye(3))
    with pytest.raises(ValueError, match="12 dimensions, but the collection has 3"):
        create_app(collection=other, model=model)
    with pytest.raises(ValueError, match="not a collection"):
        create_app(collection=tmp_path)
    with pytest.raises(FileNotFoundError, match="no model file"):
        create_app(collection=collection, model=tmp_path / "none.safetensors")
    from pellucid.preparation import CenteredNormalizer

    with pytest.raises(ValueError, match="is a CenteredNormalizer"):
        create_app(collection=collection, model=CenteredNormalizer().fit(np.eye(12)))


# what is made in the background


def test_layouts_and_shares_are_kept_and_made_again_when_they_must(tmp_path):
    X, Y = planted()
    collection, model = small_collection(tmp_path / "c", X, Y), small_model(X, Y)

    def prepare(model):
        preparation = Background(create_app(collection=collection, model=model).state.pellucid.items, model)
        preparation.start()
        assert preparation.wait(PATIENCE)
        return preparation

    kept = tmp_path / "c" / "explorer"
    first = prepare(model)
    files = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    assert sorted(name.split("-")[0] for name in files) == ["neighbours", "pca", "shares"]
    again = prepare(model)
    assert {path.name: path.stat().st_mtime_ns for path in kept.iterdir()} == files
    for name in ("pca", "neighbours", "shares"):
        np.testing.assert_array_equal(first.get(name), again.get(name))
    other = prepare(small_model(X, Y[:, ::-1]))
    assert not np.array_equal(other.get("shares"), first.get("shares"))
    assert len(list(kept.iterdir())) == 3  # what was replaced is gone
    next(kept.glob("pca-*")).write_bytes(b"damaged")
    np.testing.assert_array_equal(prepare(model).get("pca"), first.get("pca"))


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch):
    X, Y = planted()
    collection = small_collection(tmp_path / "c", X, Y)
    (tmp_path / "c" / "explorer").write_text("in the way")
    with TestClient(create_app(collection=collection), LOCAL) as client:
        assert client.app.state.pellucid.background.wait(PATIENCE)
        assert len(floats(client.get("/api/map"))) == 120


def test_what_is_not_ready_says_so(demo, monkeypatch):
    _, collection, model = demo
    gate = threading.Event()
    monkeypatch.setattr("pellucid.explorer.layout.Axes", lambda *_: gate.wait(PATIENCE))
    monkeypatch.setattr("pellucid.search.derived._read", lambda *_: None)
    with TestClient(create_app(collection=collection, model=model), LOCAL) as client:
        reply = client.get("/api/map")
        assert reply.status_code == 409
        assert "still being computed" in reply.json()["detail"]
        assert client.get("/api/concepts").json()["concepts"][0]["strongest"] is None
        assert client.post("/api/search", json={"x": "item-7"}).json()["hits"][0]["shares"] is None
        gate.set()
        assert client.app.state.pellucid.background.wait(PATIENCE)
        assert "pca" in client.get("/api/status").json()["failed"]  # True is no Axes
        assert client.get("/api/map").status_code == 422


def test_the_neighbour_layout_keeps_neighbourhoods(tmp_path, rng):
    centres = rng.normal(size=(6, 20))
    group = np.arange(240) % 6
    X = centres[group] + 0.1 * rng.normal(size=(240, 20))
    app = create_app(collection=Collection.create(tmp_path / "c", X))
    preparation = app.state.pellucid.background
    preparation.start()
    assert preparation.wait(PATIENCE)
    places = np.asarray(preparation.get("neighbours"), dtype=float)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + 10 * np.eye(240)
    assert (group[apart.argmin(axis=1)] == group).mean() > 0.98


def moved(places, head, tail, share, due, first, last, epochs):
    """Epochs of stochastic gradient descent on UMAP's objective, one edge after the other."""
    a, b, state, seen = 1.577, 0.8951, 88172645463325252 + first, 2**64 - 1
    for epoch in range(first, last):
        step = 1 - epoch / epochs
        for e in np.flatnonzero(due <= epoch + 1):
            due[e] += 1 / share[e]
            i, j = head[e], tail[e]
            apart = places[i] - places[j]
            if (squared := apart @ apart) > 0:
                slope = -2 * a * b * squared ** (b - 1) / (1 + a * squared**b)
                move = np.clip(slope * apart, -4, 4) * step
                places[i] += move
                places[j] -= move
            for _ in range(5):
                state ^= state << 13 & seen
                state ^= state >> 7
                state ^= state << 17 & seen
                apart = places[i] - places[state % len(places)]
                if (squared := apart @ apart) > 0:
                    slope = 2 * b / ((0.001 + squared) * (1 + a * squared**b))
                    places[i] += np.clip(slope * apart, -4, 4) * step


@pytest.mark.parametrize(("first", "last", "epochs"), [(0, 3, 300), (10, 12, 300), (95, 100, 100)])
def test_neighbours_pull_and_random_points_push(rng, first, last, epochs):
    """Beside a slow transcription; points that coincide, also with themselves, do not move each other."""
    head, tail = rng.integers(0, 12, 40), rng.integers(0, 12, 40)
    share = rng.random(40)
    due, places = 1 / share, rng.normal(size=(12, 2))
    places[3] = places[4]
    slow, due_slow = places.copy(), due.copy()
    moved(slow, head, tail, share, due_slow, first, last, epochs)
    pull_and_push(places, head, tail, share, due, first, last, epochs)
    np.testing.assert_allclose(places, slow, atol=1e-6)
    np.testing.assert_allclose(due, due_slow)


def test_an_edge_to_no_point_is_passed_over(rng):
    places, share = rng.normal(size=(5, 2)), np.ones(4)
    before = places.copy()
    head, tail = np.array([0, -1, 5, 2**62]), np.array([5, 0, 0, 1])
    pull_and_push(places, head, tail, share, np.ones(4), 0, 10, 10)
    assert np.array_equal(places, before)
    pull_and_push(np.empty((0, 2)), head, tail, share, np.ones(4), 0, 10, 10)


def test_rows_beyond_the_anchors_lie_by_their_neighbours(rng):
    anchors = np.repeat(np.eye(4, dtype=np.float32) * 5, 8, axis=0) + 0.01 * rng.normal(size=(32, 4)).astype(np.float32)
    placed = np.repeat(np.array([[0, 0], [9, 0], [0, 9], [9, 9]], dtype=np.float32), 8, axis=0)
    placed += 0.1 * rng.normal(size=placed.shape).astype(np.float32)
    rows = np.eye(4, dtype=np.float32) * 5.0
    from sklearn.neighbors import NearestNeighbors

    found = between(rows, NearestNeighbors(n_neighbors=6).fit(anchors), placed, seed=0)
    np.testing.assert_allclose(found, [[0, 0], [9, 0], [0, 9], [9, 9]], atol=1)
    assert (fit(np.ones((3, 2))) == 0).all()


def test_pca_agrees_with_scikit_learn(tmp_path, rng):
    from sklearn.decomposition import PCA

    X = rng.normal(size=(200, 6)) * [5, 3, 1, 1, 1, 1]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    collection = Collection.create(tmp_path / "c", X)
    places = pca(collection, np.arange(200), Axes(collection, np.arange(200)), lambda _: None)
    wanted = PCA(2).fit_transform(X)
    correlation = np.corrcoef(places.T, wanted.T)[:2, 2:]
    np.testing.assert_allclose(np.abs(correlation), np.eye(2), atol=1e-3)


# from Python


def test_explore_serves_in_the_background_until_it_is_stopped(demo):
    _, collection, model = demo
    with explore(collection, model, open_browser=False) as server:
        assert httpx.get(server.url + "api/collection").json()["count"] == 60
        assert "running" in repr(server)
        assert server.url in server._repr_html_()
    assert "stopped" in repr(server)
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url)
    again = explore(collection, model, open_browser=False, port=server.port)
    assert again.port == server.port
    with pytest.raises(OSError, match="choose another port"):
        explore(collection, model, open_browser=False, port=server.port)
    again.stop()
    assert pellucid.explore is explore


def test_answers_do_not_wait_for_acknowledgements():
    import socket

    from pellucid.explorer.server import bind

    with bind("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # asyncio turns Nagle's algorithm off for these alone


def test_many_clients_at_once(demo):
    _, collection, model = demo
    wrong = []
    with explore(collection, model, open_browser=False) as server:

        def ask(i):
            with httpx.Client(base_url=server.address, timeout=PATIENCE) as client:
                for j in range(5):
                    body = {"x": f"item-{2 + (i + j) % 50}", "concept": NAMES[j % 3], "k": 5}
                    reply = client.post("/api/search", json=body)
                    if reply.status_code != 200 or len(reply.json()["hits"]) != 5:
                        wrong.append(reply.text)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []


def test_limits_are_said(demo):
    _, collection, model = demo
    limits = Limits(body=4000, k=10, batch=2)
    with TestClient(create_app(collection=collection, model=model, limits=limits), LOCAL) as client:
        x = [0.5] * 12
        for body in (
            {"x": "item-7", "k": 11},
            {"x": [x, x, x]},
            {"x": "item-7", "k": 0},
            {"x": [x, x[:5]]},
            {"x": x[:5]},
        ):
            assert client.post("/api/search", json=body).status_code == 422, body
        assert client.post("/api/explain", json={"x": "item-7", "y": ["item-2"] * 3}).status_code == 422
        assert client.post("/api/search", json={"x": "y" * 5000}).status_code == 413
        assert client.post("/api/search", json={"x": [3e38] * 12, "k": 2}).status_code == 200
        assert client.post("/api/search", json={"x": [1e300] * 12}).status_code == 422
        assert client.post("/api/search", json={"x": [0.0] * 12, "k": 2}).status_code == 200
