"""Binary concepts: weights beside SciPy and Clarabel, how Algorithm 1 grows and what it needs, Algorithm 2 on trees.

``python -m benchmarks.binary items`` measures recovery and time by the number of items, few of them.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from reproductions.categorical_data import embedded, independent, n_independent, tree
from scipy.optimize import nnls as scipy_nnls

from benchmarks.harness import Row, compare, report
from pellucid.binary import BinaryAutoencoder, IterativeAssignment
from pellucid.binary.weights import centred, concept_lengths, concept_overlaps, fit_weights, unit_kernel
from pellucid.metrics import binary_recovery

SIZES = (256, 512, 1024, 2048, 4096)
# what the authors' code takes for one branch of a tree of 64 items
AUTHORS = 2.6


def run(results: Path) -> None:
    rows = [weights_beside_peers(used) for used in (200, 1000)]
    sampled = [
        one(
            f"BinaryAutoencoder, p = {p}, 6 dB, d = 8b", BinaryAutoencoder(random_state=0), independent(p, 8, 6, 12_100)
        )
        for p in SIZES
    ]
    sampled[-1].target = "< 8 s"
    slope = np.polyfit(np.log(SIZES), np.log([row.best["ours"] for row in sampled]), 1)[0]
    rows += sampled
    for p in (64, 128, 256, 512, 1024):
        row = one(
            f"IterativeAssignment, tree of {p}, 30 dB",
            IterativeAssignment(),
            tree(p, 30, 12_100),
            {64: 9, 512: 1, 1024: 1}.get(p, 2),
        )
        if p == 64:
            row = Row(
                row.task, row.best | {"authors' code": AUTHORS}, row.median | {"authors' code": AUTHORS}, row.agreement
            )
            row.target = "≥ 50×"
        rows.append(row)
    note = (
        f"BinaryAutoencoder grows as p^{slope:.2f} from 256 to 4096 (to reach: at most 1.7). The {AUTHORS} s of the "
        "authors' code for a tree of 64 items are the paper's, on its machine. Weights: SciPy and Clarabel (through "
        "cvxpy, its compilation included) start from the same items and bits, their Gram matrix made by NumPy."
    )
    for more in ([], [many_items]):  # which takes longest: the rest is kept if it is stopped
        rows += [measure() for measure in more]
        report("binary", "Binary concepts", rows, results, "cvxpy", "clarabel", note=note)


ITEMS = (16, 32, 48, 56, 60, 63, 64, 65, 80, 96, 128)
# structure, dimensions a concept, noise in dB: those that the rules were chosen on, and those that were kept back
CHOSEN_ON = (
    ("independent", 8, 0),
    ("independent", 4, 3),
    ("independent", 2, 6),
    ("independent", 1, 12),
    ("independent", 2, 12),
    ("lopsided", 4, 6),
    ("three", 4, 3),
    ("classes", 4, 6),
    ("noise", 2, 0),
    ("noise", 8, 0),
)
KEPT_BACK = (("independent", 6, 1), ("independent", 3, 5), ("lopsided", 8, 3), ("three", 8, 0), ("classes", 3, 10))


def planted(structure, p, ratio, decibel, seed):
    """Items, their concepts (none in noise) and the bits that a decoder that knows the components gets wrong."""
    rng = np.random.default_rng(seed)
    b = n_independent(p)
    if structure == "noise":
        return rng.standard_normal((p, ratio * b)), None, 0.0
    if structure == "classes":  # four exclusive classes beside independent concepts
        classes = np.eye(4, dtype=int)[rng.integers(0, 4, p)]
        S = np.hstack([classes, varied_bits(rng, p, max(2, b - 4), 0.5)])
    else:
        S = varied_bits(rng, p, 3 if structure == "three" else b, 0.25 if structure == "lopsided" else 0.5)
    problem = embedded(S, ratio * S.shape[1], decibel, rng)
    return problem.X, S, problem.oracle


def varied_bits(rng, p, b, share):
    """Concepts that at least two items have and two have not."""
    while True:
        S = (rng.random((p, b)) < share).astype(int)
        if (np.minimum(S.sum(axis=0), p - S.sum(axis=0)) > 1).all():
            return S


def by_items(results: Path) -> None:
    """Recovery and seconds of one core by the number of items, means over structures, levels of noise and seeds."""
    lines = [
        "# Binary concepts by the number of items\n",
        "Printed by `python -m benchmarks.binary items`. Chosen on: seeds 700 to 703; kept back: other structures and "
        "levels of noise, seeds 12 200 to 12 205. Wrong and oracle: percent of the bits; noise alone is not in these "
        "means but in the last column, concepts found a fit.\n",
        "| settings | items | exact | wrong | oracle | false | seconds | slowest setting | in noise |",
        "| --- " * 9 + "|",
    ]
    for ratio, decibel in ((2, 3), (8, 0)):
        BinaryAutoencoder(random_state=0).fit(planted("independent", 20, ratio, decibel, 0)[0])  # warm
    for name, settings, seeds in (
        ("chosen on", CHOSEN_ON, range(700, 704)),
        ("kept back", KEPT_BACK, range(12_200, 12_206)),
    ):
        for p in ITEMS:
            rows = {setting: np.mean([measured(setting, p, seed) for seed in seeds], axis=0) for setting in settings}
            means = np.mean([row for setting, row in rows.items() if setting[0] != "noise"], axis=0)
            noise = [row[3] for setting, row in rows.items() if setting[0] == "noise"]
            slowest = max(row[4] for row in rows.values())
            cells = [
                name,
                p,
                *(f"{value:.2f}" for value in (*means, slowest)),
                f"{np.mean(noise):.2f}" if noise else "",
            ]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
            print(lines[-1], flush=True)
    (results / "binary_items.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def measured(setting, p, seed):
    """Share of exact concepts, percent of the bits wrong, the oracle's, false concepts, seconds."""
    X, S, oracle = planted(setting[0], p, setting[1], setting[2], seed)
    begun = time.process_time()
    model = BinaryAutoencoder(random_state=0).fit(X)
    spent = time.process_time() - begun
    if S is None:
        return 0.0, 0.0, 0.0, model.concepts_.shape[1], spent
    found = binary_recovery(model.concepts_, S)
    return found.exact / S.shape[1], 100 * found.distances.mean() / p, 100 * oracle / p, found.false, spent


def one(task, model, problem, rounds=2):
    """Seconds of a fit, and how well it does."""
    if rounds > 1:
        model.fit(problem.X)  # warm
    row = compare(task, {"ours": lambda: model.fit(problem.X)}, rounds=rounds)
    found = binary_recovery(model.concepts_, problem.S)
    row.agreement = f"{found.exact} of {problem.S.shape[1]} exact, {found.false} false, CKA {model.cka_:.3f}"
    return row


def weights_beside_peers(used, p=4000, b=1000):
    """Eq. 3 for 1 000 random concepts, ``used`` of which made the items, beside SciPy's NNLS on a factor of the Gram
    matrix and Clarabel on the quadratic; both get the problem scaled to round numbers."""
    import cvxpy as cp

    rng = np.random.default_rng(1)
    S = rng.integers(0, 2, (p, b)).astype(np.uint8)
    items = (S[:, :used] * rng.uniform(0.5, 1.5, used)) @ rng.standard_normal((used, 200))
    features = unit_kernel(centred(items + 2 * rng.standard_normal((p, 200))))
    G, c = concept_overlaps(S) ** 2, concept_lengths(features, S)
    size, top = float(G.diagonal().max()), float(c.max())
    kept = {}

    def plain():
        """G and c as one would make them with NumPy."""
        centred_bits = S - S.mean(axis=0)
        return np.square(centred_bits.T @ centred_bits) / size, np.square(features.T @ centred_bits).sum(axis=0) / top

    def ours():
        kept["ours"] = fit_weights(features, S, 0.0)

    def scipy():
        square, right = plain()
        factor = np.linalg.cholesky(square)
        kept["SciPy NNLS"] = scipy_nnls(factor.T, np.linalg.solve(factor, right), maxiter=10 * b)[0] * top / size

    def clarabel():
        square, right = plain()
        x = cp.Variable(b, nonneg=True)
        cp.Problem(cp.Minimize(cp.quad_form(x, cp.psd_wrap(square)) - 2 * right @ x)).solve(solver=cp.CLARABEL)
        kept["cvxpy, Clarabel"] = np.maximum(x.value, 0) * top / size

    ours()  # warm
    row = compare(
        f"weights, p = 4 000, b = 1 000, {used} used",
        {"ours": ours, "SciPy NNLS": scipy, "cvxpy, Clarabel": clarabel},
        rounds=5,
        slow={"SciPy NNLS": 1, "cvxpy, Clarabel": 1},
        target="≥ 20× either",
    )
    loss = {name: float(w @ G @ w - 2 * c @ w) for name, w in kept.items()}
    slope = G @ kept["ours"] - c
    residual = np.max(np.where(kept["ours"] > 0, np.abs(slope), np.maximum(0, -slope))) / top
    above = ", ".join(f"{name} {value - loss['ours']:+.1e}" for name, value in loss.items() if name != "ours")
    row.agreement = f"{(kept['ours'] > 0).sum()} kept; loss against ours: {above}; KKT {residual:.1e}"
    return row


MANY = """
import time, numpy as np
from benchmarks.harness import Peak
from pellucid.binary import BinaryAutoencoder
p, b, d = {p}, 64, 128
rng = np.random.default_rng(0)
S = rng.integers(0, 2, (p, b), dtype=np.uint8)
X = (S @ np.linalg.qr(rng.standard_normal((d, b)))[0].T.astype(np.float32)).astype(np.float64)
X += 0.1 * rng.standard_normal((p, d))
BinaryAutoencoder(random_state=0).fit(X[:300])
with Peak() as peak:
    begun = time.perf_counter()
    model = BinaryAutoencoder(random_state=0).fit(X)
    spent = time.perf_counter() - begun
from pellucid.metrics import binary_recovery
found = binary_recovery(model.concepts_, S)
print(spent, peak.most - peak.before, X.nbytes, found.exact, found.false)
"""


def many_items():
    """100 000 items of rank 64: time and memory beside half as many, each in a process of its own."""
    measured = {}
    for p in (50_000, 100_000):
        out = subprocess.run([sys.executable, "-c", MANY.format(p=p)], capture_output=True, text=True, check=True)
        measured[p] = [float(value) for value in out.stdout.split()]
    spent, _, size, exact, false = measured[100_000]
    extra = {p: values[1] / 2**20 for p, values in measured.items()}
    return Row(
        "BinaryAutoencoder, 100 000 items of rank 64, d = 128",
        {"ours": spent},
        {"ours": spent},
        f"{exact:.0f} of 64 exact, {false:.0f} false; {extra[100_000]:.0f} MB above the items "
        f"({size / 2**20:.0f} MB), {extra[50_000]:.0f} MB for half as many",
        "memory linear in p",
    )


if __name__ == "__main__":
    if sys.argv[1:] != ["items"]:
        sys.exit("python -m benchmarks.binary items; all else: python -m benchmarks binary")
    by_items(Path(__file__).parent / "results")
