"""One setting for every thread this library starts: the pool that runs the kernels, and BLAS.

Kernels are compiled with ``nogil`` and run over chunks of rows on one shared pool of Python threads, together with
the products they need. While the pool is at work BLAS is held to one thread a call, so that cores are never claimed
twice, however many Python threads call the solvers at once.
"""

from __future__ import annotations

import functools
import operator
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any

from pellucid._core import deadline, interrupts

_threads: int | None = None
_pool: ThreadPoolExecutor | None = None
_blas: Any = None
_limiter: Any = None
_depth = 0  # how many hold BLAS to one thread now
_asked = False  # whether set_threads was called meanwhile
_lock = threading.RLock()

# rows are cut into this many chunks: enough to balance the load, few enough to cost nothing
CHUNKS = 32


@functools.cache
def available_cores() -> int:
    """Cores this process may use: affinity, container quota and the limits of an enclosing worker pool; asked once,
    since the answer is in a handful of system files."""
    import joblib

    cores = int(joblib.cpu_count())
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores


def get_threads() -> int:
    """Number of threads that kernels and BLAS may use.

    Returns
    -------
    int
        What :func:`set_threads` was told, or else the cores that this process may use.

    Examples
    --------
    >>> from pellucid.solvers import get_threads
    >>> get_threads() >= 1
    True
    """
    return available_cores() if _threads is None else _threads


def set_threads(n: int | None = None) -> None:
    """Let kernels and BLAS use a number of threads.

    Parameters
    ----------
    n : int or None, default=None
        How many; None goes back to all available cores.

    Raises
    ------
    ValueError
        The number is not positive, or not whole.

    Examples
    --------
    >>> from pellucid.solvers import get_threads, set_threads
    >>> set_threads(1)
    >>> get_threads()
    1
    >>> set_threads()
    """
    global _threads, _blas, _pool, _asked
    if n is not None and (isinstance(n, bool) or not hasattr(n, "__index__") or operator.index(n) < 1):
        raise ValueError(f"The number of threads must be a positive whole number or None, got {n!r}.")
    with _lock:
        _threads, _blas = None if n is None else operator.index(n), None  # another BLAS may have been loaded since
        _pool = None  # a solve under way keeps the old one, whose threads end with it
        _asked = True
        if _depth == 0:
            _controller().limit(limits=get_threads(), user_api="blas")


def _controller() -> Any:
    """Handle on every BLAS this library calls; looking them up takes milliseconds, so once."""
    global _blas
    if _blas is None:
        import numpy  # noqa: F401  only a BLAS that is already loaded can be found
        import scipy.linalg  # noqa: F401
        import threadpoolctl

        _blas = threadpoolctl.ThreadpoolController()
    return _blas


def _after_fork() -> None:
    # neither the threads of a pool nor the holder of a lock survive a fork: waiting for them would hang
    global _pool, _lock, _depth
    _pool, _lock, _depth = None, threading.RLock(), 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: after a product on several, its threads spin on the cores that the kernels want.

    The setting is the whole process's, so of several that hold it at once the first sets and the last restores it.
    """
    global _depth, _limiter, _asked
    with _lock:
        if _depth == 0:
            _asked = False
            _limiter = _controller().limit(limits=1, user_api="blas")
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _limiter.restore_original_limits()
                if _asked:
                    _controller().limit(limits=get_threads(), user_api="blas")


def _current_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(get_threads(), thread_name_prefix="pellucid")
        return _pool


_aside: ContextVar[bool] = ContextVar("aside", default=False)
LOWER = 5  # how much less urgent a thread is that works aside; much more, and others would wait for the lock it holds


@contextmanager
def aside() -> Iterator[None]:
    """What this thread does within it does alone: it takes none of the threads that others wait for, and where the
    system allows it, gives way to them, from now on: so it is for threads that do nothing else."""
    before = _aside.set(True)
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWER)
    try:
        yield
    finally:
        _aside.reset(before)


def run_rows(part: Callable[[int, int], None], n_rows: int, *, min_rows: int = 64, max_rows: int = 1 << 30) -> None:
    """Call ``part(start, stop)`` over chunks that cover ``range(n_rows)``, on as many threads as are set.

    The chunks depend on the arguments alone, so the number of threads never changes a bit of the result. ``part`` may
    call BLAS: while several chunks run, BLAS itself is held to one thread. Between chunks it looks at the deadline.
    """
    size = min(max(min_rows, -(-n_rows // CHUNKS)), max_rows)
    starts = range(0, n_rows, size)
    ends = deadline.current()
    interrupts.check()

    def chunk(start: int) -> None:
        if ends is not None:
            ends.check()
        part(start, min(start + size, n_rows))

    if get_threads() == 1 or len(starts) == 1 or _aside.get():
        with one_blas_thread() if _aside.get() else nullcontext():
            for start in starts:
                chunk(start)
        return
    pool = _current_pool()
    with one_blas_thread():
        futures = [pool.submit(chunk, start) for start in starts]
        try:
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()
            wait(futures)
