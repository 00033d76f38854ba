"""BIF files: what we write we read back, what others write we read, and nothing else is taken."""

import gzip
import io
import itertools
import math
import pickle
import re
import sys
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skbn import BayesNetStructureEstimator, DataWarning, read_bif
from skbn.counting.data import CategoricalData
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.network import BayesianNetwork

NETWORKS = ("alarm", "andes", "asia", "cancer", "child", "hepar2", "insurance", "pigs", "sachs",
            "survey")
# By the bnlearn repository's description of each network.
SIZES = {"alarm": (37, 46), "andes": (223, 338), "asia": (8, 8), "cancer": (5, 4),
         "child": (20, 25), "hepar2": (70, 123), "insurance": (27, 52), "pigs": (441, 592),
         "sachs": (11, 17), "survey": (6, 6)}

SMALL = """network small {
}
variable a {
  type discrete [ 2 ] { no, yes };
}
variable b {
  type discrete [ 3 ] { u, v, w };
}
variable c {
  type discrete [ 2 ] { 0, 1 };
}
probability ( a ) {
  table 0.25, 0.75;
}
probability ( b | a ) {
  (no) 0.1, 0.2, 0.7;
  (yes) 0.3, 0.3, 0.4;
}
probability ( c | b, a ) {
  (u, no) 0.5, 0.5;
  (v, no) 0.25, 0.75;
  (w, no) 0, 1;
  (u, yes) 1e-05, 0.99999;
  (v, yes) 0.125, 0.875;
  (w, yes) 0.9, 0.1;
}
"""


def parse(text):
    return read_bif(io.StringIO(text))


def same(first, second, tolerance=0.0):
    """Whether names, states, graph and probabilities are equal."""
    assert first.labels == second.labels
    assert first.parent_indices == second.parent_indices
    for ours, theirs in zip(first.categories, second.categories, strict=True):
        assert [(type(x), x) for x in ours.tolist()] == [(type(x), x) for x in theirs.tolist()]
    for ours, theirs in zip(first.tables, second.tables, strict=True):
        np.testing.assert_allclose(ours.dense(), theirs.dense(), rtol=0, atol=tolerance)
    return True


def random_network(rng, labels, categories):
    """A network over these names, with random edges, zeros and a few observed configurations."""
    n = len(labels)
    tables = []
    for child in range(n):
        r = len(categories[child])
        parents = tuple(p for p in range(child) if rng.random() < 0.5)[:3]
        sizes = tuple(len(categories[p]) for p in parents)
        every = np.array(list(itertools.product(*map(range, sizes))), dtype=np.uint8)
        seen = np.flatnonzero(rng.random(len(every)) < 0.7)
        seen = seen if len(seen) else np.array([0])
        rows = rng.dirichlet(np.full(r, 0.3), len(seen))
        with np.errstate(divide="ignore"):
            rows = np.log(rows)
        tables.append(ConditionalTable.from_rows(
            child, parents, r, sizes, every[seen].reshape(len(seen), len(parents)), rows
        ))
    return BayesianNetwork(labels, categories, tables)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_repository_are_read_and_written(shared, name):
    path = shared("data/bif") / f"{name}.bif.gz"
    network = read_bif(path)
    assert (len(network.labels), len(network.edges)) == SIZES[name]
    assert same(network, parse(network.to_bif()))
    text = gzip.decompress(path.read_bytes()).decode()
    # Slow twin: every row as a line of text.
    for block in re.findall(r"probability[^}]*\}", text):
        family, _, body = block.partition("{")
        child, _, given_names = family.partition("(")[2].partition(")")[0].partition("|")
        child, parents = child.strip(), [p.strip() for p in given_names.split(",") if p.strip()]
        assert network.parents(child) == sorted(parents, key=network.labels.index)
        table = network.tables[network.labels.index(child)]
        for names, numbers in re.findall(r"(?:\(([^)]*)\)|table)([^;]*);", body):
            expected = np.array(numbers.split(","), dtype=float)
            codes = np.zeros((len(network.labels), 1), dtype=np.uint8)
            for parent, state in zip(parents, names.split(",") if parents else [], strict=True):
                place = network.labels.index(parent)
                codes[place] = network.categories[place].tolist().index(state.strip())
            found = np.exp(table.log_prob_each(codes, network.labels.index(child)))[0]
            np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-15)


def test_the_small_network():
    network = parse(SMALL)
    assert network.labels == ("a", "b", "c")
    assert network.edges == [("a", "b"), ("a", "c"), ("b", "c")]
    # Parents in column order, a before b, whatever the order in the file.
    expected = [[0.5, 0.5], [0.25, 0.75], [0, 1], [1e-5, 0.99999], [0.125, 0.875], [0.9, 0.1]]
    np.testing.assert_allclose(network.tables[2].dense(), expected, rtol=1e-15)
    assert network.cpt("c").configurations[3] == ("yes", "u")


def test_zero_probabilities_score_sample_and_condition():
    network = parse(SMALL)
    codes = np.array([[0, 0], [2, 2], [0, 1]], dtype=np.uint8)  # c = 0 is impossible given w, no
    np.testing.assert_allclose(np.exp(network.log_prob_codes(codes)), [0, 0.25 * 0.7])
    np.testing.assert_allclose(network.conditional_codes(codes, 2), [[0, 1], [0, 1]])
    joint = 0.25 * 0.7 * 0, 0.75 * 0.4 * 0.9
    np.testing.assert_allclose(
        network.conditional_codes(codes[:, :1], 0), [np.array(joint) / sum(joint)]
    )
    np.testing.assert_allclose(network.marginal_log_prob_codes(codes, 2), np.log([0.175, 0.175]))
    drawn = network.sample_codes(20_000, np.random.default_rng(0))
    assert not ((drawn[0] == 0) & (drawn[1] == 2) & (drawn[2] == 0)).any()
    assert np.isfinite(network.log_prob_codes(drawn)).all()
    assert "0.0000  1.0000" in str(network.cpt("c"))


@pytest.mark.parametrize("text", [
    SMALL.replace(",", " "),
    SMALL.replace("b | a", "b a").replace("c | b, a", "c, b a".replace(" a", ", a")),
    SMALL.replace("\n", "\r\n"),
    SMALL.replace(";\n}", "; property p = (1, \"x}\") ;\n}"),
    SMALL.replace("\n", " // a { comment\n").replace("0.75;", "0.75/* and \n\n; another */;"),
    SMALL.replace("{ no, yes }", '{ "no" "yes" }').replace("variable a", 'variable "a"'),
    SMALL.replace("[ 2 ]", "[2]").replace("probability (", "PROBABILITY(").replace("  ", "\t"),
    SMALL.replace("(no) 0.1, 0.2, 0.7;\n  (yes) 0.3, 0.3, 0.4;",
                  "table 0.1, 0.3, 0.2, 0.3, 0.7, 0.4;"),
    SMALL.replace("(no) 0.1, 0.2, 0.7;", "default 0.1, 0.2, 0.7;"),
    SMALL.replace("(yes) 0.3, 0.3, 0.4;", "default 3e-1 .3 +0.4;"),
    SMALL.replace("0.25, 0.75", "0.250000, 7.5E-1"),
    "\ufeff" + SMALL,
    SMALL[: SMALL.index("variable a")] + SMALL[SMALL.index("probability"):]
    + SMALL[SMALL.index("variable a") : SMALL.index("probability")],
])
def test_every_way_of_writing_the_same(text):
    assert same(parse(SMALL), parse(text), 1e-15)


@pytest.mark.parametrize("text", [
    SMALL.partition("}\n")[2],
    "# by hand\n" + SMALL.replace("\n", "\n  # a { comment\n").replace("0.75;", "0.75; #|note;"),
    SMALL.replace(" };\n", " } # a, b\n").replace("{ no, yes", "{ # two\n no, # 0\n  #1\n yes"),
    SMALL.replace("0.75;", "0.75", 1).replace("0.4;", "0.4").replace("0.9, 0.1;", "0.9, 0.1 # end"),
    SMALL.replace(" };\n", " };\n  property p = {1} # 2;\n  property q = #ff00ff\n"),
    SMALL.replace("(u, no) 0.5, 0.5;", "(u, *) 0.5, 0.5;"),
    SMALL.replace("(u, no)", "(*, *) 0.3 0.7; (*, yes) 0.2 0.8; (u, no)"),
])
def test_what_else_people_write(text):
    assert same(parse(SMALL), parse(text), 1e-15)


# By write.bif of R's bnlearn 5.2.1, of a network whose factors were made by cut(); the variables
# are the same with other letters.
CUT = """network unknown {
}
variable A {
  type discrete [ 2 ] { _0_3], _3_6] };
}
variable B {
  type discrete [ 2 ] { a|b, c };
}
variable C {
  type discrete [ 2 ] { [-0.001_0.5], _0.5_1] };
}
probability ( A ) {
  table 0.6, 0.4;
}
probability ( B ) {
  table 0.5, 0.5;
}
probability ( C | A, B ) {
  (_0_3], a|b) 1.0, 0.0;
  (_3_6], a|b) 0.5, 0.5;
  (_0_3], c) 0.0, 1.0;
  (_3_6], c) 0.5, 0.5;
}
"""


@pytest.mark.parametrize("text", [CUT, CUT.replace(",", " "), CUT.replace("  (", " /* | */ (")])
def test_states_that_r_cut(text):
    network = parse(text)
    assert [levels.tolist() for levels in network.categories] == [
        ["_0_3]", "_3_6]"], ["a|b", "c"], ["[-0.001_0.5]", "_0.5_1]"]]
    assert network.edges == [("A", "C"), ("B", "C")]
    # P(C | A, B) as R prints it.
    np.testing.assert_array_equal(
        network.tables[2].dense(), [[1, 0], [0, 1], [0.5, 0.5], [0.5, 0.5]])
    assert network.posterior("C", {"A": "_0_3]", "B": "a|b"})["[-0.001_0.5]"] == 1.0


@pytest.mark.parametrize("written", [
    "[", "]", "|", "|a|", "a[1]", "(x", "((", "#5", "a#b", "*", "50%", "<5", ">=7.5", "Asy/Patch",
    "a b", "=", "é", "it's", "\\", "-", "table", "nan", '"(often)"', '"{}"', '";"', '"a//b"', '"#"',
    '"[0,1)"', '"  "', '""',
])
def test_signs_that_can_only_be_part_of_a_name(written):
    """Brackets and bars mean nothing in a list of states; what means something is quoted."""
    text = SMALL.replace("u, v, w", f"v, {written}, w").replace("(u,", f"({written},")
    text = re.sub(r"0.1, 0.2, 0.7|0.3, 0.3, 0.4", "0.2, 0.1, 0.7", text)
    network, state = parse(text), written.strip('"')
    assert network.categories[1].tolist() == ["v", state, "w"]
    np.testing.assert_allclose(network.tables[2].dense()[1::3], [[0.5, 0.5], [1e-5, 0.99999]])


def test_parentheses_in_the_states_of_a_leaf():
    """As pgmpy writes them; in the rows of children it could not read them itself."""
    network = parse(SMALL.replace("{ 0, 1 }", "{ (a), b(1) }"))
    assert network.categories[2].tolist() == ["(a)", "b(1)"]


def test_names_of_variables_with_brackets():
    network = parse(re.sub(r"\ba\b", "a[1]", SMALL).replace("variable c", "variable #c")
                    .replace("( c |", "( #c |"))
    assert network.labels == ("a[1]", "b", "#c")
    assert network.edges == [("a[1]", "b"), ("a[1]", "#c"), ("b", "#c")]


TABLE_OF_B = "(no) 0.1, 0.2, 0.7;\n  (yes) 0.3, 0.3, 0.4;"


@pytest.mark.parametrize(("old", "new", "child", "uniform"), [
    ("0.3, 0.3, 0.4", "NaN, NaN, NaN", 1, [1]),
    ("0.25, 0.75", "NaN NA", 0, [0]),
    (TABLE_OF_B, "table 0.1 NaN, 0.2 NaN, 0.7 NaN;", 1, [1]),
    (TABLE_OF_B, "(*) nan nan nan;", 1, [0, 1]),
    (TABLE_OF_B, "(no) nan nan nan; default 0.3 0.3 0.4;", 1, [0]),
    (TABLE_OF_B, "(*) nan nan nan; (yes) 0.3 0.3 0.4;", 1, [0]),
])
def test_rows_of_nan_are_uniform_with_a_warning(old, new, child, uniform):
    text = SMALL.replace(old, new, 1)
    assert text != SMALL
    said = rf"the file: {len(uniform)} row\(s\) .* of '{'ab'[child]}', and are read as uniform"
    with pytest.warns(DataWarning, match=said) as found:
        network = parse(text)
    assert len(found) == 1 and found[0].filename == __file__
    expected = parse(SMALL).tables[child].dense()
    expected[uniform] = 1 / expected.shape[1]
    np.testing.assert_allclose(network.tables[child].dense(), expected, rtol=1e-15)
    assert same(network, parse(network.to_bif()), 1e-15)


def test_a_default_of_nan_is_uniform():
    network = parse(SMALL.replace("(yes) 0.3, 0.3, 0.4", "default nan nan nan"))
    np.testing.assert_allclose(network.tables[1].dense()[1], 1 / 3, rtol=1e-15)


def test_unknown_rows_are_not_observed():
    """They are what an unobserved parent configuration is elsewhere."""
    with pytest.warns(DataWarning):
        network = parse(SMALL.replace("(u, no) 0.5, 0.5", "(u, no) NaN, NaN"))
    assert ("no", "u") not in network.cpt("c").configurations
    assert len(network.cpt("c").configurations) == 5


OTHER_FORMATS = {
    "XMLBIF": '<?xml version="1.0"?>\n<!-- made by pgmpy -->\n<BIF VERSION="0.3">\n<NETWORK>',
    "XDSL": '<?xml version="1.0" encoding="UTF-8"?>\n<smile version="1.0" id="x">\n',
    "XML": "<?xml version='1.0'?><ProbModelXML formatVersion='0.2'>",
    "NET": "% by hand\nnet \n{ \n}\nnode A\n{\n  states = (\"x\" \"y\");\n}\n",
    "NET (Hugin)": "class Untitled {\n  inputs = ();\n",
    "DSL": "/* GeNIe */\nnet Untitled1\n{\n HEADER = \n {\n",
    "UAI": "BAYES\n3\n2 2 3\n3\n",
    "DSC": 'belief network "unknown"\nnode A {\n  type : discrete [ 2 ] = {"x", "y"};\n}\n',
    "DNE": "// ~->[DNET-1]->~\n\n// File created by Netica\nbnet x {\n",
    "JSON": '{"nodes": [], "edges": []}',
    "data of R": "RDX3\nX\n\x00\x00\x00\x03",
}


@pytest.mark.parametrize("name", OTHER_FORMATS)
def test_other_formats_are_named(name):
    text = OTHER_FORMATS[name]
    for file in (io.StringIO(text), io.BytesIO(text.encode()), io.BytesIO(gzip.compress(
            text.encode()))):
        with pytest.raises(ValueError, match=r"line \d: this looks like ") as caught:
            read_bif(file)
        assert f"this looks like {name}" in str(caught.value)
        assert re.search(r"(saveBN|write\.bif|program|Netica)", str(caught.value))


def test_bytes_of_other_formats_are_named():
    named = ((b"PK\x03\x04\xff\xfe", "a zip archive"), (b"RDX3\nX\n\xff", "data of R"))
    for content, name in named:
        with pytest.raises(ValueError, match=f"looks like {name}"):
            read_bif(io.BytesIO(content))


def test_only_what_begins_like_another_format_is_called_one():
    for text in ("nets are nice {", "BAYESIAN network {", "belief net {", "netwrk a {", "", "%"):
        with pytest.raises(ValueError, match="begins with 'network', but here is"):
            parse(text)


def test_rounded_probabilities_are_divided_by_their_sum():
    network = parse(SMALL.replace("0.1, 0.2, 0.7", "0.333, 0.333, 0.333"))
    np.testing.assert_allclose(network.tables[1].dense()[0], 1 / 3, rtol=1e-15)


def test_names_of_several_words():
    text = re.sub(r"\bw\b", "very low", SMALL)
    network = parse(re.sub(r"\ba\b", "my name", text))
    assert network.labels == ("my name", "b", "c")
    assert network.categories[1].tolist() == ["u", "v", "very low"]
    one = parse("network n {} variable a b { type discrete [1] { very low }; }"
                "variable c { type discrete [1] { x }; } probability ( a b ) { table 1; }"
                "probability ( c | a b ) { (very low) 1; }")
    assert one.edges == [("a b", "c")] and one.categories[0].tolist() == ["very low"]


@pytest.mark.parametrize(("old", "new", "line", "reason"), [
    ("network small", "netwrk small", 1, "begins with 'network'"),
    ("{ no, yes }", "{ no, yes, no }", 4, "declares '2' states and lists 3"),
    ("[ 2 ] { no, yes }", "[ 3 ] { no, yes, no }", 4, "two states called 'no'"),
    ("[ 2 ] { no", "[ 1000000000 ] { no", 4, "declares '1000000000' states and lists 2"),
    ("[ 2 ] { no, yes }", "[ 0 ] { }", 4, "no states"),
    ("discrete [ 2 ] { no", "continuous [ 2 ] { no", 4, "not of type discrete"),
    ("  type discrete [ 2 ] { no, yes };\n", "", 3, "has no type"),
    ("variable b", "variable a", 6, "declared a second time"),
    ("variable b {", "variable {", 6, "no name"),
    ("( b | a )", "( d | a )", 15, "no variable is called 'd'"),
    ("( b | a )", "( b | d )", 15, "no variable is called 'd'"),
    ("( b | a )", "( b | b )", 15, "occurs twice"),
    ("( c | b, a )", "( b | a )", 19, "second time"),
    ("(yes) 0.3", "(no) 0.3", 17, "comes twice"),
    ("(yes) 0.3", "(maybe) 0.3", 17, "'a' has no state 'maybe'"),
    ("(yes) 0.3", "(*) 0.3", 17, "comes twice; put rows with '*' before the others"),
    ("(no) 0.1", "(*) 0.3 0.3 0.4; (no) 0.3 0.3 0.4; (no) 0.1", 16, "comes twice."),
    ("(yes) 0.3", "(yes; no) 0.3", 17, "ends with ';' in place of ')'"),
    ("0.1, 0.2, 0.7;", "0.1, 0.2, 0.7", 17, "in place of ';'"),
    ("0.3, 0.3, 0.4", "0.3, NaN, NaN", 17, "a probability is expected, but here is 'NaN'"),
    ("(yes) 0.3", "(yes, no) 0.3", 17, "'a' has no state 'yes no'"),
    ("(u, yes) 1e-05", "(u) 1e-05", 23, "1 states are given for 2 parents"),
    ("  (yes) 0.3, 0.3, 0.4;\n", "", 15, "1 of 2 parent configurations are missing"),
    ("0.3, 0.3, 0.4", "0.3, 0.7", 17, "3 probabilities are expected, but here are 2"),
    ("0.3, 0.3, 0.4", "0.3, 0.3, 0.2, 0.2", 17, "3 probabilities are expected, but here are more"),
    ("0.3, 0.3, 0.4", "0.3, 0.3, 0.3", 17, "have the sum 0.9, not 1"),
    ("0.3, 0.3, 0.4", "-0.3, 0.9, 0.4", 17, "'-0.3' is no probability"),
    ("0.3, 0.3, 0.4", "nan, 0.6, 0.4", 17, "a probability is expected, but here is 'nan'"),
    ("0.3, 0.3, 0.4", "1_0, 0.6, 0.4", 17, "a probability is expected"),
    ("0.3, 0.3, 0.4", "1e999, 0.6, 0.4", 17, "no probability"),
    ("0.3, 0.3, 0.4", "-1e-999, 0.6, 0.4", 17, "no probability"),
    ("0.3, 0.3, 0.4", "1" * 200 + ", 0, 0", 17, "a probability is expected"),
    ("(yes) 0.3", "yes 0.3", 17, "'table', 'default'"),
    ("(yes) 0.3", "default 1 0 0; default 0.3", 17, "a second default"),
    ("(yes) 0.3", "table 0.3", 17, "has rows of its table already"),
    ("probability ( b", "likelihood ( b", 15, "'variable' or 'probability'"),
    ("{ u, v, w }", '{ u, v, "w }', 7, "quoted name does not end"),
    ("{ u, v, w }", "{ u, , w }", 7, "nothing between two commas"),
    ("  table 0.25", "  /* table 0.25", 13, "comment does not end"),
    ("probability ( a ) {\n  table 0.25, 0.75;", "probability ( a | c ) {\n  (0) 0 1; (1) 1 0;",
     12, "'a' -> 'c' -> 'a'"),
    ("probability ( a ) {\n  table 0.25, 0.75;\n}\n", "", 3, "'a' has no probabilities"),
    ("no, yes };", "no, yes };\n  property skbn_states = str:no;", 3, "names 1 states of 2"),
    ("no, yes };", "no, yes };\n  property skbn_states = str:n what:y;", 5, "no name of a type"),
    ("no, yes };", "no, yes };\n  property skbn_states = str:%ff int:5;", 5, "cannot be read"),
    ("no, yes };", "no, yes };\n  property skbn_name = int:5 int:6;", 5, "2 names"),
])
def test_what_is_wrong_is_refused_with_line_and_reason(old, new, line, reason):
    assert SMALL.count(old) >= 1
    with pytest.raises(ValueError, match=re.escape(reason)) as caught:
        parse(SMALL.replace(old, new, 1))
    assert f"line {line}: " in str(caught.value)


def test_labels_made_equal_by_properties_are_refused():
    text = SMALL.replace("no, yes };", "no, yes };\n  property skbn_name = str:b;")
    with pytest.raises(ValueError, match="Two columns are called 'b'"):
        parse(text)


def test_every_truncation_is_refused_or_is_the_whole():
    whole = parse(SMALL)
    for length in range(len(SMALL)):
        if SMALL[length:].strip() in ("", ):
            assert same(whole, parse(SMALL[:length]))
            continue
        with pytest.raises(ValueError, match=r"line \d+: "):
            parse(SMALL[:length])


@pytest.mark.parametrize("name", ["child", "hepar2"])
def test_damaged_files_are_read_or_refused_in_time(shared, name):
    content = gzip.decompress((shared("data/bif") / f"{name}.bif.gz").read_bytes())
    rng = np.random.default_rng(0)
    start = time.process_time()
    for _ in range(60):
        length = rng.integers(len(content)) if rng.random() < 0.3 else len(content)
        damaged = bytearray(content[:length])
        for place in rng.integers(max(len(damaged), 1), size=rng.integers(4)):
            if len(damaged):
                damaged[place] = rng.choice([rng.integers(256), *b'{}()[],;|"/*\n'])
        try:
            read_bif(io.BytesIO(bytes(damaged)))
        except ValueError as error:
            assert re.search(r"line \d+: |Two columns", str(error)), error
    assert time.process_time() - start < 10


@given(st.binary(max_size=200))
@example(b"\x1f\x8b")
@example(b"network{}")
def test_bytes_of_any_kind_are_read_or_refused(content):
    try:
        read_bif(io.BytesIO(content))
    except ValueError as error:
        assert "line" in str(error)


@given(st.lists(st.sampled_from(
    ["network", "variable", "probability", "type", "discrete", "table", "default", "property", "a",
     "b", "{", "}", "(", ")", "[", "]", ",", ";", "|", "2", "0.5", '"', "/*", "//", "\n", " "]
), max_size=40))
def test_words_in_any_order_are_read_or_refused(words):
    try:
        parse("network n {\n}\n" + " ".join(words))
    except ValueError as error:
        assert "line" in str(error)


def many_parents(n_parents, n_states, body):
    states = ", ".join(f"s{i}" for i in range(n_states))
    text = "network n {\n}\n"
    for i in range(n_parents + 1):
        text += f"variable v{i} {{\n  type discrete [ {n_states} ] {{ {states} }};\n}}\n"
    uniform = ", ".join([repr(1 / n_states)] * n_states)
    for i in range(n_parents):
        text += f"probability ( v{i} ) {{\n  table {uniform};\n}}\n"
    given_names = ", ".join(f"v{i}" for i in range(n_parents))
    return text + f"probability ( v{n_parents} | {given_names} ) {{\n{body}\n}}\n"


@pytest.mark.parametrize(("text", "reason"), [
    (many_parents(40, 100, ""), "about 10^80 of about 10^80 parent configurations are missing"),
    (many_parents(40, 100, "  table 0.5;"), "probabilities are expected, but here are 1"),
    (many_parents(40, 3, "  default 0.2, 0.2, 0.6;"), "the default stands for about 10^19"),
    (many_parents(40, 3, f"  ({'*, ' * 39}*) 0.2, 0.2, 0.6;"), "this row stands for about 10^19"),
    (many_parents(13, 3, f"  ({'*, ' * 12}*) 0.2, 0.2, 0.6;" * 2), "this row stands for 1,594,323"),
    ("variable a {" + "\n #" * 10**6, "here is the end of the file"),
    ("#" * 10**6 + "\n" * 10**6 + " " * 10**6, "but here is the end of the file"),
    ("variable a { type discrete [2] {" + "[" * 10**6, "does not end with '}'"),
    ("<" + "<!--" * 10**6, "this looks like XML"),
    ("%" * 10**6 + "\n" * 10**6 + "net" + " " * 10**6, "begins with 'network'"),
    ("variable a { property p = " + "{" * 10**6, "this property ends with '{' in place of ';'"),
    ("network n {\n}\nvariable a {\n  property " + "(" * 10**5, "does not end with ';'"),
    ("network n " + "{" * 10**5, "does not end with '}'"),
    ("network n {\n}\n" + "".join(
        f"variable v{i} {{ type discrete [1] {{ a }}; }}\n" for i in range(10_001)),
     "more than 10,000 variables"),
    ("network n {\n}\nvariable a { type discrete [ 9 ] { " + "x " * 10**5 + "}; }",
     "lists 100,000"),
    ('network n {\n}\n/*' + "*" * 10**5, "does not end"),
    ('network n {\n}\n"' + "x" * 10**5, "does not end"),
    ("network n {\n}\nvariable a { type discrete [ 100001 ] { "
     + " ".join(f"s{i}" for i in range(10**5)) + " s99999 }; }", "two states called 's99999'"),
])
def test_hostile_files_are_refused_in_bounded_time_and_memory(text, reason):
    start = time.process_time()
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=re.escape(reason)):
            parse(text)
        assert tracemalloc.get_traced_memory()[1] < 2e8
    finally:
        tracemalloc.stop()
    assert time.process_time() - start < 10


def test_large_files_and_compressed_ones_that_grow_are_refused(tmp_path):
    bomb = tmp_path / "bomb.bif.gz"
    with gzip.open(bomb, "wb") as file:
        for _ in range(50):
            file.write(bytes(10**6))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"more than max_bytes=1,000,000 bytes"):
            read_bif(bomb, max_bytes=10**6)
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    with pytest.raises(ValueError, match=r"max_bytes=100 "):
        read_bif(io.BytesIO(SMALL.encode()), max_bytes=100)
    assert same(parse(SMALL), read_bif(io.StringIO(SMALL), max_bytes=len(SMALL)))


def test_damaged_compression_and_other_encodings_are_refused(tmp_path):
    content = gzip.compress(SMALL.encode())
    for length in (5, 12, len(content) // 2, len(content) - 4):
        with pytest.raises(ValueError, match=r"line \d+: the gzip compression is damaged"):
            read_bif(io.BytesIO(content[:length]))
    with pytest.raises(ValueError, match=r"line 3: byte 0xe9 is no UTF-8"):
        read_bif(io.BytesIO(SMALL.replace("variable a", "variable é").encode("latin-1")))
    with pytest.raises(TypeError, match="StringIO"):
        read_bif(17)
    for path in (tmp_path / "absent.bif", "network.bif"):
        with pytest.raises(FileNotFoundError):
            read_bif(path)
    for text in (SMALL, "\n" + SMALL, " ".join(SMALL.split()), "some\ntext"):
        with pytest.raises(ValueError, match=r"takes a path or a file; pass io.StringIO\(text\)"):
            read_bif(text)


@pytest.mark.parametrize("name", ["n.bif", "n.bif.gz", "n.GZ"])
def test_files_by_path(tmp_path, name):
    network, path = parse(SMALL), tmp_path / name
    text = network.to_bif(path)
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.lower().endswith("gz")
    assert same(network, read_bif(path))
    assert same(network, read_bif(str(path)))
    before = path.read_bytes()
    network.to_bif(path)
    assert path.read_bytes() == before
    for file in (io.StringIO(), io.BytesIO()):
        network.to_bif(file)
        file.seek(0)
        content = file.read()
        assert (content if isinstance(content, str) else content.decode()) == text


AWKWARD = ["", " ", "very low", '"quoted"', "it's", "<5", ">=7.5", "a/b", "//", "/* x", "é", "中",
           "a,b", "(0,10]", "{x}", "a|b", "x;y", "5", "1e5", "-1", "+", "a\nb", "a\x00", "\ud800",
           "table", "Network", "x" * 500, "table2", "a\\b", "%20", "str:x", "NaN", "A", "a",
           "a_2", "x5"]


def test_keywords_are_no_identifiers():
    """Other readers take them for what they mean, in any case."""
    pd = pytest.importorskip("pandas")
    keywords = ["table", "Default", "NETWORK", "probability", "property", "type", "discrete"]
    X = np.array([keywords, ["variable", *keywords[:6]]], dtype=object)
    network = BayesNetStructureEstimator(max_iter=0).fit(
        pd.DataFrame(X, columns=keywords)).network_
    text = network.to_bif()
    again = read_bif(io.StringIO(text))
    assert list(again.labels) == keywords
    assert [levels.tolist() for levels in again.categories] == [
        levels.tolist() for levels in network.categories]
    used = re.findall(r"^variable (\S+)", text, re.MULTILINE)
    for states in re.findall(r"type discrete \[ \d+ \] { (.*) }", text):
        used += states.split(", ")
    assert len(used) == 21
    assert not {name.lower() for name in used} & {"variable", *map(str.lower, keywords)}


def test_awkward_names_come_back():
    rng = np.random.default_rng(0)
    labels = [*AWKWARD[:12], 5, 2.5, True, "5.0", None]
    categories = [np.array(rng.permutation(AWKWARD)[:4].tolist(), dtype=object) for _ in labels]
    categories[3] = np.array([1, 2, 30])
    categories[4] = np.array([-0.5, 1e300])
    categories[5] = np.array([False, True])
    categories[6] = np.array(["a", 1, 1.5, True, None], dtype=object)
    categories[7] = np.array(AWKWARD, dtype=object)
    network = random_network(rng, labels, categories)
    for default_rows in (False, True):
        text = network.to_bif(default_rows=default_rows)
        again = parse(text)
        assert same(network, again, 1e-15)
        assert list(map(type, again.labels)) == list(map(type, labels))
    assert text.isascii()


@given(st.data())
def test_any_text_comes_back(data):
    names = st.text(st.characters(), max_size=8)
    labels = data.draw(st.lists(names, min_size=1, max_size=4, unique=True))
    categories = [
        np.array(data.draw(st.lists(names, min_size=1, max_size=4, unique=True)), dtype=object)
        for _ in labels
    ]
    network = random_network(np.random.default_rng(0), labels, categories)
    assert same(network, parse(network.to_bif()), 1e-15)


def test_names_of_other_types_are_refused():
    for labels, state in ((["x"], b"bytes"), ([("a", "b")], "s"), (["x"], np.datetime64("2020"))):
        network = random_network(
            np.random.default_rng(0), labels, [np.array([state, "t"], dtype=object)]
        )
        with pytest.raises(TypeError, match="Turn them into text"):
            network.to_bif()


def test_intervals_come_back():
    pd = pytest.importorskip("pandas")
    bins = pd.cut(pd.Series([1.0, 2.0, 5.0, 9.0] * 5, name="size"), 2)
    network = BayesNetStructureEstimator().fit(bins.to_frame()).network_
    text = network.to_bif()
    assert "{ x0_992_5_0, x5_0_9_0 }" in text
    assert same(network, parse(text), 1e-15)
    for interval in (pd.Interval(0, 5), pd.Interval(-1.5, 1e300, closed="both"),
                     pd.Interval(-np.inf, 0.1, closed="left"), pd.Interval(2, 7, closed="neither")):
        network = random_network(
            np.random.default_rng(0), [interval], [np.array([interval, "t"], dtype=object)])
        again = parse(network.to_bif())
        assert same(network, again, 1e-15)
        assert [type(end) for end in (again.labels[0].left, again.labels[0].right)] == [
            type(end) for end in (interval.left, interval.right)]


def test_intervals_of_dates_and_those_without_pandas_are_text(monkeypatch):
    pd = pytest.importorskip("pandas")
    days = pd.interval_range(pd.Timestamp("2020-01-01"), periods=2)
    bins = pd.Series(pd.Categorical([*days] * 3, days, ordered=True), name="day")
    network = BayesNetStructureEstimator().fit(bins.to_frame()).network_
    assert parse(network.to_bif()).categories[0].tolist() == [str(day) for day in days]
    network = BayesNetStructureEstimator().fit(pd.cut(pd.Series([1, 2]), 2).to_frame()).network_
    text = network.to_bif()
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert parse(text).categories[0].tolist() == ["(0.999, 1.5]", "(1.5, 2.0]"]


STATES_OF_FILES = ["Asy/Patch", "<5", "12+", ">=7.5", "[0_1]", "_1_5]", "a|b", "very low", "50%",
                   "1.5", "é", "it's", "lt5", "#5", "*", "a:b", "=", "x" * 300, "5"]


def test_states_from_a_file_go_out_as_they_came(shared):
    text = SMALL.replace("[ 3 ] { u, v, w }", f"[ 19 ] {{ {', '.join(STATES_OF_FILES)} }}")
    numbers = ", ".join(["0.05"] * 18 + ["0.1"])
    text = text.replace("0.1, 0.2, 0.7", numbers).replace("0.3, 0.3, 0.4", numbers)
    text = re.sub(r"  \(u, no\)[^}]*", "  default 0.25, 0.75;\n", text)
    network = parse(text)
    written = network.to_bif()
    listed = re.search(r"variable b \{\n  type discrete \[ 19 \] \{ (.*) \};\n\}", written)[1]
    assert listed.split(", ") == STATES_OF_FILES
    assert "(no, 12+) " in written and "property" not in written
    assert parse(written).to_bif() == written
    assert same(network, parse(written), 1e-15)
    # On request everything is plain, and says what it was.
    plain = network.to_bif(portable=True)
    assert "Asy_Patch, lt5_2, x12plus, ge7_5" in plain
    assert same(network, parse(plain), 1e-15)
    for name in NETWORKS:
        network = read_bif(shared("data/bif") / f"{name}.bif.gz")
        assert "property" not in network.to_bif()


def test_states_that_others_misread_are_plain_also_from_a_file():
    states = ["a,b", "(0", "x;y", "{", "a//b", "# a", "", "two  words", "table2", "Table", "b"]
    quoted = ", ".join(f'"{state}"' for state in states)
    numbers = ", ".join(["0.1"] * 9 + ["0.05"] * 2)
    network = parse("variable a { type discrete [11] { " + quoted + " } } probability (a) { table "
                    + numbers + "}")
    assert network.categories[0].tolist() == states
    written = network.to_bif()
    assert re.search(r"\{ (a_b, .*) \};", written)[1].endswith("two_words, table_2, Table_2, b")
    assert same(network, parse(written), 1e-15)


def test_our_files_keep_their_names_when_read_and_written():
    network = random_network(
        np.random.default_rng(0), ["a b"], [np.array(["< 5", 5, None], dtype=object)])
    text = network.to_bif()
    assert parse(text).to_bif() == text
    assert pickle.loads(pickle.dumps(parse(text))).to_bif() == text


def test_variables_of_one_state_are_left_out_on_request():
    text = SMALL.replace("[ 2 ] { no, yes }", "[ 1 ] { yes }").replace("0.25, 0.75", "1", 1)
    text = re.sub(r"\n  \((\w, )?no\).*", "", text)
    network = parse(text)
    for default_rows in (False, True):
        again = parse(network.to_bif(portable=True, default_rows=default_rows))
        assert again.labels == ("b", "c") and again.edges == [("b", "c")]
        np.testing.assert_allclose(again.tables[0].dense(), [[0.3, 0.3, 0.4]], rtol=1e-15)
        np.testing.assert_allclose(
            again.tables[1].dense(), [[1e-5, 0.99999], [0.125, 0.875], [0.9, 0.1]], rtol=1e-15)
        assert again.log_prob({"b": "v"}) == network.log_prob({"b": "v"})
    assert parse(network.to_bif()).labels == ("a", "b", "c")
    only = parse("variable a { type discrete [1] { x } } probability (a) { table 1 }")
    with pytest.raises(ValueError, match=r"All variables have one state.*Leave portable"):
        only.to_bif(portable=True)
    assert same(only, parse(only.to_bif()))


def test_identifiers_are_plain_and_differ():
    one = np.array(["s"], dtype=object)
    categories = [np.array(AWKWARD, dtype=object), *[one] * (len(AWKWARD) - 1)]
    network = random_network(np.random.default_rng(0), AWKWARD, categories)
    text = network.to_bif(default_rows=True)
    names = re.findall(r"^variable (.*) \{$", text, re.MULTILINE)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names)
    assert len({name.lower() for name in names}) == len(AWKWARD)
    states = re.search(r"\{ (.*) \};", text)[1].split(", ")
    assert len(set(states)) == len(AWKWARD)
    assert all(re.fullmatch(r"-?[0-9]+|[A-Za-z_][A-Za-z0-9_.-]*", state) for state in states)
    # What is plain keeps its name.
    for kept in ("A", "a_2", "x5", "NaN"):
        assert kept in names and kept in states
    assert "table_2" in names and "table_2" in states
    assert "a" in states and "lt5" in states and "-1" in states


def test_probabilities_smaller_than_every_float_stay_possible():
    table = ConditionalTable.from_rows(
        0, (), 3, (), np.zeros((1, 0), np.uint8), np.array([[-900.25, -720.5, np.log1p(-1e-300)]])
    )
    network = BayesianNetwork(["x"], [np.array(["a", "b", "c"], dtype=object)], [table])
    found = parse(network.to_bif()).tables[0].log_probabilities
    np.testing.assert_allclose(found, table.log_probabilities, rtol=1e-14, atol=1e-15)


def test_fitted_networks_come_back(make_table):
    rng = np.random.default_rng(0)
    for kind in ("plain", "unseen+constant", "fractional"):
        codes, cardinalities, weights = make_table(rng, 5, 40, kind)
        data = CategoricalData.from_codes(codes, cardinalities, weights)
        network = BayesianNetwork.from_data(
            data, [(), (0,), (0, 1), (2,), (0, 1, 3)], 1.5,
            labels=list("abcde"), categories=[np.arange(r) for r in cardinalities],
        )
        assert same(network, parse(network.to_bif()), 1e-15)
        again = parse(network.to_bif(default_rows=True))
        for ours, theirs in zip(network.tables, again.tables, strict=True):
            np.testing.assert_array_equal(ours.configurations, theirs.configurations)
            np.testing.assert_allclose(
                ours.log_probabilities, theirs.log_probabilities, rtol=1e-15, atol=1e-15
            )


@pytest.mark.filterwarnings("ignore:The graph has families:skbn.DataWarning")
def test_wide_tables_need_default_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(30, 31))
    edges = [(f"x{i}", "x30") for i in range(30)]
    network = BayesNetStructureEstimator(init=edges, max_iter=0).fit(X).network_
    with pytest.raises(ValueError, match=r"about 10\^19 probabilities.*'x30'.*default_rows=True"):
        network.to_bif()
    again = parse(network.to_bif(default_rows=True))
    assert again.tables[30].n_configurations == 4**30
    np.testing.assert_allclose(again.log_prob_codes(X.T), network.log_prob_codes(X.T), rtol=1e-14)


def test_a_default_alone_and_small_networks():
    network = parse(many_parents(40, 3, f"default {1/3!r} {1/3!r} {1/3!r};"))
    assert network.tables[40].n_configurations == 3**40
    codes = np.zeros((41, 1), dtype=np.uint8)
    np.testing.assert_allclose(network.log_prob_codes(codes), -41 * math.log(3), rtol=1e-12)
    assert parse(SMALL[: SMALL.index("variable b")] + "probability (a) { table 0 1; }").edges == []
    with pytest.raises(ValueError, match=r"line 2: there are no variables"):
        parse("network n {\n}")


def test_a_large_max_bytes_takes_no_memory_for_a_small_file(tmp_path):
    network = BayesNetStructureEstimator().fit([[0, 1], [1, 0]]).network_
    network.to_bif(tmp_path / "small.bif")
    assert read_bif(tmp_path / "small.bif", max_bytes=2**60).edges == network.edges
    assert read_bif(io.StringIO(network.to_bif()), max_bytes=2**60).edges == network.edges


@pytest.mark.parametrize("max_bytes", [0, -1, 1.5, None, "many", math.nan])
def test_a_max_bytes_that_is_no_size_is_refused(max_bytes):
    with pytest.raises((TypeError, ValueError), match="max_bytes"):
        read_bif(io.StringIO("network a {"), max_bytes=max_bytes)


@pytest.mark.parametrize("target", [3, [], b"path"])
def test_where_no_text_can_be_written_is_refused(target):
    network = BayesNetStructureEstimator().fit([[0, 1], [1, 0]]).network_
    with pytest.raises(TypeError, match="path_or_file must be a path or a file object"):
        network.to_bif(target)
