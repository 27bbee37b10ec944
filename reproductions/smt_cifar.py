"""CIFAR-10 by threshold codes (paper 4, Table 6): accuracy against the number of training images."""

from __future__ import annotations

import os
import time

import numpy as np

from pellucid.datasets import load_cifar10
from pellucid.manifold import PatchManifoldTransform
from pellucid.metrics import cosine_neighbours, neighbour_vote, top_k

PAPER = {1000: 58.7, 2000: 63.7, 4000: 67.2, 8000: 70.7, 16000: 74.0, 32000: 77.4, 50000: 79.4}
RECIPE = {"code": "threshold", "threshold": 0.3, "n_components": 384, "whitening": 1e-3, "augment": "flip"}
SKIPS = (0, 4, 8, 16)
K = 30


def nearest_of_both(train, mirrored, test, k=K):
    """The nearest among training images and their mirror images."""
    which, cosines = cosine_neighbours(train, test, k)
    other, reflected = cosine_neighbours(mirrored, test, k)
    values, names = np.hstack([cosines, reflected]), np.hstack([which, other])
    best = top_k(values, k)
    return np.take_along_axis(names, best, axis=1), np.take_along_axis(values, best, axis=1)


def correct(model, train, labels, images, truth, block=1000):
    """How many test images are told right by training images and their mirror images, a block at a time."""
    vectors = model.transform_with_mirror(train)
    right = 0
    for start in range(0, len(images), block):
        which, cosines = nearest_of_both(*vectors, model.transform(images[start : start + block]))
        right += int(np.sum(neighbour_vote(labels[which], cosines) == truth[start : start + block]))
        done = start + len(which)
        print(f"{done} test images: {100 * right / done:.2f} %", flush=True)
    return right


def chosen_skip(x, y, n_atoms, n=2000, held_out=1000):
    """How many dimensions to leave out, on training images that are held out."""
    model = PatchManifoldTransform(6, n_atoms, **{**RECIPE, "n_components": 384 + max(SKIPS)}, skip=0, random_state=1)
    model.fit(x[:n])
    P, found = model.components_, {}
    for skip in SKIPS:
        model.components_ = P[skip : skip + 384]
        right = correct(model, x[:n], y[:n], x[n : n + held_out], y[n : n + held_out])
        found[skip] = 100 * right / held_out
        print("skip", skip, found[skip], flush=True)
    return max(found, key=lambda skip: (found[skip], -skip)), found


def curve(save, sizes=None, n_test=10_000, n_atoms=8192, skip=None):
    """The learning curve; ``SMT_SIZES`` in the environment names other sizes, and ``SMT_TEST`` fewer test images."""
    sizes = sizes or [int(size) for size in os.environ.get("SMT_SIZES", "1000,4000,16000,50000").split(",")]
    n_test = int(os.environ.get("SMT_TEST", n_test))
    data = load_cifar10()
    skip, held_out = chosen_skip(data.x_train[-4000:], data.y_train[-4000:], n_atoms)
    test, truth = data.x_test[:n_test], data.y_test[:n_test]
    lines = [
        f"{n_atoms} atoms (half of them patches, half their mirror images), threshold 0.3, 384 dimensions after "
        f"leaving out {skip}, which was chosen on 1 000 held-out training images ("
        + ", ".join(f"{s}: {a:.1f} %" for s, a in held_out.items())
        + f"). {n_test} test images; standard error {100 * np.sqrt(0.7 * 0.3 / n_test):.2f} points. Mirror images are "
        "learned from and are among the neighbours.\n",
        "| training images | paper | ours | fit | vectors and neighbours |",
        "| --- | --- | --- | --- | --- |",
    ]
    for n in sizes:
        begun = time.perf_counter()
        model = PatchManifoldTransform(6, n_atoms, **RECIPE, skip=skip, dtype="float16", random_state=0)
        model.fit(data.x_train[:n])
        fitted = time.perf_counter()
        print(n, "fit", fitted - begun, flush=True)
        right = correct(model, data.x_train[:n], data.y_train[:n], test, truth)
        done = time.perf_counter()
        lines.append(
            f"| {n} | {PAPER[n]:.1f} | {100 * right / n_test:.2f} | {fitted - begun:.0f} s | {done - fitted:.0f} s |"
        )
        save("\n".join(lines) + "\n")
