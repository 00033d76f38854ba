import numpy as np
import pandas as pd
import pytest

from skbn.inference.conditional_table import ConditionalTable
from skbn.networks.probability_table import CPT


def make(states, parents, configurations, sizes, probabilities=None):
    """P(x | parents); names of configurations stand for the first that there are."""
    if probabilities is None:
        probabilities = np.full((len(configurations), len(states)), 1 / len(states))
    codes = np.zeros((len(configurations), len(sizes)), dtype=np.uint8)
    codes[:, -1:] = np.arange(len(codes))[:, None]
    places = tuple(range(1, 1 + len(sizes)))
    table = ConditionalTable.from_rows(
        0, places, len(states), sizes, codes, np.log(probabilities)
    )
    return CPT("x", np.array(states), parents, configurations, table)


def test_reads_as_a_table():
    probabilities = np.array([[0.99999, 0.00001], [0.9, 0.1]])
    configurations = [("never", 0), ("often", 1)]
    cpt = make(["no", "yes"], ("smoke", 7), configurations, (2, 2), probabilities)
    assert str(cpt) == repr(cpt) == (
        "P(x | smoke, 7)\n"
        "smoke  7      no     yes\n"
        "never  0  1.0000   1e-05\n"
        "often  1  0.9000  0.1000\n"
        "2 of 4 configurations were not observed: each state has probability 0.5000 there"
    )


def test_reads_without_parents():
    assert str(make(["a", "b"], (), [()], ())) == "P(x)\n     a       b\n0.5000  0.5000"


def test_long_tables_are_cut():
    sizes = (20,) * 199 + (50,)
    # 20^199 50 = 10^260.6
    text = str(make(list(range(40)), ("p",), [(i,) for i in range(50)], sizes))
    lines = text.splitlines()
    assert len(lines) == 1 + 1 + 30 + 2
    assert all(line.endswith("...") for line in lines[1:32])
    assert lines[-2] == "... 20 more observed configurations; to_frame() has them all"
    assert lines[-1].startswith("about 10^261 of about 10^261 configurations were not observed")


@pytest.mark.parametrize(
    ("parents", "configurations", "sizes", "index"),
    [
        ((), [()], (), pd.RangeIndex(1)),
        (("p",), [("u",), ("v",)], (9,), pd.Index(["u", "v"], name="p")),
        (
            ("p", 3),
            [("u", 0), ("v", 1)],
            (3, 3),
            pd.MultiIndex.from_tuples([("u", 0), ("v", 1)], names=["p", 3]),
        ),
    ],
)
def test_to_frame(parents, configurations, sizes, index):
    frame = make(["a", "b"], parents, configurations, sizes).to_frame()
    pd.testing.assert_index_equal(frame.index, index)
    pd.testing.assert_index_equal(frame.columns, pd.Index(["a", "b"], name="x"))
    assert (frame.to_numpy() == 0.5).all()
