"""`pellucid demo`: concept subspaces on Scenes, from fitting to searching by one concept."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._common import json_option, print_json
from pellucid.cli._outputs import OutputFolder, Writing

if TYPE_CHECKING:
    from rich.console import Console

N_SCENES, N_ATOMS = 3000, 6
N_CLUSTERS, BINARY_RANK = 12, 8
UNLABELLED = ("clusters", "binary")  # what the models without labels are called in the output folder
# what it writes there, beside the collection, which it takes as it is if it is whole
FILES = (
    "scenes.parquet", "words.parquet", "concepts.parquet", "report.html",
    *(f"{name}.safetensors" for name in ("model", *UNLABELLED)),
)  # fmt: skip
SHOWN = 5
SUPERVISED, ZERO_SHOT = "concept subspaces", "words alone (zero-shot)"
Tell = Callable[[Callable[..., None], dict[str, Any]], None]


@click.command("demo", cls=Writing)
@click.option(
    "-o", "--output", type=OutputFolder(*FILES), default=Path("pellucid-demo"),
    show_default=True, help="Folder for the data, the model, the collection and the report.",
)  # fmt: skip
@click.option(
    "--serve/--no-serve", default=None,
    help="Open the explorer on the result; by default on a terminal of a machine with a display.",
)  # fmt: skip
@json_option
def command(output: Path, serve: bool | None, as_json: bool) -> None:
    """Learn what 3 000 described scenes are made of, and search them by one concept.

    Everything it needs ships with the package. Data, model, collection and a report with pictures stay in the output
    folder, for you to go on with.

    \b
    Examples:
      pellucid demo
      pellucid demo --no-serve --json
    """
    from rich.console import Console

    screen = Console(highlight=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Stopped ")  # a demo of half a model shows nothing
        try:
            tell = (lambda section, found: None) if as_json else (lambda section, found: section(screen, found))
            found = run(output, tell)
        except UserWarning as stopped:
            raise click.Abort from stopped
    if as_json:
        print_json(found["figures"])
    if serve or (serve is None and not as_json and sys.stdout.isatty() and has_display()):
        explore(output)


def has_display() -> bool:
    """Whether a browser could open: a desktop, and not one at the other end of a line."""
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())


def explore(output: Path) -> None:
    from pellucid.cli.explore import command as explorer

    explorer.main([str(output)], standalone_mode=False)


def run(output: Path, tell: Tell) -> dict[str, Any]:
    """All that the demo finds; ``tell`` is called with the section of the screen whose findings have just come in."""
    from pellucid import persistence
    from pellucid._core.progress import progress
    from pellucid.binary import BinaryAutoencoder
    from pellucid.cli._report import write_report
    from pellucid.clusters import CommonalityClustering
    from pellucid.concepts import ConceptSubspaces, Vocabulary, zero_shot_labels
    from pellucid.datasets import load_scenes
    from pellucid.search import Collection, ConceptSearch

    begun = time.perf_counter()
    folder = output / "collection"
    if folder.exists() and len(Collection.open(folder)) != N_SCENES:
        raise ValueError(f"{folder} holds another collection; name another folder with --output.")
    scenes = load_scenes()
    train, names, X = scenes.split.train, scenes.coarse_names, scenes.vectors
    labels = scenes.coarse[train]
    with progress("Concepts", 7) as advance:
        advance("learning a cone for each of twelve concepts")
        model = ConceptSubspaces(N_ATOMS).fit(X[train], labels, names)
        advance("the start alone")
        start = ConceptSubspaces(N_ATOMS, max_iter=0, init="svd", presence=False).fit(X[train], labels, names)
        advance("the same from the words for the concepts")
        guessed = zero_shot_labels(X[train], scenes.concept_vectors, 2)
        guess = ConceptSubspaces(N_ATOMS, presence=False).fit(X[train], guessed, names)
        models = {"plain cosine": None, "supervised SVD": start, SUPERVISED: model, ZERO_SHOT: guess}
        table = {}
        for title, other in models.items():
            advance(f"searching by {title}")
            # plain cosines are those of the space that the model searches in
            table[title] = retrieval(other, model.prepare(X) if other is None else X, scenes)
    found: dict[str, Any] = {
        "output": output,
        "captions": model.captions(scenes.words, scenes.word_vectors),
        "figures": {
            "scenes": len(X),
            "concepts": len(names),
            "atoms": len(model.atoms_),
            "retrieval_map_at_20": table,
            "error_at_start": float(model.objective_[0]),
            "error_after_fit": float(model.objective_[-1]),
        },
    }
    tell(show_retrieval, found)
    with progress("Search", 2) as advance:
        advance("making a collection")
        collection = collect(output, scenes)
        persistence.save(model, output / "model.safetensors")
        advance("looking for a good example")
        search = ConceptSearch(collection, model)
        query, concept = example(scenes, search)
        hits: dict[str, Any] = {
            "plain": search.search(query, k=SHOWN),
            "filtered": search.search(query, concept, k=SHOWN),
            "diverse": search.search(query, concept, k=SHOWN, diverse=True),
        }
        why = search.explain(query, hits["plain"][0].id, vocabulary=Vocabulary(scenes.words, scenes.word_vectors))
    position = collection.position(query)
    found["query"] = {"id": query, "text": scenes.texts[position], "concept": concept}
    found["parts"] = sorted(zip(model.shares(X[position : position + 1])[0].tolist(), names), reverse=True)
    found["hits"], found["why"] = hits, why
    found["figures"]["residual_share_of_explanation"] = why.residual_share
    tell(show_neighbours, found)
    with progress("Without labels", 2) as advance:
        settings: dict[str, Any] = {"center": True, "random_state": 0}
        advance("groups")
        groups = CommonalityClustering(N_CLUSTERS, **settings).fit(X)
        advance("yes/no concepts")
        bits = BinaryAutoencoder(BINARY_RANK, **settings).fit(X)
        for name, one in zip(UNLABELLED, (groups, bits)):
            persistence.save(one, output / f"{name}.safetensors")
    found["groups"] = group_words(groups, X, scenes)
    found["figures"]["binary_concepts"] = len(bits.weights_)
    found["figures"]["seconds_fitting"] = time.perf_counter() - begun
    tell(show_groups, found)
    with progress("Report", 1) as advance:
        advance("drawing")
        write_report(output / "report.html", found, model, X[position], X[scenes.split.validation])
    found["figures"]["seconds"] = time.perf_counter() - begun
    tell(show_end, found)
    return found


def retrieval(model: Any, X: Any, scenes: Any) -> dict[str, float]:
    from pellucid.metrics import concept_retrieval

    queries, candidates = scenes.split.queries, scenes.split.candidates
    result = concept_retrieval(
        model,
        X[queries],
        X[candidates],
        scenes.coarse[queries],
        scenes.coarse[candidates],
        query_fine=scenes.fine[queries],
        candidate_fine=scenes.fine[candidates],
        fine_to_coarse=scenes.fine_to_coarse,
    )
    return {"general": result.general, "sub": result.sub}


def group_words(groups: Any, X: Any, scenes: Any) -> list[dict[str, Any]]:
    """The size of each cluster, and what its texts say that those of others do not."""
    return [{"items": card.count, "words": card.words} for card in groups.describe(X, texts=scenes.texts).clusters]


def collect(output: Path, scenes: Any) -> Any:
    """The data in the output folder: vectors and words as files, and a collection, that of an earlier demo if it is
    whole."""
    from pellucid import vectors
    from pellucid.search import Collection

    folder = output / "collection"
    output.mkdir(parents=True, exist_ok=True)
    ids = [f"scene-{i}" for i in range(len(scenes.vectors))]
    labels = [[name for name, on in zip(scenes.coarse_names, row) if on] for row in scenes.coarse]
    vectors.write(output / "scenes.parquet", scenes.vectors, ids, {"text": scenes.texts, "labels": labels})
    vectors.write(output / "words.parquet", scenes.word_vectors, scenes.words)
    vectors.write(output / "concepts.parquet", scenes.concept_vectors, scenes.coarse_names)
    if not folder.exists():
        Collection.create(folder, scenes.vectors, ids, text=scenes.texts, labels=labels)
    return Collection.open(folder)


def example(scenes: Any, search: Any) -> tuple[str, str]:
    """The query and the animal in it, among the first queries whose concepts the model tells right, for which filtering
    changes most."""
    animal, queries = scenes.coarse_names.index("animal"), scenes.split.queries
    told = (search.model.predict(scenes.vectors[queries]) == scenes.coarse[queries]).all(axis=1)
    best, chosen = -1, ""
    for i in [i for i in queries[told] if scenes.coarse[i, animal] and scenes.coarse[i].sum() == 3][:40]:
        found = [search.search(f"scene-{i}", concept, k=SHOWN) for concept in ("animal", None)]
        filtered, plain = (sum("animal" in hit.item["labels"] for hit in hits) for hits in found)
        if filtered - plain > best:
            best, chosen = filtered - plain, f"scene-{i}"
    return chosen, "animal"


def show_retrieval(screen: Console, found: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    figures = found["figures"]
    screen.rule(f"[bold]Pellucid[/]: {figures['scenes']} scenes, {figures['concepts']} concepts", style="cyan")
    screen.print("\n[bold]Finding scenes that share one concept with the query[/] (mAP@20)")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("search by")
    for name in ("same concept", "same thing"):
        table.add_column(name, justify="right")
    table.add_column("")
    for title, scores in figures["retrieval_map_at_20"].items():
        cells = [title, *(f"{scores[key]:.3f}" for key in ("general", "sub"))]
        strong = "bold " if title == SUPERVISED else ""
        bar = f"[cyan]{'█' * round(24 * scores['general'])}[/]"
        table.add_row(*(f"[{strong}default]{cell}[/]" for cell in cells), bar)
    screen.print(table)

    screen.print("[bold]What each concept's cone holds, in words[/]")
    words = Table(box=SIMPLE_HEAD, pad_edge=False)
    words.add_column("concept")
    words.add_column("nearest words")
    for concept, captions in found["captions"].items():
        words.add_row(f"[bold]{concept}[/]", ", ".join(word for word, _ in captions))
    screen.print(words)


def show_neighbours(screen: Console, found: dict[str, Any]) -> None:
    from rich.columns import Columns
    from rich.markup import escape
    from rich.panel import Panel

    query = found["query"]
    screen.print(f"[bold]A scene and its parts:[/] {escape(query['text'])}")
    for share, name in found["parts"]:
        if share > 0.02:
            screen.print(f"  {name:12s} {share:4.0%} [cyan]{'█' * round(40 * share)}[/]")

    wide = max(38, screen.width // 2 - 1)
    titles = {"plain": "nearest as a whole", "filtered": f"nearest by [bold]{query['concept']}[/]"}
    panels = [Panel(listed(found, kind), title=title, width=wide) for kind, title in titles.items()]
    screen.print(f"\n[bold]Its neighbours[/] (● has the concept {query['concept']!r}, ○ has not)")
    screen.print(Columns(panels, padding=(0, 1)))
    screen.print(Panel(listed(found, "diverse"), title=f"by [bold]{query['concept']}[/], but unlike each other"))
    screen.print(f"\n[bold]Why is the first neighbour close?[/] {escape(str(found['why']))}")


def show_groups(screen: Console, found: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    screen.print("\n[bold]Groups found without any label[/], and what the texts of each say")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("scenes", justify="right")
    table.add_column("words")
    for group in sorted(found["groups"], key=lambda group: -group["items"]):
        table.add_row(str(group["items"]), ", ".join(group["words"]))
    screen.print(table)


def show_end(screen: Console, found: dict[str, Any]) -> None:
    from rich.markup import escape

    query, folder = found["query"], escape(str(found["output"]))
    screen.print(
        f"{found['figures']['seconds']:.1f} s in all.\n"
        f"Report with pictures: [bold]{folder}/report.html[/]\n\nGo on with:\n"
        f"  pellucid explore {folder}\n"
        f"  pellucid search {folder}/collection \\\n      --model {folder}/model.safetensors \\\n"
        f"      --item {query['id']} --concept {query['concept']} --explain",
        soft_wrap=True,
    )


def listed(found: dict[str, Any], kind: str) -> str:
    """Hits of one search, a line each."""
    from rich.markup import escape

    lines = []
    for hit in found["hits"][kind]:
        mark = "[green]●[/]" if found["query"]["concept"] in hit.item["labels"] else "[red]○[/]"
        lines.append(f"{mark} {hit.score:.2f} {escape(hit.item['text'])}")
    return "\n".join(lines)
