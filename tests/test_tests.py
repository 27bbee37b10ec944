"""The tests themselves: what several of them need stands in tests/support."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MODULES = sorted(TESTS.rglob("*.py"))


def imported_tests(code):
    """Modules of tests that Python code imports, also the code in its strings (that of child processes)."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from {part for name in names for part in name.split(".") if part.startswith("test_")}


def programs_of(path):
    """A module's code, and every string in it that is code of several lines."""
    code = path.read_text(encoding="utf-8")
    yield code
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "import" in node.value:
            try:
                ast.parse(node.value)
            except (SyntaxError, ValueError):
                continue
            yield node.value


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(TESTS)))
def test_no_module_imports_a_test_module(path):
    names = {path.stem for path in MODULES if path.stem.startswith("test_")}
    found = {name for program in programs_of(path) for name in imported_tests(program)} & names
    assert not found, f"{found}: what two of them need belongs in tests/support"


@pytest.mark.parametrize(
    "line",
    [
        "import test_other",
        "from test_other import MODULES",
        "from tests import test_other",
        "def f():\n    from tests.test_other import MODULES",
        "CHILD = '''\nfrom test_other import MODULES\n'''",
    ],
)
def test_the_rule_sees_every_form_of_import(tmp_path, line):
    (tmp_path / "bad.py").write_text(line)
    assert {name for program in programs_of(tmp_path / "bad.py") for name in imported_tests(program)} == {"test_other"}
