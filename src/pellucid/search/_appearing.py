"""Collections that appear when they are complete, also in the place of another one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pellucid._core.atomic import sweep, temporary_name
from pellucid.search._folder import (
    INDEX,
    MANIFEST,
    PREPARED,
    CollectionError,
    changing,
    read_manifest,
    remove_unnamed,
    write_manifest,
)
from pellucid.search._lock import LOCK


def check_free(folder: Path, overwrite: bool) -> bool:
    """Whether there is a collection to overwrite; refuses a folder that holds anything else, or may not be touched."""
    if not folder.exists():
        return False
    if not folder.is_dir():
        raise CollectionError(f"{folder} is a file; name a folder.")
    if all(path.name == LOCK for path in folder.iterdir()):
        return False
    if not overwrite:
        instead = ", or replace it with overwrite=True" if (folder / MANIFEST).is_file() else ""
        raise CollectionError(f"{folder} is not empty; open the collection in it, or name another folder{instead}.")
    if not (folder / MANIFEST).is_file():
        raise CollectionError(f"{folder} holds no collection, so it is not overwritten; name another folder.")
    read_manifest(folder)  # a manifest.json of somebody else is none
    return True


@contextmanager
def appearing(folder: Path, overwrite: bool) -> Iterator[Path]:
    """A place to fill with a collection, which is in ``folder`` when the block ends well, and gone when it does not."""
    check_free(folder, overwrite)
    target = folder.absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CollectionError(f"{target.parent} cannot be made ({error.strerror or error}); name another.") from error
    place = target.with_name(temporary_name())
    sweep(target.parent)
    try:
        yield place
        if target.exists():
            move_in(place, target, overwrite)
        else:
            os.replace(place, target)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def move_in(place: Path, folder: Path, overwrite: bool) -> None:
    """Put the collection that is in ``place`` into ``folder``, where it counts from the moment of its manifest: until
    then the one that was there is whole, since files of both stand beside each other under names of their own."""
    with changing(folder):
        before = read_manifest(folder) if check_free(folder, overwrite) else None
        new, number = read_manifest(place), 0 if before is None else before["generation"]
        try:
            for segment in new["segments"]:
                number += 1
                for kind, end in (("vectors", "npy"), ("items", "parquet")):
                    os.replace(place / f"{kind}-{segment['name']}.{end}", folder / f"{kind}-{number:06d}.{end}")
                segment["name"] = f"{number:06d}"
            # whoever has the other one open sees that it was changed
            write_manifest(folder, {**new, "generation": number, "prepared": False})
        except BaseException:
            with suppress(OSError):
                remove_unnamed(folder, before or {"segments": [], "deleted": None})
            raise
        with suppress(OSError):  # the new one counts already
            remove_unnamed(folder, new)
            (folder / PREPARED).unlink(missing_ok=True)
            shutil.rmtree(folder / INDEX, ignore_errors=True)
