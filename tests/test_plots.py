"""Pictures: what they show is what was computed, and odd names or input do not break them."""

import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra pellucid[plots] is not installed")

from matplotlib.figure import Figure
from matplotlib.text import Text

from pellucid import ConceptSubspaces, plots
from pellucid.metrics import Retrieval
from pellucid.search import Collection, ConceptSearch, Explanation, Hit

NAMES = ["$a$ and $b$", "_hidden", "日本", "plain"]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    return ConceptSubspaces(3, center=False).fit(rng.normal(size=(80, 12)), rng.random((80, 4)) < 0.5, NAMES)


@pytest.fixture
def search(model, tmp_path):
    rng = np.random.default_rng(1)
    texts = [f"item {i} costs $5 and ${i}\nor a lot more than that " * 3 for i in range(30)]
    return ConceptSearch(Collection.create(tmp_path / "c", rng.normal(size=(30, 12)), text=texts), model)


def png(ax):
    """The picture as bytes. No text in it may be a formula, which unescaped dollar signs would make it."""
    for text in ax.figure.findobj(Text):
        assert text.get_text().count("$") == text.get_text().count("\\$"), text
    stream = io.BytesIO()
    ax.figure.savefig(stream, format="png")
    return stream.getvalue()


def texts(ax):
    return [t.get_text() for t in ax.texts]


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


@pytest.mark.filterwarnings("ignore:Glyph")
def test_component_bars_are_the_shares_largest_first(model, rng):
    x = rng.normal(size=12)
    shares = model.shares(x[None])[0]
    ax = plots.component_bars(model, x, title="An item of $5 and $6")
    assert np.allclose(widths(ax), [*np.sort(shares)[::-1], 1 - shares.sum()])
    assert [t.get_text().replace("\\", "") for t in ax.get_yticklabels()] == [
        *(NAMES[j] for j in np.argsort(-shares)),
        "not in any concept",
    ]
    assert png(ax).startswith(b"\x89PNG")
    few = plots.component_bars(model, x, top=2)
    assert np.isclose(sum(widths(few)), 1)
    assert [label.get_text() for label in few.get_yticklabels()[-2:]] == ["2 others", "not in any concept"]
    nothing = plots.component_bars(model, np.zeros(12))  # no parts at all
    assert widths(nothing) == [0, 0, 0, 0, 1]
    png(nothing)


@pytest.mark.parametrize("top", [1, 3, 50])
def test_the_steps_of_an_explanation_add_up(top):
    terms = np.array([0.4, -0.2, 0.05, 0.0001, -0.03])
    found = Explanation(list("abcde"), terms, 0.02, float(terms.sum() + 0.02), [["x$", "y"]] + [[]] * 4)
    ax = plots.explanation(found, top=top)
    *steps, total = widths(ax)
    assert np.isclose(total, found.score)
    assert np.isclose(sum(steps), found.score, atol=5e-4)
    # each step starts where the one before ended
    lefts = [bar.get_x() for bar in ax.patches]
    assert np.allclose(lefts[1:-1], np.cumsum(steps)[:-1])
    png(ax)


def test_an_explanation_by_a_model_draws(search):
    ax = plots.explanation(search.explain("0", "1"), title="Why close?")
    assert ax.get_title(loc="left") == "Why close?"
    assert ax.get_yticklabels()[-1].get_text() == "score"


@pytest.mark.filterwarnings("ignore:Glyph")
def test_captions_show_every_word(model, rng):
    found = model.captions([f"w{i}_$" for i in range(40)], rng.normal(size=(40, 12)), top=4)
    ax = plots.captions(found, title="Words")
    shown = [t.replace("\\", "") for t in texts(ax)]
    for concept, words in found.items():
        assert concept in shown
        assert all(word in shown for word, _ in words)
    png(ax)
    with pytest.raises(ValueError, match="no captions"):
        plots.captions({})


def test_heatmap_puts_groups_together_and_names_them(rng):
    groups = np.array([1, 0, 1, 0, 2])
    matrix = np.abs(rng.normal(size=(5, 5)))
    ax = plots.heatmap(matrix, groups=groups, names=["a", "b", "c"], label="share")
    order = [1, 3, 0, 2, 4]
    assert np.array_equal(ax.images[0].get_array(), matrix[np.ix_(order, order)])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_yticks().tolist() == [0.5, 2.5, 4]
    assert ax.images[0].get_clim()[0] == 0
    signed = plots.heatmap(matrix - 0.5)
    low, high = signed.images[0].get_clim()
    assert low == -high  # zero is in the middle of the colours
    png(plots.heatmap([[1.0]]))
    with pytest.raises(ValueError, match="square"):
        plots.heatmap(np.ones((2, 3)))
    with pytest.raises(ValueError, match="3 groups for 2 rows"):
        plots.heatmap(np.eye(2), groups=[0, 1, 1])


def test_objective_is_drawn_as_it_is(model):
    (line,) = plots.objective(model).lines
    assert np.array_equal(line.get_ydata(), model.objective_)
    png(plots.objective(SimpleNamespace(objective_=np.empty(0))))


def test_retrieval_shows_means_and_spread():
    rows = {"a": Retrieval(0.6, 0.4, np.empty((0, 2)), 3), "b": {"general": [0.7, 0.9], "sub": 0.5}, "c": (0.5, None)}
    ax = plots.retrieval(rows, title="Compared")
    assert np.allclose(widths(ax)[:4], [0.6, 0.8, 0.5, 0.4])
    assert f"0.800 ± {np.std([0.7, 0.9], ddof=1):.3f}" in texts(ax)
    png(ax)
    general_only = plots.retrieval({"a": Retrieval(0.6, float("nan"), np.empty((0, 2)), 3)})
    assert widths(general_only) == [0.6]
    assert general_only.get_legend() is None
    with pytest.raises(ValueError, match="no methods"):
        plots.retrieval({})


def test_curves_over_the_number_of_atoms():
    selection = SimpleNamespace(n_atoms=[2, 4, 8], general=[0.5, 0.9, 0.8], sub=None, best=4)
    ax = plots.n_atoms_curve(selection)
    assert ax.lines[0].get_ydata().tolist() == selection.general
    assert "chosen: 4" in texts(ax)
    selection.sub = [0.3, 0.4, 0.5]
    assert plots.n_atoms_curve(selection).lines[1].get_ydata().tolist() == selection.sub
    pairs = [(0.5, 0.4), (0.6, 0.5), Retrieval(0.7, 0.6, np.empty((0, 2)), 1)]
    four = plots.partial_vs_full([2, 4, 8], pairs, pairs[::-1], best=4)
    assert four.lines[3].get_ydata().tolist() == [0.6, 0.5, 0.4]
    png(four)
    with pytest.raises(ValueError, match="3 results of the projection for 2"):
        plots.partial_vs_full([2, 4], pairs, pairs)


def test_neighbours_side_by_side(search):
    plain, filtered = search.search("3", k=4), search.search("3", "plain", k=3)
    ax = plots.neighbours(filtered, plain, query="of $3 and $4", concept="plain", relevant=lambda hit: hit.rank == 1)
    shown = texts(ax)
    assert "nearest by plain" in shown
    assert [f"{hit.score:.2f}" for hit in plain] == [t for t in shown if t.startswith(("0.", "-0."))][:4]
    png(ax)
    png(plots.neighbours([], plain))
    png(plots.neighbours([], []))


def test_neighbours_show_thumbnails_where_there_are_some():
    from PIL import Image

    stream = io.BytesIO()
    Image.new("RGB", (8, 6), "red").save(stream, format="JPEG")
    hits = [
        Hit(1, 0.5, 0, lambda: {"id": "a", "thumbnail": stream.getvalue()}),
        Hit(2, 0.4, 1, lambda: {"id": "b", "thumbnail": None}),
    ]
    ax = plots.neighbours(hits, hits[1:])
    (inset,) = ax.child_axes
    assert inset.images[0].get_array().shape == (6, 8, 3)
    assert "b" in texts(ax)
    png(ax)


@pytest.mark.filterwarnings("ignore:Glyph")
def test_walk_starts_at_one_atom_and_ends_at_the_other(model, search, rng):
    mine = model.atoms_[model.groups_ == 3]
    vectors = np.vstack([mine, -mine, rng.normal(size=(20, 12)) * 0.01])  # their mean is all but zero
    words = ["first", "second", "third", *(f"w{i}" for i in range(23))]
    ax = plots.walk(model, "plain", words, vectors, search.collection, atoms=(0, 2), n_steps=3, top=1)
    bold = [t.get_text() for t in ax.texts if t.get_weight() == "bold"]
    assert (bold[0], bold[-1], len(bold)) == ("first", "third", 3)
    png(ax)
    png(plots.walk(model, "日本", words, vectors, n_steps=2))
    with pytest.raises(ValueError, match="atoms 0 to 2"):
        plots.walk(model, "plain", words, vectors, atoms=(0, 3))
    with pytest.raises(ValueError, match="no concept 'nothing'"):
        plots.walk(model, "nothing", words, vectors)
    with pytest.raises(ValueError, match="at least 2 steps"):
        plots.walk(model, "plain", words, vectors, n_steps=1)


def test_map_colours_by_name_or_by_number(rng):
    points = rng.normal(size=(60, 2))
    names = ["_a"] * 30 + ["$b$ $c$"] * 20 + [None] * 10
    ax = plots.map(points, color=names)
    assert [t.get_text().replace("\\", "") for t in ax.get_legend().get_texts()] == ["_a", "$b$ $c$"]
    assert [len(c.get_offsets()) for c in ax.collections] == [10, 30, 20]
    png(ax)
    numbers = plots.map(points, color=points[:, 0], label="height")
    assert np.array_equal(numbers.collections[0].get_array(), points[:, 0])
    png(plots.map(points, color=points[:, 0] > 0))  # true and false are names
    png(plots.map(points))
    png(plots.map(np.empty((0, 2))))
    for wrong, sentence in (((points[:, :1],), "points"), ((points, {"color": names[:3]}), "3 colours for 60")):
        with pytest.raises(ValueError, match=sentence):
            plots.map(wrong[0], **(wrong[1] if len(wrong) > 1 else {}))
    with pytest.raises(ValueError, match="tell 48 groups apart, but there are 60"):
        plots.map(points, color=[str(i) for i in range(60)])


def test_atoms_as_images(rng):
    ax = plots.atoms_as_images(rng.normal(size=(7, 12)), (3, 4), names=[f"atom {i} $ $" for i in range(7)])
    assert len(ax.images) == 7
    assert ax.images[0].get_array().shape == (3, 4)
    png(ax)
    coloured = plots.atoms_as_images(rng.normal(size=(2, 12)), (2, 2, 3))
    assert 0 <= coloured.images[0].get_array().min() <= coloured.images[0].get_array().max() <= 1
    png(plots.atoms_as_images(np.zeros((1, 4)), (2, 2)))
    for shape in ((3, 3), (2, 2, 3, 1), (12,)):
        with pytest.raises(ValueError, match="images"):
            plots.atoms_as_images(np.ones((2, 12)), shape)
    with pytest.raises(ValueError, match="1 names for 2 atoms"):
        plots.atoms_as_images(np.ones((2, 4)), (2, 2), names=["a"])


@pytest.mark.filterwarnings("ignore:Glyph")
def test_given_axes_are_used_and_global_settings_stay(model, rng):
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plots.component_bars(model, rng.normal(size=12), left) is left
    assert plots.captions({"a": [("b", 0.1)]}, right) is right
    (part,) = figure.subfigures(1, 1, squeeze=False).ravel()
    inside = part.add_subplot()
    assert plots.neighbours([], [], inside) is inside
    assert dict(matplotlib.rcParams) == before


def test_drawing_leaves_pyplot_alone():
    code = "import sys, pellucid.plots as p; p.heatmap([[1.0]]).figure.savefig(sys.stdout.buffer)"
    code += "; assert 'matplotlib.pyplot' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"\x89PNG")


def test_a_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r'pip install "pellucid\[plots\]"'):
        plots.heatmap([[1.0]])


def test_a_notebook_gets_a_figure_that_it_shows(monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    ax = plots.heatmap([[1.0]])
    assert ax.figure.number in pyplot.get_fignums()
    pyplot.close(ax.figure)


def patch_model():
    from pellucid import PatchManifoldTransform

    images = np.random.default_rng(0).random((8, 9, 9))
    return PatchManifoldTransform(3, 20, n_components=3, context=2, random_state=0).fit(images), images


def test_patches_of_a_dictionary():
    model, images = patch_model()
    ax = plots.dictionary(model, n_atoms=12, title="atoms")
    assert len(ax.images) == 12
    png(ax)
    ax = plots.atom_neighbours(model, [0, 5], k=4)
    assert len(ax.images) == 10
    assert len(ax.lines) == 2  # a frame around each atom that was asked about
    png(ax)
    with pytest.raises(ValueError, match="at least one"):
        plots.atom_neighbours(model, [])
    names = ["four", "nine", "nine", "four"]
    ax = plots.matching_patches(model, images[0], images[1:4], names=names, title="four, taken for a nine")
    assert len(ax.images) == 4
    assert len(ax.lines) == 4
    png(ax)
    left, right, bottom, top = (*ax.lines[1].get_xdata()[:2], *ax.lines[1].get_ydata()[[2, 0]])
    assert (right - left, bottom - top) == (3, 3)


def test_the_framed_patch_is_the_best_match():
    model, images = patch_model()
    shifted = images[1].copy()
    ax = plots.matching_patches(model, images[1], shifted[None])
    alike = np.einsum("ijk,ijk->ij", *(model.patch_embeddings(i[None])[0] for i in (images[1], shifted)))
    i, j = np.unravel_index(alike.argmax(), alike.shape)
    left, _, _, top = ax.images[1].get_extent()
    assert ax.lines[1].get_xdata()[0] == left + j
    assert ax.lines[1].get_ydata()[0] == top + i


def test_accuracy_by_dimension():
    ax = plots.accuracy_by_dimension([2, 4, 8], {"ours": [90, 95, 96], "paper": [91, None, 97]}, title="digits")
    assert [len(line.get_xdata()) for line in ax.lines] == [3, 2]
    png(ax)
    with pytest.raises(ValueError, match="'a' has 1 values"):
        plots.accuracy_by_dimension([2, 4], {"a": [1]})


def test_cka_over_the_number_of_binary_concepts():
    from pellucid import BinaryAutoencoder

    generator = np.random.default_rng(0)
    items = generator.integers(0, 2, (80, 4)) @ generator.normal(size=(4, 20)) + 0.1 * generator.normal(size=(80, 20))
    model = BinaryAutoencoder(random_state=0).fit(items)
    ax = plots.cka_curve(model, items, title="Items")
    sizes, values = ax.lines[0].get_data()
    assert list(sizes) == [1, 2, 3, 4]
    assert values[-1] == pytest.approx(model.cka_, abs=1e-9)
    assert np.all(np.diff(values) > 0)
    model.concepts_, model.weights_ = model.concepts_[:, :0], model.weights_[:0]
    assert len(plots.cka_curve(model, items).lines[0].get_xdata()) == 0
