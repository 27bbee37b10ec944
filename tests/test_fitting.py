"""The loop of every fit, and the checkpoints that it goes on from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from pellucid import CommonalityClustering
from pellucid._core.checkpoint import TRANSIENT, Checkpoint, fingerprint
from pellucid._core.interrupts import SecondInterrupt
from pellucid.rows import Blocks
from pellucid.rows.blocks import parts_with
from pellucid.rows.fitting import Added, add_parts, checkpoint_of, first_state, fold, known_rows, run


@dataclass
class Inner:
    matrix: Any
    numbers: list[float]


@dataclass
class Outer:
    name: str
    inner: Inner
    others: list[Inner]
    facts: dict[str, Any]
    nothing: None = None
    passing: Any = field(default="default", metadata=TRANSIENT)


def test_a_state_comes_back_as_it_was(tmp_path):
    rng = np.random.RandomState(0)
    rng.standard_normal()  # so that half of a pair is left over
    state = Outer(
        "ä",
        Inner(np.arange(6, dtype=np.float32).reshape(2, 3), [0.1, np.inf, -0.0, 1 / 3]),
        [Inner(sparse.csr_array(np.eye(3)), [])],
        {"dtype": np.uint8(7), "words": ["a", "b"], "empty": np.empty((0, 4))},
        passing=np.ones(3),
    )
    Checkpoint(tmp_path / "state", "mark", (Inner, Outer), rng).save(state)
    drawn = rng.standard_normal(3)
    other = np.random.RandomState(9)
    found = Checkpoint(tmp_path / "state", "mark", (Inner, Outer), other).load()
    np.testing.assert_array_equal(other.standard_normal(3), drawn)
    assert isinstance(found, Outer)
    assert (found.name, found.nothing, found.passing) == ("ä", None, "default")
    assert found.inner.matrix.dtype == np.float32
    np.testing.assert_array_equal(found.inner.matrix, state.inner.matrix)
    assert repr(found.inner.numbers) == repr(state.inner.numbers)
    np.testing.assert_array_equal(found.others[0].matrix.toarray(), np.eye(3))
    assert (found.facts["dtype"], found.facts["words"], found.facts["empty"].shape) == (7, ["a", "b"], (0, 4))


def test_a_state_of_an_unknown_kind_or_another_mark_is_refused(tmp_path):
    Checkpoint(tmp_path / "state", "mark", (Inner,)).save(Inner(np.ones(2), []))
    with pytest.raises(ValueError, match="damaged or no checkpoint"):
        Checkpoint(tmp_path / "state", "mark", (Outer,)).load()
    with pytest.raises(ValueError, match="belongs to another fit"):
        Checkpoint(tmp_path / "state", "other", (Inner,)).load()
    assert Checkpoint(tmp_path / "nothing", "mark", ()).load() is None


def test_fingerprints_differ_where_anything_does():
    facts = [1, 1.0, "1", [1], [[1]], np.ones(1), np.ones(1, dtype=np.float32), np.ones((1, 1)), [np.ones(1), 2], None]
    marks = [fingerprint(fact) for fact in facts]
    assert len(set(marks)) == len(facts)
    assert fingerprint([np.ones(9)], 2) == fingerprint([np.ones(9)], 2) != fingerprint([np.ones(9), 2])
    long = np.zeros(5000)  # longer than what a repr shows
    changed = long.copy()
    changed[2500] = 1
    assert fingerprint(long) != fingerprint(changed)


def counting(upto, kept=None, failing=None, error=KeyboardInterrupt):
    def step(state):
        if state["n"] == failing:
            raise error
        return {"n": state["n"] + 1}

    return run(
        first_state(lambda: {"n": 0}, kept),
        step,
        lambda state: state["n"] == upto,
        kept=kept,
        bar=("counting", upto, False),
        say=lambda state: str(state["n"]),
        stopped=lambda state: f"Stopped at {state['n']}." if state["n"] else "",
    )


def test_the_loop_ends_when_it_is_over_and_goes_on_from_where_it_was_stopped(tmp_path):
    assert counting(3) == ({"n": 3}, False)
    assert counting(0) == ({"n": 0}, False)
    with pytest.warns(UserWarning, match="Stopped at 2"):
        assert counting(5, failing=2) == ({"n": 2}, True)
    for error in (KeyboardInterrupt, SecondInterrupt, RuntimeError):  # of no use, or in a hurry, or no Ctrl-C at all
        with pytest.raises(error):
            counting(5, failing=0 if error is KeyboardInterrupt else 2, error=error)
    kept = Checkpoint(tmp_path / "state", "mark", ())
    with pytest.raises(RuntimeError):
        counting(5, kept, failing=3, error=RuntimeError)
    assert kept.load() == {"n": 3}
    with pytest.raises(RuntimeError):  # the first three are not counted again
        counting(5, kept, failing=4, error=RuntimeError)
    assert counting(5, kept) == ({"n": 5}, False)


def summed(blocks):
    return sum(block.sum() for block in blocks)


def test_parts_are_added_up_in_order_and_none_twice(tmp_path):
    X = np.arange(40.0).reshape(20, 2)
    blocks = Blocks(X, rows=3)
    assert len(blocks.parts) == 7
    assert add_parts(blocks, summed, Added(), kept=None) == X.sum()
    kept = Checkpoint(tmp_path / "state", "mark", (Added,))
    assert add_parts(blocks, summed, Added(X[:6].sum(), 2, {"made": 1}), kept=kept) == X.sum()
    assert kept.load() == Added(X.sum(), 7, {"made": 1})
    with_weights = add_parts(blocks, lambda b, w: w * summed(b), Added(None, 3), kept=None, given=[0, 0, 0, 1, 0, 0, 0])
    assert with_weights == X[9:12].sum()


def test_an_array_is_a_source_with_one_part():
    X = np.arange(12.0).reshape(6, 2)
    source = Blocks.held(X)
    assert len(source.parts) == 1
    assert [block is X for block in source] == [True]
    assert source.take(np.arange(6)) is X
    np.testing.assert_array_equal(source.take(np.array([1, 4])), X[[1, 4]])
    for rows in (source, Blocks(X, rows=4)):
        cut = rows.split(np.arange(6), np.arange(6) + 10)
        assert [len(labels) for labels, _ in cut] == [part.rows for part in rows.parts]
        np.testing.assert_array_equal(np.concatenate([costs for _, costs in cut]), np.arange(6) + 10)
        some, wanted = parts_with(rows, np.array([4, 5]))
        assert sum(map(len, wanted)) == 2
        np.testing.assert_array_equal(np.concatenate(list(some))[wanted[0]], X[4:])


def drawn(state, blocks, rng):
    return state + [int(rng.randint(1000)) for _ in blocks]


def test_a_fold_draws_on_from_part_to_part():
    X, rng = np.zeros((9, 2)), np.random.RandomState(0)
    assert fold(Blocks.held(X), drawn, [], rng) == [np.random.RandomState(0).randint(1000)]
    rng, by_hand = np.random.RandomState(1), np.random.RandomState(1)
    found = fold(Blocks(X, rows=3), drawn, [], rng)
    by_hand.permutation(3)
    assert found == [int(by_hand.randint(1000)) for _ in range(3)]
    assert rng.randint(1000) == by_hand.randint(1000)


def test_data_are_known_by_rows_from_all_over_an_array_and_parameters_by_all_they_hold(tmp_path):
    X = np.random.default_rng(0).standard_normal((1000, 3))
    changed = X.copy()
    changed[-1, 0] += 1
    assert fingerprint(known_rows(Blocks.held(X))) != fingerprint(known_rows(Blocks.held(changed)))
    assert fingerprint(known_rows(Blocks(X))) != fingerprint(known_rows(Blocks.held(X)))
    assert fingerprint(known_rows(Blocks(X, rows=10))) != fingerprint(known_rows(Blocks(X, rows=20)))

    def mark(**settings):
        return checkpoint_of(tmp_path / "state", CommonalityClustering(**settings), Blocks.held(X), ()).mark

    assert mark() == mark(verbose=1) != mark(max_iter=3)
    assert mark(random_state=1) != mark(random_state=2)
    labels = np.zeros(5000, dtype=int)
    assert mark(init=labels) == mark(init=labels.copy()) != mark(init=np.eye(1, 5000, 2500, dtype=int)[0])
    assert mark(random_state=np.random.RandomState(1)) == mark(random_state=np.random.RandomState(1))
    assert checkpoint_of(None, CommonalityClustering(), Blocks.held(X), ()) is None
