"""What stands between Python and a kernel: arrays that a kernel may read and write pass, all others get a sentence."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pellucid._core import kernels
from pellucid._core.kernels import keep_nearest, project_rows, pursue_rows, to_unit_diagonal


def arguments(dtype=np.float64, **changed):
    """Those of ``project_rows``, and its result with them."""
    R = np.arange(12, dtype=dtype).reshape(3, 4)
    given = {"R": R, "support": np.array([2, 0], np.int32), "old": np.ones(2, dtype), "v": np.ones(4, dtype)}
    return {**given, "inner": 0.5, "out": np.zeros(2, dtype), **changed}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_first_array_says_which_kernel_it_is(dtype):
    given = arguments(dtype)
    assert project_rows(*given.values()) is None
    np.testing.assert_array_equal(given["out"], [38.5, 6.5])


def test_numbers_of_other_types_are_converted():
    for inner in (np.float32(0.5), np.float64(0.5), np.array(0.5)):
        given = arguments(inner=inner)
        project_rows(**given)
        np.testing.assert_array_equal(given["out"], [38.5, 6.5])
    best, places = np.full((1, 1), -np.inf, np.float32), np.zeros((1, 1), np.int64)
    one = np.ones((1, 1), np.float32)
    keep_nearest(one, one, one[0], one[0], one[0], np.int32(7), best, places)
    assert places == 7


def test_arrays_that_are_only_read_may_be_read_only():
    given = arguments()
    for name in ("R", "support", "old", "v"):
        given[name].flags.writeable = False
        given["out"][:] = 0
        project_rows(**given)
        np.testing.assert_array_equal(given["out"], [38.5, 6.5])


def misaligned(array):
    raw = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    raw[...] = array
    return raw


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("changed", "error", "sentence"),
    [
        ({"R": np.ones((3, 4), np.float16)}, TypeError, "R must be float32 or float64 of 2 dimensions, not float16"),
        ({"R": [[1.0]]}, TypeError, "R must be float32 or float64 of 2 dimensions, not list"),
        ({"R": None}, TypeError, "not NoneType"),
        ({"R": np.ones(4)}, TypeError, "R must be float64 of 2 dimensions, not float64 of 1"),
        ({"R": np.ones((3, 4), ">f8")}, TypeError, "R must be"),
        ({"old": np.ones(2, ">f8")}, TypeError, "old must be float64 of 1 dimensions, not >f8 of 1"),
        ({"old": np.ones(2, np.float32)}, TypeError, "old must be float64 of 1 dimensions, not float32 of 1"),
        ({"support": np.zeros(2, np.int64)}, TypeError, "support must be int32 of 1 dimensions, not int64 of 1"),
        ({"support": np.zeros(2, np.uint32)}, TypeError, "support must be int32"),
        ({"v": 1.0}, TypeError, "v must be float64 of 1 dimensions, not float"),
        ({"R": np.ones((4, 3)).T}, ValueError, "the numbers of R must lie side by side"),
        ({"v": np.ones(8)[::2]}, ValueError, "the numbers of v must lie side by side"),
        ({"v": np.ones(4)[::-1]}, ValueError, "the numbers of v must lie side by side"),
        ({"v": np.broadcast_to(1.0, 4)}, ValueError, "the numbers of v must lie side by side"),
        ({"v": misaligned(np.ones(4))}, ValueError, "of v must lie side by side, row after row, and aligned"),
        ({"v": read_only(misaligned(np.ones(4)))}, ValueError, "and aligned"),
        ({"out": read_only(np.ones(2))}, ValueError, "out is read-only"),
        ({"v": np.ones(5)}, ValueError, r"v has the shape \(5,\), which does not fit the arrays before it"),
        ({"out": np.ones(3)}, ValueError, r"out has the shape \(3,\)"),
        ({"v": read_only(np.ones(3))}, ValueError, r"v has the shape \(3,\)"),
        ({"inner": "half"}, ValueError, "could not convert"),
        ({"inner": None}, TypeError, "NoneType"),
    ],
)  # fmt: skip
def test_other_arguments_get_a_sentence_and_nothing_is_written(changed, error, sentence):
    given = arguments(**changed)
    before = given["out"].copy()
    with pytest.raises(error, match=sentence):
        project_rows(**given)
    np.testing.assert_array_equal(given["out"], before)


def test_all_arguments_are_needed_and_no_more():
    given = list(arguments().values())
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'out'"):
        project_rows(*given[:-1])
    with pytest.raises(TypeError, match="7 were given"):
        project_rows(*given, 1)
    one = np.ones((1, 1), np.float32)
    with pytest.raises(TypeError, match="integer"):
        keep_nearest(one, one, one[0], one[0], one[0], 1.5, one, np.zeros((1, 1), np.int64))


def test_a_length_that_follows_from_another_is_checked():
    """Groups have one offset more than there are groups; without offsets there would be −1 groups."""
    C, G, lengths, members = np.ones((1, 2)), np.eye(2), np.ones(2), np.arange(2)
    rest = 1, 1, 0.0, np.zeros((1, 2)), np.zeros(1)
    assert pursue_rows(C, G, lengths, members, np.arange(3), *rest) == 0
    with pytest.raises(ValueError, match="offsets has the shape"):
        pursue_rows(C, G, lengths, members, np.zeros(0, np.int64), *rest)
    with pytest.raises(ValueError, match=r"bounds has the shape \(3,\)"):
        to_unit_diagonal(np.eye(2), 0.0, np.eye(2), np.ones(2), np.ones(3))


def test_a_kernel_that_got_no_memory_raises(monkeypatch):
    monkeypatch.setattr(kernels, "NO_MEMORY", 0)  # which is what a kernel says when all went well
    groups = np.arange(2), np.arange(3), 1, 1, 0.0
    for C in (np.ones((1, 2)), read_only(np.ones((1, 2)))):
        with pytest.raises(MemoryError, match="There is no memory for pursue_rows"):
            kernels.Kernel("pursue_rows")(C, np.eye(2), np.ones(2), *groups, np.zeros((1, 2)), np.zeros(1))


def test_empty_arrays_pass():
    given = arguments(R=np.ones((0, 0)), support=np.zeros(0, np.int32), old=np.ones(0), v=np.ones(0), out=np.ones(0))
    project_rows(**given)


def test_kernels_have_a_name_and_a_home():
    assert project_rows.__name__ == "project_rows"
    assert pickle.loads(pickle.dumps(project_rows)) is project_rows
    with pytest.raises(AttributeError, match="has no attribute 'no_such_kernel'"):
        kernels.no_such_kernel  # noqa: B018


def test_threads_call_a_kernel_at_once():
    def call(k):
        given = arguments(inner=float(k))
        for _ in range(200):
            project_rows(**given)
        return given["out"].tolist()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(20))) == [[38.0 + k, 6.0 + k] for k in range(20)]


def test_a_parameter_may_have_a_name_that_python_keeps_for_itself(monkeypatch):
    declaration = kernels.Declaration("void", "KERNEL", kernels.declarations()["inverse_lengths"].parameters)
    renamed = [p._replace(name={"rows": "in", "out": "is"}.get(p.name, p.name)) for p in declaration.parameters]
    monkeypatch.setitem(kernels.declarations(), "inverse_lengths", declaration._replace(parameters=tuple(renamed)))
    out = np.zeros(2)
    kernels.Kernel("inverse_lengths").call(in_=np.full((2, 1), 4, np.float32), is_=out)
    np.testing.assert_array_equal(out, 0.25)
