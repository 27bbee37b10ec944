"""Concepts beside the cells they were found in: results go back into an AnnData."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.atomic import atomic_path
from pellucid._core.cards import card
from pellucid._core.extras import require
from pellucid._core.hints import did_you_mean

__all__ = ["write_concepts", "write_h5ad"]

# numbers of a sparse matrix that are dense at a time
BLOCK_NUMBERS = 1 << 23
# what marks an entry of uns as ours
MARK = "pellucid"


def write_concepts(adata: Any, model: Any, *, use_rep: str | None = None, key: str = "concepts") -> None:
    """Write what a model says of all observations into an AnnData.

    Afterwards ``obsm[f"{key}_shares"]`` has how much of each observation each concept is, and, if the model knows
    presence, ``obsm[f"{key}_presence"]`` how likely it has each, and ``obs[f"{key}_{name}"]`` whether it has one.
    The atoms are columns of ``varm[f"{key}_atoms"]`` if the model was fitted on ``X``, or else in ``uns[key]``, which
    also has the names of the concepts (``names``), the concept of each atom (``groups``) and the model's card. What an
    earlier call has written under the same key is replaced.

    Parameters
    ----------
    adata : anndata.AnnData
        The observations; ``X`` may be sparse, of which one block at a time is made dense.
    model : ConceptSubspaces
        A fitted model.
    use_rep : str, default=None
        The key in ``obsm`` of the vectors that the model is for; None or "X" takes ``X``.
    key : str, default="concepts"
        What the entries' names begin with.

    Raises
    ------
    ValueError
        If there are no such vectors, they have another number of dimensions than the model, or something else is
        already kept under one of the names.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.integrations.anndata import write_concepts
    >>> X = np.array([[1, 0], [3, 0], [0, 2], [0, 1]] * 5, dtype=np.float32)
    >>> model = ConceptSubspaces(1, center=False).fit(X, ["cat", "cat", "dog", "dog"] * 5)
    >>> cells = AnnData(X)
    >>> write_concepts(cells, model)
    >>> cells.obsm["concepts_shares"][0].round(2).tolist(), bool(cells.obs["concepts_cat"].iloc[0])
    ([1.0, 0.0], True)
    """
    rows = _rows(adata, use_rep)
    names = [str(name) for name in model.concept_names_]
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"The model was fitted on {model.n_features_in_} dimensions, but {use_rep or 'X'!r} has {rows.shape[1]}: "
            "name the vectors that it is for with use_rep."
        )
    columns = _columns(names, key)
    _check_free(adata, key, columns)
    shares = np.concatenate([np.asarray(model.shares(block), dtype=np.float32) for block in _blocks(rows)])
    adata.obsm[f"{key}_shares"] = shares
    adata.obsm.pop(f"{key}_presence", None)
    if model.knows_presence:
        likely = np.concatenate([np.asarray(model.predict_proba(block), dtype=np.float32) for block in _blocks(rows)])
        adata.obsm[f"{key}_presence"] = likely
        has = likely >= model.presence_threshold_.astype(np.float32)
        for column, mine in zip(columns, has.T):
            adata.obs[column] = mine
    told: dict[str, Any] = {
        MARK: type(model).__name__, "names": np.array(names, dtype=object), "groups": np.asarray(model.groups_),
        "use_rep": use_rep or "X", "columns": np.array(columns, dtype=object), "card": card(model),
    }  # fmt: skip
    adata.varm.pop(f"{key}_atoms", None)
    if use_rep in (None, "X"):
        adata.varm[f"{key}_atoms"] = np.ascontiguousarray(model.atoms_.T)
    else:
        told["atoms"] = np.asarray(model.atoms_)
    adata.uns[key] = told


def write_h5ad(
    source: str | os.PathLike[str],
    model: Any,
    target: str | os.PathLike[str],
    *,
    use_rep: str | None = None,
    key: str = "concepts",
) -> tuple[int, int]:
    """Read an .h5ad, write concepts into it, and write it to another file, which appears whole or not at all.

    Parameters
    ----------
    source : str or Path
        The .h5ad to read; it stays as it is.
    model : ConceptSubspaces
        A fitted model.
    target : str or Path
        The .h5ad to write.
    use_rep : str, default=None
        As for :func:`write_concepts`.
    key : str, default="concepts"
        As for :func:`write_concepts`.

    Returns
    -------
    tuple of int
        How many observations and concepts.

    Examples
    --------
    >>> import numpy as np
    >>> from anndata import AnnData, read_h5ad
    >>> from pellucid import ConceptSubspaces
    >>> from pellucid.integrations.anndata import write_h5ad
    >>> X = np.array([[1, 0], [3, 0], [0, 2], [0, 1]] * 5, dtype=np.float32)
    >>> AnnData(X).write_h5ad("cells.h5ad")
    >>> model = ConceptSubspaces(1, center=False).fit(X, ["cat", "cat", "dog", "dog"] * 5)
    >>> write_h5ad("cells.h5ad", model, "concepts.h5ad")
    (20, 2)
    >>> sorted(read_h5ad("concepts.h5ad").obsm)
    ['concepts_presence', 'concepts_shares']
    """
    adata = require("anndata", "anndata").read_h5ad(source)
    write_concepts(adata, model, use_rep=use_rep, key=key)
    with atomic_path(Path(target)) as temporary:
        adata.write_h5ad(temporary)
    return adata.n_obs, len(model.concept_names_)


def _rows(adata: Any, use_rep: str | None) -> Any:
    if use_rep in (None, "X"):
        if adata.X is None:
            raise ValueError(f"There is no X: name the vectors with use_rep; {did_you_mean('X', adata.obsm)}")
        return adata.X
    if use_rep not in adata.obsm:
        raise ValueError(f"There are no vectors {use_rep!r} in obsm: {did_you_mean(str(use_rep), adata.obsm)}")
    rows = adata.obsm[use_rep]
    return rows.to_numpy() if hasattr(rows, "to_numpy") else rows


def _blocks(rows: Any) -> Iterator[NDArray[Any]]:
    """Rows as arrays, block after block; a sparse matrix by rows first, which slices well."""
    from scipy import sparse

    if sparse.issparse(rows):
        rows = rows.tocsr()
    size = max(1, BLOCK_NUMBERS // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], size):
        block = rows[start : start + size]
        yield block.toarray() if sparse.issparse(block) else np.asarray(block)


def _columns(names: list[str], key: str) -> list[str]:
    """Columns of obs; a name in an .h5ad has no slash."""
    found: list[str] = []
    for name in names:
        plain = f"{key}_{name.replace('/', '|')}"
        while plain in found:
            plain += "_"
        found.append(plain)
    return found


def _check_free(adata: Any, key: str, columns: list[str]) -> None:
    """Refuse to replace what is not ours; columns of a model before this one go."""
    before = adata.uns.get(key)
    if isinstance(before, dict) and MARK in before:
        for column in [str(column) for column in before.get("columns", [])]:
            if column in adata.obs:
                del adata.obs[column]
        return
    taken = [f"uns[{key!r}]"] if before is not None else []
    taken += [f"obs[{column!r}]" for column in columns if column in adata.obs]
    taken += [f"obsm[{name!r}]" for name in (f"{key}_shares", f"{key}_presence") if name in adata.obsm]
    if taken:
        raise ValueError(f"{taken[0]} is taken by something else: choose another key.")
