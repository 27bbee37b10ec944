"""`pellucid manifold fit`: a sparse manifold transform of vectors, images or words."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from pellucid.cli._common import Columns, column_option, counted, json_option, screen, status
from pellucid.cli._fits import output_option, report, seed_option, warned
from pellucid.cli._outputs import Writing
from pellucid.cli._sources import kind_option, read_source, source_argument

# options that only some kinds of input have
ONLY = {
    "vectors": ("alpha", "neighbors", "n_neighbors"),
    "images": ("patch_size", "context", "augment", "channels"),
    "text": ("window", "vocabulary_size", "min_count"),
}
SHARED = {"code": ("vectors", "images"), "n_atoms": ("vectors", "images"), "threshold": ("vectors", "images")}
EXAMPLES, NEAR = 6, 5


@click.command("fit", cls=Writing)
@source_argument
@output_option
@kind_option
@click.option("--n-components", type=click.IntRange(min=1), help="Dimensions; 32 for vectors, 384 images, 100 words.")
@click.option("--n-atoms", type=click.IntRange(min=2), help="Size of the dictionary; 256 for vectors, 8192 for images.")
@click.option("--code", type=click.Choice(["nearest", "threshold", "lasso"]),
              help="nearest atom; all atoms above a threshold; or sparse coding (vectors only).")  # fmt: skip
@click.option("--threshold", type=click.FloatRange(-1, 1), help="Cosine from which an atom is active; 0.3.")
@click.option("--alpha", type=click.FloatRange(min=0, min_open=True), help="Penalty of the code lasso.")
@click.option("--neighbors", type=click.Choice(["metric", "temporal", "noise"]),
              help="Vectors that stay close: the nearest, those in a row, or noisy copies.")  # fmt: skip
@click.option("--n-neighbors", type=click.IntRange(min=1), help="How many are near; 10 if not given.")
@click.option("--patch-size", type=click.IntRange(min=1), help="Side of an image patch; 6 if not given.")
@click.option("--context", type=click.IntRange(min=1),
              help="Patches at most that many pixels apart are neighbours; the whole image if not given.")  # fmt: skip
@click.option("--augment", type=click.Choice(["flip"]), help="Take images and their mirror images.")
@click.option("--channels", type=click.Choice(["all", "grey"]), help="grey takes the colours out of images.")
@click.option("--window", type=click.IntRange(min=1), help="Words at most that many apart are neighbours; 4.")
@click.option("--vocabulary-size", type=click.IntRange(min=2), help="Most frequent words that get a vector; 10000.")
@click.option("--min-count", type=click.IntRange(min=1), help="Least times that a word occurs; 5.")
@seed_option
@column_option
@json_option
def command(
    source: Path,
    output: Path,
    kind: str,
    seed: int,
    column: Columns,
    as_json: bool,
    **given: Any,
) -> None:
    """Learn an embedding from SOURCE: a file of vectors, a folder or an array of images, or a text file.

    \b
    Examples:
      pellucid manifold fit photos/ --n-atoms 2048 --n-components 64 -o photos.safetensors
      pellucid manifold fit images.npy --code threshold --augment flip -o images.safetensors
      pellucid manifold fit corpus.txt --n-components 50 -o words.safetensors
      pellucid manifold fit recording.npy --neighbors temporal -o recording.safetensors
    """
    from pellucid import persistence

    begun = time.perf_counter()
    with read_source(source, kind, column) as found, warned() as caught:
        settings = wanted(found.kind, given)
        model = make(found.kind, settings, seed)
        with status(
            f"Embedding {counted(len(found.data) if found.ids is None else len(found.ids))} {rows_of(found.kind)} …"
        ):
            model.fit(found.data)
        persistence.save(model, output)
    result = summary(model, found, output, time.perf_counter() - begun)
    report(result, as_json, show, caught)


def rows_of(kind: str) -> str:
    return {"text": "texts"}.get(kind, kind)


def wanted(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options that were given, each of which must be one for this kind of input."""
    settings = {name: value for name, value in given.items() if value is not None}
    for name in settings:
        kinds = SHARED.get(name, [k for k, names in ONLY.items() if name in names] or [kind])
        if kind not in kinds:
            raise click.UsageError(f"--{name.replace('_', '-')} is for {' and '.join(kinds)}, but this is {kind}.")
    if kind == "images" and settings.get("code") == "lasso":
        raise click.UsageError("--code lasso is for vectors; images take nearest or threshold.")
    return settings


def make(kind: str, settings: dict[str, Any], seed: int) -> Any:
    from pellucid import manifold

    if kind == "text":
        return manifold.WordManifoldTransform(**settings)
    if kind == "images":
        return manifold.PatchManifoldTransform(**settings, random_state=seed)
    return manifold.SparseManifoldTransform(**settings, random_state=seed)


def summary(model: Any, found: Any, output: Path, seconds: float) -> dict[str, Any]:
    result: dict[str, Any] = {
        "model": str(output),
        "class": type(model).__name__,
        "kind": found.kind,
        "rows": len(found.data) if found.ids is None else len(found.ids),
        "components": len(model.eigenvalues_),
        "eigenvalues": [float(value) for value in model.eigenvalues_[:5]],
        "atoms": len(model.vocabulary_) if found.kind == "text" else len(model.atoms_),
    }
    if found.kind == "text":
        words = [str(word) for word in model.vocabulary_]
        # the most frequent words say little; those of middle frequency are worth a look
        some = words[len(words) // 20 :: max(1, len(words) // (4 * EXAMPLES))][:EXAMPLES]
        result["neighbours"] = {word: [near for near, _ in model.most_similar(word, NEAR)] for word in some}
    else:
        result["width"] = int(model._n_features_out)
    return result | {"seconds": seconds}


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = screen()
    if "neighbours" in found:
        table = Table(box=None, pad_edge=False)
        table.add_column("word", style="bold")
        table.add_column("nearest words")
        for word, near in found["neighbours"].items():
            table.add_row(escape(word), escape(", ".join(near)))
        out.print(table)
        out.print("")
        what = f"{counted(found['atoms'])} words, {found['components']} numbers each"
    else:
        what = f"{counted(found['atoms'])} atoms; a row becomes {counted(found['width'])} numbers"
    out.print(
        f"{counted(found['rows'])} {rows_of(found['kind'])}, {what}, {found['seconds']:.1f} s.\n"
        f"Model: [bold]{escape(found['model'])}[/]",
        soft_wrap=True,
    )
