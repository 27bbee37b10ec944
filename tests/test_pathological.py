"""Rows that no method was made for: a result, a warning or one sentence, in bounded time and memory."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pellucid import BinaryAutoencoder, IsometryPursuit, IterativeAssignment, SparseManifoldTransform
from pellucid.binary import CombinedConcepts
from pellucid.manifold.neighbour_operators import metric_pairs
from pellucid.persistence import MODELS
from pellucid.search import Collection, CollectionError
from support import pathological

pytestmark = pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="needs the timers of POSIX")


@pytest.mark.parametrize("kind", ["estimators", "commands"])
def test_nothing_breaks_hangs_or_asks_for_all_memory(kind):
    counted, broken = pathological.run(kind, "some")
    assert not broken, "\n".join(map(str, broken))
    assert counted["result"] > counted["sentence"] > 0


def test_every_estimator_is_tried():
    assert {name.split()[0] for name in pathological.estimators()} - {"version"} == set(MODELS)


def few(n):
    """Rows of three kinds, many times."""
    return np.random.default_rng(0).standard_normal((3, 10))[np.arange(n) % 3]


def test_neighbours_of_rows_that_occur_often():
    X = few(3000)
    pairs = metric_pairs(X, 5)
    assert pairs.shape == (15_000, 2)
    assert (X[pairs[:, 0]] == X[pairs[:, 1]]).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    mixed = np.vstack([X[:30], np.random.default_rng(1).standard_normal((20, 10)), X[:1] * -0.0 + X[:1]])
    found = metric_pairs(mixed, 3)
    apart = np.linalg.norm(mixed[:, None] - mixed[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    wanted = np.sort(apart, axis=1)[:, :3]
    mine = np.sort(apart[found[:, 0], found[:, 1]].reshape(-1, 3), axis=1)
    np.testing.assert_allclose(mine, wanted, atol=1e-6)  # as a slow look at all of them


def test_many_rows_of_few_kinds_get_a_sentence():
    X = few(30_000)
    with (
        pytest.warns(ConvergenceWarning, match="distinct clusters"),
        pytest.raises(ValueError, match="No two neighbours have different codes"),
    ):
        SparseManifoldTransform(2, n_atoms=8, random_state=0).fit(X)
    for model in (IterativeAssignment(), CombinedConcepts()):
        with pytest.raises(ValueError, match=r"X has 30,000 items, .* at most 5,000 of them"):
            model.fit(X)
    with pytest.raises(ValueError, match="give each different row once"):
        IsometryPursuit(random_state=0).fit(np.tile(X, (4, 1)).astype(np.float32))
    assert BinaryAutoencoder(n_chains=50, random_state=0).fit(X).concepts_.shape[0] == 30_000


def test_an_id_that_occurs_twice_among_many_is_found_at_once(tmp_path):
    ids = [str(i) for i in range(200_000)]
    ids[-1] = "199998"
    with pytest.raises(CollectionError, match="The id '199998' occurs twice"):
        Collection.create(tmp_path / "c", np.ones((200_000, 1), dtype=np.float32), ids)
