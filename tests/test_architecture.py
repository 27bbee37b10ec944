"""The map of the code and the decisions: what they name is there, and a fit and a query take the ways that are told."""

import ast
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tools import import_graph

import pellucid
from pellucid import ConceptSubspaces
from pellucid.cli import group
from pellucid.search import Collection

ROOT = Path(__file__).parent.parent
SOURCE = Path(pellucid.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DECISIONS = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
CODE = ("src", "tests", "benchmarks", "reproductions", "tools")
NAMED = re.compile(r"`([\w./-]+\.(?:py|c|h|md|ts|svelte|toml)(?::[\w.]+)?)`")


def section(title):
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, flags=re.S | re.M)[1]


def node_of(named):
    """The file that is meant, and the definition in it; None where the page names something that is not there."""
    file, _, name = named.partition(":")
    path = next((home / file for home in (SOURCE, ROOT) if (home / file).is_file()), None)
    if path is None or not name:
        return path, path
    found = ast.parse(path.read_text(encoding="utf-8"))
    for part in name.split("."):
        found = next((node for node in getattr(found, "body", []) if part in names_in(node)), None)
    return path, found


def names_in(node):
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {getattr(node, "name", None)} | {getattr(target, "id", None) for target in targets}


@pytest.mark.parametrize("named", sorted(set(NAMED.findall(PAGE + DECISIONS)) - {"file.py:name"}))
def test_everything_that_is_named_is_there(named):
    assert node_of(named)[1] is not None, f"the documentation names {named}, which is not there"


@pytest.mark.parametrize("named", ["nowhere.py", "preparation.py:nothing", "search/hits.py:Hit.nothing"])
def test_the_look_up_notices_what_is_missing(named):
    assert node_of(named)[1] is None


@pytest.mark.parametrize("folder", sorted(set(re.findall(r"`([\w./-]+/)`", PAGE))))
def test_folders_that_the_map_names_are_there(folder):
    assert any((home / folder).is_dir() for home in (SOURCE, ROOT, ROOT / "src"))


def test_the_map_has_every_room():
    told = set(re.findall(r"^\| `(\w+)` \|", section("Rooms"), flags=re.M))
    assert told == {import_graph.room_of(path) for path in SOURCE.rglob("*.py")} - {""}


def test_the_import_graph_is_that_of_the_code():
    again = "run python tools/import_graph.py"
    assert import_graph.PICTURE.read_text(encoding="utf-8") == import_graph.picture(), again
    assert import_graph.page() == PAGE, again


def test_imports_go_down_unless_they_wait_for_a_call():
    for (room, other), late in import_graph.edges().items():
        assert late or import_graph.floor(room) > import_graph.floor(other), f"{room} imports {other}"


def test_decisions_speak_of_names_that_the_code_has():
    paths = [path for folder in CODE for ending in ("py", "c", "h") for path in (ROOT / folder).rglob(f"*.{ending}")]
    code = "".join(path.read_text(encoding="utf-8") for path in paths)
    known = set(re.findall(r"\w+", code + (ROOT / "Makefile").read_text(encoding="utf-8")))
    spans = [span for span in re.findall(r"`([^`\n]+)`", DECISIONS) if not re.search(r"[/ ]", span)]
    assert len(spans) > 50
    assert {word for span in spans for word in re.findall(r"[A-Za-z_]\w+", span)} <= known


def test_decisions_are_grouped_by_room_under_a_table_of_contents():
    contents, headings = DECISIONS.split("\n## ", 1)
    titles = re.findall(r"^##+ (.*)$", "## " + headings, flags=re.M)
    assert [title.strip("`") for title in re.findall(r"^ *- \[(.*)\]\(#", contents, flags=re.M)] == [
        title.strip("`") for title in titles
    ]
    rooms = re.findall(r"^## (.*)$", "## " + headings, flags=re.M)
    assert rooms[0] == "All rooms"
    assert set(rooms[1:]) <= {import_graph.room_of(path) for path in SOURCE.rglob("*.py")}


def calls(act):
    """File and name of every function of the package that is called, in order."""
    found = []

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and SOURCE in path.parents:
            found.append((path.relative_to(SOURCE).as_posix(), frame.f_code.co_name))

    before = pellucid.solvers.get_threads()
    pellucid.set_threads(1)  # so that all is called here, and not by other threads
    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
        pellucid.set_threads(before)
    return found


def told(title):
    """The functions of the numbered steps; kernels are named by their texts, and nobody sees them called."""
    steps = "\n".join(re.findall(r"^\d+\. .*?(?=^\d+\. |^\n|\Z)", section(title), flags=re.S | re.M))
    for named in NAMED.findall(steps):
        _, node = node_of(named)
        if isinstance(node, ast.FunctionDef):
            file, _, name = named.partition(":")
            yield file, name.split(".")[-1]


def assert_followed(title, called):
    later = iter(called)
    steps = list(told(title))
    assert len(steps) > 10
    for step in steps:
        assert step in later, f"{step} is not called where docs/architecture.md says so"


@pytest.fixture
def labelled(rng):
    Y = rng.random((300, 3)) < 0.5
    Y[:, 0] |= ~Y.any(axis=1)
    return rng.normal(size=(300, 16)).astype(np.float32), Y, ["animal", "person", "plant"]


def test_a_fit_goes_the_way_that_is_told(labelled):
    assert_followed("The way of one fit", calls(lambda: ConceptSubspaces(2, max_iter=2).fit(*labelled)))


def test_a_query_goes_the_way_that_is_told(labelled, tmp_path):
    pellucid.save(ConceptSubspaces(2, max_iter=1).fit(*labelled), tmp_path / "model.safetensors")
    Collection.create(tmp_path / "items", labelled[0])
    line = f"search {tmp_path / 'items'} --model {tmp_path / 'model.safetensors'} --item 17 --concept animal --explain"
    done = []
    called = calls(lambda: done.append(CliRunner().invoke(group, line.split())))
    assert done[0].exit_code == 0, done[0].output
    assert_followed("The way of one query", called)


def test_a_way_that_is_not_taken_is_noticed():
    with pytest.raises(AssertionError, match="is not called"):
        assert_followed("The way of one query", [("cli/search.py", "command")])
