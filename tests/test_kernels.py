"""The compiled kernels: what is declared is there, what does not fit is refused, a changed text is compiled again."""

import contextlib
import ctypes
import functools
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid._core import build, kernels
from pellucid._core.kernels import DTYPES, FAMILIES, declarations

PACKAGE = Path(kernels.__file__).parent.parent
LEVELS = ["_baseline", "_v3"] if platform.machine().lower() in ("x86_64", "amd64") else ["_baseline"]
NAMES = sorted(declarations())
Kernel = functools.cache(kernels.Kernel)


def arguments_of(name, size=3):
    """Arrays and numbers of the right kinds for a kernel, every dimension alike; not to be called with."""
    declaration = declarations()[name]
    word, kinds = FAMILIES[declaration.family]
    arguments = []
    for p in Kernel(name)._asked:
        kind = next(iter(kinds)) if p.kind == word else p.kind
        if p.shape is None:
            arguments.append(1)
        else:
            shape = [(int(d) if d.isdigit() else size) + more for d, more in p.shape]
            arguments.append(np.zeros(shape, dtype=DTYPES[kind][0]))
    return arguments


def arrays_of(name):
    return [(i, p) for i, p in enumerate(Kernel(name)._asked) if p.shape is not None]


# what is there


@pytest.mark.parametrize("level", LEVELS)
def test_every_declared_kernel_is_there_for_every_type(level):
    for name in NAMES:
        Kernel(name, level)


@pytest.mark.skipif(not build.texts(), reason="an installed wheel has no texts")
def test_every_exported_function_is_declared():
    exported = set()
    for path in PACKAGE.rglob("*.c"):
        text = path.read_text(encoding="utf-8")
        exported |= set(re.findall(r"EXPORTED\s+\w+\s+(?:KERNEL|TYPED|INDEXED)\((\w+)\)", text))
    assert exported == set(NAMES)


def test_calls_let_go_of_the_lock():
    assert type(kernels._library()) is ctypes.CDLL  # a PyDLL keeps it


def test_a_kernel_that_is_not_declared_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        kernels.nonsense  # noqa: B018


# what is refused


@pytest.mark.parametrize("name", NAMES)
def test_another_number_of_arguments_is_refused(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) (missing|takes)"):
        Kernel(name)(*arguments_of(name)[:-1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda a: a.astype(a.dtype.newbyteorder("S")) if a.itemsize > 1 else a.astype(np.int8),
        lambda a: a.astype(np.float16),
        lambda a: a.astype(complex),
        lambda a: a.astype(object),
        lambda a: a.tolist(),
        lambda a: memoryview(a),
        lambda a: None,
        lambda a: a[None],
        lambda a: a[0],
    ],
    ids=["byte order", "float16", "complex", "object", "list", "memoryview", "nothing", "more axes", "fewer axes"],
)
def test_what_is_not_of_the_declared_type_is_refused(name, spoil):
    for i, p in arrays_of(name):
        taken = arguments_of(name)
        taken[i] = spoil(taken[i])
        with pytest.raises(TypeError, match=f"{name}: {p.name} must be "):
            Kernel(name)(*taken)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_whose_sizes_do_not_agree_are_refused(name):
    for i, p in arrays_of(name):
        for axis, (size, _) in enumerate(p.shape):
            alone = sum(d == size for _, q in arrays_of(name) for d, _ in q.shape) == 1
            if alone and not size.isdigit():
                continue
            taken = arguments_of(name)
            taken[i] = np.zeros([n + (k == axis) for k, n in enumerate(taken[i].shape)], dtype=taken[i].dtype)
            with pytest.raises(ValueError, match="does not fit"):
                Kernel(name)(*taken)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_do_not_lie_side_by_side_are_refused(name):
    for i, p in arrays_of(name):
        taken = arguments_of(name)
        taken[i] = np.repeat(taken[i], 2, axis=-1)[..., ::2]
        if taken[i].flags.c_contiguous:  # a single number
            continue
        with pytest.raises(ValueError, match=f"{p.name} must lie side by side"):
            Kernel(name)(*taken)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_begin_between_numbers_are_refused(name):
    for i, _ in arrays_of(name):
        taken = arguments_of(name)
        if taken[i].itemsize > 1:
            shifted = np.zeros(taken[i].nbytes + 1, dtype=np.uint8)[1:]
            taken[i] = np.frombuffer(shifted, dtype=taken[i].dtype).reshape(taken[i].shape)
            with pytest.raises(ValueError, match="and aligned"):
                Kernel(name)(*taken)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_to_must_be_writeable(name):
    for i, p in arrays_of(name):
        if p.written:
            taken = arguments_of(name)
            taken[i].flags.writeable = False
            with pytest.raises(ValueError, match=f"{p.name} is read-only"):
                Kernel(name)(*taken)


def test_read_only_arrays_and_no_rows_are_taken():
    G, scaled, lengths, bounds = np.diag([4.0, 9.0]), np.empty((2, 2)), np.empty(2), np.empty(2)
    G.flags.writeable = False
    kernels.to_unit_diagonal(G, 0.0, scaled, lengths, bounds)
    np.testing.assert_array_equal(scaled, np.eye(2))
    np.testing.assert_array_equal([*lengths, *bounds], [2, 3, 4, 9])
    kernels.to_unit_diagonal(np.empty((0, 0)), 0.0, np.empty((0, 0)), np.empty(0), bounds)
    np.testing.assert_array_equal(bounds, [np.inf, 0])


# how it is compiled

SMALL = """
from pellucid._core import kernels
import numpy as np
lengths = np.empty(1)
kernels.to_unit_diagonal(np.ones((1, 1)), 3.0, np.empty((1, 1)), lengths, np.empty(2))
print(lengths[0])
"""


@pytest.fixture
def small(tmp_path):
    """A package with one kernel."""
    for path in ["_core", "solvers/unit_diagonal.c"]:
        (tmp_path / "pellucid" / path).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (PACKAGE / path).is_dir() else shutil.copy
        copy(PACKAGE / path, tmp_path / "pellucid" / path)
    for stale in (tmp_path / "pellucid" / "_core").glob("_kernels*"):
        stale.unlink()
    (tmp_path / "pellucid" / "__init__.py").write_text("")
    return tmp_path


def ran(folder, **more):
    environment = {**os.environ, "PYTHONPATH": str(folder), **more}
    environment.pop("PELLUCID_KERNELS", None)
    return subprocess.run([sys.executable, "-c", SMALL], env=environment, capture_output=True, text=True)


@pytest.mark.skipif(not build.texts(), reason="an installed wheel has no texts")
def test_a_text_that_has_changed_is_compiled_again(small):
    first = ran(small)
    assert (first.stdout, first.returncode) == ("2.0\n", 0), first.stderr
    assert "compiling the kernels again" in first.stderr
    assert ran(small).stderr == ""
    text = small / "pellucid" / "solvers" / "unit_diagonal.c"
    text.write_text(text.read_text().replace("sqrt(entry + ridge)", "entry + ridge"))
    again = ran(small)
    assert again.stdout == "4.0\n"
    assert "compiling the kernels again" in again.stderr
    text.write_text("nonsense")
    broken = ran(small)
    assert "The kernels could not be compiled" in broken.stderr
    assert "nonsense" in broken.stderr


@pytest.mark.skipif(not build.texts(), reason="an installed wheel has no texts")
def test_a_compiler_that_is_not_there_is_named(small):
    assert "cannot be started: no-such-compiler" in ran(small, CC="no-such-compiler").stderr


def test_without_any_compiler_a_sentence_says_what_to_do(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    with pytest.raises(build.BuildError, match="pip install ziglang, or set CC"):
        build.compiler(build.this_machine())


def test_a_wheel_without_its_library_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("PELLUCID_KERNELS", raising=False)
    monkeypatch.setattr(build, "PACKAGE", tmp_path)
    kernels._library.cache_clear()
    try:
        with pytest.raises(ImportError, match="without its compiled kernels"):
            kernels._library()
    finally:
        kernels._library.cache_clear()


def test_nothing_else_is_compiled_when_it_runs():
    for path in PACKAGE.rglob("*.py"):
        assert not re.search(r"\bn?jit\b|numba", path.read_text(encoding="utf-8")), path.name


# levels

FITS = """
import hashlib, sys
import numpy as np
from pellucid._core import kernels
if sys.argv[1:]:
    kernels._level = lambda: sys.argv[1]
import pellucid
from pellucid.solvers import lasso, nnls
rng = np.random.default_rng(0)
X = rng.standard_normal((200, 23)).astype(np.float32)
y = rng.integers(0, 3, 200)
made = [nnls(X, X[:40]).codes, lasso(X, X[:9], alpha=0.1).codes]
model = pellucid.ConceptSubspaces(3, random_state=0).fit(X, y)
made += [model.atoms_, pellucid.CommonalityClustering(3, random_state=0).fit(X).labels_]
made += [pellucid.BinaryAutoencoder(2).fit(X[:60]).concepts_, pellucid.IsometryPursuit().fit(X[:60, :5]).weights_]
made += [pellucid.SparseManifoldTransform(32, random_state=0).fit_transform(X)]
print([hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()[:12] for a in made])
"""


@pytest.mark.skipif(len(LEVELS) == 1 or kernels._level() == "_baseline", reason="this processor has one level")
def test_processors_of_both_levels_get_the_same_bits():
    told = [
        subprocess.run([sys.executable, "-c", FITS, *level], capture_output=True, text=True, check=True).stdout
        for level in ([], ["_baseline"])
    ]
    assert told[0] == told[1]


# whatever the binding lets through: nothing is read or written outside (`make sanitize` watches), and calls end

# what integers may say: below a dimension, or rising from zero to one (as offsets)
BELOW = {
    "members": "m", "support": "rows", "labels": "m", "active": "K", "codes": "entries", "indices": "n", "head": "n",
    "tail": "n", "chosen": "n", "subsets": "n", "best": "n", "rows": "n", "places": "count", "order": "n", "index": "m",
}  # fmt: skip
RISING = {"offsets": "m", "begin": "count", "starts": "count", "pointers": "count", "indptr": "edges"}
OF_ITS_OWN = {  # where a name means something else
    ("move_nodes", "labels"): "n", ("settle_nodes", "labels"): "C", ("search_cells", "begin"): "n_tiles",
    ("search_near_cells", "begin"): "n_tiles", ("graph_rows", "codes"): "K", ("positions_by_code", "codes"): "K",
    ("graph_rows", "order"): "places", ("graph_rows", "starts"): "present", ("positions_by_code", "starts"): "present",
    ("losses_of_one_more", "chosen"): "n",
}  # fmt: skip
# numbers that are no sizes, from the sizes
GIVEN = {
    "max_iter": lambda s: 30, "steps": lambda s: min(2, s.get("n_groups", 2)), "room": lambda s: s["m"],
    "first": lambda s: 0, "last": lambda s: s.get("n", 0), "start": lambda s: 0, "stop": lambda s: s["n"],
    "begin": lambda s: 0, "end": lambda s: s["n"], "turns": lambda s: 3, "kind": lambda s: 0, "least": lambda s: 1,
    "squared": lambda s: 1, "positive": lambda s: 1, "own_mean": lambda s: 1, "each": lambda s: 1,
    "context": lambda s: 1, "size": lambda s: 2, "pool": lambda s: 2, "stride": lambda s: 1, "epochs": lambda s: 2,
    "most_losses": lambda s: 50, "begun": lambda s: 0, "n": lambda s: 5, "p": lambda s: 5, "most": lambda s: 3,
}  # fmt: skip
LAST = {
    "image_sums": lambda s: min(s["images"], s["n"]),
    "count_pairs": lambda s: s["K"],
    "look_up": lambda s: s["items"],
}
SPECIAL = np.array([0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, np.nan, np.inf, -np.inf])


def drawn(name, sizes, rng):
    """Arguments of a kernel for these sizes, with any floats and with integers that name what there is; None if there
    is nothing to name."""
    declaration = declarations()[name]
    word, kinds = FAMILIES[declaration.family]
    own = list(kinds)[rng.integers(len(kinds))]
    arguments = []
    for p in Kernel(name)._asked:
        kind = own if p.kind == word else p.kind
        if p.shape is None:
            if kind in ("double", "float"):
                arguments.append(float(rng.choice([0.0, 0.5, 1.0, 3.0])))
            else:
                arguments.append((LAST[name] if p.name == "last" and name in LAST else GIVEN[p.name])(sizes))
            continue
        shape = [(int(d) if d.isdigit() else sizes[d]) + more for d, more in p.shape]
        if kind in ("double", "float"):
            array = rng.standard_normal(shape)
            if rng.random() < 0.3:
                array = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), array)
        elif p.written and p.name not in ("labels", "best"):
            array = np.zeros(shape)
        elif p.name in RISING:
            most = sizes[OF_ITS_OWN.get((name, p.name), RISING[p.name])]
            array = np.sort(rng.integers(0, most + 1, shape))
            array[0], array[-1] = 0, most
            if len(array) == 1 and most:
                return None
        elif p.name in BELOW:
            below = OF_ITS_OWN.get((name, p.name), BELOW[p.name])
            most = sizes["n"] * sizes["height"] * sizes["width"] if below == "places" else sizes[below]
            if not most and np.prod(shape):
                return None
            array = rng.integers(0, max(most, 1), shape)
        elif kind == "uint64_t":
            array = rng.integers(0, 2**63, shape)
        else:
            array = rng.integers(0, 2, shape)
        arguments.append(np.ascontiguousarray(array, dtype=DTYPES[kind][0]))
    return arguments


@pytest.mark.parametrize("name", NAMES)
@given(seed=st.integers(0, 2**32 - 1), largest=st.sampled_from([1, 3, 7, 20]))
@settings(max_examples=25)
def test_kernels_stay_inside_of_any_arrays(name, seed, largest):
    rng = np.random.default_rng(seed)
    dimensions = {size for p in declarations()[name].parameters for size, _ in p.shape or ()}
    sizes = {size: int(rng.integers(0, largest + 1)) for size in sorted(dimensions) if not size.isdigit()}
    arguments = drawn(name, sizes, rng)
    if arguments is not None:
        with contextlib.suppress(ValueError):  # sizes that belong together in another way than being equal
            Kernel(name)(*arguments)


@pytest.mark.skipif("PELLUCID_KERNELS" not in os.environ, reason="only `make sanitize` counts requests for memory")
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_without_memory_says_so(name):
    refused = ctypes.c_int64.in_dll(kernels._library(), "requests_until_refusal")
    rng = np.random.default_rng(0)
    dimensions = {size for p in declarations()[name].parameters for size, _ in p.shape or ()}
    sizes = {size: 4 for size in dimensions if not size.isdigit()}
    for request in range(1, 20):
        arguments = drawn(name, sizes, rng)
        refused.value = request
        try:
            Kernel(name)(*arguments)
        except MemoryError:
            continue
        except ValueError:
            break
        finally:
            left, refused.value = refused.value, 0
        assert left  # it was never refused
        break
