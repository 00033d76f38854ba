import numpy as np
from numpy.typing import NDArray

def fill_pieces(
    numbers: list[NDArray[np.float64]],
    plus: NDArray[np.int32],
    minus: NDArray[np.int32],
    allowed: NDArray[np.int64],
    required: NDArray[np.int64],
    max_parents: int,
    n_tail: int,
    prefix: int,
    start: int,
    stop: int,
    best: NDArray[np.float64],
) -> None: ...
def n_pieces(n_tail: int) -> int: ...
def spread_block(best: NDArray[np.float64], n_tail: int, child: int) -> None: ...
def settle_piece(
    scores: NDArray[np.float64],
    sinks: NDArray[np.uint8],
    best: NDArray[np.float64],
    n_tail: int,
    prefix: int,
    n_bits: int,
    piece: int,
    tie: float,
) -> None: ...
def best_subset(
    plus: NDArray[np.float64],
    minus: NDArray[np.float64],
    child: int,
    candidates: int,
    required: int,
    max_parents: int,
    start: int,
    n_steps: int,
    best: int,
    best_score: float,
    tie: float,
) -> tuple[int, float, int]: ...
