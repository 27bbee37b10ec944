"""The structure of a collection in the explorer: clusters, binary concepts and analograms, beside the Python API."""

import numpy as np
import pytest

import pellucid
from pellucid import BinaryAutoencoder, CommonalityClustering, IterativeAssignment
from pellucid.binary import Analogram, analogram_of
from support.explorer_data import NAMES, planted, small_collection, small_model

pytest.importorskip("fastapi", reason="the explore extra is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")
from fastapi.testclient import TestClient

from pellucid.explorer import create_app, explore
from pellucid.explorer.clusters_and_binary import nearest_label
from support.waiting import PATIENCE

LOCAL = "http://127.0.0.1"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("structure")
    X, Y = planted()
    collection = small_collection(folder / "collection", X, Y)
    models = {
        "concepts": small_model(X, Y),
        "binary": BinaryAutoencoder(rank=3, acceptance="relative", max_concepts=4, random_state=0).fit(X),
        "clusters": CommonalityClustering(3, 2, 2, random_state=0, tol=1e-3).fit(X),
    }
    for name, model in models.items():
        pellucid.save(model, folder / f"{name}.safetensors")
    return folder, collection, models


@pytest.fixture(scope="module")
def client(parts):
    folder, _, models = parts
    files = [folder / f"{name}.safetensors" for name in models]
    app = create_app(collection=folder / "collection", model=files, image_shape=(3, 4))
    with TestClient(app, LOCAL) as client:
        assert app.state.pellucid.background.wait(PATIENCE)
        assert app.state.pellucid.background.failed == {}
        yield client


def numbers(reply, dtype):
    assert reply.status_code == 200, reply.text
    return np.frombuffer(reply.content, dtype)


def test_the_collection_says_which_models_there_are(client, parts):
    folder, _, models = parts
    info = client.get("/api/collection").json()
    assert (info["n_clusters"], info["n_binary"]) == (3, len(models["binary"].weights_))
    assert info["concepts"] == NAMES
    assert info["files"] == {name: str(folder / f"{name}.safetensors") for name in models}
    assert info["image_shape"] == [3, 4]
    assert set(client.get("/api/status").json()["progress"]) == {"pca", "neighbours", "shares", "clusters", "bits"}


def test_bits_are_those_of_transform(client, parts):
    _, collection, models = parts
    bits = models["binary"].transform(collection.vectors())
    for j in range(bits.shape[1]):
        np.testing.assert_array_equal(numbers(client.get("/api/bits", params={"concept": j}), "<u2"), bits[:, j])
    cards = client.get("/api/binary").json()
    assert cards["cka"] == pytest.approx(models["binary"].cka_)
    assert [c["count"] for c in cards["concepts"]] == bits.sum(axis=0).tolist()
    assert sum(c["share"] for c in cards["concepts"]) == pytest.approx(1)
    for card, column in zip(cards["concepts"], bits.T):
        assert all(column[item["row"]] for item in card["top"])
        assert card["words"]
    refused = client.get("/api/bits", params={"concept": bits.shape[1]})
    assert refused.status_code == 422
    assert "counted from 0" in refused.json()["detail"]


def test_a_label_that_goes_with_a_concept_is_found():
    bits = np.array([1, 1, 0, 0], dtype=np.uint8)
    labels = [("odd", np.array([1.0, 0, 1, 0])), ("not", np.array([0.0, 0, 1, 1])), ("all", np.ones(4))]
    assert nearest_label(bits, labels) == {"name": "not", "correlation": pytest.approx(-1)}
    assert nearest_label(bits, []) is None
    assert nearest_label(np.ones(4, dtype=np.uint8), labels)["correlation"] == 0


def test_clusters_are_those_of_predict(client, parts):
    _, collection, models = parts
    model, X = models["clusters"], collection.vectors()
    labels = model.predict(X)
    np.testing.assert_array_equal(numbers(client.get("/api/predict"), "<u2"), labels)
    found = client.get("/api/clusters").json()
    assert (found["n_atoms"], found["n_common"]) == (2, 2)
    own = model.shares(X)[:, :2].sum(axis=1)
    for card in found["clusters"]:
        mine = labels == card["cluster"]
        assert card["count"] == mine.sum()
        assert card["own"] == pytest.approx(own[mine].mean(), abs=1e-5)
        assert all(mine[item["row"]] for item in card["top"])
        assert card["name"]
        assert not card["name"].lower().startswith("cluster")
        costs = model.transform(X)[[item["row"] for item in card["top"]], card["cluster"]]
        assert np.all(np.diff(costs) >= -1e-6)


def test_atoms_and_parts_of_an_item(client, parts):
    _, collection, models = parts
    model = models["clusters"]
    np.testing.assert_allclose(numbers(client.get("/api/atoms"), "<f4").reshape(2, 12), model.common_atoms_)
    np.testing.assert_allclose(numbers(client.get("/api/atoms?cluster=1"), "<f4").reshape(2, 12), model.atoms_[1])
    assert client.get("/api/atoms?cluster=9").status_code == 422
    item = collection.ids[7]
    x = collection.vectors([collection.position(item)])
    whole, own, common = numbers(client.get("/api/reconstruct", params={"id": item}), "<f4").reshape(3, 12)
    np.testing.assert_allclose(whole, x[0])
    np.testing.assert_allclose(own, (model.reconstruct(x, "mean") + model.reconstruct(x, "own"))[0], atol=1e-6)
    np.testing.assert_allclose(own + common, model.reconstruct(x)[0], atol=1e-5)
    assert client.get("/api/reconstruct", params={"id": "none"}).status_code == 404


def check_graph(found):
    """Distances in the answer's graph count the categories that set two names apart."""
    bits = np.zeros((len(found["names"]), len(found["concepts"])), dtype=int)
    for j, concept in enumerate(found["concepts"]):
        bits[concept["items"], j] = 1
    at = np.empty(len(found["names"]), dtype=int)
    for v, node in enumerate(found["nodes"]):
        assert max(abs(node["x"]), abs(node["y"])) <= 1 + 1e-9
        at[node["items"]] = v
    from pellucid.binary.partial_cubes import path_lengths

    edges = np.array(found["edges"])
    steps = path_lengths(edges[:, :2], len(found["nodes"]))
    np.testing.assert_array_equal(steps[np.ix_(at, at)], (bits[:, None] != bits).sum(axis=2))
    places = np.array([[node["x"], node["y"]] for node in found["nodes"]])
    for j in range(bits.shape[1]):  # edges of one concept are parallel and equally long
        mine = edges[edges[:, 2] == j]
        steps = places[mine[:, 1]] - places[mine[:, 0]]
        np.testing.assert_allclose(steps - steps[0], 0, atol=1e-9)


def test_the_analogram_of_items_is_that_of_python(client, parts):
    _, collection, _ = parts
    ids = [collection.ids[i] for i in (0, 1, 2, 5, 9, 14, 21)]
    found = client.post("/api/analogram", json={"items": ids, "max_nodes": 25}).json()
    X = collection.vectors([collection.position(i) for i in ids])
    fitted = IterativeAssignment(4, random_state=0).fit(X)
    view = analogram_of(fitted, names=ids, max_nodes=25)
    assert found["names"] == ids
    assert [item["id"] for item in found["items"]] == ids
    assert len(found["nodes"]) == len(view.graph.nodes) <= 25
    assert found["share"] == pytest.approx(view.share)
    assert found["cka"] == pytest.approx(fitted.cka_)
    assert found["edges"] == view.graph.edges.tolist()
    check_graph(found)
    few = client.post("/api/analogram", json={"items": ids, "max_concepts": 2}).json()
    assert len(few["concepts"]) <= 2


def test_the_analogram_of_concepts_and_by_the_model(client, parts):
    _, collection, models = parts
    found = client.post("/api/analogram", json={}).json()
    assert found["names"] == NAMES
    assert found["items"] is None
    check_graph(found)
    ids = collection.ids[2:20]
    found = client.post("/api/analogram", json={"items": ids, "by": "model"}).json()
    assert found["cka"] is None
    bits = models["binary"].transform(collection.vectors()[2:20])
    graph = Analogram(np.unique(bits ^ bits[:1], axis=1)[:, 1 if (bits == bits[:1]).all(axis=0).any() else 0 :])
    assert len(found["concepts"]) <= graph.nodes.shape[1]
    check_graph(found)


@pytest.mark.parametrize(
    ("asked", "status", "sentence"),
    [
        ({"items": ["item-2"]}, 422, "at least two"),
        ({"items": ["item-2", "item-2"]}, 422, "at least two"),
        ({"items": ["item-2", "nobody"]}, 404, "nobody"),
        ({"items": [f"item-{i}" for i in range(2, 52)]}, 422, "at most 48"),
        ({"items": []}, 422, "items"),
        ({"max_nodes": 1}, 422, "max_nodes"),
        ({"by": "magic"}, 422, "by"),
    ],
)
def test_analograms_that_cannot_be(client, asked, status, sentence):
    reply = client.post("/api/analogram", json=asked)
    assert reply.status_code == status
    assert sentence in reply.json()["detail"]


def test_without_models_it_says_what_to_do(parts):
    folder, collection, _ = parts
    with TestClient(create_app(collection=folder / "collection"), LOCAL) as client:
        assert client.app.state.pellucid.background.wait(PATIENCE)
        info = client.get("/api/collection").json()
        assert (info["n_clusters"], info["n_binary"], info["files"]) == (None, None, {})
        for path in ("/api/binary", "/api/bits?concept=0", "/api/clusters", "/api/predict", "/api/atoms"):
            reply = client.get(path)
            assert reply.status_code == 422
            assert "fit one with `pellucid" in reply.json()["detail"]
        assert "name the items" in client.post("/api/analogram", json={}).json()["detail"]
        ids = collection.ids[:5]
        assert client.post("/api/analogram", json={"items": ids}).status_code == 200
        assert "fit one" in client.post("/api/analogram", json={"items": ids, "by": "model"}).json()["detail"]


def test_items_that_nothing_tells_apart(tmp_path):
    from pellucid.search import Collection

    collection = Collection.create(tmp_path / "c", np.ones((4, 3)), ["a", "b", "c", "d"])
    with TestClient(create_app(collection=collection), LOCAL) as client:
        reply = client.post("/api/analogram", json={"items": ["a", "b", "c"]})
        assert reply.status_code == 422
        assert "No concept tells these items apart" in reply.json()["detail"]


def test_what_is_refused_at_the_start(parts, tmp_path):
    folder, collection, models = parts
    twice = [models["clusters"], folder / "clusters.safetensors"]
    with pytest.raises(ValueError, match="two models of clusters"):
        create_app(collection=collection, model=twice)
    with pytest.raises(ValueError, match="fitted on 5 dimensions"):
        create_app(collection=collection, model=BinaryAutoencoder(random_state=0).fit(np.eye(5)))
    kernel = BinaryAutoencoder(kernel="precomputed", random_state=0).fit(np.eye(12))
    with pytest.raises(ValueError, match="precomputed"):
        create_app(collection=collection, model=kernel)
    with pytest.raises(ValueError, match="the model is a CenteredNormalizer"):
        create_app(collection=collection, model=pellucid.preparation.CenteredNormalizer().fit(np.eye(12)))
    for shape in ((5, 5), (12,), (2, 2, 4), (0, 12)):
        with pytest.raises(ValueError, match="image_shape"):
            create_app(collection=collection, image_shape=shape)


def test_arrays_are_kept_and_made_again_for_another_model(parts, tmp_path):
    X, Y = planted()
    collection = small_collection(tmp_path / "c", X, Y)
    first, second = (CommonalityClustering(c, 2, 2, random_state=0, tol=1e-3).fit(X) for c in (2, 4))
    kept = []
    for model in (first, first, second):
        with explore(collection, model, open_browser=False) as server:
            state = server.app.state.pellucid
            assert state.background.wait(PATIENCE)
            assert state.background.get("clusters").shape == (len(model.atoms_), len(X))
            kept.append(sorted(p.name for p in (tmp_path / "c" / "explorer").glob("clusters-*")))
    assert kept[0] == kept[1] != kept[2]
    assert len(kept[2]) == 1
