"""`pellucid clusters fit`: clusters with a commonality from a file of vectors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pellucid.cli._common import Columns, column_option, counted, cut, json_option, readable, screen
from pellucid.cli._fits import batch_size, batch_size_option, output_option, report, seed_option, warned
from pellucid.cli._outputs import Writing
from pellucid.cli.inputs import is_collection, items_argument, normalise_option, read_items, titles_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKED_AT, EXAMPLES = 4_000, 3


class Number(click.ParamType):
    """A number of at least one, or the word auto."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "auto":
            return value
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = 0
        if number < 1:
            self.fail(f"{value!r} is neither a number of at least 1 nor auto.", param, ctx)
        return number


@click.command("fit", cls=Writing)
@items_argument
@output_option
@click.option("--n-clusters", type=Number(), default="auto", show_default=True,
              help="How many clusters; auto takes the most stable of the numbers that the rows speak for.")  # fmt: skip
@click.option("--scale/--no-scale", default=None,
              help="Bring columns to one variance, or not; if neither, where they have different units.")  # fmt: skip
@click.option("--n-atoms", type=Number(), default="auto", show_default=True, help="Atoms of each cluster.")
@click.option("--n-common", type=Number(), default="auto", show_default=True, help="Atoms that all clusters share.")
@click.option("--reading", type=click.Choice(["likelihood", "paper"]), default="likelihood", show_default=True,
              help="paper is the model of paper 3, for vectors of unit length; it takes the next three.")  # fmt: skip
@click.option("--ridge", type=click.FloatRange(min=0), help="How much large codes over a cluster's atoms cost.")
@click.option("--sparsity", type=click.FloatRange(min=0, min_open=True), help="How much using common atoms costs.")
@click.option("--incoherence", type=click.FloatRange(min=0), help="How much atoms that resemble each other cost.")
@click.option("--init", type=click.Choice(["auto", "kmeans", "random", "paper"]), default="auto", show_default=True,
              help="auto starts from communities of nearest neighbours.")  # fmt: skip
@click.option("--n-init", type=click.IntRange(min=1), default=4, show_default=True, help="Starts that are tried.")
@click.option("--max-iter", type=click.IntRange(min=1), default=50, show_default=True, help="Sweeps at most.")
@batch_size_option
@seed_option
@normalise_option
@click.option("--unit-length", is_flag=True, help="Make each vector of unit length first.")
@column_option
@json_option
def command(
    vectors: Path,
    output: Path,
    seed: int,
    normalise: bool,
    unit_length: bool,
    column: Columns,
    as_json: bool,
    n_clusters: int | str,
    scale: bool | None,
    **settings: Any,
) -> None:
    """Learn clusters of VECTORS, and say what each of them is.

    VECTORS is a file that `pellucid info` knows, a table of numbers, a collection, or - for standard input. They are
    taken as they are; columns with different units are brought to one variance first.

    \b
    Examples:
      pellucid clusters fit wine.csv -o wine.safetensors
      pellucid clusters fit digits.npy --n-clusters 10 -o digits.safetensors
      pellucid clusters fit pellucid-demo/collection --n-clusters 12 --normalise -o scenes.safetensors
    """
    if normalise and unit_length:
        raise click.UsageError("--normalise makes unit length too, and centres: choose one.")
    from pellucid import persistence
    from pellucid.clusters import CommonalityClustering

    begun = time.perf_counter()
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {"normalize": unit_length, "center": normalise, "scale": "auto" if scale is None else scale}
    with all_rows(vectors, column, output) as found_rows:
        X = found_rows.X
        settings["batch_size"] = batch_size(settings.get("batch_size"), len(X))
        with warned() as caught:
            model = CommonalityClustering(**settings, random_state=seed, verbose=1)
            counts = model.select_n_clusters(X) if n_clusters == "auto" else None
            model.set_params(n_clusters=n_clusters if counts is None else counts.best).fit(X)
        model.set_params(verbose=0)
        persistence.save(model, output)
        found = summary(model, found_rows, output)
    found["numbers"] = None if counts is None else str(counts)
    found["seconds"] = time.perf_counter() - begun
    report(found, as_json, show, caught)


@dataclass
class FoundRows:
    """All rows, what they are called, the texts among their columns, and the columns that they were made of."""

    X: NDArray[Any]
    titles: list[str]
    texts: list[str] | None
    features: tuple[str, ...]


@contextmanager
def all_rows(path: Path, column: Columns, beside: Path) -> Iterator[FoundRows]:
    """All rows; those of a file are laid down on disk and never held whole."""
    import numpy as np

    from pellucid.cli.streaming import checked_blocks, spooled

    if is_collection(path):
        found = read_items(path)
        titles = titles_of(found)
        yield FoundRows(found.vectors, titles, titles if "text" in found.columns else None, ())
        return
    with readable(path) as source:
        rows, texts = 0, False
        names: list[str] = []
        features: tuple[str, ...] = ()
        for block in checked_blocks(source, column):
            numbered = block.ids or [str(i) for i in range(rows, rows + len(block.vectors))]
            names += titles_of(replace(block, ids=numbered))
            features, texts = block.taken, "text" in block.columns
            rows += len(block.vectors)
        with spooled(checked_blocks(source, column, what="Reading"), np.asarray, beside) as X:
            yield FoundRows(X, names, names if texts else None, features)


def summary(model: Any, found: FoundRows, output: Path) -> dict[str, Any]:
    """What the clusters are, by the rows or some of them."""
    import numpy as np

    rows = np.sort(np.random.default_rng(0).permutation(len(found.X))[:LOOKED_AT])
    some, titles = np.asarray(found.X[rows]), [found.titles[i] for i in rows]
    texts = titles if found.texts is not None else None
    told = model.describe(some, feature_names=found.features or None, texts=texts, titles=titles)
    parts, here = model.shares(some), model.predict(some)
    clusters = []
    for card in told.clusters:
        mine = parts[here == card.cluster]
        mean, own, common = mine.mean(axis=0).tolist() if len(mine) else [None] * 3
        clusters.append(
            {
                "cluster": card.cluster,
                "name": card.name,
                "rows": int((model.labels_ == card.cluster).sum()),
                "mean": mean,
                "own": own,
                "common": common,
                "words": card.words,
                "features": [asdict(feature) for feature in card.features],
                "examples": [titles[i] for i in card.typical],
                "borderline": [titles[i] for i in card.borderline],
            }
        )
    return {
        "model": str(output),
        "rows": len(found.X),
        "dimensions": model.n_features_in_,
        "n_atoms": model.n_atoms_,
        "n_common": model.n_common_,
        "scaled": bool(hasattr(model, "column_scale_") and np.ptp(model.column_scale_) > 0),
        "common": told.common,
        "clusters": clusters,
        "objective": float(model.objective_[-1]),
        "sweeps": model.n_iter_,
    }


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = screen()
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", style="dim")
    room = max(24, out.width - 40)  # what numbers leave to words
    table.add_column("cluster", style="bold", overflow="ellipsis", no_wrap=True, max_width=round(0.6 * room))
    for name in ("rows", "mean", "own", "shared"):
        table.add_column(name, justify="right", min_width=len(name), no_wrap=True)
    table.add_column("such as", overflow="ellipsis", no_wrap=True)
    for cluster in found["clusters"]:
        cells = ["" if cluster[key] is None else f"{cluster[key]:.0%}" for key in ("mean", "own", "common")]
        such = cut(" · ".join(cluster["examples"]), round(0.4 * room))
        name = escape(cluster["name"])
        table.add_row(str(cluster["cluster"]), name, counted(cluster["rows"]), *cells, escape(such))
    out.print(table)
    if found["common"]:
        out.print(f"\nWhat rows of all clusters vary in most: {escape(', '.join(found['common']))}.", soft_wrap=True)
    sweeps = f"{found['sweeps']} sweep{'' if found['sweeps'] == 1 else 's'}"
    lines = [
        f"{counted(found['rows'])} vectors of {found['dimensions']} numbers, {sweeps}, {found['seconds']:.1f} s."
        + (" Columns were brought to one variance, since they have different units." if found["scaled"] else ""),
        "mean, own and shared: how much of a row its cluster's mean says, what its cluster alone varies in, and what "
        "all vary in.",
        f"Model: [bold]{escape(found['model'])}[/]",
    ]
    if found["numbers"]:
        lines.insert(0, found["numbers"])
    out.print("\n" + "\n".join(lines), soft_wrap=True)
