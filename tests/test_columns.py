"""Tables of numeric columns: which of them become vectors, and who says so."""

import inspect
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pellucid.cli
from pellucid import vectors
from pellucid.cli import group
from pellucid.rows import Blocks
from pellucid.search import Collection
from pellucid.vectors import VectorFileError
from support.commands import fails, found, run

ROWS = 40
KINDS = np.arange(ROWS) % 3


def table(**last):
    """Columns of fractions, and what is put after them."""
    rng = np.random.default_rng(0)
    return {"x0": rng.standard_normal(ROWS), "x1": rng.standard_normal(ROWS), "size": np.arange(ROWS), **last}


@pytest.fixture(params=["csv", "tsv", "parquet"])
def save(tmp_path, request):
    def write(columns, name="t"):
        path = tmp_path / f"{name}.{request.param}"
        if request.param == "parquet":
            pq.write_table(pa.table(columns), path)
            return path
        sign = "," if request.param == "csv" else "\t"
        columns = {name: list(values) for name, values in columns.items()}
        lines = [sign.join(columns), *(sign.join(str(value) for value in row) for row in zip(*columns.values()))]
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def quietly(path, **asked):
    """What is read, where nothing is to be said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return vectors.read(path, **asked)


@pytest.mark.parametrize("name", ["target", "label", "Labels", "CLASS", "y"])
def test_a_column_that_is_named_like_labels_is_no_dimension(save, name):
    path = save({name: KINDS, **table()})
    with pytest.warns(UserWarning, match=f"the column '{name}' is named as labels are, so it stays beside the vectors"):
        read = vectors.read(path)
    assert read.taken == ("x0", "x1", "size")
    assert list(read.set_aside) == [name]
    np.testing.assert_allclose(read.vectors[:, 2], np.arange(ROWS))
    assert read.columns[name].to_pylist() == KINDS.tolist()


@pytest.mark.parametrize("name", ["id", "Index"])
def test_ids_are_ids(save, name):
    read = quietly(save({name: np.arange(ROWS) + 7, **table()}))
    assert (read.taken, read.set_aside) == (("x0", "x1", "size"), {})
    assert read.ids == [str(i + 7) for i in range(ROWS)]


@pytest.mark.parametrize("dtype", [int, float])
def test_few_whole_numbers_that_stand_last_are_labels(save, dtype):
    path = save(table(kind=KINDS.astype(dtype)))
    with pytest.warns(UserWarning, match="'kind' stands last and holds 3 different whole numbers beside fractions"):
        read = vectors.read(path)
    assert read.taken == ("x0", "x1", "size")
    with pytest.warns(UserWarning, match="stands last"):
        blocks = list(vectors.blocks(path, rows=1))
    assert {block.taken for block in blocks} == {read.taken}, "one row alone could not tell"
    np.testing.assert_array_equal(np.concatenate([block.vectors for block in blocks]), read.vectors)


@pytest.mark.parametrize(
    "columns",
    [
        {"x": np.arange(ROWS) / 7, "y": np.arange(ROWS) / 9},  # coordinates
        {"kind": KINDS, "x0": np.arange(ROWS) / 7},  # not the last one
        table(size2=np.arange(ROWS) * 2),  # too many different ones
        table(kind=KINDS + 0.5),  # no whole numbers
        {f"pixel{j}": (np.arange(ROWS) + j) % 3 for j in range(4)},  # as all others are
        {"a": np.arange(ROWS) / 7, "b": KINDS + 1, "c": KINDS},  # as half of them are
        {"kind": KINDS},  # all there is
        {"y": KINDS / 2},
    ],
    ids=lambda columns: " ".join(columns),
)
def test_what_could_as_well_be_numbers_is_taken(save, columns):
    read = quietly(save(columns))
    assert read.taken == tuple(columns)
    np.testing.assert_allclose(read.vectors, np.column_stack([*columns.values()]), rtol=1e-6)


def test_numbers_with_gaps_in_the_last_column_do_not_hide_it(tmp_path):
    kind = pa.array([None if i == 5 else int(k) for i, k in enumerate(KINDS)])
    pq.write_table(pa.table(table(kind=kind)), tmp_path / "t.parquet")
    with pytest.warns(UserWarning, match="'kind' stands last"):
        assert vectors.read(tmp_path / "t.parquet").taken == ("x0", "x1", "size")


def test_columns_are_chosen_and_excluded(save):
    path = save({"id": np.arange(ROWS), **table(kind=KINDS), "target": KINDS})
    every = quietly(path, columns=["target", "x1", "id"])
    assert every.taken == ("target", "x1", "id")
    np.testing.assert_allclose(every.vectors[:, 0], KINDS)
    assert (every.ids, sorted(every.columns)) == (None, ["kind", "size", "x0"])
    without = quietly(path, exclude=["target", "size", "kind"])
    assert (without.taken, without.set_aside) == (("x0", "x1"), {})
    assert sorted(without.columns) == ["kind", "size", "target"]
    assert without.ids is not None
    (block,) = vectors.blocks(path, columns=["x1"])
    assert block.taken == ("x1",)
    assert Blocks(path, columns=["x1", "kind"]).shape == (ROWS, 2)
    assert Blocks(path, exclude=["target", "x1"]).shape == (ROWS, 3)


def test_who_names_labels_is_believed(save):
    path = save(table(dog=KINDS == 1, kind=KINDS))
    assert quietly(path, labels=["kind"]).taken == ("x0", "x1", "size")
    assert quietly(path, labels=["size"]).taken == ("x0", "x1", "kind")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"columns": ["x0", "x9"]}, r"has no column 'x9': its columns are 'x0', 'x1', 'size', 'note'."),
        ({"exclude": ["x9"]}, r"has no column 'x9': its columns are"),
        ({"columns": ["note"]}, r"holds string values in 'note', not numbers: leave it out of columns=."),
        ({"columns": ["x0", "x0"]}, r"is asked for the column 'x0' twice"),
        ({"columns": ["x0"], "exclude": ["x0"]}, r"both with and without it: name it once."),
        ({"columns": []}, r"is asked for no columns at all: name at least one in columns=."),
        ({"exclude": ["x0", "x1", "size"]}, r"has no columns of numbers among"),
        ({"columns": ["x0"], "column": "x1"}, r"is asked for the one column 'x1' and by columns= for several"),
    ],
)
def test_choices_that_cannot_be_get_a_sentence(save, asked, sentence):
    path = save(table(note=np.repeat(["one", "two"], ROWS // 2)))
    with pytest.raises(VectorFileError, match=sentence):
        vectors.read(path, **asked)


def test_a_choice_that_is_a_text_or_not_of_a_table(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(3))
    for asked in ({"columns": ["a"]}, {"exclude": ["a"]}):
        with pytest.raises(VectorFileError, match=r"is no table with columns of numbers: leave (columns|exclude)= out"):
            vectors.read(tmp_path / "v.npy", **asked)
    vectors.write(tmp_path / "v.parquet", np.eye(3), columns={"a": [1, 2, 3]})
    with pytest.raises(VectorFileError, match="is no table with columns of numbers: leave exclude= out"):
        vectors.read(tmp_path / "v.parquet", exclude=["a"])
    with pytest.raises(VectorFileError, match="columns is a list of names of columns, got the text 'a': put it into"):
        vectors.read(tmp_path / "v.parquet", columns="a")


def test_numbers_beside_lists_are_taken_where_they_are_asked_for(tmp_path):
    vectors.write(tmp_path / "v.parquet", np.eye(3), columns={"a": [1, 2, 3], "wet": [True, False, True]})
    assert vectors.read(tmp_path / "v.parquet").taken == ()
    read = vectors.read(tmp_path / "v.parquet", columns=["wet", "a"])
    assert read.vectors.tolist() == [[1, 1], [0, 2], [1, 3]]


def test_a_slip_in_a_column_that_is_not_taken_does_no_harm(tmp_path):
    (tmp_path / "v.csv").write_text("a,b\n1.5,2\n2.5,oops\n3.5,4\n")
    with pytest.raises(VectorFileError, match="has the text 'oops' in row 1 of 'b'"):
        vectors.read(tmp_path / "v.csv")
    assert quietly(tmp_path / "v.csv", exclude=["b"]).taken == ("a",)
    assert quietly(tmp_path / "v.csv", columns=["a"]).taken == ("a",)


def test_all_parts_of_a_folder_take_the_columns_that_the_first_one_shows(tmp_path):
    """A part whose last column alone would look like labels, or would not, has no say."""
    for part in range(3):
        last = KINDS if part == 0 else np.arange(ROWS) + 100 * part
        pq.write_table(pa.table(table(kind=last)), tmp_path / f"{part}.parquet", row_group_size=10)
    with pytest.warns(UserWarning, match="'kind' stands last"):
        source = Blocks(tmp_path, rows=10)
    assert source.shape == (3 * ROWS, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [block.shape[1] for block in source] == [3] * 12


# on the command line


@pytest.mark.filterwarnings("ignore:.*is named as labels are")
def test_commands_say_what_they_take_and_can_be_told(tmp_path, save):
    path = save(table(target=KINDS))
    said = run("clusters", "fit", path, "--n-clusters", 2, "--n-atoms", 1, "-o", tmp_path / "m.safetensors")
    line = f"Took 3 columns of {path.name} as the vectors: x0, x1, size."
    assert said.stderr.count(line) == 1, "once, though the file is read twice"
    assert line not in said.stdout
    told = found("index", path, "--columns", "x1,target", "--columns", "x0", "-o", tmp_path / "c")
    assert told["dimensions"] == 3
    items = Collection.open(tmp_path / "c")
    np.testing.assert_allclose(items.vectors()[:, 1], KINDS)
    assert sorted(items.item(0)) == ["id", "size"]
    about = found("info", path, "--exclude", "target,size")
    assert (about["taken"], about["set_aside"]) == (["x0", "x1"], {})
    wide = {f"x{j}": np.arange(ROWS) / 7 for j in range(20)}
    said = run("select", save(wide, "wide"), "-k", 2).stderr
    assert "Took 20 columns of wide" in said
    assert "as the vectors: x0, x1, x2, x3, x4, …, x19." in said


def test_every_command_that_has_column_has_the_other_two():
    seen = 0
    for name in pellucid.cli.COMMANDS:
        command = group.get_command(None, name)
        subcommands = [[name, sub] for sub in command.list_commands(None)] if hasattr(command, "list_commands") else []
        for words in subcommands or [[name]]:
            text = run(*words, "--help").stdout
            seen += "--column " in text
            assert ("--column " in text) == ("--columns " in text) == ("--exclude " in text), words
    assert seen >= 12


def test_columns_are_not_for_collections_and_models(tmp_path):
    Collection.create(tmp_path / "c", np.eye(3))
    assert "are for files of vectors" in fails("info", tmp_path / "c", "--columns", "a", code=2)
    assert list(inspect.signature(vectors.read).parameters)[2:] == ["labels", "columns", "exclude"]
