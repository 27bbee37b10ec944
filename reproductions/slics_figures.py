"""Paper 1's figures: a walk between atoms, maps of components, relations of atoms, sizes, neighbours."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.manifold import TSNE

from pellucid import ConceptSubspaces, plots
from pellucid._core.arrays import unit_rows
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch
from reproductions.common import Task, stamp
from reproductions.data import load_coco_captions, load_flickr8k
from reproductions.slics_methods import evaluate

SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
MAP_SIZES = (2, 5, 20)
SHOWN = 6
# these show items of other people's data: drawn, but listed in .gitignore
SHOW_ITEMS = {"coco_captions-3", "coco_captions-8", "flickr8k-8"}


def draw(tasks: dict[str, Task], results: Path) -> str:
    """All figures that the data at hand allow, as files; returns the text that shows them."""
    from matplotlib.figure import Figure

    text = "# Figures of concept subspaces (paper 1)\n\n" + stamp("slics")
    text += "Filled dots mark neighbours that have the concept.\n\n"

    def keep(name: str, figure: Figure, about: str) -> None:
        nonlocal text
        figure.savefig(results / f"slics-{name}.png", dpi=110, metadata={"Software": None})
        kept = f"![{about}](slics-{name}.png)\n\n*{about}*\n\n"
        text += (
            kept if name not in SHOW_ITEMS else f"*{about}*: drawn as `slics-{name}.png`, not kept with the code.\n\n"
        )

    for name, task in tasks.items():
        model = fitted(task, 8)
        sizes = size_curves(task)
        keep(f"{name}-6", figure_of(sizes.plot()), f"Figure 6, {task.name}: how many atoms")
        keep(
            f"{name}-7",
            figure_of(partial_against_full(task, sizes.best)),
            f"Figure 7, {task.name}: projection or component",
        )
        keep(f"{name}-5", relations(task, model), f"Figure 5, {task.name}: atoms used together, and their cosines")
        keep(f"{name}-4", maps(task), f"Figure 4, {task.name}: components of one concept by t-SNE, by fine label")
        with tempfile.TemporaryDirectory() as folder:
            searching = searchable(name, task, model, Path(folder))
            if task.words is not None:
                axes = plots.walk(model, "animal", task.words, task.word_vectors, searching.collection)
                keep(f"{name}-3", figure_of(axes), f"Figure 3, {task.name}: a walk between two atoms of one concept")
            keep(
                f"{name}-8",
                neighbours(task, model, searching),
                f"Figures 8-10, {task.name}: a query's concepts in order",
            )
    return text


def figure_of(axes):
    return axes.figure


def fitted(task: Task, size: int) -> ConceptSubspaces:
    return ConceptSubspaces(size, random_state=0, center=False).fit(
        task.train.vectors, task.train.coarse, task.concept_names
    )


def size_curves(task: Task):
    """Figure 6: validation retrieval over the number of atoms."""
    return ConceptSubspaces(center=False).select_n_atoms(
        task.train.vectors,
        task.train.coarse,
        task.validation.vectors,
        task.candidates.vectors,
        task.validation.coarse,
        task.candidates.coarse,
        query_fine=task.validation.fine,
        candidate_fine=task.candidates.fine,
        fine_to_coarse=task.fine_to_coarse,
        sizes=SIZES,
    )


def partial_against_full(task: Task, best: int):
    """Figure 7: the query's projection onto one cone (Eq. 3), or its component beside those of all concepts (Eq. 2)."""
    partial, full = [], []
    for size in SIZES:
        model = fitted(task, size)
        partial.append(evaluate(task, task.validation, model=model))

        def component(X, j, model=model):
            own = unit_rows(model.components(X)[:, j])
            return own @ task.candidates.vectors.T

        full.append(evaluate(task, task.validation, score=component))
    return plots.partial_vs_full(SIZES, partial, full, best=best)


def relations(task: Task, model: ConceptSubspaces):
    """Figure 5: co-occurrence of atoms in greedy codes of validation rows, and cosines between atoms."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 6), layout="constrained")
    left, right = figure.subplots(1, 2)
    cosines = model.coherence()
    same = model.groups_[:, None] == model.groups_
    off = ~np.eye(len(cosines), dtype=bool)
    names = list(model.concept_names_)
    plots.heatmap(
        model.cooccurrence(task.validation.vectors), left, groups=model.groups_, names=names, title="used together"
    )
    within, across = cosines[same & off], cosines[~same]
    plots.heatmap(
        cosines,
        right,
        groups=model.groups_,
        names=names,
        title=f"cosines: {within.mean():.2f} within, {across.mean():.2f} across",
    )
    return figure


def maps(task: Task):
    """Figure 4: t-SNE of the components of the candidates in one concept, for few and many atoms."""
    from matplotlib.figure import Figure

    j = task.concept_names.index("animal")
    under = np.flatnonzero(task.fine_to_coarse == j)
    rows = np.flatnonzero(task.candidates.coarse[:, j])
    fine = task.candidates.fine[rows][:, under]
    common = np.argsort(-fine.sum(axis=0), kind="stable")[:6]
    names = fine_names(task)
    colour = [next((names[under[f]] for f in common if row[f]), None) for row in fine]
    figure = Figure(figsize=(15, 5), layout="constrained")
    for ax, size in zip(figure.subplots(1, len(MAP_SIZES)), MAP_SIZES):
        parts = unit_rows(fitted(task, size).project(task.candidates.vectors[rows], "animal"))
        points = TSNE(init="pca", perplexity=min(30, len(rows) / 4), random_state=0).fit_transform(parts)
        plots.map(points, ax, color=colour, title=f"{size} atoms")
    return figure


def fine_names(task: Task) -> list[str]:
    if task.name == "COCO captions":
        return list(load_coco_captions().fine_names)
    if task.name == "Scenes":
        return list(load_scenes().fine_names)
    data = load_flickr8k()
    return [name for name, j in zip(data.fine_names, data.fine_to_coarse) if data.coarse[:, j].any()]


def searchable(name: str, task: Task, model: ConceptSubspaces, folder: Path) -> ConceptSearch:
    """The candidates as a collection, with their texts, or thumbnails where the data have images."""
    rows = task.candidates.rows
    if name == "flickr8k":
        data = load_flickr8k()
        stored, ends = data.thumb_bytes, data.thumb_off
        columns = {
            "thumbnail": [stored[ends[i] : ends[i + 1]].tobytes() for i in rows],
            "text": [data.captions[i][0] for i in rows],
        }
    else:
        texts = load_coco_captions().caption if name == "coco_captions" else load_scenes().texts
        columns = {"text": [texts[i] for i in rows]}
    collection = Collection.create(folder / "candidates", task.candidates.vectors, **columns)
    return ConceptSearch(collection, model)


def component_cosines(model: ConceptSubspaces, X: np.ndarray) -> np.ndarray:
    """cos(v_j, x), by which the paper's figures rank concepts (n, S)."""
    parts = model.components(X)
    lengths = np.linalg.norm(parts, axis=2) * np.linalg.norm(X, axis=1)[:, None]
    return np.einsum("njd,nd->nj", parts, X) / np.where(lengths > 0, lengths, 1)


def neighbours(task: Task, model: ConceptSubspaces, searching: ConceptSearch):
    """Figures 8-10: a query with several concepts, largest first; neighbours by each beside the unfiltered ones."""
    from matplotlib.figure import Figure

    counts = task.queries.coarse.sum(axis=1)
    busy = np.flatnonzero(counts == min(3, counts.max()))
    order = np.argsort(-component_cosines(model, task.queries.vectors[busy]), axis=1, kind="stable")[:, :3]
    # the first query whose largest components are those of its labels
    agree = [set(o) == set(np.flatnonzero(has)) for o, has in zip(order, task.queries.coarse[busy])]
    i, order = int(busy[np.argmax(agree)]), order[np.argmax(agree)]
    x = task.queries.vectors[i]
    plain = searching.search(x, k=SHOWN)
    figure = Figure(figsize=(9, 3.6 * len(order)), layout="constrained")
    has = ", ".join(np.array(task.concept_names)[task.queries.coarse[i]])
    for ax, j in zip(np.atleast_1d(figure.subplots(len(order), 1)), order):
        concept = task.concept_names[j]
        plots.neighbours(
            searching.search(x, concept, SHOWN),
            plain,
            ax,
            query=f"{query_text(task, i)}  [{has}]",
            concept=concept,
            relevant=lambda hit, j=j: bool(task.candidates.coarse[hit.position, j]),
        )
    return figure


def query_text(task: Task, i: int) -> str:
    row = int(task.queries.rows[i])
    if task.name == "COCO captions":
        return str(load_coco_captions().caption[row])
    return str(load_scenes().texts[row] if task.name == "Scenes" else load_flickr8k().captions[row][0])
