"""What the service knows: the collection, the model, and the answers to everything the page asks."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pellucid import __version__, persistence
from pellucid._core import deadline
from pellucid.concepts import ConceptSubspaces, Vocabulary
from pellucid.explorer.clusters_and_binary import Structure
from pellucid.explorer.items import Items
from pellucid.explorer.layout import sample
from pellucid.explorer.loading import Models, check_dimension
from pellucid.explorer.names import names_of
from pellucid.explorer.stability_job import Checking
from pellucid.explorer.turns import Kept, Turns
from pellucid.explorer.words import words_of_texts
from pellucid.search import ConceptSearch, ReadableCollection, Text, stored_model

LOOKED_AT = 20_000  # items that co-occurrence is counted on
SHOWN = 12  # top items of a concept
CAPTION_WORDS = 6
# results of a plain search, and items explained, up to which a request is no dear one
FEW = 100
FEW_EXPLAINED = 12
# dear requests that may wait for their turn: fewer than there are threads to answer with
MOST_WAITING = 16


class Conflict(Exception):
    """A change that somebody else's change forbids."""


class State:
    """The collection and the model behind the service.

    words, word_vectors : a vocabulary for captions; without one, the words of the items' own texts serve
    """

    def __init__(
        self,
        collection: ReadableCollection,
        models: Models,
        words: Sequence[str] | None,
        word_vectors: ArrayLike | None,
        image_shape: Sequence[int] | None = None,
        encoder: Any = None,
    ) -> None:
        if (words is None) != (word_vectors is None):
            raise ValueError("words and word_vectors go together: give both, or neither.")
        check_dimension(models, collection.dimension)
        model, model_path = models.concepts, models.files.get("concepts")
        self.collection, self.model, self.model_path, self.models = collection, model, model_path, models
        self.image_shape = _checked_shape(image_shape, collection.dimension)
        self.items = Items(collection)
        self.searcher = ConceptSearch(collection, model, encoder)
        met = {kind: stored_model(getattr(models, kind), collection) for kind in ("binary", "clusters")}
        self.structure = Structure(self.items, replace(models, concepts=self.searcher.stored, **met), self.vocabulary)
        self.background = self.structure.background
        self.background.first = self._first_search
        self.checking = None if model is None else Checking(self.items, self.searcher.stored, self.background)
        self._given = None if words is None else ([str(w) for w in words], np.asarray(word_vectors, dtype=np.float32))
        if self._given is not None and self._given[1].shape != (len(self._given[0]), collection.dimension):
            raise ValueError(
                f"word_vectors must have {len(self._given[0])} rows of {collection.dimension} numbers, "
                f"but are {self._given[1].shape}."
            )
        self._digest = None if model_path is None else _digest(model_path)
        self._kept = Kept(self.background.ends)
        self._lock = threading.RLock()
        # more searches at a time than cores only get in each other's way; dear ones never have all the cores
        cores = os.cpu_count() or 1
        self._turns, self._dear = Turns(cores, 256), Turns(max(1, cores // 2), MOST_WAITING)

    def _first_search(self) -> None:
        """A pass over all rows, after which the engine knows their lengths: it may take longer than a request may."""
        if len(self.items):
            self.searcher.search(next(iter(self.items.table.column("id"))).as_py(), k=1)

    # the collection

    def info(self) -> dict[str, Any]:
        return {
            "name": self.collection.name,
            "folder": self.collection.place,
            "count": len(self.items),
            "dimension": self.collection.dimension,
            "engine": self.collection.engine_name,
            "columns": [vars(column) for column in self.items.columns],
            "text_column": self.items.text_column,
            "has_thumbnails": self.items.has_thumbnails,
            "model": None if self.model_path is None else str(self.model_path),
            "concepts": self.concept_names,
            "labels": self.label_names,
            "presence": self.model is not None and self.model.knows_presence,
            "n_clusters": None if self.models.clusters is None else len(self.models.clusters.atoms_),
            "n_binary": None if self.models.binary is None else len(self.models.binary.components_),
            "encoder": None if self.searcher.encoder is None else self.searcher.encoder.name,
            "files": {kind: str(file) for kind, file in self.models.files.items()},
            "image_shape": self.image_shape,
            "version": __version__,
        }

    @property
    def concept_names(self) -> list[str]:
        return [] if self.model is None else [str(name) for name in self.model.concept_names_]

    @property
    def label_names(self) -> list[str]:
        """What the items' labels call each concept: it may have been renamed since it was learned from them."""
        named = self.model if self.model is None else getattr(self.model, "label_names_", self.model.concept_names_)
        return [] if named is None else [str(name) for name in named]

    # items

    def parts(self, item: str) -> dict[str, Any]:
        self._need_model()
        x = self.collection.vectors([self.items.position(item)]).astype(np.float64)
        found = self.searcher.stored.shares(x)[0]
        rows = [{"concept": name, "share": float(share)} for name, share in zip(self.concept_names, found)]
        return {"id": item, "parts": sorted(rows, key=lambda p: -p["share"]), "explained": float(found.sum())}

    def query(self, x: Any, text: str | None) -> Any:
        """What to start from: a text, if there is one."""
        return x if text is None else Text(text)

    def search(
        self,
        x: Any,
        concept: str | list[str] | None,
        without: str | list[str] | None,
        k: int,
        diverse: bool,
        score: str | None,
    ) -> list[dict[str, Any]] | list[list[dict[str, Any]]]:
        batch = not isinstance(x, str) and isinstance(x[0], list)
        if not isinstance(x, str):
            x = self._vector(x)
        elif not isinstance(x, Text):
            self.items.position(x)
        if concept is not None or without is not None or score is not None:
            self._need_model()
        with (self._dear if batch or diverse or k > FEW else self._turns).one():
            noted: list[str] = []  # which `notes` tells who asked, not the log
            found: Any = self.searcher.search(x, concept, k, diverse, without=without, score=score, notes=noted)
            shown = [self._hits([(hit.position, hit.score) for hit in hits]) for hits in (found if batch else [found])]
        return shown if batch else shown[0]

    def notes(self, x: Any, concept: str | list[str] | None, score: str | None) -> list[str]:
        """What to know of a search before its hits are trusted."""
        return self.searcher.notes(x, concept, score=score) if isinstance(x, str) and concept is not None else []

    def check_work(self, x: Any, k: int, diverse: bool, most: float) -> None:
        """Refuse a search that would take more than its share."""
        queries = len(x) if not isinstance(x, str) and isinstance(x[0], list) else 1
        if (queries > 1 or diverse) and self.searcher.work(queries, k, diverse) > most:
            raise ValueError(
                f"A search for {queries} vector{'s' if queries > 1 else ''} with {k} {'diverse ' if diverse else ''}"
                "results each takes too long for others: ask for fewer vectors or fewer results."
            )

    def find(self, words: str, k: int) -> tuple[list[int], int]:
        """Rows of the items that hold what was typed, and how many do in all."""
        with self._dear.one():
            return self.items.found(words, k)

    def explain(
        self,
        x: Any,
        y: list[str],
        concept: str | list[str] | None,
        without: str | list[str] | None,
        score: str | None,
        words: bool,
    ) -> list[dict[str, Any]]:
        """Which concepts make up the scores that a search gives the items y."""
        self._need_model()
        vocabulary = self.once("named", self._named) if words else None
        for item in (x, *y) if isinstance(x, str) and not isinstance(x, Text) else y:
            self.items.position(item)
        query = x if isinstance(x, str) else self._vector(x)
        asked: dict[str, Any] = {"concept": concept, "without": without, "score": score, "vocabulary": vocabulary}
        found = []
        with (self._dear if len(y) > FEW_EXPLAINED else self._turns).one():
            for item in y:
                deadline.check()
                found.append(self.searcher.explain(query, item, **asked))
        return [
            {
                "names": e.names,
                "terms": [float(t) for t in e.terms],
                "residual": e.residual,
                "score": e.score,
                "presence": e.presence,
                "residual_share": e.residual_share,
                "words": e.words,
            }
            for e in found
        ]

    def trace(self, x: Any, expected: list[str], **options: Any) -> dict[str, Any]:
        """Why a search shows items or not."""
        if any(options[name] is not None for name in ("concept", "without", "score")):
            self._need_model()
        if isinstance(x, str) and not isinstance(x, Text):
            self.items.position(x)
        query = x if isinstance(x, str) else self._vector(x)
        with self._dear.one():
            return self.searcher.trace(query, expected, **options).to_dict()

    def _vector(self, x: list[Any]) -> NDArray[np.float64]:
        """A vector or a batch of them, checked: the sizes and lengths that cannot be searched for are said."""
        try:
            query = np.array(x, dtype=np.float64)
        except ValueError:
            query = np.empty(0)
        if query.shape[-1] != self.collection.dimension:
            raise ValueError(f"A query has {self.collection.dimension} numbers.")
        if not np.isfinite(query.astype(np.float32)).all():
            raise ValueError("A query has numbers that are too large.")
        return query

    def _hits(self, found: Sequence[tuple[int, float]]) -> list[dict[str, Any]]:
        rows = self.items.rows_at(np.array([position for position, _ in found], dtype=np.int64))
        known = self.background.get("shares")[:, rows] if self.background.has("shares") else None
        hits = []
        for i, (row, (_, score)) in enumerate(zip(rows, found)):
            deadline.check()
            item = self.items.show(int(row))
            made_of = None if known is None else [round(float(share), 4) for share in known[:, i]]
            hits.append({"rank": i + 1, "score": score, "id": item["id"], "item": item, "shares": made_of})
        return hits

    # the map

    def select(self, layout: str, polygon: list[tuple[float, float]], k: int) -> dict[str, Any]:
        """The items whose places on the map lie within a polygon."""
        places = self.background.get(layout)
        with self._dear.one():
            rows = np.flatnonzero(inside(places, np.array(polygon)))
        mean = None
        if self.background.has("shares") and len(rows):
            mean = [float(m) for m in self.background.get("shares")[:, rows].mean(axis=1)]
        labels: dict[str, list[tuple[str, int]]] = {}
        for column in self.items.columns:
            if column.kind == "label":
                counts = np.bincount(self.items.labels(column.name, None)[rows], minlength=len(column.values))
            elif column.kind == "labels":
                counts = np.array([self.items.labels(column.name, v)[rows].sum() for v in column.values[:50]])
            else:
                continue
            order = np.argsort(-counts[: len(column.values)], kind="stable")
            labels[column.name] = [(column.values[j], int(counts[j])) for j in order if counts[j]][:20]
        shown = [self.items.show(int(row)) for row in rows[:k]]
        return {"count": len(rows), "items": shown, "shares": mean, "labels": labels}

    def names(self, layout: str) -> list[dict[str, Any]]:
        """Names for the dense places of a layout: of concepts or clusters, and of the items' own words."""
        made = self.background.get(layout)
        codes, groups, kind = None, [], "words"
        if self.model is not None and self.background.has("shares"):
            codes, groups, kind = self.strongest(), self.concept_names, "concepts"
        elif self.models.clusters is not None and self.background.has("clusters"):
            cards = self.once("cluster cards", self.structure.cluster_cards)["clusters"]
            codes, groups, kind = self.structure.clusters(), [card["name"] for card in cards], "clusters"

        make = partial(names_of, self.items, made, codes, groups)
        return self.once(f"names {kind} {layout} {groups}", make)  # type: ignore[no-any-return]

    def matching(self, words: str) -> NDArray[np.uint16]:
        """Per row whether its id or text holds what was typed."""
        with self._dear.one():
            out = np.zeros(len(self.items), dtype=np.uint16)
            out[self.items.find(words, len(self.items))] = 1
            return out

    def strongest(self) -> NDArray[np.uint16]:
        """Per row the concept of its largest part."""
        codes: NDArray[np.uint16] = self.once(
            "strongest", lambda: self.background.get("shares").argmax(axis=0).astype(np.uint16)
        )
        return codes

    # structure

    def analogram(self, items: list[str] | None, by: str, max_concepts: int | None, max_nodes: int) -> dict[str, Any]:
        with self._dear.one():
            return self.structure.analogram(items, by, max_concepts, max_nodes)

    # concepts

    def vocabulary(self) -> tuple[str, list[str], NDArray[Any] | None]:
        """Where the words come from, the words, and their vectors."""
        if self._given is not None:
            return ("given", *self._given)
        words, vectors = self.once("vocabulary", lambda: words_of_texts(self.items))
        return ("none", [], None) if vectors is None else ("texts", words, vectors)

    def _named(self) -> Vocabulary | None:
        """The words that name parts, made ready."""
        _, words, vectors = self.vocabulary()
        return None if vectors is None else Vocabulary(words, vectors)

    def concepts(self) -> dict[str, Any]:
        model = self._need_model()
        source = self.vocabulary()[0]
        captions = self.once("captions", self._captions)
        ready = self.background.has("shares")
        strongest = np.bincount(self.strongest(), minlength=len(captions)) if ready else None
        mean = self.once("mean", lambda: self.background.get("shares").mean(axis=1)) if ready else None
        top = self.once("top", self._top) if ready else None
        checked = self.checking.found if self.checking is not None else None
        labelled = dict(pair for c in self.items.columns if c.kind == "labels" for pair in zip(c.values, c.counts))
        return {
            "vocabulary": source,
            "can_check": self.checking is not None and self.checking.column is not None,
            "concepts": [
                {
                    "name": name,
                    "n_atoms": int(np.count_nonzero(model.groups_ == j)),
                    "captions": captions[j],
                    "strongest": None if strongest is None else int(strongest[j]),
                    "mean_share": None if mean is None else float(mean[j]),
                    "labelled": labelled.get(label),
                    "stability": None if checked is None else checked[j],
                    "top": [] if top is None else self._hits(top[j]),
                }
                for j, (name, label) in enumerate(zip(self.concept_names, self.label_names))
            ],
        }

    def check_stability(self, n_runs: int, seconds: float | None = None) -> None:
        """Begin to refit the model on resampled rows."""
        self._need_model()
        assert self.checking is not None
        self.checking.start(n_runs, seconds)

    def stop_stability(self) -> None:
        """Give up the refits that are under way."""
        self._need_model()
        assert self.checking is not None
        self.checking.stop()

    def cooccurrence(self) -> dict[str, Any]:
        """How often concepts are used together in greedy codes: the paper's Figure 5, atoms of a concept as one."""
        return {"concepts": self.concept_names, **self.once("cooccurrence", self._count_together)}

    def rename(self, concept: str, name: str) -> bool:
        """Give a concept another name; True if the model's file has it now."""
        model = self._need_model()
        wanted = " ".join(name.split())
        if not wanted or not wanted.isprintable():
            raise ValueError("A name must have at least one character, and only ones that can be seen.")
        with self._lock:
            j = model.cones.index(concept)
            names = self.concept_names
            if wanted in names and names[j] != wanted:
                raise Conflict(f"There is already a concept {wanted!r}.")
            if self.model_path is not None and _digest(self.model_path) != self._digest:
                raise Conflict(f"{self.model_path.name} was changed by someone else; start the explorer again.")
            before = model.concept_names_
            model.rename_concept(names[j], wanted)
            self.searcher.stored.concept_names_ = model.concept_names_
            if self.model_path is None:
                return False
            try:
                persistence.save(model, self.model_path)
            except BaseException:
                model.concept_names_ = self.searcher.stored.concept_names_ = before
                raise
            self._digest = _digest(self.model_path)
            return True

    def _need_model(self) -> ConceptSubspaces:
        if self.model is None:
            raise ValueError("There is no model: start the explorer with one to see concepts.")
        return self.model

    def _captions(self) -> list[list[dict[str, Any]]]:
        _, words, vectors = self.vocabulary()
        model = self._need_model()
        if vectors is None:
            return [[] for _ in model.concept_names_]
        found = model.captions(words, vectors, top=CAPTION_WORDS)
        return [[{"word": w, "left": left} for w, left in found[name]] for name in model.concept_names_]

    def _top(self) -> list[list[tuple[int, float]]]:
        known = self.background.get("shares")
        count = min(SHOWN, known.shape[1])
        out = []
        for share in known:
            best = np.argpartition(-share, count - 1)[:count]
            best = best[np.lexsort((best, -share[best]))]
            out.append([(int(self.items.positions[row]), float(share[row])) for row in best])
        return out

    def _count_together(self) -> dict[str, Any]:
        model = self._need_model()
        rows = sample(len(self.items), LOOKED_AT)
        vectors = self.collection.vectors(self.items.positions[rows]).astype(np.float32)
        used = self.searcher.stored.encode(vectors, method="omp") > 0
        on = np.zeros((len(rows), len(model.concept_names_)))
        for j in range(on.shape[1]):
            on[:, j] = used[:, model.groups_ == j].any(axis=1)
        counts = on.T @ on
        matrix = counts / np.maximum(counts.diagonal()[:, None], 1)
        return {"counts": counts.diagonal().astype(int).tolist(), "matrix": matrix.tolist(), "items": len(rows)}

    def once(self, name: str, compute: Any) -> Any:
        """Compute it the first time."""
        return self._kept.get(name, compute)


def inside(places: NDArray[np.float32], polygon: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which places (n, 2) lie within a polygon (m, 2), by the even-odd rule."""
    x, y = places[:, 0].astype(np.float64), places[:, 1].astype(np.float64)
    within = np.zeros(len(places), dtype=bool)
    for (x1, y1), (x2, y2) in zip(polygon, np.roll(polygon, -1, axis=0)):
        deadline.check()
        crosses = (y1 > y) != (y2 > y)
        if y1 != y2:
            within ^= crosses & (x < (x2 - x1) * ((y - y1) / (y2 - y1)) + x1)
    return within


def _checked_shape(shape: Sequence[int] | None, dimension: int) -> list[int] | None:
    """Height and width of the pictures that vectors are, and 3 if they have colours."""
    if shape is None:
        return None
    sides = [int(side) for side in shape]
    if len(sides) not in (2, 3) or min(sides) < 1 or sides[2:] not in ([], [3]) or int(np.prod(sides)) != dimension:
        raise ValueError(
            f"image_shape must be (height, width) or (height, width, 3) of {dimension} numbers, but is {tuple(sides)}."
        )
    return sides


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
