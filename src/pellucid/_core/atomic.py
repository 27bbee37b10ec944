"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

# bytes that are copied at a time
BLOCK = 1 << 24
# what is temporary is named so, with its process; it is nobody's when that is gone and it was quiet for so long
TEMPORARY = re.compile(r"\.pellucid-(\d{1,10})-\w+(\.\w+)?")
QUIET = 600.0
_swept: set[str] = set()


def temporary_name(suffix: str = "") -> str:
    """A name of this process that nobody else has; readers of a folder pass over it, since it starts with a dot."""
    return f".pellucid-{os.getpid()}-{secrets.token_hex(8)}{suffix}"


def sweep(folder: Path) -> None:
    """Remove what processes that were killed have left in a folder, once for each folder and process."""
    place = os.path.realpath(folder)
    if place in _swept:
        return
    _swept.add(place)
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            named = TEMPORARY.fullmatch(entry.name)
            if named and _is_left(entry, int(named[1])):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    with suppress(OSError):
                        os.unlink(entry.path)


def _is_left(entry: os.DirEntry[str], process: int) -> bool:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    ours = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return ours and time.time() - found.st_mtime > QUIET and not _runs(process)


def _runs(process: int) -> bool:
    """Whether there is such a process here; elsewhere than on POSIX only how quiet the file was counts."""
    if os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def atomic_path(path: str | os.PathLike[str], *, follow: bool = True) -> Iterator[Path]:
    """Give a temporary path beside `path`; when the block ends well, the file written there takes its place.

    When the block raises (Ctrl-C included), `path` keeps its old content and the temporary file is removed.
    The temporary name ends as `path` does, so writers that look at the suffix behave, and starts with a dot,
    so readers of the folder pass over it. An existing file keeps its permissions; a new one gets the umask's.
    A symbolic link stays a link, and the file behind it is replaced; if not ``follow``, the link itself is replaced.
    """
    target = Path(os.path.realpath(path)) if follow else Path(path)
    temporary = target.with_name(temporary_name(target.suffix))
    sweep(target.parent)
    try:
        yield temporary
        _flush(temporary)
        if target.exists() and not target.is_symlink():
            os.chmod(temporary, stat.S_IMODE(target.stat().st_mode) & 0o777)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the rename itself must reach the disk; other systems cannot open a folder
        _flush(target.parent)


def _flush(path: Path) -> None:
    # Windows flushes only what is open for writing, POSIX folders open only for reading
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def save_array(path: str | os.PathLike[str], array: NDArray[Any], *, follow: bool = True, summed: bool = False) -> None:
    """An .npy file that appears whole or not at all. numpy's own writer tells of a full disk only how many bytes are
    missing, without saying why. If ``summed``, the CRC-32 of its bytes follows them, which readers pass over."""
    import numpy as np

    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    rows, total = max(1, BLOCK * len(array) // max(1, array.nbytes)), 0
    with atomic_path(path, follow=follow) as temporary, open(temporary, "xb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(array), rows):
            data = np.ascontiguousarray(array[start : start + rows]).reshape(-1).view(np.uint8).data
            total = zlib.crc32(data, total)
            file.write(data)
        if summed:
            file.write(total.to_bytes(4, "little"))
