"""Drawing graphs from their exact posterior."""

from collections import defaultdict

import numpy as np

from skbn.posteriors._dag_sums import source_weights
from skbn.posteriors.family_weights import take_out
from skbn.posteriors.graph_sums import GraphSums
from skbn.subsets.parent_sets import bits

# What a set of parents is drawn for: the set it comes from, and a set it must not be within.
_Wanted = dict[tuple[int, int], list[tuple[int, np.ndarray]]]
# No set: nothing came before.
_NONE = -1
_MOST_ATTEMPTS = 10


def sample_dags(sums: GraphSums, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
    """Graphs drawn independently from their posterior, after `GraphSums.sum_dags`.

    As sets of parents, of shape (n_samples, n_variables), by bits.

    Notes
    -----
    A graph falls into layers in one way: a variable is in the first if it has no parents, else in
    the one after the last of its parents' layers (Talvitie, Vuoksenmaa & Koivisto 2019). With the
    layers so far making up U, and all but the last making up U', the next layer is T with a
    probability proportional to ::

        h(U, T) prod over j in T of (A_j(U) - A_j(U')) / A_j(U)
        h(U, T) = (-1)^|T| sum over Y of T and more outside U of
                  (-1)^|Y| B(U + Y) prod over j in Y of A_j(U)

    where h is the weight of all completions in which exactly T have all their parents in U. It
    is worked out once for all graphs that come through U, with its signed terms as pairs of
    doubles. The parents of each j in T are then drawn among the subsets of U that are not within
    U'. There is no Markov chain and nothing is rejected.

    References
    ----------
    T. Talvitie, A. Vuoksenmaa, M. Koivisto. Exact Sampling of Directed Acyclic Graphs from Modular
    Distributions. UAI 2019.
    """
    parents = np.zeros((n_samples, sums.n), dtype=np.int64)
    rows = np.arange(n_samples)
    # Paths of a probability within the rounding, about 1e-16, can lead nowhere.
    for _ in range(_MOST_ATTEMPTS):
        rows = _draw_layers(sums, rows, parents, rng)
        if not len(rows):
            return parents
    raise ArithmeticError(
        f"{len(rows)} of {n_samples} graphs could not be drawn: the sums over graphs have lost "
        "their digits. Please report the table and the score."
    )


def _draw_layers(
    sums: GraphSums, rows: np.ndarray, parents: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Draw all layers, then all parents; the rows that came to an end too early are returned."""
    n = sums.n
    every = 2**n - 1
    # By size of the layers so far: they, then all but the last of them, then which graphs.
    waiting: list[dict[int, dict[int, list[np.ndarray]]]] = [
        defaultdict(lambda: defaultdict(list)) for _ in range(n)
    ]
    waiting[0][0][_NONE] = [rows]
    wanted: _Wanted = defaultdict(list)
    lost = []
    for size in range(n):
        for members in sorted(waiting[size]):
            outside = np.array(list(bits(every ^ members)))
            completions = _source_weights(sums, members, len(outside))
            groups = waiting[size].pop(members)
            for before in sorted(groups):
                weights = completions
                if before != _NONE:
                    weights = completions * _product_of_members(
                        _shares_of_new(sums, outside, members, before)
                    )
                layers, found = _draw(weights, np.sort(np.concatenate(groups[before])), rng)
                if not len(layers):
                    lost.append(found)
                    continue
                for layer, chosen in _groups(layers, found):
                    joining = outside[list(bits(layer))]
                    for child in joining.tolist():
                        wanted[child, members].append((before, chosen))
                    union = members | int(np.bitwise_or.reduce(1 << joining))
                    if union != every:
                        waiting[union.bit_count()][union][members].append(chosen)
    _draw_parents(sums, wanted, parents, rng)
    return np.concatenate(lost) if lost else np.empty(0, dtype=np.int64)


def sample_orders(sums: GraphSums, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
    """The same from the posterior under the order-modular prior: an order, then parents in it."""
    parents = np.zeros((n_samples, sums.n), dtype=np.int64)
    every = 2**sums.n - 1
    waiting: list[dict[int, list[np.ndarray]]] = [defaultdict(list) for _ in range(sums.n + 1)]
    waiting[-1][every].append(np.arange(n_samples))
    wanted: _Wanted = defaultdict(list)
    for size in range(sums.n, 0, -1):
        for members in sorted(waiting[size]):
            inside = np.array(list(bits(members)))
            left = members ^ (1 << inside)
            places = take_out(left, inside)
            orders = sums.below[left] * sums.families[inside, places]
            weights = orders.floats(orders.powers.max())
            rows = np.sort(np.concatenate(waiting[size].pop(members)))
            for place, chosen in _groups(*_draw(weights, rows, rng)):
                wanted[int(inside[place]), int(left[place])].append((_NONE, chosen))
                waiting[size - 1][int(left[place])].append(chosen)
    _draw_parents(sums, wanted, parents, rng)
    return parents


def _source_weights(sums: GraphSums, members: int, n_outside: int) -> np.ndarray:
    """h(U, T) for all T, numbered among the variables outside U."""
    first, second = np.empty((2, 2**n_outside))
    source_weights(
        members, *sums.families, sums.below.powers, sums.above.powers, sums.floor_power,
        sums.high, sums.low, first, second,
    )
    return first


def _shares_of_new(
    sums: GraphSums, outside: np.ndarray, members: int, before: int
) -> np.ndarray:
    """The share of the parent sets within `members` that are not within `before`."""
    shares = np.zeros(len(outside))
    for k, child in enumerate(outside.tolist()):
        whole, part = take_out(members, child), take_out(before, child)
        weights = sums.families[child]
        if weights.mantissas[whole] > 0:
            shares[k] = max(0.0, 1.0 - (weights[part] / weights[whole]).floats())
    return shares


def _product_of_members(factors: np.ndarray) -> np.ndarray:
    """For every subset the product of the factors of its members."""
    products = np.ones(1)
    for factor in factors:
        products = np.concatenate([products, products * factor])
    return products


def _draw(
    weights: np.ndarray, rows: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """One index per row, in proportion to the weights; none if all are 0."""
    sums = np.cumsum(weights)
    if not sums[-1] > 0:
        return np.empty(0, dtype=np.int64), rows
    points = np.minimum(rng.random_sample(len(rows)) * sums[-1], np.nextafter(sums[-1], 0.0))
    return np.searchsorted(sums, points, side="right"), rows


def _groups(values: np.ndarray, rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """The rows of each distinct value."""
    order = np.argsort(values, kind="stable")
    distinct, starts = np.unique(values[order], return_index=True)
    return list(zip(distinct.tolist(), np.split(rows[order], starts[1:]), strict=True))


def _draw_parents(
    sums: GraphSums, wanted: _Wanted, parents: np.ndarray, rng: np.random.RandomState
) -> None:
    for child, members in sorted(wanted):
        subsets = np.zeros(1, dtype=np.int64)
        for variable in bits(members):
            subsets = np.concatenate([subsets, subsets | 1 << variable])
        logs = sums.logs[child, take_out(subsets, child)]
        for before, rows in wanted[child, members]:
            possible = logs
            if before != _NONE:
                possible = np.where(subsets & ~before, logs, -np.inf)
            weights = np.exp(possible - possible.max())
            chosen, _ = _draw(weights, rows, rng)
            parents[rows, child] = subsets[chosen]

