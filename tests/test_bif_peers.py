"""Other programs read the BIF files that we write."""

import io
import re

import numpy as np
import pytest

from skbn import read_bif
from skbn.networks.network import BayesianNetwork
from skbn.parameters.conditional_table import ConditionalTable

PLAIN = ["asia", "alarm", "insurance", "sachs"]


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


@pytest.mark.parametrize("name", [*PLAIN, ""])
@pytest.mark.filterwarnings("default")
def test_pgmpy_reads_what_we_write(shared, name):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    network = network_of(shared, name)
    text = network.to_bif()
    names = plain_names(text)
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
