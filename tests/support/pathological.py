"""Rows that no method was made for, over every estimator and command: `python tests/support/pathological.py` says which
of them break one. Each case may take so many seconds of the processor and so much memory; what may come out is a result
without holes, or one sentence."""

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np

MEMORY, SECONDS = 3 << 30, 30
# what numbers and libraries say of themselves, which tells nobody what to do
RAW = re.compile(
    r"infs or NaNs|broadcast|zero-size|argmax|out of bounds|singular|did not converge|Numerical result|object is not|"
    r"index \d|division|could not convert|invalid value|empty sequence|Unable to allocate|unexpected"
)
N, D = 36, 6
# what the suite tries; `make fuzz` tries all
SOME = ("all zero", "constant", "one row", "one value", "rank 1", "float32 near its limit", "all scales", "nan",
        "1e200", "1e-307")  # fmt: skip


def cases():
    """Rows by what is the matter with them."""
    rows = np.random.default_rng(0).standard_normal((N, D))
    large = np.finfo(np.float32).max / np.abs(rows).max() * 0.9
    found = {
        "all zero": np.zeros((N, D)), "constant": np.full((N, D), 3.0),
        "duplicated": np.repeat(rows[:3], N // 3, axis=0),
        "one row": rows[:1], "two rows": rows[:2], "one column": rows[:, :1], "one value": rows[:1, :1],
        "rank 1": np.outer(rows[:, 0], rows[0]), "one different": np.vstack([np.ones((N - 1, D)), 2 * np.ones((1, D))]),
        "float32 near its limit": (rows * large).astype(np.float32),
        "float32 near zero": (rows * 1e-41).astype(np.float32),
        "all scales": rows * np.logspace(-150, 150, D), "one huge row": np.vstack([rows[:-1], 1e150 * rows[-1:]]),
        "nan": np.where(rows > 2, np.nan, rows), "inf": np.where(rows > 2, np.inf, rows),
        "half": rows.astype(np.float16), "whole": (10 * rows).astype(np.int64), "wide": rows[:4].repeat(20, axis=1),
        "three values": np.sign(np.round(rows)),
    }  # fmt: skip
    return found | {f"1e{power}": rows * 10.0**power for power in (30, -30, 200, -200, 307, -307)}


def estimators():
    """Every class that can be fitted, in as many ways as change what is computed."""
    import pellucid
    from pellucid import binary, concepts, manifold, preparation, selection
    from pellucid.clusters import CommonalityClustering

    seed = {"random_state": 0}
    return {
        "CenteredNormalizer": preparation.CenteredNormalizer(),
        "BinaryAutoencoder": binary.BinaryAutoencoder(n_chains=50, **seed),
        "BinaryAutoencoder greedy": binary.BinaryAutoencoder(acceptance="greedy", n_chains=50, **seed),
        "BinaryAutoencoder relative": binary.BinaryAutoencoder(acceptance="relative", n_chains=50, **seed),
        "CombinedConcepts": binary.CombinedConcepts(max_attempts=3, **seed),
        "IterativeAssignment": binary.IterativeAssignment(**seed),
        "CommonalityClustering": CommonalityClustering(3, 2, 2, max_iter=4, **seed),
        "CommonalityClustering kmeans": CommonalityClustering(3, 2, 0, init="kmeans", max_iter=4, **seed),
        "CommonalityClustering paper": CommonalityClustering(3, 2, 2, reading="paper", max_iter=4, **seed),
        "ConceptDiscovery": concepts.ConceptDiscovery(4, max_iter=3, **seed),
        "ConceptErasure": concepts.ConceptErasure(),
        **{f"ConceptSubspaces {u}": concepts.ConceptSubspaces(2, update=u, max_iter=3, **seed)
           for u in ("online", "svd", "bcd", "power")},
        "ConceptSubspaces auto": concepts.ConceptSubspaces("auto", max_iter=3, **seed),
        "ConceptSubspaces as is": concepts.ConceptSubspaces(2, center=False, max_iter=3, **seed),
        "IsometryPursuit": selection.IsometryPursuit(max_subsets=2_000, **seed),
        "SphericalKMeans": manifold.SphericalKMeans(3, **seed),
        "NearestCode": manifold.NearestCode(4, **seed),
        "ThresholdCode": manifold.ThresholdCode(4, **seed),
        "LassoCode": manifold.LassoCode(4, **seed),
        **{f"SparseManifoldTransform {c}": manifold.SparseManifoldTransform(3, n_atoms=6, code=c, **seed)
           for c in ("nearest", "threshold", "lasso")},
        "SparseManifoldTransform temporal":
            manifold.SparseManifoldTransform(3, n_atoms=6, neighbors="temporal", **seed),
        "PatchManifoldTransform": manifold.PatchManifoldTransform(n_components=3, n_atoms=6, patch_size=3, **seed),
        "WordManifoldTransform": manifold.WordManifoldTransform(n_components=2, min_count=1),
        "version": pellucid.__version__,
    }  # fmt: skip


def fit(name, model, X, folder):
    """Fit, use, save and load; whatever comes out has no holes."""
    import pellucid

    y = np.arange(len(X)) % 2
    if name.startswith("Patch"):
        X = np.resize(X, (4, 8, 8))
    if name.startswith("Word"):
        X = [" ".join(f"{value:.3g}" for value in row) for row in X]
    model.fit(X, y) if name.startswith("Concept") else model.fit(X)
    for use in ("transform", "predict", "predict_proba", "project", "shares", "reconstruct"):
        if hasattr(model, use) and not (use == "project" and name.startswith("Concept")):
            out = getattr(model, use)(X)
            values = np.asarray(out.todense() if hasattr(out, "todense") else out)
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise AssertionError(f"{use} gives numbers that are not finite")
    pellucid.save(model, folder / "m.safetensors")
    pellucid.load(folder / "m.safetensors")


def commands(X, folder):
    """Calls of every command that reads rows, one after the other, with what the ones before left."""
    from pellucid import vectors

    np.save(folder / "v.npy", X)
    (folder / "labels.txt").write_text("\n".join("ab"[i % 2] for i in range(len(X))))
    vectors.write(
        folder / "w.parquet", np.nan_to_num(np.asarray(X, dtype=np.float64)[:2]), [f"w{i}" for i in range(len(X[:2]))]
    )
    model, few = ["-m", "m.safetensors"], ["--n-components", "2", "--n-atoms", "4"]
    return [
        ["info", "v.npy"],
        ["index", "v.npy", "-o", "c"],
        ["info", "c", "--verify"],
        ["search", "c", "--item", "0", "--diverse"],
        ["search", "c", "--vector", "w.parquet"],
        ["concepts", "fit", "v.npy", "--labels", "labels.txt", "--n-atoms", "2", "-o", "m.safetensors"],
        ["concepts", "fit", "v.npy", "--words", "w.parquet", "--n-atoms", "2", "-o", "z.safetensors"],
        ["concepts", "project", "v.npy", *model, "-c", "a", "-o", "p.npy"],
        ["concepts", "project", "v.npy", *model],
        ["concepts", "caption", "m.safetensors", "--words", "w.parquet"],
        ["concepts", "evaluate", "v.npy", *model, "--labels", "labels.txt"],
        ["concepts", "erase", "v.npy", "--labels", "labels.txt", "-o", "e.npy", "--certify"],
        ["search", "c", *model, "--item", "0", "-c", "a", "--explain"],
        ["discover", "v.npy", "--n-concepts", "4", "-o", "d.safetensors"],
        ["compare", "v.npy", "v.npy", "-m", "d.safetensors"],
        ["binary", "fit", "v.npy", "-o", "b.safetensors"],
        ["binary", "draw", "b.safetensors", "-o", "b.svg"],
        ["clusters", "fit", "v.npy", "--n-clusters", "2", "--n-atoms", "2", "--n-common", "2", "-o", "k.safetensors"],
        ["clusters", "predict", "v.npy", "-m", "k.safetensors"],
        ["manifold", "fit", "v.npy", *few, "-o", "s.safetensors"],
        ["manifold", "transform", "v.npy", "-m", "s.safetensors", "-o", "s.npy"],
        ["select", "v.npy", "-k", "3"],
        ["select", "v.npy", "--isometric"],
    ]


def attempt(work):
    """What became of it: "result" or "sentence"; anything else raises."""
    from pellucid.vectors import VectorFileError

    try:
        work()
    except AssertionError:
        raise
    except (ValueError, VectorFileError, FileNotFoundError, KeyError) as error:
        said = str(error)
        if not 10 < len(said) < 1500 or RAW.search(said) or isinstance(error, np.linalg.LinAlgError):
            raise AssertionError(f"{type(error).__name__}: {said[:200]}") from error
        return "sentence"
    return "result"


def called(arguments):
    from click.testing import CliRunner

    from pellucid.cli import group

    result = CliRunner().invoke(group, arguments)
    if result.exit_code == 2 or (result.exit_code and isinstance(result.exception, SystemExit)):
        raise ValueError(f"Misused: {result.output}")
    if result.exception is not None:
        raise result.exception


def tried(kinds):
    """(estimator or command, what is the matter, work) of all."""
    for case, X in cases().items():
        if "some" in kinds and case not in SOME:
            continue
        if "estimators" in kinds:
            for name, model in estimators().items():
                if name != "version":
                    yield name, case, lambda name=name, model=model, X=X: fit(name, model, X, Path.cwd())
        if "commands" in kinds:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                for arguments in commands(X, Path(folder)):
                    if all(Path(a).exists() for a in arguments if a.endswith((".npy", ".safetensors")) and
                           arguments[arguments.index(a) - 1] != "-o"):  # fmt: skip
                        yield " ".join(arguments), case, lambda arguments=arguments: called(arguments)


def late(*_):
    raise AssertionError(f"more than {SECONDS} seconds of the processor")


def work(kinds):
    """In a process of its own, which the system ends when it takes too much."""
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp(prefix="pathological-"))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, late)
    count = {"result": 0, "sentence": 0}
    for name, case, do in tried(kinds):
        print("at", json.dumps([name, case]), flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            count[attempt(do)] += 1
        except BaseException as error:
            where = [f for f in traceback.extract_tb(error.__traceback__) if "pellucid" in f.filename][-1:]
            place = f" ({Path(where[0].filename).name}:{where[0].lineno})" if where else ""
            print("broken", json.dumps([name, case, f"{type(error).__name__}: {str(error)[:300]}{place}"]), flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0)
    print("done", json.dumps(count), flush=True)


def run(*kinds):
    """Counts of what came out, and those that broke something: (what, case, error)."""
    child = subprocess.run([sys.executable, __file__, "--work", *kinds], capture_output=True, text=True)
    lines = child.stdout.splitlines()
    broken = [json.loads(line[7:]) for line in lines if line.startswith("broken ")]
    if not lines or not lines[-1].startswith("done "):
        last = next((line[3:] for line in reversed(lines) if line.startswith("at ")), "nothing")
        broken.append([last, "the process ended", f"{child.returncode} {child.stderr[-500:]}"])
        return {}, broken
    return json.loads(lines[-1][5:]), broken


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=["estimators", "commands"])
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.kinds)
    else:
        for kind in given.kinds:
            counted, wrong = run(kind)
            print(f"{kind}: {counted}, {len(wrong)} broken")
            for one in wrong:
                print("   ", *one)
