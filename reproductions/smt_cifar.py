"""CIFAR-10 by threshold codes (paper 4, Table 6): accuracy against the number of training images.

The sizes are nested. The first 1 000 images make whitening and dictionary for all of them, statistics add up from one
size to the next, and every image is coded once: codes are kept in the folder ``SMT_CACHE`` (160 MB for 1 000 images),
as is everything else that was found, so a run that was stopped goes on. Without it they are in a folder that goes when
the run ends.
"""

from __future__ import annotations

import atexit
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pellucid._core.atomic import atomic_path
from pellucid._core.threads import one_blas_thread
from pellucid.manifold import PatchManifoldTransform
from pellucid.manifold.nearest_codes import pooled
from pellucid.manifold.patches import Images
from pellucid.manifold.spectral import solve_pairs
from pellucid.manifold.statistics import PairStatistics
from pellucid.manifold.threshold_codes import ActiveAtoms, active_atoms, add_whole_images
from pellucid.metrics import neighbour_vote
from pellucid.metrics.neighbours import merge_neighbours
from reproductions.data import load_cifar10
from reproductions.smt_mnist import Stopwatch, kept, peak, told

PAPER = {1000: 58.7, 2000: 63.7, 4000: 67.2, 8000: 70.7, 16000: 74.0, 32000: 77.4, 50000: 79.4}
RECIPE = {"code": "threshold", "threshold": 0.3, "n_components": 384, "whitening": 1e-3, "augment": "flip"}
SKIPS = (0, 4, 8, 16)
ATOMS = 8192
K = 30
# images whose codes are in one file, and that are counted or embedded at once
PART, BLOCK = 1000, 250


@cache
def folder():
    """``SMT_CACHE``, or a folder that goes when the run ends."""
    if "SMT_CACHE" not in os.environ:
        passing = TemporaryDirectory(prefix="pellucid-smt-")
        atexit.register(passing.cleanup)
        os.environ["SMT_CACHE"] = passing.name
    path = Path(os.environ["SMT_CACHE"])
    path.mkdir(parents=True, exist_ok=True)
    return path


def started(images, watch):
    """A model with whitening and dictionary."""
    model = PatchManifoldTransform(6, ATOMS, **RECIPE, random_state=0)
    model._validate_params()

    def make():
        model._start(Images(images, grey=False))
        return {"atoms_": model.atoms_, "whitening_": model.whitening_, "image_shape_": model.image_shape_}

    for name, value in kept("cifar-dictionary", "dictionary", watch, make).items():
        setattr(model, name, value)
    return model


def coded(model, images, split, first, watch):
    """Active atoms of PART images, from the cache if they are there."""
    path = folder() / f"cifar-codes-{split}-{first}.npy"

    def make():
        parts = []
        for start in range(first, first + PART, BLOCK):
            patches, present = model._preparation()(images.take(slice(start, start + BLOCK)))
            parts.append(active_atoms(patches, present, model.atoms_, model.threshold))
        with atomic_path(path) as draft:
            np.save(draft, np.concatenate([part.active for part in parts]))
        return {"counts": np.concatenate([np.diff(part.begin) for part in parts])}

    counts = kept(f"cifar-codes-{split}-{first}", "codes", watch, make)["counts"]
    return ActiveAtoms(np.load(path), np.concatenate([[0], np.cumsum(counts)]))


def counted(model, images, n, watch):
    """Statistics of the first n images, from those of the largest size before that are in the cache."""
    sizes = [int(path.stem.split("-")[-1]) for path in folder().glob("cifar-statistics-*.npy")]
    done = max((size for size in sizes if size <= n), default=0)
    shape = (2, ATOMS, ATOMS)
    sums = np.load(folder() / f"cifar-statistics-{done}.npy") if done else np.zeros(shape)
    statistics = PairStatistics(*sums)
    each = int(np.prod(model._grid()))
    for first in range(done, n, PART):
        codes = coded(model, images, "train", first, watch)
        for start in range(0, PART, 2 * BLOCK):
            begin = codes.begin[start * each : (start + 2 * BLOCK) * each + 1]
            add_whole_images(ActiveAtoms(codes.active[begin[0] : begin[-1]], begin - begin[0]), 2 * BLOCK, statistics)
        watch("V and C")
    if done < n:
        with atomic_path(folder() / f"cifar-statistics-{n}.npy") as draft:
            np.save(draft, sums)
        watch("V and C")
    return statistics


def solved(model, images, n, n_components, watch):
    """P of the first n images, none of its first dimensions left out."""

    def make():
        statistics = counted(model, images, n, watch)
        with one_blas_thread():
            P, values = solve_pairs(statistics, n_components, 0, mirror=True)
        return {"P": P.astype(np.float32), "values": values}

    return kept(f"cifar-P-{n}", "eigenvectors", watch, make)["P"]


def vectors(model, codes, start, stop, mirror):
    """Vectors of images whose codes are at hand, float32, and those of their mirror images."""
    embed, places = model._embedder_of_active(codes, mirror), model._places()
    made = [np.empty((stop - start, model._n_features_out), dtype=np.float32) for _ in range(1 + mirror)]
    pooled(lambda i: embed(start + i), stop - start, places, model.pool, model.stride, made)
    return made


def predicted(model, images, labels, n, queries, watch, name):
    """Labels that the first n images and their mirror images vote for; what was found is kept after every part."""
    which = np.zeros((len(queries), K), dtype=np.int64)
    best = np.full((len(queries), K), -np.inf, dtype=np.float32)
    for first in range(0, n, PART):

        def make(first=first, which=which, best=best):
            codes = coded(model, images, "train", first, watch)
            which, best = which.copy(), best.copy()
            for start in range(0, PART, BLOCK):
                both = np.concatenate(vectors(model, codes, start, start + BLOCK, mirror=True))
                watch("embedding")
                merge_neighbours(which, best, both, np.tile(np.arange(BLOCK), 2) + first + start, queries)
                watch("neighbours")
            return {"which": which, "best": best}

        found = kept(f"{name}-near-{first}", "neighbours", watch, make)
        which, best = found["which"], found["best"]
    return neighbour_vote(labels[which], best)


def chosen_skip(model, images, labels, watch, n=2000, held_out=2000):
    """How many dimensions to leave out, by training images that are held out."""
    P = solved(model, images, n, 384 + max(SKIPS), watch)

    def make():
        found = []
        for skip in SKIPS:
            model.components_ = P[skip : skip + 384]
            queries = np.concatenate(
                [
                    vectors(model, coded(model, images, "train", first, watch), 0, PART, mirror=False)[0]
                    for first in range(n, n + held_out, PART)
                ]
            )
            said = predicted(model, images, labels, n, queries, watch, f"cifar-skip-{skip}")
            found.append(100 * np.mean(said == labels[n : n + held_out]))
            print("skip", skip, found[-1], flush=True)
        return {"found": np.array(found)}

    found = kept("cifar-skips", "choice of skip", watch, make)["found"]
    return SKIPS[int(np.argmax(found))], dict(zip(SKIPS, found))


def curve(save):
    """The learning curve; ``SMT_SIZES`` in the environment names other sizes."""
    named = os.environ.get("SMT_SIZES")
    sizes = list(map(int, named.split(","))) if named else list(PAPER)
    data, watch = load_cifar10(), Stopwatch()
    images, test = Images(data.x_train, grey=False), Images(data.x_test, grey=False)
    n_test = len(test)
    model = started(data.x_train[:PART], watch)
    skip, held_out = chosen_skip(model, images, data.y_train, watch)
    lines = [
        f"{ATOMS} atoms (half of them patches of the first 1 000 images, half their mirror images), threshold 0.3, 384 "
        f"dimensions after leaving out {skip}, which was chosen on 2 000 held-out training images with 2 000 others ("
        + ", ".join(f"{s}: {a:.1f} %" for s, a in held_out.items())
        + f"). All {n_test} test images; standard error {100 * np.sqrt(0.7 * 0.3 / n_test):.2f} points. Mirror images "
        "are learned from and are among the neighbours. Seconds by the clock, pauses and other work included, and in "
        "brackets of both cores added up. Statistics add up from size to size, so a row counts what it added.\n",
        "| training images | paper | ours | V and C | eigenvectors | embedding | neighbours | peak memory |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for n in sizes:
        watch.stages.clear()

        def make(n=n):
            P = solved(model, images, n, 384 + max(SKIPS), watch)
            model.components_ = P[skip : skip + 384]
            queries = np.empty((n_test, model._n_features_out), dtype=np.float32)
            for first in range(0, n_test, PART):
                codes = coded(model, test, "test", first, watch)
                queries[first : first + PART] = vectors(model, codes, 0, PART, mirror=False)[0]
                watch("embedding")
            said = predicted(model, images, data.y_train, n, queries, watch, f"cifar-{n}")
            stages = {stage.replace(" ", "_"): spent for stage, spent in watch.stages.items()}
            return {"accuracy": 100 * np.mean(said == data.y_test), "peak": peak(), **stages}

        found = kept(f"cifar-accuracy-{n}", "all", watch, make)
        stages = ("V_and_C", "eigenvectors", "embedding", "neighbours")
        spent = " | ".join(told(found[stage]) if stage in found else "–" for stage in stages)
        lines.append(f"| {n} | {PAPER[n]:.1f} | {found['accuracy']:.2f} | {spent} | {found['peak']:.1f} GB |")
        save("\n".join(lines) + f"\n\nThe codes of 1 000 images take {told(coding())} s.\n")


def coding():
    """What the codes of PART images took: the median, since a run may have been stopped in between."""
    return np.median([np.load(path)["spent"] for path in folder().glob("smt-cifar-codes-*.npz")], axis=0)
