"""Requests and command lines at random: `python tests/support/fuzz_faces.py 100000` says what became of them.

Both are built from what the service and the commands declare. Whatever gave a sentence that was not heard before is
kept and changed further, so that the search goes on from what lies deeper.
"""

import argparse
import json
import os
import random
import re
import resource
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

MEMORY, SECONDS = 6 << 30, 30
ODD = ["", " ", "0", "-1", "1e999", "NaN", "9" * 400, "\x00", "日本", "\ud800", "../../etc/passwd", "/dev/null",
       "a" * 3000, "item-3", "animal", "none", "[]", "{}", "'", "%s", "-", "--", "=", "animal=2", "x=nan"]  # fmt: skip
JSONS = [None, True, 0, -1, 1, 7, 2**31, 2**63, 10**30, 0.5, -1e308, [], {}, [[]], [[0.0] * 12], [0.5] * 12,
         [1e300] * 12, [0.0] * 11, ["item-3", "item-4"], *ODD]  # fmt: skip


GOOD = {"x": "item-3", "y": "item-4", "id": "item-3", "concept": "animal", "column": "kind", "k": 5, "cluster": 1,
        "items": ["item-3", "item-4"], "polygon": [[-1, -1], [1, -1], [0, 1]], "name": "new", "n_runs": 1}  # fmt: skip


def service(folder):
    """A client of an explorer with a model of each kind, and the fields of every route."""
    from fastapi.testclient import TestClient

    import pellucid
    from pellucid.explorer import create_app
    from support.explorer_data import planted, small_collection, small_model

    X, Y = planted()
    model = folder / "model.safetensors"
    pellucid.save(small_model(X, Y), model)
    binary = pellucid.BinaryAutoencoder(rank=3, acceptance="relative", max_concepts=4, random_state=0).fit(X)
    clusters = pellucid.CommonalityClustering(3, 2, 2, tol=1e-3, random_state=0).fit(X)
    app = create_app(
        collection=small_collection(folder / "c", X, Y), model=[model, binary, clusters], image_shape=(3, 4)
    )
    app.state.pellucid.background.start()
    app.state.pellucid.background.wait()
    app.state.pellucid.check_stability = lambda n_runs, seconds: None
    described = app.openapi()
    routes = []
    for path, methods in described["paths"].items():
        for method, about in methods.items():
            body = about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            fields = (
                described["components"]["schemas"].get(body.get("$ref", "").split("/")[-1], {}).get("properties", {})
            )
            routes.append((method, path, [p["name"] for p in about.get("parameters", [])], list(fields)))
    return TestClient(app, "http://127.0.0.1:8750", raise_server_exceptions=False), routes


def request(routes, draw, kept):
    """(method, path, parameters, body, headers), new or one that was kept, changed."""
    if kept and draw.random() < 0.5:
        method, path, given, body, headers = draw.choice(kept)
        given, body = dict(given), dict(body) if isinstance(body, dict) else body
    else:
        method, path, names, fields = draw.choice(routes)
        good = GOOD
        given = {name: good.get(name, "0") for name in names if draw.random() < 0.7}
        body = {name: good[name] for name in fields if name in good and draw.random() < 0.8}
        headers = {}
    for _ in range(draw.randrange(3)):
        if isinstance(body, dict) and method == "post":
            name = draw.choice([*body, "x", "k", "diverse", "concept", "without", "score", "other"])
            body[name] = draw.choice(JSONS)
        elif given:
            given[draw.choice(list(given))] = draw.choice(ODD)
    if draw.random() < 0.05:
        headers = {draw.choice(["origin", "host", "content-type", "cookie", "range", "authorization"]): draw.choice(
            ["", "http://[", "null", "x" * 5000, "\x7f", "bytes=0-1,2-3", "text/plain", "127.0.0.1"])}  # fmt: skip
    if draw.random() < 0.03:
        body = draw.choice(["[" * 100_000, "{", "\xff", "9" * 5000, ""])
    return method, path, given, body, headers


def fuzz_service(count, first):
    kept, heard, ends, broken = [], set(), {}, []
    with tempfile.TemporaryDirectory() as place:
        client, routes = service(Path(place))
        for seed in range(first, first + count):
            draw = random.Random(seed)
            method, path, given, body, headers = made = request(routes, draw, kept)
            given = {name: str(value).encode("utf-8", "replace").decode() for name, value in given.items()}
            text = body if isinstance(body, str) else json.dumps(body)
            try:
                with limit():
                    reply = client.request(
                        method, path, params=given, headers={"content-type": "application/json", **headers},
                        content=text.encode("utf-8", "replace") if method == "post" else None,
                    )  # fmt: skip
            except Exception as error:
                if type(error).__name__ in ("InvalidURL", "LocalProtocolError", "UnicodeEncodeError"):  # never sent
                    continue
                broken.append((seed, f"{method} {path}", f"{type(error).__name__}: {error}"[:300]))
                continue
            ends[reply.status_code] = ends.get(reply.status_code, 0) + 1
            said = reply.json().get("detail") if reply.status_code >= 400 and reply.content else ""
            if reply.status_code >= 500 or not isinstance(said, str):
                broken.append((seed, f"{method} {path} {given} {text[:200]} {headers}", reply.text[:200]))
            remember(kept, heard, f"{path} {reply.status_code} {said}", made)
    return ends, broken


def remember(kept, heard, said, made):
    sentence = re.sub(r"\d+|'[^']*'", "#", said)[:200]
    if sentence not in heard:
        heard.add(sentence)
        kept.append(made)


def commands():
    """Every command: its words and its parameters."""
    from pellucid.cli import LazyGroup, group

    def walk(within, path=()):
        for name in within.list_commands(None):
            found = within.get_command(None, name)
            if isinstance(found, LazyGroup):
                yield from walk(found, (*path, name))
            elif name not in ("explore", "demo"):  # which serve, and fit for seconds
                yield (*path, name), found.params

    return list(walk(group))


FILES = ["v.npy", "v.parquet", "m.safetensors", "k.safetensors", "b.safetensors", "c", "labels.txt", "nowhere.npy", "."]
MODELS = {"clusters": "k.safetensors", "binary": "b.safetensors"}


def line(known, draw, kept):
    """The words of a command line, new or one that was kept, changed."""
    if kept and draw.random() < 0.5:
        words = list(draw.choice(kept))
        for _ in range(draw.randrange(1, 3)):
            where = draw.randrange(len(words))
            words[where : where + draw.randrange(2)] = [draw.choice([*ODD, *FILES])]
        return words
    command, params = draw.choice(known)
    words = list(command)
    for param in params:
        if param.param_type_name == "option":
            if draw.random() >= (0.97 if param.required else 0.25):
                continue
            words.append(param.opts[-1])
            if param.is_flag:
                continue
        words.append(draw.choice([*ODD, *FILES]) if draw.random() < 0.15 else likely(command, param, draw))
    return words


def likely(command, param, draw):
    """A value that the parameter may well have."""
    kind = type(param.type).__name__
    if kind == "OutputFile":
        return f"out{draw.randrange(10**9)}{draw.choice(param.type.suffixes)}"
    if kind == "OutputFolder":
        return f"out{draw.randrange(10**9)}"
    if kind == "Path":
        named = {"model": MODELS.get(command[0], "m.safetensors"), "collection": "c", "path": draw.choice(FILES)}
        return named.get(param.name, draw.choice(["v.npy", "v.parquet"]))
    if kind in ("IntRange", "IntParamType"):
        return draw.choice(["1", "2", "3"])
    choices = list(getattr(param.type, "choices", []))
    names = {"labels": ["tags", "labels.txt"], "item": ["item-3"], "concept": ["animal", "b=2"], "without": ["b"]}
    return draw.choice(choices or names.get(param.name, ["0.1", "tags", "vector", "1"]))


def fuzz_commands(count, first):
    from click.testing import CliRunner

    from pellucid import vectors
    from pellucid.cli import group
    from support.pathological import RAW

    kept, heard, ends, broken = [], set(), {}, []
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        rows = np.random.default_rng(0).standard_normal((24, 4)).astype(np.float32)
        np.save("v.npy", rows)
        vectors.write("v.parquet", rows, [f"item-{i}" for i in range(24)], {"tags": [["animal"], ["b"]] * 12})
        Path("labels.txt").write_text("a\nb\n" * 12)
        for words in (
            "concepts fit v.parquet --labels tags --n-atoms 1 -o m.safetensors",
            "clusters fit v.npy --n-clusters 2 --n-atoms 1 --n-common 1 -o k.safetensors",
            "binary fit v.npy -o b.safetensors", "index v.parquet -o c",
        ):  # fmt: skip
            assert CliRunner().invoke(group, words.split()).exit_code == 0, words
        before, known = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}, commands()
        for seed in range(first, first + count):
            draw = random.Random(seed)
            words = [word.replace("\x00", "") for word in line(known, draw, kept)]
            words = [word for word in words if word not in ("--help", "-h", "--force")]
            try:
                with limit():
                    result = CliRunner().invoke(group, words, input="")
            except Exception as error:
                broken.append((seed, words, f"{type(error).__name__}: {error}"[:300]))
                continue
            error, said = result.exception, result.output
            ends[result.exit_code] = ends.get(result.exit_code, 0) + 1
            if error is not None and not isinstance(error, SystemExit):
                said = str(error)
                fine = isinstance(error, (ValueError, OSError, KeyError, TypeError, AttributeError, ImportError))
                if not fine or RAW.search(said) or not said:
                    broken.append((seed, words, f"{type(error).__name__}: {said}"[:300]))
            remember(kept, heard, f"{words[0]} {result.exit_code} {said[:300]}", words)
            if seed % 500 == 0:
                assert all(path.read_bytes() == whole for path, whole in before.items()), "an input was changed"
                for path in Path().glob("out*"):
                    if path.is_file():
                        path.unlink()
    return ends, broken


class limit:
    """So many seconds of the processor for one case."""

    def __enter__(self):
        signal.setitimer(signal.ITIMER_PROF, SECONDS)

    def __exit__(self, *error):
        signal.setitimer(signal.ITIMER_PROF, 0)


def late(*_):
    raise TimeoutError("it hangs")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--faces", nargs="*", default=["requests", "commands"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, late)
    for face in asked.faces:
        begun = time.perf_counter()
        found, wrong = {"requests": fuzz_service, "commands": fuzz_commands}[face](asked.count, asked.first)
        print(
            f"{face:10} {dict(sorted(found.items()))}, {len(wrong)} broken, {time.perf_counter() - begun:.0f} s",
            flush=True,
        )
        for one in wrong[:40]:
            print("   ", *one)
