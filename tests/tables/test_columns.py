"""One column: what is read, what is refused, and what the messages say."""

import datetime
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute
import pytest
import sklearn.preprocessing
from hypothesis import given, settings
from hypothesis import strategies as st

from skbn.tables.columns import apply_column, learn_column, positions_among
from skbn.tables.reading import learn_categories


def named(value):
    """A name for a test that is the same in every process."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def check(values, expected_levels, dtype=None, levels="auto"):
    """The codes point at equal values of the right kind, and apply finds the same ones."""
    codes, learned = learn_column(values, "c", levels)
    assert learned.tolist() == list(expected_levels)
    assert [type(x) for x in learned.tolist()] == [type(x) for x in expected_levels]
    if dtype is not None:
        assert learned.dtype == dtype
    assert np.array_equal(apply_column(values, "c", learned), codes)
    return codes


def refusal(values, kind=ValueError, levels="auto"):
    with pytest.raises(kind) as caught:
        learn_column(values, "c", levels)
    return str(caught.value)


# The obvious twin.


def naive(values):
    levels = []
    for value in values:
        if not any(type(value) is type(level) and value == level for level in levels):
            levels.append(value)
    levels.sort()
    return [levels.index(value) for value in values], levels


MAKERS = {
    "list": list,
    "array": np.array,
    "object": lambda v: np.array(v, dtype=object),
    "pandas": pd.Series,
    "pandas object": lambda v: pd.Series(v, dtype=object),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "pandas arrow": lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda v: pl.Series(v),
    "pyarrow": lambda v: pa.chunked_array([v[: len(v) // 2], v[len(v) // 2 :]],
                                          type=pa.array(v).type),
}
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
COLUMNS = st.one_of(
    st.lists(st.booleans(), min_size=1, max_size=12),
    st.lists(st.integers(-3, 3), min_size=1, max_size=12),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12),
    st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12),
    st.lists(TEXT, min_size=1, max_size=12),
)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@given(values=COLUMNS)
@settings(max_examples=60, deadline=None)
def test_every_library_agrees_with_the_obvious_encoder(maker, values):
    codes, levels = naive(values)
    column = maker(values)
    learned_codes, learned = learn_column(column, "c")
    assert learned_codes.tolist() == codes
    assert learned.tolist() == levels
    assert apply_column(values, "c", learned).tolist() == codes
    assert apply_column(column, "c", learned[::-1]).tolist() == [len(levels) - 1 - c for c in codes]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4"])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_integers_of_every_width_at_their_extremes(dtype, data):
    limits = np.iinfo(dtype)
    near = st.one_of(st.integers(limits.min, limits.min + 3), st.integers(limits.max - 3,
                                                                         limits.max))
    values = data.draw(st.lists(st.one_of(near, st.integers(limits.min, limits.max)), min_size=1))
    column = np.array(values, dtype=dtype)
    codes, levels = learn_column(column, "c")
    assert levels.dtype == column.dtype
    assert (codes.tolist(), levels.tolist()) == naive(values)


def test_integers_beyond_64_bits():
    values = [2**70, -(2**70), 2**64 - 1, 0, 2**70]
    assert check(values, [-(2**70), 0, 2**64 - 1, 2**70], object).tolist() == [3, 0, 2, 1, 3]
    check([2**64 - 1, 0], [0, 2**64 - 1], np.uint64)
    check(pd.Series([2**64 - 1, 5], dtype="uint64"), [5, 2**64 - 1], np.uint64)
    check(pl.Series([2**100, 3], dtype=pl.Int128), [3, 2**100], object)
    # float(2**53 + 1) is 2**53: they are not the same level.
    assert apply_column([2**53 + 1], "c", np.array([2**53, 2**53 + 1])).tolist() == [1]
    with pytest.raises(ValueError, match="not among"):
        apply_column([2**53 + 1], "c", np.array([2.0**53, 1.0]))
    big = pd.Series([2**63 - 1, 2**63 - 2], dtype="Int64")
    check(big, [2**63 - 2, 2**63 - 1], np.int64)


def test_many_levels_need_wider_codes():
    values = np.random.default_rng(0).permutation(70_000)
    codes, levels = learn_column(values, "c")
    assert codes.dtype == np.uint32
    assert np.array_equal(levels[codes], values)
    text = pd.Series(values.astype(str))
    codes, levels = learn_column(text, "c")
    assert codes.dtype == np.uint32
    assert (levels[codes] == text.to_numpy()).all()
    assert learn_column(np.arange(256), "c")[0].dtype == np.uint8
    assert learn_column(np.arange(257), "c")[0].dtype == np.uint16


def test_floats():
    check(np.array([1.0, 0.0, 1.0]), [0.0, 1.0], np.float64)
    check(np.array([3, 1], dtype=np.float32), [1.0, 3.0], np.float32)
    check(np.array([3, 1], dtype=np.float16), [1.0, 3.0], np.float16)
    check(np.array([1e300, 1.0, -1e300]), [-1e300, 1.0, 1e300])
    assert check([0.0, -0.0, 1.0], [0.0, 1.0]).tolist() == [0, 0, 1]
    codes, levels = learn_column(np.array([-0.0, 0.0]), "c")
    assert codes.tolist() == [0, 0]
    assert not np.signbit(levels).any()


def test_numbers_in_object_columns():
    check([3, 1, 3], [1, 3], np.int64)
    check([3, 1.0], [1.0, 3.0], np.float64)
    check([2**53 + 1, 1.0], [1.0, 2**53 + 1])
    check([Decimal(1), Decimal("2.0")], [1.0, 2.0])
    check([Fraction(4, 2), 1], [1.0, 2.0])
    check([np.int8(2), np.int8(1)], [1, 2], np.int8)
    check([np.float32(2), np.float32(1)], [1.0, 2.0], np.float32)
    check([True, np.False_], [False, True], bool)
    assert "real-valued: 2 distinct values" in refusal([1, 2.5])
    assert "real-valued: 2 distinct values" in refusal([Fraction(1, 3), 1])
    assert "real-valued" in refusal([Decimal("1.5")])


def test_bools_keep_what_was_observed():
    check(np.array([True, True]), [True], bool)
    check(pd.Series([False, True], dtype="boolean"), [False, True], bool)


def test_text_is_left_alone():
    values = ["b ", " b", "B", "", "\u00e9", "e\u0301", "a\0b", "a\0", "a"]
    for maker in (list, pd.Series, lambda v: pd.Series(v, dtype=object), pl.Series,
                  lambda v: pd.Series(v, dtype="string[python]"), lambda v: pa.chunked_array([v])):
        check(maker(values), sorted(values), object)
    check(np.array(["b", "abc"]), ["abc", "b"], "<U3")
    check(pd.Series(["\ud800", "a"], dtype=object), ["a", "\ud800"], object)
    check(np.array(["b", "a"], dtype=np.dtypes.StringDType()), ["a", "b"])
    for dtype in ("string[python]", "string[pyarrow]", "str", pd.ArrowDtype(pa.large_string())):
        check(pd.Series(["b", "a"], dtype=dtype), ["a", "b"], object)
    for dtype in (pa.large_string(), pa.string_view()):
        check(pa.chunked_array([["b", "a"]], type=dtype), ["a", "b"], object)


# Categorical dtypes.


def test_pandas_categorical_keeps_declared_levels_and_order():
    dtype = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    values = pd.Series(["high", "low"], dtype=dtype)
    assert check(values, ["low", "mid", "high"]).tolist() == [2, 0]
    # The same values in another declaration, as text, and the other way round.
    levels = learn_column(values, "c")[1]
    other = pd.Series(["low", "high"], dtype=pd.CategoricalDtype(["high", "new", "low"]))
    assert apply_column(other, "c", levels).tolist() == [0, 2]
    assert apply_column(["mid", "high"], "c", levels).tolist() == [1, 2]
    assert apply_column(values, "c", np.array(["high", "low"])).tolist() == [0, 1]


def test_categorical_levels_may_be_of_any_type():
    cut = pd.Series(pd.cut([0.5, 1.5, 0.2], [0, 1, 2, 3]))
    assert check(cut, list(cut.cat.categories)).tolist() == [0, 1, 0]
    check(pd.Series([0.25, 0.5], dtype="category"), [0.25, 0.5], np.float64)
    check(pd.Series([3, 1], dtype="category"), [1, 3], np.int64)
    check(pd.Series([True, False], dtype="category"), [False, True], bool)
    days = pd.Series(pd.to_datetime(["2021-01-02", "2021-01-01"])).astype("category")
    check(days, [pd.Timestamp("2021-01-01"), pd.Timestamp("2021-01-02")])
    mixed = pd.Series(["a", 1], dtype=pd.CategoricalDtype(["a", 1, True + 1]))
    check(mixed, ["a", 1, 2])


def test_polars_enum_keeps_levels_and_categorical_only_those_seen():
    enum = pl.Series(["a", "c"], dtype=pl.Enum(["c", "b", "a"]))
    assert check(enum, ["c", "b", "a"]).tolist() == [2, 0]
    shared = pl.Series(["zebra", "yak"], dtype=pl.Categorical)
    assert check(pl.Series(["x", "q", "x"], dtype=pl.Categorical), ["q", "x"]).tolist() == [1, 0, 1]
    check(shared, ["yak", "zebra"])


def test_pyarrow_dictionary():
    chunks = pa.chunked_array([
        pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), ["b", "a", "unseen"]),
        pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["new"]),
    ])
    assert check(chunks, ["b", "a", "unseen", "new"]).tolist() == [1, 0, 3]
    twice = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1, 2], ["b", "a", "b"])])
    assert check(twice, ["b", "a"]).tolist() == [0, 1, 0]
    null = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 2], pa.array(["b", None, "a"]))])
    assert check(null, ["b", "a"]).tolist() == [0, 1]
    hidden = pa.chunked_array([pa.DictionaryArray.from_arrays([0, 1], pa.array(["b", None]))])
    assert "1 missing value(s)" in refusal(hidden)
    numbers = pa.chunked_array([pa.array([7, 3]).dictionary_encode()])
    check(numbers, [7, 3], np.int64)
    inside = pd.Series(chunks.to_pylist(), dtype=pd.ArrowDtype(pa.dictionary(pa.int8(),
                                                                            pa.string())))
    check(inside, ["a", "b", "new"])


def test_arrays_of_the_libraries_keep_declared_levels_too():
    categorical = pd.Categorical(["a", "b"], ["b", "unseen", "a"])
    check(categorical, ["b", "unseen", "a"])
    check(pd.CategoricalIndex(categorical), ["b", "unseen", "a"])
    check(pd.Index([2, 1]), [1, 2], np.int64)
    check(pd.array([2, 1], dtype="Int8"), [1, 2], np.int8)
    check(pa.DictionaryArray.from_arrays([1, 0], ["b", "a", "unseen"]), ["b", "a", "unseen"])
    check(pa.array(["b", "a"]), ["a", "b"])


def test_declared_levels_that_are_none():
    assert refusal(pd.Series([np.inf, 1.5], dtype="category")) == (
        "Column 'c' contains infinity (inf) among its levels. Remove it from them, or bin the "
        "column."
    )
    lists = pa.chunked_array([pa.DictionaryArray.from_arrays([0], pa.array([[1]]))])
    assert "Column 'c' has dtype dictionary of list, whose" in refusal(lists, TypeError)


# Missing, infinite, real.


@pytest.mark.parametrize("values", [
    np.array([1.0, np.nan, np.nan]),
    ["a", None, float("nan")],
    [True, None, None],
    [1, pd.NA, None],
    [datetime.date(2020, 1, 1), pd.NaT, None],
    np.array(["a", None, np.nan], dtype=object),
    pd.Series(["a", None, None]),
    pd.Series(["a", None, pd.NA], dtype=object),
    pd.Series(["a", None, None], dtype="string[pyarrow]"),
    pd.Series(["a", None, None], dtype="category"),
    pd.Series([1, None, None], dtype="Int64"),
    pd.Series([True, None, None], dtype="boolean"),
    pd.Series([1, None, None], dtype="float64[pyarrow]"),
    pl.Series([1, None, None]),
    pl.Series([1.0, None, float("nan")]),
    pl.Series(["a", None, None]),
    pl.Series(["a", None, None], dtype=pl.Enum(["a"])),
    pl.Series(["a", None, None], dtype=pl.Categorical),
    pa.chunked_array([["a", None, None]]),
    pa.chunked_array([[1, None, None]]),
    pa.chunked_array([pa.array(["a", None, None]).dictionary_encode()]),
], ids=named)
def test_missing_values_are_refused(values):
    message = refusal(values)
    if isinstance(values, pd.Series):
        is_declared = isinstance(values.dtype, pd.CategoricalDtype)
        fill = "cat.add_categories('missing')" if is_declared else "astype('string')"
        cure = f", for example with X['c'].{fill}.fillna('missing')"
    elif isinstance(values, pl.Series):
        cure = ", for example with X['c'].cast(polars.String).fill_null('missing')"
    elif isinstance(values, pa.ChunkedArray):
        cure = ", for example with X['c'].cast('string').fill_null('missing')"
    elif isinstance(values, np.ndarray) and values.dtype == float:
        cure = ", for example with numpy.nan_to_num(X, nan=-1)"
    else:
        cure = ""
    assert message == (
        "Column 'c' has 2 missing value(s) (NaN, None or null), the first in row 1 (counted from "
        "0). Fill them, drop their rows, or make them a category of their own: with "
        f"handle_missing='category' in the estimators, or in the table{cure}."
    )
    assert message == refusal(values, levels=["a", 1, True])
    with pytest.raises(ValueError, match=r"2 missing value\(s\)"):
        apply_column(values, "c", np.array(["a"]))


@pytest.mark.parametrize("values", [
    [None], np.array([np.nan]), pd.Series([None], dtype=object), pl.Series([None]),
    pl.Series([None], dtype=pl.String), pl.Series([None], dtype=pl.Categorical),
    pa.chunked_array([[None]]), pd.Series([None], dtype=pd.ArrowDtype(pa.null())),
    pd.Series([None], dtype="category"),
], ids=named)
def test_a_column_that_is_all_missing(values):
    assert "has 1 missing value(s)" in refusal(values)


@pytest.mark.parametrize("values", [
    pd.Series(["a", None]), pd.Series([1.0, None]), pd.Series([True, None], dtype=object),
    pd.Series([2, None], dtype="Int64"), pd.Series(["a", None], dtype="category"),
    pl.Series(["a", None]), pl.Series([1, None]), pl.Series([1.0, None]), pl.Series([True, None]),
    pl.Series(["a", None], dtype=pl.Enum(["a"])),
    pa.chunked_array([["a", None]]), pa.chunked_array([[1.0, None]]),
    pa.chunked_array([pa.array(["a", None]).dictionary_encode()]),
    np.array([1.0, np.nan]),
], ids=named)
def test_the_cure_for_missing_values_works(values):
    code = refusal(values).split("for example with ")[-1].rstrip(".")
    X = values if isinstance(values, np.ndarray) else {"c": values}
    cured = eval(code, {"X": X, "numpy": np, "polars": pl})
    codes, levels = learn_column(cured, "c")
    assert len(levels) == 2
    assert levels[codes[1]] == (-1 if isinstance(values, np.ndarray) else "missing")


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_is_refused(infinity):
    expected = "Column 'c' contains infinity (inf) in 1 row(s). Infinity is no level"
    for values in ([0.5, infinity, np.nan], [1.0, infinity, 1.0]):
        for column in (np.array(values), pd.Series(values), pl.Series(values), values,
                       np.array(values, dtype=np.float32)):
            assert expected in refusal(column)
            with pytest.raises(ValueError, match="infinity"):
                apply_column(column, "c", np.array([1.0]))
    assert expected in refusal([Decimal("Infinity")])


def test_real_values_are_refused():
    values = np.array([0.5, 1.25, 0.5, 3.0, 8.0, 9.0, 10.0, 11.5])
    for column in (values, values.tolist(), pd.Series(values), pl.Series(values)):
        # Arrays have no categorical dtypes.
        has_dtypes = isinstance(column, (pd.Series, pl.Series))
        assert refusal(column) == (
            "Column 'c' is real-valued: 7 distinct values such as 0.5, 1.25, 3.0, 8.0, 9.0, 10.0, "
            "and levels must be countable. Cut it into bins with "
            'KBinsDiscretizer(encode="ordinal"); if its values really are levels, say so with '
            f"{'a categorical dtype or ' * has_dtypes}categories=."
        )
    check(values, [*sorted(set(values.tolist())), 99.0], levels=[*sorted(set(values)), 99.0])
    # The refusal waits for the whole column.
    assert "missing" in refusal(np.array([0.5, np.nan]))


# Mixtures and strange cells.


TO_ONE_TYPE = "Convert it to one type, for example with .astype(str)."
ENTRIES = (
    "Give each possible entry a column of its own, for example with "
    "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(X), or convert it to text."
)


@pytest.mark.parametrize(("values", "names", "cure"), [
    ([1, "a"], "['int', 'str']", TO_ONE_TYPE),
    ([True, "a"], "['bool', 'str']", TO_ONE_TYPE),
    ([[1], "a"], "['list', 'str']", TO_ONE_TYPE),
    ([[1], [2, 3]], "['list']", ENTRIES),
    ([np.arange(2), np.arange(3)], "['ndarray']", ENTRIES),
    ([{}, {}], "['dict']", "Give each field a column of its own, or convert it to text."),
], ids=named)
def test_scikit_learn_judges_object_columns(values, names, cure):
    column = np.fromiter(values, dtype=object, count=len(values))
    assert refusal(column, TypeError) == (
        "Column 'c' cannot be read as levels: Encoders require their input argument must be "
        f"uniformly strings or numbers. Got {names}. {cure}"
    )
    with pytest.raises(TypeError) as caught:
        learn_column(pd.Series(values, dtype=object), "c")
    assert isinstance(caught.value.__cause__, TypeError)
    learn_column(pd.Series(values, dtype=object).astype(str), "c")


def test_truth_values_do_not_mix_with_numbers():
    for values in ([True, 1], [0, False, 2], [True, 2.0], [np.True_, 1]):
        for column in (values, pd.Series(values, dtype=object)):
            assert "Column 'c' mixes truth values with numbers: [" in refusal(column, TypeError)
    assert "with .astype(str) or .astype(int)." in refusal([True, 1], TypeError)


def test_objects_that_scikit_learn_accepts():
    days = [datetime.date(2021, 1, 2), datetime.date(2021, 1, 1)]
    check(days, days[::-1], object)
    check(np.fromiter([(2, 1), (1, 2)], dtype=object, count=2), [(1, 2), (2, 1)], object)
    spans = [np.timedelta64(2, "s"), np.timedelta64(1, "s")]
    check(spans, spans[::-1], object)
    intervals = list(pd.interval_range(0, 2))
    check(intervals, intervals, object)


DAY, HOUR, SPAN = datetime.date(2020, 3, 1), datetime.time(5), datetime.timedelta(2)
MONTH = "Keep what of it comes again, such as the month, for example with {}, or bin it into"
OF_DAY = "Keep what of it comes again, such as the hour, for example with {}, or bin it into"
UNIT = "Count a unit, for example with {}, and cut the counts into bins with KBinsDiscretizer"
TEXT = "Decode it to text, for example with {}."
ENTRY = "Give each possible entry a column of its own, for example with {}, or convert it to text."
BINARIZED = "sklearn.preprocessing.MultiLabelBinarizer().fit_transform({})"
FIELD = "Give each field a column of its own, for example with {}, or convert it to text."
PLAIN = "Make levels of it first: convert it to text, or bin it into a categorical dtype."


@pytest.mark.parametrize(("values", "name", "cure", "code"), [
    (np.array(["2020-03-01"], dtype="M8[D]"), "datetime64[D]", MONTH,
     "X.astype('datetime64[M]').astype(int) % 12 + 1"),
    (pd.Series([DAY], dtype="M8[s]"), "datetime64[", MONTH, "X['c'].dt.month"),
    (pd.Series([DAY], dtype=pd.ArrowDtype(pa.date32())), "date32", MONTH, "X['c'].dt.month"),
    (pd.Series(pd.period_range("2020-03", periods=1, freq="D")), "period[D]", MONTH,
     "X['c'].dt.month"),
    (pl.Series([DAY]), "Date", MONTH, "X['c'].dt.month()"),
    (pl.Series([datetime.datetime(2020, 3, 1)]), "Datetime", MONTH, "X['c'].dt.month()"),
    (pa.chunked_array([[DAY]]), "date32", MONTH, "pyarrow.compute.month(X['c'])"),
    (pl.Series([HOUR]), "Time", OF_DAY, "X['c'].dt.hour()"),
    (pa.chunked_array([[HOUR]]), "time64", OF_DAY, "pyarrow.compute.hour(X['c'])"),
    (np.array([2], dtype="m8[D]"), "timedelta64[D]", UNIT,
     "X.astype('timedelta64[D]').astype(int)"),
    (pd.Series([SPAN]), "timedelta64", UNIT, "X['c'].dt.days"),
    (pl.Series([SPAN]), "Duration", UNIT, "X['c'].dt.total_days()"),
    (pa.chunked_array([[SPAN]]), "duration[us]", UNIT, "X['c'].cast('int64')"),
    (np.array([b"a"]), "|S1", TEXT, "numpy.char.decode(X)"),
    (np.array([b"a"], dtype=object), "bytes", TEXT, "numpy.char.decode(X.astype(bytes))"),
    (pd.Series([b"a", b"b"]), "bytes", TEXT, "X['c'].map(bytes.decode)"),
    (pd.Series([b"a"], dtype=pd.ArrowDtype(pa.binary())), "binary", TEXT,
     "X['c'].map(bytes.decode)"),
    (pl.Series([b"a"]), "Binary", TEXT, "X['c'].cast(polars.String)"),
    (pa.chunked_array([[b"a"]]), "binary", TEXT, "X['c'].cast('string')"),
    (pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), "list<", ENTRY,
     BINARIZED.format("X['c']")),
    (pl.Series([[1]]), "List(Int64)", ENTRY, BINARIZED.format("X['c']")),
    (pl.Series([[1]], dtype=pl.Array(pl.Int64, 1)), "Array(Int64", ENTRY,
     BINARIZED.format("X['c']")),
    (pa.chunked_array([[[1]]]), "list<", ENTRY, BINARIZED.format("X['c'].to_pylist()")),
    (pd.Series([{"a": 1}], dtype=pd.ArrowDtype(pa.struct([("a", pa.int64())]))), "struct<", FIELD,
     "pandas.json_normalize(X['c'])"),
    (pl.Series([{"a": 1}]), "Struct", FIELD, "X['c'].struct.unnest()"),
    (pa.chunked_array([[{"a": 1}]]), "struct<", FIELD, "X.flatten()"),
    ([b"a", "b"], "bytes and str", PLAIN, ""),
    (np.array([1j], dtype=object), "complex", PLAIN, ""),
    (pd.Series([1j]), "complex128", PLAIN, ""),
    (pd.Series(pd.interval_range(0, 1)), "interval[int64, right]", PLAIN, ""),
    (pl.Series([Decimal("1.5")]), "Decimal", PLAIN, ""),
    (pa.chunked_array([[Decimal("1.5")]]), "decimal128", PLAIN, ""),
], ids=named)
def test_dtypes_that_cannot_be_levels(values, name, cure, code):
    message = refusal(values, TypeError)
    assert message.startswith(f"Column 'c' has dtype {name}")
    assert f"whose values cannot be levels. {cure.format(code)}" in message
    if code:
        # The cures that it names are cures: what they make is read, or binned and then read.
        X = pa.table({"c": values}) if isinstance(values, pa.ChunkedArray) else {"c": values}
        made = eval(code, {
            "X": values if isinstance(values, np.ndarray) else X, "numpy": np, "pandas": pd,
            "polars": pl, "pyarrow": pa, "sklearn": sklearn,
        })
        codes, _ = learn_categories(made, ["c"]) if np.ndim(made) == 2 else learn_column(made, "c")
        assert codes.size == len(values)


def test_sparse_columns_are_refused():
    message = refusal(pd.Series(pd.arrays.SparseArray([0, 0, 1])), TypeError)
    assert "Column 'c' has dtype Sparse[int64, 0]" in message
    assert "X.sparse.to_dense()" in message


def test_arrays_that_numpy_would_read_in_part():
    masked = np.ma.array([1, 2], mask=[False, True])
    assert "1 masked cells" in refusal(masked)
    assert "X.filled(value)" in refusal(masked)
    check(np.ma.array([2, 1], mask=False), [1, 2])
    assert "structured array with fields 'a' came" in refusal(np.array([(1,)], dtype=[("a", int)]),
                                                            TypeError)


def test_a_column_without_rows():
    for values in ([], np.array([]), pd.Series([], dtype=int), pl.Series([], dtype=pl.Int8)):
        assert refusal(values) == ("Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 "
                                   "is required.")


# Levels by hand.


def test_levels_by_hand_keep_their_order():
    assert check([2, 0], [3, 2, 1, 0], levels=[3, 2, 1, 0]).tolist() == [1, 3]
    check(["b"], ["b", "a"], object, levels=np.array(["b", "a"]))
    check([1], [1, "other"], levels=[1, "other"])
    check([0.25], [0.25, 0.5], levels=(0.25, 0.5))
    check([1], [0, 1], levels=range(2))
    for levels in (pd.Index(["b", "a"]), pl.Series(["b", "a"]), pa.array(["b", "a"])):
        check(["b"], ["b", "a"], levels=levels)
    days = pd.to_datetime(["2020-01-02", "2020-01-01"])
    check(pd.Series(days).astype("category"), list(days), levels=days)
    declared = pd.Series(["a"], dtype=pd.CategoricalDtype(["a", "b", "c"]))
    check(declared, ["x", "a"], levels=["x", "a"])


def test_levels_by_hand_that_make_no_sense():
    assert refusal([1], levels=[]) == ("Column 'c' is given no levels. List at least one, or say "
                                       "'auto'.")
    assert "repeat 'a'. List each level once." in refusal(["a"], levels=["a", "b", "a"])
    assert "repeat 1.0" in refusal([1], levels=[1, 1.0])
    for missing in (None, np.nan, pd.NA, pd.NaT):
        assert "contain a missing value (NaN, None)" in refusal([1], levels=[1, missing])
    assert "contain infinity (inf)" in refusal([1], levels=[1, np.inf])
    for levels in ("ab", {1, 2}, {1: 2}, 3, None):
        assert "must be 'auto' or a list" in refusal([1], TypeError, levels=levels)
    assert "must be hashable" in refusal([1], TypeError, levels=[[1], [2]])
    check([True], [1, True], levels=[1, True])


MEASURED = [0.5, 1.5, None, 22.5, 40.5, 61.5]


@pytest.mark.parametrize("values", [
    pd.Series(MEASURED), pl.Series(MEASURED), np.array(MEASURED, dtype=float)], ids=named)
def test_the_cure_for_missing_measurements_bins_them(values):
    names = {"numpy": np, "pandas": pd, "polars": pl,
             "X": values if isinstance(values, np.ndarray) else {"c": values}}
    with pytest.raises(ValueError, match=r"row 2 .* since the other values are real") as caught:
        learn_column(values, "c")
    code = str(caught.value).split("for example with ")[1].split(", since")[0]
    codes, levels = learn_column(eval(code, names), "c")
    # Quarters of 5 values: 2 in the first, 1 in each other.
    assert len(levels) == 5
    assert levels[codes[2]] == (-1 if isinstance(values, np.ndarray) else "missing")
    # Where missing cells are levels, they are left as they are.
    with pytest.raises(ValueError, match="since cells are missing") as caught:
        learn_column(values, "c", missing="category")
    code = str(caught.value).split("are missing, with ")[1].split("; if its")[0]
    codes, levels = learn_column(eval(code, names), "c", missing="category")
    assert len(levels) == 5 and codes[2] == 4


def test_measurements_with_gaps_where_the_library_has_no_quantiles_in_a_line():
    for values in (pa.chunked_array([MEASURED]), MEASURED):
        with pytest.raises(ValueError, match=r"or in the table\.$"):
            learn_column(values, "c")
        with pytest.raises(ValueError, match="or, since cells are missing, by hand; if its"):
            learn_column(values, "c", missing="category")


def test_values_that_are_not_among_the_levels():
    message = refusal(["a", "z", "b", "y", "z"], levels=["a", "b"])
    assert message == (
        "Column 'c' has values that are not among its levels: 'y', 'z', in 3 row(s), the first in "
        "row 1 (counted from 0). Its levels are 'a', 'b'. Every level must be declared at fit: "
        "list them with categories=."
    )
    assert refusal(pd.Series(["z"]), levels=["a", "b"]).endswith(
        "Every level must be declared at fit: give the whole table a categorical dtype before it "
        "is split, X = X.astype('category'), or list them with categories=."
    )
    with pytest.raises(ValueError, match=r"0, 1, 2, 3, 4, 5 and 94 more\.") as caught:
        apply_column([500], "c", np.arange(100))
    assert "levels: 500, in 1 row(s)" in str(caught.value)
    with pytest.raises(ValueError, match=r"levels: 1\.5, in"):
        apply_column([1.5], "c", np.array([1, 2]))
    with pytest.raises(ValueError) as caught:
        apply_column(["x" * 1000], "c", np.array(["a"]))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(("values", "levels", "sentence"), [
    (["1"], np.array([1]), "text in the column, numbers in the levels"),
    ([1], np.array(["1"]), "numbers in the column, text in the levels"),
    ([True], np.array([1]), "truth values in the column, numbers in the levels"),
    ([1], np.array([True]), "numbers in the column, truth values in the levels"),
    ([datetime.date(2020, 1, 1)], np.array(["a"]), "date in the column, text in the levels"),
])
def test_types_are_not_converted(values, levels, sentence):
    with pytest.raises(ValueError) as caught:
        apply_column(values, "c", levels)
    assert f"The types differ: {sentence}." in str(caught.value)


def test_values_match_across_dtypes():
    levels = np.array([1, 2], dtype=np.int8)
    for values in ([2, 1], [2.0, 1.0], np.array([2, 1], np.uint64), pd.Series([2, 1], dtype=object),
                   pd.Series([2, 1], dtype="category"), pl.Series([2.0, 1.0]), [Decimal(2), 1],
                   pd.Series([2, 1], dtype="Int64"), pa.chunked_array([[2, 1]])):
        assert apply_column(values, "c", levels).tolist() == [1, 0]
        wide = np.array([1.0, 2.0])
        assert apply_column(values, "c", wide).tolist() == [1, 0]


def test_fractions_are_compared_at_the_narrower_precision():
    narrow, wide = np.array([0.1, 0.7], dtype=np.float32), np.array([0.1, 0.7])
    assert positions_among(narrow, wide).tolist() == [0, 1]
    assert positions_among(wide, narrow).tolist() == [0, 1]
    close = np.array([0.1, 0.1 + 1e-12])
    assert positions_among(close, close).tolist() == [0, 1]
    # Levels that the narrower type would merge, and whole numbers, are compared exactly.
    assert positions_among(narrow, close).tolist() == [-1, -1]
    whole = np.array([16777217.0, 16777216.0])
    assert positions_among(whole, whole.astype(np.float32)[1:]).tolist() == [-1, 0]
    assert positions_among(np.array([1e300]), narrow).tolist() == [-1]


# Rows that are dropped.


@pytest.mark.parametrize("maker", [list, lambda v: np.array(v, dtype=object),
                                   lambda v: pd.Series(v, dtype=object)])
def test_dropped_rows_are_not_read(maker):
    values = maker(["a", 1, None, "b"])
    codes, levels = learn_column(values, "c", rows=np.array([True, False, False, True]))
    assert (codes.tolist(), levels.tolist()) == ([0, 1], ["a", "b"])
    with pytest.raises(ValueError, match="the first in row 2"):
        learn_column(values, "c", rows=np.array([True, False, True, True]))
    with pytest.raises(ValueError, match="the first in row 3"):
        learn_column(values, "c", ["a"], rows=np.array([True, False, False, True]))


def test_dropped_rows_take_their_levels_along():
    kept = np.array([True, False, True])
    for column in (np.array([1, 2, 3]), pd.Series([1, 2, 3], index=[9, 9, 9]),
                   pl.Series([1, 2, 3]), pa.chunked_array([[1], [2, 3]])):
        assert learn_column(column, "c", rows=kept)[1].tolist() == [1, 3]
    declared = pd.Series(["a", "b", "c"], dtype="category")
    assert learn_column(declared, "c", rows=kept)[1].tolist() == ["a", "b", "c"]


def test_a_column_vector_is_flattened_with_scikit_learns_warning():
    with pytest.warns(UserWarning, match="column-vector"):
        codes, _ = learn_column(np.array([[1], [0]]), "y")
    assert codes.tolist() == [1, 0]
