"""Gene programmes: what the cells of a sample do, of which each does a few, beside what all of them do.

Cells y, scaled alike, are taken as y ≈ Σ u_k s_k with usages u ≥ 0 and a spectrum s_k for each programme. That has many
solutions; here directions from the middle of all cells are found first, which each cell uses as few of as it can
(those of cell types, where they are known), and that halves of the cells agree on. A cell that uses a programme alone
lies λ_k from the middle m along its direction d_k, where Σ a_k/λ_k ≈ 1 for the codes a of all cells, so that
s_k = m + λ_k d_k, in genes. What all spectra have, min_k s_k, is common to all cells: housekeeping.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from pellucid._core.arrays import Floats, Ints
from pellucid._core.checks import as_matrix, check_finite
from pellucid._core.hints import did_you_mean
from pellucid._core.tables import as_rows
from pellucid.concepts.consensus import AGREED, agreed_directions, halves
from pellucid.concepts.dictionary import chosen_price, codes_of, partners
from pellucid.concepts.estimator import ConceptSubspaces
from pellucid.concepts.found_names import told_apart
from pellucid.concepts.found_programmes import GeneProgrammes
from pellucid.concepts.gene_counts import Expression, embedding, expression, matrix_of
from pellucid.preparation import CenteredNormalizer
from pellucid.solvers import nnls_gram

# programmes that are tried where it is not said how many, and cells for each; how many more than asked for are tried
MOST, CELLS_EACH, MORE, AND = 30, 15, 1.5, 2
# cells that it is looked at which programmes can be spared
SPARED_CELLS = 3000
# a length at which a programme is used alone is at most so many times the least
LENGTHS = 100.0
# a direction that was found is that of a known type from this cosine on
KNOWN = 0.7
# rounds of alternating least squares from the spectra that directions give
ROUNDS = 2
# genes that name a programme
NAMED = 2


def gene_programmes(
    counts: Any,
    *,
    n_programmes: int | str = "auto",
    labels: str | Sequence[Any] | None = None,
    n_states: int = 1,
    layer: str | None = None,
    use_rep: str | ArrayLike | None = None,
    genes: Sequence[str] | None = None,
    n_runs: int = 10,
    key: str | None = "programmes",
    random_state: int | None = 0,
    verbose: int = 0,
) -> GeneProgrammes:
    """Find the programmes of genes that cells use, several per cell, and what is common to all cells.

    Programmes are found in one half of the cells after another, and those kept that halves agree on.

    Parameters
    ----------
    counts : AnnData, sparse matrix, data frame or array-like of shape (n, G)
        Counts of genes in cells, or what was made of them by scaling cells or taking logarithms, which are undone. Of
        an AnnData the layer "counts", or X, or ``raw`` where X was centred; results are written into it.
    n_programmes : int or "auto", default="auto"
        How many; "auto" takes as many as come out of at least 80 % of the halves when rather too many are tried.
    labels : str or sequence of length n, default=None
        The type of each cell, or the column of ``obs`` that has it. Each type is a programme then, or several, and
        others are looked for only among cells whose type is missing.
    n_states : int, default=1
        How many programmes a known type has: the atoms of its cone.
    layer : str, default=None
        The layer of an AnnData to take.
    use_rep : str or array-like of shape (n, d), default=None
        An embedding of the cells to find programmes in, such as "X_pca" or one without batches: an entry of ``obsm``,
        or "X". Usages are then those in the embedding. None makes one of the counts.
    genes : sequence of str, default=None
        Names of the genes, where counts are a matrix; numbers if None.
    n_runs : int, default=10
        Halves of the cells.
    key : str, default="programmes"
        What results are called in an AnnData; None leaves it as it is. See :meth:`GeneProgrammes.write`.
    random_state : int, default=0
        Seed of whatever is drawn at random; the same seed gives the same bits.
    verbose : int, default=0
        Show a bar if positive (on a terminal).

    Returns
    -------
    GeneProgrammes
        Usages, spectra, the genes of each programme, and what is common. Print it, or plot it.

    Raises
    ------
    ValueError
        If counts are negative, no gene varies, or labels do not fit the cells.

    See Also
    --------
    pellucid.ConceptDiscovery : The same for vectors without counts of anything.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid import gene_programmes
    >>> rng = np.random.default_rng(0)
    >>> usage = rng.dirichlet([0.2, 0.2, 0.2], size=300)
    >>> spectra = rng.gamma(0.5, size=(3, 80)) + 0.2
    >>> found = gene_programmes(rng.poisson(5 * usage @ spectra), n_programmes=3)
    >>> np.corrcoef(found.usage.T, usage.T)[:3, 3:].max(axis=0).round(1).tolist()
    [1.0, 1.0, 1.0]
    """
    if not isinstance(n_programmes, str):
        if isinstance(n_programmes, bool) or not isinstance(n_programmes, Integral) or n_programmes < 1:
            raise ValueError(f"n_programmes must be a whole number, 1 or more, or 'auto', got {n_programmes}.")
    elif n_programmes != "auto":
        raise ValueError(f"n_programmes must be a number or 'auto', got {n_programmes!r}.")
    for name, value in (("n_runs", n_runs), ("n_states", n_states)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number, 1 or more, got {value}.")
    matrix, named, source = matrix_of(counts, layer)
    if matrix is None and use_rep is None:
        raise ValueError(
            "There are no counts: X has negative numbers, so it was centred, and raw does not have these genes as they "
            "were. Give layer=, or an embedding by use_rep=."
        )
    rng = check_random_state(random_state)
    if matrix is None:
        cells, values = None, as_matrix(counts.X, "X")
        source = "X, centred"
    else:
        cells = expression(matrix)
        values = cells.values
    n, G = values.shape
    known = [str(name) for name in genes] if genes is not None else named or [f"gene {j}" for j in range(G)]
    if len(known) != G:
        raise ValueError(f"There are {len(known)} names for {G} genes.")
    if n < 4:
        raise ValueError(f"Programmes cannot be found in {n} cells: give at least 4, better hundreds.")
    scaled = cells.scaled() if cells is not None else None
    rows = given_rows(counts, use_rep, n)
    if rows is None:
        assert scaled is not None
        assert cells is not None
        rows = embedding(scaled, cells.depth)
    prepared = np.asarray(CenteredNormalizer().fit(rows).transform(rows), dtype=np.float32)
    price = chosen_price(prepared)
    types = None if labels is None else types_of(counts, labels, n)
    if types is None:
        atoms, agreed = found_atoms(prepared, n_programmes, price, n_runs, rng, verbose)
        names: list[str | None] = [None] * len(atoms)
    else:
        atoms, agreed, names = known_atoms(prepared, types, n_states, n_programmes, price, n_runs, rng, verbose)
    if types is None and not isinstance(n_programmes, str):
        kept = np.arange(min(int(n_programmes), len(atoms)))
        if len(kept) < n_programmes:
            warnings.warn(f"Only {len(kept)} of {n_programmes} programmes were found in {n} cells.", stacklevel=2)
        if use_rep is None and scaled is not None:
            kept = fewest(scaled, spectra_of(scaled, codes_of(prepared, atoms, price)), len(kept), rng)
        atoms, agreed, names = atoms[kept], agreed[kept], [None] * len(kept)
    codes, inner = codes_of(prepared, atoms, price), None
    if use_rep is None and scaled is not None:
        inner = closer(scaled, spectra_of(scaled, codes))
        codes = usages(scaled, inner)
    else:
        codes = codes / lengths(codes)
    return finished(
        codes, values, cells, known, names, agreed, source, inner, counts if hasattr(counts, "obsm") else None, key
    )


def found_atoms(
    rows: NDArray[np.float32], count: int | str, price: float, n_runs: int, rng: np.random.RandomState, verbose: int
) -> tuple[NDArray[np.float32], Floats]:
    """Directions that halves agree on, at least as many as asked for where there are as many."""
    most = max(2, len(rows) // 2)
    if isinstance(count, str):
        tried = max(2, min(MOST, len(rows) // CELLS_EACH))
        count = int((agreed_directions(rows, tried, price, n_runs, rng, verbose)[1] >= AGREED).sum())
        if count == 0:
            warnings.warn(
                "No programme came out of 80 % of the halves of the cells: what is returned is a guess. Give more "
                "cells, or n_programmes=.",
                stacklevel=3,
            )
        count = max(count, 2)
    atoms, agreed = agreed_directions(rows, min(most, int(MORE * count + AND)), price, n_runs, rng, verbose)
    kept = max(int((agreed >= AGREED).sum()), min(count, len(agreed)))
    return atoms[:kept], agreed[:kept]


def known_atoms(
    rows: NDArray[np.float32], types: NDArray[Any], n_states: int, count: int | str, price: float, n_runs: int,
    rng: np.random.RandomState, verbose: int,
) -> tuple[NDArray[np.float32], Floats, list[str | None]]:  # fmt: skip
    """Directions of the cones of known types, and of what is found among cells whose type is not known."""
    told = np.flatnonzero(types != "")
    seed = int(rng.randint(2**31 - 1))

    def cones(some: Ints) -> ConceptSubspaces:
        return ConceptSubspaces(n_states, center=False, presence=False, random_state=seed).fit(rows[some], types[some])

    model = cones(told)
    atoms, groups = np.asarray(model.atoms_, dtype=np.float32), model.groups_
    again: list[NDArray[np.bool_]] = []
    for half in halves(len(told), n_runs, rng):
        other = cones(told[half])
        place = {name: j for j, name in enumerate(other.concept_names_)}
        near = np.zeros(len(atoms))
        for j, name in enumerate(model.concept_names_):
            if name in place:
                near[groups == j] = partners(atoms[groups == j], other.atoms_[other.groups_ == place[name]])
        again.append(near >= KNOWN)
    states = [int((groups[:i] == j).sum()) for i, j in enumerate(groups)]
    names = [
        f"{model.concept_names_[j]} {i + 1}" if i else str(model.concept_names_[j]) for i, j in zip(states, groups)
    ]
    rest = np.flatnonzero(types == "")
    agreed = np.asarray(np.mean(again, axis=0))
    if len(rest) < 2 * CELLS_EACH:
        return atoms, agreed, list(names)
    more, share = found_atoms(rows[rest], count, price, n_runs, rng, verbose)
    new = (more @ atoms.T).max(axis=1) < KNOWN
    return np.vstack([atoms, more[new]]), np.concatenate([agreed, share[new]]), [*names, *([None] * int(new.sum()))]


def lengths(codes: NDArray[Any]) -> Floats:
    """How long the code (M,) of a cell is that uses a programme alone: Σ a_k/λ_k ≈ 1 for all cells."""
    wide = codes.astype(np.float64)
    each = nnls_gram(wide.sum(axis=0)[None], wide.T @ wide).codes[0]
    largest = float(each.max())
    return np.asarray(1 / np.maximum(each, largest / LENGTHS)) if largest > 0 else np.ones(codes.shape[1])


def spectra_of(values: Any, codes: NDArray[Any]) -> Floats:
    """What a cell has of each gene that uses a programme alone (M, g), by least squares from its codes (n, M)."""
    beside = np.column_stack([np.ones(len(codes)), codes]).astype(np.float64)
    products = np.asarray(values.T @ beside)
    middle, *ways = np.linalg.lstsq(beside.T @ beside, products.T, rcond=None)[0]
    return np.asarray(np.maximum(middle + lengths(codes)[:, None] * np.array(ways), 0))


def usages(values: Any, spectra: Floats) -> Floats:
    """How much each cell uses of each programme (n, M)."""
    return np.asarray(nnls_gram(np.asarray(values @ spectra.T, dtype=np.float64), spectra @ spectra.T).codes)


def closer(values: Any, spectra: Floats) -> Floats:
    """Spectra after rounds of alternating least squares: a few follow the cells, many drift to where usages overlap."""
    for _ in range(ROUNDS):
        U = usages(values, spectra)
        spectra = nnls_gram(np.asarray(values.T @ U, dtype=np.float64), U.T @ U).codes.T
    return np.ascontiguousarray(spectra)


def fewest(values: Any, spectra: Floats, count: int, rng: np.random.RandomState) -> Ints:
    """So many of the programmes, after sparing one after the other what explains least beside the rest."""
    some = np.sort(rng.permutation(values.shape[0])[:SPARED_CELLS])
    C, G = np.asarray(values[some] @ spectra.T, dtype=np.float64), spectra @ spectra.T
    left = list(range(len(spectra)))

    def explained(which: list[int]) -> float:
        inner = G[np.ix_(which, which)]
        U = nnls_gram(C[:, which], inner).codes
        return float(2 * np.einsum("ij,ij->", U, C[:, which]) - np.einsum("ij,jk,ik->", U, inner, U, optimize=True))

    while len(left) > count:
        without = [explained([k for k in left if k != j]) for j in left]
        left.pop(int(np.argmax(without)))
    return np.array(left)


def finished(
    codes: NDArray[Any], values: Any, cells: Expression | None, genes: list[str], names: list[str | None],
    agreed: Floats, source: str, inner: Floats | None, data: Any, key: str | None,
) -> GeneProgrammes:  # fmt: skip
    """Shares of use, spectra of all genes, what is common, and names; written into an AnnData, if it came."""
    wide = np.asarray(codes, dtype=np.float64)
    total = wide.sum(axis=1, keepdims=True)
    usage = np.divide(wide, total, out=np.zeros_like(wide), where=total > 0)
    products, inside = np.asarray(values.T @ usage, dtype=np.float64), usage.T @ usage
    if cells is not None:
        spectra = nnls_gram(products, inside).codes.T
        spread = np.full(values.shape[1], np.nan)
        spread[cells.chosen] = cells.scale
    else:
        spectra = np.linalg.lstsq(inside, products.T, rcond=None)[0]
        spread = np.ones(values.shape[1])
    lowest, highest = spectra.min(axis=0), spectra.max(axis=0)
    common = np.where(lowest > 0, lowest, np.where(highest < 0, highest, 0.0))
    others = (spectra.sum(axis=0) - spectra) / max(1, len(spectra) - 1) if len(spectra) > 1 else common[None]
    score = np.nan_to_num((spectra - others) / spread)
    order = np.argsort(-usage.sum(axis=0), kind="stable")
    best = [[genes[j] for j in np.argsort(-score[k], kind="stable")[:NAMED] if score[k, j] > 0] for k in order]
    called = told_apart([[name] if name is not None else own for name, own in zip((names[k] for k in order), best)])
    found = GeneProgrammes(
        names=[name if name != f"concept {i}" else f"programme {i}" for i, name in enumerate(called)],
        genes=genes,
        usage=usage[:, order],
        spectra=spectra[order],
        score=score[order],
        common=common,
        stability=agreed[order],
        known=np.array([names[k] is not None for k in order]),
        source=source,
        chosen=cells.chosen if cells is not None else np.arange(values.shape[1]),
        scale=np.asarray(cells.scale, dtype=np.float64) if cells is not None else np.ones(values.shape[1]),
        inner=inner[order] if inner is not None else None,
    )
    if data is not None and key is not None:
        found.write(data, key)
    return found


def given_rows(counts: Any, use_rep: Any, n: int) -> NDArray[np.float32] | None:
    """The embedding that was asked for."""
    if use_rep is None:
        return None
    if isinstance(use_rep, str):
        if not hasattr(counts, "obsm"):
            raise ValueError("use_rep= names an entry of an AnnData, but counts came as a matrix: give the rows.")
        if use_rep != "X" and use_rep not in counts.obsm:
            raise ValueError(f"There is no embedding {use_rep!r}: {did_you_mean(use_rep, list(counts.obsm))}")
        use_rep = counts.X if use_rep == "X" else counts.obsm[use_rep]
    given = use_rep.toarray() if sparse.issparse(use_rep) else as_rows(use_rep)
    rows = as_matrix(given.to_numpy() if hasattr(given, "to_numpy") else given, "use_rep")
    check_finite(rows, "use_rep")
    if len(rows) != n:
        raise ValueError(f"There are {n} cells, but an embedding of {len(rows)}.")
    return np.asarray(rows, dtype=np.float32)


def types_of(counts: Any, labels: Any, n: int) -> NDArray[Any]:
    """The type of each cell as text, empty where it is missing."""
    if isinstance(labels, str):
        if not hasattr(counts, "obs"):
            raise ValueError("labels= names a column of an AnnData, but counts came as a matrix: give the labels.")
        if labels not in counts.obs:
            raise ValueError(f"There is no column {labels!r}: {did_you_mean(labels, list(map(str, counts.obs)))}")
        labels = counts.obs[labels]
    values = list(labels)
    if len(values) != n:
        raise ValueError(f"There are {n} cells, but {len(values)} labels.")
    missing = [value is None or value != value or str(value) in ("", "nan", "<NA>") for value in values]
    out = np.array(["" if gone else str(value) for value, gone in zip(values, missing)], dtype=object)
    if all(missing):
        raise ValueError("No cell has a label: leave labels= out.")
    return out
