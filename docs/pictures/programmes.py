"""The pictures of docs/how-to/gene-programmes.md: blood cells that come with scanpy, where PELLUCID_SCANPY says that it
was installed with `pip install --no-deps --target`."""

import os
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pellucid import gene_programmes
from pellucid.plots import _style as style


def programme_pictures(folder: Path) -> None:
    """Genes of programmes, and where six of them are used."""
    if "PELLUCID_SCANPY" not in os.environ:
        print("PELLUCID_SCANPY is not set: the pictures of gene programmes stay as they are.")
        return
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of where the file keeps its neighbours
        cells = anndata.read_h5ad(Path(os.environ["PELLUCID_SCANPY"]) / "scanpy/datasets/10x_pbmc68k_reduced.h5ad")
    found = gene_programmes(cells, n_programmes=12)
    found.plot(most=4).figure.savefig(folder / "programmes-pbmc.png", dpi=110)
    figure = Figure(figsize=(9, 6), layout="constrained")
    places = np.asarray(cells.obsm["X_umap"])
    for ax, k in zip(figure.subplots(2, 3).ravel(), range(6)):
        order = np.argsort(found.usage[:, k], kind="stable")
        ax.scatter(*places[order].T, c=found.usage[order, k], cmap="Blues", vmin=-0.1, vmax=1, s=9, lw=0)
        ax.set_title(", ".join(found.top_genes(found.names[k], 4)), fontsize=style.SIZE, color=style.INK)
        ax.set_axis_off()
    figure.savefig(folder / "programmes-map.png", dpi=110)
