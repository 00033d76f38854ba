import numpy as np
from numpy.typing import NDArray

KINDS: tuple[str, str, str]

def best_moves(
    gains: NDArray[np.float64],
    adjacency: NDArray[np.uint8],
    ancestors: NDArray[np.uint8],
    allowed: NDArray[np.uint8],
    required: NDArray[np.uint8],
    max_parents: int,
    noise: float,
    tabu: NDArray[np.int32] | None = None,
    exempt_above: float = ...,
) -> tuple[float, list[tuple[int, int, int]]]: ...
def update_ancestors(
    adjacency: NDArray[np.uint8],
    ancestors: NDArray[np.uint8],
    variables: NDArray[np.int64],
) -> None: ...
def part_ancestors(
    adjacency: NDArray[np.uint8],
    ancestors: NDArray[np.uint8],
    parent: int,
    child: int,
) -> None: ...
def join_ancestors(ancestors: NDArray[np.uint8], parent: int, child: int) -> None: ...
