"""Codes back into the kind of table that came."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest

from skbn.tables.columns import learn_column
from skbn.tables.reading import learn_categories, table_labels
from skbn.tables.templates import ColumnTemplate, TableTemplate

PANDAS = pd.DataFrame({
    "int": np.array([3, 1, 3], dtype=np.int8),
    "wide": np.array([2**64 - 1, 0, 5], dtype=np.uint64),
    "float": np.array([1, 2, 1], dtype=np.float32),
    "bool": [True, False, True],
    "text": ["b", "a", "b"],
    "object text": pd.Series(["b", "a", "b"], dtype=object),
    "object int": pd.Series([2**70, 1, 1], dtype=object),
    "python text": pd.Series(["b", "a", "b"], dtype="string[python]"),
    "arrow text": pd.Series(["b", "a", "b"], dtype=pd.ArrowDtype(pa.string())),
    "arrow int": pd.Series([2, 1, 2], dtype="int16[pyarrow]"),
    "arrow dictionary": pd.Series(["b", "a", "b"], dtype=pd.ArrowDtype(
        pa.dictionary(pa.int32(), pa.string()))),
    "Int64": pd.Series([2, 1, 2], dtype="Int64"),
    "boolean": pd.Series([True, False, True], dtype="boolean"),
    "Float32": pd.Series([2, 1, 2], dtype="Float32"),
    "category": pd.Categorical(["u", "v", "u"], ["w", "v", "u"], ordered=True),
    "interval": pd.cut([0.5, 2.5, 0.5], [0, 1, 2, 3]),
    "real": pd.Categorical([0.5, 0.25, 0.5]),
    "day": pd.Categorical(pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-02"])),
}).set_axis(["r", "s", "t"])
POLARS = pl.DataFrame({
    "int": pl.Series([3, 1, 3], dtype=pl.Int8),
    "float": pl.Series([1, 2, 1], dtype=pl.Float32),
    "bool": [True, False, True],
    "text": ["b", "a", "b"],
    "enum": pl.Series(["u", "v", "u"], dtype=pl.Enum(["w", "v", "u"])),
    "category": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
    "Int128": pl.Series([2**100, 1, 1], dtype=pl.Int128),
})
ARROW = pa.table({
    "int": pa.array([3, 1, 3], pa.int8()),
    "half": pa.array(np.array([1, 2, 1], dtype=np.float16)),
    "bool": [True, False, True],
    "text": ["b", "a", "b"],
    "large": pa.array(["b", "a", "b"], pa.large_string()),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int8()), ["v", "u", "w"],
                                                 ordered=True),
})


def round_trip(X):
    labels = table_labels(X) or [f"x{i}" for i in range(np.shape(X)[1])]
    codes, categories = learn_categories(X, labels)
    template = pickle.loads(pickle.dumps(TableTemplate.of(X)))
    table = template.build(codes, categories)
    again, same = learn_categories(table, labels)
    assert np.array_equal(again, codes)
    assert [list(levels) for levels in same] == [list(levels) for levels in categories]
    return table


def test_pandas():
    pd.testing.assert_frame_equal(round_trip(PANDAS), PANDAS.reset_index(drop=True))
    odd = pd.DataFrame([[1, "a"]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)],
                                                                    names=["p", "q"]))
    pd.testing.assert_frame_equal(round_trip(odd), odd)
    numbered = pd.DataFrame([[1, "a"]], columns=[7, 3])
    pd.testing.assert_frame_equal(round_trip(numbered), numbered)


def test_polars():
    polars.testing.assert_frame_equal(round_trip(POLARS), POLARS)


def test_pyarrow():
    table = round_trip(ARROW)
    assert table.schema.equals(ARROW.schema)
    assert table.to_pylist() == ARROW.to_pylist()
    assert table["dictionary"].chunk(0).dictionary.to_pylist() == ["v", "u", "w"]


@pytest.mark.parametrize("X", [
    np.array([[1, 2], [3, 2]], dtype=np.int16),
    np.array([[1, 2], [3, 2]], dtype=np.float32),
    np.array([[True, False], [True, True]]),
    np.array([["abc", "b"], ["a", "b"]], dtype="U9"),
    np.array([["abc", 1, True], ["a", 2, False]], dtype=object),
    np.array([["abc"], ["a"]], dtype=np.dtypes.StringDType()),
], ids=lambda X: str(X.dtype))
def test_arrays(X):
    table = round_trip(X)
    assert table.dtype == X.dtype
    assert np.array_equal(table, X)


def test_lists_become_arrays():
    assert round_trip([[1, 2], [3, 2]]).dtype == np.int64
    assert round_trip([[1, 2.0], [3, 2.0]]).dtype == np.float64
    assert round_trip([[True], [False]]).dtype == bool
    mixed = round_trip([["a", 1], ["b", 2]])
    assert mixed.dtype == object
    assert mixed.tolist() == [["a", 1], ["b", 2]]


@pytest.mark.parametrize("column", [
    *(PANDAS[label] for label in PANDAS), *POLARS.get_columns(), *ARROW.columns,
    np.array([3, 1, 3], dtype=np.int8), np.array(["b", "abc"]), np.array([True, False]),
    pd.Series([1, 0], name=("a", 1)), pd.Series([1, 0]),
], ids=lambda column: f"{type(column).__module__} {getattr(column, 'dtype', '')}")
def test_columns(column):
    codes, levels = learn_column(column, "y")
    template = pickle.loads(pickle.dumps(ColumnTemplate.of(column)))
    built = template.build(codes, levels)
    assert type(built) is type(column)
    if isinstance(column, pd.Series):
        pd.testing.assert_series_equal(built, column.reset_index(drop=True))
    elif isinstance(column, pl.Series):
        polars.testing.assert_series_equal(built, column)
    elif isinstance(column, np.ndarray):
        assert built.dtype == column.dtype
        assert np.array_equal(built, column)
    else:
        assert built.type == column.type
        assert built.to_pylist() == column.to_pylist()


def test_levels_that_the_dtype_cannot_hold():
    dtype = pd.CategoricalDtype(["a", "b"], ordered=True)
    codes, levels = np.array([1, 0]), np.array(["z", "a"], dtype=object)
    built = ColumnTemplate.of(pd.Series(["a"], dtype=dtype, name="c")).build(codes, levels)
    assert built.tolist() == ["a", "z"]
    assert built.dtype == pd.CategoricalDtype(["z", "a"], ordered=True)
    assert built.name == "c"
    built = ColumnTemplate.of(pl.Series("c", ["a"], dtype=pl.Enum(["a"]))).build(codes, levels)
    assert built.to_list() == ["a", "z"]
    assert built.dtype == pl.Enum(["z", "a"])
    assert ColumnTemplate.of(np.array(["a"])).build(codes, np.array(["long", "a"])).tolist() == [
        "a", "long"]
    for column in (pd.Series([1], dtype="int8"), pl.Series([1], dtype=pl.Int8),
                   pa.chunked_array([pa.array([1], pa.int8())]), np.array([1], dtype=np.int8)):
        for values in ([1, 1000], [1.0, 0.5]):
            built = ColumnTemplate.of(column).build(codes, np.array(values))
            assert np.asarray(built).tolist() == values[::-1]
    mixed = np.array([1, "other"], dtype=object)
    for column in (pd.Series([1]), np.array([1])):
        assert ColumnTemplate.of(column).build(codes, mixed).tolist() == ["other", 1]
    # 0.1 in a float32 column stays a float32.
    tenths = ColumnTemplate.of(pd.Series([0.1], dtype="float32")).build(codes, np.array([0.1, 0.7]))
    assert tenths.dtype == np.float32


def test_templates_hold_no_rows():
    big = pd.DataFrame({"a": np.arange(50_000), "s": ["text"] * 50_000,
                        "o": pd.Series(["text"] * 50_000, dtype=object)},
                       index=[f"row {i}" for i in range(50_000)])
    for X in (big, pl.from_pandas(big), pa.Table.from_pandas(big), big.to_numpy(),
              pa.Table.from_pandas(big.astype("category"))):
        assert len(pickle.dumps(TableTemplate.of(X))) < 5_000
    assert len(pickle.dumps(ColumnTemplate.of(big["s"]))) < 5_000
