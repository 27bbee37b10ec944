"""Concepts of ten million vectors from a Parquet data set, on one worker process and on two.

    python -m benchmarks.scale --folder DIR --workers 1
    python -m benchmarks.scale --folder DIR --workers 2

The data set is made in the folder if it is not there (5.4 GB). Each run adds its row to benchmarks/results/scale.md:
a plain pass of reading, the start, sweeps, and a projection, each in rows a second, and the most memory of a process.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import circumstances
from benchmarks.problems import grouped
from pellucid import ConceptSubspaces
from pellucid.rows import Blocks
from pellucid.rows.parts import BLOCK_ROWS, PART_BLOCKS

RESULTS = Path(__file__).parent / "results"
DIMENSION, CONCEPTS, ATOMS, SWEEPS = 128, 12, 8, 2
FILE_ROWS, GROUP_ROWS = 1_000_000, 65_536


def make(folder: Path, rows: int) -> None:
    """Files of a million rows: unit vectors of planted concepts, and which concepts each has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    _, atoms, _, groups = grouped(n=1, d=DIMENSION, n_groups=CONCEPTS, per_group=ATOMS, dtype=np.float32)
    for number in range(-(-rows // FILE_ROWS)):
        path = folder / f"{number:04}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng(number)
        left = min(FILE_ROWS, rows - number * FILE_ROWS)
        unfinished = folder / f".{number:04}.parquet"
        kinds = {"vector": pa.list_(pa.float32(), DIMENSION), "concepts": pa.list_(pa.uint8(), CONCEPTS)}
        schema = pa.schema(list(kinds.items()))
        with pq.ParquetWriter(unfinished, schema, use_dictionary=False) as writer:
            while left:
                X, Y = rows_of(min(left, GROUP_ROWS), atoms, groups, rng)
                columns = [
                    pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
                    for values in (X, Y.astype(np.uint8))
                ]
                writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=GROUP_ROWS)
                left -= len(X)
        unfinished.rename(path)


def rows_of(n: int, atoms: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """As :func:`benchmarks.problems.mixtures`, in single precision throughout, for the sake of time."""
    Y = rng.random((n, CONCEPTS), dtype=np.float32) < 2.5 / CONCEPTS
    Y[~Y.any(axis=1), 0] = True
    codes = rng.standard_exponential((n, len(groups)), dtype=np.float32)
    codes[rng.random(codes.shape, dtype=np.float32) < 0.5] = 0
    X = (codes * Y[:, groups]) @ atoms
    noise = rng.standard_normal(X.shape, dtype=np.float32)
    X += 0.5 * np.sqrt(np.square(X).sum(axis=1).mean() / DIMENSION) * noise
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-6), Y


def measure(folder: Path, workers: int) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    found: dict[str, Any] = {"workers": workers}
    with (
        LocalCluster(workers, threads_per_worker=1, dashboard_address=None, memory_limit="2GB") as cluster,
        Client(cluster) as client,
    ):
        X, Y = (Blocks(folder, name, client=client) for name in ("vector", "concepts"))
        found |= {"rows": len(X), "parts": len(X.parts)}
        few = np.arange(4096)
        fit(Blocks(X.take(few), client=client), Y.take(few) > 0, 1)  # warm
        fitted: list[ConceptSubspaces] = []
        pieces = {
            "read": lambda: X.beside(Y).total(energy),
            "start": lambda: fit(X, Y, 0),
            "sweep": lambda: fitted.append(fit(X, Y, SWEEPS)),
            "project": lambda: fitted[0].project(X, "concept 0").total(squares),
        }
        for name, work in pieces.items():
            spent, begun = sum(client.run(time.process_time).values()), time.perf_counter()
            work()
            found[name] = time.perf_counter() - begun
            found[f"{name}_cpu"] = sum(client.run(time.process_time).values()) - spent
        for name in ("sweep", "sweep_cpu"):  # that fit had the same start
            found[name] = (found[name] - found[name.replace("sweep", "start")]) / SWEEPS
        model = fitted[0]
        found["objective"] = model.objective_.tolist()
        found["memory"] = max(client.run(most_memory).values())
        found["memory_here"] = most_memory()
        found["sent_down"] = model.atoms_.nbytes * workers
        M = len(model.atoms_)
        found["sent_up"] = len(X.parts) * 8 * (M * DIMENSION + M * M)
    return found


def fit(X: Any, Y: Any, sweeps: int) -> ConceptSubspaces:
    return ConceptSubspaces(ATOMS, max_iter=sweeps, tol=0, center=False, presence=False).fit(X, Y)


def energy(pair: tuple[np.ndarray, np.ndarray]) -> float:
    return float(pair[0].sum()) + float(pair[1].sum())


def squares(block: np.ndarray) -> float:
    return float(np.vdot(block, block))


def most_memory() -> int:
    """The most that this process ever had in memory, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def keep(found: dict[str, Any]) -> None:
    path = RESULTS / "scale.json"
    runs = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    facts = circumstances("pyarrow", "distributed")
    runs[str(found["workers"])] = {"circumstances": facts, **found}
    path.write_text(json.dumps(runs, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    last = runs[max(runs)]
    lines = [
        "# Beyond one process",
        "",
        f"Printed by `python -m benchmarks.scale` on {facts['date']}, {facts['cores']} cores: {last['rows']:,} float32 "
        f"vectors of {DIMENSION} dimensions with {CONCEPTS} concepts in Parquet files of {FILE_ROWS:,} rows, "
        f"`ConceptSubspaces({ATOMS}, presence=False)` over `Blocks` on worker processes of one thread each, at commit "
        f"{facts['commit']}. "
        "Rows a second, and in brackets rows for each second that a worker's processor spent, which is what a machine "
        "busy with other work does not slow down; reading is a pass that adds up all numbers, vectors and labels.",
        "",
        "| workers | reading | start | a sweep | a sweep / reading (processor) | projection "
        "| most memory of a worker | of the caller |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for run in (runs[key] for key in sorted(runs)):
        rates = {
            name: f"{run['rows'] / run[name]:,.0f} ({run['rows'] / run[name + '_cpu']:,.0f})"
            for name in ("read", "start", "sweep", "project")
        }
        cells = [
            str(run["workers"]), rates["read"], rates["start"], rates["sweep"],
            f"{run['sweep_cpu'] / run['read_cpu']:.2f}", rates["project"],
            f"{run['memory'] / 1e6:.0f} MB", f"{run['memory_here'] / 1e6:.0f} MB",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    if {"1", "2"} <= set(runs):
        names = ("read", "start", "sweep", "project")
        gained = {name: runs["1"][name] / runs["2"][name] for name in names}
        spent = {name: runs["2"][f"{name}_cpu"] / runs["1"][f"{name}_cpu"] for name in names}
        same = np.allclose(runs["1"]["objective"], runs["2"]["objective"], rtol=1e-12)
        lines += [
            "",
            "Two workers against one: " + ", ".join(f"{name} {factor:.2f}×" for name, factor in gained.items())
            + "; their processors together spent " + ", ".join(f"{factor:.2f}×" for factor in spent.values())
            + f" of what one did; the objectives are {'the same' if same else 'NOT the same'}.",
        ]  # fmt: skip
    lines += [
        "",
        f"Over the network, a sweep sends the atoms to a worker ({last['sent_down'] / last['workers'] / 1e3:.0f} kB) "
        f"and brings back {last['parts']} sums of {last['sent_up'] / last['parts'] / 1e3:.0f} kB (AᵀA and "
        f"AᵀX): {last['sent_up'] / 1e6:.1f} MB, where the data are {last['rows'] * DIMENSION * 4 / 1e9:.2f} GB.",
    ]
    if "1" in runs:
        lines += ["", billion(runs["1"])]
    (RESULTS / "scale.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def billion(one: dict[str, Any], rows: float = 1e9, workers: int = 64) -> str:
    """What more rows would take on more workers, on paper: from what one's processor spent, if nobody waits."""
    sweep, start = (rows / (workers * one["rows"] / one[f"{name}_cpu"]) / 60 for name in ("sweep", "start"))
    read = workers * one["rows"] / one["sweep_cpu"] * DIMENSION * 4 / 1e9
    parts = -(-rows // (PART_BLOCKS * BLOCK_ROWS))
    up, down = parts * one["sent_up"] / one["parts"] / 1e6, workers * one["sent_down"] / 1e6
    return (
        f"On paper, a billion such vectors ({rows * DIMENSION * 4 / 1e12:.2f} TB) on {workers} workers like the one "
        f"above: {start:.0f} minutes for the start and {sweep:.1f} minutes a sweep, {start + 10 * sweep:.0f} "
        f"minutes with ten sweeps, while storage delivers {read:.1f} GB a second. The rows stay where they are; a "
        f"sweep sends {down:.1f} MB of atoms to the workers and {up:.0f} MB back to the caller, {parts:.0f} sums "
        "that it adds up. This counts no waiting for storage, stragglers or a busy network, which were not measured."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--workers", type=int, help="measure with so many; without it the data set is made and no more")
    given = parser.parse_args()
    begun = time.perf_counter()
    make(given.folder, given.rows)
    print(f"data set: {time.perf_counter() - begun:.0f} s", flush=True)
    if given.workers:
        keep(measure(given.folder, given.workers))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
