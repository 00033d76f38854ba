"""The order of nodes within the layers of a drawn graph, and where that puts them."""

import itertools

import numpy as np
from scipy.optimize import isotonic_regression, linprog
from scipy.sparse import csr_array

# In points.
NODE_HEIGHT, NODE_GAP = 22.0, 14.0
_LANE_GAP, _LANE_WIDTH = 7.0, 4.0
_SWEEPS, _CENTRE_ROUNDS = 24, 6
_MOST_LANES = 20_000


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
