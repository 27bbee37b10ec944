"""What takes a while and is kept: layouts of the map, and what every model says of every item."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pellucid._core.deadline import Deadline, Expired
from pellucid._core.threads import aside
from pellucid.concepts import ConceptSubspaces
from pellucid.explorer import layout
from pellucid.explorer.items import Items
from pellucid.search import Collection
from pellucid.search.derived import cone_facts, derived_array

LOG = logging.getLogger("pellucid.explorer")
FOLDER = "explorer"  # beside the collection's own files
LAYOUTS = ("pca", "neighbours")
FIRST_BLOCK = 16  # rows that show how long rows take
HALF = 0.5


class NotReady(Exception):
    """Asked for something that is still being made."""


class Task(NamedTuple):
    """An array to make: its shape and type, what it depends on beside the items, and how it is computed."""

    name: str
    shape: tuple[int, int]
    dtype: type
    depends_on: tuple[Any, ...]
    compute: Callable[[layout.Progress], NDArray[Any]]


def row_task(
    name: str, items: Items, function: Callable[[NDArray[Any]], Any], width: int, dtype: type, *depends_on: Any
) -> Task:
    """What a function says of raw vectors, of all items (width, n)."""

    def compute(progress: layout.Progress) -> NDArray[Any]:
        out: NDArray[Any] = np.empty((width, len(items)), dtype=dtype)
        done, size = 0, FIRST_BLOCK
        while done < len(items):
            begun = time.monotonic()
            rows = slice(done, done + size)
            vectors = items.collection.vectors(items.positions[rows]).astype(np.float32)
            out[:, rows] = np.asarray(function(vectors)).T
            done = min(len(items), done + size)
            progress(done / len(items))
            # as many at a time as half a second takes: what is shown moves on, and nobody waits long for the end
            pace = HALF / max(time.monotonic() - begun, 1e-3)
            size = int(min(layout.BLOCK, max(1, size * min(pace, 4))))
        return out

    return Task(name, (width, len(items)), dtype, depends_on, compute)


class Background:
    """Layouts, shares and what ``more`` asks for: ``progress`` says how far each is (1.0 when it can be had).

    warm : what to call when all is made, so that nobody has to wait for a kernel that is compiled
    """

    def __init__(
        self,
        items: Items,
        model: ConceptSubspaces | None,
        more: Sequence[Task] = (),
        warm: Callable[[], object] | None = None,
    ) -> None:
        self.items, self.model, self.more, self.warm = items, model, more, warm
        self.first: Callable[[], object] | None = None  # what requests would otherwise begin again and again
        others = [*(["shares"] if model is not None else []), *(task.name for task in more)]
        # in the order in which they are made: the first that is not whole is the one under way
        self.progress = dict.fromkeys((LAYOUTS[0], *others, LAYOUTS[1]), 0.0)
        self.failed: dict[str, str] = {}
        self._made: dict[str, NDArray[Any]] = {}
        self.ends = Deadline()  # of all that is not for one request
        self._thread = threading.Thread(target=self._run, name="pellucid-explorer", daemon=True)

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def run(self) -> None:
        """Make everything now, in a thread of its own all the same: one that has given way stays behind for good."""
        self.start()
        try:
            self._thread.join()
        finally:
            self.stop()

    def stop(self) -> None:
        self.ends.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Until everything is ready; False if that took longer."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def get(self, name: str) -> NDArray[Any]:
        if name in self.failed:
            raise ValueError(f"The {name} could not be computed: {self.failed[name]}")
        if name not in self._made:
            raise NotReady(f"The {name} is still being computed ({self.progress.get(name, 0):.0%} done).")
        return self._made[name]

    def has(self, name: str) -> bool:
        return name in self._made

    def _run(self) -> None:
        # one core is enough for the background: the others answer, and threads that wait for each other wait long
        with aside(), threadpool_limits(limits=1, user_api="openmp"), self.ends.held(), suppress(Expired):
            self._prepare()

    def _prepare(self) -> None:
        items, collection = self.items, self.items.collection
        if self.first is not None:
            self.first()
        axes: list[layout.Axes] = []

        def shared_axes(progress: layout.Progress = layout.unheard) -> layout.Axes:
            if not axes:
                axes.append(layout.Axes(collection, items.positions, progress))
            return axes[0]

        def pca(progress: layout.Progress) -> NDArray[np.float32]:
            return layout.pca(collection, items.positions, shared_axes(progress), progress)

        def neighbours(progress: layout.Progress) -> NDArray[np.float32]:
            return layout.neighbours(collection, items.positions, shared_axes(), self._made["pca"], progress)

        places = (len(items), 2)
        self._make(Task("pca", places, np.float32, (), pca))
        if self.model is not None:
            width, facts = len(self.model.concept_names_), cone_facts(self.model)
            self._make(row_task("shares", items, self.model.shares, width, np.float32, *facts))
        for task in self.more:
            self._make(task)
        if "pca" in self._made:
            self._make(Task("neighbours", places, np.float32, (), neighbours))
        if self.warm is not None:
            self.warm()

    def _make(self, task: Task) -> None:
        """Take what is kept of it, or compute it."""
        name = task.name

        def progress(share: float) -> None:
            self.ends.check()
            self.progress[name] = min(share, 0.99)

        try:
            collection = self.items.collection
            if isinstance(collection, Collection):
                segments = [key for key, _ in collection.segments]
                self._made[name] = derived_array(
                    collection.folder / FOLDER, name, (segments, self.items.positions, *task.depends_on), task.shape,
                    task.dtype, lambda: task.compute(progress), alone=True,
                )  # fmt: skip
            else:  # nothing is kept beside a table that is not ours
                self._made[name] = task.compute(progress)
            self.progress[name] = 1.0
        except Expired:
            raise
        except Exception as error:
            LOG.exception("The %s could not be computed.", name)
            self.failed[name] = f"{type(error).__name__}."
