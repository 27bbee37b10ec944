"""What the items have in common and apart: clusters, binary concepts, and analograms of a few of them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid.binary import IterativeAssignment, analogram_of
from pellucid.explorer.background import Background, Task, row_task
from pellucid.explorer.items import Items
from pellucid.explorer.layout import sample
from pellucid.explorer.loading import Models
from pellucid.explorer.words import texts_of
from pellucid.plots.graphs import node_places
from pellucid.preparation import CenteredNormalizer
from pellucid.search.derived import preparation_facts

LOOKED_AT = 4_000  # items that the cards are made from
SHOWN = 12  # items on a card
WORDS = 6
BRANCHES = 4  # runs of the assignment behind an analogram
LABELS = 60  # of a column, that binary concepts are compared with

Vocabulary = Callable[[], tuple[str, list[str], NDArray[Any] | None]]


class Structure:
    """Clusters and binary concepts of a collection, if there are models of them."""

    def __init__(self, items: Items, models: Models, vocabulary: Vocabulary) -> None:
        self.items, self.models, self.vocabulary = items, models, vocabulary
        # a first analogram compiles for longer than an answer may take, so that one is made with the layouts
        self.background = Background(items, models.concepts, self._tasks(), warm_up)

    # made in the background

    def _tasks(self) -> list[Task]:
        found, clusters, binary = [], self.models.clusters, self.models.binary
        if clusters is not None:
            facts = clusters.atoms_, clusters.common_atoms_, clusters.get_params(), preparation_facts(clusters)
            width = len(clusters.atoms_)
            found.append(row_task("clusters", self.items, clusters.transform, width, np.float32, *facts))
        if binary is not None:
            given = binary.components_, binary.intercept_, preparation_facts(binary)
            width = len(binary.components_)
            found.append(row_task("bits", self.items, binary.transform, width, np.uint8, *given))
        return found

    def _vectors(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        return self.items.collection.vectors(positions).astype(np.float32)

    def _get(self, name: str) -> NDArray[Any]:
        return self.background.get(name)

    # binary concepts

    def bits(self, concept: int) -> NDArray[np.uint16]:
        """Per row whether it has that binary concept."""
        self._need("binary")
        found = self._get("bits")
        if not 0 <= concept < len(found):
            raise ValueError(f"There is no binary concept {concept}; there are {len(found)}, counted from 0.")
        return np.asarray(found[concept], dtype=np.uint16)

    def binary(self) -> dict[str, Any]:
        """A card for each binary concept, the strongest first."""
        model, found = self._need("binary"), self._get("bits")
        rows = sample(len(self.items), LOOKED_AT)
        X = model.prepare(self._vectors(self.items.positions[rows]))
        along = (X - model.intercept_) @ model.components_.T
        words = self._words(model.components_)
        labels = self._labels(rows)
        total = max(float(model.weights_.sum()), np.finfo(float).tiny)
        return {
            "cka": float(model.cka_),
            "concepts": [
                {
                    "concept": j,
                    "count": int(found[j].sum(dtype=np.int64)),
                    "share": float(model.weights_[j] / total),
                    "words": words[j],
                    "label": nearest_label(found[j][rows], labels),
                    "top": self._show(rows, np.where(found[j][rows] > 0, along[:, j], -np.inf)),
                }
                for j in range(len(found))
            ],
        }

    def _labels(self, rows: NDArray[np.int64]) -> list[tuple[str, NDArray[np.float64]]]:
        """Which of these rows have which label."""
        columns = [c for c in self.items.columns if c.kind in ("label", "labels")]
        return [
            (value, self.items.labels(column.name, value)[rows].astype(np.float64))
            for column in columns
            for value in column.values[:LABELS]
        ]

    # clusters

    def clusters(self) -> NDArray[np.uint16]:
        """Per row the cluster that it costs least in."""
        self._need("clusters")
        return np.asarray(self._get("clusters").argmin(axis=0), dtype=np.uint16)

    def cluster_cards(self) -> dict[str, Any]:
        """Each cluster: its size, how much of its items is its own and how much what all share, words, top items."""
        model, costs = self._need("clusters"), self._get("clusters")
        labels = costs.argmin(axis=0)
        rows = sample(len(self.items), LOOKED_AT)
        X = self._vectors(self.items.positions[rows])
        own = np.asarray(model.reconstruct(X, parts="mean") + model.reconstruct(X, parts="own"))
        of_mean, of_own, of_common = model.shares(X).T
        here = labels[rows]
        count = len(costs)
        middle = np.stack([own[here == c].sum(axis=0) / max(1, (here == c).sum()) for c in range(count)])
        near = self._words(middle - middle.mean(axis=0))
        told = model.describe(
            X, texts=texts_of(self.items, rows), titles=self.items.table.column("id").take(rows).to_pylist()
        )
        words = [card.words or near[card.cluster] for card in told.clusters]
        return {
            "n_atoms": int(model.atoms_.shape[1]),
            "n_common": len(model.common_atoms_),
            "clusters": [
                {
                    "cluster": c,
                    "name": ", ".join(words[c][:2]) or told.clusters[c].name,
                    "count": int((labels == c).sum()),
                    "own": mean_of((of_mean + of_own)[here == c]),
                    "common": mean_of(of_common[here == c]),
                    "words": words[c],
                    "top": self._show(rows, np.where(here == c, -costs[c][rows], -np.inf)),
                }
                for c in range(count)
            ],
        }

    def atoms(self, cluster: int | None) -> NDArray[np.float32]:
        """Atoms (k, d) of a cluster, or the common ones."""
        model = self._need("clusters")
        if cluster is None:
            return np.asarray(model.common_atoms_, dtype=np.float32)
        if not 0 <= cluster < len(model.atoms_):
            raise ValueError(f"There is no cluster {cluster}; there are {len(model.atoms_)}, counted from 0.")
        return np.asarray(model.atoms_[cluster], dtype=np.float32)

    def reconstruct(self, item: str) -> NDArray[np.float32]:
        """An item (d,), what its cluster alone makes of it, and what it shares with all: (3, d)."""
        model = self._need("clusters")
        x = self._vectors(np.array([self.items.position(item)]))
        mean, own, common = (np.asarray(model.reconstruct(x, parts=part)) for part in ("mean", "own", "common"))
        return np.concatenate([model.prepare(x), mean + own, common]).astype(np.float32)

    # analograms

    def analogram(self, items: list[str] | None, by: str, max_concepts: int | None, max_nodes: int) -> dict[str, Any]:
        """The graph of some items, or of the concepts, by binary concepts of their own or by those of the model."""
        if items is None:
            vectors, names = self._concept_vectors()
        else:
            names = list(dict.fromkeys(items))
            raw = self._vectors(np.array([self.items.position(item) for item in names], dtype=np.int64))
            model = self.models.concepts
            vectors = raw if by == "model" else unit_rows(raw) if model is None else model.prepare(raw)
        if len(names) < 2:
            raise ValueError("An analogram needs at least two items.")
        if by == "model":
            fitted = copy.copy(self._need("binary"))
            fitted.concepts_ = np.asarray(fitted.transform(vectors), dtype=np.uint8)
        else:
            fitted = IterativeAssignment(BRANCHES, random_state=0).fit(vectors)
        view = analogram_of(fitted, None, names, max_concepts=max_concepts, max_nodes=max_nodes)
        return {
            "names": names,
            "items": None if items is None else [self.items.show(self.items.row(name)) for name in names],
            "by": by,
            "cka": float(fitted.cka_) if by == "items" else None,
            "share": view.share,
            **drawn(view),
        }

    def _concept_vectors(self) -> tuple[NDArray[np.float32], list[str]]:
        """The middle of each concept's cone."""
        model = self.models.concepts
        if model is None:
            raise ValueError("There is no model of concepts: name the items of the analogram.")
        atoms = [model.atoms_[model.groups_ == j].mean(axis=0) for j in range(len(model.concept_names_))]
        return unit_rows(np.array(atoms, dtype=np.float32)), [str(name) for name in model.concept_names_]

    # both

    def _words(self, directions: NDArray[Any]) -> list[list[str]]:
        """The words whose vectors point most along each direction."""
        _, names, vectors = self.vocabulary()
        if vectors is None:
            return [[] for _ in directions]
        known = CenteredNormalizer().fit_transform(np.asarray(vectors, dtype=np.float32))
        best = np.argsort(-(unit_rows(directions.astype(np.float32)) @ known.T), axis=1, kind="stable")[:, :WORDS]
        return [[names[i] for i in row] for row in best]

    def _show(self, rows: NDArray[np.int64], scores: NDArray[Any]) -> list[dict[str, Any]]:
        """Items of the highest finite scores."""
        best = np.argsort(-scores, kind="stable")[:SHOWN]
        return [self.items.show(int(rows[i])) for i in best if np.isfinite(scores[i])]

    def _need(self, kind: str) -> Any:
        model = getattr(self.models, kind)
        if model is None:
            raise ValueError(f"There is no model of {kind}: fit one with `pellucid {kind} fit`, and start with it.")
        return model


def warm_up() -> None:
    """Compile what analograms need."""
    IterativeAssignment(2, random_state=0).fit(np.eye(6))


def mean_of(values: NDArray[Any]) -> float | None:
    return float(values.mean()) if len(values) else None


def nearest_label(bits: NDArray[np.uint8], labels: list[tuple[str, NDArray[np.float64]]]) -> dict[str, Any] | None:
    """The label that goes most with a binary concept, and the correlation of the two."""
    own = bits - bits.mean()
    best: dict[str, Any] | None = None
    for name, has in labels:
        other = has - has.mean()
        scale = float(np.sqrt((own @ own) * (other @ other)))
        r = float(own @ other) / scale if scale > 0 else 0.0
        if best is None or abs(r) > abs(best["correlation"]):
            best = {"name": name, "correlation": r}
    return best


def drawn(view: Any) -> dict[str, Any]:
    """Nodes with their places, edges, and what each concept sets apart."""
    graph = view.graph
    places = node_places(graph.nodes)
    half = max(float(np.abs(places).max(initial=0)), 1e-12)
    bits = graph.nodes[graph.item_nodes]
    sides = np.where(2 * bits.sum(axis=0) <= len(bits), bits, 1 - bits)
    total = max(float(view.weights.sum()), np.finfo(float).tiny)
    return {
        "nodes": [
            {"x": float(x / half), "y": float(y / half), "items": np.flatnonzero(graph.item_nodes == v).tolist()}
            for v, (x, y) in enumerate(places)
        ],
        "edges": graph.edges.tolist(),
        "concepts": [
            {"share": float(view.weights[j] / total), "items": np.flatnonzero(sides[:, j]).tolist()}
            for j in range(bits.shape[1])
        ],
    }
