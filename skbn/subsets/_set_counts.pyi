import numpy as np
from numpy.typing import NDArray

def count_sets(
    states: NDArray[np.int32],
    nexts: NDArray[np.int32],
    level_starts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    n_keyed: int,
    weights: NDArray[np.int32],
    length: int,
    n_small: int,
    prefix: int,
    n_tail: int,
    max_size: int,
    found: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    large_sets: NDArray[np.int64],
    large_counts: NDArray[np.int64],
) -> int: ...
def list_new(
    found: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    signatures: NDArray[np.int32],
    known: NDArray[np.uint8],
    first: int,
    start: int,
    places: NDArray[np.int64],
) -> tuple[int, int]: ...
def sum_layers(
    found: NDArray[np.int64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    large_sets: NDArray[np.int64],
    large_terms: NDArray[np.int64],
    signatures: NDArray[np.int32],
    terms: NDArray[np.int64],
    scales: NDArray[np.float64],
    constants: NDArray[np.float64],
    offset: int,
    sums: NDArray[np.float64],
) -> None: ...
