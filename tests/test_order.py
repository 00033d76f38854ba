import pytest

from skbn.order import topological_order


def test_parents_come_first_and_the_lowest_index_where_there_is_a_choice():
    assert topological_order([(), (3,), (), (0,)]) == [0, 2, 3, 1]
    assert topological_order([]) == []


def test_a_cycle_is_named():
    # 4 hangs on the cycle and 0 is before it: neither belongs to it.
    parents = [(), (0, 3), (1,), (2,), (3,)]
    with pytest.raises(ValueError, match=r"cycle: 'B' -> 'C' -> 'D' -> 'B'\."):
        topological_order(parents, "ABCDE")
    with pytest.raises(ValueError, match=r"cycle: 0 -> 0\."):
        topological_order([(0,)])
