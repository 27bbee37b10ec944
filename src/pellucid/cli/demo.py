"""`pellucid demo`: concept subspaces on Scenes, from fitting to searching by one concept."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

N_ATOMS = 6
SHOWN = 5


@click.command("demo", epilog="Example:  pellucid demo --json")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("pellucid-demo"),
    show_default=True, help="Folder for the model and the collection.",
)  # fmt: skip
def command(as_json: bool, output: Path) -> None:
    """Learn what 3 000 described scenes are made of, and search them by one concept.

    Everything it needs ships with the package. The model and the collection stay in the output folder.
    """
    from rich.console import Console

    screen = Console(stderr=as_json)
    found = run(output, screen)
    if as_json:
        click.echo(json.dumps(found["figures"], indent=2))
    else:
        show(screen, found)


def run(output: Path, screen: Console) -> dict[str, Any]:
    from pellucid import persistence
    from pellucid.concepts import ConceptSubspaces
    from pellucid.datasets import load_scenes
    from pellucid.metrics import concept_retrieval
    from pellucid.preprocessing import CenteredNormalizer, zero_shot_labels
    from pellucid.search import ConceptSearch

    begun = time.perf_counter()
    scenes = load_scenes()
    split, names = scenes.split, scenes.coarse_names
    X = CenteredNormalizer().fit(scenes.vectors[split.train]).transform(scenes.vectors)
    with screen.status("Learning a cone for each of twelve concepts …"):
        labels = scenes.coarse[split.train]
        guessed = zero_shot_labels(scenes.vectors[split.train], scenes.concept_vectors, 2)
        model = ConceptSubspaces(N_ATOMS).fit(X[split.train], labels, names)
        models = {
            "plain cosine": None,
            "supervised SVD": ConceptSubspaces(N_ATOMS, max_iter=0).fit(X[split.train], labels, names),
            "concept subspaces": model,
            "the same without labels": ConceptSubspaces(N_ATOMS).fit(X[split.train], guessed, names),
        }
    fitted = time.perf_counter()
    with screen.status("Searching …"):
        table = {}
        for title, other in models.items():
            result = concept_retrieval(
                other,
                X[split.queries],
                X[split.candidates],
                scenes.coarse[split.queries],
                scenes.coarse[split.candidates],
                query_fine=scenes.fine[split.queries],
                candidate_fine=scenes.fine[split.candidates],
                fine_to_coarse=scenes.fine_to_coarse,
            )
            table[title] = {"general": result.general, "sub": result.sub}
        collection = collect(output / "collection", X, scenes)
        search = ConceptSearch(collection, model)
        query, concept = example(scenes, search)
        hits: dict[str, Any] = {
            "plain": search.search(query, k=SHOWN),
            "filtered": search.search(query, concept, k=SHOWN),
        }
        why = search.explain(query, hits["plain"][0].id, words=scenes.words, word_vectors=scenes.word_vectors)
    persistence.save(model, output / "model.safetensors")
    position = collection.position(query)
    return {
        "output": output,
        "captions": model.captions(scenes.words, scenes.word_vectors),
        "query": {"id": query, "text": scenes.texts[position], "concept": concept},
        "parts": sorted(zip(model.activity(X[position : position + 1])[0].tolist(), names), reverse=True),
        "hits": hits,
        "why": why,
        "figures": {
            "scenes": len(X),
            "concepts": len(names),
            "atoms": len(model.atoms_),
            "retrieval_map_at_20": table,
            "error_at_start": float(model.objective_[0]),
            "error_after_fit": float(model.objective_[-1]),
            "residual_share_of_explanation": why.residual_share,
            "seconds_fitting": fitted - begun,
            "seconds": time.perf_counter() - begun,
        },
    }


def collect(folder: Path, X: Any, scenes: Any) -> Any:
    """The collection of an earlier demo, if it is whole, or a new one."""
    from pellucid.search import Collection

    if folder.exists():
        found = Collection.open(folder)
        if len(found) != len(X):
            raise ValueError(f"{folder} holds another collection; name another folder with --output.")
        return found
    labels = [[name for name, on in zip(scenes.coarse_names, row) if on] for row in scenes.coarse]
    return Collection.create(folder, X, [f"scene-{i}" for i in range(len(X))], text=scenes.texts, labels=labels)


def example(scenes: Any, search: Any) -> tuple[str, str]:
    """The query and the animal in it, among the first queries, for which filtering changes most."""
    animal = scenes.coarse_names.index("animal")
    best, chosen = -1, ""
    for i in [i for i in scenes.split.queries if scenes.coarse[i, animal] and scenes.coarse[i].sum() == 3][:40]:
        found = [search.search(f"scene-{i}", concept, k=SHOWN) for concept in ("animal", None)]
        filtered, plain = (sum("animal" in hit.item["labels"] for hit in hits) for hits in found)
        if filtered - plain > best:
            best, chosen = filtered - plain, f"scene-{i}"
    return chosen, "animal"


def show(screen: Console, found: dict[str, Any]) -> None:
    from rich.columns import Columns
    from rich.markup import escape
    from rich.panel import Panel
    from rich.table import Table

    figures, query = found["figures"], found["query"]
    screen.rule(f"[bold]Pellucid[/]: {figures['scenes']} scenes, {figures['concepts']} concepts")

    table = Table(title="Finding scenes that share one concept with the query (mAP@20)", title_justify="left")
    table.add_column("search by")
    for name in ("same concept", "same thing"):
        table.add_column(name, justify="right")
    table.add_column("")
    for title, scores in figures["retrieval_map_at_20"].items():
        strong = title == "concept subspaces"
        cells = [f"{scores[key]:.3f}" for key in ("general", "sub")]
        bar = "█" * round(20 * scores["general"])
        table.add_row(*(f"[bold]{cell}[/]" if strong else cell for cell in (title, *cells)), bar)
    screen.print(table)

    words = Table(title="\nWhat each concept's cone holds, in words", title_justify="left")
    words.add_column("concept")
    words.add_column("nearest words")
    for concept, captions in found["captions"].items():
        words.add_row(concept, ", ".join(word for word, _ in captions))
    screen.print(words)

    screen.print(f"\nA scene and its parts: [bold]{escape(query['text'])}[/]")
    for share, name in found["parts"]:
        if share > 0.02:
            screen.print(f"  {name:12s} {share:4.0%} {'█' * round(40 * share)}", highlight=False)

    panels = []
    for kind, title in (("plain", "nearest as a whole"), ("filtered", f"nearest by [bold]{query['concept']}[/]")):
        lines = []
        for hit in found["hits"][kind]:
            mark = "[green]●[/]" if query["concept"] in hit.item["labels"] else "[red]○[/]"
            lines.append(f"{mark} {hit.score:.2f} {escape(hit.item['text'])}")
        panels.append(Panel("\n".join(lines), title=title, width=max(38, screen.width // 2 - 1)))
    screen.print(f"\nIts neighbours (● has the concept {query['concept']!r}, ○ has not):")
    screen.print(Columns(panels, padding=(0, 1)))

    screen.print(f"\nWhy is the first neighbour close? {escape(str(found['why']))}", highlight=False)
    screen.print(
        f"\n{figures['seconds']:.1f} s in all (the first run on a machine also compiles the kernels). "
        f"Model and collection: {escape(str(found['output']))}/",
        highlight=False,
    )
