"""What many vectors are like, whatever they come from and however they are cut into blocks."""

import numpy as np
import pyarrow as pa
import pytest

from pellucid import vectors
from pellucid.search import Collection
from pellucid.vectors import VectorFile, _summary
from support.commands import found, run


def blocks_of(rows, columns=None, size=7):
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        yield VectorFile(rows[part], "v", None, {name: values[part] for name, values in (columns or {}).items()})


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_lengths_zeros_and_duplicates_by_hand(rng, monkeypatch, size, dtype):
    monkeypatch.setattr(_summary, "ROWS", 5)
    rows = rng.standard_normal((60, 4)).astype(dtype)
    rows[3] = 0
    rows[10] = rows[40] = rows[9]
    rows[20] = -0.0 * rows[20]  # zeros with a sign
    rows[30, 2], rows[31, 0], rows[32, 2] = np.nan, -np.inf, np.nan
    told = vectors.summary(blocks_of(rows, size=size))
    fine = rows[np.isfinite(rows).all(axis=1)].astype(np.float64)
    lengths = np.linalg.norm(fine, axis=1)
    assert (told.rows, told.dimensions, told.zeros, told.not_finite) == (60, 4, 2, 3)
    np.testing.assert_allclose([told.shortest, told.longest, told.mean_length], [0, lengths.max(), lengths.mean()])
    assert told.duplicates == 60 - 3 - len(np.unique(fine, axis=0)) == 3


def test_lengths_that_overflow_when_squared():
    told = vectors.summary(blocks_of(np.array([[3e200, 4e200], [3e-200, 4e-200]])))
    np.testing.assert_allclose([told.shortest, told.longest], [5e-200, 5e200])


def test_no_vector_has_a_length():
    told = vectors.summary(blocks_of(np.full((3, 2), np.nan)))
    assert np.isnan([told.shortest, told.longest, told.mean_length]).all()
    assert (told.not_finite, told.duplicates) == (3, 0)
    with pytest.raises(ValueError, match="no blocks"):
        vectors.summary([])


@pytest.mark.parametrize("size", [1, 4, 100])
def test_labels_in_every_form(size):
    tags = [["a", "b"], ["b"], [], None, ["c"], ["b"]]
    columns = {
        "tags": pa.array(tags, pa.list_(pa.string())),
        "large": pa.array(tags, pa.large_list(pa.large_string())),
        "coded": pa.array(tags, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        "Class": pa.array(["cat", "dog", "cat", None, "cat", "emu"]),
        "target": np.array([3, 1, 3, 3, 2, 2]),
        "dog": np.array([0, 1, 1, 0, 0, 0]),
        "wet": np.array([True, True, True, False, False, False]),
        "year": np.array([0, 1, 1, 0, 0, 1999]),  # looks like yes or no for a while
        "text": np.array(["cat", "cat", "cat", "cat", "cat", "cat"]),
        "price": np.array([0.0, 1, 1, 0, 0, 0]),
        "nothing": pa.nulls(6),
        "thumbnail": pa.array([b"x"] * 6),
    }
    told = vectors.summary(blocks_of(np.ones((6, 2)), columns, size))
    by_name = {"b": 3, "a": 1, "c": 1}
    assert told.labels == {
        "tags": by_name, "large": by_name, "coded": by_name, "Class": {"cat": 3, "dog": 1, "emu": 1},
        "target": {"3": 3, "2": 2, "1": 1}, "columns of 0 and 1": {"wet": 3, "dog": 2},
    }  # fmt: skip
    assert list(told.labels["tags"]) == ["b", "a", "c"], "the most frequent first, equal ones by name"


def test_texts_in_lists_are_not_counted_for_ever(monkeypatch):
    monkeypatch.setattr(_summary, "MOST_LABELS", 20)
    words = pa.array([[f"word {i}"] for i in range(50)])
    told = vectors.summary(blocks_of(np.ones((50, 2)), {"words": words, "tags": pa.array([["a"]] * 50)}))
    assert told.uncounted == ("words",)
    assert told.labels == {"tags": {"a": 50}}


def test_of_a_collection_only_items_that_are_there_count(tmp_path, rng):
    rows = rng.standard_normal((30, 3)).astype(np.float32)
    rows[20:] = rows[:10]
    labels = [["even"] if i % 2 == 0 else ["odd", "x"] for i in range(30)]
    made = Collection.create(tmp_path / "c", rows[:12], labels=labels[:12])
    made.add(rows[12:].astype(np.float64), labels=labels[12:])
    assert (made.summary().rows, made.summary().duplicates) == (30, 10)
    made.delete([str(i) for i in range(12, 22)])
    told = made.summary()
    assert (told.rows, told.dimensions, told.duplicates) == (20, 3, 8)
    assert told.labels == {"labels": {"even": 10, "odd": 10, "x": 10}}
    made.delete(made.ids)
    assert (made.summary().rows, made.summary().dimensions) == (0, 3)


def test_info_says_it_in_words_and_in_json(tmp_path, rng):
    rows = rng.standard_normal((1200, 3)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) / np.linspace(0.5, 3000.4, 1200)[:, None]
    rows[7], rows[8] = 0, rows[9]
    tags = [["all", f"tag [b] {i % 10}"] for i in range(1200)]
    vectors.write(tmp_path / "v.parquet", rows, [str(i) for i in range(1200)], {"labels": tags, "tags": tags})
    run("index", tmp_path / "v.parquet", "-o", tmp_path / "c")
    for path in ("v.parquet", "c"):
        told = found("info", tmp_path / path)
        assert (told["zeros"], told["duplicates"], told["not_finite"], told["uncounted"]) == (1, 1, 0, [])
        assert told["lengths"].keys() == {"shortest", "longest", "mean"}
        np.testing.assert_allclose(told["lengths"]["longest"], 3000.4, rtol=1e-6)
        assert told["labels"]["tags"]["different"] == 11
        assert told["labels"]["tags"]["counts"]["all"] == 1200
        said = " ".join(run("info", tmp_path / path).stdout.split())
        assert "lengths 0 to 3 000, 1 500 on average zeros 1 duplicates 1" in said
        assert "labels in tags 11: all (1 200), tag [b] 0 (120), tag [b] 1 (120)," in said
        assert "and 3 more" in said
        assert "not_finite" not in said


def test_info_of_vectors_without_length_or_of_one_length(tmp_path):
    vectors.write(tmp_path / "nan.npy", np.full((3, 2), np.nan))
    assert found("info", tmp_path / "nan.npy")["lengths"] is None
    said = " ".join(run("info", tmp_path / "nan.npy").stdout.split())
    assert "lengths none" in said
    assert "not_finite 3" in said
    vectors.write(tmp_path / "one.npy", np.eye(3))
    assert "lengths all 1 " in " ".join(run("info", tmp_path / "one.npy").stdout.split())


def test_the_marks_of_many_rows_are_all_that_is_kept(rng):
    """A million numbers leave eight bytes a row behind."""
    kept = _summary._Lengths()
    for _ in range(10):
        kept.add(rng.standard_normal((1000, 100)))
    assert sum(marks.nbytes for marks in kept.marks) == 8 * 10_000
    assert kept.duplicates() == 0
