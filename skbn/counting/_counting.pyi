from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# Of one kind within a call.
_Codes: TypeAlias = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]

def joint_labels(
    codes: _Codes,
    cardinalities: NDArray[np.int64],
    variables: NDArray[np.int32],
    labels: NDArray[np.int32],
    stop_above: int = -1,
) -> int: ...
def joint_cells(
    codes: _Codes,
    cardinalities: NDArray[np.int64],
    variables: NDArray[np.int32],
    cells: NDArray[np.int32],
) -> None: ...
def sum_families(
    codes: _Codes,
    cardinalities: NDArray[np.int64],
    weights: NDArray[np.int32] | None,
    packed_codes: _Codes,
    packed_cardinalities: NDArray[np.int64],
    pack_starts: NDArray[np.int32],
    child: int,
    parents: NDArray[np.int32],
    candidates: NDArray[np.int32],
    term_tables: NDArray[np.uintp],
    known: int,
    length: int,
    totals: NDArray[np.int64],
    unknown_owners: NDArray[np.int32],
    unknown_counts: NDArray[np.int64],
    which: NDArray[np.int64] | None = None,
    tails: NDArray[np.float64] | None = None,
) -> int: ...
def locate_unknown_terms(
    owners: NDArray[np.int32],
    counts: NDArray[np.int64],
    which: NDArray[np.int64],
    functions: NDArray[np.int64],
    numbers: NDArray[np.int64],
    floats: NDArray[np.float64],
) -> None: ...
def add_unknown_terms(
    owners: NDArray[np.int32],
    counts: NDArray[np.int64],
    terms: NDArray[np.float64],
    which: NDArray[np.int64],
    slopes: NDArray[np.float64],
    scales: NDArray[np.float64],
    bounds: NDArray[np.float64],
    term_tables: NDArray[np.uintp],
    length: int,
    totals: NDArray[np.int64],
    too_large: NDArray[np.uint8],
) -> bool: ...
