"""A network asked by name: the sprinkler network, whose joint distribution fits on a page."""

import io
import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv as pacsv

from skbn import BayesNetStructureEstimator, read_bif
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.network import BayesianNetwork
from skbn.networks.probability_table import Posterior

NAMES = ["rain", "sprinkler", "wet", "month"]
STATES = [
    np.array(["no", "yes"], dtype=object),
    np.array(["off", "on"], dtype=object),
    np.array([False, True]),
    np.array([1, 2, 3]),
]
# P(month), P(rain | month), P(sprinkler | rain), P(wet | rain, sprinkler), first states.
MONTH = [0.5, 0.3, 0.2]
NO_RAIN = {1: 0.9, 2: 0.6, 3: 0.3}
OFF = {"no": 0.6, "yes": 1.0}
DRY = {("no", "off"): 1.0, ("no", "on"): 0.1, ("yes", "off"): 0.2, ("yes", "on"): 0.01}


def probability(row):
    """P(row), by the definition."""
    rain, sprinkler, wet, month = row
    p = MONTH[month - 1]
    p *= NO_RAIN[month] if rain == "no" else 1 - NO_RAIN[month]
    p *= OFF[rain] if sprinkler == "off" else 1 - OFF[rain]
    return p * (1 - DRY[rain, sprinkler] if wet else DRY[rain, sprinkler])


ROWS = {row: probability(row) for row in itertools.product(*(s.tolist() for s in STATES))}


def table(child, parents, sizes, first):
    """A binary table from the probabilities of its first state."""
    states = np.array(list(itertools.product(*map(range, sizes))), dtype=np.uint8)
    p = np.array(first)
    with np.errstate(divide="ignore"):
        log_p = np.log(np.column_stack([p, 1 - p]))
    configurations = states.reshape(len(p), len(sizes))
    return ConditionalTable.from_rows(child, parents, 2, sizes, configurations, log_p)


NETWORK = BayesianNetwork(NAMES, STATES, [
    table(0, (3,), (3,), list(NO_RAIN.values())),
    table(1, (0,), (2,), list(OFF.values())),
    table(2, (0, 1), (2, 2), list(DRY.values())),
    ConditionalTable.from_rows(3, (), 3, (), np.zeros((1, 0), dtype=np.uint8), np.log([MONTH])),
])


def fits(row, evidence):
    return all(row[NAMES.index(name)] == state for name, state in evidence.items())


def prob(evidence):
    return math.fsum(p for row, p in ROWS.items() if fits(row, evidence))


EVIDENCE = [
    {},
    {"wet": True},
    {"rain": "no", "wet": True},
    {"month": 3},
    {"month": 2, "sprinkler": "on"},
    {"rain": "yes", "sprinkler": "off", "wet": False, "month": 1},
]


@pytest.mark.parametrize("evidence", EVIDENCE, ids=repr)
def test_log_prob_and_posterior_by_name(evidence):
    got = NETWORK.log_prob(evidence)
    assert isinstance(got, float)
    assert got == pytest.approx(math.log(prob(evidence)), rel=1e-12)
    others = [name for name in NAMES if name not in evidence]
    for size in range(1, len(others) + 1):
        for columns in itertools.permutations(others, size):
            answer = NETWORK.posterior(columns, evidence)
            assert answer.columns == columns
            assert answer.evidence == evidence
            states = [STATES[NAMES.index(c)].tolist() for c in columns]
            assert [s.tolist() for s in answer.states] == states
            assert answer.probabilities.shape == tuple(map(len, states))
            assert answer.probabilities.sum() == pytest.approx(1, rel=1e-12)
            for place in itertools.product(*states):
                p = prob({**evidence, **dict(zip(columns, place, strict=True))}) / prob(evidence)
                assert answer[place if size > 1 else place[0]] == pytest.approx(
                    p, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("evidence", EVIDENCE, ids=repr)
def test_the_most_probable_completion(evidence):
    completed = NETWORK.most_probable(evidence)
    assert list(completed) == NAMES
    row = tuple(completed.values())
    assert fits(row, evidence)
    assert ROWS[row] == max(p for row, p in ROWS.items() if fits(row, evidence))
    assert [type(state) for state in row] == [str, str, bool, int]


@pytest.mark.parametrize("evidence", EVIDENCE, ids=repr)
def test_draws_given_evidence(evidence):
    n = 20_000
    draws = NETWORK.sample(n, evidence, random_state=0)
    assert list(draws) == NAMES
    assert all(column.shape == (n,) for column in draws.values())
    assert [c.dtype for c in draws.values()] == [s.dtype for s in STATES]
    frame = pd.DataFrame(draws)
    counts = frame.groupby(NAMES).size()
    assert sum(counts) == n
    for row, count in counts.items():
        assert fits(row, evidence)
        p = ROWS[row] / prob(evidence)
        assert abs(count - n * p) < 5 * math.sqrt(n * p) + 1
    again = NETWORK.sample(n, evidence, random_state=0)
    assert all((draws[name] == again[name]).all() for name in NAMES)


TABLE = pd.DataFrame({
    "month": [3, np.nan, 1, 2, np.nan],
    "wet": [True, None, False, None, None],
    "rain": ["yes", "no", None, None, None],
})


def rows_of(frame):
    for _, row in frame.iterrows():
        yield {name: state for name, state in row.items() if not pd.isna(state)}


@pytest.mark.parametrize("make", [
    lambda t: t,
    lambda t: t[["rain", "wet", "month"]],
    lambda t: t.convert_dtypes(),
    lambda t: t.astype("category"),
    pl.from_pandas,
    pa.Table.from_pandas,
    lambda t: {name: t[name].tolist() for name in t},
    lambda t: {name: t[name].to_numpy() for name in t},
    lambda t: t.assign(sprinkler=None)[NAMES].to_numpy(),
    lambda t: t.assign(sprinkler=None)[NAMES].to_numpy().tolist(),
], ids=["frame", "order", "nullable", "category", "polars", "pyarrow", "lists", "arrays", "array",
        "nested"])
def test_tables_with_gaps_in_every_form(make):
    rows = list(rows_of(TABLE))
    came = make(TABLE)
    np.testing.assert_allclose(
        NETWORK.log_prob(came), [math.log(prob(row)) for row in rows], rtol=1e-12)
    answer = NETWORK.posterior("sprinkler", came)
    assert answer.evidence is None
    expected = [prob({**row, "sprinkler": "on"}) / prob(row) for row in rows]
    np.testing.assert_allclose(answer["on"], expected, rtol=1e-12)
    joint = NETWORK.posterior(["sprinkler", "wet"], came).probabilities
    assert joint.shape == (5, 2, 2)
    given = [{name: state for name, state in row.items() if name != "wet"} for row in rows]
    np.testing.assert_allclose(
        joint[:, 1, 0],
        [prob({**row, "sprinkler": "on", "wet": False}) / prob(row) for row in given],
        rtol=1e-12,
    )
    # Imputation: the same kind of table, and each row as its dictionary is completed.
    filled = NETWORK.most_probable(came)
    assert type(filled) is (np.ndarray if isinstance(came, list) else type(came))
    frame = (
        pd.DataFrame(filled, columns=NAMES) if isinstance(filled, np.ndarray)
        else filled.to_pandas() if hasattr(filled, "to_pandas") else pd.DataFrame(filled)
    )
    if hasattr(came, "columns"):
        assert list(frame.columns) == list(getattr(came, "column_names", came.columns))
    for row, (_, got) in zip(rows, frame.iterrows(), strict=True):
        best = NETWORK.most_probable(row)
        assert {name: best[name] for name in frame.columns} == got.to_dict()


def test_imputation_keeps_the_index_and_the_dtypes_of_a_frame():
    came = TABLE.convert_dtypes().set_index(pd.Index(list("vwxyz"), name="key"))
    filled = NETWORK.most_probable(came)
    assert filled.index.equals(came.index)
    assert filled.dtypes.equals(came.dtypes)
    assert not filled.isna().any(axis=None)
    assert (filled[came.notna()] == came)[came.notna()].all(axis=None)
    # A row of a frame is one row.
    row = pd.Series({"rain": "no", "wet": True})
    assert NETWORK.most_probable(row)["sprinkler"] == "on"


def test_unknown_cells_of_a_dictionary_are_not_evidence():
    for missing in (None, np.nan, pd.NA, pd.NaT):
        assert NETWORK.log_prob({"rain": missing}) == 0.0
        assert NETWORK.posterior("wet", {"rain": missing}).evidence == {}


def test_missing_is_a_state_where_it_is_a_level():
    X = pd.DataFrame({"a": ["u", None, "v", None] * 10, "b": [0, 1, 0, 1] * 10})
    network = BayesNetStructureEstimator(handle_missing="category").fit(X).network_
    answer = network.posterior("b", {"a": None})
    assert answer.evidence == {"a": None}
    assert answer[1] > 0.9
    assert network.posterior("a", {"b": 1})[None] > 0.9
    assert network.most_probable({"b": 1}) == {"a": None, "b": 1}
    np.testing.assert_allclose(
        network.log_prob(X),
        network.log_prob_codes(np.tile(np.array([[0, 2, 1, 2], [0, 1, 0, 1]], np.uint8), 10)),
    )
    # A column that is left out is not known, whatever its levels.
    assert network.log_prob(X[["b"]])[0] == pytest.approx(math.log(0.5))


# What is printed.


def test_answers_are_printed_with_the_names_of_states():
    assert str(NETWORK.posterior("wet", {"rain": "no", "month": 3})) == (
        "P(wet | rain=no, month=3)\n"
        " False    True\n"
        "0.6400  0.3600"
    )
    assert repr(NETWORK.posterior(["rain", "sprinkler"])) == (
        "P(rain, sprinkler)\n"
        "rain     off      on\n"
        "no    0.4140  0.2760\n"
        "yes   0.3100  0.0000"
    )
    assert str(NETWORK.posterior(["rain"], TABLE)).splitlines()[:3] == [
        "P(rain | rows of a table)", "row      no     yes", "0    0.1617  0.8383",
    ]


def test_frames_of_answers():
    frame = NETWORK.posterior("wet", {"rain": "no"}).to_frame()
    assert frame.columns.tolist() == [False, True]
    assert frame.columns.name == "wet"
    assert frame.shape == (1, 2)
    frame = NETWORK.posterior(["rain", "month", "wet"]).to_frame()
    assert frame.index.names == ["rain", "month"]
    assert frame.loc[("yes", 3), True] == pytest.approx(prob({"rain": "yes", "month": 3,
                                                              "wet": True}))
    frame = NETWORK.posterior(["rain", "wet"], TABLE).to_frame()
    assert frame.index.names == ["row", "rain"]
    assert frame.shape == (10, 2)
    assert NETWORK.posterior("rain", TABLE).to_frame().index.tolist() == list(range(5))


INDEXES = {
    "numbers": pd.Index([3, 1, 0, 4, 2]),
    "repeated": pd.Index(list("vvwvw"), name="key"),
    "dates": pd.date_range("2020-01-01", periods=5, name="day"),
    "two levels": pd.MultiIndex.from_product([["u"], list("vwxyz")], names=["site", None]),
    "tuples": pd.Index([("u", k) for k in range(5)], tupleize_cols=False),
    "a gap": pd.Index([None, "w", "x", "y", "z"]),
}


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_answers_keep_the_index_of_a_frame(index):
    came = TABLE.set_index(index)
    one = NETWORK.posterior("rain", came)
    pd.testing.assert_index_equal(one.to_frame().index, index)
    pd.testing.assert_index_equal(NETWORK.most_probable(came).index, index)
    two = NETWORK.posterior(["rain", "wet"], came)
    frame = two.to_frame()
    assert frame.index.names[-1] == "rain"
    names = frame.index.names[:-1]
    assert names == (["row"] if index.names == [None] else index.names)
    # Each row of the table stands there once for each state of rain, in this order.
    rows = frame.index.droplevel("rain")
    pd.testing.assert_index_equal(rows, index.repeat(2), check_names=False, exact="equiv")
    assert frame.index.get_level_values("rain").tolist() == ["no", "yes"] * 5
    np.testing.assert_array_equal(frame.to_numpy(), two.probabilities.reshape(10, 2))
    first = map(str, index[0] if index.nlevels > 1 else [index[0]])
    assert " ".join(str(one).splitlines()[2].split()).startswith(" ".join(first))
    assert one._repr_html_().count("<tr>") == 6


def test_a_column_of_an_answer_lands_on_its_rows():
    same = pd.DataFrame({"a": [0, 1] * 20, "b": [0, 1] * 20})
    network = BayesNetStructureEstimator(init=[("a", "b")], max_iter=0).fit(same).network_
    table = pd.DataFrame({"a": [0, 1]}, index=[1, 0])
    table["p"] = network.posterior("b", table).to_frame()[1]
    # 20 rows of each state; the prior adds a quarter to each cell.
    np.testing.assert_allclose(table["p"], [0.25 / 20.5, 20.25 / 20.5], rtol=1e-12)


def test_columns_that_came_as_series():
    columns = {"rain": pd.Series(["no", "yes"], index=[7, 5]), "wet": [True, None]}
    frame = NETWORK.posterior("month", columns).to_frame()
    assert frame.index.tolist() == [7, 5]
    filled = NETWORK.most_probable(columns)
    assert filled["rain"].index.tolist() == [7, 5]
    assert filled["rain"].tolist() == ["no", "yes"]
    columns["wet"] = pd.Series([True, None], index=[5, 7])
    for ask in (NETWORK.log_prob, NETWORK.most_probable):
        with pytest.raises(ValueError, match=r"the index of 'wet' differs.*pandas\.DataFrame"):
            ask(columns)
    assert NETWORK.posterior("month", pl.DataFrame({"rain": ["no"]})).to_frame().index.name == "row"


def test_long_answers_are_cut_when_printed():
    states = np.arange(40)
    p = np.full((40, 40), 1 / 1600)
    lines = str(Posterior(("a", "b"), (states, states), {}, p)).splitlines()
    assert len(lines) == 33
    assert lines[-1] == "... 10 more rows; to_frame() has them all"
    assert lines[1].endswith("...")
    evidence = {f"c{i}": i for i in range(9)}
    line = str(Posterior(("a",), (states,), evidence, p[0])).splitlines()[0]
    assert line == "P(a | c0=0, c1=1, c2=2, c3=3, c4=4, c5=5 and 3 more)"


def test_answers_are_asked_by_state():
    answer = NETWORK.posterior("wet")
    with pytest.raises(KeyError, match=r"no state 'yes'. Its states are False, True"):
        answer["yes"]
    with pytest.raises(KeyError, match="no state 1"):
        answer[1]
    with pytest.raises(KeyError, match="Give one state for each of 'rain', 'wet'"):
        NETWORK.posterior(["rain", "wet"])["no"]


# What is refused.


IMPOSSIBLE = {"rain": "no", "sprinkler": "off", "wet": True, "month": 1}


@pytest.mark.parametrize("ask", [
    lambda evidence: NETWORK.posterior("month", evidence),
    NETWORK.most_probable,
    lambda evidence: NETWORK.sample(3, evidence),
], ids=["posterior", "most_probable", "sample"])
def test_evidence_of_probability_0(ask):
    evidence = {name: IMPOSSIBLE[name] for name in ("rain", "sprinkler", "wet")}
    assert NETWORK.log_prob(IMPOSSIBLE) == -np.inf
    with pytest.raises(ValueError, match="probability 0") as caught:
        ask(evidence)
    assert ("'rain' = 'no' and 'sprinkler' = 'off' and 'wet' = True cannot occur together"
            in str(caught.value))
    # Only what contradicts each other is named.
    with pytest.raises(ValueError, match="probability 0") as caught:
        ask({"wet": False, "rain": "yes", "sprinkler": "on"})
    assert "network: 'rain' = 'yes' and 'sprinkler' = 'on' cannot" in str(caught.value)


def test_what_a_table_has_of_the_columns_asked_for_is_no_evidence():
    """Of the three rows the first is impossible, and the others are not, but for what is asked."""
    rows = pd.DataFrame({
        "rain": ["no", "no", "yes"], "sprinkler": ["off", "off", "off"],
        "wet": [True, False, True],
    })
    answer = NETWORK.posterior("wet", rows)
    np.testing.assert_allclose(answer.probabilities, [[1, 0], [1, 0], [0.2, 0.8]], atol=1e-15)
    np.testing.assert_array_equal(
        answer.probabilities, NETWORK.posterior("wet", rows.drop(columns="wet")).probabilities)


def test_rows_of_probability_0():
    rows = pd.DataFrame([{"rain": "yes"}, IMPOSSIBLE, IMPOSSIBLE])
    assert NETWORK.log_prob(rows)[1] == -np.inf
    for ask in (lambda rows: NETWORK.posterior("month", rows[["rain", "sprinkler", "wet"]]),
                NETWORK.most_probable):
        with pytest.raises(ValueError, match=r"2 row\(s\) .* probability 0 .* first is row 1"):
            ask(rows)


@pytest.mark.parametrize(("ask", "said"), [
    (lambda: NETWORK.posterior("fog"), "No column is called 'fog'. The network has 'rain', 'spr"),
    (lambda: NETWORK.posterior(["rain", "fog"]), "No column is called 'fog'"),
    (lambda: NETWORK.posterior("rain", {"fog": 1, "mist": 2}), "No column is called 'fog', 'mist'"),
    (lambda: NETWORK.posterior("rain", {"wet": "yes"}),
     "Column 'wet' has no state 'yes'. Its states are False, True."),
    (lambda: NETWORK.posterior("rain", {"wet": 1}), "Column 'wet' has no state 1"),
    (lambda: NETWORK.posterior("rain", {"month": "4"}), "no state '4'. Its states are 1, 2, 3."),
    (lambda: NETWORK.posterior("rain", {"month": {}}), "no state {}"),
    (lambda: NETWORK.posterior("rain", {"month": 1, "rain": "no"}), "both asked for and given"),
    (lambda: NETWORK.posterior([]), "columns must name a column"),
    (lambda: NETWORK.posterior(["rain", "wet", "rain"]), "columns names 'rain' twice"),
    (lambda: NETWORK.log_prob(TABLE.assign(fog=1)), "No column is called 'fog'"),
    (lambda: NETWORK.log_prob(TABLE.assign(month=7)), "not among its levels: 7"),
    (lambda: NETWORK.log_prob(TABLE.assign(month=7)), "Correct these cells, or empty them"),
    (lambda: NETWORK.log_prob(TABLE.assign(month=np.inf)), "contains infinity"),
    (lambda: NETWORK.log_prob(TABLE[:0]), "0 sample"),
    (lambda: NETWORK.log_prob([["no", "on"]]), "has 2. A data frame may have fewer"),
    (lambda: NETWORK.log_prob({"rain": ["no"], "wet": [True, False]}), "equally long"),
    (lambda: NETWORK.log_prob({"rain": ["no"], "wet": True}), "others have lists"),
    (lambda: NETWORK.log_prob("rain"), "must be a dictionary from column to state"),
    (lambda: NETWORK.log_prob(3), "must be a dictionary from column to state"),
    (lambda: NETWORK.sample(3, TABLE), "Take its rows one at a time"),
    (lambda: NETWORK.sample(0), "n_samples"),
    (lambda: NETWORK.sample(2.5), "n_samples"),
])
def test_what_is_asked_wrongly(ask, said):
    with pytest.raises((ValueError, TypeError)) as caught:
        ask()
    assert said in str(caught.value)


def test_draws_of_an_estimator_s_network_go_back_into_it():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 300)
    X = pd.DataFrame({"a": pd.Categorical.from_codes(a, list("xyz")), "b": (a + 1) % 3, "c": a > 1})
    network = BayesNetStructureEstimator(random_state=0).fit(X).network_
    draws = network.sample(50, random_state=1)
    assert np.isfinite(network.log_prob(draws)).all()
    assert network.most_probable(draws).keys() == draws.keys()
    np.testing.assert_array_equal(
        network.log_prob(draws), network.log_prob(pd.DataFrame(draws)))


def test_notebooks_show_answers_as_tables():
    states = np.array([f"s{k}" for k in range(14)], dtype=object)
    p = np.full((40, 14), 1 / 14)
    html = Posterior(("<b>",), (states,), None, p)._repr_html_()
    assert "<b>" not in html and "P(&lt;b&gt; | rows of a table)" in html
    root = ElementTree.fromstring(f"<div>{html}</div>")
    rows = root.findall("table/tr")
    assert len(rows) == 31 and all(len(row) == 1 + 12 + 1 for row in rows)
    assert [cell.tag for cell in rows[1]] == ["th"] + ["td"] * 13
    assert rows[0][-1].text == "…" and "10 more rows" in root.find("p").text
    html = Posterior(("b",), (states[:2],), {"a": "x<y"}, np.array([0.25, 0.75]))._repr_html_()
    assert "P(b | a=x&lt;y)" in html and "<td>0.2500</td><td>0.7500</td>" in html
    assert "<p>" not in html


def test_a_state_that_is_written_like_a_level_of_another_type():
    network = BayesNetStructureEstimator().fit([[1, "2"], [7, "3"], [1, "3"]]).network_
    assert network.log_prob({"x0": "7"}) == network.log_prob({"x0": 7.0})
    assert network.log_prob({"x1": 2}) == network.log_prob({"x1": "2"})
    assert network.posterior("x1")[2.0] == network.posterior("x1")["2"]
    with pytest.raises(ValueError, match=r"Its states are 1, 7\.$"):
        network.log_prob({"x0": 8})
    # 1 could mean both of these; and levels of several types are taken at their word.
    network = BayesNetStructureEstimator().fit([["1", "a"], ["1.0", "a"], ["2", "b"]]).network_
    with pytest.raises(ValueError, match="differ: numbers came, and the state is '1', of type str"):
        network.log_prob({"x0": 1})
    mixed = BayesianNetwork(NAMES, [*STATES[:3], np.array([1, "2", 3], object)], NETWORK.tables)
    with pytest.raises(ValueError, match="differ: numbers came, and the state is '2', of type str"):
        mixed.log_prob({"month": 2})


# What files say and what readers of tables make of it.

WRITTEN = [["False", "True"], ["0", "1"], ["1.0", "2.0", "10.0"], ["1", "2", "x"],
           ["TRUE", "FALSE"], ["(0.5, 1.5]", "(1.5, 2.5]"], ["-1", "1e3"]]


@pytest.fixture(scope="module")
def from_file():
    """A network as a BIF file gives it, and a table of its states as text."""
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(len(states), size=300) for states in WRITTEN])
    codes[1] = np.where(rng.random(300) < 0.8, codes[0], codes[1])
    codes[2] = np.where(rng.random(300) < 0.8, codes[1], codes[2])
    text = pd.DataFrame({f"c{j}": np.array(states, dtype=object)[row]
                         for j, (states, row) in enumerate(zip(WRITTEN, codes, strict=True))})
    network = BayesNetStructureEstimator(
        init=[("c0", "c1"), ("c1", "c2"), ("c2", "c3"), ("c2", "c4"), ("c4", "c5"), ("c3", "c6")],
        max_iter=0).fit(text).network_
    return read_bif(io.StringIO(network.to_bif())), text


def tables_as_read(text):
    """The same rows through files, by each library's own guesses."""
    csv = io.StringIO()
    text.to_csv(csv, index=False)
    csv = csv.getvalue()
    yield pd.read_csv(io.StringIO(csv))
    yield pd.read_csv(io.StringIO(csv), dtype_backend="numpy_nullable")
    yield pd.read_csv(io.StringIO(csv), dtype_backend="pyarrow")
    yield pd.read_csv(io.StringIO(csv)).astype("category")
    yield pd.read_csv(io.StringIO(csv)).astype(
        {"c1": np.float32, "c2": np.int8, "c6": np.float32})
    yield pl.read_csv(io.StringIO(csv))
    yield pacsv.read_csv(io.BytesIO(csv.encode()))
    yield pd.read_csv(io.StringIO(csv)).to_dict("list")


def test_tables_are_matched_as_they_are_written(from_file):
    network, text = from_file
    # None of the levels is text, or of another type, in each.
    expected = network.log_prob(text)
    assert np.isfinite(expected).all()
    for table in tables_as_read(text):
        np.testing.assert_array_equal(network.log_prob(table), expected)
        np.testing.assert_array_equal(
            network.posterior("c2", table).probabilities,
            network.posterior("c2", text).probabilities)
    row = next(tables_as_read(text)).iloc[0]
    assert network.log_prob(row.to_dict()) == expected[0]
    cut = pd.cut(text["c5"].map({"(0.5, 1.5]": 1, "(1.5, 2.5]": 2}), [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(network.log_prob(text.assign(c5=cut)), expected)


def test_networks_of_numbers_take_tables_of_text():
    """As `read_csv(dtype=str)` gives them for a network that a file gave its types back."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.integers(3, size=50), "b": rng.random(50) < 0.4,
                      "c": rng.choice([0.5, 1.0, 2.0], 50)}).astype("category")
    network = BayesNetStructureEstimator(init=[("a", "b"), ("b", "c")], max_iter=0).fit(X).network_
    network = read_bif(io.StringIO(network.to_bif()))
    assert [type(levels[0]) for levels in network.categories] == [np.int64, np.bool_, np.float64]
    csv = io.StringIO(X.to_csv(index=False))
    text = pd.read_csv(csv, dtype=str, keep_default_na=False)
    np.testing.assert_array_equal(network.log_prob(text), network.log_prob(X))
    short = text.assign(c=text["c"].str.removesuffix(".0"))
    np.testing.assert_array_equal(network.log_prob(short), network.log_prob(X))


def test_gaps_are_filled_in_the_types_of_the_table(from_file):
    network, text = from_file
    gaps = text.where(np.random.default_rng(2).random(text.shape) < 0.7)
    expected = network.most_probable(gaps)
    read = pd.read_csv(io.StringIO(gaps.to_csv(index=False)))
    assert read.dtypes.astype(str).tolist()[1:3] == ["float64", "float64"]
    filled = network.most_probable(read)
    assert filled["c1"].dtype == filled["c2"].dtype == np.float64
    for j, name in enumerate(text.columns[:3]):
        levels = [[False, True], [0, 1], [1, 2, 10]][j]
        meant = dict(zip(WRITTEN[j], levels, strict=True))
        assert filled[name].tolist() == expected[name].map(meant).tolist()
    polars = network.most_probable(pl.read_csv(io.StringIO(gaps.to_csv(index=False))))
    assert polars["c1"].dtype == pl.Int64 and polars["c2"].dtype == pl.Float64
    assert polars["c1"].to_list() == filled["c1"].tolist()


def test_types_that_say_something_else_are_refused_with_the_cure(from_file):
    network, text = from_file
    for name, values in (("c1", text["c1"] == "1"), ("c0", (text["c0"] == "True").astype(int)),
                         ("c5", 1.0)):
        with pytest.raises(ValueError) as caught:
            network.log_prob(text.assign(**{name: values}))
        said = str(caught.value)
        assert "The types differ" in said and "empty them" not in said
        assert "Replace the column's values by the levels that they mean" in said
    with pytest.raises(ValueError, match=r"levels: 7, .*Its levels are 0, 1\. Correct these cells"):
        network.log_prob(text.assign(c1=[7, *[1] * 299]))


@pytest.mark.parametrize("kind", [np.array, pd.Index, pd.Series, pl.Series, list, tuple])
def test_columns_that_come_as_an_array_of_one_name(kind):
    network = BayesNetStructureEstimator().fit([[0, 1], [1, 0], [1, 1]]).network_
    told = network.posterior(kind(["x0"])).probabilities
    np.testing.assert_array_equal(told, network.posterior("x0").probabilities)
    assert network.d_separated(kind(["x0"]), kind(["x1"])) == network.d_separated("x0", "x1")
