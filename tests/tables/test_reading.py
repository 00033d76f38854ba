"""Tables: the same codes from every library, and what is wrong with a table as a whole."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import _NotAnArray

from skbn.tables.reading import (
    apply_categories,
    apply_categories_with_gaps,
    learn_categories,
    open_table,
    table_labels,
)

SHARED = Path(os.environ.get("SKBN_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def names(n_columns):
    return [f"x{i}" for i in range(n_columns)]


def refusal(X, kind=ValueError, **options):
    labels = options.pop("labels", ["a", "b", "c"])
    with pytest.raises(kind) as caught:
        learn_categories(X, labels, **options)
    return str(caught.value)


def naive(columns):
    """The obvious twin: look every cell up in the sorted distinct values."""
    categories = [sorted(set(column)) for column in columns]
    return [[levels.index(cell) for cell in column]
            for column, levels in zip(columns, categories, strict=True)], categories


CELLS = [st.booleans(), st.integers(-2, 300), st.sampled_from([0.0, -0.0, 1.0, 2.5e18]),
         st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=2)]


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 8))
    kinds = draw(st.lists(st.sampled_from(CELLS), min_size=1, max_size=5))
    return [draw(st.lists(kind, min_size=n_rows, max_size=n_rows)) for kind in kinds]


FRAMES = {
    "list": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "object array": lambda columns: np.array(list(columns.values()), dtype=object).T,
    "pandas": pd.DataFrame,
    "pandas object": lambda columns: pd.DataFrame(columns, dtype=object),
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.mark.parametrize("maker", FRAMES.values(), ids=FRAMES)
@given(columns=tables(), data=st.data())
@settings(max_examples=50, deadline=None)
def test_every_library_agrees_with_the_obvious_encoder(maker, columns, data):
    labels = names(len(columns))
    X = maker(dict(zip(labels, columns, strict=True)))
    kept = data.draw(st.lists(st.booleans(), min_size=len(columns[0]), max_size=len(columns[0])))
    kept[-1] = True
    for rows in (None, np.array(kept)):
        expected, levels = naive([
            [cell for cell, keep in zip(column, kept, strict=True) if rows is None or keep]
            for column in columns
        ])
        codes, categories = learn_categories(X, labels, rows=rows)
        assert codes.tolist() == expected
        assert codes.flags.c_contiguous
        assert codes.dtype == np.uint8
        assert [c.tolist() for c in categories] == levels
        if rows is None:
            assert apply_categories(X, labels, categories).tolist() == expected


def test_codes_take_the_smallest_type_that_holds_every_column():
    X = np.zeros((300, 2), dtype=int)
    X[:, 1] = np.arange(300)
    codes, categories = learn_categories(X, names(2))
    assert codes.dtype == np.uint16
    assert codes.tolist() == X.T.tolist()
    assert [len(levels) for levels in categories] == [1, 300]
    X = np.arange(70_000)[:, None]
    assert learn_categories(X, names(1))[0].dtype == np.uint32
    # An unseen level counts too.
    codes, _ = learn_categories([[0]], names(1), categories=[range(257)])
    assert codes.dtype == np.uint16


def test_lists_are_not_coerced_by_numpy():
    codes, categories = learn_categories([["a", 1, True], ["b", 2, False]], names(3))
    assert codes.tolist() == [[0, 1], [0, 1], [1, 0]]
    assert [levels.dtype.kind for levels in categories] == ["O", "i", "b"]
    assert "Column 'a' mixes truth values" in refusal([[True], [2]], TypeError, labels=["a"])


def test_labels():
    for labels in (["a", "b"], [3, 1], ["b c", "\u00e9"], [("a", 1), ("a", 2)], [0, "a"]):
        assert table_labels(pd.DataFrame([[0, 1]], columns=labels)) == labels
    assert table_labels(pl.DataFrame({"b": [1], "a b": [2]})) == ["b", "a b"]
    assert table_labels(pa.table({"b": [1], "a": [2]})) == ["b", "a"]
    for unlabelled in (np.zeros((2, 2)), [[1]], _NotAnArray([[1]]), scipy.sparse.eye(2),
                       pd.Series([1]), None):
        assert table_labels(unlabelled) is None


def test_repeated_labels():
    frames = (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
              pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"]))
    for frame in frames:
        with pytest.raises(ValueError) as caught:
            table_labels(frame)
        assert str(caught.value) == ("Column labels must differ, but 'a' occur(s) more than once. "
                                     "Rename or drop the repeated columns.")
        assert "Rename or drop" in refusal(frame)
    with pytest.raises(ValueError, match="but 0 occur"):
        table_labels(pd.DataFrame([[1, 2]], columns=[0, 0]))


def test_lazy_frames():
    for call in (table_labels, lambda X: learn_categories(X, ["a"])):
        with pytest.raises(TypeError) as caught:
            call(pl.LazyFrame({"a": [1]}))
        assert "A lazy table came (polars" in str(caught.value)
        assert "X.collect() in polars" in str(caught.value)


def test_frames_are_read_by_position_whatever_their_labels_and_index():
    X = pd.DataFrame([[1, "u"], [0, "v"]], columns=[7, 3], index=["r", "r"])
    codes, categories = learn_categories(X, [7, 3])
    assert codes.tolist() == [[1, 0], [0, 1]]
    assert categories[1].tolist() == ["u", "v"]
    X.columns = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    assert learn_categories(X, table_labels(X))[0].tolist() == [[1, 0], [0, 1]]


def test_prediction_frames_may_have_other_dtypes():
    X = pd.DataFrame({"a": pd.Categorical(["u", "v"], categories=["v", "u", "w"]), "b": [1, 2]})
    codes, categories = learn_categories(X, ["a", "b"])
    assert codes.tolist() == [[1, 0], [0, 1]]
    assert categories[0].tolist() == ["v", "u", "w"]
    for Z in (pl.DataFrame({"a": ["w", "u"], "b": [2.0, 1.0]}), [["w", 2], ["u", 1]],
              pd.DataFrame({"a": pd.Categorical(["w", "u"], categories=["u", "w"]), "b": [2, 1]}),
              pa.table({"a": ["w", "u"], "b": [2, 1]})):
        assert apply_categories(Z, ["a", "b"], categories).tolist() == [[2, 1], [1, 0]]
    with pytest.raises(ValueError, match="Column 'a' has values that are not among") as caught:
        apply_categories([["q", 1]], ["a", "b"], categories)
    assert "Its levels are 'v', 'u', 'w'." in str(caught.value)


def test_record_batches_are_tables():
    batch = pa.record_batch({"a": [2, 1], "b": pa.array(["v", "u"]).dictionary_encode()})
    assert table_labels(batch) == ["a", "b"]
    codes, categories = learn_categories(batch, ["a", "b"])
    assert codes.tolist() == [[1, 0], [0, 1]]
    assert categories[1].tolist() == ["v", "u"]


def test_objects_that_only_convert_to_arrays():
    codes, _ = learn_categories(_NotAnArray(np.array([[2, 5], [1, 5]])), names(2))
    assert codes.tolist() == [[1, 0], [0, 0]]


# What scikit-learn says of tables that are none.


@pytest.mark.parametrize(("X", "kind", "words"), [
    (scipy.sparse.eye_array(3), TypeError, "Sparse data was passed"),
    (np.ones((2, 2)) * 1j, ValueError, "Complex data not supported"),
    (np.arange(3), ValueError, "Reshape your data"),
    ([1, 2], ValueError, "Reshape your data"),
    ([[1, 2], [3]], ValueError, "Reshape your data"),
    (3, ValueError, "Expected 2D array, got scalar array"),
    ("abc", ValueError, "Expected 2D array, got scalar array"),
    (np.zeros((2, 2, 2)), ValueError, "Found array with dim 3"),
    (pd.Series([1, 2]), ValueError, "Expected a 2-dimensional container"),
    (np.empty((0, 3)), ValueError, "Found array with 0 sample(s) (shape=(0, 3)) while a minimum"),
    (np.empty((3, 0)), ValueError, "Found array with 0 feature(s) (shape=(3, 0)) while a minimum"),
    (pd.DataFrame(columns=["a", "b", "c"]), ValueError,
     "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."),
    (pl.DataFrame({"a": [], "b": [], "c": []}), ValueError,
     "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."),
    (pa.table({"a": [], "b": [], "c": []}), ValueError,
     "Found array with 0 sample(s) (shape=(0, 3)) while a minimum of 1 is required."),
    (pd.DataFrame(index=[1, 2]), ValueError,
     "Found array with 0 feature(s) (shape=(2, 0)) while a minimum of 1 is required."),
    (pl.DataFrame(), ValueError,
     "Found array with 0 sample(s) (shape=(0, 0)) while a minimum of 1 is required."),
    (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), TypeError,
     "A structured array with fields 'a', 'b' came; columns of several types are read from data "
     "frames. Make one of it: pandas.DataFrame(X)."),
    (np.rec.array([(1, 2)], dtype=[("a", int), ("b", int)]), TypeError, "structured array"),
    (np.ma.array([[1, 2]], mask=[[0, 1]]), ValueError, "A masked array with 1 masked cells came"),
    (pd.DataFrame({"a": pd.arrays.SparseArray([0, 1]), "b": 0, "c": 0}), TypeError,
     "X.sparse.to_dense()"),
    (pd.DataFrame({c: pd.arrays.SparseArray([0, 1]) for c in "abc"}), TypeError,
     "X.sparse.to_dense()"),
], ids=lambda value: type(value).__name__)
def test_what_is_no_table(X, kind, words):
    assert words in refusal(X, kind)
    with pytest.raises(kind) as caught:
        apply_categories(X, ["a", "b", "c"], [np.array([0, 1])] * 3)
    assert words in str(caught.value)


def test_messages_name_the_column():
    X = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": ["u", None]})
    assert "Column 'b' is real-valued" in refusal(X)
    assert "Column 'c' has 1 missing value(s)" in refusal(X.assign(b=1))
    assert "Column 'x1' has 1 missing value(s)" in refusal(np.array([[1, np.nan]]), labels=names(2))
    days = X.assign(b=pd.to_datetime(["2020-01-01", "2020-01-02"]))
    assert "Column 'b' has dtype datetime64[" in refusal(days, TypeError)


# categories=


@pytest.mark.parametrize("table", [
    [["a", None], [None, 1], ["b", None]], [[0.5, 1.5], [2.25, 3.5], [1.0, 0.1]],
])
def test_errors_come_whole_from_other_processes(table):
    with pytest.raises(ValueError, match="Column 'left'") as caught:
        learn_categories(table, ["left", "right"])
    error = caught.value
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert "'right'" in str(again)
    assert vars(again) == vars(error)


def test_categories_by_list_and_by_label():
    X = pd.DataFrame({"a": ["u", "v"], "b": [2, 1]})
    for entries in (["auto", [3, 2, 1]], {"b": [3, 2, 1]}, ("auto", np.array([3, 2, 1])),
                    {"a": "auto", "b": (3, 2, 1)}):
        codes, categories = learn_categories(X, ["a", "b"], entries)
        assert codes.tolist() == [[0, 1], [1, 2]]
        assert [levels.tolist() for levels in categories] == [["u", "v"], [3, 2, 1]]
    # What one table taught serves for the next one.
    assert learn_categories(X, ["a", "b"], categories)[0].tolist() == codes.tolist()
    square = np.array([[0, 1], [0, 1]])
    assert learn_categories(square, names(2), square)[0].tolist() == [[0, 0], [1, 1]]


def test_categories_that_do_not_fit_the_table():
    X = pd.DataFrame({"a": ["u"], "b": [1], "c": [2]})
    assert refusal(X, categories=[["u"]]) == (
        "categories has 1 entries for 3 columns. Give one per column, 'auto' where the levels are "
        "to be found, or a dict from label to levels."
    )
    assert refusal(X, categories={"a": ["u"], "d": [1]}) == (
        "categories names 'd', which is no column. The columns are 'a', 'b', 'c'."
    )
    for odd in ("Auto", b"auto", 3, None, {1, 2}):
        assert "categories must be 'auto', a list" in refusal(X, TypeError, categories=odd)
    message = refusal(X, categories={"b": [5, 7]})
    assert "Column 'b' has values that are not among its levels: 1, in 1 row(s)" in message
    assert "or list them with categories=." in message
    assert "The levels of column 'c' repeat 2" in refusal(X, categories={"c": [2, 2]})
    assert "The levels of column 'c' must be 'auto' or a list" in refusal(
        X, TypeError, categories={"c": "AUTO"})


# Rows that are dropped.


def test_dropped_rows_vanish_with_their_levels_and_faults():
    X = [["a", 1], [None, 2.5], ["b", 3]]
    rows = np.array([True, False, True])
    codes, categories = learn_categories(X, names(2), rows=rows)
    assert codes.tolist() == [[0, 1], [0, 1]]
    assert [levels.tolist() for levels in categories] == [["a", "b"], [1, 3]]


def test_masks_that_leave_nothing_or_do_not_fit():
    X = pd.DataFrame({"a": [1, 2], "b": [1, 2], "c": [1, 2]})
    for table in (X, X.to_numpy(), pl.from_pandas(X)):
        assert "0 sample(s) (shape=(0, 3))" in refusal(table, rows=np.zeros(2, dtype=bool))
        assert refusal(table, rows=np.ones(3, dtype=bool)) == (
            "The mask of rows has 3 entries, the table 2 rows."
        )


def test_arrays_need_no_data_frame_library():
    code = """
import sys
sys.modules.update(dict.fromkeys(["pandas", "polars", "pyarrow"]))  # importing them now fails
from skbn.tables.reading import learn_categories
from skbn.tables.templates import TableTemplate
X = [["a", 1], ["b", None]]
codes, categories = learn_categories(X[:1], ["x0", "x1"])
assert TableTemplate.of(X).build(codes, categories).tolist() == X[:1]
try:
    learn_categories(X, ["x0", "x1"])
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Column 'x1' has 1 missing value(s)")


def test_alarm_file():
    path = SHARED / "data" / "bnlearn" / "alarm.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    X = pd.read_csv(path, dtype=str)
    expected, categories = learn_categories(X, list(X.columns))
    assert expected.shape == (37, 20_000)
    assert sum(map(len, categories)) == 105
    rebuilt = np.array([levels[row] for row, levels in zip(expected, categories, strict=True)])
    assert (rebuilt.T == X.to_numpy()).all()
    text = X.to_numpy(dtype=object)
    for table in (X.astype(object), X.astype("category"), pl.from_pandas(X), text,
                  pl.from_pandas(X).cast(pl.Categorical), pa.Table.from_pandas(X),
                  text.astype(str), text.tolist()):
        codes, _ = learn_categories(table, list(X.columns))
        assert np.array_equal(codes, expected)


def test_an_open_table_does_not_take_the_codes_of_one_list_of_levels_for_those_of_another():
    table = open_table([["a", 1], ["b", 2]])
    labels = ["x0", "x1"]
    for levels in (["a", "b"], ["b", "a"], ["c", "b", "a"]):
        categories = [np.array(levels, dtype=object), np.array([1, 2])]
        codes, missing = apply_categories_with_gaps(table, labels, categories)
        assert missing is None
        assert codes.tolist() == [[levels.index("a"), levels.index("b")], [0, 1]]
