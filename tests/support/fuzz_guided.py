"""Damaged files, guided by what they reach: `python tests/support/fuzz_guided.py 100000` says what became of them.

Atheris (libFuzzer for Python) keeps every file that reaches a branch of ours which none before had reached, and damages
those further. Each kind is read in a process of its own, since libFuzzer ends the one it runs in. Without atheris,
which has no wheel for every system, nothing is done, and that is said.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

KINDS = ("model", "npy", "npz", "safetensors", "parquet", "csv", "collection", "checkpoint")
SECONDS = 30  # for one file
MEGABYTES = 3000


def guided(kind, count, corpus):
    """In a process of its own, which libFuzzer ends: read files that grow from whole ones."""
    import atheris

    with atheris.instrument_imports(include=["pellucid"]):
        import pellucid._core.checkpoint
        import pellucid.persistence
        import pellucid.search.collection
        import pellucid.search.engines.exact
        import pellucid.vectors  # noqa: F401
        from support import fuzz
    warnings.simplefilter("ignore")
    whole = fuzz.sources(kind)
    if kind == "model":  # those without checksums, which would refuse all before anybody looks further
        whole = [(name, content) for name, content in whole if b'"checksums"' not in content]
    # of a collection the manifest is what leads to all the rest
    seeds = [content for name, content in whole if kind != "collection" or name == "manifest.json"]
    for number, content in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(content)
    name = "manifest.json" if kind == "collection" else whole[0][0]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        folder = Path(place) / "here"
        folder.mkdir()
        for other, content in whole if kind == "collection" else ():
            (folder / other).write_bytes(content)

        def one(data):
            (folder / name).write_bytes(data)
            fuzz.read_all(kind, folder / name)

        most = max(len(content) for content in seeds) * 2
        atheris.Setup(
            [sys.argv[0], str(corpus), f"-runs={count}", f"-max_len={most}", f"-timeout={SECONDS}",
             f"-rss_limit_mb={MEGABYTES}", f"-artifact_prefix={corpus.parent}/", "-print_final_stats=1"],
            one,
        )  # fmt: skip
        atheris.Fuzz()


def run(kind, count):
    """(files read, edges reached at the start and at the end, what broke)."""
    with tempfile.TemporaryDirectory(prefix="guided-") as place:
        corpus = Path(place) / "corpus"
        corpus.mkdir()
        command = [sys.executable, __file__, "--work", kind, str(count), str(corpus)]
        told = subprocess.run(command, capture_output=True, text=True, errors="replace")
        reached = [int(n) for n in re.findall(r"cov: (\d+)", told.stderr)]
        done = [int(n) for n in re.findall(r"^#(\d+)", told.stderr, re.M)]
        broke = None
        if told.returncode:
            kept = [path for path in Path(place).iterdir() if path.is_file()]
            broke = "\n".join(told.stderr.splitlines()[-40:]) + "".join(f"\n{p.name}: {p.read_bytes()!r}" for p in kept)
    return max(done, default=0), (reached[0], reached[-1]) if reached else (0, 0), broke


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=10_000, help="files of each kind")
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--work", nargs=3, metavar=("KIND", "COUNT", "CORPUS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        guided(given.work[0], int(given.work[1]), Path(given.work[2]))
    elif importlib.util.find_spec("atheris") is None:
        print("No atheris here: pip install atheris, where it has a wheel for this system.")
    else:
        worst = 0
        for kind in given.kinds:
            files, (first, last), broke = run(kind, given.count)
            print(
                f"{kind:12} {files:7} files, edges of ours {first} -> {last}, {'BROKE' if broke else 'all told'}",
                flush=True,
            )
            if broke:
                print(broke, flush=True)
                worst = 1
        raise SystemExit(worst)
