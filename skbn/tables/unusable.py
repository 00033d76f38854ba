"""The refusal of columns: all that cannot be read as levels, and what to do about them."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from skbn.messages import brief, cut, first_few

# Letters of what was found in one column, and of a message but for its last sentence.
_LONGEST_FOUND, _LONGEST_MESSAGE = 400, 1800
_MOST_NAMED = 6
_MISSING, _CLASSES = "missing cells", "missing classes"
_GAPS = " missing value(s) (NaN, None or null)"
_BINS = 'KBinsDiscretizer(encode="ordinal")'
_IF_LEVELS = "if its values really are levels, say so with a categorical dtype or categories=."
_PART = "Keep what of it comes again, such as the {}[example], or bin it into a categorical dtype."
_FIELDS = "Give each {} a column of its own[example], or convert it to text."

# What can be done about a kind of column, or about a case of it, which follows a comma.
_CURES = {
    "real values": f"Cut it into bins with {_BINS}; {_IF_LEVELS}",
    "real values, some missing":
        f"Cut it into bins with {_BINS} or, since cells are missing, [code]; {_IF_LEVELS}",
    "infinity": "Infinity is no level: correct those cells or bin the column.",
    "infinity, declared": "Remove it from them, or bin the column.",
    "dates": _PART.format("month"),
    "times of day": _PART.format("hour"),
    "durations": f"Count a unit[example], and cut the counts into bins with {_BINS}.",
    "bytes": "Decode it to text[example].",
    "lists": _FIELDS.format("possible entry"),
    "records": _FIELDS.format("field"),
    "mixed types": "Convert it to one type[example].",
    "mixed types, truth values": "Convert it to one type[example].",
    "other types":
        "Make levels of it first: convert it to text, or bin it into a categorical dtype.",
    "other types, sparse": "Densify it first, in pandas with X.sparse.to_dense().",
}
_AS_TEXT = {
    "polars": "{x}.cast(polars.String).fill_null('missing')",
    "pyarrow": "{x}.cast('string').fill_null('missing')",
}
_BINARIZED = "sklearn.preprocessing.MultiLabelBinarizer().fit_transform({x})"
_QUARTERS = "numpy.digitize({x}, numpy.nanquantile({x}, [0.25, 0.5, 0.75]))"
_QCUT = "pandas.qcut({x}, 4, duplicates='drop').cat.rename_categories(str)"
# The quantiles of polars were renamed between versions, its ranks were not.
_RANKED = "(({x}.fill_nan(None).rank('min') - 1) * 4 // {x}.fill_nan(None).count())"
_AS_REAL = ", since the other values are real"
# The same in the words of a library, where it has them; {x} is the column.
_CODE = {
    "missing cells, declared": {
        "pandas": "{x}.cat.add_categories('missing').fillna('missing')", **_AS_TEXT,
    },
    "missing cells, whole": {
        "pandas": "{x}.astype('string').fillna('missing')", **_AS_TEXT,
        "numpy": "numpy.nan_to_num({x}, nan=-1)",
    },
    # As text every measurement would be a level.
    "missing cells, real": {
        "pandas": f"{_QCUT}.cat.add_categories('missing').fillna('missing'){_AS_REAL}",
        "polars": f"{_RANKED}.cast(polars.String).fill_null('missing'){_AS_REAL}",
        "numpy": f"numpy.where(numpy.isnan({{x}}), -1, {_QUARTERS}){_AS_REAL}",
    },
    _CLASSES: {
        "pandas": "X[y.notna()] and y[y.notna()]",
        "polars": "X.filter(y.is_not_null()) and y.drop_nulls()",
        "pyarrow": "X.filter(y.is_valid()) and y.drop_null()",
    },
    "real values, some missing": {
        "pandas": _QCUT,
        "polars": _RANKED,
        "numpy": f"numpy.where(numpy.isnan({{x}}), numpy.nan, {_QUARTERS})",
    },
    "dates": {
        "pandas": "{x}.dt.month", "polars": "{x}.dt.month()",
        "pyarrow": "pyarrow.compute.month({x})",
        "numpy": "{x}.astype('datetime64[M]').astype(int) % 12 + 1",
    },
    "times of day": {"polars": "{x}.dt.hour()", "pyarrow": "pyarrow.compute.hour({x})"},
    "durations": {
        "pandas": "{x}.dt.days", "polars": "{x}.dt.total_days()", "pyarrow": "{x}.cast('int64')",
        "numpy": "{x}.astype('timedelta64[D]').astype(int)",
    },
    "bytes": {
        "pandas": "{x}.map(bytes.decode)", "polars": "{x}.cast(polars.String)",
        "pyarrow": "{x}.cast('string')", "numpy": "numpy.char.decode({x})",
        "objects": "numpy.char.decode({x}.astype(bytes))",
    },
    "lists": {
        "pandas": _BINARIZED, "polars": _BINARIZED, "objects": _BINARIZED,
        "pyarrow": _BINARIZED.replace("{x}", "{x}.to_pylist()"),
    },
    "records": {
        "pandas": "pandas.json_normalize({x})", "polars": "{x}.struct.unnest()",
        "pyarrow": "X.flatten()",
    },
    "mixed types": {
        "pandas": ".astype(str)", "objects": ".astype(str)",
        "polars": "{x}.map_elements(str, return_dtype=polars.String)",
    },
    "mixed types, truth values": {
        "pandas": ".astype(str) or .astype(int)", "objects": ".astype(str) or .astype(int)",
        "polars": "{x}.map_elements(str, return_dtype=polars.String)",
    },
}


class Unusable(NamedTuple):
    """A column that cannot be read.

    Attributes
    ----------
    label : hashable
        What it is called.
    what : str
        A kind of column, and after a comma the case that it is.
    found : str
        What was found, as it goes on from "Column 'age' ".
    library : {"pandas", "polars", "pyarrow", "numpy", "objects"}
        Whose column it is; numpy's own types are told from Python's objects in arrays and lists.
    is_target : bool
        Whether it is y, and no column of X.
    """

    label: Any
    what: str
    found: str
    library: str
    is_target: bool = False

    @property
    def kind(self) -> str:
        return self.what.partition(",")[0]

    def of_y(self, is_class: bool) -> "Unusable":
        """The same as y, whose missing cells can be no level if it is a classifier's."""
        what = _CLASSES if is_class and self.kind == _MISSING else self.what
        return self._replace(what=what, is_target=True)

    @property
    def template(self) -> str:
        """What can be done in the words of the column's library, {x} in place of the column."""
        return _CODE.get(self.what, {}).get(self.library, "")

    @property
    def code(self) -> str:
        """What can be done in the words of the column's library, if it has them."""
        name = f"X[{brief(self.label)}]"
        if self.is_target:
            name = "y"
        elif self._is_array:
            place = re.fullmatch(r"x(\d+)", str(self.label))
            name = f"X[:, {place[1]}]" if place else "X"
        return self.template.replace("{x}", name)

    @property
    def cure(self) -> str:
        """What can be done, as a sentence."""
        cure = _CURES[self.what].replace("[code]", f"with {self.code}" if self.code else "by hand")
        cure = cure.replace("[example]", _example(self.code))
        # Arrays have no such dtypes.
        return cure.replace(" a categorical dtype or", "") if self._is_array else cure

    @property
    def _is_array(self) -> bool:
        return self.library in ("numpy", "objects")


class UnusableColumnsError(ValueError, TypeError):
    """Columns of a table cannot be read as levels.

    The message names the first few, with a cure for each kind; the attribute has them all. As types
    are what is wrong with some columns, it is a TypeError too.

    Parameters
    ----------
    found : sequence of Unusable
        One for each column.

    Attributes
    ----------
    columns : dict
        What each of these columns holds, by name: "missing cells", "missing classes" (of a
        classifier's y), "real values", "infinity", "dates", "times of day", "durations", "bytes",
        "lists", "records", "mixed types" or "other types".

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator, UnusableColumnsError
    >>> try:
    ...     BayesNetStructureEstimator().fit([["u", 0.25, None], ["v", 1.5, "w"]])
    ... except UnusableColumnsError as error:
    ...     print(error.columns)
    {'x1': 'real values', 'x2': 'missing cells'}
    """

    def __init__(self, found: Sequence[Unusable]) -> None:
        self.found = list(found)
        self.columns = {column.label: column.kind for column in self.found}
        super().__init__(_message(self.found))

    def __reduce__(self):
        # Errors are sent from other processes with what they were made of.
        return UnusableColumnsError, (self.found,)


def _message(columns: list[Unusable]) -> str:
    """A paragraph for each kind and case, as many as there is room for."""
    groups: dict[str, list[Unusable]] = {}
    for column in columns:
        has_gaps = column.kind in (_MISSING, _CLASSES)
        groups.setdefault(_MISSING if has_gaps else column.what, []).append(column)
    message, named = "", 0
    for what, group in groups.items():
        told = _tell_gaps(group) if what == _MISSING else _tell(group)
        if not message or len(message) + len(told) < _LONGEST_MESSAGE:
            message += "\n" * bool(message) + told
            named += min(len(group), _MOST_NAMED)
    if named < len(columns):
        message += f"\nThe attribute `columns` of this error has all {len(columns):,} of them."
    return message


def _tell(group: list[Unusable]) -> str:
    """What is wrong with columns for one reason."""
    first, *others = group
    told = f"Column {brief(first.label)} {cut(first.found, _LONGEST_FOUND)} {first.cure}"
    if others:
        labels = [column.label for column in others]
        told += f" The same goes for {first_few(labels, _MOST_NAMED - 1)}."
    return told


def _tell_gaps(group: list[Unusable]) -> str:
    """What is wrong with columns that have missing cells."""
    found = ", ".join(
        f"{'column' if place else 'Column'} {brief(column.label)} "
        + (column.found.replace(_GAPS, "") if place else column.found)
        for place, column in enumerate(group[:_MOST_NAMED])
    )
    more = len(group) - _MOST_NAMED
    told = f", and {more:,} more columns have some." if more > 0 else "."
    advice = [f"{found} (counted from 0){told}"]
    # A line of each case is enough: the same is done to the other columns.
    cases: dict[str, str] = {}
    for column in group:
        if column.kind == _MISSING:
            cases.setdefault(column.template, column.code)
    of_class = next((column for column in group if column.kind == _CLASSES), None)
    if cases:
        code = "; ".join(filter(None, cases.values()))
        advice.append(
            f"Fill {'them' if of_class is None else 'those of X'}, drop their rows, or make them a "
            "category of their own: with handle_missing='category' in the estimators, or in the "
            f"table{_example(code)}."
        )
    if of_class is not None:
        cure = f", {of_class.code}" if of_class.code else ""
        advice.append(f"A class must be known: leave out the rows without one{cure}.")
    return " ".join(advice)


def _example(code: str) -> str:
    return f", for example with {code}" if code else ""


def gaps_found(count: int, first: int) -> str:
    """What missing cells are as what was found, of which the first is in that row."""
    return f"has {count}{_GAPS}, the first in row {first}"
