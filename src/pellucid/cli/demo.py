"""`pellucid demo`: the solvers on scikit-learn's handwritten digits."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

N_ATOMS = 12
SWEEPS = 10
SHADES = " ░▒▓█"


@click.command("demo", epilog="Example:  pellucid demo --json")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(as_json: bool) -> None:
    """Learn a cone for each digit from half of scikit-learn's digits, then take the other half apart."""
    from rich.console import Console

    screen = Console(stderr=as_json)
    with screen.status("Learning ten cones, one per digit …"):
        found = take_digits_apart()
    if as_json:
        click.echo(json.dumps(found["figures"], indent=2))
        return
    show(screen, found)


def take_digits_apart() -> dict[str, Any]:
    import numpy as np
    from sklearn.datasets import load_digits

    from pellucid.solvers import group_omp, lasso, nnls

    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    train, test = np.arange(len(X)) % 2 == 0, np.arange(len(X)) % 2 == 1
    started = time.perf_counter()
    atoms = np.vstack([cone(X[train & (y == digit)], N_ATOMS) for digit in range(10)])
    groups = np.repeat(np.arange(10), N_ATOMS)
    learned = time.perf_counter()

    # one cone at a time (Eq. 3): the digit whose cone comes nearest is the answer
    errors = np.empty((test.sum(), 10))
    kkt = 0.0
    for digit in range(10):
        result = nnls(X[test], atoms[groups == digit])
        errors[:, digit] = np.linalg.norm(X[test] - result.codes @ atoms[groups == digit], axis=1)
        kkt = max(kkt, float(result.kkt.max()))
    nearest = errors.argmin(axis=1)
    # unknown concepts: group pursuit picks the cone itself, and a sparse code uses all of them
    picked = group_omp(X[test], atoms, groups, 1).codes
    sparse = lasso(X[test], atoms, 0.02, positive=True)
    solved = time.perf_counter()

    chosen = groups[picked.argmax(axis=1)]
    truth = y[test]
    shown = int(np.flatnonzero(nearest != truth)[0])
    parts = np.array([sparse.codes[shown] * (groups == g) @ atoms for g in range(10)])
    means = np.array([X[train & (y == digit)].mean(axis=0) for digit in range(10)])
    to_means = ((X[test][:, None] - means) ** 2).sum(axis=2)
    return {
        "image": X[test][shown],
        "truth": int(truth[shown]),
        "parts": parts,
        "per_digit": [
            (d, int((truth == d).sum()), float((nearest[truth == d] == d).mean()), float(errors[truth == d, d].mean()))
            for d in range(10)
        ],
        "figures": {
            "rows": int(test.sum()),
            "atoms": len(atoms),
            "accuracy_nearest_cone": float((nearest == truth).mean()),
            "accuracy_group_pursuit": float((chosen == truth).mean()),
            "accuracy_nearest_mean": float((to_means.argmin(axis=1) == truth).mean()),
            "nonzeros_per_sparse_code": float((sparse.codes > 0).sum(axis=1).mean()),
            "largest_kkt_residual": kkt,
            "largest_duality_gap": float(sparse.duality_gap.max()),
            "seconds_learning": learned - started,
            "seconds_solving": solved - learned,
        },
    }


def cone(rows: Any, n_atoms: int) -> Any:
    """A positive cone around the rows of one class: non-negative codes and atoms in turn (paper 1, Algorithm 1)."""
    import numpy as np

    from pellucid.solvers import nnls, nonnegative_power

    atoms = rows[:: len(rows) // n_atoms][:n_atoms].copy()
    for _ in range(SWEEPS):
        codes = nnls(rows, atoms).codes
        for m in range(n_atoms):
            used = codes[:, m] > 0
            if used.any():
                rest = rows[used] - codes[used] @ atoms + np.outer(codes[used, m], atoms[m])
                step = nonnegative_power(rest, atoms[m])
                atoms[m], codes[used, m] = step.atom, step.coefficients
    return atoms


def show(screen: Console, found: dict[str, Any]) -> None:
    from rich.columns import Columns
    from rich.panel import Panel
    from rich.table import Table

    figures = found["figures"]
    screen.rule("[bold]Pellucid[/]: handwritten digits, taken apart")
    table = Table(title="Which cone comes nearest?", title_justify="left")
    for name in ("digit", "held out", "recognised", "left over"):
        table.add_column(name, justify="right")
    table.add_column("")
    for digit, count, accuracy, error in found["per_digit"]:
        table.add_row(str(digit), str(count), f"{accuracy:.1%}", f"{error:.2f}", "█" * round(20 * accuracy))
    screen.print(table)
    screen.print(
        f"All ten: [bold]{figures['accuracy_nearest_cone']:.1%}[/] by the nearest cone, "
        f"{figures['accuracy_group_pursuit']:.1%} by group pursuit; by the nearest mean it "
        f"would be {figures['accuracy_nearest_mean']:.1%}."
    )
    order = sorted(range(10), key=lambda g: -float((found["parts"][g] ** 2).sum()))[:2]
    pictures: list[RenderableType] = [Panel(picture(found["image"]), title=f"a {found['truth']}", expand=False)]
    pictures += [
        Panel(picture(found["parts"][g], found["image"].max()), title=f"its {g} part", expand=False) for g in order
    ]
    screen.print("\nA digit that was mistaken for another, and the parts its sparse code is made of:")
    screen.print(Columns(pictures))
    screen.print(
        f"Certificates: KKT residual at most {figures['largest_kkt_residual']:.0e}, duality gap at most "
        f"{figures['largest_duality_gap']:.0e}; {figures['nonzeros_per_sparse_code']:.1f} of {figures['atoms']} atoms "
        f"in a sparse code.\n{figures['rows']} digits in {figures['seconds_solving']:.2f} s "
        "(the first run on a machine also compiles the kernels, which takes some ten seconds)."
    )


def picture(pixels: Any, brightest: float | None = None) -> str:
    """An 8×8 image in shades of grey, two characters a pixel."""
    top = brightest or pixels.max()
    lines = []
    for row in pixels.reshape(8, 8):
        shades = [min(len(SHADES) - 1, max(0, int(value / top * len(SHADES)))) for value in row]
        lines.append("".join(SHADES[s] * 2 for s in shades))
    return "\n".join(lines)
