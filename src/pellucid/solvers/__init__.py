"""The numeric core: arrays in, arrays and a certificate out. It knows no estimator and touches no file."""

from pellucid._core.threads import get_threads, set_threads
from pellucid.solvers.basis_pursuit import Pursuit, basis_pursuit
from pellucid.solvers.batch import Codes
from pellucid.solvers.box import BoxSolution, box_qp
from pellucid.solvers.greedy import group_omp, nonnegative_omp
from pellucid.solvers.lasso import SparseCodes, lasso, lasso_gram
from pellucid.solvers.nonnegative import Cone, nnls, nnls_gram
from pellucid.solvers.rank_one import RankOne, leading_atom, nonnegative_power
from pellucid.solvers.sphere import SphereMinimum, sphere_quadratic

__all__ = [
    "BoxSolution",
    "Codes",
    "Cone",
    "Pursuit",
    "RankOne",
    "SparseCodes",
    "SphereMinimum",
    "basis_pursuit",
    "box_qp",
    "get_threads",
    "group_omp",
    "lasso",
    "lasso_gram",
    "leading_atom",
    "nnls",
    "nnls_gram",
    "nonnegative_omp",
    "nonnegative_power",
    "set_threads",
    "sphere_quadratic",
]
