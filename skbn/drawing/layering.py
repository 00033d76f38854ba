"""On which layer the nodes of a drawn graph stand."""

import numpy as np

from skbn.drawing.layer_rows import NODE_GAP, NODE_HEIGHT

# The height that a layer takes, and the width over the height that a drawing aims at.
_LAYER_HEIGHT = NODE_HEIGHT + 60.0
ASPECT = 1.7
_LEAST_LIMIT = 540.0


def without_cycles(n: int, edges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges, those turned that would close a cycle with those before them."""
    reaches = np.eye(n, dtype=bool)
    result = []
    for a, b in edges:
        if reaches[b, a]:
            a, b = b, a
        result.append((a, b))
        if not reaches[a, b]:
            reaches[np.ix_(reaches[:, a], reaches[b])] = True
    return result


def layers_of(widths: np.ndarray, edges: list[tuple[int, int]]) -> np.ndarray:
    """The layer of each node: after its parents, near its neighbours, no layer too wide."""
    n = len(widths)
    parents: list[list[int]] = [[] for _ in range(n)]
    children: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        parents[b].append(a)
        children[a].append(b)
    order = _downward_order(parents, children)
    layer = np.zeros(n, dtype=int)
    for node in order:
        layer[node] = max((layer[p] + 1 for p in parents[node]), default=0)
    _shorten_edges(layer, order, parents, children)
    # Wide layers give their nodes without children to the next ones.
    area = float((widths + NODE_GAP).sum()) * _LAYER_HEIGHT
    limit = max((area * ASPECT) ** 0.5, _LEAST_LIMIT, float(widths.max()) * 2)
    height = np.zeros(n, dtype=int)
    for node in reversed(order):
        height[node] = max((height[c] + 1 for c in children[node]), default=0)
    number = 0
    while number <= layer.max():
        row = sorted(np.flatnonzero(layer == number), key=lambda node: (-height[node], node))
        taken = np.cumsum(widths[row] + NODE_GAP)
        for node in np.array(row)[taken > limit].tolist():
            layer[node] += 1
        for node in order:
            layer[node] = max([layer[node], *(layer[p] + 1 for p in parents[node])])
        number += 1
    return layer


def _downward_order(parents: list[list[int]], children: list[list[int]]) -> list[int]:
    open_parents = [len(own) for own in parents]
    order = [node for node, number in enumerate(open_parents) if number == 0]
    for node in order:
        for child in children[node]:
            open_parents[child] -= 1
            if open_parents[child] == 0:
                order.append(child)
    return order


def _shorten_edges(
    layer: np.ndarray, order: list[int], parents: list[list[int]], children: list[list[int]]
) -> None:
    """Move nodes within their bounds while that makes the edges shorter in sum."""
    for _ in range(len(order)):
        changed = False
        for node in reversed(order):
            pull = len(children[node]) - len(parents[node])
            if pull > 0 and children[node]:
                wanted = min(layer[c] for c in children[node]) - 1
            elif pull < 0:
                wanted = max(layer[p] for p in parents[node]) + 1
            else:
                continue
            if wanted != layer[node]:
                layer[node] = wanted
                changed = True
        if not changed:
            return
