import multiprocessing
import threading

import numpy as np
import pytest
import threadpoolctl

import pellucid
from pellucid._core.threads import run_rows
from pellucid.solvers import get_threads, group_omp, lasso, nnls, set_threads
from support.waiting import PATIENCE


@pytest.fixture(autouse=True)
def default_threads():
    yield
    set_threads(None)


def blas_threads():
    """Of NumPy's and SciPy's BLAS; other libraries may bring one that was built for one thread."""
    libraries = [lib for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]
    return {lib["num_threads"] for lib in libraries if "scs" not in lib["filepath"]}


def test_one_setting_rules_kernels_and_blas():
    pellucid.set_threads(1)
    assert get_threads() == 1
    assert blas_threads() == {1}
    set_threads(None)
    assert blas_threads() == {get_threads()}


@pytest.mark.parametrize("bad", [0, -1, 1.5, "two", True, np.float64(2)])
def test_bad_thread_counts_get_a_sentence(bad):
    with pytest.raises(ValueError, match="number of threads must be a positive whole number or None"):
        set_threads(bad)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_on_any_number_of_threads(rng, dtype):
    X, atoms = rng.standard_normal((3000, 40)).astype(dtype), rng.standard_normal((60, 40)).astype(dtype)
    results = []
    for threads in (1, 2, 5):
        set_threads(threads)
        results.append(
            (nnls(X, atoms).codes, lasso(X, atoms, 0.3).codes, group_omp(X, atoms, np.arange(60) // 5, 2).codes)
        )
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


def test_blas_gets_its_threads_back(rng):
    set_threads(2)
    nnls(rng.standard_normal((3000, 10)), rng.standard_normal((5, 10)))
    assert blas_threads() == {2}


def test_chunks_cover_every_row_once():
    for n in (1, 63, 64, 65, 5000):
        for threads in (1, 3):
            set_threads(threads)
            seen = np.zeros(n, dtype=int)

            def count(start, stop, seen=seen):
                seen[start:stop] += 1

            run_rows(count, n, max_rows=100)
            assert (seen == 1).all()


def test_an_error_in_a_chunk_reaches_the_caller(rng):
    set_threads(2)
    X = rng.standard_normal((3000, 10))
    X[2222, 3] = np.nan
    with pytest.raises(ValueError, match="X has nan at row 2222, column 3"):
        nnls(X, np.eye(10))


def test_many_python_threads_at_once(rng):
    set_threads(2)
    X, atoms = rng.standard_normal((2000, 20)), rng.standard_normal((15, 20))
    expected, found = nnls(X, atoms).codes, []
    callers = [threading.Thread(target=lambda: found.append(nnls(X, atoms).codes)) for _ in range(8)]
    for t in callers:
        t.start()
    for t in callers:
        t.join(timeout=PATIENCE)
    assert blas_threads() == {2}
    assert len(found) == 8
    assert all(np.array_equal(expected, f) for f in found)


def test_setting_threads_while_others_solve(rng):
    X, atoms = rng.standard_normal((2000, 20)), rng.standard_normal((15, 20))
    expected, wrong, stop = nnls(X, atoms).codes, [], threading.Event()

    def solve():
        while not stop.is_set():
            if not np.array_equal(nnls(X, atoms).codes, expected):
                wrong.append("different codes")

    def guarded():
        try:
            solve()
        except Exception as error:
            wrong.append(error)

    solvers = [threading.Thread(target=guarded) for _ in range(3)]
    for t in solvers:
        t.start()
    for i in range(60):
        set_threads(1 + i % 3)
    stop.set()
    for t in solvers:
        t.join(timeout=PATIENCE)
    set_threads(2)
    assert wrong == []
    assert blas_threads() == {2}


def _solve_in_child(queue, X, atoms):
    queue.put(nnls(X, atoms).codes)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_its_parents_threads(rng):
    set_threads(2)
    X, atoms = rng.standard_normal((2000, 8)), rng.standard_normal((4, 8))
    expected = nnls(X, atoms).codes
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_solve_in_child, args=(queue, X, atoms))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=PATIENCE), expected)
    child.join(timeout=PATIENCE)
    assert child.exitcode == 0
