"""`pellucid clusters fit`: clusters with a commonality from a file of vectors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
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


@click.command("fit", cls=Writing)
@items_argument
@output_option
@click.option("--n-clusters", type=click.IntRange(min=1), default=8, show_default=True, help="How many clusters.")
@click.option("--n-atoms", type=click.IntRange(min=1), default=20, show_default=True, help="Atoms of each cluster.")
@click.option("--n-common", type=click.IntRange(min=0), default=30, show_default=True,
              help="Atoms that all clusters share; 0 does without.")  # fmt: skip
@click.option("--ridge", type=click.FloatRange(min=0), default=0.01, show_default=True,
              help="How much large codes over a cluster's atoms cost.")  # fmt: skip
@click.option("--sparsity", type=click.FloatRange(min=0, min_open=True), default=0.1, show_default=True,
              help="How much using common atoms costs; larger leaves more to the clusters.")  # fmt: skip
@click.option("--incoherence", type=click.FloatRange(min=0), default=1.0, show_default=True,
              help="How much atoms that resemble each other cost.")  # fmt: skip
@click.option("--init", type=click.Choice(["auto", "kmeans", "random"]), default="auto", show_default=True,
              help="auto starts from communities of nearest neighbours.")  # fmt: skip
@click.option("--n-init", type=click.IntRange(min=1), default=4, show_default=True, help="Starts that are tried.")
@click.option("--max-iter", type=click.IntRange(min=1), default=50, show_default=True, help="Sweeps at most.")
@batch_size_option
@seed_option
@normalise_option
@click.option("--as-is", is_flag=True, help="Take the vectors as they are; otherwise each is made of unit length.")
@column_option
@json_option
def command(
    vectors: Path,
    output: Path,
    seed: int,
    normalise: bool,
    as_is: bool,
    column: Columns,
    as_json: bool,
    **settings: Any,
) -> None:
    """Learn clusters of VECTORS: a few atoms for each, and common ones for what vectors of all clusters share.

    VECTORS is a file that `pellucid info` knows, a collection, or - for standard input. Each vector is made of unit
    length first, which is what the penalties are meant for.

    \b
    Examples:
      pellucid clusters fit digits.npy --n-clusters 10 -o digits.safetensors
      pellucid clusters fit photos.parquet --normalise --n-atoms 8 -o photos.safetensors
      pellucid clusters fit pellucid-demo/collection --n-clusters 12 --n-atoms 6 --n-common 10 -o scenes.safetensors
    """
    if normalise and as_is:
        raise click.UsageError("--normalise prepares the vectors, --as-is leaves them alone: choose one.")
    from pellucid import persistence
    from pellucid.clusters import CommonalityClustering

    begun = time.perf_counter()
    settings |= {"normalize": not as_is, "center": normalise}
    with all_rows(vectors, column, output) as (X, names):
        settings["batch_size"] = batch_size(settings["batch_size"], len(X))
        with warned() as caught:
            model = CommonalityClustering(**settings, random_state=seed, verbose=1).fit(X)
        model.set_params(verbose=0)
        persistence.save(model, output)
        found = summary(model, X, names, output)
    found["seconds"] = time.perf_counter() - begun
    report(found, as_json, show, caught)


@contextmanager
def all_rows(path: Path, column: Columns, beside: Path) -> Iterator[tuple[NDArray[Any], list[str]]]:
    """All rows and their names; a file is laid down on disk and never held whole."""
    import numpy as np

    from pellucid.cli.streaming import checked_blocks, spooled

    if is_collection(path):
        found = read_items(path)
        yield found.vectors, titles_of(found)
        return
    with readable(path) as source:
        rows, names = 0, []
        for block in checked_blocks(source, column):
            numbered = block.ids or [str(i) for i in range(rows, rows + len(block.vectors))]
            names += titles_of(replace(block, ids=numbered))
            rows += len(block.vectors)
        with spooled(checked_blocks(source, column, what="Reading"), rows, np.asarray, beside) as X:
            yield X, names


def summary(model: Any, X: NDArray[Any], names: list[str], output: Path) -> dict[str, Any]:
    import numpy as np

    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:LOOKED_AT])
    some = np.asarray(X[rows])
    own, common = model.shares(some).T
    costs = model.transform(some)
    here = costs.argmin(axis=1)
    clusters = []
    for c in range(len(model.atoms_)):
        mine = np.flatnonzero(here == c)
        best = mine[np.argsort(costs[mine, c], kind="stable")[:EXAMPLES]]
        clusters.append(
            {
                "cluster": c,
                "rows": int((model.labels_ == c).sum()),
                "own": float(own[mine].mean()) if len(mine) else None,
                "common": float(common[mine].mean()) if len(mine) else None,
                "examples": [names[rows[i]] for i in best],
            }
        )
    return {
        "model": str(output),
        "rows": len(X),
        "dimensions": model.n_features_in_,
        "n_atoms": int(model.atoms_.shape[1]),
        "n_common": len(model.common_atoms_),
        "clusters": clusters,
        "objective": float(model.objective_[-1]),
        "sweeps": model.n_iter_,
    }


def show(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = screen()
    table = Table(box=None, pad_edge=False)
    table.add_column("cluster", justify="right", style="bold")
    for name in ("rows", "own", "shared"):
        table.add_column(name, justify="right")
    table.add_column("")
    table.add_column("such as", overflow="ellipsis", no_wrap=True)
    for cluster in found["clusters"]:
        shares = [cluster[key] for key in ("own", "common")]
        cells = ["" if share is None else f"{share:.0%}" for share in shares]
        lengths = [round(20 * max(0.0, share or 0.0)) for share in shares]
        bar = f"[blue]{'█' * lengths[0]}[/][dim]{'█' * lengths[1]}[/]"
        such = cut(" · ".join(cluster["examples"]), out.width - 52)
        table.add_row(str(cluster["cluster"]), counted(cluster["rows"]), *cells, bar, escape(such))
    sweeps = f"{found['sweeps']} sweep{'' if found['sweeps'] == 1 else 's'}"
    out.print(table)
    out.print(
        f"\n{counted(found['rows'])} vectors of {found['dimensions']} numbers, {found['n_atoms']} atoms a cluster, "
        f"{found['n_common']} common, {sweeps}, {found['seconds']:.1f} s.\n"
        f"own and shared: how much of a row its cluster's atoms and the common atoms make up, on average.\n"
        f"Model: [bold]{escape(found['model'])}[/]",
        soft_wrap=True,
    )
