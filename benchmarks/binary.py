"""Binary concepts: the weights beside SciPy, how Algorithm 1 grows, and Algorithm 2 on trees."""

from pathlib import Path

import numpy as np
from reproductions.categorical_data import independent, tree
from scipy.optimize import nnls as scipy_nnls

from benchmarks.harness import compare, report
from pellucid.binary import BinaryAutoencoder, IterativeAssignment
from pellucid.binary.weights import centred, concept_overlaps, fit_weights, kernel_norm
from pellucid.metrics import binary_recovery


def run(results: Path) -> None:
    rows = [weights_beside_scipy()]
    for p in (256, 1024, 4096):
        problem = independent(p, 8, 6, 0)
        rows.append(one(f"BinaryAutoencoder, p = {p}, 6 dB, d = 8b", BinaryAutoencoder(random_state=0), problem))
    times = [next(iter(row.best.values())) for row in rows[1:]]
    slope = np.polyfit(np.log([256, 1024, 4096]), np.log(times), 1)[0]
    for p in (64, 128, 256):
        rows.append(one(f"IterativeAssignment, tree of {p}, 30 dB", IterativeAssignment(), tree(p, 30, 0)))
    note = (
        f"BinaryAutoencoder grows as p^{slope:.2f} from 256 to 4096. The paper's code for Algorithm 2 "
        "takes 2.6 s a branch for a tree of 64 items."
    )
    report("binary", "Binary concepts", rows, results, note=note)


def one(task, model, problem):
    """Seconds of a fit (the first compiles), and how well it does."""
    model.fit(problem.X)
    found = binary_recovery(model.concepts_, problem.S)
    told = f"{found.exact} of {problem.S.shape[1]} exact, {found.false} false, CKA {model.cka_:.3f}"
    return compare(task, {"ours": lambda: model.fit(problem.X)}, rounds=2, agreement=told)


def weights_beside_scipy(p=4000, b=1000):
    """Eq. 3 for many concepts, of which few are needed, beside SciPy's NNLS on a factor of the Gram matrix."""
    rng = np.random.default_rng(0)
    S = rng.integers(0, 2, (p, b)).astype(np.uint8)
    features = centred(S[:, :200] * rng.uniform(0.5, 1.5, 200) + 0.5 * rng.standard_normal((p, 200)))
    G = concept_overlaps(S) ** 2
    along = features.T @ S
    c = np.sum(along**2, axis=0) / kernel_norm(features)
    kept = {}

    def ours():
        kept["ours"] = fit_weights(features, S, 0.0)

    def scipy():
        factor = np.linalg.cholesky(concept_overlaps(S) ** 2)
        kept["SciPy NNLS"] = scipy_nnls(factor.T, np.linalg.solve(factor, c), maxiter=10 * b)[0]

    row = compare(
        "weights, p = 4 000, b = 1 000",
        {"ours": ours, "SciPy NNLS": scipy},
        rounds=2,
        slow={"SciPy NNLS": 1},
        target="≥ 20×",
    )
    loss = {name: float(w @ G @ w - 2 * c @ w) for name, w in kept.items()}
    slope = G @ kept["ours"] - c
    residual = np.max(np.where(kept["ours"] > 0, np.abs(slope), np.maximum(0, -slope))) / np.abs(c).max()
    row.agreement = f"loss {loss['ours']:.10g} and {loss['SciPy NNLS']:.10g}; KKT {residual:.1e}"
    return row
