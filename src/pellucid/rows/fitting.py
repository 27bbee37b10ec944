"""The one loop of every fit that takes long: a state in, a state out, step after step.

A step is a sweep over all rows, or takes the sums of one more part in. The loop owns what all of them need: when to
end, the bar, Ctrl-C, and a checkpoint after each step, from which the same call goes on with the same bits. So a state
holds all that the next step depends on; a new kind of fit says what a state is and what a step does, and no more.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from pellucid._core import deadline, interrupts
from pellucid._core.checkpoint import Checkpoint, fingerprint
from pellucid._core.interrupts import SecondInterrupt, uninterrupted
from pellucid._core.progress import progress
from pellucid.rows.blocks import Blocks
from pellucid.rows.parts import plus, stepped

State = TypeVar("State")

# rows by which a checkpoint knows its data again
KNOWN_ROWS = 64


def run(
    state: State,
    step: Callable[[State], State],
    over: Callable[[State], bool],
    *,
    kept: Checkpoint | None = None,
    bar: tuple[str, int, Any],
    say: Callable[[State], str],
    stopped: Callable[[State], str],
    stacklevel: int = 3,
) -> tuple[State, bool]:
    """The state when it is ``over``, or after the last whole step before Ctrl-C, and whether that was so.

    ``bar`` holds what the bar is called, how many steps it has and whether to show it, ``say`` what stands beside it;
    ``stopped`` makes the sentence of the warning at Ctrl-C (none, if the state is of no use), ``stacklevel`` says who
    gets it.
    """
    try:
        with progress(bar[0], bar[1], bool(bar[2])) as advance:
            while not over(state):
                deadline.check()
                interrupts.check()
                state = step(state)
                if kept is not None:
                    kept.save(state)
                advance(say(state))
    except SecondInterrupt:
        raise
    except KeyboardInterrupt:
        interrupts.dealt_with()
        sentence = stopped(state)
        if not sentence:
            raise
        warnings.warn(sentence, stacklevel=stacklevel)
        return state, True
    return state, False


def first_state(begin: Callable[[], State], kept: Checkpoint | None) -> State:
    """What the checkpoint holds; else what ``begin`` makes, which it holds from now on."""
    state: State | None = None if kept is None else kept.load()
    if state is None:
        state = begin()
        if kept is not None:
            kept.save(state)
    return state


# sums over parts


@dataclass
class Added:
    """The sum of what the first ``done`` parts gave, and what it was made with."""

    total: Any = None
    done: int = 0
    made: dict[str, Any] = field(default_factory=dict)


def add_parts(
    X: Blocks,
    function: Callable[..., Any],
    state: Added,
    *,
    kept: Checkpoint | None,
    verbose: Any = False,
    given: Sequence[Any] | None = None,
) -> Any:
    """The sum of ``function(blocks)`` over the parts, in order; ``given`` holds a second argument for each."""
    n, rest = len(X.parts), X.like(X.parts[state.done :])
    each = rest.each(function, None if given is None else given[state.done :])

    def step(state: Added) -> Added:
        added = next(each)
        with uninterrupted():  # in place, so as a whole
            state.total, state.done = plus(state.total, added), state.done + 1
        return state

    run(
        state,
        step,
        lambda state: state.done == n,
        kept=kept,
        bar=("blocks", len(rest.parts), verbose),
        say=lambda state: f"{state.done} of {n} parts",
        stopped=lambda state: f"Stopped after {state.done} of {n} parts; these make the model." if state.done else "",
        stacklevel=6,
    )
    return state.total


# mini-batches


def fold(X: Blocks, step: Callable[..., Any], state: Any, rng: np.random.RandomState) -> Any:
    """A state carried through the parts, in an order that is drawn, each where its rows are: ``step(state, blocks,
    rng)`` returns the next one. The generator goes along from part to part."""
    for number in rng.permutation(len(X.parts)):
        ((state, there),) = X.like([X.parts[number]]).each(partial(stepped, step, state, rng))
        rng.set_state(there.get_state())
    return state


# what a checkpoint knows its fit by


def checkpoint_of(
    path: str | os.PathLike[str] | None,
    model: Any,
    X: Blocks,
    kinds: Iterable[type],
    *facts: Any,
    rng: np.random.RandomState | None = None,
    silent: Sequence[str] = ("verbose",),
) -> Checkpoint | None:
    """Where states are kept, if anywhere: known by the parameters that are not ``silent``, the rows and more facts.
    ``rng`` is what the fit draws from."""
    if path is None:
        return None
    settings = sorted((name, value) for name, value in model.get_params(deep=False).items() if name not in silent)
    plain = [(name, "given" if isinstance(value, np.random.RandomState) else value) for name, value in settings]
    return Checkpoint(path, fingerprint(plain, known_rows(X), *facts), kinds, rng)


def known_rows(X: Blocks) -> list[Any]:
    """Shape and some of the rows: from all over an array, else the first, since others may be far away."""
    if X.array is not None:
        some = np.linspace(0, len(X) - 1, KNOWN_ROWS).astype(np.int64)
        return [X.shape, str(X.dtype), np.asarray(X.array[some])]
    first = next(iter(X.like(X.parts[:1]).each(first_rows)))
    return [X.shape, str(X.dtype), [part.rows for part in X.parts], first]


def first_rows(blocks: Iterator[Any]) -> Any:
    return next(blocks)[:KNOWN_ROWS]
