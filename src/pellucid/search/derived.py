"""Arrays that are computed from a collection's rows and kept in its folder, so that it is done once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.atomic import save_array
from pellucid._core.checkpoint import fingerprint
from pellucid._core.checksums import array_sum
from pellucid.search._inside import Outside, inside

LOG = logging.getLogger("pellucid.search")


def derived_array(
    folder: Path,
    name: str,
    facts: tuple[Any, ...],
    shape: tuple[int, ...],
    dtype: Any,
    compute: Callable[[], NDArray[Any]],
    *,
    alone: bool = False,
) -> NDArray[Any]:
    """What is kept in the folder under that name for these facts, mapped; or what ``compute`` makes, kept from now on.

    The facts are all that it depends on. Files there can be removed at any time: a damaged one counts as none, and a
    folder that cannot be written costs only time. With ``alone`` those of the same name for other facts go.
    """
    file = f"{name}-{fingerprint(*facts)[:16]}.npy"
    try:
        path = inside(folder.parent, f"{folder.name}/{file}")
    except Outside as error:
        LOG.info("%s", error)
        return compute()
    found = _read(path, shape, np.dtype(dtype))
    if found is None:
        found = compute()
        _keep(path, found, f"{name}-*.npy" if alone else None)
    return found


def cone_facts(model: Any) -> tuple[Any, ...]:
    """What decides how a model of concepts takes raw rows apart: its cones, and who it thinks has which concept."""
    known = (getattr(model, f"presence_{name}_", None) for name in ("coef", "intercept", "calibration", "threshold"))
    return model.atoms_, model.groups_, float(model.ridge), preparation_facts(model), *known


def preparation_facts(model: Any) -> Any:
    """What decides how a model prepares raw rows."""
    before = model.preparation_
    return None if before is None else [before.center, before.n_tokens, before.mean_]


def _read(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any] | None:
    try:
        kept: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # what numpy raises of damaged files has no common type
        return None
    if kept.shape != shape or kept.dtype != dtype:
        return None
    with path.open("rb") as file:
        file.seek(-4, 2)
        whole = int.from_bytes(file.read(), "little") == array_sum(kept)
    return kept if whole else None


def _keep(path: Path, made: NDArray[Any], replaced: str | None) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        save_array(path, made, follow=False, summed=True)
        for old in path.parent.glob(replaced) if replaced is not None else ():
            if old != path:
                old.unlink(missing_ok=True)
    except OSError as error:
        LOG.info("%s is not kept for the next time: %s", path.name, error)
