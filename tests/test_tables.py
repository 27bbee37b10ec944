"""Rows in data frames and Arrow tables: a column of vectors, or columns of numbers, whoever made them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pellucid import (
    BinaryAutoencoder,
    CommonalityClustering,
    ConceptSubspaces,
    IsometryPursuit,
    SparseManifoldTransform,
)
from pellucid._core.tables import as_rows
from pellucid.manifold import SphericalKMeans
from pellucid.preparation import CenteredNormalizer
from pellucid.rows import Blocks
from pellucid.search import Collection, CollectionError
from pellucid.selection import diversify

N, D = 60, 4
ROWS = np.random.default_rng(0).standard_normal((N, D)).astype(np.float32)
LABELS = ["cat" if i % 2 else "dog" for i in range(N)]


class Capsule:
    """Somebody's table, of which nothing is known but that Arrow can read it."""

    def __init__(self, table):
        self.columns, self.table = table.column_names, table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def polars():
    return pytest.importorskip("polars", reason="polars is not installed")


def fixed():
    return pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), D)


LISTS = pa.list_(pa.float32())
FORMS = {
    "pandas frame of arrays": lambda: pd.DataFrame({"embedding": list(ROWS)}),
    "pandas frame of lists": lambda: pd.DataFrame({"embedding": ROWS.tolist()}),
    "pandas series": lambda: pd.Series(list(ROWS), index=range(N, 0, -1)),
    "pandas, arrow inside": lambda: pd.DataFrame({"e": pd.Series(list(ROWS), dtype=pd.ArrowDtype(LISTS))}),
    "pandas, other columns": lambda: pd.DataFrame({"id": range(N), "tags": [["a"]] * N, 7: list(ROWS), "t": LABELS}),
    "arrow table": lambda: pa.table({"id": LABELS, "vector": pa.array(list(ROWS), LISTS)}),
    "arrow chunks": lambda: pa.chunked_array([list(ROWS[:20]), [], list(ROWS[20:])], LISTS),
    "arrow array": lambda: pa.array(list(ROWS), pa.large_list(pa.float32())),
    "arrow fixed": fixed,
    "arrow slice": lambda: pa.concat_arrays([fixed()[:3], fixed()])[3:],
    "arrow batch": lambda: pa.record_batch({"vector": fixed()}),
    "arrow tensors": lambda: pa.table(
        {"v": pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), (D,)), fixed())}
    ),
    "capsule": lambda: Capsule(pa.table({"vector": pa.array(list(ROWS), LISTS), "text": LABELS})),
    "polars frame": lambda: polars().DataFrame({"id": range(N), "embedding": ROWS}),
    "polars lists": lambda: polars().DataFrame({"embedding": ROWS.tolist()}),
    "polars series": lambda: polars().Series("e", ROWS.tolist(), dtype=polars().List(polars().Float32)),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_vectors_is_a_matrix(form):
    rows = as_rows(FORMS[form]())
    assert type(rows) is np.ndarray
    np.testing.assert_array_equal(rows.astype(np.float32), ROWS)


def test_fixed_lists_are_not_copied():
    values = pa.array(ROWS.ravel())
    rows = as_rows(pa.FixedSizeListArray.from_arrays(values, D))
    assert np.shares_memory(rows, values.to_numpy())


@pytest.mark.parametrize("form", ["pandas frame of arrays", "pandas series", "arrow table", "capsule", "polars frame"])
def test_whatever_takes_rows_takes_them_from_a_table(tmp_path, form):
    table = FORMS[form]()
    plain, given = (ConceptSubspaces(1).fit(X, LABELS) for X in (ROWS, table))
    np.testing.assert_array_equal(given.atoms_, plain.atoms_)
    np.testing.assert_array_equal(given.shares(table), plain.shares(ROWS))
    np.testing.assert_array_equal(given.predict_proba(table), plain.predict_proba(ROWS))
    assert given.score(table, LABELS) == plain.score(ROWS, LABELS)
    assert not hasattr(given, "feature_names_in_")
    ConceptSubspaces(1).partial_fit(table, LABELS)
    ConceptSubspaces(1).fit(ROWS, LABELS, validation=(table, LABELS))
    for model in (
        CommonalityClustering(2, n_atoms=1, n_common=0, random_state=0), BinaryAutoencoder(max_iter=1),
        CenteredNormalizer(), SphericalKMeans(3, random_state=0),
        SparseManifoldTransform(n_components=2, n_atoms=8, random_state=0),
    ):  # fmt: skip
        expected = model.fit(ROWS).transform(ROWS)
        np.testing.assert_array_equal(model.fit(table).transform(table), expected)
    assert IsometryPursuit().fit(table).selected_.tolist() == IsometryPursuit().fit(ROWS).selected_.tolist()
    assert list(diversify(table, 5)) == list(diversify(ROWS, 5))
    np.testing.assert_array_equal(np.concatenate(list(Blocks(table, rows=7))), ROWS)
    made = Collection.create(tmp_path / "c", table, text=LABELS)
    made.add(table)
    np.testing.assert_array_equal(made.vectors(), np.vstack([ROWS, ROWS]))
    np.testing.assert_array_equal(made.search(table, 3)[0], made.search(ROWS, 3)[0])


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_columns_of_numbers_keep_their_names(tmp_path, kind):
    columns = {name: ROWS[:, j] for j, name in enumerate("abcd")}
    table = pd.DataFrame(columns) if kind == "pandas" else pa.table(columns)
    table = polars().DataFrame(columns) if kind == "polars" else table
    assert as_rows(table) is table, "scikit-learn takes it as it is"
    model = ConceptSubspaces(1).fit(table, LABELS)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(model.atoms_, ConceptSubspaces(1).fit(ROWS, LABELS).atoms_, atol=1e-5)  # of float64
    np.testing.assert_array_equal(Collection.create(tmp_path / "c", table).vectors(), ROWS)
    np.testing.assert_array_equal(np.concatenate(list(Blocks(table))), ROWS)


def test_what_transform_gives_as_a_frame_has_the_index_of_what_it_took():
    table = pd.DataFrame({"embedding": list(ROWS)}, index=[f"row {i}" for i in range(N)])
    model = ConceptSubspaces(1).fit(table, LABELS).set_output(transform="pandas")
    made = model.transform(table)
    assert list(made.index) == list(table.index)
    assert list(made.columns) == ["cat_0", "dog_0"]


@pytest.mark.parametrize(
    "given", [ROWS, ROWS.tolist(), None, "name", Blocks(ROWS), pd.Series(LABELS), pd.Series([1.5])]
)
def test_what_is_no_table_of_vectors_stays_as_it_is(given):
    assert as_rows(given) is given


BAD = {
    "ragged": ([[1.0, 2.0], [1.0, 2.0], [1.0]], "has 1 numbers in row 2 of 'e' .* where the rows before have 2"),
    "no vector": ([[1.0, 2.0], None], r"has an empty value in row 1 of 'e' \(counting from 0\): fill it or drop"),
    "no number": ([[1.0, 2.0], [3.0, None]], r"has an empty value in row 1 of 'e'"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_slips_are_named_by_their_row(tmp_path, make, case):
    cells, sentence = BAD[case]
    cells = cells + [[1.0, 2.0]] * 3
    table = make({"e": cells})
    with pytest.raises(ValueError, match="X " + sentence):
        ConceptSubspaces(1).fit(table, LABELS[: len(cells)])
    with pytest.raises(CollectionError, match="The table of vectors " + sentence):
        Collection.create(tmp_path / "c", table)


def test_slips_in_later_chunks_and_tables_that_say_too_much_or_nothing():
    with pytest.raises(ValueError, match="has 1 numbers in row 3 of 'X'"):
        as_rows(pa.chunked_array([[[1.0, 2.0]] * 3, [[1.0]]]))
    with pytest.raises(ValueError, match="X has several columns of vectors, 'a', 'b': hand over one of them"):
        as_rows(pa.table({"a": [[1.0]], "b": [[2.0]]}))
    with pytest.raises(ValueError, match="X has no rows in 'a': give at least one"):
        as_rows(pa.table({"a": pa.array([], LISTS)}))
    with pytest.raises(ValueError, match=r"X cannot be read as a column of vectors .*: give each row a list"):
        as_rows(pd.Series([[1.0, 2.0], "three"]))
