"""Search by FAISS: all rows, a graph of neighbours, or lists of quantised rows."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pellucid._core.arrays import unit_rows
from pellucid._core.extras import require
from pellucid._core.threads import get_threads
from pellucid.search._rows import Positions, Rows
from pellucid.search.engines import ROUGHLY, Engine, check_counts, check_kind
from pellucid.search.engines._filters import matching
from pellucid.search.engines._index_file import index_bytes, read_index, write_index
from pellucid.search.engines.exact import ExactEngine, rank, shortlist_length

KINDS = ("flat", "hnsw", "ivfpq")
BLOCK = 16_384
# entries of a codebook whose codes are bytes, and rows that k-means wants for each list
CODEBOOK = 256
PER_LIST = 39
# what was learned from the rows is learned again when there are that many times more
GROWTH = 4
# the file is written again when there is this share of rows that it lacks
LACKING = 1 / 8


class FaissEngine(Engine):
    """Cosines by inner products of unit vectors, then once more in float64 from the stored rows.

    Parameters
    ----------
    kind : {"flat", "hnsw", "ivfpq"}, default="flat"
        All rows are looked at, a graph of neighbours is walked, or rows are coded by product quantisation and kept in
        lists, of which the nearest are looked at.
    links : int, default=32
        Neighbours of a row in the graph.
    ef_construction : int, default=40
        How many rows are looked at to find them.
    ef_search : int, default=80
        How many rows a walk keeps in view; more find more and take longer.
    lists : int, default=None
        Number of lists; the root of the number of rows if None.
    probes : int, default=None
        How many of them are looked at; a tenth, at least 16, if None.
    code_bytes : int, default=None
        Bytes of a coded row, a divisor of the dimension; the least that is an eighth of it if None.
    refine : int, default=4
        How many coded rows are looked at again, for each that is asked for; 0 trusts the codes and never touches the
        stored rows, so that scores are approximate (rows that a model centres are looked at all the same).

    Raises
    ------
    ValueError
        If an option is out of its range.
    """

    def __init__(
        self,
        kind: str = "flat",
        *,
        links: int = 32,
        ef_construction: int = 40,
        ef_search: int = 80,
        lists: int | None = None,
        probes: int | None = None,
        code_bytes: int | None = None,
        refine: int = 4,
    ) -> None:
        check_kind(kind, KINDS)
        check_counts(links=links, ef_construction=ef_construction, ef_search=ef_search, lists=lists, probes=probes,
                     code_bytes=code_bytes)  # fmt: skip
        check_counts(0, refine=refine)
        if links < 2:
            raise ValueError("links must be at least 2, or the graph falls apart.")
        self._faiss = require("faiss", "search")
        self.kind, self.links, self.ef_construction, self.ef_search = kind, links, ef_construction, ef_search
        self.lists, self.probes, self.code_bytes, self.refine = lists, probes, code_bytes, refine
        self._gate = _Gate()
        self._index: Any = None
        self._keys: list[str] = []
        self._learned_from = 0  # rows
        self._stored = 0  # rows in the file

    # taking rows in

    def load(
        self,
        segments: Sequence[NDArray[Any]],
        alive: NDArray[np.bool_],
        keys: Sequence[str] = (),
        folder: Path | None = None,
        items: Sequence[Any] = (),
    ) -> None:
        with self._gate.changing():
            self._faiss.omp_set_num_threads(get_threads())
            self._rows, self._alive, self._count = Rows(segments), alive, int(np.count_nonzero(alive))
            self._items = items
            self._exact: ExactEngine | None = None
            path = None if folder is None or not keys or self.kind == "flat" else folder / f"faiss-{self.kind}.index"
            if self._index is None and path is not None:
                self._read(path, list(keys))
            if not keys or list(keys[: len(self._keys)]) != self._keys or self._outgrown():
                self._index = None
            if self._index is None:
                self._index, self._stored = self._empty(), 0
                self._learned_from = 0 if self._kept_whole() else len(self._rows)
            self._append(self._index.ntotal)
            self._keys = list(keys)
            if path is not None and len(self._rows) - self._stored > LACKING * self._stored and not self._kept_whole():
                self._write(path)

    def _outgrown(self) -> bool:
        """Whether what was learned from the first rows is too little for those that there are now."""
        return self.kind == "ivfpq" and len(self._rows) >= max(CODEBOOK, GROWTH * self._learned_from)

    def _kept_whole(self) -> bool:
        return isinstance(self._index, self._faiss.IndexFlat)

    def _empty(self) -> Any:
        """An index that has learned what it needs, without rows."""
        d = self._rows.segments[0].shape[1]
        if self.kind == "hnsw":
            index = self._faiss.IndexHNSWFlat(d, self.links, self._faiss.METRIC_INNER_PRODUCT)
            index.hnsw.efConstruction = self.ef_construction
            return index
        if self.kind == "ivfpq" and len(self._rows) >= CODEBOOK:
            return self._quantiser(d)
        if self.kind == "ivfpq":
            warnings.warn(
                f"A codebook takes {CODEBOOK} rows to learn, and there are {len(self._rows)}: they are kept whole "
                "until there are more.",
                stacklevel=2,
            )
        return self._faiss.IndexFlatIP(d)

    def _quantiser(self, d: int) -> Any:
        n = len(self._rows)
        possible = max(1, n // PER_LIST)
        lists = min(self.lists or round(np.sqrt(n)), possible)
        if self.lists is not None and lists < self.lists:
            warnings.warn(f"{self.lists} lists take {self.lists * PER_LIST} rows to learn, and there are {n}: {lists} "
                          "lists are made.", stacklevel=2)  # fmt: skip
        size = self.code_bytes or next(m for m in range(-(-d // 8), d + 1) if d % m == 0)
        if d % size:
            divisors = ", ".join(str(m) for m in range(1, d + 1) if d % m == 0)
            raise ValueError(f"code_bytes must divide the dimension {d}: {divisors}.")
        metric = self._faiss.METRIC_INNER_PRODUCT
        coarse = self._faiss.IndexFlatIP(d)
        index = self._faiss.IndexIVFPQ(coarse, d, lists, size, 8, metric)
        coarse.this.disown()
        index.own_fields = True
        for clustering in (index.cp, index.pq.cp):
            clustering.min_points_per_centroid = 1  # what there is must do
        sample = np.random.default_rng(0).permutation(n)[: max(64 * lists, 64 * CODEBOOK)]
        # on one thread: the codebooks are thousands of tiny products, and threads that wait for each other after every
        # one of them take ten times as long as soon as anything else runs on the machine
        self._faiss.omp_set_num_threads(1)
        index.train(_units(self._rows.take(np.sort(sample))))
        self._faiss.omp_set_num_threads(get_threads())
        return index

    def _append(self, start: int) -> None:
        for _, block in self._rows.blocks(start, len(self._rows), BLOCK):
            self._index.add(_units(block))

    # the file

    def _made_by(self) -> dict[str, Any]:
        """What decides how an index comes out."""
        return {"format": 1, "kind": self.kind, "links": self.links, "ef_construction": self.ef_construction,
                "lists": self.lists, "code_bytes": self.code_bytes}  # fmt: skip

    def _read(self, path: Path, keys: list[str]) -> None:
        made_by = self._made_by()
        found = read_index(path, lambda h: h["made_by"] == made_by and h["keys"] == keys[: len(h["keys"])])
        if found is None:
            return
        header, index = found
        rows = int(self._rows.starts[len(header["keys"])])
        if (index.ntotal, index.d) != (rows, self._rows.segments[0].shape[1]):
            return
        if self.kind == "hnsw":  # the graph alone is in the file
            flat = self._faiss.IndexFlatIP(index.d)
            for _, block in self._rows.blocks(0, rows, BLOCK):
                flat.add(_units(block))
            index.storage = flat
            flat.this.disown()
            index.own_fields = True
        self._index, self._keys, self._stored, self._learned_from = index, header["keys"], rows, header["learned_from"]

    def _write(self, path: Path) -> None:
        header = {"made_by": self._made_by(), "keys": self._keys, "learned_from": self._learned_from}
        write_index(path, header, self._index, self._faiss.IO_FLAG_SKIP_STORAGE if self.kind == "hnsw" else 0)
        self._stored = len(self._rows)

    @property
    def nbytes(self) -> int:
        """What the index takes."""
        with self._gate.searching():
            return index_bytes(self._index)

    # searching

    def search(
        self, queries: NDArray[Any], k: int, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> tuple[Positions, NDArray[np.float64]]:
        return self._nearest(queries, k, k, where, center)

    def shortlist(
        self, queries: NDArray[Any], k: int, where: Any = None, center: NDArray[np.float64] | None = None
    ) -> Positions:
        # where a graph reaches fewer, a tenth of them will do: to look at all rows would take many times as long
        # and who ranks them again need not have them in the order of their cosines in float64
        return self._nearest(
            queries, k if center is None else max(k, ROUGHLY), -(-k // 10), where, None, in_order=False
        )[0]

    def _nearest(
        self, queries: NDArray[Any], k: int, least: int, where: Any, center: NDArray[np.float64] | None,
        in_order: bool = True,
    ) -> tuple[Positions, NDArray[np.float64]]:  # fmt: skip
        """The best k that the index finds, or at least ``least`` of them, as many for each query."""
        with self._gate.searching():
            wanted = unit_rows(np.asarray(queries, dtype=np.float64))
            alive, count = self._alive, self._count
            if where is not None:
                alive = alive & matching(where, self._items, len(self._rows))
                count = int(np.count_nonzero(alive))
            k = min(k, count)
            positions, scores = np.empty((len(wanted), k), dtype=np.int64), np.empty((len(wanted), k))
            if k == 0:
                return positions, scores
            reached = k
            coded = not self._kept_whole() and self.kind == "ivfpq"
            length = shortlist_length(k, center)
            length = min(count, max(k * self.refine, k if center is None else length) if coded else length)
            self._faiss.omp_set_num_threads(get_threads())
            rough, places = self._index.search(
                wanted.astype(np.float32), length, params=self._parameters(alive, length)
            )
            for i, (place, score) in enumerate(zip(places, rough)):
                found = np.flatnonzero(place >= 0)
                kept = slice(min(k, len(found)))
                if len(found) < min(least, k):  # too few could be reached: look at all
                    all_rows = self._all_rows().search(wanted[i : i + 1], k, where, center)
                    positions[i], scores[i] = (part[0] for part in all_rows)
                    continue
                reached = min(reached, len(found))
                if not (in_order or coded) or (coded and self.refine == 0 and center is None):
                    positions[i, kept], scores[i, kept] = place[found[:k]], score[found[:k]]
                else:
                    positions[i, kept], scores[i, kept] = rank(self._rows, place[found], wanted[i], k, center)
            return positions[:, :reached], scores[:, :reached]

    def _parameters(self, alive: NDArray[np.bool_], length: int) -> Any:
        options: dict[str, Any] = {}
        if not alive.all():
            options["sel"] = self._faiss.IDSelectorBitmap(np.packbits(alive, bitorder="little"))
        if self._kept_whole():
            return self._faiss.SearchParameters(**options)
        if self.kind == "hnsw":
            return self._faiss.SearchParametersHNSW(efSearch=max(self.ef_search, length), **options)
        lists = self._index.nlist
        return self._faiss.SearchParametersIVF(nprobe=min(lists, self.probes or max(16, lists // 10)), **options)

    def _all_rows(self) -> ExactEngine:
        if self._exact is None:
            engine = ExactEngine()
            engine.load(self._rows.segments, self._alive, items=self._items)
            self._exact = engine
        return self._exact


class _Gate:
    """Any number may search at once; whoever changes the index waits for them and keeps others out."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._searching = 0

    @contextmanager
    def searching(self) -> Iterator[None]:
        with self._condition:
            self._searching += 1
        try:
            yield
        finally:
            with self._condition:
                self._searching -= 1
                self._condition.notify_all()

    @contextmanager
    def changing(self) -> Iterator[None]:
        with self._condition:
            self._condition.wait_for(lambda: self._searching == 0)
            yield


def _units(rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(unit_rows(np.asarray(rows, dtype=np.float32)))
