"""What the explorer refuses: strangers, foreign pages, too much, too long; and what it never tells."""

import os
import re
import threading
from collections import Counter

import pytest
from hypothesis.errors import Unsatisfiable

import pellucid
from pellucid._core.addresses import is_local
from support.explorer_data import NAMES, planted, small_collection, small_model
from support.waiting import PATIENCE

pytest.importorskip("fastapi", reason="the explore extra is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

from fastapi.testclient import TestClient  # noqa: E402

from pellucid.explorer import Limits, create_app, explore  # noqa: E402
from pellucid.explorer import middleware as guard_module  # noqa: E402
from pellucid.explorer.limits import check_token, is_any_address  # noqa: E402

LOCAL = "http://127.0.0.1:8750"
EXAMPLES = int(os.environ.get("PELLUCID_FUZZ", "8"))  # for each route, well-formed and not
TOKEN = "correct horse; battery=staple"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    X, Y = planted()
    return small_collection(tmp_path_factory.mktemp("safety") / "collection", X, Y), small_model(X, Y)


def client_for(parts, base=LOCAL, **settings):
    app = create_app(collection=parts[0], model=parts[1], **settings)
    return TestClient(app, base, raise_server_exceptions=False, follow_redirects=False)


@pytest.fixture(scope="module")
def client(parts):
    return client_for(parts)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1234", "LOCALHOST", "[::1]:80"])
def test_own_names_are_answered(client, host):
    assert client.get("/api/collection", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:127", "", "[::1", "127.0.0.1@evil.example:80", "0.0.0.0"],
)
def test_other_names_are_not(client, host):
    """A page elsewhere can make its own name point to 127.0.0.1 (DNS rebinding)."""
    assert client.get("/api/collection", headers={"host": host}).status_code in (400, 421)


def test_foreign_pages_are_not_answered(client):
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1:8750.evil.example"):
        assert client.get("/api/collection", headers={"origin": origin}).status_code == 403, origin
        reply = client.post("/api/rename", json={"concept": NAMES[0], "name": "x"}, headers={"origin": origin})
        assert reply.status_code == 403
    assert client.get("/api/collection", headers={"origin": LOCAL}).status_code == 200
    assert client.get("/api/collection", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200
    # a form of another site can send plain text without asking first
    reply = client.post(
        "/api/rename", content='{"concept": "animal", "name": "x"}', headers={"content-type": "text/plain"}
    )
    assert reply.status_code == 422


def test_a_token_is_needed_for_everything(parts):
    client = client_for(parts, token=TOKEN)
    for path in ("/", "/map", "/assets/app.js", "/api/collection", "/api/openapi.json", "/nowhere"):
        reply = client.get(path)
        assert reply.status_code == 401
        assert "needs the token" in reply.json()["detail"]
    for wrong in ("", "x", TOKEN[:-1], TOKEN + "x", "ü" * 20):
        headers = {"authorization": f"Bearer {wrong}".encode()}
        assert client.get("/api/collection", headers=headers).status_code == 401
        assert client.get("/", params={"token": wrong}).status_code == 401
    assert client.get("/api/collection", headers={"authorization": f"bearer {TOKEN}"}).status_code == 200
    assert client.get("/api/collection", headers={"authorization": f"Basic {TOKEN}"}).status_code == 401


def test_the_token_in_the_address_becomes_a_cookie(parts):
    client = client_for(parts, token=TOKEN)
    let_in = client.get("/", params={"token": TOKEN})
    assert (let_in.status_code, let_in.headers["location"]) == (303, "/")
    cookie = let_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "horse" not in cookie  # what is kept in the browser is not the token itself
    assert client.get("/api/collection").status_code == 200
    name, value = cookie.split(";")[0].split("=")
    for forged in ("x", value[:-1], value[::-1]):
        client.cookies.clear()
        assert client.get("/api/collection", headers={"cookie": f"{name}={forged}"}).status_code == 401
    assert client.get("/api/collection", headers={"cookie": 'a="\x01; ='}).status_code == 401


def test_tokens_are_compared_in_constant_time(parts, monkeypatch):
    seen = []

    def watched(a, b):
        seen.append((a, b))
        return a == b

    monkeypatch.setattr(guard_module.hmac, "compare_digest", watched)
    client = client_for(parts, token=TOKEN)
    client.get("/api/collection", headers={"authorization": "Bearer nonsense"})
    assert (b"nonsense", TOKEN.encode()) in seen


@pytest.mark.parametrize("token", ["short", "x" * 15, "ü" * 20, "a" * 16 + "\n"])
def test_poor_tokens_are_refused(token):
    with pytest.raises(ValueError, match="at least 16"):
        check_token(token, needed=False)


def test_other_addresses_need_a_token(parts):
    for host in ("0.0.0.0", "::", "192.0.2.1", "example.org", ""):
        assert not is_local(host)
        with pytest.raises(ValueError, match=r"Only 127\.0\.0\.1 can be served without a token"):
            explore(*parts, host=host, open_browser=False)
    with pytest.raises(ValueError, match="without a token"):
        create_app(collection=parts[0], hosts=None)
    assert is_local("127.0.0.2")
    assert is_local("::1")
    assert is_local("localhost")
    assert is_any_address("0.0.0.0")
    assert not is_any_address("192.0.2.1")


def test_on_all_addresses_the_token_guards_and_any_name_goes(parts):
    with explore(*parts, host="0.0.0.0", token=TOKEN, open_browser=False) as server:
        base = f"http://127.0.0.1:{server.port}"
        assert httpx.get(f"{base}/api/collection").status_code == 401
        headers = {"authorization": f"Bearer {TOKEN}", "host": "my-machine:1"}
        assert httpx.get(f"{base}/api/collection", headers=headers).status_code == 200
        assert server.url.endswith("?token=correct%20horse%3B%20battery%3Dstaple")
        assert TOKEN not in repr(server)


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../app.py",
        "/assets/..%2f..%2fapp.py",
        "/assets/%2e%2e/%2e%2e/app.py",
        "/assets//etc/passwd",
        "/assets/..\\..\\app.py",
        "/assets/",
        "/assets/%00",
        "/assets/app.js%00.txt",
        "/source.txt",
        "/page/index.html",
    ],
)
def test_nothing_outside_the_folder_is_served(parts, path):
    with explore(*parts, open_browser=False) as server:
        import socket

        with socket.create_connection(("127.0.0.1", server.port)) as connection:  # clients would tidy the path
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            reply = b""
            while block := connection.recv(65536):
                reply += block
    assert re.match(rb"HTTP/1.1 4\d\d ", reply)
    assert b"import" not in reply
    assert b"root:" not in reply


def test_there_are_no_uploads(client):
    paths = client.get("/api/openapi.json").json()["paths"]
    assert all("multipart" not in str(operation) for operation in paths.values())
    for path in ("/api/upload", "/api/collection", "/assets/x.js", "/"):
        for method in ("PUT", "DELETE", "PATCH"):
            assert client.request(method, path).status_code in (404, 405)


def test_bodies_are_bounded_also_in_chunks(parts):
    client = client_for(parts, limits=Limits(body=1000))

    def endless():
        for _ in range(10_000):
            yield b"[" * 100

    assert client.post("/api/search", content=endless()).status_code == 413
    assert client.post("/api/search", content=b"x" * 1001).status_code == 413
    headers = {"content-length": "-1", "content-type": "application/json"}
    assert client.post("/api/search", content=b"{}", headers=headers).status_code == 413


def test_answers_that_take_too_long_are_given_up(parts, monkeypatch):
    app = create_app(collection=parts[0], model=parts[1], limits=Limits(seconds=0.2))
    answered = threading.Event()
    monkeypatch.setattr(app.state.pellucid, "info", lambda: answered.wait(PATIENCE))  # not before it is given up
    with TestClient(app, LOCAL) as client:
        reply = client.get("/api/collection")
        answered.set()
    assert reply.status_code == 408
    assert "longer than 0.2 seconds" in reply.json()["detail"]


def test_failures_tell_nothing_of_the_inside(parts, monkeypatch, caplog):
    app = create_app(collection=parts[0], model=parts[1])

    def broken():
        raise RuntimeError("the secret of /home/me/file.py")

    monkeypatch.setattr(app.state.pellucid, "info", broken)
    reply = TestClient(app, LOCAL, raise_server_exceptions=False).get("/api/collection")
    assert reply.status_code == 500
    assert "secret" not in reply.text
    assert "Traceback" not in reply.text
    assert "the secret" in caplog.text  # whoever runs it can read it


def test_every_answer_carries_the_headers(client):
    for path in ("/", "/assets/app.js", "/api/collection", "/nowhere"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_headers_that_occur_twice_are_refused(client):
    for name, values in (("host", ("127.0.0.1", "evil.example")), ("origin", (LOCAL, "http://evil.example"))):
        assert client.get("/api/collection", headers=[(name, value) for value in values]).status_code in (400, 403, 421)


def test_the_api_survives_a_fuzzer(parts, tmp_path):
    """Requests made from the description of the API, well-formed and not: none may end in a failure of the service."""
    schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")
    from hypothesis import HealthCheck, Phase, given, settings

    file = tmp_path / "model.safetensors"
    pellucid.save(parts[1], file)
    X = parts[0].vectors()
    binary = pellucid.BinaryAutoencoder(rank=3, acceptance="relative", max_concepts=4, random_state=0).fit(X)
    clusters = pellucid.CommonalityClustering(3, 2, 2, tol=1e-3, random_state=0).fit(X)
    app = create_app(
        collection=parts[0],
        model=[file, binary, clusters],
        image_shape=(3, 4),
        hosts=("127.0.0.1", "localhost", "testserver"),
    )
    app.state.pellucid.background.start()
    assert app.state.pellucid.background.wait(PATIENCE)
    app.state.pellucid.check_stability = lambda n_runs, seconds: (
        None
    )  # refits take their time, and are tested elsewhere
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    answered = Counter()
    for operation in (result.ok() for result in schema.get_all_operations()):
        for mode in schemathesis.GenerationMode:

            @settings(max_examples=EXAMPLES, derandomize=True, database=None, phases=[Phase.generate],
                      suppress_health_check=list(HealthCheck))  # fmt: skip
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case):
                reply = case.call()
                answered[case.path, reply.status_code] += 1
                assert reply.status_code < 500, (case.as_curl_command(), reply.text)
                if reply.status_code >= 400:
                    assert isinstance(reply.json()["detail"], str)

            try:
                ask()
            except Unsatisfiable:  # a route without parameters has no wrong ones
                continue
    assert {path for path, _ in answered} == set(app.openapi()["paths"])
    assert {200, 404, 422} <= {status for _, status in answered}
    assert not {401, 403, 421} & {status for _, status in answered}
