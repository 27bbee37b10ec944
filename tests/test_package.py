"""The package as a whole: what imports what, and what an import costs."""

import ast
import inspect
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from tools.import_graph import imports_of, room_of

import pellucid

SOURCE = Path(pellucid.__file__).parent

# room -> rooms it may import from; docs/architecture.md draws it
BELOW_ESTIMATORS = {"rows", "solvers", "preparation", "metrics", "_core", ""}
ESTIMATORS = {"concepts", "binary", "clusters", "manifold", "selection"}
ALLOWED = {
    "": {"_core"},
    "_core": set(),
    "solvers": {"_core"},
    "vectors": {"_core", ""},
    "rows": {"vectors", "_core", ""},
    "datasets": {"_core", ""},
    "preparation": {"rows", "solvers", "_core", ""},
    "metrics": {"solvers", "_core", ""},
    "persistence": {"_core", ""},
    **dict.fromkeys(ESTIMATORS, BELOW_ESTIMATORS),
    "search": BELOW_ESTIMATORS | ESTIMATORS | {"vectors", "persistence"},
    "plots": BELOW_ESTIMATORS | ESTIMATORS | {"search"},
    "integrations": BELOW_ESTIMATORS | ESTIMATORS | {"vectors", "persistence", "search"},
    "explorer": BELOW_ESTIMATORS | ESTIMATORS | {"vectors", "persistence", "search", "plots", "datasets"},
    "cli": BELOW_ESTIMATORS
    | ESTIMATORS
    | {"vectors", "persistence", "search", "plots", "datasets", "explorer", "integrations"},
}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_flow_one_way(path):
    room = room_of(path)
    for target, inside_a_function in imports_of(path):
        if target == room or (room == "" and inside_a_function):  # the face of the package, for types alone
            continue
        if target == "plots" and inside_a_function and room not in {"solvers", "vectors"}:
            continue
        assert target in ALLOWED[room], f"{room or 'the package'} must not import {target}"


def private_modules_of(path):
    """Modules whose name starts with an underscore that a module imports, with the room they stand in."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{a.name}" for a in node.names]
        for name in names:
            first, room, *rest = (*name.split("."), "", "")
            if first == "pellucid" and any(part.startswith("_") for part in rest):
                yield room, name


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_room_reaches_into_the_private_modules_of_another(path):
    for room, name in private_modules_of(path):
        assert room == room_of(path), f"{name} is private to {room}"


@pytest.mark.parametrize(
    "line",
    [
        "from pellucid.search._lock import locked",
        "from pellucid.search import _lock",
        "import pellucid.search._lock",
        "def f():\n    from pellucid.search._lock import locked",
    ],
)
def test_the_rule_sees_every_private_import(tmp_path, line):
    (tmp_path / "bad.py").write_text(line)
    assert [room for room, _ in private_modules_of(tmp_path / "bad.py")] == ["search"]


@pytest.mark.parametrize(
    ("line", "room", "late"),
    [
        ("from pellucid import persistence", "persistence", False),
        ("import pellucid.cli.demo", "cli", False),
        ("from pellucid.concepts.learning import atom_step", "concepts", False),
        ("def f():\n    from pellucid import datasets", "datasets", True),
        ("from pellucid import __version__", "", False),
    ],
)
def test_the_rule_sees_every_form_of_import(tmp_path, line, room, late):
    (tmp_path / "bad.py").write_text(line)
    assert list(imports_of(tmp_path / "bad.py")) == [(room, late)]
    assert room not in ALLOWED["solvers"]


def loaded_after(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_import_is_lazy():
    heavy = {"numpy", "scipy", "sklearn", "pyarrow", "click", "rich", "safetensors"}
    assert not loaded_after("import pellucid") & heavy
    assert not loaded_after("import pellucid.cli") & (heavy - {"click"})


def test_a_collection_is_searched_without_what_models_need():
    code = "import numpy as np, pellucid.search as s, tempfile; f = tempfile.mkdtemp() + '/c'; X = np.eye(3); "
    assert not loaded_after(code + "s.Collection.create(f, X).search(X, 2)") & {"sklearn", "pellucid.concepts"}


@pytest.mark.parametrize("room", ["", "concepts", "search", "selection"])
def test_lazy_names_are_those_that_type_checkers_see(room):
    module = getattr(pellucid, room) if room else pellucid
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    homes = module._HOMES if room else pellucid._PUBLIC
    assert seen == {name: f"{module.__name__}.{home}" if home else "pellucid" for name, home in homes.items()}
    assert {*module.__all__} == {*homes} | ({"__version__"} if not room else set())


def test_the_core_never_loads_extras_or_pickle_files():
    extras = {"torch", "faiss", "matplotlib", "anndata", "h5py", "dask", "fastapi"}
    every = "; ".join(f"import pellucid.{room}" for room in ("solvers", "datasets", "vectors", "persistence"))
    assert not loaded_after(every + "; import pellucid.preparation") & extras
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "allow_pickle=True" not in text
        assert "import pickle" not in text


def test_public_names_exist():
    for name in pellucid.__all__:
        assert getattr(pellucid, name) is not None
    assert set(pellucid.__all__) <= set(dir(pellucid))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        pellucid.nonsense  # noqa: B018


def test_every_room_is_an_attribute_with_a_list_of_its_names():
    rooms = {room_of(path) for path in SOURCE.rglob("*.py")} - {"", "_core", "cli"}
    assert rooms == {name for name, home in pellucid._PUBLIC.items() if home is None}
    for room in rooms:
        module = getattr(pellucid, room)
        assert len(module.__all__) == len(set(module.__all__))
        for name in module.__all__:
            assert getattr(module, name) is not None
    for name, home in pellucid._PUBLIC.items():
        assert home is None or name in getattr(pellucid, home).__all__


@cache
def classes_below_the_faces():
    paths = [path for path in SOURCE.rglob("*.py") if room_of(path) not in {"explorer", "plots", "cli"}]
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    return {node.name for node in nodes if isinstance(node, ast.ClassDef)}


def results_of(cls):
    """Names of classes of this package that the public methods of a class say they return."""
    classes = classes_below_the_faces()
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        said = method.__annotations__.get("return", "")
        if not name.startswith("_") and said in classes:
            yield said


@pytest.mark.parametrize("room", sorted(ESTIMATORS | {"search"}))
def test_what_a_public_method_returns_is_public(room):
    public = {
        name
        for each in ESTIMATORS | {"search", "rows", "solvers", "vectors"}
        for name in getattr(pellucid, each).__all__
    }
    for name in getattr(pellucid, room).__all__:
        thing = getattr(getattr(pellucid, room), name)
        if inspect.isclass(thing):
            assert {*results_of(thing)} <= public, f"{name} returns what is not in any __all__"


def test_the_rule_sees_the_results_of_methods():
    assert {"Stability", "AtomCounts"} <= {*results_of(pellucid.ConceptSubspaces)}


@pytest.mark.parametrize("name", sorted(pellucid.persistence.MODELS))
def test_the_first_line_of_transform_says_what_comes_out_with_its_shape(name):
    model = getattr(getattr(pellucid, pellucid.persistence.MODELS[name].split(".")[1]), name)
    if hasattr(model, "transform"):
        assert "(n" in inspect.getdoc(model.transform).splitlines()[0]


def test_every_dependency_has_a_lowest_version():
    """What `make test-lowest` installs: one number for each requirement of the core and of the extras."""
    import importlib.util

    path = Path(__file__).parent.parent / "tools" / "lowest.py"
    spec = importlib.util.spec_from_file_location("lowest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = module.tomllib.loads((path.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for name in project["optional-dependencies"] if name not in ("all", "dev")]
    wanted = sum(len(project["optional-dependencies"][name]) for name in extras) + len(project["dependencies"])
    found = module.lowest(extras)
    assert len(found) == wanted
    assert all(line.count("==") == 1 for line in found)
    assert "numpy==1.26.1" in found
