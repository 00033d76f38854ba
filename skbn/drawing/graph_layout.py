"""Where the nodes of a graph are drawn, layer by layer, and along which curves its edges run.

The layered drawing of Sugiyama, Tagawa and Toda (1981): nodes are put on layers so that edges run
downwards; an edge that passes a layer gets a place of its own there, so that it runs through no
node; sweeps of barycentres reduce the crossings; and positions within the layers make edges as
straight as the order and the distances allow. Everything is deterministic. Lengths are in points.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skbn.drawing.layer_rows import NODE_GAP, NODE_HEIGHT, LayerRows
from skbn.drawing.layering import ASPECT, layers_of, without_cycles

_LAYER_GAP, _LARGEST_GAP = 30.0, 110.0
_COMPONENT_GAP = 30.0
_PORT_STEP = 9.0


@dataclass(frozen=True, eq=False)
class GraphLayout:
    """A drawing of a graph: y grows downwards.

    Attributes
    ----------
    centres : ndarray of shape (n_nodes, 2)
        Of the nodes.
    widths : ndarray of shape (n_nodes,)
        Of the nodes; all are `NODE_HEIGHT` high.
    curves : list of ndarray of shape (3 k + 1, 2)
        Of each edge, from parent to child: a start, then k cubic Bezier pieces of two control
        points and an end each.
    size : tuple of float
        Width and height of the whole.
    """

    centres: np.ndarray
    widths: np.ndarray
    curves: list[np.ndarray]
    size: tuple[float, float]


def lay_out(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> GraphLayout:
    """Lay out a graph.

    Parameters
    ----------
    widths : sequence of float
        Of the nodes, in points.
    edges : sequence of (parent, child)
        By index. An edge that would close a cycle with those before it runs upwards.

    Examples
    --------
    >>> layout = lay_out([30.0, 40.0, 30.0], [(0, 1), (1, 2)])
    >>> layout.centres[:, 1]
    array([ 11.,  63., 115.])
    """
    widths = np.asarray(widths, dtype=np.float64)
    parts = _components(len(widths), edges)
    drawings = []
    for nodes in parts:
        index = {node: place for place, node in enumerate(nodes)}
        own = [(index[a], index[b]) for a, b in edges if a in index]
        drawings.append(_draw_component(widths[nodes], own))
    centres = np.zeros((len(widths), 2))
    curves: dict[tuple[int, int], np.ndarray] = {}
    corners, size = _pack([drawing.size for drawing in drawings])
    for nodes, drawing, corner in zip(parts, drawings, corners, strict=True):
        inside = set(nodes)
        centres[nodes] = drawing.centres + corner
        own = [edge for edge in edges if edge[0] in inside]
        curves.update({
            edge: curve + corner for edge, curve in zip(own, drawing.curves, strict=True)
        })
    return GraphLayout(centres, widths, [curves[edge] for edge in edges], size)


def _components(n: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Connected nodes, the largest group first, else in order."""
    group = list(range(n))
    members = [[node] for node in range(n)]
    for a, b in edges:
        large, small = sorted((group[a], group[b]), key=lambda g: (-len(members[g]), g))
        if large != small:
            for node in members[small]:
                group[node] = large
            members[large] += members[small]
            members[small] = []
    parts = [sorted(nodes) for nodes in members if nodes]
    return sorted(parts, key=lambda nodes: (-len(nodes), nodes))


def _pack(sizes: list[tuple[float, float]]) -> tuple[list[np.ndarray], tuple[float, float]]:
    """Corners of boxes that stand in rows, as text does, and the size of all."""
    if not sizes:
        return [], (0.0, 0.0)
    area = sum((w + _COMPONENT_GAP) * (h + _COMPONENT_GAP) for w, h in sizes)
    limit = max((area * ASPECT) ** 0.5, max(w for w, _ in sizes), 300.0)
    corners, x, y, row, right = [], 0.0, 0.0, 0.0, 0.0
    for width, height in sizes:
        if x and x + width > limit:
            x, y, row = 0.0, y + row + _COMPONENT_GAP, 0.0
        corners.append(np.array([x, y]))
        right = max(right, x + width)
        x += width + (_COMPONENT_GAP if height > NODE_HEIGHT else NODE_GAP)
        row = max(row, height)
    return corners, (right, y + row)


def _draw_component(widths: np.ndarray, edges: list[tuple[int, int]]) -> GraphLayout:
    downward = without_cycles(len(widths), edges)
    layer = layers_of(widths, downward)
    layers = LayerRows(widths, layer, downward)
    layers.reduce_crossings()
    x = layers.coordinates()
    half = np.array(layers.widths) / 2
    x -= (x - half).min()
    steps = np.zeros(len(layers.rows) - 1)
    for chain in layers.chains:
        for upper, lower in itertools.pairwise(chain):
            number = layers.layer[upper]
            steps[number] = max(steps[number], abs(x[upper] - x[lower]))
    gaps = np.clip(_LAYER_GAP + 0.16 * steps, _LAYER_GAP, _LARGEST_GAP)
    y = NODE_HEIGHT / 2 + np.concatenate([[0.0], np.cumsum(NODE_HEIGHT + gaps)])
    n = len(widths)
    centres = np.column_stack([x[:n], y[layer]])
    starts, ends = _ports(layers, x)
    curves = []
    for place, (edge, given) in enumerate(zip(downward, edges, strict=True)):
        curve = _curve(layers, layers.chains[place], x, y, starts[place], ends[place])
        curves.append(curve if edge == given else curve[::-1])
    size = float((x + half).max()), float(y[-1] + NODE_HEIGHT / 2)
    return GraphLayout(centres, widths, curves, size)


def _ports(layers: LayerRows, x: np.ndarray) -> tuple[list[float], list[float]]:
    """Where each edge leaves its upper node and meets its lower one, horizontally."""
    n_edges = len(layers.chains)
    starts, ends = [0.0] * n_edges, [0.0] * n_edges
    for at_end, ports in ((False, starts), (True, ends)):
        meeting: dict[int, list[int]] = {}
        for edge, chain in enumerate(layers.chains):
            meeting.setdefault(chain[-1 if at_end else 0], []).append(edge)
        for node, own in meeting.items():
            own.sort(key=lambda edge: x[layers.chains[edge][-2 if at_end else 1]])
            step = min(_PORT_STEP, 0.7 * layers.widths[node] / max(len(own) - 1, 1))
            for rank, edge in enumerate(own):
                ports[edge] = x[node] + (rank - (len(own) - 1) / 2) * step
    return starts, ends


def _curve(
    layers: LayerRows, chain: list[int], x: np.ndarray, y: np.ndarray, start: float, end: float
) -> np.ndarray:
    """Straight down past every layer on the way, and curved between the layers."""
    half = NODE_HEIGHT / 2
    points = [np.array([start, y[layers.layer[chain[0]]] + half])]
    for place in chain[1:-1]:
        centre = y[layers.layer[place]]
        points += [np.array([x[place], centre - half]), np.array([x[place], centre + half])]
    points.append(np.array([end, y[layers.layer[chain[-1]]] - half]))
    curve = [points[0]]
    for upper, lower in itertools.pairwise(points):
        bend = np.array([0.0, 0.5 * (lower[1] - upper[1])])
        curve += [upper + bend, lower - bend, lower]
    return np.array(curve)
