"""Ctrl-C at random moments: `python tests/support/interrupted.py 50` says how each command ended.

It may have ended before; else it ends within SECONDS, or after its sweep with what it learned saved, with code 1 and
the one line "Stopped." on stderr, beside what it noted. Nothing but a whole output is left behind.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from anndata import AnnData
from scipy.sparse import csr_matrix

SECONDS = 2.0  # on a machine that is not busy
COMMANDS = {
    "clusters fit": "clusters fit v.npy --n-clusters 6 -o OUT.safetensors",
    "clusters predict": "clusters predict v.npy -m k.safetensors -o OUT.csv",
    "concepts fit": "concepts fit v.npy --labels l.txt -o OUT.safetensors",
    "concepts project": "concepts project v.npy -m m.safetensors -c c1 -o OUT.npy",
    "concepts erase": "concepts erase v.npy --labels l.txt --certify -o OUT.npy",
    "concepts evaluate": "concepts evaluate v.npy -m m.safetensors --labels l.txt",
    "discover": "discover v.npy -o OUT.safetensors",
    "compare": "compare v.npy v.npy -m m.safetensors",
    "binary fit": "binary fit v.npy -o OUT.safetensors",
    "manifold fit": "manifold fit v.npy -o OUT.safetensors",
    "index": "index v.npy -o OUT",
    "export atlas": "export atlas c -m m.safetensors -o OUT.parquet",
    "programmes": "programmes g.h5ad -o OUT.h5ad",
    "trace": "trace c -m m.safetensors --item 7 --expected 9",
    "search": "search c --item 7 --diverse -k 300",
    "select": "select v.npy -k 400 -o OUT.npy",
    "select --isometric": "select v.npy --isometric -o OUT.npy",
    "info": "info v.npy",
    "demo": "demo --no-serve -o OUT",
}
SAVES = ("clusters fit", "concepts fit")  # of these what was learned until then is kept


def program(arguments):
    return [sys.executable, "-c", "from pellucid.__main__ import main; main()", *arguments]


def prepared(folder):
    """Rows, labels, models and a collection that commands read."""
    rng = np.random.default_rng(0)
    np.save(folder / "v.npy", rng.standard_normal((6000, 48)).astype(np.float32))
    genes = AnnData(csr_matrix(rng.poisson(0.3, (600, 200)).astype(np.float32)))
    genes.write_h5ad(folder / "g.h5ad")
    (folder / "l.txt").write_text("\n".join(f"c{i % 12}" for i in range(6000)))
    for line in (
        "concepts fit v.npy --labels l.txt --max-iter 1 -o m.safetensors",
        "clusters fit v.npy --n-clusters 3 --n-init 1 --max-iter 1 -o k.safetensors",
        "index v.npy -o c",
    ):
        subprocess.run(program(line.split()), cwd=folder, check=True, capture_output=True)


def stopped(name, folder, after, out):
    """How it ended: (what, seconds, sentence of what is wrong or None)."""
    arguments = COMMANDS[name].replace("OUT", out).split()
    child = subprocess.Popen(program(arguments), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(after)
    if child.poll() is not None:
        child.communicate()
        return "finished before", 0.0, None if child.returncode == 0 else f"code {child.returncode}"
    begun = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    took, lines = time.monotonic() - begun, said.decode(errors="replace").split("\n")
    saved = [path for path in folder.iterdir() if path.name.startswith(out)]
    left = [path.name for path in folder.glob(".pellucid-*")]
    stray = [line for line in lines if line and line != "Stopped." and not line.startswith("Note: ")]
    if child.returncode == 0:
        return "finished", took, f"said {stray}" if stray else None
    wrong = None
    if child.returncode != 1 or lines.count("Stopped.") != 1 or stray:
        wrong = f"code {child.returncode}, said {lines}"
    elif saved and name not in (*SAVES, "demo"):
        wrong = f"left {saved}"
    elif left and name != "demo":
        wrong = f"left {left}"
    return "saved" if saved else "stopped", took, wrong


def main(count, names, span, seed):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepared(folder)
        for name in names:
            ends, longest, wrong = {}, 0.0, []
            for i in range(count):
                after = draw.uniform(0.1, span)
                how, took, problem = stopped(name, folder, after, f"out-{name.replace(' ', '-')}-{i}")
                ends[how] = ends.get(how, 0) + 1
                longest = max(longest, took)
                if problem:
                    wrong.append(f"after {after:.2f} s: {problem}")
            print(f"{name:20} {ends}, longest {longest:.2f} s, {len(wrong)} wrong", *wrong, sep="\n    ", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=50)
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS))
    parser.add_argument("--span", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    main(given.count, given.commands, given.span, given.seed)
