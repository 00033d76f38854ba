"""Where the nodes and edges of a drawing go: layers, orders within them, coordinates."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression, linprog
from scipy.sparse import csr_array

# In points.
NODE_HEIGHT, NODE_GAP = 22.0, 14.0
# The height that a layer takes, and the width over the height that a drawing aims at.
_LAYER_HEIGHT = NODE_HEIGHT + 60.0
ASPECT = 1.7
_LEAST_LIMIT = 540.0
_LANE_GAP, _LANE_WIDTH = 7.0, 4.0
_SWEEPS, _CENTRE_ROUNDS = 24, 6
_MOST_LANES = 20_000
_LAYER_GAP, _LARGEST_GAP = 30.0, 110.0
_COMPONENT_GAP = 30.0
_PORT_STEP = 9.0


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


class LayerRows:
    """The nodes of a component and the lanes of its edges, layer by layer.

    Nodes are numbered as given, then come the lanes: one for every layer that an edge passes.
    """

    def __init__(self, widths: np.ndarray, layer: np.ndarray, edges: list[tuple[int, int]]) -> None:
        self.n_nodes = len(widths)
        self.widths = widths.tolist()
        self.layer = layer.tolist()
        # Per edge all places from top to bottom.
        self.chains: list[list[int]] = []
        for a, b in edges:
            chain = [a]
            for passed in range(self.layer[a] + 1, self.layer[b]):
                chain.append(len(self.layer))
                self.layer.append(passed)
                self.widths.append(_LANE_WIDTH)
            self.chains.append([*chain, b])
            if len(self.layer) - self.n_nodes > _MOST_LANES:
                raise ValueError(
                    f"{len(edges):,} edges among {self.n_nodes} nodes are too dense to draw. Draw "
                    "some of them: pass a list of edges."
                )
        n = len(self.layer)
        self.above: list[list[int]] = [[] for _ in range(n)]
        self.below: list[list[int]] = [[] for _ in range(n)]
        for chain in self.chains:
            for upper, lower in itertools.pairwise(chain):
                self.below[upper].append(lower)
                self.above[lower].append(upper)
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        self._order_by_visit()

    def _order_by_visit(self) -> None:
        """A first order: neighbours one after another, from the first node on."""
        seen: set[int] = set()
        for root in sorted(range(len(self.layer)), key=lambda place: (self.layer[place], place)):
            waiting = [root]
            while waiting:
                place = waiting.pop()
                if place in seen:
                    continue
                seen.add(place)
                self.rows[self.layer[place]].append(place)
                waiting += [*self.above[place][::-1], *self.below[place][::-1]]

    def reduce_crossings(self) -> None:
        """Sweep down and up, and keep the order with the fewest crossings."""
        best, fewest = [list(row) for row in self.rows], self.count_crossings()
        for sweep in range(_SWEEPS):
            if fewest == 0:
                break
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            numbers = range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1)
            for number in numbers:
                self._sort_row(number, neighbours)
            if sweep % 4 >= 2:
                self._exchange()
            crossings = self.count_crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best
        self._exchange()

    def _places(self) -> list[float]:
        at = [0.0] * len(self.layer)
        for row in self.rows:
            for rank, place in enumerate(row):
                at[place] = rank
        return at

    def _sort_row(self, number: int, neighbours: list[list[int]]) -> None:
        at = self._places()
        row = self.rows[number]
        centre = {
            place: sum(at[other] for other in neighbours[place]) / len(neighbours[place])
            if neighbours[place] else at[place]
            for place in row
        }
        row.sort(key=lambda place: (centre[place], at[place]))

    def _exchange(self) -> None:
        """Exchange neighbours of a row wherever that takes crossings away."""
        at = self._places()
        for _ in range(8):
            changed = False
            for row in self.rows:
                for rank in range(len(row) - 1):
                    left, right = row[rank], row[rank + 1]
                    gain = 0
                    for neighbours in (self.above, self.below):
                        first = [at[other] for other in neighbours[left]]
                        second = [at[other] for other in neighbours[right]]
                        gain += sum((a > b) - (a < b) for a in first for b in second)
                    if gain > 0:
                        row[rank], row[rank + 1] = right, left
                        at[left], at[right] = at[right], at[left]
                        changed = True
            if not changed:
                return

    def count_crossings(self) -> int:
        at = self._places()
        total = 0
        for row in self.rows[:-1]:
            ends = [
                at[other]
                for place in row
                for other in sorted(self.below[place], key=at.__getitem__)
            ]
            ends = np.array(ends)
            total += int(np.triu(ends[:, None] > ends[None, :], 1).sum())
        return total

    def coordinates(self) -> np.ndarray:
        """Horizontal positions that make edges straight, in order and at a distance."""
        x = self._straight()
        # That leaves nodes anywhere between their neighbours: real ones go to the middle.
        for _ in range(_CENTRE_ROUNDS):
            for row in self.rows:
                self._centre(row, x)
        return x

    def _straight(self) -> np.ndarray:
        """The least sum of weighted horizontal distances along edges, as a linear program."""
        links = [pair for chain in self.chains for pair in itertools.pairwise(chain)]
        n, m = len(self.layer), len(links)
        if not m:
            return np.zeros(n)
        # Lanes hold together, so that long edges are straight.
        prices = [(1.0, 2.0, 8.0)[(a >= self.n_nodes) + (b >= self.n_nodes)] for a, b in links]
        neighbours = [pair for row in self.rows for pair in itertools.pairwise(row)]
        a, b = np.array(links).T
        number = np.arange(m)
        left, right = np.array(neighbours, dtype=int).reshape(-1, 2).T
        rows = np.concatenate([
            np.tile(number, 3), np.tile(m + number, 3), np.tile(2 * m + np.arange(len(left)), 2)
        ])
        columns = np.concatenate([a, b, n + number, b, a, n + number, left, right])
        ones, apart = np.ones(m), np.ones(len(left))
        entries = np.concatenate([ones, -ones, -ones, ones, -ones, -ones, apart, -apart])
        bounds = np.concatenate([np.zeros(2 * m), [-self._distance(*p) for p in neighbours]])
        found = linprog(
            np.concatenate([np.zeros(n), prices]),
            A_ub=csr_array((entries, (rows, columns)), shape=(2 * m + len(left), n + m)),
            b_ub=bounds,
            bounds=[(0, None)] * (n + m),
            method="highs-ds",
        )
        return found.x[:n]

    def _distance(self, left: int, right: int) -> float:
        lanes = (left >= self.n_nodes) + (right >= self.n_nodes)
        gap = (NODE_GAP, 0.5 * (NODE_GAP + _LANE_GAP), _LANE_GAP)[lanes]
        return 0.5 * (self.widths[left] + self.widths[right]) + gap

    def _centre(self, row: list[int], x: np.ndarray) -> None:
        """Move the nodes of a row to the mean of their neighbours, as far as the lanes allow."""
        start = 0
        while start < len(row):
            if row[start] >= self.n_nodes:
                start += 1
                continue
            stop = start
            while stop < len(row) and row[stop] < self.n_nodes:
                stop += 1
            run = row[start:stop]
            offset = np.cumsum([0.0, *map(self._distance, run, run[1:])])
            low = x[row[start - 1]] + self._distance(row[start - 1], run[0]) if start else -np.inf
            high = np.inf
            if stop < len(row):
                high = x[row[stop]] - self._distance(run[-1], row[stop])
            wanted = []
            for place in run:
                others = [*self.above[place], *self.below[place]]
                wanted.append(np.mean(x[others]) if others else x[place])
            weights = [1.0 + len(self.above[place]) + len(self.below[place]) for place in run]
            moved = isotonic_regression(np.array(wanted) - offset, weights=weights).x
            x[run] = np.clip(moved, low, high - offset[-1]) + offset
            start = stop


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
