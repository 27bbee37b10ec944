"""Readers of array files: .npy, .npz and .safetensors, whose headers are checked before any byte is allocated."""

import ast
import json
import re
import struct
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from pellucid.vectors._common import (
    VectorFile,
    VectorFileError,
    as_floats,
    beside,
    byte_count,
    check_expansion,
    check_kind,
    check_matrix,
    check_room,
    choose,
    fail,
    fitness,
    leave_out,
    map_or_load,
)

NPY_MAGIC = b"\x93NUMPY"
NPY_HEADER_LIMIT = 2**16
SAFETENSORS_HEADER_LIMIT = 100 * 10**6  # the format's own

_SAFETENSORS_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "|b1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip


@dataclass(frozen=True)
class _Npy:
    """An .npy header, and where its data starts in the stream it came from."""

    dtype: np.dtype
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    start: int
    nbytes: int


def read_npy(path: Path, column: str | None) -> VectorFile:
    name = choose(path, column, {path.stem: "float"})
    with path.open("rb") as stream:
        header = _npy_header(path, name, stream)
    check_kind(path, name, header.dtype)
    check_matrix(path, name, header.shape)
    check_room(path, name, header.nbytes, path.stat().st_size - header.start)
    return VectorFile(as_floats(map_or_load(path, header.dtype, header.shape, header.start, header.order)), name)


def _npy_header(path: Path, name: str, stream: IO[bytes]) -> _Npy:
    """Parse the header by hand: numpy's own parser leads to an allocation before anyone looks at the file's size."""
    prefix = stream.read(8)
    if len(prefix) < 8 or not prefix.startswith(NPY_MAGIC):
        fail(path, f"does not start {name!r} as an .npy starts: write it with numpy.save.")
    version = prefix[6]
    counted = stream.read(2 if version == 1 else 4)
    length = int.from_bytes(counted, "little")
    if version not in (1, 2, 3) or length > NPY_HEADER_LIMIT:
        fail(path, f"has an unknown or oversized .npy header for {name!r}: write it again with numpy.save.")
    text = stream.read(length)
    try:
        fields = ast.literal_eval(text.decode("utf-8" if version == 3 else "latin1").strip())
        dtype, shape, fortran = _plain_dtype(fields["descr"]), fields["shape"], fields["fortran_order"]
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        fail(path, f"has a damaged .npy header for {name!r}: write or download it again.")
    nbytes = byte_count(path, name, shape, dtype.itemsize)
    return _Npy(dtype, tuple(shape), "F" if fortran else "C", len(prefix) + len(counted) + length, nbytes)


def _plain_dtype(descr: Any) -> np.dtype:
    if isinstance(descr, list):
        return np.dtype("V")  # records: never vectors, so their fields do not matter
    if not isinstance(descr, str) or not re.fullmatch(r"[<>|=]?[?biufcOSUVMm]\d{0,9}(\[\w+\])?", descr):
        raise ValueError(f"not a dtype: {descr!r}")
    return np.dtype(descr)


def read_npz(path: Path, column: str | None) -> VectorFile:
    with zipfile.ZipFile(path) as archive:
        members = {i.filename.removesuffix(".npy"): i for i in archive.infolist() if i.filename.endswith(".npy")}
        headers = {name: _member_header(path, name, archive, info) for name, info in members.items()}
        name = choose(path, column, {n: fitness(h.dtype.kind, len(h.shape)) for n, h in headers.items()})
        check_kind(path, name, headers[name].dtype)
        check_matrix(path, name, headers[name].shape)
        vectors = as_floats(_member(path, name, archive, members[name], headers[name]))
        others = {}
        for other, header in headers.items():
            if other == name or header.shape != vectors.shape[:1]:
                continue
            if header.dtype.kind == "O":
                leave_out(path, other, "holds Python objects, which are never unpacked (save it as text or numbers)")
            elif header.dtype.kind in "fiubUS":
                array = _member(path, other, archive, members[other], header)
                others[other] = array.astype(array.dtype.newbyteorder("="))
    ids, columns = beside(path, others)
    return VectorFile(vectors, name, ids, columns)


def _member_header(path: Path, name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Npy:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # the others unpack without a bound
        fail(path, f"packs {name!r} in a way numpy does not: write it with numpy.savez or numpy.savez_compressed.")
    with archive.open(info) as stream:
        return _npy_header(path, name, stream)


def _member(path: Path, name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo, header: _Npy) -> np.ndarray:
    """One array of the archive: mapped if it lies there as it is, unpacked otherwise."""
    check_room(path, name, header.nbytes, info.file_size - header.start)
    size = path.stat().st_size
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:  # bit 0: encrypted
        start = _member_start(path, info)
        check_room(path, name, info.file_size, min(info.file_size, size - start))
        return map_or_load(path, header.dtype, header.shape, start + header.start, header.order)
    check_expansion(path, name, min(info.compress_size, size), info.file_size)
    with archive.open(info) as stream:
        stream.read(header.start)
        return _unpack(path, name, stream, header)


def _member_start(path: Path, info: zipfile.ZipInfo) -> int:
    """Where the bytes of a stored member begin: after a local header with two fields of variable length."""
    with path.open("rb") as raw:
        raw.seek(info.header_offset)
        local = raw.read(30)
    name_length: int
    extra_length: int
    name_length, extra_length = struct.unpack("<HH", local[26:30])
    return info.header_offset + 30 + name_length + extra_length


def _unpack(path: Path, name: str, stream: IO[bytes], header: _Npy) -> np.ndarray:
    flat = np.empty(header.nbytes, np.uint8)
    filled = 0
    while chunk := stream.read(2**20):  # to the very end, where zipfile compares the checksum
        flat[filled : filled + len(chunk)] = np.frombuffer(chunk, np.uint8)
        filled += len(chunk)
    check_room(path, name, header.nbytes, filled)
    if header.nbytes == 0:
        return np.empty(header.shape, header.dtype)
    return flat.view(header.dtype).reshape(header.shape, order=header.order)


@dataclass(frozen=True)
class _Tensor:
    """An entry of a safetensors header, and where its data starts in the file."""

    code: str
    shape: tuple[int, ...]
    start: int

    @property
    def kind(self) -> str:
        # what has no numpy type is named a float, so that it is found and then refused by its own name
        return "f" if self.code == "BF16" else np.dtype(_SAFETENSORS_DTYPES.get(self.code, "f4")).kind


def read_safetensors(path: Path, column: str | None) -> VectorFile:
    tensors = _safetensors_header(path)
    name = choose(path, column, {n: fitness(t.kind, len(t.shape)) for n, t in tensors.items()})
    if tensors[name].code not in _SAFETENSORS_DTYPES:
        fail(path, f"holds {name!r} as {tensors[name].code}, which numpy cannot read: save it as float16 or float32.")
    check_matrix(path, name, tensors[name].shape)
    vectors = as_floats(_tensor(path, tensors[name]))
    others = {
        other: _tensor(path, tensor)
        for other, tensor in tensors.items()
        if other != name and tensor.shape == vectors.shape[:1] and tensor.code in _SAFETENSORS_DTYPES
    }
    ids, columns = beside(path, others)
    return VectorFile(vectors, name, ids, columns)


def _safetensors_header(path: Path) -> dict[str, _Tensor]:
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > min(size - 8, SAFETENSORS_HEADER_LIMIT):
            fail(
                path,
                f"claims a header of {length:,} bytes in a file of {size:,}: "
                "it is truncated or no safetensors file, so write or download it again.",
            )
        text = stream.read(length)
    try:
        entries = json.loads(text)
        entries.pop("__metadata__", None)
        tensors = {name: _tensor_entry(path, name, entry, 8 + length, size) for name, entry in entries.items()}
        _check_apart(path, {name: tuple(entry["data_offsets"]) for name, entry in entries.items()})
        return tensors
    except VectorFileError:
        raise
    except (AttributeError, TypeError, KeyError, RecursionError, OverflowError, ValueError):
        fail(path, "has a damaged safetensors header: write or download it again.")


def _check_apart(path: Path, offsets: dict[str, tuple[int, int]]) -> None:
    """No byte belongs to two arrays: a file in which one does was made to mislead."""
    before, reached = "", 0
    for name, (begin, end) in sorted(offsets.items(), key=lambda pair: pair[1]):
        if begin < reached and begin < end:
            fail(path, f"has {before!r} and {name!r} in the same bytes: it is damaged, so write or download it again.")
        if end > reached:
            before, reached = name, end


def _tensor_entry(path: Path, name: str, entry: dict[str, Any], start: int, size: int) -> _Tensor:
    code, shape, (begin, end) = str(entry["dtype"]), entry["shape"], entry["data_offsets"]
    known = _SAFETENSORS_DTYPES.get(code)
    if type(begin) is not int or type(end) is not int or not 0 <= begin <= end:
        raise TypeError("data_offsets are not two rising whole numbers")
    check_room(path, name, end, min(end, size - start))
    needed = byte_count(path, name, shape, np.dtype(known).itemsize if known else 1)
    if known and needed != end - begin:
        fail(
            path,
            f"gives {name!r} the shape {tuple(shape)} of {code}, {needed:,} bytes, but {end - begin:,} bytes of data: "
            "the header is damaged, so write or download it again.",
        )
    return _Tensor(code, tuple(shape), start + begin)


def _tensor(path: Path, tensor: _Tensor) -> np.ndarray:
    array = map_or_load(path, np.dtype(_SAFETENSORS_DTYPES[tensor.code]), tensor.shape, tensor.start)
    if tensor.code == "BF16":  # the upper half of a float32
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array
