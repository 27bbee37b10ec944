"""The pictures of docs/concepts.md, drawn on Scenes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from pellucid import ConceptSubspaces, plots
from pellucid.concepts import Vocabulary
from pellucid.datasets import load_scenes
from pellucid.search import Collection, ConceptSearch

QUERY, CONCEPT, SHOWN = 1, "animal", 6


def concept_pictures(folder: Path) -> None:
    scenes = load_scenes()
    train, names = scenes.split.train, scenes.coarse_names
    X = scenes.vectors
    model = ConceptSubspaces(n_atoms=6).fit(X[train], scenes.coarse[train], names)
    labels = [{name for name, on in zip(names, row) if on} for row in scenes.coarse]
    i = query(scenes)
    with TemporaryDirectory() as place:
        ids = [f"scene-{n}" for n in range(len(X))]
        search = ConceptSearch(Collection.create(Path(place) / "scenes", X, ids, text=scenes.texts), model)
        plain, filtered = search.search(ids[i], k=SHOWN), search.search(ids[i], CONCEPT, k=SHOWN)
        why = search.explain(ids[i], plain[0].id, vocabulary=Vocabulary(scenes.words, scenes.word_vectors))
        walk = plots.walk(model, CONCEPT, scenes.words, scenes.word_vectors, search.collection)
    together = model.cooccurrence(X[scenes.split.validation])
    pictures = {
        "bars": plots.component_bars(model, X[i], title=scenes.texts[i]),
        "captions": plots.captions(model.captions(scenes.words, scenes.word_vectors)),
        "cooccurrence": plots.heatmap(together, groups=model.groups_, names=names, label="how often used together"),
        "explanation": plots.explanation(why, title=plain[0].item["text"]),
        "neighbours": plots.neighbours(
            filtered,
            plain,
            query=scenes.texts[i],
            concept=CONCEPT,
            relevant=lambda hit: CONCEPT in labels[hit.position],
        ),
        "sizes": sizes(scenes, X).plot(),
        "walk": walk,
    }
    for name, ax in pictures.items():
        # no creation date, so that equal pictures are equal files
        ax.figure.savefig(folder / f"concepts-{name}.png", dpi=140, metadata={"Software": None})


def sizes(scenes, X):
    """How many atoms validation queries would choose."""
    train, val, pool = scenes.split.train, scenes.split.validation, scenes.split.candidates
    return ConceptSubspaces().select_n_atoms(
        X[train], scenes.coarse[train], X[val], X[pool], scenes.coarse[val], scenes.coarse[pool],
        query_fine=scenes.fine[val], candidate_fine=scenes.fine[pool], fine_to_coarse=scenes.fine_to_coarse,
    )  # fmt: skip


def query(scenes) -> int:
    """A query with the concept and two others."""
    j = scenes.coarse_names.index(CONCEPT)
    return int([i for i in scenes.split.queries if scenes.coarse[i, j] and scenes.coarse[i].sum() == 3][QUERY])
