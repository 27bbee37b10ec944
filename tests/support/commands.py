"""Commands run in this process, and files, a model and a collection for them."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from pellucid import vectors
from pellucid.cli import group

NAMES = ["animal", "person", "日本 [red]"]  # brackets that are not rich's


def run(*arguments, stdin=None, code=0):
    result = CliRunner().invoke(group, [str(a) for a in arguments], input=stdin)
    if code == 0 and result.exception:
        raise result.exception
    if code:
        assert result.exit_code == code or (code == 1 and result.exception)
    return result


def found(*arguments, stdin=None):
    return json.loads(run(*arguments, "--json", stdin=stdin).stdout)


def fails(*arguments, stdin=None, code=1):
    """The sentence that a command fails with, in a form that the installed command prints."""
    result = CliRunner().invoke(group, [str(a) for a in arguments], input=stdin)
    assert result.exit_code == (2 if code == 2 else 1), result.output
    return result.output if code == 2 else str(result.exception)


@pytest.fixture(scope="module", name="data")
def data_fixture():
    """Rows that are sums of one direction per concept they have, far from the origin."""
    rng = np.random.default_rng(0)
    Y = rng.random((240, 3)) < 0.5
    Y[Y.sum(axis=1) == 0, 0] = True
    directions = np.linalg.qr(rng.normal(size=(10, 10)))[0][:3]
    X = 0.3 + (Y * rng.uniform(0.5, 1, Y.shape)) @ directions + 0.02 * rng.normal(size=(240, 10))
    return X.astype(np.float32), Y, directions


@pytest.fixture(scope="module", name="files")
def files_fixture(data, tmp_path_factory):
    X, Y, directions = data
    folder = tmp_path_factory.mktemp("files")
    ids = [f"item {i}" for i in range(240)]
    tags = [[n for n, on in zip(NAMES, row) if on] for row in Y]
    columns = {"tags": tags, "text": [f"text [bold] of {i}" for i in range(240)], "score": list(range(240))}
    columns |= {name: Y[:, j].astype(int) for j, name in enumerate(NAMES)}
    vectors.write(folder / "v.parquet", X, ids, columns)
    vectors.write(folder / "words.parquet", 0.3 + directions.astype(np.float32), NAMES)
    np.save(folder / "v.npy", X)
    np.save(folder / "labels.npy", Y)
    np.save(folder / "classes.npy", Y.argmax(axis=1))
    (folder / "labels.txt").write_text("\n".join(",".join(t) for t in tags), encoding="utf-8")
    head = ",".join([f"x{i}" for i in range(10)] + ["animal", "person"])
    lines = [",".join([*(f"{v:.9g}" for v in x), str(int(y[0])), str(int(y[1]))]) for x, y in zip(X, Y)]
    (folder / "flat.csv").write_text("\n".join([head, *lines]) + "\n")
    order = np.random.default_rng(1).permutation(240)
    shuffled = {"id": [ids[i] for i in order], "tags": [tags[i] for i in order]}
    pq.write_table(pa.table(shuffled), folder / "by_id.parquet")
    return folder


@pytest.fixture(scope="module", name="model")
def model_fixture(files):
    run("concepts", "fit", files / "v.parquet", "--labels", "tags", "--n-atoms", 1, "-o", files / "m.safetensors")
    return files / "m.safetensors"


@pytest.fixture(scope="module", name="collection")
def collection_fixture(files, model):
    run("index", files / "v.parquet", "--labels", "tags", "-o", files / "collection")
    return files / "collection"
