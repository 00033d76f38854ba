"""Messages are a few lines, however wide the table is and however long its names and cells are."""

import ast
import datetime
import io
import itertools
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

import skbn
from skbn import (
    BayesNetAverager,
    BayesNetClassifier,
    BayesNetStructureEstimator,
    DataWarning,
    EdgePosteriorDisplay,
    ESSPathDisplay,
    ESSSearchCV,
    ExactSearch,
    NetworkDisplay,
    TabuSearch,
    UnusableColumnsError,
    analytic_ess,
    bootstrap_edges,
    compare_estimators,
    compare_graphs,
    contingency_table,
    edge_posteriors,
    edge_report,
    ess_path,
    from_networkx,
    full_graph,
    log_bayes_factor,
    read_bif,
    structural_hamming_distance,
    structure_score,
    uniformity,
)
from skbn.messages import brief, cut, first_few
from skbn.networks.network import BayesianNetwork

LONGEST = 2000
RNG = np.random.default_rng(0)
MANY = 600
# Names and cells as long as texts, alike but at their ends.
LONG_NAMES = [f"{'n' * 5000}{j}" for j in range(MANY)]
LONG_LEVELS = [f"{'v' * 10_000}{j}" for j in range(40)]
TUPLES = [("group" * 100, "part" * 100, j, ("deeper",) * 100) for j in range(MANY)]


def said_by(call, *kinds):
    with pytest.raises((ValueError, TypeError, KeyError, *kinds)) as caught:
        call()
    error = caught.value
    return str(error.args[0]) if isinstance(error, KeyError) else str(error)


# One way of writing.


def test_values_are_written_in_brief():
    assert brief("a") == "'a'"
    assert brief("x" * 60) == "'" + "x" * 27 + "..." + "x" * 27 + "'"
    assert brief("x" * 58) == "'" + "x" * 58 + "'"
    assert brief("a\nb") == r"'a\nb'"
    assert brief((1, "a")) == "(1, 'a')"
    for value in (LONG_NAMES, TUPLES, [[["x" * 99] * 99] * 99] * 99, np.zeros((99, 99)), "x" * 99,
                  pd.DataFrame(np.zeros((99, 99))), {k: LONG_NAMES for k in LONG_NAMES}, 10**3000):
        assert len(brief(value)) <= 60
        assert "\n" not in brief(value)
    # What differs at the end only stays different.
    assert brief(LONG_NAMES[0]) != brief(LONG_NAMES[1])
    assert cut("abcdefghij", 9) == "abc...hij"


def test_lists_are_cut_after_the_first_few():
    assert first_few("abc") == "'a', 'b', 'c'"
    assert first_few([]) == ""
    assert first_few(list(range(6))) == "0, 1, 2, 3, 4, 5"
    assert first_few(range(2000), 2) == "0, 1 and 1,998 more"
    assert first_few(np.array([True, False])) == "True, False"
    assert first_few(["a", "b", "c"], 2, " -> ") == "'a' -> 'b' and 1 more"
    assert first_few([1.25, 2], write="{:.1f}".format) == "1.2, 2.0"


def test_no_message_writes_values_in_another_way():
    package = Path(skbn.__file__).parent
    for path in package.rglob("*.py"):
        if path.name == "messages.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) or (
                isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn"
            ):
                odd = [
                    ast.unparse(part) for part in ast.walk(node)
                    if (isinstance(part, ast.FormattedValue) and part.conversion == ord("r"))
                    or (isinstance(part, ast.Name) and part.id in ("repr", "reprlib"))
                ]
                # The name of an attribute, which Python itself would write out.
                assert not odd or path.name == "__init__.py", (path, node.lineno, odd)


# Columns that cannot be read.


def real(n_columns, names=None):
    names = [f"gene_{j}" for j in range(n_columns)] if names is None else names
    return pd.DataFrame(RNG.normal(size=(8, n_columns)), columns=names)


def missing(n_columns, names=None):
    table = (real(n_columns, names) > 0).astype(object)
    gone = RNG.random(table.shape) < 0.5
    gone[3] = True
    return table.mask(gone, None)


DOORS = {
    "fit": lambda X: BayesNetStructureEstimator().fit(X),
    "fit with y": lambda X: BayesNetClassifier().fit(X, [0, 1] * 4),
    "average": lambda X: BayesNetAverager().fit(X),
    # Else scikit-learn's words on failing fits hold the lines of the code where they failed.
    "search": lambda X: ESSSearchCV(
        BayesNetStructureEstimator(), [1, 2], error_score="raise").fit(X),
    "path": lambda X: ess_path(X, [1, 2]),
    "posteriors": lambda X: edge_posteriors(X),
    "score": lambda X: structure_score(X, []),
    "analytic": lambda X: analytic_ess(X, []),
    "report": lambda X: edge_report([], X, ess=1.0),
    # Of the columns that are asked about.
    "contingency": lambda X: contingency_table(X, *X.columns[:2], given=list(X.columns[2:])),
    "bootstrap": lambda X: bootstrap_edges(BayesNetStructureEstimator(), X, n_resamples=2),
    "compare": lambda X: compare_estimators([BayesNetStructureEstimator()], X),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("make", [real, missing])
def test_every_door_refuses_many_columns_in_a_few_lines(make, door):
    table = make(70)
    for names in (table.columns, LONG_NAMES[:70]):
        table.columns = names
        with pytest.raises(UnusableColumnsError) as caught:
            DOORS[door](table)
        said, error = str(caught.value), caught.value
        assert 200 < len(said) < LONGEST
        assert list(error.columns) == list(names)
        assert "64 more" in said
        assert said.endswith("\nThe attribute `columns` of this error has all 70 of them.")


@pytest.mark.parametrize("make", [real, missing])
def test_6830_columns(make):
    table = make(6830)
    with pytest.raises(UnusableColumnsError) as caught:
        BayesNetStructureEstimator().fit(table)
    assert len(str(caught.value)) < 650
    assert "'gene_5'" in str(caught.value) and "'gene_6'" not in str(caught.value)
    assert "6,824 more" in str(caught.value)
    assert list(caught.value.columns) == list(table.columns)


def test_100_columns_with_missing_cells():
    table = missing(100)
    said = said_by(lambda: BayesNetStructureEstimator().fit(table))
    counts = table.isna().sum().tolist()
    first = table.isna().to_numpy().argmax(axis=0).tolist()
    assert said.startswith(
        f"Column 'gene_0' has {counts[0]} missing value(s) (NaN, None or null), the first in row "
        f"{first[0]}, column 'gene_1' has {counts[1]}, the first in row {first[1]}, column "
    )
    assert " (counted from 0), and 94 more columns have some. Fill them, drop their rows" in said
    assert len(said) < 900


def every_kind(n, names=None):
    """Tables of so many columns of each kind that cannot be read, in turns."""
    days = [datetime.date(2020, 1, 1 + j) for j in range(8)]
    kinds = {
        "missing cells": ["a", "b", None, "a"] * 2,
        "real values": [0.5, 1.5] * 4,
        "infinity": [1.0, np.inf] * 4,
        "dates": pd.Series(days, dtype="M8[s]"),
        "durations": pd.to_timedelta(range(8)),
        "bytes": [b"a", b"b"] * 4,
        "lists": [[1], [2]] * 4,
        "records": [{"a": 1}, {"a": 2}] * 4,
        "mixed types": [1, "a"] * 4,
        "other types": [1j, 2j] * 4,
    }
    columns = itertools.islice(itertools.cycle(kinds.items()), n * len(kinds))
    names = [f"c{j}" for j in range(n * len(kinds))] if names is None else names
    parts = [(name, kind, values) for name, (kind, values) in zip(names, columns, strict=False)]
    frame = pd.DataFrame({name: values for name, _, values in parts})
    return frame, {name: kind for name, kind, _ in parts}


@pytest.mark.parametrize("names", [None, LONG_NAMES, [f"{'n' * 50}{j}" for j in range(200)]],
                         ids=["short", "long", "50 letters"])
@pytest.mark.parametrize("n", [1, 20])
def test_all_kinds_are_told_at_once(n, names):
    table, kinds = every_kind(n, names)
    table.insert(3, "fine", [0, 1] * 4)
    with pytest.raises(UnusableColumnsError) as caught:
        BayesNetStructureEstimator().fit(table, pd.Series([0.5, 1.5] * 4, name="target"))
    error = caught.value
    assert error.columns == {**kinds, "target": "real values"}
    assert isinstance(error, ValueError) and isinstance(error, TypeError)
    said = str(error)
    assert len(said) < LONGEST
    lines = said.split("\n")
    # A line for each kind, as many as there is room for.
    assert 2 <= len(lines) <= 11
    assert lines[0].startswith("Column ") and "missing value(s)" in lines[0]
    assert "is real-valued" in lines[1] and "The same goes for" in lines[1]
    if n == 1 and names is None:
        assert "'target'" in lines[1]
    assert lines[-1] == (
        f"The attribute `columns` of this error has all {len(kinds) + 1} of them."
    )


def test_few_columns_of_several_kinds_are_told_whole():
    table = pd.DataFrame({"gap": ["a", None], "length": [0.5, 1.5], "day": ["2020-01-01"] * 2})
    table["day"] = pd.to_datetime(table["day"]).astype("M8[s]")
    said = said_by(lambda: BayesNetStructureEstimator().fit(table))
    assert said == (
        "Column 'gap' has 1 missing value(s) (NaN, None or null), the first in row 1 (counted from "
        "0). Fill them, drop their rows, or make them a category of their own: with "
        "handle_missing='category' in the estimators, or in the table, for example with "
        "X['gap'].astype('string').fillna('missing').\n"
        "Column 'length' is real-valued: 2 distinct values such as 0.5, 1.5, and levels must be "
        'countable. Cut it into bins with KBinsDiscretizer(encode="ordinal"); if its values really '
        "are levels, say so with a categorical dtype or categories=.\n"
        "Column 'day' has dtype datetime64[s], whose values cannot be levels. Keep what of it "
        "comes again, such as the month, for example with X['day'].dt.month, or bin it into a "
        "categorical dtype."
    )


FRAMES = {
    "polars": lambda table: pl.DataFrame(table),
    "pyarrow": lambda table: pa.table(table),
    "array": lambda table: np.array([
        [np.nan if cell is None else cell for cell in column] for column in table.values()
    ]).T,
    "lists": lambda table: [list(row) for row in zip(*table.values(), strict=True)],
}


@pytest.mark.parametrize("kind", FRAMES)
def test_cures_are_in_the_words_of_the_table_that_came(kind):
    table = {"a": [1.0, None, 2.0, 1.0], "b": [0.5, 1.5, 2.5, 0.5], "c": [0.5, None, 1.5, 2.5]}
    X = FRAMES[kind](table)
    for estimator in (BayesNetStructureEstimator(),
                      BayesNetStructureEstimator(handle_missing="category")):
        said = said_by(lambda: estimator.fit(X))  # noqa: B023
        for foreign in ("pandas", "astype('string')", "fillna", ".cat", "notna"):
            assert foreign not in said
        if kind in ("array", "lists"):
            assert "dtype" not in said
    # A class, too, in the words of y's library.
    target = ["u", None, "v", "u"]
    y = {"polars": pl.Series("t", target), "pyarrow": pa.array(target),
         "array": np.array([0, np.nan, 1, 0]), "lists": target}[kind]
    said = said_by(lambda: BayesNetClassifier().fit(X, y))
    assert "notna" not in said and "A class must be known" in said
    assert ("X.filter(y." in said) == (kind in ("polars", "pyarrow"))


def test_a_table_to_predict_is_refused_as_one_to_learn_from_is():
    bn = BayesNetStructureEstimator().fit(pd.DataFrame({f"c{j}": [0, 1] * 4 for j in range(40)}))
    table = pd.DataFrame({f"c{j}": [0.0, np.inf] * 4 for j in range(40)})
    for call in (bn.predict, bn.score, bn.network_.log_prob):
        with pytest.raises(UnusableColumnsError) as caught:
            call(table)
        assert caught.value.columns == dict.fromkeys(table.columns, "infinity")
        assert "The same goes for 'c1', 'c2', 'c3', 'c4', 'c5' and 34 more." in str(caught.value)


# Everything else that names columns, levels and what users pass.


def whole(names, n_rows=6):
    return pd.DataFrame(
        RNG.integers(2, size=(n_rows, len(names))), columns=pd.Index(names, tupleize_cols=False)
    )


def fitted(names):
    return BayesNetStructureEstimator(max_iter=0).fit(whole(names))


NAMES = {
    "many": [f"c{j}" for j in range(MANY)],
    "long": LONG_NAMES[:40],
    "many and long": LONG_NAMES[:400],
}
OTHER = {"tuples": TUPLES[:40], "numbers": list(range(MANY))}


@pytest.mark.parametrize("kind", NAMES)
def test_names_in_what_scikit_learn_says_of_columns(kind):
    names = NAMES[kind]
    bn, table = fitted(names), whole(names)
    for other in (table.iloc[:, 1:], table.iloc[:, ::-1], table.add_suffix("z")):
        said = said_by(lambda: bn.predict(other))  # noqa: B023
        assert "feature names" in said.lower()
        assert len(said) < LONGEST


@pytest.mark.parametrize("kind", OTHER)
def test_names_that_are_no_text_at_prediction(kind):
    bn, table = fitted(OTHER[kind]), whole(OTHER[kind])
    said = said_by(lambda: bn.predict(table.iloc[:, ::-1]))
    assert "The columns must be those of fit" in said and len(said) < LONGEST


def graph_calls(names):
    """Calls that name columns where parameters and graphs do not fit a table."""
    table, every = whole(names), {**NAMES, **OTHER}
    a, b = names[:2]
    odd = "z" * 9999
    chain = list(itertools.pairwise(names))
    cycle = [*chain, (names[-1], a)]
    into_a = [(name, a) for name in names[1:]]
    fit = {
        "categories, unknown": {"categories": {odd: [0, 1]}},
        "categories, many unknown": {"categories": {f"{odd}{j}": [0] for j in range(MANY)}},
        "categories, no list": {"categories": {a: "x" * 9999}},
        "categories, repeated": {"categories": {a: [odd, odd]}},
        "categories, none": {"categories": {a: []}},
        "categories, others": {"categories": {a: LONG_LEVELS}},
        "categories, gaps": {"categories": {a: [None, None]}},
        "categories, infinity": {"categories": {a: [np.inf]}},
        "categories, lists": {"categories": {a: [[1]]}},
        "categories, a number": {"categories": 3},
        "categories, too many": {"categories": [[0, 1]] * (len(names) + 1)},
        "required, unknown": {"required_edges": [(a, odd)]},
        "required, no pairs": {"required_edges": [every]},
        "required, itself": {"required_edges": [(a, a)]},
        "required, cycle": {"required_edges": cycle},
        "required, crowded": {"required_edges": into_a, "max_parents": 1},
        "required and forbidden": {"required_edges": chain, "forbidden_edges": chain},
        "tiers, unknown": {"tiers": [[odd]]},
        "tiers, twice": {"tiers": [[a], [a]]},
        "tiers, text": {"tiers": [odd]},
        "tiers, numbers": {"tiers": [3]},
        "tiers against required": {"tiers": [[name] for name in names[::-1]],
                                   "required_edges": chain},
        "init, a word": {"init": odd},
        "init, unknown": {"init": [(a, odd)]},
        "init, cycle": {"init": cycle},
        "init, crowded": {"init": into_a, "max_parents": 1},
        "init, forbidden": {"init": chain, "forbidden_edges": chain},
        "init, lacks": {"init": [], "required_edges": chain},
        "init, a matrix": {"init": np.eye(len(names), dtype=int)},
        "init, another size": {"init": np.zeros((2, 2))},
        "init, networkx": {"init": nx.DiGraph([(odd, a)])},
        "score, a word": {"score_type": odd},
        "score, a class": {"score_type": BayesNetClassifier},
        "score, an object": {"score_type": {k: odd for k in range(MANY)}},
        "search, a word": {"search": odd},
        "search, tabu": {"search": TabuSearch(tabu_length=list(range(MANY)))},
        "search, exact": {"search": ExactSearch(max_memory=list(range(MANY)))},
        "exact with a start": {"search": "exact", "init": chain},
        "exact with restarts": {"search": "exact", "n_restarts": 10**100},
        "prior": {"graph_prior": lambda x, parents: float("nan")},
        "prior, a word": {"graph_prior": odd},
        "ess, a list": {"ess": list(range(MANY))},
        "ess, an array": {"ess": np.arange(900.0)},
        "parents, names": {"max_parents": names},
        "state": {"random_state": odd},
    }
    calls = {
        name: lambda parameters=parameters: BayesNetStructureEstimator(**parameters).fit(table)
        for name, parameters in fit.items()
    }
    few = table.iloc[:, :3]
    return calls | {
        "y": lambda: BayesNetStructureEstimator().fit(table, pd.Series([0, 1] * 3, name=a)),
        "two names": lambda: BayesNetStructureEstimator().fit(
            pd.concat([table, table], axis=1)),
        "structure_score": lambda: structure_score(table, [(a, odd)]),
        "structure_score, y": lambda: structure_score(
            few, BayesNetStructureEstimator(init=[(a, odd)], max_iter=0).fit(
                few, pd.Series([0, 1] * 3, name=odd))),
        "edge_report, y": lambda: edge_report(
            BayesNetStructureEstimator(init=[(a, odd)], max_iter=0).fit(
                few, pd.Series([0, 1] * 3, name=odd)), few),
        "edge_report, ess": lambda: edge_report([(a, b)], table, ess=float("inf")),
        "analytic_ess": lambda: analytic_ess(table, cycle),
        "compare_graphs": lambda: compare_graphs(chain, cycle),
        "compare_graphs, labels": lambda: compare_graphs(chain, chain, labels=[a, a, *names]),
        "compare_graphs, no labels": lambda: compare_graphs(chain, chain, labels=odd and 3),
        "hamming": lambda: structural_hamming_distance(cycle, cycle, labels=names),
        "full_graph": lambda: full_graph([*names, a]),
        "contingency, unknown": lambda: contingency_table(few, a, odd),
        "contingency, text": lambda: contingency_table(few, a, b, given=odd),
        "contingency, twice": lambda: contingency_table(few, a, a, given=[b] * 1),
        "ess_path": lambda: ess_path(few, {j: odd for j in range(MANY)}),
        "ess_path, words": lambda: ess_path(few, [odd] * MANY),
        "ess_path, exact": lambda: ess_path(few, [1], init=chain),
        "ess_path, parameters": lambda: ess_path(few, [1], max_parents=list(range(MANY))),
        "posteriors, parameters": lambda: edge_posteriors(few, prior=odd),
        "averager, parameters": lambda: BayesNetAverager(ess=list(range(MANY))).fit(few),
        "search, words": lambda: ESSSearchCV(BayesNetStructureEstimator(), [odd]).fit(few),
        "search, parameters": lambda: ESSSearchCV(
            BayesNetStructureEstimator(), [1], refit=list(range(MANY))).fit(few),
        "search, other estimators": lambda: ESSSearchCV(Verbose(odd), [1]).fit(few),
        "compare, other estimators": lambda: compare_estimators({odd: Verbose}, few),
        "compare, kinds": lambda: compare_estimators(
            {**{f"{odd}{j}": BayesNetClassifier() for j in range(99)},
             **{f"{j}{odd}": BayesNetStructureEstimator() for j in range(99)}}, few),
        "bootstrap": lambda: bootstrap_edges(make_pipeline(
            Renaming(), BayesNetStructureEstimator(max_iter=0)), few,
            n_resamples=3, random_state=0),
        "display, node": lambda: NetworkDisplay(names, [(a, odd)]).plot(),
        "display, names": lambda: NetworkDisplay([*names, a], []),
        "display, edges": lambda: NetworkDisplay(names, [names]),
        "display, kinds": lambda: NetworkDisplay(names, chain, kinds=names),
        "display, widths": lambda: NetworkDisplay(names, [(a, b)], edge_width=names).plot(),
        "display, ax": lambda: NetworkDisplay([a, b], [(a, b)]).plot(ax=every),
        "display, posterior": lambda: EdgePosteriorDisplay.from_posterior(every),
        "display, numbers": lambda: EdgePosteriorDisplay(np.eye(2), [a, b]).plot(numbers=odd),
        "display, path": lambda: ESSPathDisplay.from_path(every),
        "from_networkx": lambda: from_networkx(nx.DiGraph([(odd, a)])),
        "a network": lambda: BayesianNetwork([a, a], [np.array([0])] * 2, []),
        "factor": lambda: log_bayes_factor(np.eye(2), ess=[odd] * MANY),
        "parent states": lambda: uniformity(np.eye(2), n_parent_states=[odd] * MANY),
    }


class Verbose(BaseEstimator):
    """Written at length."""

    def __init__(self, words=""):
        self.words = words

    def __repr__(self):
        return f"Verbose({self.words})"


class Renaming(TransformerMixin, BaseEstimator):
    """Makes other columns of every resample."""

    def fit(self, X, y=None):
        self.suffix_ = str(X.to_numpy().tolist())
        return self

    def transform(self, X):
        return X.set_axis([f"{name}{self.suffix_}" for name in X.columns], axis=1)


@pytest.mark.parametrize("name", graph_calls(["a", "b", "c"]))
@pytest.mark.parametrize("kind", ["many", "long", "tuples"])
def test_names_in_graphs_and_parameters(kind, name):
    assert len(said_by(graph_calls({**NAMES, **OTHER}[kind])[name])) < LONGEST


def levels_calls():
    """Calls that name levels: of tables to predict, of evidence, of files."""
    names = LONG_NAMES[:40]
    table = pd.DataFrame({name: LONG_LEVELS for name in names})
    with pytest.warns(DataWarning) as told:
        bn = BayesNetStructureEstimator(init=[(names[1], names[0])], max_iter=0).fit(table)
    assert all(len(str(one.message)) < LONGEST for one in told)
    other = table.replace(dict.fromkeys(LONG_LEVELS, "w" * 10_000))
    network = bn.network_
    a, b, c = names[:3]
    odd = "z" * 9999
    parity = parity_of(names[:10])
    impossible = dict.fromkeys([*names[:10], "sum"], LONG_LEVELS[0]) | {"sum": LONG_LEVELS[1]}
    wide = BayesNetStructureEstimator(init="full", max_iter=0).fit(
        pd.DataFrame({name: LONG_LEVELS * 2 for name in names}).iloc[:, :12])
    states = [("a", "b"), ("c", "d")] * 300
    graph = network.to_networkx()
    graphs = {}
    for what, change in {
        "states": ("states", {"x": odd}), "repeated states": ("states", LONG_LEVELS * 2),
        "numbers": ("log_probabilities", [odd] * 99), "shape": ("log_probabilities", [[0.0]]),
        "sums": ("log_probabilities", np.zeros((40, 40))),
        "codes": ("configurations", np.zeros((1, 1))),
    }.items():
        graphs[what] = graph.copy()
        graphs[what].nodes[a][change[0]] = change[1]
    graphs["position"] = graph.copy()
    graphs["position"].edges[b, a]["position"] = odd
    star = nx.DiGraph()
    for name in names:
        star.add_node(name, **graph.nodes[b])
    star.add_edges_from((name, a) for name in names[1:])
    dates = BayesNetStructureEstimator(max_iter=0).fit(
        pd.DataFrame({odd: [datetime.date(2020, 1, 1)]}))
    return {
        "unknown levels": lambda: bn.predict(other),
        "unknown levels of polars": lambda: bn.predict(pl.from_pandas(other)),
        "unknown levels of another type": lambda: bn.predict(table.assign(**{a: 1})),
        "masked": lambda: bn.predict(np.ma.masked_all((1, 40))),
        "lazy": lambda: bn.predict(pl.from_pandas(other).lazy()),
        "fields": lambda: bn.predict(np.zeros(2, dtype=[(name, int) for name in names])),
        "unknown column": lambda: network.parents(odd),
        "unknown columns": lambda: network.posterior([f"{odd}{j}" for j in range(40)]),
        "column twice": lambda: network.posterior([a, a]),
        "asked and given": lambda: network.posterior([a], {a: LONG_LEVELS[0]}),
        "unknown state": lambda: network.posterior(a, {b: odd}),
        "state that is a list": lambda: network.posterior(a, {b: {odd: 1}}),
        "evidence, columns": lambda: network.log_prob({f"{odd}{j}": 1 for j in range(40)}),
        "evidence, a text": lambda: network.log_prob(odd),
        "evidence, uneven": lambda: network.log_prob(
            {name: [1] * j for j, name in enumerate(names)}),
        "evidence, mixed": lambda: network.log_prob({a: [odd], b: odd}),
        "evidence, table": lambda: network.log_prob(other),
        "evidence, array": lambda: network.log_prob(np.zeros((2, 2))),
        "impossible": lambda: parity.sample(evidence=impossible),
        "impossible, rows": lambda: parity.most_probable(pd.DataFrame([impossible] * 99)),
        "posterior, states": lambda: network.posterior([a, b])[[odd] * 99],
        "posterior, state": lambda: network.posterior(a)[odd],
        "separated": lambda: network.d_separated([a], [a], []),
        "separated from none": lambda: network.d_separated([], [a], []),
        "too wide": lambda: wide.network_.posterior(list(wide.network_.labels)),
        "dense": lambda: wide.network_.tables[-1].dense(),
        "bif": lambda: wide.network_.to_bif(),
        "bif of dates": lambda: dates.network_.to_bif(),
        "bif, text": lambda: read_bif(f"network {odd} {{"),
        "bif, no network": lambda: read_bif(io.StringIO(odd)),
        "bif, twice": lambda: read_bif(io.StringIO(
            f"network a {{ }} variable {odd} {{ type discrete [ 1 ] {{ {odd} }}; }}" * 2)),
        "bif, states": lambda: read_bif(io.StringIO(
            f"network a {{ }} variable {odd} {{ type discrete [ 2 ] {{ {odd}, {odd} }}; }}")),
        "bif, a file's name": lambda: read_bif(Named("network")),
        "bif, cycle": lambda: read_bif(io.StringIO(cyclic_bif([f"{odd}{j}" for j in range(40)]))),
        **{f"networkx, {what}": lambda graph=graph: from_networkx(graph)
           for what, graph in graphs.items()},
        "networkx, many positions": lambda: from_networkx(star),
        "report of a network": lambda: edge_report(bn, other),
        "levels by hand": lambda: structure_score(other, [], categories={a: LONG_LEVELS}),
        "states": lambda: BayesNetStructureEstimator(categories=states).fit(table),
        "display of a column": lambda: NetworkDisplay.from_estimator(bn, target=odd),
        "given a column": lambda: contingency_table(table, a, b, given=[c, c]),
    }


class Named(io.StringIO):
    """A file with a long name."""

    name = "folder/" * 999


def parity_of(names):
    """A network in which "sum" is certain, but only if all others are known."""
    graph = nx.DiGraph()
    for name in names:
        graph.add_node(name, states=LONG_LEVELS[:2], configurations=np.zeros((1, 0)),
                       log_probabilities=np.log([[0.5, 0.5]]))
    rows = np.array(list(itertools.product([0, 1], repeat=len(names))))
    with np.errstate(divide="ignore"):
        odd = np.log((rows.sum(axis=1)[:, None] % 2 == [0, 1]).astype(float))
    graph.add_node("sum", states=LONG_LEVELS[:2], configurations=rows, log_probabilities=odd)
    for position, name in enumerate(names):
        graph.add_edge(name, "sum", position=position)
    return from_networkx(graph)


def cyclic_bif(names):
    variables = "".join(f"variable {name} {{ type discrete [ 1 ] {{ s }}; }} " for name in names)
    pairs = zip(names, [*names[1:], names[0]], strict=True)
    tables = "".join(f"probability ( {b} | {a} ) {{ (s) 1; }} " for a, b in pairs)
    return f"network a {{ }} {variables} {tables}"


LEVELS_CALLS = levels_calls()


@pytest.mark.parametrize("name", LEVELS_CALLS)
def test_names_and_levels_of_networks(name):
    assert 20 < len(said_by(LEVELS_CALLS[name], OSError, AttributeError)) < LONGEST


@pytest.mark.parametrize("names", [LONG_NAMES, TUPLES], ids=["long", "tuples"])
def test_names_in_warnings(names):
    rng = np.random.default_rng(0)
    identifiers = pd.DataFrame(
        rng.permuted(np.arange(300)[:, None].repeat(60, axis=1), axis=0).astype(str),
        columns=pd.Index(names[:60], tupleize_cols=False))
    few = pd.DataFrame(
        rng.integers(3, size=(60, 9)), columns=pd.Index(names[:9], tupleize_cols=False))
    for call in (lambda: BayesNetStructureEstimator(max_iter=0).fit(identifiers),
                 lambda: BayesNetStructureEstimator(init="full", max_iter=0).fit(few),
                 lambda: edge_posteriors(few)):
        with pytest.warns(DataWarning) as caught:
            call()
        assert all(len(str(warning.message)) < LONGEST for warning in caught)
