"""Damaged files by the thousand: `python tests/support/fuzz.py 20000` says what became of them.

Each kind of file is read in a process of its own whose memory is limited, so that a crash, a hang and an allocation
bomb all show; the number of a file is the seed that makes it again.
"""

import argparse
import io
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parent.parent / "golden"
# what a reader of a file of some kilobytes may ask for beyond what it had at the start
MEMORY = 2 << 30
RESIDENT = 300 << 20
SECONDS = 10  # of the processor, for others may be busy on it
SILENCE = 600  # seconds that one file may take by the clock: it only ends what waits for ever
LARGE = (2**31 - 1, 2**31, 2**40, 2**63 - 1, 2**64 - 1, 10**12)
ROWS = np.arange(40, dtype=np.float32).reshape(10, 4)


def written(save, *arguments, **keywords):
    stream = io.BytesIO()
    save(stream, *arguments, **keywords)
    return stream.getvalue()


def sources(kind):
    """Whole files of a kind: (name, content) each."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from safetensors.numpy import save as tensors

    if kind == "model":
        import pellucid

        found = [(path.name, path.read_bytes()) for path in sorted(GOLDEN.glob("*.safetensors"))]
        with tempfile.TemporaryDirectory() as folder:  # and some as they are written today, with checksums
            for path in sorted(GOLDEN.glob("*.safetensors"))[::4]:
                pellucid.save(pellucid.load(path), Path(folder) / path.name)
                found.append((path.name, (Path(folder) / path.name).read_bytes()))
        return found
    if kind == "checkpoint":
        from pellucid._core.checkpoint import Checkpoint

        with tempfile.TemporaryDirectory() as folder:
            state = {"rows": ROWS, "numbers": [1, 2.5, None, "x"], "inner": {"more": ROWS[:2]}}
            Checkpoint(Path(folder) / "a", "mark", [], np.random.RandomState(0)).save(state)
            return [("a.safetensors", (Path(folder) / "a").read_bytes())]
    if kind == "npy":
        return [("a.npy", written(np.save, ROWS)), ("a.npy", written(np.save, ROWS.astype(">f8").T))]
    if kind == "npz":
        stored = written(lambda f: np.savez(f, vectors=ROWS, ids=np.array(list("abcdefghij"))))
        return [("a.npz", stored), ("a.npz", written(lambda f: np.savez_compressed(f, vectors=ROWS)))]
    if kind == "safetensors":
        return [("a.safetensors", tensors({"vectors": ROWS, "labels": np.arange(10)}))]
    if kind == "parquet":
        table = pa.table({"id": list("abcdefghij"), "vector": ROWS.tolist(), "n": list(range(10))})
        packed = ["none", "snappy", "zstd"]
        return [("a.parquet", written(lambda f, c=c: pq.write_table(table, f, compression=c))) for c in packed]
    if kind == "csv":
        return [("a.csv", b"id,x,y\n" + b"".join(b"%d,0.5,%d\n" % (i, i) for i in range(10)))]
    if kind == "h5ad":
        import anndata

        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = anndata.AnnData(ROWS, obsm={"X_pca": ROWS})
            data.obs["text"] = list("abcdefghij")
            data.write_h5ad(Path(folder) / "a.h5ad")
            return [("a.h5ad", (Path(folder) / "a.h5ad").read_bytes())]
    assert kind == "collection"
    from pellucid.search import Collection

    with tempfile.TemporaryDirectory() as folder:
        made = Collection.create(Path(folder) / "c", ROWS, text=list("abcdefghij"))
        made.delete(["3"])
        manifest = json.loads((made.folder / "manifest.json").read_text())
        for sums in ("crc32", "deleted_checksum"):  # which would refuse all before anybody looks further
            manifest.pop(sums)
        manifest["segments"][0].pop("items_checksum")
        (made.folder / "manifest.json").write_text(json.dumps(manifest))
        return [(path.name, path.read_bytes()) for path in sorted(made.folder.iterdir()) if path.suffix != ".lock"]


KINDS = ("model", "npy", "npz", "safetensors", "parquet", "csv", "h5ad", "collection", "checkpoint")


def damaged(content, rng):
    """One to four wounds: bytes changed, cut, doubled or put in, and numbers that claim a terabyte."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        if not data:
            break
        # the ends are where headers are
        near = int(rng.integers(0, min(len(data), 400)))
        at = int([near, len(data) - 1 - near, rng.integers(0, len(data))][rng.integers(3)])
        length = int(rng.integers(1, 40))
        wound = rng.integers(7)
        if wound == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif wound == 1:
            data[at : at + length] = rng.bytes(length)
        elif wound == 2:
            del data[at : at + length]
        elif wound == 3:
            del data[at:]
        elif wound == 4:
            data[at:at] = data[max(0, at - length) : at]
        elif wound == 5:
            large = LARGE[rng.integers(len(LARGE))]
            width = int(rng.choice([4, 8]))
            data[at : at + width] = (large & (256**width - 1)).to_bytes(width, str(rng.choice(["little", "big"])))
        else:
            numbers = list(re.finditer(rb"\d+", bytes(data)))
            if numbers:
                found = numbers[rng.integers(len(numbers))]
                data[found.start() : found.end()] = str(LARGE[rng.integers(len(LARGE))]).encode()
    return bytes(data)


def attempt(kind, folder, files, seed):
    """Read one damaged file; True if it was read, False if it was refused in a sentence."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    name, content = files[rng.integers(len(files))]
    if kind == "collection":
        for other, whole in files:
            (folder / other).write_bytes(whole)
    path = folder / name
    path.write_bytes(damaged(content, rng))
    return read_all(kind, path)


def read_all(kind, path):
    """Read a file, or the collection that it stands in, to its last row; False if it was refused in a sentence."""
    import pellucid
    from pellucid._core.checkpoint import Checkpoint
    from pellucid.persistence import ModelFileError
    from pellucid.search import Collection, CollectionError
    from pellucid.vectors import VectorFileError, read

    try:
        if kind == "model":
            pellucid.load(path)
        elif kind == "checkpoint":
            try:
                Checkpoint(path, "mark", [], np.random.RandomState(0)).load()
            except ValueError as error:
                raise ModelFileError(str(error)) from error
        elif kind == "collection":
            opened = Collection.open(path.parent)
            opened.search(ROWS[:1], 3)
            [opened.item(int(p)) for p in range(len(opened._now.rows))]
        else:
            found = read(path)
            assert found.vectors.ndim == 2
            assert found.vectors.nbytes < RESIDENT
            np.asarray(found.vectors).sum()
    except (ModelFileError, CollectionError, VectorFileError) as error:
        if not 10 < len(str(error)) < 3000:
            raise AssertionError("a sentence, not nothing and not the file") from error
        return False
    return True


def work(kind, start, stop):
    """In a process of its own: read files from one seed to another, saying which before each."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as place:
        folder, files = Path(place) / "here", sources(kind)
        folder.mkdir()
        (Path(place) / "canary").write_text("untouched")
        whole = {"read": 0, "refused": 0}
        attempt(kind, folder, [files[0]] if kind != "collection" else files, 0)  # imports and compiles
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        signal.signal(signal.SIGPROF, lambda *_: (_ for _ in ()).throw(TimeoutError("it hangs")))
        for seed in range(start, stop):
            print("at", seed, flush=True)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            # a hang inside a C library lets no handler run: the system ends it
            most = int(time.process_time()) + 3 * SECONDS
            resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
            whole["read" if attempt(kind, folder, files, seed) else "refused"] += 1
            signal.setitimer(signal.ITIMER_PROF, 0)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before
        left = sorted(path.name for path in Path(place).iterdir())
        assert left == ["canary", "here"], left
        assert (Path(place) / "canary").read_text() == "untouched"
        assert grown < RESIDENT, f"{grown >> 20} MB more than at the start"
        print("done", json.dumps({**whole, "megabytes": grown >> 20}), flush=True)


def heard(child):
    """The lines that a child says until it ends; one that falls silent is ended."""
    said, more = b"", b"something"
    while more:
        if not select.select([child.stdout], [], [], SILENCE)[0]:
            child.kill()
        more = os.read(child.stdout.fileno(), 1 << 16)
        said += more
    child.stdout.close()
    child.wait()
    return said.decode().splitlines()


def fuzz(kind, count, first=0, chunk=2000):
    """What became of so many files: how many were read, refused, and the seeds of those that broke the reader."""
    total = {"kind": kind, "read": 0, "refused": 0, "megabytes": 0, "broken": []}
    start = first
    while start < first + count:
        stop = min(start + chunk, first + count)
        command = [sys.executable, __file__, "--work", kind, str(start), str(stop)]
        with tempfile.TemporaryFile() as errors:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors)
            lines = heard(child)
            errors.seek(0)
            err = errors.read().decode(errors="replace")
        if lines and lines[-1].startswith("done"):
            said = json.loads(lines[-1][5:])
            total["read"] += said["read"]
            total["refused"] += said["refused"]
            total["megabytes"] = max(total["megabytes"], said["megabytes"])
            start = stop
            continue
        at = int(lines[-1].split()[1]) if lines else start
        total["broken"].append((at, child.returncode, (err.strip().splitlines() or [""])[-1]))
        total["refused"] += at - start  # not told apart
        start = at + 1
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=1000, help="files of each kind")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--kinds", nargs="*", default=KINDS)
    parser.add_argument("--work", nargs=3, metavar=("KIND", "START", "STOP"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work[0], int(given.work[1]), int(given.work[2]))
    else:
        for kind in given.kinds:
            begun = time.perf_counter()
            found = fuzz(kind, given.count, given.first)
            print(f"{kind:12} {found['read']:6} read, {found['refused']:6} refused, {len(found['broken'])} broken, "
                  f"{found['megabytes']} MB, {time.perf_counter() - begun:.0f} s", flush=True)  # fmt: skip
            for broken in found["broken"]:
                print("   ", *broken, flush=True)
