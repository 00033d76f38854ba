"""Tables for the benchmarks: sampled, with a fixed seed, from networks of known structure."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import skbn


class Node(NamedTuple):
    """A variable; P(state | parents) has an axis per parent, in order, and its own axis last."""

    name: str
    states: list[str]
    parents: list[str]
    probabilities: np.ndarray


def read_bif(path: Path) -> list[Node]:
    """The variables of a BIF file, in the file's order."""
    network = skbn.read_bif(path)
    return [
        Node(
            label,
            levels.tolist(),
            network.parents(label),
            table.dense().reshape(*table.parent_cardinalities, table.cardinality),
        )
        for label, levels, table in zip(
            network.labels, network.categories, network.tables, strict=True
        )
    ]


def sparse_network(n_columns: int, seed: int) -> list[Node]:
    """A random network: two or three states, none to two parents, rows uniform on the simplex."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, n_columns)
    order = rng.permutation(n_columns)
    nodes: dict[int, Node] = {}
    for place, column in enumerate(order):
        parents = rng.choice(order[:place], min(place, rng.integers(0, 3)), replace=False)
        shape = sizes[parents]
        probabilities = rng.dirichlet(np.ones(sizes[column]), tuple(shape))
        names = [f"c{parent}" for parent in parents]
        nodes[column] = Node(f"c{column}", list("abc"[: sizes[column]]), names, probabilities)
    return [nodes[column] for column in range(n_columns)]


def sample(nodes: list[Node], n_rows: int, seed: int) -> pd.DataFrame:
    """Rows of a network by ancestral sampling, as text categories.

    Levels that do not occur are dropped: not every library can be told of them, and all are to
    do the same work.
    """
    rng = np.random.default_rng(seed)
    codes: dict[str, np.ndarray] = {}
    waiting = list(nodes)
    while waiting:
        ready = [node for node in waiting if all(parent in codes for parent in node.parents)]
        if not ready:
            raise ValueError("the network has a cycle")
        for node in ready:
            codes[node.name] = _sample_node(node, codes, n_rows, rng)
        waiting = [node for node in waiting if node.name not in codes]
    return pd.DataFrame({node.name: _categorical(codes[node.name], node.states) for node in nodes})


def read_text_table(path: Path, n_columns: int) -> pd.DataFrame:
    """The first columns of a CSV file, as text categories."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False).iloc[:, :n_columns]
    columns = {}
    for name in table:
        states, codes = np.unique(table[name].to_numpy(dtype=object), return_inverse=True)
        columns[name] = _categorical(codes, list(states))
    return pd.DataFrame(columns)


def _sample_node(
    node: Node, codes: dict[str, np.ndarray], n_rows: int, rng: np.random.Generator
) -> np.ndarray:
    configuration = np.zeros(n_rows, dtype=np.int64)
    for parent, size in zip(node.parents, node.probabilities.shape, strict=False):
        configuration = configuration * size + codes[parent]
    bounds = node.probabilities.reshape(-1, len(node.states)).cumsum(axis=1)
    drawn = rng.random(n_rows)
    state = np.zeros(n_rows, dtype=np.int8)
    for bound in bounds.T[:-1]:
        state += drawn >= bound[configuration]
    return state


def _categorical(codes: np.ndarray, states: list[str]) -> pd.Categorical:
    levels = pd.Index(states, dtype=object)
    return pd.Categorical.from_codes(codes, categories=levels).remove_unused_categories()
