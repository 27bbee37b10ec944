"""What a fit adds up of rows: codes, and how those of neighbours differ."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from pellucid.manifold.neighbour_operators import (
    check_pairs,
    first_differences,
    local_weights,
    mean_weights,
    metric_pairs,
    second_differences,
    temporal_pairs,
)
from pellucid.manifold.statistics import Statistics, code_statistics


def part_statistics(model: Any, pairs: Any, groups: Any, blocks: Iterator[NDArray[Any]], seed: Any) -> Statistics:
    """Statistics of a part's rows under a dictionary; noise is drawn from where ``seed`` says."""
    model._seed = check_random_state(seed)
    return reduce(operator.add, (row_statistics(model, block, pairs, groups) for block in blocks))


def row_statistics(model: Any, data: NDArray[Any], pairs: ArrayLike | None, groups: ArrayLike | None) -> Statistics:
    """Neighbours among the rows, as the model wants them, and the statistics of its codes under their differences."""
    if (pairs is not None) != (model.neighbors == "pairs"):
        raise ValueError(f'pairs belong to neighbors="pairs", and neighbors is {model.neighbors!r}.')
    if groups is not None and model.neighbors != "temporal":
        raise ValueError(f'groups belong to neighbors="temporal", and neighbors is {model.neighbors!r}.')
    n = len(data)
    if model.neighbors == "noise":
        shape = (2 * model.n_neighbors, *data.shape)
        data = (data + model.noise * model._seed.standard_normal(shape)).reshape(-1, data.shape[1])
        half = model.n_neighbors * n
        found = np.stack([np.arange(half), half + np.arange(half)], axis=1)
    elif model.neighbors == "metric":
        found = metric_pairs(data, model.n_neighbors)
    elif model.neighbors == "temporal":
        found = temporal_pairs(n, groups, model.order)
    else:
        assert pairs is not None
        found = check_pairs(pairs, n)
    n = len(data)
    if model.order == 1:
        D = first_differences(found, n)
    elif model.interpolation == "local":
        D = second_differences(found, local_weights(data, found), n)
    else:
        D = second_differences(found, mean_weights(found, n), n)
    return code_statistics(model.code_.transform(data), D, model.constraint)
