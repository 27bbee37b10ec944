"""The sparse manifold transform: nearest atoms beside FAISS and NumPy, threshold codes beside NumPy and SciPy, digits
beside what else a user would take, and growth with the number of images. ``python -m benchmarks.manifold nearest
levels codes digits growth`` runs what it names."""

import resource
import sys
import time
from pathlib import Path

import numpy as np
from reproductions.data import load_cifar10, load_mnist
from scipy import sparse

from benchmarks.harness import Row, compare, report
from pellucid.manifold import PatchManifoldTransform, SphericalKMeans
from pellucid.manifold.nearest import build_cells, nearest_atoms, nearest_by_product
from pellucid.manifold.patches import Images
from pellucid.manifold.statistics import PairStatistics
from pellucid.manifold.threshold_codes import active_atoms, add_whole_images, sum_of_atoms
from pellucid.metrics import soft_knn_accuracy
from pellucid.solvers import set_threads

SETTINGS = {"context": 3, "whitening": 0.3, "contrast": 0.8, "random_state": 0}


def run(results: Path, names: list[str] | None = None) -> None:
    for name in names or SECTIONS:
        title, make, packages = SECTIONS[name]
        report(f"manifold-{name}", title, make(), results, *packages)
        table = results / f"manifold-{name}.md"
        said = table.read_text(encoding="utf-8").replace(f"benchmarks manifold-{name}", f"benchmarks.manifold {name}")
        table.write_text(said, encoding="utf-8")


def prepared_patches(n, n_atoms):
    """Whitened unit patches of MNIST, and atoms: patches of other images after two iterations of k-means."""
    images = Images(load_mnist().x_train, grey=False)
    model = PatchManifoldTransform(6, n_atoms, n_samples=8 * n_atoms, max_iter=2, **SETTINGS)
    model._validate_params()
    model._start(images)
    parts, have = [], 0
    for start in range(20_000, 60_000, 128):
        rows, present = model._preparation()(images.take(slice(start, start + 128)))
        parts.append(rows[present])
        have += len(parts[-1])
        if have >= n:
            return np.ascontiguousarray(np.concatenate(parts)[:n]), model.atoms_
    raise ValueError(f"There are only {have} patches.")


TILES = ((1000, 2048), (256, 1024), (4000, 4096))


def tiled(X, atoms, rows, columns):
    """Largest product by blocks of NumPy products."""
    best, which = np.full(len(X), -np.inf, np.float32), np.zeros(len(X), np.int64)
    out = np.empty((rows, columns), np.float32)
    for start in range(0, len(X), rows):
        block = X[start : start + rows]
        for first in range(0, len(atoms), columns):
            products = np.matmul(block, atoms[first : first + columns].T, out=out[: len(block)])
            near = products.argmax(axis=1)
            value = products[np.arange(len(block)), near]
            better = value > best[start : start + rows]
            best[start : start + rows][better] = value[better]
            which[start : start + rows][better] = near[better] + first
    return which


def nearest(n=1_000_000, n_atoms=16_384):
    """Nearest atom of patches. NumPy has the tiles that are fastest on a part."""
    import faiss

    X, atoms = prepared_patches(n, n_atoms)
    cells = build_cells(atoms)
    index = faiss.IndexFlatIP(X.shape[1])
    index.add(atoms)
    nearest_atoms(X[:512], atoms, cells)  # warm
    part = X[:20_000]
    trial = compare("tiles", {str(size): lambda size=size: tiled(part, atoms, *size) for size in TILES}, rounds=2)
    size = TILES[int(np.argmin(list(trial.best.values())))]
    found = {}
    row = compare(
        f"nearest of {n_atoms} atoms, {n} patches of 36 numbers, exact",
        {
            "ours, exact": lambda: found.update(ours=nearest_atoms(X, atoms, cells)[0]),
            "FAISS flat": lambda: found.update(faiss=index.search(X, 1)[1][:, 0]),
            f"NumPy, tiles of {size[0]} × {size[1]}": lambda: found.update(numpy=tiled(X, atoms, *size)),
            "NumPy, the same on two threads": lambda: nearest_by_product(X, atoms),
        },
        rounds=2,
        target="2× FAISS, 1.5× NumPy",
    )
    said = []
    for name in ("faiss", "numpy"):
        other = np.flatnonzero(found["ours"] != found[name])
        ours, theirs = (atoms[found[of][other]].astype(np.float64) for of in ("ours", name))
        lost = max(0.0, np.einsum("ij,ij->i", X[other], theirs - ours).max(initial=0.0))
        said.append(f"as {name} {100 - 100 * len(other) / n:.3f} % (else a cosine {lost:.0e} lower at most)")
    row.agreement = "same atom " + ", ".join(said)
    return [row, kmeans(X[:100_000], n_atoms // 8)]


def levels(n=200_000, n_atoms=16_384, rounds=6):
    """The approximate search beside the exact one: processor seconds on one thread, which other work disturbs less."""
    X, atoms = prepared_patches(n, n_atoms)
    set_threads(1)
    coarse, cells = build_cells(atoms, exact=False), build_cells(atoms)
    ways = {
        "ours, two levels": lambda: nearest_atoms(X, atoms, coarse),
        "ours, exact": lambda: nearest_atoms(X, atoms, cells),
        "NumPy, tiles of 256 × 1024": lambda: nearest_by_product(X, atoms),
    }
    for way in (coarse, cells):
        nearest_atoms(X[:512], atoms, way)  # warm
    times, found = {name: [] for name in ways}, {}
    for turn in range(rounds):
        for name, way in ways.items():
            if name.startswith("ours") or not turn:
                begun = time.process_time()
                found[name] = way()[0]
                times[name].append(time.process_time() - begun)
    set_threads(None)
    recall = 100 * np.mean(found["ours, two levels"] == found["ours, exact"])
    return [
        Row(
            f"nearest of {n_atoms} atoms, {n} patches, one thread, processor time",
            {name: min(spent) for name, spent in times.items()},
            {name: float(np.median(spent)) for name, spent in times.items()},
            f"{recall:.2f} % recall",
            "5× exact at 99 %",
        )
    ]


def kmeans(X, n_clusters):
    """Five iterations from random rows, beside FAISS and scikit-learn."""
    import faiss
    from sklearn.cluster import MiniBatchKMeans

    kept = {}

    def by_faiss():
        found = faiss.Kmeans(X.shape[1], n_clusters, niter=5, spherical=True, seed=0, max_points_per_centroid=10**9)
        found.train(X)
        kept["FAISS"] = found.centroids

    def ours():
        kept["ours"] = SphericalKMeans(n_clusters, max_iter=5, tol=0, random_state=0).fit(X).cluster_centers_

    def by_sklearn():
        found = MiniBatchKMeans(n_clusters, max_iter=5, n_init=1, batch_size=16_384, random_state=0).fit(X)
        kept["scikit-learn"] = found.cluster_centers_

    candidates = {"ours": ours, "FAISS Kmeans(spherical=True)": by_faiss, "scikit-learn MiniBatchKMeans": by_sklearn}
    row = compare(
        f"k-means on the sphere, {n_clusters} centroids, {len(X)} patches, 5 iterations", candidates, rounds=2
    )
    cosines = {
        name: np.mean((X[:20_000] @ (centres / np.linalg.norm(centres, axis=1, keepdims=True)).T).max(axis=1))
        for name, centres in kept.items()
    }
    row.agreement = "mean cosine " + ", ".join(f"{name} {value:.4f}" for name, value in cosines.items())
    return row


def codes(n=24, n_atoms=8192, n_components=384):
    """Threshold codes of CIFAR-10 patches: the three stages beside the obvious NumPy and SciPy."""
    images = Images(load_cifar10().x_train[:n], grey=False)
    model = PatchManifoldTransform(6, n_atoms, "threshold", augment="flip", random_state=0)
    model._validate_params()
    model._start(images)
    X, present = model._preparation()(images.take(slice(0, n)))
    atoms, each = model.atoms_, len(X) // n
    table = np.random.default_rng(0).standard_normal((n_atoms, n_components)).astype(np.float32)
    active = active_atoms(X, present, atoms, 0.3)
    A = active.sparse(n_atoms).astype(np.float32)
    zeros = PairStatistics(np.zeros((n_atoms, n_atoms)), np.zeros((n_atoms, n_atoms)))
    add_whole_images(active, n, zeros)  # warm
    sum_of_atoms(active, table, 0, 2)
    told = f"{len(active.active) / len(X):.0f} of {n_atoms} atoms active in a patch"
    encode = compare(
        f"threshold codes of {n} images",
        {
            "ours": lambda: active_atoms(X, present, atoms, 0.3),
            "NumPy product, csr_array": lambda: [
                sparse.csr_array((X[s : s + 2048] @ atoms.T) >= np.float32(0.3)) for s in range(0, len(X), 2048)
            ],
        },
        rounds=3,
        agreement=told,
    )
    sums = sparse.kron(sparse.eye_array(n), np.ones((1, each)), format="csr")

    def scipy_statistics():
        s = (sums @ A).toarray()
        return (A.T @ A).toarray(), s.T @ s

    second = compare(
        f"V and C of {n} images",
        {"ours": lambda: add_whole_images(active, n, zeros), "SciPy sparse product, NumPy product": scipy_statistics},
        rounds=3,
    )
    embed = compare(
        f"embedding of {n} images in {n_components} dimensions, one thread",
        {
            "ours": lambda: sum_of_atoms(active, table, 0, len(X)),
            "SciPy sparse times dense, norms": lambda: unit(A @ table),
        },
        rounds=3,
    )
    return [encode, second, embed]


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def digits(n=10_000, n_test=10_000):
    """The same classifier on raw pixels, PCA, UMAP, learned sparse features, and ours."""
    data = load_mnist()
    x, y, test, truth = data.x_train[:n], data.y_train[:n], data.x_test[:n_test], data.y_test[:n_test]
    flat, flat_test = (a.reshape(len(a), -1).astype(np.float32) / 255 for a in (x, test))
    rows = []

    def add(name, make):
        begun = time.perf_counter()
        train, new = make()
        spent = time.perf_counter() - begun
        score = soft_knn_accuracy(train, y, new, truth)
        rows.append(Row(name, {name: spent}, {name: spent}, f"accuracy {100 * score:.2f} %"))

    def pca():
        from sklearn.decomposition import PCA

        model = PCA(64, random_state=0).fit(flat)
        return model.transform(flat), model.transform(flat_test)

    def umap():
        from umap import UMAP

        model = UMAP(n_components=10, random_state=0).fit(flat)
        return model.transform(flat), model.transform(flat_test)

    def learned():
        from sklearn.decomposition import MiniBatchDictionaryLearning
        from sklearn.feature_extraction.image import extract_patches_2d

        rng = np.random.RandomState(0)
        sample = np.concatenate(
            [extract_patches_2d(i, (6, 6), max_patches=10, random_state=rng) for i in x[:1000] / 255.0]
        )
        flat_sample = sample.reshape(len(sample), -1)
        flat_sample -= flat_sample.mean(axis=1, keepdims=True)
        model = MiniBatchDictionaryLearning(
            100, transform_algorithm="omp", transform_n_nonzero_coefs=3, max_iter=20, random_state=0
        ).fit(flat_sample)

        def features(images):
            windows = np.lib.stride_tricks.sliding_window_view(images / 255.0, (6, 6), axis=(1, 2))[:, ::2, ::2]
            patches = windows.reshape(-1, 36) - windows.reshape(-1, 36).mean(axis=1, keepdims=True)
            found = np.abs(model.transform(patches)).reshape(len(images), 12, 12, -1)
            return found.reshape(len(images), 4, 3, 4, 3, -1).sum(axis=(2, 4)).reshape(len(images), -1)

        return features(x), features(test)

    def ours():
        model = PatchManifoldTransform(6, 4096, n_components=32, constraint="degree", n_samples=100_000, **SETTINGS)
        return model.fit(x).transform(x), model.transform(test)

    ours_name = f"PatchManifoldTransform, 4 096 atoms, {n} training images"
    add(ours_name, ours)
    rows[-1].agreement += f"; peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB"
    add("raw pixels", lambda: (flat, flat_test))
    add("PCA, 64 dimensions", pca)
    try:
        add("UMAP, 10 dimensions", umap)
    except ImportError:
        print("UMAP is left out: umap-learn is not installed.")
    add("MiniBatchDictionaryLearning, 100 atoms, pooled", learned)
    return rows


def growth(sizes=(7_500, 15_000, 30_000, 60_000), n_atoms=4096, few=(250, 500, 1_000, 2_000), few_atoms=2048):
    """Processor time, which other work disturbs least, of both codes with one dictionary for all sizes."""
    digits, photographs = load_mnist().x_train, load_cifar10().x_train
    nearest_code = PatchManifoldTransform(6, n_atoms, n_components=32, n_samples=100_000, **SETTINGS)
    by_threshold = PatchManifoldTransform(6, few_atoms, "threshold", n_components=128, augment="flip", random_state=0)
    return [
        *stages("MNIST digits, nearest", nearest_code, digits, sizes),
        *stages("CIFAR-10 images, threshold", by_threshold, photographs, few),
    ]


def stages(what, model, images, sizes):
    model.partial_fit(images[:200]).solve().transform(images[:100])  # makes the dictionary
    names = ("statistics", "eigenvectors", "vectors")
    spent = {name: [] for name in names}
    for n in sizes:  # statistics are added to those there are
        for name, step in zip(names, (model.partial_fit, lambda _: model.solve(), model.transform)):
            begun = time.process_time()
            step(images[:n])
            spent[name].append(time.process_time() - begun)
    rows = []
    for name in names:
        power = np.polyfit(np.log(sizes), np.log(spent[name]), 1)[0]
        for n, took in zip(sizes, spent[name]):
            task = f"{what} of {len(model.atoms_)} atoms, {name} of {n} images, processor time"
            rows.append(Row(task, {"ours": took}, {"ours": took}, f"grows as n^{power:.2f}" if n == sizes[-1] else ""))
    return rows


SECTIONS = {
    "nearest": ("Nearest atoms and k-means", nearest, ("faiss-cpu",)),
    "levels": ("Nearest atoms, exact and by two levels", levels, ()),
    "codes": ("Threshold codes", codes, ()),
    "digits": ("MNIST digits, the same classifier", digits, ()),
    "growth": ("Time against the number of images", growth, ()),
}

if __name__ == "__main__":
    run(Path(__file__).parent / "results", sys.argv[1:])
