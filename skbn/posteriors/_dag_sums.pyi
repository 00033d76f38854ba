import numpy as np
from numpy.typing import NDArray

def exponentials(
    logs: NDArray[np.float64], mantissas: NDArray[np.float64], powers: NDArray[np.int64]
) -> None: ...
def sum_over_subsets(mantissas: NDArray[np.float64], powers: NDArray[np.int64]) -> None: ...
def sum_over_supersets(mantissas: NDArray[np.float64], powers: NDArray[np.int64]) -> None: ...
def sum_orders_below(
    families: NDArray[np.float64],
    family_powers: NDArray[np.int64],
    start: int,
    stop: int,
    sums: NDArray[np.float64],
    powers: NDArray[np.int64],
) -> None: ...
def sum_orders_above(
    families: NDArray[np.float64],
    family_powers: NDArray[np.int64],
    start: int,
    stop: int,
    sums: NDArray[np.float64],
    powers: NDArray[np.int64],
) -> None: ...
def sum_dags_above(
    sets: NDArray[np.int64],
    families: NDArray[np.float64],
    family_powers: NDArray[np.int64],
    below: NDArray[np.int64],
    above: NDArray[np.int64],
    floor_power: int,
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    below_high: NDArray[np.float64],
    below_low: NDArray[np.float64],
    top: int,
    last: NDArray[np.float64],
) -> None: ...
def sum_dags_below(
    target: int,
    sources: NDArray[np.int64],
    n_low: int,
    families: NDArray[np.float64],
    family_powers: NDArray[np.int64],
    below: NDArray[np.int64],
    above: NDArray[np.int64],
    floor_power: int,
    high: NDArray[np.float64],
    low: NDArray[np.float64],
) -> None: ...
def source_weights(
    members: int,
    families: NDArray[np.float64],
    family_powers: NDArray[np.int64],
    below: NDArray[np.int64],
    above: NDArray[np.int64],
    floor_power: int,
    high: NDArray[np.float64],
    low: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> None: ...
