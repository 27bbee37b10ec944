"""What is said twice about tools and versions is said alike."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_pre_commit_takes_the_ruff_that_make_lint_takes():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    (pin,) = re.findall(r'"(ruff[<>=][^"]*)"', PROJECT)
    assert set(re.findall(r"\"(ruff[<>=][^\"]*)\"", hooks)) == {pin}


def test_the_workflow_starts_with_the_lowest_python_that_is_allowed():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    lowest = re.search(r'requires-python = ">=([\d.]+)"', PROJECT)
    versions = re.search(r"python: \[(.*)\]", workflow)
    assert lowest is not None
    assert versions is not None
    assert re.findall(r"[\d.]+", versions[1])[0] == lowest[1]


def test_the_workflow_installs_on_windows_only_extras_that_there_are():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    wanted = re.search(r"WINDOWS: \.\[([\w,]+)\]", workflow)
    assert wanted is not None
    known = set(re.findall(r"^(\w+) = \[", PROJECT.partition("[project.optional-dependencies]")[2], re.MULTILINE))
    assert set(wanted[1].split(",")) <= known
