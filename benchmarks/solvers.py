"""The numeric core beside SciPy, scikit-learn and cvxpy."""

import warnings
from pathlib import Path

import numpy as np
import scipy.optimize
from sklearn.decomposition import sparse_encode
from sklearn.linear_model import Lasso, orthogonal_mp_gram

from benchmarks.harness import compare, report
from benchmarks.problems import dictionary, grouped
from pellucid.solvers import (
    box_qp,
    get_threads,
    group_omp,
    lasso,
    leading_atom,
    nnls,
    nnls_gram,
    nonnegative_omp,
    set_threads,
    sphere_quadratic,
)


def run(results: Path) -> None:
    warnings.filterwarnings("ignore", message=".*convergence.*|.*duality gap.*", category=UserWarning)
    rows = [*nnls_rows(), *gram_rows(), *lasso_rows(), *greedy_rows(), *box_rows(), *atom_rows(), *thread_rows()]
    report("solvers", "Solvers", rows, results, "cvxpy", "clarabel", "osqp")


def nnls_rows():
    X, atoms, mask, _ = grouped()

    def scipy_loop(rows=slice(None)):
        codes = np.zeros((len(X[rows]), len(atoms)))
        for i, (x, allowed) in enumerate(zip(X[rows], mask[rows])):
            index = np.flatnonzero(allowed)
            codes[i, index] = scipy.optimize.nnls(atoms[index].T, x)[0]
        return codes

    def sklearn_loop(rows=slice(None)):
        model = Lasso(alpha=1e-7, positive=True, fit_intercept=False, tol=1e-10, max_iter=10_000)
        codes = np.zeros((len(X[rows]), len(atoms)))
        for i, (x, allowed) in enumerate(zip(X[rows], mask[rows])):
            index = np.flatnonzero(allowed)
            codes[i, index] = model.fit(atoms[index].T, x).coef_
        return codes

    ours = nnls(X, atoms, mask)
    some = slice(0, 2000)
    difference = np.abs(ours.codes[some] - scipy_loop(some)).max()
    against_lasso = np.abs(ours.codes[some] - sklearn_loop(some)).max()
    agreement = (
        f"KKT residual {ours.kkt.max():.0e}; largest difference from SciPy {difference:.0e}, "
        f"from the Lasso with α=1e-7 {against_lasso:.0e}"
    )
    yield compare(
        "nnls, 20 000 × 512, 12 groups of 10, 2.5 groups a row, float64",
        {
            "ours": lambda: nnls(X, atoms, mask),
            "loop over scipy.optimize.nnls": scipy_loop,
            "loop over positive Lasso": sklearn_loop,
            "the two products alone": lambda: (X @ atoms.T, atoms @ atoms.T),
        },
        rounds=7,
        slow={"loop over scipy.optimize.nnls": 2, "loop over positive Lasso": 1},
        agreement=agreement,
        target="≥ 30× SciPy, ≤ 3× the products (ratio ≥ 0.33)",
    )
    X32, atoms32 = X.astype(np.float32), atoms.astype(np.float32)
    narrow = nnls(X32, atoms32, mask)
    yield compare(
        "the same in float32",
        {
            "ours": lambda: nnls(X32, atoms32, mask),
            "the two products alone": lambda: (X32 @ atoms32.T, atoms32 @ atoms32.T),
        },
        rounds=7,
        agreement=f"KKT residual {narrow.kkt.max():.0e}; from float64 {np.abs(narrow.codes - ours.codes).max():.0e}",
    )
    X, atoms, mask, _ = grouped(likeness=2.0)
    alike = nnls(X, atoms, mask)
    yield compare(
        "the same in float64, atoms of a group at cosine 0.8",
        {
            "ours": lambda: nnls(X, atoms, mask),
            "loop over scipy.optimize.nnls": scipy_loop,
            "the two products alone": lambda: (X @ atoms.T, atoms @ atoms.T),
        },
        rounds=5,
        slow={"loop over scipy.optimize.nnls": 1},
        agreement=f"KKT residual {alike.kkt.max():.0e}; largest difference from SciPy "
        f"{np.abs(alike.codes[some] - scipy_loop(some)).max():.0e}",
    )


def gram_rows():
    import cvxpy as cp

    rng = np.random.default_rng(0)
    S = (rng.random((500, 300)) < 0.3) - 0.3
    G = (S.T @ S) ** 2
    G /= G.diagonal().mean()
    c = G @ (rng.random(300) * (rng.random(300) < 0.3)) + 0.01 * rng.standard_normal(300)
    root = np.linalg.cholesky(G).T
    target = np.linalg.solve(root.T, c)
    value = lambda a: 0.5 * a @ G @ a - c @ a  # noqa: E731

    def clarabel():
        a = cp.Variable(300, nonneg=True)
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(root @ a - target))).solve(solver=cp.CLARABEL)
        return np.maximum(a.value, 0)

    peer = lambda: scipy.optimize.nnls(root, target, maxiter=100_000)[0]  # noqa: E731
    ours = nnls_gram(c[None], G)
    best = value(ours.codes[0])
    yield compare(
        "nnls_gram, 300 weights of binary concepts (paper 2, Eq. 3)",
        {"ours": lambda: nnls_gram(c[None], G), "SciPy on the Cholesky factor": peer, "cvxpy with Clarabel": clarabel},
        agreement=f"KKT residual {ours.kkt[0]:.0e}; objective below theirs (relative) by "
        f"{(value(peer()) - best) / abs(best):.0e}, {(value(clarabel()) - best) / abs(best):.0e}",
    )


def objective(X, atoms, codes, alpha):
    return 0.5 * np.square(X - codes @ atoms).sum(axis=1) + alpha * np.abs(codes).sum(axis=1)


def lasso_rows():
    alpha = 0.15
    for n, d, m in ((5_000, 64, 256), (2_000, 384, 2_000)):
        X, atoms = dictionary(n, d, m)
        for positive in (False, True):
            peer = lambda X=X, atoms=atoms, positive=positive: sparse_encode(  # noqa: E731
                X, atoms, algorithm="lasso_cd", alpha=alpha, positive=positive, max_iter=10_000
            )
            ours = lasso(X, atoms, alpha, positive=positive)
            ahead = (objective(X, atoms, peer(), alpha) - objective(X, atoms, ours.codes, alpha)).max()
            yield compare(
                f"lasso{', positive' if positive else ''}, {n:,} × {d}, {m} atoms".replace(",000", " 000"),
                {
                    "ours": lambda X=X, atoms=atoms, positive=positive: lasso(X, atoms, alpha, positive=positive),
                    "sparse_encode (lasso_cd)": peer,
                },
                slow={"sparse_encode (lasso_cd)": 2},
                agreement=f"duality gap {ours.duality_gap.max():.0e}; objective below theirs by up to {ahead:.0e}",
            )


def greedy_rows():
    X, atoms = dictionary(5_000, 128, 512)
    gram, products = atoms @ atoms.T, X @ atoms.T
    groups = np.arange(512)
    peer = lambda: orthogonal_mp_gram(gram, products.T, n_nonzero_coefs=10).T  # noqa: E731
    difference = np.abs(group_omp(X, atoms, groups, 10, positive=False).codes - peer()).max()
    yield compare(
        "OMP, 5 000 × 128, 512 atoms, 10 of them",
        {
            "ours (group_omp, one atom a group)": lambda: group_omp(X, atoms, groups, 10, positive=False),
            "orthogonal_mp_gram": peer,
        },
        slow={"orthogonal_mp_gram": 2},
        agreement=f"largest difference {difference:.0e}",
    )
    yield compare(
        "nonnegative_omp, the same sizes",
        {"ours": lambda: nonnegative_omp(X, atoms, 10), "orthogonal_mp_gram (signs ignored)": peer},
        slow={"orthogonal_mp_gram (signs ignored)": 2},
        agreement=f"KKT residual {nonnegative_omp(X, atoms, 10).kkt.max():.0e}; scikit-learn has no such method",
    )
    X, atoms, _, groups = grouped(5_000)
    yield compare(
        "group_omp, 5 000 × 512, 3 of 12 groups of 10",
        {
            "ours": lambda: group_omp(X, atoms, groups, 3),
            "the two products alone": lambda: (X @ atoms.T, atoms @ atoms.T),
        },
        agreement=f"KKT residual {group_omp(X, atoms, groups, 3).kkt.max():.0e}; no peer has it",
    )


def box_rows():
    import cvxpy as cp

    for m in (50, 300):
        rng = np.random.default_rng(0)
        root = rng.standard_normal((m, m + 20)) / np.sqrt(m)
        H, q = root @ root.T, rng.standard_normal(m)

        def solve(solver, H=H, q=q, m=m, **settings):
            x = cp.Variable(m)
            problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(x, cp.psd_wrap(H)) + q @ x), [x >= 0, x <= 1])
            problem.solve(solver=solver, **settings)
            return problem.value

        ours = box_qp(H, q, 0, 1)
        clarabel, osqp = solve(cp.CLARABEL), solve(cp.OSQP, eps_abs=1e-8, eps_rel=1e-8)
        yield compare(
            f"box_qp, {m} variables",
            {
                "ours": lambda H=H, q=q: box_qp(H, q, 0, 1),
                "cvxpy with Clarabel": lambda solve=solve: solve(cp.CLARABEL),
                "cvxpy with OSQP, 1e-8": lambda solve=solve: solve(cp.OSQP, eps_abs=1e-8, eps_rel=1e-8),
            },
            agreement=f"KKT residual {ours.kkt:.0e}; objective below theirs by "
            f"{clarabel - ours.objective:.0e}, {osqp - ours.objective:.0e}",
        )


def atom_rows():
    rng = np.random.default_rng(0)
    E = rng.standard_normal((3_000, 512)) + np.outer(rng.random(3_000), rng.standard_normal(512))
    warm = leading_atom(E + 0.05 * rng.standard_normal(E.shape)).atom
    from scipy.sparse.linalg import svds

    yield compare(
        "leading_atom, 3 000 × 512, started near the answer",
        {
            "ours": lambda: leading_atom(E, warm),
            "scipy.sparse.linalg.svds": lambda: svds(E, k=1, v0=warm, tol=1e-10),
            "numpy.linalg.svd": lambda: np.linalg.svd(E, full_matrices=False),
        },
        agreement=f"residual {leading_atom(E, warm).residual:.0e}",
    )
    root, b = rng.standard_normal((150, 150)), rng.standard_normal(150)
    H = root @ root.T
    yield compare(
        "sphere_quadratic, 150 dimensions",
        {"ours": lambda: sphere_quadratic(H, b), "its eigendecomposition alone": lambda: np.linalg.eigh(H)},
        rounds=9,
        agreement=f"residual {sphere_quadratic(H, b).residual:.0e}",
    )


def thread_rows():
    X, atoms, mask, groups = grouped()
    Y, words = dictionary(5_000, 64, 256)
    tasks = {
        "nnls": lambda: nnls(X, atoms, mask),
        "lasso": lambda: lasso(Y, words, 0.15),
        "group_omp": lambda: group_omp(X[:5_000], atoms, groups, 3),
    }

    def on(threads, call):
        def timed():
            set_threads(threads)
            call()

        return timed

    for name, call in tasks.items():
        if get_threads() > 1:
            yield compare(
                f"{name} on two threads",
                {"two threads": on(2, call), "one thread": on(1, call)},
                rounds=7,
                target="≥ 1.6×",
                agreement="the same bits (a test)",
            )
            set_threads(None)
