"""Random tables, weights and constraints for the fuzzer, legal ones and others.

Everything that is drawn wrong on purpose leaves a word in ``flaws``: a case without flaws must
give a result, a case with one that starts with "!" must be refused, and in between both are right.
"""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

TEXT = ["", "a", "b", "nan", "None", "ä", "a\0b", "0", "1", "True", " x ", "long" * 20,
        "\N{SNOWMAN}"]


def pool_of(rng, r, kind):
    """r values, ascending, of one kind."""
    if kind == "small":
        return list(range(r))
    if kind == "sparse":
        return sorted(rng.choice(np.arange(-1000, 1000), r, replace=False).tolist())
    if kind == "large":
        return [2**63 - 1 - k for k in range(r)][::-1]
    if kind == "text":
        return sorted({*TEXT[:r], *(f"s{k}" for k in range(r - len(TEXT)))})
    if kind == "bool":
        return [False, True][:r]
    if kind == "date":
        return [datetime.date(2020, 1, 1) + datetime.timedelta(days=k) for k in range(r)]
    if kind == "decimal":
        return [decimal.Decimal(k) for k in range(r)]
    if kind == "fraction":
        return [fractions.Fraction(k) for k in range(r)]
    if kind == "real":
        return [k / 4 for k in range(r)]
    raise AssertionError(kind)


def draw_codes(rng, n_rows, n_columns, largest):
    """Codes (n_rows, n_columns) of dependent columns and how many states each has."""
    sizes = np.minimum(rng.geometric(0.4, n_columns), largest)
    if rng.random() < 0.3:
        sizes[rng.integers(n_columns)] = rng.integers(1, largest + 1)
    codes = np.empty((n_rows, n_columns), dtype=np.int64)
    for j, r in enumerate(sizes):
        codes[:, j] = rng.integers(0, r, n_rows)
        if rng.random() < 0.3:
            codes[:, j] = np.minimum(codes[:, j], rng.integers(0, r, n_rows))
        if j and rng.random() < 0.7:
            copied = rng.random(n_rows) < rng.random()
            codes[copied, j] = codes[copied, rng.integers(0, j)] % r
    if n_columns > 1 and rng.random() < 0.1:
        codes[:, -1], sizes[-1] = codes[:, 0], sizes[0]
    if rng.random() < 0.1 and n_rows <= 1000:
        # Names of rows, or a measurement in whole numbers.
        j = rng.integers(n_columns)
        sizes[j] = n_rows if rng.random() < 0.5 else min(n_rows, 60)
        codes[:, j] = rng.permutation(np.arange(n_rows) % sizes[j])
    return codes, sizes.tolist()


class Dress:
    """A way to write codes as a table: the kind of table, and values and dtype of each column."""

    FAMILIES = ("array", "text array", "object array", "lists", "pandas", "polars", "pyarrow")

    def __init__(self, rng, sizes):
        self.family = str(rng.choice(self.FAMILIES))
        n = len(sizes)
        self.names = None
        if self.family in ("pandas", "polars", "pyarrow"):
            self.names = [f"c{j}" for j in rng.permutation(n)]
            if self.family == "pandas":
                style = rng.integers(6)
                if style == 0:
                    self.names = list(range(10, 10 + n))
                elif style == 1:
                    self.names = [("a", j) for j in range(n)]
        kinds = ["small", "sparse", "text"]
        if self.family == "array":
            self.dtype = rng.choice(["int8", "int16", "uint8", "int64", "uint64", "float32",
                                     "float64", "bool"])
            most = max(sizes)
            limit = {"bool": 2, "int8": 127, "uint8": 255}
            if most > limit.get(str(self.dtype), most):
                self.dtype = "int64"
            kind = {"int64": "sparse", "uint64": "large", "bool": "bool"}.get(
                str(self.dtype), "small")
            self.kinds = [kind] * n
        elif self.family == "text array":
            self.kinds = ["text"] * n
        elif self.family in ("object array", "lists"):
            self.kinds = [
                str(rng.choice([*kinds, "large", "date", "decimal", "fraction", "bool"]))
                for _ in sizes
            ]
        else:
            self.kinds = [str(rng.choice([*kinds, "bool", "real"])) for _ in sizes]
        for j, r in enumerate(sizes):
            if self.kinds[j] == "bool" and r > 2:
                self.kinds[j] = "small"
        self.pools = [pool_of(rng, r, kind) for r, kind in zip(sizes, self.kinds, strict=True)]
        if self.family == "text array":
            # numpy strips zeros at the end of fixed-width text only, and keeps those inside.
            self.pools = [sorted(str(value) for value in pool) for pool in self.pools]
        self.styles = [self._style(rng, j) for j in range(n)]
        # Which dtypes declare levels that need not be seen.
        self.declares = [style in ("category", "ordered", "enum") for style in self.styles]
        self.backwards = rng.random() < 0.3
        # One level more than there are codes, in an order of its own.
        self.declared = [list(rng.permutation(len(pool))) for pool in self.pools]

    def _style(self, rng, j):
        kind = self.kinds[j]
        if self.family == "pandas":
            choices = ["category", "ordered"]
            choices += {
                "small": ["int64", "int16", "float64", "Int64", "object"],
                "sparse": ["int64", "Float64", "object", "int64[pyarrow]"],
                "text": ["object", "string"],
                "bool": ["bool", "boolean", "object"],
                "real": [],
            }[kind]
            return str(rng.choice(choices))
        if self.family == "polars":
            choices = {"small": ["Int64", "UInt16", "Float64"], "sparse": ["Int64"],
                       "text": ["String", "Categorical", "enum"], "bool": ["Boolean"],
                       "real": ["text enum"]}[kind]
            return str(rng.choice(choices))
        if self.family == "pyarrow":
            choices = {"small": ["int64", "float64"], "sparse": ["int64"],
                       "text": ["string", "dictionary"], "bool": ["bool"],
                       "real": ["real dictionary"]}[kind]
            return str(rng.choice(choices))
        return "plain"

    def values(self, codes, j):
        """The values of one column, as Python has them."""
        pool = self.pools[j]
        return [pool[code] for code in codes[:, j].tolist()]

    def table(self, codes):
        """The codes in this dress."""
        n_rows, n = codes.shape
        columns = [self.values(codes, j) for j in range(n)]
        if self.family == "array":
            array = np.empty((n_rows, n), dtype=self.dtype)
            for j, column in enumerate(columns):
                array[:, j] = column
            return array
        if self.family == "text array":
            return np.array(columns, dtype=str).T.copy() if n_rows else np.empty((0, n), dtype=str)
        if self.family == "object array":
            array = np.empty((n_rows, n), dtype=object)
            for j, column in enumerate(columns):
                for t, value in enumerate(column):
                    array[t, j] = value
            return array
        if self.family == "lists":
            return [list(row) for row in zip(*columns, strict=True)]
        make = {"pandas": self._pandas, "polars": self._polars, "pyarrow": self._pyarrow}
        return make[self.family](columns, n_rows)

    def _levels(self, j):
        return [self.pools[j][k] for k in self.declared[j]]

    def _pandas(self, columns, n_rows):
        series = {}
        for j, (column, style) in enumerate(zip(columns, self.styles, strict=True)):
            if style in ("category", "ordered"):
                dtype = pd.CategoricalDtype(self._levels(j), ordered=style == "ordered")
                made = pd.Series(pd.Categorical(column, dtype=dtype))
            else:
                made = pd.Series(column, dtype=style)
            series[j] = made
        frame = pd.DataFrame(series, index=range(n_rows))
        frame.columns = pd.Index(self.names, tupleize_cols=False)
        # Rows are told apart by their places, whatever they are called.
        return frame.set_axis(range(n_rows)[::-1]) if self.backwards else frame

    def _polars(self, columns, n_rows):
        series = []
        for j, (column, style) in enumerate(zip(columns, self.styles, strict=True)):
            if style == "enum":
                dtype = pl.Enum(self._levels(j))
            elif style == "text enum":
                column, dtype = list(map(str, column)), pl.Enum(list(map(str, self._levels(j))))
            else:
                dtype = getattr(pl, style)
            series.append(pl.Series(self.names[j], column, dtype=dtype))
        return pl.DataFrame(series)

    def _pyarrow(self, columns, n_rows):
        arrays = []
        for column, style in zip(columns, self.styles, strict=True):
            if style.endswith("dictionary"):
                made = pa.array(list(map(str, column)), pa.string()).dictionary_encode()
            else:
                made = pa.array(column, getattr(pa, style.replace("bool", "bool_"))())
            arrays.append(made)
        return pa.table(dict(zip(self.names, arrays, strict=True)))

    def labels(self):
        """Names of the columns in the estimators' words."""
        return self.names or [f"x{j}" for j in range(len(self.pools))]


def take_rows(X, rows):
    """The rows of a table, in the same dress."""
    if isinstance(X, list):
        return [X[t] for t in rows]
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    if isinstance(X, pa.Table):
        return X.take(pa.array(rows))
    return X[rows]


def spoiled_table(rng, codes, names):
    """A table that is none, or must not be read, and what is wrong with it."""
    n_rows, n = codes.shape
    frame = pd.DataFrame(codes, columns=names).astype(object)
    row, column = int(rng.integers(n_rows)), int(rng.integers(n))
    what = str(rng.choice([
        "missing", "None", "NA", "inf", "real", "mixed", "dates", "complex", "flat", "deep",
        "no rows", "no columns", "repeated label", "mixed labels", "lists", "nothing", "text",
        "number", "bytes", "sparse", "masked", "truth", "ragged", "dict",
    ]))
    if what in ("missing", "None", "NA"):
        frame.iloc[row, column] = {"missing": np.nan, "None": None, "NA": pd.NA}[what]
        return frame, "?missing"
    if what == "inf":
        floats = codes.astype(float)
        floats[row, column] = -np.inf
        return floats, "!inf"
    if what == "real":
        frame.iloc[row, column] = 0.5
        return frame, "!real"
    if what == "mixed":
        frame.iloc[row, column] = "one"
        return frame, "!mixed" if n_rows > 1 else "?mixed"
    if what == "truth":
        frame.iloc[row, column] = True
        return frame, "!truth" if n_rows > 1 else "?truth"
    if what == "dates":
        frame[frame.columns[column]] = pd.date_range("2020", periods=n_rows)
        return frame, "!dates"
    if what == "lists":
        frame.iat[row, column] = [1, 2]
        return frame, "!lists"
    if what == "bytes":
        frame.iat[row, column] = b"x"
        return frame, "!bytes"
    if what == "repeated label" and n > 1:
        frame.columns = [names[0]] * n
        return frame, "!labels"
    if what == "mixed labels" and n > 1:
        frame.columns = [1, *("b" * k for k in range(1, n))]
        return frame, "!mixed labels"
    if what == "ragged":
        return [[0], [0, 1]], "!ragged"
    if what == "dict":
        return {"a": [1, 2], "b": [3, 4]}, "!dict"
    if what == "masked":
        mask = np.zeros(codes.shape, dtype=bool)
        mask[row, column] = True
        return np.ma.array(codes, mask=mask), "!masked"
    if what == "sparse":
        from scipy import sparse

        return sparse.csr_array(codes), "!sparse"
    return {
        "complex": (codes * 1j, "!complex"), "flat": (codes[:, 0], "!flat"),
        "deep": (codes[None], "!deep"), "no rows": (codes[:0], "!no rows"),
        "no columns": (codes[:, :0], "!no columns"), "nothing": (None, "!nothing"),
        "text": ("table", "!text"), "number": (3, "!number"),
    }.get(what, (frame.iloc[:, :0], "!no columns"))


def draw_weights(rng, n_rows):
    """Weights of the rows, and what is wrong with them."""
    kind = str(rng.choice([
        "none", "none", "none", "ones", "whole", "fractional", "tiny", "large", "huge", "series",
        "list", "shares", "shares", "zero", "negative", "nan", "inf", "short", "text", "square",
        "over",
    ]))
    whole = rng.integers(0, 4, n_rows).astype(float)
    whole[rng.integers(n_rows)] += 1
    if kind == "none":
        return None, None
    if kind == "ones":
        return np.ones(n_rows, dtype=np.int32), None
    if kind in ("whole", "series", "list"):
        made = {"whole": whole, "series": pd.Series(whole), "list": whole.tolist()}
        return made[kind], None
    fractional = whole * rng.uniform(0.1, 2.0, n_rows)
    if kind == "shares":
        return fractional / fractional.sum() * rng.choice([0.7, 1.0, 1.0, 1.5]), None
    scales = {"fractional": 1.0, "tiny": 1e-300, "large": 2.0**31, "huge": 1e290}
    if kind == "fractional":
        return fractional, None
    if kind in scales:
        return whole * scales[kind], None
    spoiled = whole.copy()
    place = rng.integers(n_rows)
    if kind == "zero":
        return np.zeros(n_rows), "!weights"
    if kind in ("negative", "nan", "inf", "over"):
        spoiled[place] = {"negative": -1.0, "nan": np.nan, "inf": np.inf, "over": 1e305}[kind]
        return spoiled, "!weights"
    return {
        "short": whole[:-1], "text": np.array(["w"] * n_rows), "square": np.ones((n_rows, 2)),
    }[kind], "!weights"
