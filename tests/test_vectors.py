"""Vectors from files and to files: what is read, what is refused and in which words, what a crash leaves behind."""

import io
import json
import os
import re
import stat
import struct
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pellucid import vectors
from pellucid._core import extras
from pellucid._core.atomic import atomic_path
from pellucid.vectors import VectorFile, VectorFileError, _common, _h5ad, _tables, _write, read, write

DATA = np.arange(12, dtype=np.float32).reshape(4, 3) / 8


def is_mapped(array):
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


def save_npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def save_table(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def lists(array):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(array).ravel()), array.shape[1])


def save_safetensors(path, header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def save_npy_header(path, shape, descr="<f4", data=b"", fortran=False):
    text = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}".encode()
    text = text.ljust(118) if len(text) < 118 else text
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data)
    return path


@pytest.fixture
def anndata():
    return pytest.importorskip("anndata", reason="reading .h5ad is the extra pellucid[anndata]")


def save_h5ad(anndata, path, matrix, obsm=None, obs=None, names=None, **options):
    import pandas as pd

    names = names or [f"cell{i}" for i in range(4)]
    frame = pd.DataFrame(obs or {}, index=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # anndata's own notices on dtypes
        anndata.AnnData(X=matrix, obs=frame, obsm=obsm or {}).write_h5ad(path, **options)
    return path


# ---- round trips ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_writes_and_reads_floats_as_they_are(tmp_path, kind, suffix, dtype):
    path = kind(tmp_path / f"véctors 向量{suffix}")
    assert write(path, DATA.astype(dtype)) is None
    result = read(path)
    assert isinstance(result, VectorFile)
    assert result.vectors.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result.vectors, DATA.astype(dtype))
    assert result.ids is None
    assert result.columns == {}


def as_npy(path, array):
    np.save(path / "a.npy", array)
    return path / "a.npy"


def as_npz(path, array):
    return save_npz(path / "a.npz", vectors=array)


def as_compressed(path, array):
    np.savez_compressed(path / "a.npz", vectors=array)
    return path / "a.npz"


def as_safetensors(path, array):
    safetensors.numpy.save_file({"vectors": np.ascontiguousarray(array)}, path / "a.safetensors")
    return path / "a.safetensors"


def as_list_column(path, array):
    if array.dtype.kind == "f" and array.dtype.itemsize == 2 and int(pa.__version__.split(".")[0]) < 20:
        pytest.skip("this pyarrow cannot make lists of float16")
    return save_table(path / "a.parquet", vector=pa.array(list(map(list, array.tolist())), pa.list_(pa_type(array))))


def as_fixed_column(path, array):
    native = array.astype(array.dtype.newbyteorder("="))
    return save_table(path / "a.parquet", vector=lists(native))


def as_numeric_columns(path, array):
    native = array.astype(array.dtype.newbyteorder("="))
    return save_table(path / "a.parquet", **{f"x{i}": pa.array(native[:, i]) for i in range(array.shape[1])})


def pa_type(array):
    return pa.from_numpy_dtype(array.dtype.newbyteorder("="))


WRITERS = [as_npy, as_npz, as_compressed, as_safetensors, as_list_column, as_fixed_column, as_numeric_columns]
NUMBERS = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


# a plain column of booleans is a label, not a dimension
@pytest.mark.parametrize(
    ("writer", "dtype"), [(w, d) for w in WRITERS for d in [*NUMBERS, "?"] if (w, d) != (as_numeric_columns, "?")]
)
def test_every_format_keeps_floats_and_turns_whole_numbers_into_float32(tmp_path, writer, dtype):
    array = np.arange(12).reshape(4, 3).astype(dtype)
    result = read(writer(tmp_path, array)).vectors
    assert result.dtype == (array.dtype if array.dtype.kind == "f" else np.float32)
    assert result.dtype.isnative
    np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("writer", WRITERS)
def test_whole_numbers_beyond_float32_become_float64(tmp_path, writer):
    array = np.array([[1, 2], [-(2**24) - 1, 2**24 + 1]])
    result = read(writer(tmp_path, array)).vectors
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, array)


def test_large_whole_numbers_that_turn_up_late_widen_what_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "BATCH_ROWS", 2)
    array = np.array([[1, 2], [3, 4], [5, 6], [7, 2**30 + 1]])
    result = read(as_fixed_column(tmp_path, array)).vectors
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("writer", [as_npy, as_npz, as_compressed])
@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i4", ">u8", "<f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_byte_order_and_memory_order_do_not_change_the_numbers(tmp_path, writer, dtype, order):
    array = np.asarray(np.arange(12).reshape(4, 3), dtype=dtype, order=order)
    result = read(writer(tmp_path, array)).vectors
    assert result.dtype.isnative
    np.testing.assert_array_equal(result, array)


@pytest.mark.parametrize("writer", [w for w in WRITERS if w is not as_list_column])
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row_are_vectors_too(tmp_path, writer, rows):
    result = read(writer(tmp_path, np.ones((rows, 5), np.float32)))
    assert result.vectors.shape == (rows, 5)
    assert result.vectors.dtype == np.float32


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_writes_no_rows(tmp_path, suffix):
    write(tmp_path / f"a{suffix}", np.empty((0, 7), np.float64))
    assert read(tmp_path / f"a{suffix}").vectors.shape == (0, 7)


@settings(derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    array=hnp.arrays(st.sampled_from([np.float16, np.float32, np.float64]), hnp.array_shapes(min_dims=2, max_dims=2)),
    suffix=st.sampled_from([".npy", ".parquet"]),
)
def test_any_floats_survive_writing_bit_for_bit(tmp_path, array, suffix):
    path = tmp_path / f"a{suffix}"
    write(path, array)
    result = read(path).vectors
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, array)  # NaN and infinity are equal to themselves here


def test_writes_ids_and_columns_beside_the_vectors(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {"título": ["a", "b", None, "d"], "year": np.array([1, 2, 3, 4]), "tags": [["x"], [], ["y", "z"], []]}
    write(path, DATA, ids=["7", "ü", "", "x"], columns=columns)
    result = read(path)
    assert result.name == "vector"
    assert result.ids == ["7", "ü", "", "x"]
    assert {name: values.to_pylist() for name, values in result.columns.items()} == {
        "título": ["a", "b", None, "d"],
        "year": [1, 2, 3, 4],
        "tags": [["x"], [], ["y", "z"], []],
    }
    np.testing.assert_array_equal(result.vectors, DATA)


def test_what_was_read_can_be_written_again(tmp_path):
    write(tmp_path / "a.parquet", DATA, ids="abcd", columns={"t": pa.chunked_array([["a"], ["b", "c", "d"]])})
    first = read(tmp_path / "a.parquet")
    write(tmp_path / "b.parquet", first.vectors, first.ids, first.columns)
    second = read(tmp_path / "b.parquet")
    assert second.ids == first.ids == ["a", "b", "c", "d"]
    assert second.columns["t"].equals(first.columns["t"])


def test_parquet_is_written_in_row_groups_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr(_write, "GROUP_BYTES", 5 * DATA.shape[1] * 4)
    array = np.arange(33, dtype=np.float32).reshape(11, 3)
    write(tmp_path / "a.parquet", array, ids=map(str, range(11)))
    file = pq.ParquetFile(tmp_path / "a.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [5, 5, 1]
    result = read(tmp_path / "a.parquet")
    np.testing.assert_array_equal(result.vectors, array)
    assert result.ids == [str(i) for i in range(11)]


def test_rows_of_several_batches_stay_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "BATCH_ROWS", 3)
    array = np.random.default_rng(0).normal(size=(20, 4))
    write(tmp_path / "a.parquet", array, ids=map(str, range(20)), columns={"n": np.arange(20)})
    result = read(tmp_path / "a.parquet")
    np.testing.assert_array_equal(result.vectors, array)
    assert result.ids == [str(i) for i in range(20)]
    assert result.columns["n"].to_pylist() == list(range(20))


def test_reads_a_folder_of_parquet_files_by_name(tmp_path):
    write(tmp_path / "part-1.parquet", DATA[2:], ids="cd")
    write(tmp_path / "part-0.parquet", DATA[:2], ids="ab")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-2.parquet").write_bytes(b"still being written")
    result = read(tmp_path)
    np.testing.assert_array_equal(result.vectors, DATA)
    assert result.ids == ["a", "b", "c", "d"]


def test_a_tensor_column_is_a_vector_column(tmp_path):
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(DATA)
    np.testing.assert_array_equal(read(save_table(tmp_path / "a.parquet", t=tensors)).vectors, DATA)


def test_texts_beyond_the_limit_of_one_array_become_large_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "TEXT_LIMIT", 10)
    write(tmp_path / "a.parquet", DATA, columns={"t": ["a long text"] * 4})
    column = read(tmp_path / "a.parquet").columns["t"]
    assert column.type == pa.large_string()
    assert column.to_pylist() == ["a long text"] * 4


def test_dictionaries_come_along_as_plain_texts(tmp_path):
    path = save_table(tmp_path / "a.parquet", v=lists(DATA), t=pa.array(list("abba")).dictionary_encode())
    assert read(path).columns["t"].to_pylist() == list("abba")


def test_bfloat16_becomes_float32(tmp_path):
    numbers = np.array([[1.0, -2.5], [0.15625, 3e38]], np.float32)
    upper = (numbers.view(np.uint32) >> 16).astype("<u2")
    header = {"emb": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}
    result = read(save_safetensors(tmp_path / "a.safetensors", header, upper.tobytes())).vectors
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, (upper.astype(np.uint32) << 16).view(np.float32))
    np.testing.assert_allclose(result, numbers, rtol=2**-7)


def test_numpy_reads_what_is_written(tmp_path):
    write(tmp_path / "a.npy", DATA)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), DATA)


def test_newer_npy_headers_are_read(tmp_path):
    for version in [(2, 0), (3, 0)]:
        with (tmp_path / "a.npy").open("wb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.lib.format.write_array(stream, DATA, version=version)
        np.testing.assert_array_equal(read(tmp_path / "a.npy").vectors, DATA)


def test_upper_case_suffixes_are_known(tmp_path):
    np.save(tmp_path / "a.npy", DATA)
    (tmp_path / "a.npy").rename(tmp_path / "A.NPY")
    np.testing.assert_array_equal(read(tmp_path / "A.NPY").vectors, DATA)


# ---- memory mapping -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_is_mapped_and_cannot_be_written_to(tmp_path, order):
    result = read(as_npy(tmp_path, np.asarray(DATA, order=order))).vectors
    assert is_mapped(result)
    assert not result.flags.writeable
    np.testing.assert_array_equal(result, DATA)


def test_safetensors_is_mapped(tmp_path):
    assert is_mapped(read(as_safetensors(tmp_path, DATA)).vectors)


def test_safetensors_that_are_not_aligned_are_loaded(tmp_path):
    header = {"emb": {"dtype": "F32", "shape": [4, 3], "data_offsets": [1, 49]}}
    text = json.dumps(header).encode().ljust(128)
    result = read(save_safetensors(tmp_path / "a.safetensors", text, b"\0" + DATA.tobytes())).vectors
    assert not is_mapped(result)
    assert result.flags.aligned
    np.testing.assert_array_equal(result, DATA)


def test_stored_npz_members_are_mapped_where_they_are_aligned(tmp_path):
    # numpy's zip headers take 50 bytes and the name, so that 'vector.npy' starts at 60 and 'vectors.npy' at 61
    aligned = read(save_npz(tmp_path / "a.npz", vector=DATA)).vectors
    loaded = read(save_npz(tmp_path / "b.npz", vectors=DATA)).vectors
    assert is_mapped(aligned)
    assert not is_mapped(loaded)
    assert loaded.flags.aligned
    np.testing.assert_array_equal(aligned, DATA)
    np.testing.assert_array_equal(loaded, DATA)


def test_dense_h5ad_is_mapped_and_packed_h5ad_is_read(tmp_path, anndata):
    plain = read(save_h5ad(anndata, tmp_path / "a.h5ad", DATA)).vectors
    packed = read(save_h5ad(anndata, tmp_path / "b.h5ad", DATA, compression="gzip")).vectors
    assert is_mapped(plain)
    assert not is_mapped(packed)
    np.testing.assert_array_equal(plain, DATA)
    np.testing.assert_array_equal(packed, DATA)


def test_a_file_can_be_written_from_its_own_map(tmp_path):
    path = as_npy(tmp_path, DATA)
    mapped = read(path).vectors
    write(path, mapped[::-1])
    np.testing.assert_array_equal(mapped, DATA)
    np.testing.assert_array_equal(read(path).vectors, DATA[::-1])


def test_importing_vectors_brings_numpy_only():
    heavy = {"pyarrow", "h5py", "anndata", "scipy", "pandas"}
    code = f"import sys, pellucid.vectors; print(sorted({heavy} & set(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"


# ---- which array ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vectors", "vector", "embedding", "embeddings", "X", "emb", "Embedding"])
def test_a_usual_name_wins(tmp_path, name):
    others = {"a": DATA + 1, "b": DATA + 2}
    assert read(save_npz(tmp_path / "a.npz", **others, **{name: DATA})).name == name
    columns = {key: lists(value) for key, value in others.items()}
    assert read(save_table(tmp_path / "a.parquet", **columns, **{name: lists(DATA)})).name == name
    safetensors.numpy.save_file({**others, name: DATA}, tmp_path / "a.safetensors")
    assert read(tmp_path / "a.safetensors").name == name


def test_a_usual_name_that_is_no_matrix_does_not_win(tmp_path):
    assert read(save_npz(tmp_path / "a.npz", X=np.ones(4), rest=DATA)).name == "rest"


def test_the_only_matrix_of_floats_wins_over_whole_numbers(tmp_path):
    path = save_npz(tmp_path / "a.npz", counts=np.ones((4, 2), int), rest=DATA, n=np.arange(4))
    result = read(path)
    assert result.name == "rest"
    assert read(path, column="counts").vectors.shape == (4, 2)
    assert list(result.columns) == ["n"]


@pytest.mark.parametrize("column", ["left", "right"])
def test_column_picks_one_of_several(tmp_path, column):
    arrays = {"left": DATA, "right": DATA[:, :2]}
    safetensors.numpy.save_file({k: np.ascontiguousarray(v) for k, v in arrays.items()}, tmp_path / "a.safetensors")
    save_npz(tmp_path / "a.npz", **arrays)
    save_table(tmp_path / "a.parquet", **{name: lists(array) for name, array in arrays.items()})
    for suffix in ("npz", "parquet", "safetensors"):
        path = tmp_path / f"a.{suffix}"
        result = read(path, column=column)
        assert result.name == column
        assert result.columns == {}
        np.testing.assert_array_equal(result.vectors, arrays[column])
        with pytest.raises(VectorFileError, match=r"several.*pass column= with one of 'left', 'right'"):
            read(path)
        with pytest.raises(VectorFileError, match=r"no array 'middle': pass column= with one of 'left', 'right'"):
            read(path, column="middle")


def test_npy_and_csv_have_no_columns_to_pick(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(VectorFileError, match="leave column= out"):
        read(tmp_path / "a.csv", column="a")
    with pytest.raises(VectorFileError, match="no array 'b': pass column= with one of 'a'"):
        read(as_npy(tmp_path, DATA), column="b")


@pytest.mark.parametrize("name", ["id", "ids", "key", "index", "ID", "Index"])
def test_ids_come_from_a_column_of_that_name(tmp_path, name):
    npz = read(save_npz(tmp_path / "a.npz", vectors=DATA, label=np.array(list("xyzw")), **{name: np.arange(4)}))
    assert npz.ids == ["0", "1", "2", "3"]
    assert npz.columns["label"].tolist() == list("xyzw")
    safetensors.numpy.save_file({"vectors": DATA, name: np.arange(4)}, tmp_path / "a.safetensors")
    assert read(tmp_path / "a.safetensors").ids == ["0", "1", "2", "3"]
    assert read(save_table(tmp_path / "a.parquet", vectors=lists(DATA), **{name: list("abcd")})).ids == list("abcd")
    (tmp_path / "a.csv").write_text(f"{name},x,y\n007,1,2\n08,3,4\n")
    result = read(tmp_path / "a.csv")
    assert result.ids == ["007", "08"]
    assert result.vectors.shape == (2, 2)


def test_bytes_and_unicode_in_npz_come_along(tmp_path):
    path = save_npz(
        tmp_path / "a.npz", emb=DATA, id=np.array([b"a", b"b", b"c", b"d"]), ελ=np.array(["ü", "", "x", "y"])
    )
    result = read(path)
    assert result.ids == ["a", "b", "c", "d"]
    assert result.columns["ελ"].tolist() == ["ü", "", "x", "y"]


def test_objects_beside_the_vectors_are_left_out_with_a_word(tmp_path):
    path = save_npz(tmp_path / "a.npz", vectors=DATA, label=np.array(["a", 1, None, "b"], object))
    with pytest.warns(UserWarning, match="'label' holds Python objects.*left out"):
        result = read(path)
    assert result.columns == {}
    np.testing.assert_array_equal(result.vectors, DATA)


def test_numeric_columns_make_vectors_and_texts_come_along(tmp_path):
    path = save_table(
        tmp_path / "a.parquet",
        Index=[5, 6],
        a=[1, 2],
        label=["u", "v"],
        b=pa.array([0.5, 1.5], pa.float32()),
        ok=[True, False],
    )
    result = read(path)
    assert result.vectors.dtype == np.float32
    assert result.vectors.tolist() == [[1, 0.5], [2, 1.5]]
    assert result.name == "a"  # of the file
    assert result.ids == ["5", "6"]
    assert {name: values.to_pylist() for name, values in result.columns.items()} == {
        "label": ["u", "v"],
        "ok": [True, False],
    }


def test_numbers_beside_a_list_column_are_labels(tmp_path):
    result = read(save_table(tmp_path / "a.parquet", **{"a.b": [1, 2, 3, 4], "v.w": lists(DATA), "id": [9, 8, 7, 6]}))
    np.testing.assert_array_equal(result.vectors, DATA)
    assert result.columns["a.b"].to_pylist() == [1, 2, 3, 4]
    assert result.ids == ["9", "8", "7", "6"]


def test_the_index_of_pandas_is_no_dimension(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(DATA, columns=["a", "b", "c"], index=list("pqrs"))
    frame.to_csv(tmp_path / "a.csv")
    frame.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        result = read(tmp_path / name)
        assert result.ids == list("pqrs")
        np.testing.assert_array_equal(result.vectors, DATA)


# ---- csv ------------------------------------------------------------------------------------------------------------


def test_csv_reads_numbers_texts_nan_and_infinity(tmp_path):
    (tmp_path / "a.csv").write_text('title,x,y\n"one, ""two""\nthree",1.5,nan\nb,-inf,NaN\n', encoding="utf-8-sig")
    result = read(tmp_path / "a.csv")
    np.testing.assert_array_equal(result.vectors, [[1.5, np.nan], [-np.inf, np.nan]])
    assert result.columns["title"].to_pylist() == ['one, "two"\nthree', "b"]
    assert result.ids is None


def test_tsv_reads_tabs(tmp_path):
    (tmp_path / "ü.tsv").write_text("id\tx\ty\n1\t2\t3\n")
    result = read(tmp_path / "ü.tsv")
    assert result.vectors.tolist() == [[2, 3]]
    assert result.vectors.dtype == np.float32
    assert result.ids == ["1"]


def test_csv_without_a_header_keeps_its_first_row(tmp_path):
    (tmp_path / "a.csv").write_text("0.5,1,1\n2,3,4\n")
    assert read(tmp_path / "a.csv").vectors.tolist() == [[0.5, 1, 1], [2, 3, 4]]


def test_a_header_that_counts_is_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("0,1,2\n5,6,7\n")
    assert read(tmp_path / "a.csv").vectors.tolist() == [[5, 6, 7]]


def test_a_table_may_begin_like_another_format(tmp_path):
    (tmp_path / "a.csv").write_text("PAR1,PAR2\n1,2\n3,4\n")
    assert read(tmp_path / "a.csv").vectors.tolist() == [[1, 2], [3, 4]]


def test_an_empty_last_column_is_dropped(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,\n1,2,\n3,4,\n")
    result = read(tmp_path / "a.csv")
    assert result.vectors.tolist() == [[1, 2], [3, 4]]
    assert result.ids is None


def test_labels_that_are_sometimes_numbers_are_labels(tmp_path):
    (tmp_path / "a.csv").write_text("a,label\n1,x\n2,3\n4,y\n")
    assert read(tmp_path / "a.csv").columns["label"].to_pylist() == ["x", "3", "y"]


# ---- h5ad -----------------------------------------------------------------------------------------------------------


def test_h5ad_takes_x_with_names_and_obs(tmp_path, anndata):
    import pandas as pd

    obs = {
        "kind": pd.Categorical(["a", "b", None, "a"]),
        "text": ["ü", "v", "w", "x"],
        "n": [1, 2, 3, 4],
        "maybe": pd.array([1, None, 3, 4], dtype="Int64"),
        "ok": [True, False, True, True],
    }
    path = save_h5ad(anndata, tmp_path / "ä.h5ad", DATA, {"X_pca": DATA[:, :2].astype("f8")}, obs, ["p", "q", "r", "š"])
    result = read(path)
    assert result.name == "X"
    np.testing.assert_array_equal(result.vectors, DATA)
    assert result.ids == ["p", "q", "r", "š"]
    assert {name: values.tolist() for name, values in result.columns.items()} == {
        "kind": ["a", "b", None, "a"],
        "text": ["ü", "v", "w", "x"],
        "n": [1, 2, 3, 4],
        "maybe": [1, None, 3, 4],
        "ok": [True, False, True, True],
    }
    other = read(path, column="X_pca")
    assert other.vectors.dtype == np.float64
    np.testing.assert_array_equal(other.vectors, DATA[:, :2])
    with pytest.raises(VectorFileError, match="no array 'X_umap': pass column= with one of 'X', 'X_pca'"):
        read(path, column="X_umap")


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "?"])
@pytest.mark.parametrize("form", ["dense", "csr_matrix", "csc_matrix"])
def test_h5ad_dtypes_and_sparse_matrices(tmp_path, anndata, dtype, form):
    import scipy.sparse

    array = np.array([[0, 1, 0], [2, 0, 0], [0, 0, 0], [0, 3, 4]]).astype(dtype)
    matrix = array if form == "dense" else getattr(scipy.sparse, form)(array)
    result = read(save_h5ad(anndata, tmp_path / "a.h5ad", matrix)).vectors
    assert result.dtype == (array.dtype if dtype[0] == "f" else np.float32)
    np.testing.assert_array_equal(result, array)


def test_h5ad_without_x_takes_the_only_entry_of_obsm(tmp_path, anndata):
    path = save_h5ad(anndata, tmp_path / "a.h5ad", None, {"pca": DATA}, {"n": [1, 2, 3, 4]})
    assert read(path).name == "pca"


def test_a_sparse_matrix_too_large_as_a_dense_one_is_refused(tmp_path, anndata, monkeypatch):
    import scipy.sparse

    monkeypatch.setattr(_h5ad, "DENSE_LIMIT", 100)
    matrix = scipy.sparse.csr_matrix((4, 1000), dtype=np.float32)
    path = save_h5ad(anndata, tmp_path / "a.h5ad", matrix, {"X_pca": DATA})
    with pytest.raises(VectorFileError, match=r"sparse, and 4 × 1,000 takes 16,000 bytes dense: pass column=.*'X_pca'"):
        read(path)
    assert read(path, column="X_pca").vectors.shape == (4, 3)


def test_h5ad_sparse_indices_outside_the_matrix_are_refused(tmp_path, anndata):
    import h5py
    import scipy.sparse

    path = save_h5ad(anndata, tmp_path / "a.h5ad", scipy.sparse.csr_matrix(DATA))
    with h5py.File(path, "r+") as file:
        file["X/indices"][0] = 10**6
    with pytest.raises(VectorFileError, match=r"cannot be read as \.h5ad"):
        read(path)


def test_h5ad_sparse_parts_that_do_not_fit_are_refused_before_they_are_read(tmp_path, anndata):
    import h5py
    import scipy.sparse

    path = save_h5ad(anndata, tmp_path / "a.h5ad", scipy.sparse.csr_matrix(DATA))
    with h5py.File(path, "r+") as file:
        del file["X/indices"]
        file["X"].create_dataset("indices", (10**12,), "i4", chunks=(11,))
    with pytest.raises(VectorFileError, match="sparse in parts that do not fit together"):
        read(path)


def test_h5ad_never_follows_a_link_to_another_file(tmp_path, anndata):
    import h5py

    other = save_h5ad(anndata, tmp_path / "other.h5ad", DATA)
    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file["X"] = h5py.ExternalLink(str(other), "X")
    with pytest.raises(VectorFileError, match="keeps 'X' as a link"):
        read(tmp_path / "a.h5ad")
    (tmp_path / "raw").write_bytes(DATA.tobytes())
    with h5py.File(tmp_path / "b.h5ad", "w") as file:
        file.create_dataset("X", DATA.shape, "f4", external=[(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)])
    with pytest.raises(VectorFileError, match="keeps 'X' in another file"):
        read(tmp_path / "b.h5ad")


def test_h5ad_that_claims_a_terabyte_is_refused(tmp_path, anndata):
    import h5py

    with h5py.File(tmp_path / "a.h5ad", "w") as file:
        file.create_dataset("X", (2**20, 2**18), "f4", chunks=(64, 64))  # nothing stored: all fill value
    with pytest.raises(VectorFileError, match=r"unpacks from 0 to 1,099,511,627,776 bytes"):
        read(tmp_path / "a.h5ad")


def test_h5ad_with_obs_of_another_length_is_refused(tmp_path, anndata):
    import h5py

    path = save_h5ad(anndata, tmp_path / "a.h5ad", DATA)
    with h5py.File(path, "r+") as file:
        file["obs/n"] = np.arange(3)
    with pytest.raises(VectorFileError, match=r"3 rows in obs\['n'\] and 4 vectors"):
        read(path)


def test_h5ad_columns_of_an_odd_type_are_left_out_with_a_word(tmp_path, anndata):
    import h5py

    path = save_h5ad(anndata, tmp_path / "a.h5ad", DATA)
    with h5py.File(path, "r+") as file:
        file["obs"].create_dataset("odd", (4,), h5py.vlen_dtype(np.float64))
    with pytest.warns(UserWarning, match="'odd' is of a kind Pellucid does not know and was left out"):
        result = read(path)
    assert result.columns == {}
    assert result.ids == ["cell0", "cell1", "cell2", "cell3"]


def test_h5ad_attributes_of_an_odd_type_are_refused(tmp_path, anndata):
    import h5py

    path = save_h5ad(anndata, tmp_path / "a.h5ad", DATA)
    with h5py.File(path, "r+") as file:
        file["obs"].attrs["_index"] = np.zeros((), [("a", "f4")])
    with pytest.raises(VectorFileError, match="damaged attribute '_index'"):
        read(path)


def test_h5ad_heaps_that_libhdf5_would_loop_on_are_refused(tmp_path, anndata):
    path = save_h5ad(anndata, tmp_path / "a.h5ad", DATA)
    content = bytearray(path.read_bytes())
    place = content.index(b"GCOL") + 16
    while content[place]:  # index 0 is the free space at the end
        place += 16 + (content[place + 8] + 7) // 8 * 8
    content[place + 8 : place + 16] = bytes(8)
    path.write_bytes(content)
    with pytest.raises(VectorFileError, match="damaged heap of texts"):
        read(path)


def test_h5ad_data_frames_in_obsm_are_refused(tmp_path, anndata):
    import pandas as pd

    names = list("pqrs")
    frame = pd.DataFrame(DATA, columns=["a", "b", "c"], index=names)
    path = save_h5ad(anndata, tmp_path / "a.h5ad", DATA, {"frame": frame}, names=names)
    with pytest.raises(VectorFileError, match="keeps 'frame' as 'dataframe', not as a matrix"):
        read(path, column="frame")


def test_missing_extras_print_the_line_that_installs_them(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "a.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(ImportError, match=re.escape('pip install "pellucid[anndata]"')):
        read(tmp_path / "a.h5ad")
    with pytest.raises(ImportError, match=re.escape('pip install "pellucid[explore]"')):
        extras.require("no_such_module_at_all", "explore")
    assert extras.require("json", "anndata") is json


# ---- what is refused, and in which words ----------------------------------------------------------------------------


def raw(name, content):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return make


def table(**columns):
    return lambda folder: save_table(folder / "a.parquet", **columns)


def npy(shape, descr="<f4", data=b"", **options):
    return lambda folder: save_npy_header(folder / "a.npy", shape, descr, data, **options)


def tensors(header, data=b""):
    return lambda folder: save_safetensors(folder / "a.safetensors", header, data)


def saved(array, **options):
    def make(folder):
        np.save(folder / "a.npy", array, **options)
        return folder / "a.npy"

    return make


def zipped(**arrays):
    return lambda folder: save_npz(folder / "a.npz", **arrays)


def renamed(make, name):
    return lambda folder: make(folder).rename(folder / name)


def cut(make, length):
    def shorten(folder):
        path = make(folder)
        path.write_bytes(path.read_bytes()[:length])
        return path

    return shorten


def npy_bytes(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def forged_npz(claimed_shape, claimed_size, method=zipfile.ZIP_DEFLATED):
    """An archive whose directory and .npy header agree on a size that its few bytes do not have."""

    def make(folder):
        path = folder / "a.npz"
        header = save_npy_header(folder / "h.npy", claimed_shape).read_bytes()
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("vectors.npy", header + bytes(1000))
        content = bytearray(path.read_bytes())
        directory = content.rindex(b"PK\x01\x02")
        content[directory + 24 : directory + 28] = struct.pack("<I", len(header) + claimed_size)
        path.write_bytes(content)
        return path

    return make


def f32(shape, begin, end):
    return {"a": {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}}


def two_folders(folder):
    save_table(folder / "a.parquet", vector=lists(DATA))
    save_table(folder / "b.parquet", other=lists(DATA))
    return folder


REFUSED = {
    "empty": (raw("a.npy", b""), r"is empty \(0 bytes\)"),
    "empty csv": (raw("a.csv", b""), r"is empty \(0 bytes\)"),
    "unknown suffix": (raw("a.txt", b"1 2 3"), r"no suffix that Pellucid reads \(\.npy, .*\.tsv\): convert"),
    "no suffix": (raw("vectors", b"1 2 3"), r"no suffix that Pellucid reads"),
    "npy without suffix": (renamed(saved(DATA), "vectors"), r"content looks like \.npy, so rename"),
    "npy that is a zip": (renamed(zipped(a=DATA), "b.npy"), r"begins as \.npz files do, so rename it to \.npz"),
    "npz that is an npy": (renamed(saved(DATA), "b.npz"), r"begins as \.npy files do, so rename it to \.npy"),
    "csv that is a parquet": (renamed(table(a=[1]), "b.csv"), r"begins as \.parquet files do"),
    "npy that is text": (raw("a.npy", b"1,2,3\n4,5,6\n"), r"does not begin as \.npy files do"),
    "pickle": (raw("a.npy", b"\x80\x04\x95rest of it"), r"is a Python pickle.*use numpy\.save"),
    "pickle by name": (raw("a.pkl", b"\x80\x04\x95rest of it"), r"is a Python pickle"),
    "folder without parquet": (lambda folder: folder, r"a folder without \.parquet files"),
    "folder of different tables": (two_folders, r"b\.parquet has other columns than a\.parquet"),
    "1-D": (saved(np.ones(3)), r"1-D array 'a' of shape \(3,\).*array\.reshape\(1, -1\)"),
    "3-D": (saved(np.ones((2, 3, 4))), r"shape \(2, 3, 4\) where 2-D is needed.*reshape\(len\(array\), -1\)"),
    "0-D": (saved(np.float32(3)), r"shape \(\) where 2-D is needed"),
    "no width": (saved(np.ones((3, 0))), r"no columns"),
    "1-D in npz": (zipped(a=np.ones(3)), r"1-D array 'a' of shape \(3,\)"),
    "1-D in safetensors": (tensors(f32([2], 0, 8), bytes(8)), r"1-D array 'a' of shape \(2,\)"),
    "objects": (saved(np.array([[1, "a"]], object), allow_pickle=True), r"Python objects in 'a'.*can run code"),
    "objects in npz": (zipped(a=np.array([[1, "a"]], object)), r"Python objects in 'a'.*can run code"),
    "complex": (saved(np.ones((2, 2), complex)), r"complex numbers in 'a', not real numbers"),
    "text": (saved(np.array([["a", "b"]])), r"holds text in 'a', not numbers"),
    "dates": (saved(np.array([["2020-01-01"]], "M8[D]")), r"datetime64\[D\] values in 'a', not real numbers"),
    "records": (saved(np.zeros((2, 2), [("x", "f4")])), r"records in 'a', not real numbers"),
    "truncated npy": (cut(saved(DATA), 150), r"is truncated: 'a' needs 48 bytes and 22 are there"),
    "truncated npy header": (cut(saved(DATA), 40), r"damaged \.npy header"),
    "npy of 7 bytes": (cut(saved(DATA), 7), r"does not start 'a' as an \.npy starts"),
    "npy of two arrays": (raw("a.npy", npy_bytes(DATA) * 2), r"has 176 bytes more than its array 'a' needs"),
    "terabyte": (npy((2**20, 2**18)), r"is truncated: 'a' needs 1,099,511,627,776 bytes and 0 are there"),
    "overflow": (npy((2**40, 2**40)), r"impossible shape"),
    "overflow beside zero": (npy((0, 2**70)), r"impossible shape"),
    "negative": (npy((-1, 4)), r"impossible shape"),
    "true as a size": (npy((True, 4), data=bytes(16)), r"impossible shape"),
    "float as a size": (npy((1.0, 4), data=bytes(16)), r"impossible shape"),
    "shape is no tuple": (npy(4, data=bytes(16)), r"impossible shape"),
    "unknown dtype": (npy((1, 4), "<q9"), r"damaged \.npy header"),
    "code in the header": (npy((1, 4), descr="__import__('os')"), r"damaged \.npy header"),
    "npy version 9": (raw("a.npy", b"\x93NUMPY\x09\x00" + bytes(200)), r"unknown or oversized \.npy header"),
    "npy header of 4 GB": (raw("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff"), r"unknown or oversized \.npy header"),
    "truncated npz": (cut(zipped(vectors=DATA), 200), r"cannot be read as \.npz.*write or download it again"),
    "npz without arrays": (lambda folder: save_npz(folder / "a.npz"), r"holds no arrays"),
    "zip of texts": (
        lambda folder: zip_of(folder / "a.npz", {"readme.txt": b"hello"}),
        r"holds no arrays: save a 2-D array",
    ),
    "npz member that is no npy": (lambda folder: zip_of(folder / "a.npz", {"x.npy": b"hello"}), r"does not start 'x'"),
    "npz packed with bzip2": (
        lambda folder: zip_of(folder / "a.npz", {"x.npy": npy_bytes(DATA)}, zipfile.ZIP_BZIP2),
        r"packs 'x' in a way numpy does not",
    ),
    "npz bomb": (forged_npz((1000, 250_000), 10**9), r"unpacks from \d+ to 1,000,000,128 bytes, over 200 times"),
    "npz size without a claim": (forged_npz((2, 2), 10**9), r"has 999,999,984 bytes more than its array"),
    "npz claim without a size": (forged_npz((1000, 250_000), 1000), r"is truncated: .* needs 1,000,000,000 bytes"),
    "npz that is shorter than both say": (forged_npz((1000, 1000), 4 * 10**6), r"is truncated|cannot be read as \.npz"),
    "npz stored beyond its end": (
        forged_npz((1000, 1000), 4 * 10**6, zipfile.ZIP_STORED),
        r"is truncated: .* needs 4,000,128 bytes",
    ),
    "no matrix in npz": (zipped(a=np.ones(3), b=np.ones(4)), r"no 2-D array of numbers among 'a', 'b'"),
    "not zip inside": (raw("a.npz", b"PK\x03\x04 and then nothing"), r"cannot be read as \.npz"),
    "safetensors header longer than the file": (
        raw("a.safetensors", struct.pack("<Q", 2**60) + b"{}"),
        r"claims a header of 1,152,921,504,606,846,976 bytes in a file of 10",
    ),
    "safetensors of 3 bytes": (raw("a.safetensors", b"abc"), r"claims a header of .* bytes in a file of 3"),
    "safetensors no json": (tensors(b"{nothing"), r"damaged safetensors header"),
    "safetensors no dictionary": (tensors([1, 2]), r"damaged safetensors header"),
    "safetensors entry no dictionary": (tensors({"a": 3}), r"damaged safetensors header"),
    "safetensors deep": (tensors(b"[" * 100_000), r"damaged safetensors header"),
    "safetensors without tensors": (tensors({"__metadata__": {"a": "b"}}), r"holds no arrays"),
    "safetensors terabyte": (tensors(f32([2**20, 2**18], 0, 2**40)), r"is truncated: 'a' needs 1,099,511,627,776"),
    "safetensors shape and bytes differ": (
        tensors(f32([4, 4], 0, 8), bytes(8)),
        r"\(4, 4\) of F32, 64 bytes, but 8 bytes",
    ),
    "safetensors overflow": (tensors(f32([2**40, 2**40], 0, 8), bytes(8)), r"impossible shape"),
    "safetensors negative": (tensors(f32([-2, -1], 0, 8), bytes(8)), r"impossible shape"),
    "safetensors offsets fall": (tensors(f32([1, 2], 8, 0), bytes(8)), r"damaged safetensors header"),
    "safetensors offsets negative": (tensors(f32([1, 2], -8, 0), bytes(8)), r"damaged safetensors header"),
    "safetensors F8": (
        tensors({"a": {"dtype": "F8_E4M3", "shape": [2, 2], "data_offsets": [0, 4]}}, bytes(4)),
        r"holds 'a' as F8_E4M3, which numpy cannot read: save it as float16 or float32",
    ),
    "truncated parquet": (cut(table(vector=lists(DATA)), 100), r"cannot be read as \.parquet"),
    "ragged lists": (table(vector=[[1.0, 2.0], [3.0, 4.0], [5.0]]), r"has 1 numbers in row 2 of 'vector'.*have 2"),
    "null list": (table(vector=[[1.0, 2.0], None]), r"empty value in row 1 of 'vector'"),
    "null in a list": (table(vector=[[1.0, 2.0], [3.0, 4.0], [5.0, None]]), r"empty value in row 2 of 'vector'"),
    "null in a column": (table(a=[1.0, 2.0], b=[3.0, None]), r"empty value in row 1 of 'b'"),
    "null id": (table(id=["a", None], vector=[[1.0], [2.0]]), r"no id in row 1"),
    "empty lists": (table(vector=pa.array([[], []], pa.list_(pa.float32()))), r"no columns"),
    "lists without rows": (table(vector=pa.array([], pa.list_(pa.float32()))), r"no rows in 'vector', so the width"),
    "texts only": (table(a=["x"], b=["y"]), r"no columns of numbers among 'a', 'b'"),
    "csv texts only": (raw("a.csv", b"a;b\n1;2\n"), r"no columns of numbers among 'a;b'"),
    "ragged csv": (raw("a.csv", b"a,b\n1,2\n3,4\n5\n"), r"has 1 values in row 2 .*where 2 are expected"),
    "ragged csv without header": (raw("a.csv", b"5,6\n1,2\n3,4,5\n"), r"has 3 values in row 2 .*where 2 are expected"),
    "csv without rows": (raw("a.csv", b"a,b\n"), r"a header and no rows"),
    "csv empty cell": (raw("a.csv", b"a,b\n1,2\n3,\n"), r"empty value in row 1 of 'b'"),
    "csv text among numbers": (raw("a.csv", b"a,b\n1,2\n3,4\n5,oops\n"), r"text 'oops' in row 2 of 'b'.*put a number"),
    "csv names twice": (raw("a.csv", b"a,a\n1,2\n"), r"more than one column named 'a'"),
    "csv of blank lines": (raw("a.csv", b"\n\n"), r"cannot be read as \.csv"),
    "csv not UTF-8": (raw("a.csv", b"a,t\n1,\xff\n"), r"not UTF-8"),
    "csv header not UTF-8": (raw("a.csv", b"\xff\xfea\x00,\x00"), r"not UTF-8"),
    "truncated h5ad": (raw("a.h5ad", b"\x89HDF\r\n\x1a\n" + bytes(100)), r"cannot be read as \.h5ad"),
}


def test_a_csv_that_ends_within_a_line_is_read_with_a_warning(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2\n3,45")
    with pytest.warns(UserWarning, match="ends within a line, so its last number may be cut off"):
        assert vectors.read(tmp_path / "a.csv").vectors.tolist() == [[1, 2], [3, 45]]


def test_an_h5ad_cut_short_is_refused(tmp_path):
    anndata = pytest.importorskip("anndata", reason="the anndata extra is not installed")
    path = tmp_path / "a.h5ad"
    anndata.AnnData(np.arange(400.0, dtype=np.float32).reshape(100, 4)).write_h5ad(path)
    whole = path.read_bytes()
    for share in (0.3, 0.7, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(VectorFileError, match=r"a\.h5ad"):
            vectors.read(path)


def zip_of(path, members, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("case", REFUSED)
def test_bad_files_are_refused_in_a_sentence(tmp_path, case):
    make, message = REFUSED[case]
    if "h5ad" in case:
        pytest.importorskip("h5py")
    path = make(tmp_path)
    with pytest.raises(VectorFileError, match=message) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert text.endswith(".")
    assert "\n" not in text
    assert len(text) - len(str(path)) < 300


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("title", r"no numbers per row in 'title', from row 0 on"),
        ("year", r"one number per row in 'year'"),
        ("tags", r"lists without numbers in 'tags', from row 0 on"),
        ("nothing", r"no array 'nothing': pass column= with one of 'vector', 'tags'"),
    ],
)
def test_columns_that_are_no_vectors_cannot_be_picked(tmp_path, column, message):
    path = save_table(tmp_path / "a.parquet", vector=[[1.0], [2.0]], title=["a", "b"], year=[1, 2], tags=[["x"], ["y"]])
    with pytest.raises(VectorFileError, match=message):
        read(path, column=column)


def test_a_column_cannot_be_picked_from_numeric_columns(tmp_path):
    with pytest.raises(VectorFileError, match=r"no column 'z' and no columns of lists: leave column= out"):
        read(save_table(tmp_path / "a.parquet", a=[1.0], b=[2.0]), column="z")


def test_ragged_rows_are_named_across_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "BATCH_ROWS", 2)
    path = save_table(tmp_path / "a.parquet", vector=[[1.0, 2.0]] * 5 + [[3.0]] + [[1.0, 2.0]])
    with pytest.raises(VectorFileError, match="in row 5 of 'vector'"):
        read(path)


def test_a_missing_file_is_told_with_near_names(tmp_path):
    np.save(tmp_path / "embeddings.npy", DATA)
    with pytest.raises(FileNotFoundError, match=r"embedings\.npy does not exist: did you mean 'embeddings\.npy'\?"):
        read(tmp_path / "embedings.npy")
    with pytest.raises(FileNotFoundError, match=r"does not exist: check the name"):
        read(tmp_path / "q")
    with pytest.raises(FileNotFoundError, match=r"nor does the folder"):
        read(tmp_path / "no" / "q.npy")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(VectorFileError, match="neither a file nor a folder"):
        read(tmp_path / "a.npy")


def test_a_packed_array_within_the_budget_is_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "a.npz", vectors=np.zeros((1000, 100), np.float32))
    monkeypatch.setattr(_common, "EXPANSION_FREE", 1000)
    with pytest.raises(VectorFileError, match="over 200 times"):
        read(tmp_path / "a.npz")
    monkeypatch.undo()
    assert read(tmp_path / "a.npz").vectors.shape == (1000, 100)


def test_parquet_that_repeats_one_value_forever_is_refused(tmp_path, monkeypatch):
    save_table(tmp_path / "a.parquet", vector=lists(np.zeros((50_000, 8), np.float32)))
    assert read(tmp_path / "a.parquet").vectors.shape == (50_000, 8)
    monkeypatch.setattr(_common, "EXPANSION_FREE", 1000)
    with pytest.raises(VectorFileError, match="to 1,600,000 bytes, over 200 times"):
        read(tmp_path / "a.parquet")


def test_a_flipped_byte_in_a_packed_array_is_noticed(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=0) as archive:
        archive.writestr("vectors.npy", npy_bytes(DATA))
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content.replace(DATA[1].tobytes(), DATA[2].tobytes()))
    with pytest.raises(VectorFileError, match=r"cannot be read as \.npz"):
        read(tmp_path / "a.npz")


# ---- fuzz -----------------------------------------------------------------------------------------------------------


def fuzz_sources():
    text, number = list("abcd"), np.arange(4)
    yield ".npy", npy_bytes(DATA)
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, vectors=DATA, id=number, label=np.array(text))
        yield ".npz", stream.getvalue()
    yield ".safetensors", safetensors.numpy.save({"vectors": DATA, "id": number})
    for column in (lists(DATA), pa.array(DATA.tolist())):
        stream = io.BytesIO()
        pq.write_table(pa.table({"vector": column, "id": text, "n": number}), stream)
        yield ".parquet", stream.getvalue()
    yield ".csv", b"id,title,x,y\n1,one,0.5,1\n2,two,1.5,2\n3,three,2.5,3\n"


FUZZED = list(fuzz_sources())
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["flip", "cut", "insert"]), st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=8)
    ),
    min_size=1,
    max_size=3,
)


def mutate(content, edits):
    for how, where, new in edits:
        place = int(where * len(content))
        if how == "flip":
            content = content[:place] + new + content[place + len(new) :]
        elif how == "cut":
            content = content[:place]
        else:
            content = content[:place] + new + content[place:]
    return content


def read_or_refuse(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = read(path)
        except VectorFileError:
            return
    assert result.vectors.ndim == 2
    assert result.vectors.dtype.kind == "f"
    assert result.vectors.nbytes <= 2**16
    assert result.ids is None or len(result.ids) == len(result.vectors)
    assert all(len(values) == len(result.vectors) for values in result.columns.values())


@pytest.mark.parametrize("source", range(len(FUZZED)), ids=[f"{i}{suffix}" for i, (suffix, _) in enumerate(FUZZED)])
@settings(derandomize=True, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path, source, edits):
    suffix, content = FUZZED[source]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(mutate(content, edits))
    read_or_refuse(path)


@settings(derandomize=True, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_damaged_h5ad_is_read_or_refused_and_nothing_else(tmp_path, anndata, edits):
    whole = tmp_path / "whole.h5ad"
    if not whole.exists():
        save_h5ad(anndata, whole, DATA, {"X_pca": DATA}, {"text": list("abcd"), "n": [1, 2, 3, 4]})
    path = tmp_path / "a.h5ad"
    path.write_bytes(mutate(whole.read_bytes(), edits))
    read_or_refuse(path)


# ---- writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("a.npy", {"ids": list("abcd")}, r"cannot hold ids or columns.*write a \.parquet"),
        ("a.npy", {"columns": {"t": list("abcd")}}, r"cannot hold ids or columns.*write a \.parquet"),
        ("a.csv", {}, r"does not end in \.npy or \.parquet"),
        ("a.parquet", {"ids": list("abc")}, r"3 values of 'id' beside 4 vectors"),
        ("a.parquet", {"columns": {"t": [1]}}, r"1 values of 't' beside 4 vectors"),
        ("a.parquet", {"columns": {"vector": [1, 2, 3, 4]}}, r"columns named 'vector'.*rename"),
        ("a.parquet", {"ids": list("abcd"), "columns": {"id": [1, 2, 3, 4]}}, r"columns named 'id'.*rename"),
        ("a.npy", {"vectors": np.ones(3)}, r"from an array of shape \(3,\).*2-D"),
        ("a.parquet", {"vectors": np.ones((3, 0))}, r"from an array of shape \(3, 0\)"),
        ("a.npy", {"vectors": [[1, 2], [3]]}, r"rows differ in width"),
        ("a.npy", {"vectors": [["a", "b"]]}, r"from str.* values.*real numbers"),
        ("a.npy", {"vectors": np.array([[None]])}, r"from object values"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_no_file(tmp_path, name, arguments, message):
    with pytest.raises(VectorFileError, match=message):
        write(tmp_path / name, **{"vectors": DATA, **arguments})
    assert os.listdir(tmp_path) == []


def test_writing_into_a_missing_folder_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"does not exist, so a\.npy cannot be written there"):
        write(tmp_path / "no" / "a.npy", DATA)


@pytest.mark.parametrize("dtype", [">f4", ">f8", "i8", "?"])
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_writes_any_real_numbers(tmp_path, suffix, dtype):
    array = np.asarray([[0, 1], [1, 0]], dtype=dtype, order="F")
    write(tmp_path / f"a{suffix}", array)
    np.testing.assert_array_equal(read(tmp_path / f"a{suffix}").vectors, array)


class Unwritable(np.ndarray):
    """Breaks off after some rows, as a disk or a person might."""

    def __getitem__(self, key):
        if isinstance(key, slice) and key.start:
            raise KeyboardInterrupt
        return super().__getitem__(key)


def test_a_write_that_breaks_off_leaves_the_old_file_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    write(path, DATA, ids="abcd")
    monkeypatch.setattr(_write, "GROUP_BYTES", 1)
    with pytest.raises(KeyboardInterrupt):
        write(path, (DATA + 1).view(Unwritable))
    assert os.listdir(tmp_path) == ["a.parquet"]
    result = read(path)
    np.testing.assert_array_equal(result.vectors, DATA)
    assert result.ids == list("abcd")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_atomic_path_keeps_the_old_content_and_cleans_up(tmp_path, error):
    path = tmp_path / "a.bin"
    path.write_text("old")

    def break_off():
        with atomic_path(path) as temporary:
            temporary.write_text("half of the n")
            assert path.read_text() == "old"
            raise error

    with pytest.raises(error):
        break_off()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_atomic_path_cleans_up_when_the_rename_fails(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "inside").touch()
    with pytest.raises(OSError), atomic_path(tmp_path / "a") as temporary:
        temporary.write_text("new")
    assert os.listdir(tmp_path) == ["a"]


def test_atomic_path_gives_names_of_its_own_with_the_suffix_of_the_target(tmp_path):
    path = tmp_path / ("ü" * 100 + ".npy")
    with atomic_path(path) as one, atomic_path(path) as two:
        assert one != two
        assert one.parent == two.parent == tmp_path
        assert one.suffix == two.suffix == ".npy"
        assert one.name.startswith(".")
        one.write_text("one")
        two.write_text("two")
    assert path.read_text() == "one"  # the outer block ends last
    assert len(os.listdir(tmp_path)) == 1


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_atomic_path_follows_the_umask_and_keeps_permissions(tmp_path, umask):
    old = os.umask(umask)
    try:
        write(tmp_path / "new.npy", DATA)
        write(tmp_path / "new.parquet", DATA)
        (tmp_path / "old.npy").touch()
        (tmp_path / "old.npy").chmod(0o604)
        write(tmp_path / "old.npy", DATA)
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"new.npy": 0o666 & ~umask, "new.parquet": 0o666 & ~umask, "old.npy": 0o604}


def test_atomic_path_writes_through_a_symbolic_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.npy").symlink_to(tmp_path / "real" / "a.npy")
    write(tmp_path / "link.npy", DATA)
    assert (tmp_path / "link.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "real" / "a.npy"), DATA)


def test_the_public_names():
    assert set(vectors.__all__) == {"Summary", "VectorFile", "VectorFileError", "blocks", "read", "summary", "write"}
    assert issubclass(VectorFileError, ValueError)
    with pytest.raises(AttributeError):
        VectorFile(DATA, "a").name = "b"  # type: ignore[misc]


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
@pytest.mark.parametrize("rows", [1, 4096, 5000, 10**6])
def test_blocks_are_the_file_in_order(suffix, rows, rng, tmp_path):
    X = rng.standard_normal((9000, 3), dtype=np.float32)
    beside = {"ids": [f"i{n}" for n in range(9000)], "columns": {"text": [f"t{n}" for n in range(9000)]}}
    vectors.write(tmp_path / f"v{suffix}", X, **(beside if suffix == ".parquet" else {}))
    found = list(vectors.blocks(tmp_path / f"v{suffix}", rows=max(rows, 3000)))
    assert np.array_equal(np.concatenate([block.vectors for block in found]), X)
    assert all(len(block.vectors) >= min(rows, 3000) for block in found[:-1])
    if suffix == ".parquet":
        assert [i for block in found for i in block.ids] == beside["ids"]
        assert [str(t) for block in found for t in block.columns["text"]] == beside["columns"]["text"]


def test_blocks_of_a_folder_and_of_nothing(rng, tmp_path):
    X = rng.standard_normal((60, 3))
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        vectors.write(folder / f"{part}.parquet", X[20 * part : 20 * part + 20])
    assert np.array_equal(np.concatenate([b.vectors for b in vectors.blocks(folder, rows=30)]), X)
    vectors.write(tmp_path / "none.parquet", X[:0])
    assert list(vectors.blocks(tmp_path / "none.parquet")) == []
    with pytest.raises(FileNotFoundError, match="does not exist"):
        next(vectors.blocks(tmp_path / "missing.parquet"))


def test_a_slip_in_a_later_block_is_named_by_its_row_in_the_file(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [[1.0, 2.0]] * 10_000
    for bad, sentence in ((None, "empty value in row 9000"), ([1.0], "has 1 numbers in row 9000")):
        rows[9000] = bad
        pq.write_table(pa.table({"vector": pa.array(rows, pa.list_(pa.float32()))}), tmp_path / "v.parquet")
        with pytest.raises(VectorFileError, match=sentence):
            list(vectors.blocks(tmp_path / "v.parquet", rows=4096))
    rows[8192:] = [[1.0]] * (10_000 - 8192)  # a whole block of another width
    pq.write_table(pa.table({"vector": pa.array(rows, pa.list_(pa.float32()))}), tmp_path / "v.parquet")
    with pytest.raises(VectorFileError, match="has 1 numbers in row 8192 where the rows before have 2"):
        list(vectors.blocks(tmp_path / "v.parquet", rows=4096))


def test_numeric_labels_of_a_flat_table_stay_beside_the_vectors(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"x": [1.0, 2.0], "dog": [0, 1], "y": [3.0, 4.0]})
    pq.write_table(table, tmp_path / "v.parquet")
    (tmp_path / "v.csv").write_text("x,dog,y\n1.0,0,3.0\n2.0,1,4.0\n")
    for name in ("v.parquet", "v.csv"):
        found = vectors.read(tmp_path / name, labels=["dog"])
        assert found.vectors.tolist() == [[1, 3], [2, 4]]
        assert found.columns["dog"].to_pylist() == [0, 1]
        (block,) = vectors.blocks(tmp_path / name, labels=["dog"])
        assert block.columns["dog"].to_pylist() == [0, 1]
        assert vectors.read(tmp_path / name).vectors.shape == (2, 3)
