"""Other programs read the BIF files that we write."""

import io
import re

import numpy as np
import pytest

from skbn import read_bif
from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.network import BayesianNetwork

PLAIN = ["asia", "alarm", "insurance", "sachs"]
# As R's bnlearn writes factors that cut() made, and as people name states.
SIGNS = """network unknown {
}
variable A {
  type discrete [ 7 ] { _0_3], [3_6], a|b, Asy/Patch, <5, 12+, very low };
}
variable B {
  type discrete [ 1 ] { only };
}
variable C {
  type discrete [ 2 ] { >=7.5, % };
}
probability ( A ) {
  table 0.1, 0.1, 0.1, 0.1, 0.1, 0.25, 0.25;
}
probability ( B ) {
  table 1.0;
}
probability ( C | B, A ) {
  (only, _0_3]) 1.0, 0.0;
  (only, [3_6]) 0.5, 0.5;
  (only, a|b) 0.125, 0.875;
  (only, Asy/Patch) 0.75, 0.25;
  (only, <5) 0.0625, 0.9375;
  (only, 12+) 0.4, 0.6;
  (only, very low) 0.3, 0.7;
}
"""


def awkward_network():
    """Three variables whose names and states no other program takes as they are."""
    states = [["< 5", ">= 5 %", ""], ["a,b", "(0,1]"], [1, 2, 3], ["a;b", "//", "{}"]]
    rng, table = np.random.default_rng(0), ConditionalTable.from_rows
    tables = [
        table(0, (), 3, (), np.zeros((1, 0), np.uint8), np.log([[0.5, 0.3, 0.2]])),
        table(1, (0,), 2, (3,), np.array([[1]], np.uint8), np.log([[0.9, 0.1]])),
        table(2, (0, 1), 3, (3, 2), np.array([[0, 1], [2, 0]], np.uint8),
              np.log(rng.dirichlet(np.ones(3), 2))),
        table(3, (2,), 3, (3,), np.arange(3, dtype=np.uint8)[:, None],
              np.log(rng.dirichlet(np.ones(3), 3))),
    ]
    labels = ["table", "an \"ü\"|{}", 7, "Table"]
    return BayesianNetwork(labels, [np.array(s, dtype=object) for s in states], tables)


def network_of(shared, name):
    if name == "signs":
        return read_bif(io.StringIO(SIGNS))
    return read_bif(shared("data/bif") / f"{name}.bif.gz") if name else awkward_network()


def plain_names(text):
    """The names of the variables and of their states, in the file's order."""
    found = re.findall(r"variable (\S+) \{\n  type discrete \[ \d+ \] \{ (.*) \};", text)
    return {name: states.split(", ") for name, states in found}


def our_table(network, place):
    """P(child | parents) with the parents' axes first, in the order of `parents`."""
    table = network.tables[place]
    return table.dense().reshape(*table.parent_cardinalities, table.cardinality)


@pytest.mark.parametrize("name", [*PLAIN, ""])
def test_pyagrum_reads_what_we_write(shared, tmp_path, name):
    gum = pytest.importorskip("pyagrum")
    network = network_of(shared, name)
    text = network.to_bif(tmp_path / "n.bif")
    names = plain_names(text)
    read = gum.loadBN(str(tmp_path / "n.bif"))
    assert set(read.names()) == set(names)
    assert read.sizeArcs() == len(network.edges)
    for place, (child, states) in enumerate(names.items()):
        assert list(read.variable(child).labels()) == states
        parents = [list(names)[p] for p in network.parent_indices[place]]
        # pyAgrum's axes are in the opposite order; it reads single precision.
        found = read.cpt(child).reorganize([child, *parents[::-1]]).toarray()
        np.testing.assert_allclose(found, our_table(network, place), atol=1e-7)


def test_pyagrum_reads_what_is_portable(shared, tmp_path):
    """It refuses such names, and variables of one state, wherever they come from."""
    gum = pytest.importorskip("pyagrum")
    for name, n_variables in (("signs", 2), ("child", 20)):
        network = network_of(shared, name)
        text = network.to_bif(tmp_path / "n.bif")
        with pytest.raises(gum.GumException):
            gum.loadBN(str(tmp_path / "n.bif"))
        text = network.to_bif(tmp_path / "n.bif", portable=True)
        names = plain_names(text)
        read = gum.loadBN(str(tmp_path / "n.bif"))
        assert set(read.names()) == set(names) and len(names) == n_variables
        for child, states in names.items():
            assert list(read.variable(child).labels()) == states
            place = network.labels.index(child)
            parents = [network.labels[p] for p in network.parent_indices[place]
                       if network.labels[p] in names]
            found = read.cpt(child).reorganize([child, *parents[::-1]]).toarray()
            expected = our_table(network, place).reshape(found.shape)
            np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("rows", [
    "(yes, *) 0.1, 0.9; (no, *) 0.3, 0.7;",
    "(yes, *) 0.1, 0.9; (yes, u) 0.6, 0.4; (no, *) 0.3, 0.7;",
    "(yes, *) 0.1, 0.9; (*, u) 0.6, 0.4; (no, v) 0.3, 0.7;",
    "(*, *) 0.1, 0.9; (*, u) 0.6, 0.4; (no, v) 0.3, 0.7;",
    "default 0.2, 0.8; (yes, *) 0.1, 0.9; (yes, v) 0.5, 0.5;",
])
def test_stars_mean_what_pyagrum_takes_them_for(tmp_path, rows):
    gum = pytest.importorskip("pyagrum")
    text = "network n { }"
    for name, states in (("a", "no, yes"), ("b", "u, v"), ("c", "0, 1")):
        text += f"variable {name} {{ type discrete [2] {{ {states} }}; }}\n"
    text += "probability (a) { table 0.5, 0.5; } probability (b) { table 0.5, 0.5; }\n"
    text += f"probability (c | a, b) {{ {rows} }}\n"
    (tmp_path / "n.bif").write_text(text)
    read = gum.loadBN(str(tmp_path / "n.bif"))
    found = read.cpt("c").reorganize(["c", "b", "a"]).toarray()
    np.testing.assert_allclose(our_table(read_bif(tmp_path / "n.bif"), 2), found, atol=1e-7)


@pytest.mark.parametrize("name", [*PLAIN, "child", "hepar2", "signs", ""])
@pytest.mark.filterwarnings("default")
def test_pgmpy_reads_what_we_write(shared, name):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    network = network_of(shared, name)
    text = network.to_bif()
    names = plain_names(text)
    if name in ("child", "signs"):
        assert "Asy/Patch" in str(names) and "<5" in str(names)
    model = readwrite.BIFReader(string=text).get_model()
    assert set(model.nodes) == set(names)
    assert len(model.edges) == len(network.edges)
    for place, (child, states) in enumerate(names.items()):
        found = model.get_cpds(child)
        assert found.state_names[child] == states
        parents = [list(names)[p] for p in network.parent_indices[place]]
        axes = [found.variables.index(variable) for variable in (*parents, child)]
        np.testing.assert_allclose(
            found.values.transpose(axes), our_table(network, place), rtol=1e-14
        )


@pytest.mark.filterwarnings("default")
def test_we_read_what_pgmpy_writes_of_names_with_signs():
    readwrite = pytest.importorskip("pgmpy.readwrite")
    ours = read_bif(io.StringIO(SIGNS))
    model = readwrite.BIFReader(string=SIGNS).get_model()
    again = read_bif(io.StringIO(str(readwrite.BIFWriter(model))))
    for first, second in zip(ours.categories, again.categories, strict=True):
        assert first.tolist() == second.tolist()
    for first, second in zip(ours.tables, again.tables, strict=True):
        np.testing.assert_allclose(first.dense(), second.dense(), rtol=1e-14)


@pytest.mark.filterwarnings("default")
def test_we_read_what_pgmpy_and_pyagrum_write(shared, tmp_path):
    gum, readwrite = pytest.importorskip("pyagrum"), pytest.importorskip("pgmpy.readwrite")
    network = network_of(shared, "asia")
    text = network.to_bif(tmp_path / "n.bif")
    gum.saveBN(gum.loadBN(str(tmp_path / "n.bif")), str(tmp_path / "gum.bif"))
    pgmpy = str(readwrite.BIFWriter(readwrite.BIFReader(string=text).get_model()))
    for again in (read_bif(tmp_path / "gum.bif"), read_bif(io.StringIO(pgmpy))):
        assert set(again.edges) == set(network.edges)
        rows = np.random.default_rng(0).integers(2, size=(8, 20)).astype(np.uint8)
        places = [network.labels.index(label) for label in again.labels]
        for label, levels in zip(again.labels, again.categories, strict=True):
            place = network.labels.index(label)
            assert levels.tolist() == network.categories[place].tolist()
        np.testing.assert_allclose(
            np.exp(again.log_prob_codes(rows[places])), np.exp(network.log_prob_codes(rows)),
            atol=1e-6,
        )
