"""Work ends when its time is over or nobody waits for it any more, and what it held is free for others then."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pellucid import ConceptSubspaces
from pellucid._core import deadline
from pellucid._core.deadline import Deadline, Expired
from pellucid._core.threads import run_rows, set_threads
from pellucid.binary import IterativeAssignment
from pellucid.search import Collection, ConceptSearch
from pellucid.selection import diversify
from support.explorer_data import planted, small_collection, small_model
from support.waiting import PATIENCE, until


def over():
    ended = Deadline()
    ended.cancel()
    return ended


def test_a_deadline_is_over_when_its_time_or_its_asker_is_gone():
    assert not Deadline().over
    assert not Deadline(1e9).over
    assert Deadline(0).over
    with pytest.raises(Expired, match="longer than 0 seconds and was given up"):
        Deadline(0).check()
    with pytest.raises(Expired, match="was given up"), over().held():
        deadline.check()
    deadline.check()  # none holds here
    with Deadline().held(), over().held(), pytest.raises(Expired):
        deadline.check()


@pytest.mark.parametrize("threads", [1, 3])
def test_rows_stop_between_chunks(threads):
    set_threads(threads)
    try:
        seen, ends = [], Deadline()

        def part(start, stop):
            seen.append(start)
            if len(seen) == 4:
                ends.cancel()

        with ends.held(), pytest.raises(Expired):
            run_rows(part, 3200, min_rows=1)
        assert 4 <= len(seen) < 4 + threads
        run_rows(part, 3200, min_rows=1)  # the pool is as it was
        assert len(seen) >= 36
    finally:
        set_threads()


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    X, Y = planted(200)
    return X, Y, small_collection(tmp_path_factory.mktemp("deadlines") / "c", X, Y), small_model(X, Y)


WORK = {
    "diversify": lambda X, Y, collection, model: diversify(X, 20),
    "a search": lambda X, Y, collection, model: ConceptSearch(collection).search(X[:3]),
    "a search by concept": lambda X, Y, collection, model: ConceptSearch(collection, model).search(X[:3], "animal"),
    "a diverse search": lambda X, Y, collection, model: ConceptSearch(collection).search(X[0], diverse=True),
    "a projection": lambda X, Y, collection, model: model.project(X, "animal"),
    "shares": lambda X, Y, collection, model: model.shares(X),
    "a fit": lambda X, Y, collection, model: ConceptSubspaces(2).fit(X, Y),
    "an assignment": lambda X, Y, collection, model: IterativeAssignment().fit(X[:12]),
}


@pytest.mark.parametrize("what", WORK)
def test_all_that_a_request_may_ask_for_looks_at_it(searched, what):
    WORK[what](*searched)
    with over().held(), pytest.raises(Expired):
        WORK[what](*searched)
    WORK[what](*searched)  # and it leaves nothing behind that is in the way


def test_a_search_says_what_it_costs(searched):
    _, _, collection, model = searched
    search = ConceptSearch(collection, model)
    assert search.work(2, 10) == 2 * search.work(1, 10)
    assert search.work(1, 20) > search.work(1, 10)
    assert search.work(1, 20, diverse=True) > search.work(1, 20)
    assert search.work(1, 10**9) < search.work(1, 10**9, diverse=True) < np.inf


pytest.importorskip("fastapi", reason="the explore extra is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

from fastapi.testclient import TestClient  # noqa: E402

from pellucid.explorer import Limits, create_app, explore  # noqa: E402
from pellucid.explorer.turns import Busy, Kept, Turns  # noqa: E402

LOCAL = "http://127.0.0.1:8750"


def test_turns_end_with_the_deadline():
    turns = Turns(1, 1)
    with turns.one():
        with ThreadPoolExecutor(1) as other:

            def wait():
                with Deadline(0.01).held(), turns.one():
                    pass

            assert isinstance(other.submit(wait).exception(), Expired)
        waiting, release = threading.Event(), Deadline()

        def queue():
            waiting.set()
            with pytest.raises(Expired), release.held(), turns.one():
                pass

        thread = threading.Thread(target=queue)
        thread.start()
        waiting.wait()
        until(lambda: turns._room._value == 0)
        with pytest.raises(Busy, match="try again"), turns.one():
            pass
        release.cancel()
        thread.join()
    with turns.one():
        pass
    assert turns._room._value == 2


def test_what_is_kept_is_made_once_and_goes_on_when_the_asker_leaves():
    go, made, kept = threading.Event(), [], Kept(Deadline())

    def compute():
        go.wait()
        made.append(1)
        return "it"

    with Deadline(0.01).held(), pytest.raises(Expired):
        kept.get("x", compute)
    go.set()
    assert kept.get("x", compute) == kept.get("x", compute) == "it"
    assert made == [1]

    def fails():
        raise KeyError("not yet")

    for _ in range(2):
        with pytest.raises(KeyError, match="not yet"):
            kept.get("y", fails)
    assert kept.get("y", lambda: 3) == 3
    with pytest.raises(Expired):
        Kept(over()).get("z", deadline.check)


def all_free(state):
    """Whether nobody holds a turn."""
    return all(t._places._value == t._places._initial_value for t in (state._turns, state._dear))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    rows = np.random.default_rng(0).standard_normal((6_000, 32)).astype(np.float32)
    return Collection.create(tmp_path_factory.mktemp("large") / "c", rows)


def test_requests_that_are_given_up_give_their_turns_back(large):
    """64 vectors, k = 1 000, diverse, twice: minutes of work that nobody waits for."""
    app = create_app(collection=large, limits=Limits(seconds=0.5, work=np.inf))
    heavy = {"x": large.vectors(range(64)).tolist(), "k": 1000, "diverse": True}
    with TestClient(app, LOCAL) as client, ThreadPoolExecutor(4) as others:
        replies = list(others.map(lambda _: client.post("/api/search", json=heavy), range(4)))
        assert {reply.status_code for reply in replies} == {408}
        until(lambda: all_free(app.state.pellucid), 60)  # seconds, where the work itself takes minutes


def test_a_client_that_leaves_gives_its_turn_back(large):
    import http.client
    import json

    with explore(large, open_browser=False, limits=Limits(work=np.inf, seconds=PATIENCE)) as server:
        state = server.app.state.pellucid
        asks = http.client.HTTPConnection("127.0.0.1", server.port)
        heavy = {"x": large.vectors(range(64)).tolist(), "k": 1000, "diverse": True}
        asks.request("POST", "/api/search", json.dumps(heavy), {"content-type": "application/json"})
        until(lambda: not all_free(state))
        asks.close()
        until(lambda: all_free(state), 60)


def test_vectors_results_and_diversity_count_together(large):
    with TestClient(create_app(collection=large), LOCAL) as client:
        batch = large.vectors(range(64)).tolist()
        for asked in (
            {"x": batch, "k": 1000, "diverse": True},
            {"x": batch, "k": 1000},
            {"x": batch, "k": 200, "diverse": True},
        ):
            reply = client.post("/api/search", json=asked)
            assert reply.status_code == 422
            assert "ask for fewer vectors or fewer results" in reply.json()["detail"]
        for asked in ({"x": batch, "k": 20}, {"x": batch[0], "k": 1000}, {"x": batch[0], "k": 100, "diverse": True}):
            assert client.post("/api/search", json=asked).status_code == 200
    app = create_app(collection=large, limits=Limits(work=1))
    with TestClient(app, LOCAL) as client:  # a plain search is always answered
        assert client.post("/api/search", json={"x": "7", "k": 1000}).status_code == 200


def test_too_many_that_wait_are_sent_away(large):
    app = create_app(collection=large)
    with TestClient(app, LOCAL) as client:
        held = [app.state.pellucid._dear._room.acquire() for _ in range(app.state.pellucid._dear._room._initial_value)]
        assert all(held)
        reply = client.post("/api/search", json={"x": "7", "diverse": True})
        assert reply.status_code == 429
        assert "busy" in reply.json()["detail"]
        assert client.post("/api/search", json={"x": "7"}).status_code == 200


def test_jobs_in_the_background_end_with_the_explorer_or_their_own_time(searched):
    _, _, collection, model = searched
    app = create_app(collection=collection, model=model, limits=Limits(job=0))
    with TestClient(app, LOCAL) as client:
        assert client.post("/api/stability", json={"n_runs": 20}).status_code == 200
        failed = until(lambda: client.get("/api/status").json()["failed"])
        assert "longer than 0 seconds" in failed["stability"]
    state = app.state.pellucid
    assert state.background.wait(PATIENCE)  # also when it was stopped in the middle
    with pytest.raises(Expired):
        state.once("after the end", deadline.check)


def test_connections_that_never_ask_are_closed(searched, monkeypatch):
    import socket

    from pellucid.explorer import patience

    monkeypatch.setattr(patience, "SECONDS", 0.1)
    good = b"GET /api/collection HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with explore(searched[2], open_browser=False) as server:
        for begin in (
            b"",
            b"GET / HT",
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: b\r\n",
            good + b"GET / HTTP/1.1\r\nX",
        ):
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
                connection.sendall(begin)
                heard = b"".join(iter(lambda c=connection: c.recv(65536), b""))  # until it is closed
            assert heard.startswith(b"HTTP/1.1 200" if begin.startswith(good) else b"")
        monkeypatch.setattr(patience, "SECONDS", 30.0)
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
            for _ in range(3):  # one that asks stays open
                connection.sendall(good)
                reply = connection.makefile("rb")
                assert reply.readline().startswith(b"HTTP/1.1 200")
                length = next(int(line.split(b":")[1]) for line in reply if line.lower().startswith(b"content-length"))
                while reply.readline().strip():
                    pass
                reply.read(length)


def test_what_trickles_in_does_not_keep_a_connection(searched, monkeypatch):
    import socket

    from pellucid.explorer import patience

    monkeypatch.setattr(patience, "SECONDS", 0.3)
    with (
        explore(searched[2], open_browser=False) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=0.02) as connection,
    ):

        def closed():
            try:
                connection.sendall(b"X")
                return connection.recv(1) == b""
            except TimeoutError:
                return False
            except OSError:
                return True

        until(closed)
