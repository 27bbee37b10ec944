"""What was found of gene programmes, how it is shown, and how it is written into an AnnData."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from pellucid._core.arrays import Floats, Ints
from pellucid._core.checks import as_matrix
from pellucid._core.hints import did_you_mean
from pellucid._core.tables import data_frame
from pellucid.concepts.gene_counts import scaled_cells
from pellucid.solvers import nnls_gram

# genes that a programme is shown by, and how much of a gene's mean is common where it counts as housekeeping
SHOWN, HOUSEKEEPING = 8, 0.7


@dataclass(frozen=True)
class GeneProgrammes:
    """Programmes of genes, the most used first.

    Attributes
    ----------
    names : list of str
        The P programmes: their types, where these were known, or the genes that stand out in them.
    genes : list of str
        The G genes.
    usage : ndarray of shape (n, P)
        The share of each cell that is each programme: rows add up to 1, or to 0 for a cell without counts.
    spectra : ndarray of shape (P, G)
        What a cell has of each gene, of 10,000 counts, that uses the programme alone.
    score : ndarray of shape (P, G)
        How far above its mean in the other programmes a gene is, in standard deviations between cells; 0 for
        genes that vary no more than others of their mean.
    common : ndarray of shape (G,)
        What all programmes have of each gene, so what is common to all cells.
    stability : ndarray of shape (P,)
        The share of halves of the cells that each came out of.
    known : ndarray of bool of shape (P,)
        Whether it is that of a known type.
    source : str
        Where the counts were found.
    chosen : ndarray of shape (g,)
        Numbers of the genes that programmes were looked for in.
    scale : ndarray of shape (g,)
        The standard deviations of these.
    inner : ndarray of shape (P, g) or None
        Spectra of these in standard deviations, by which usages are found; None where they were found in an
        embedding.

    See Also
    --------
    pellucid.gene_programmes : Finds them.
    """

    names: list[str]
    genes: list[str]
    usage: NDArray[np.float64]
    spectra: NDArray[np.float64]
    score: NDArray[np.float64]
    common: NDArray[np.float64]
    stability: NDArray[np.float64]
    known: NDArray[np.bool_]
    source: str
    chosen: Ints
    scale: Floats
    inner: Floats | None

    @property
    def common_share(self) -> NDArray[np.float64]:
        """How much of what cells have of each gene (G,), on average, is common to all of them."""
        mean = self.usage.mean(axis=0) @ self.spectra
        share = np.divide(self.common, mean, out=np.zeros_like(mean), where=np.abs(mean) > 0)
        return np.asarray(np.clip(share, 0, 1))

    def housekeeping(self, k: int = 20) -> list[str]:
        """List genes that all cells have about alike: those that are mostly common, the most abundant first.

        Parameters
        ----------
        k : int, default=20
            How many.

        Returns
        -------
        list of str
            Their names.
        """
        alike = np.flatnonzero(self.common_share >= HOUSEKEEPING)
        return [self.genes[j] for j in alike[np.argsort(-self.common[alike], kind="stable")][:k]]

    def top_genes(self, name: str, k: int = 10) -> list[str]:
        """List the genes that stand out in a programme.

        Parameters
        ----------
        name : str
            The programme.
        k : int, default=10
            How many genes.

        Returns
        -------
        list of str
            The first ones stand out most.
        """
        score = self.score[self._place(name)]
        return [self.genes[j] for j in np.argsort(-score, kind="stable")[:k] if score[j] > 0]

    def usage_of(self, counts: Any) -> NDArray[np.float64]:
        """Find how much other cells use of the programmes.

        Parameters
        ----------
        counts : sparse matrix or array-like of shape (m, G)
            Counts of the same genes in other cells, prepared in the same way.

        Returns
        -------
        ndarray of shape (m, P)
            Shares, as ``usage``.

        Raises
        ------
        ValueError
            If programmes were found in an embedding, or genes are others.
        """
        if self.inner is None:
            raise ValueError("Programmes that were found in an embedding cannot be told from counts of other cells.")
        counts = counts if issparse(counts) else as_matrix(counts, "counts")
        if counts.shape[1] != len(self.genes):
            raise ValueError(f"Cells have {counts.shape[1]} genes, but programmes have {len(self.genes)}.")
        rows = scaled_cells(counts)[0][:, self.chosen]
        codes = nnls_gram(rows @ (self.inner / self.scale).T, self.inner @ self.inner.T).codes
        total = codes.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(codes, total, out=np.zeros_like(codes), where=total > 0))

    def write(self, data: Any, key: str = "programmes") -> None:
        """Write usages, spectra and what is common into an AnnData.

        ``obsm[key]`` and ``varm[key]`` have usages and spectra, ``obs[key]`` the most used programme of each cell,
        ``var[key + "_common"]`` what is common and ``var[key + "_common_share"]`` its share, ``uns[key]`` names,
        stability and the first genes.

        Parameters
        ----------
        data : AnnData
            Cells and genes as they were found in.
        key : str, default="programmes"
            What results are called in it.

        Raises
        ------
        ValueError
            If it has other cells or genes.
        """
        if data.shape != (len(self.usage), len(self.genes)):
            raise ValueError(
                f"Programmes are of {len(self.usage)} cells and {len(self.genes)} genes, the AnnData has {data.shape}."
            )
        import pandas as pd

        most = np.where(self.usage.any(axis=1), self.usage.argmax(axis=1), -1)
        data.obsm[key] = self.usage
        data.varm[key] = self.spectra.T.copy()
        data.obs[key] = pd.Categorical.from_codes(most, self.names)
        data.var[f"{key}_common"] = self.common
        data.var[f"{key}_common_share"] = self.common_share
        top = [self.top_genes(name, SHOWN) for name in self.names]
        data.uns[key] = {
            "names": np.array(self.names, dtype=object),
            "stability": self.stability,
            "known": self.known,
            "genes": np.array([", ".join(genes) for genes in top], dtype=object),
            "source": self.source,
        }

    def to_frame(self) -> Any:
        """Make a table of the programmes.

        Returns
        -------
        pandas.DataFrame
            A row for each: its mean usage, the share of halves that it came out of, and its first genes.
        """
        used = self.usage.mean(axis=0)
        return data_frame(
            [
                {"programme": name, "usage": float(used[k]), "stability": float(self.stability[k]),
                 "known": bool(self.known[k]), "genes": self.top_genes(name, SHOWN)}
                for k, name in enumerate(self.names)
            ]
        )  # fmt: skip

    def plot(self, ax: Any = None, most: int = 5) -> Any:
        """Draw how much of the first genes of each programme the others have.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.
        most : int, default=5
            Genes of each programme, at most.

        Returns
        -------
        matplotlib Axes
            What was drawn on.
        """
        from pellucid.plots import programmes

        return programmes(self, ax=ax, most=most)

    def __str__(self) -> str:
        used, width = self.usage.mean(axis=0), max(map(len, self.names), default=0)
        share = float(self.common.sum() / max(float((used @ self.spectra).sum()), 1e-300))
        lines = [
            f"{len(self.names)} programmes of {len(self.usage)} cells and {len(self.genes)} genes, from {self.source}; "
            f"{share:.0%} of what cells have is common to all."
        ]
        lines += [
            f"{name:{width}}  {used[k]:5.1%}, in {self.stability[k]:.0%} of halves: "
            f"{', '.join(self.top_genes(name, SHOWN))}"
            for k, name in enumerate(self.names)
        ]
        return "\n".join(lines)

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"There is no programme {name!r}: {did_you_mean(name, self.names)}")
        return self.names.index(name)
