# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Kernels that count every set of variables, and that add up functions of the counts.

A set is a number whose bit b stands for variable b. Subsets of the lowest variables, under one
choice of the others (the prefix), are contiguous, and every call works on one such block.
All kernels release the GIL and trust their caller.
"""

# Python's own allocator that needs no GIL: tracemalloc sees it, and tests can have it fail.
from cpython.mem cimport PyMem_RawCalloc as calloc, PyMem_RawFree as free, PyMem_RawMalloc as malloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset


# Cells of up to so many rows are absorbed when so many columns are left (at most 7).
cdef int64_t MOST_ABSORBED = 5
cdef int64_t FIRST_ABSORBING = 7
cdef int64_t LAST_ABSORBING = 4
cdef int64_t N_BELOW = 128
# Counts that are looked for one by one, where larger ones are listed, are below.
cdef int64_t SMALL = 64
# The lower half of a number that holds a count, with how often it occurs in the upper half.
cdef enum:
    COUNT = 0x7FFFFFFF
# Rows that may be absorbed at one node, so that 16 bits hold the cells of one or two nodes.
cdef int64_t MOST_ROWS_ABSORBED = 32767


cdef struct Walk:
    # The table: distinct rows in columns 0 .. k-1 are the patterns of level k. A pattern knows
    # its state in column k-1 and which pattern of level k-1 it becomes without that column.
    const int32_t* states
    const int32_t* nexts
    const int64_t* level_starts
    # The states of a pattern in columns 0 .. 7, a byte each; no more columns have keys than this.
    const uint64_t* keys
    int64_t n_keyed
    int64_t length
    int64_t max_size
    # One node per level: cells as runs of (pattern, weight).
    int64_t n_rows
    int32_t* patterns
    int32_t* weights
    int32_t* ends
    # Scratch: weight and, in the upper half, members of each state of a cell; weights of cells.
    int64_t* members
    int32_t* positions
    int32_t* touched
    int32_t* cell_weights
    # How many cells that are known only by their weight have each weight; which weights from
    # n_small upward occur, and all cells, in the order in which they came.
    int32_t* counted
    int32_t* occurring
    int64_t n_occurring
    int32_t* noted
    int64_t n_noted
    # The same for weights below n_small of absorbed cells, per set of the lowest columns.
    int64_t n_small
    uint16_t* absorbed
    bint has_absorbed
    uint16_t* gains
    uint16_t* nothing
    # Out.
    int64_t* found
    int64_t n_found
    int64_t* begins
    int64_t* ends_found
    int64_t* large_sets
    int64_t* large_counts
    int64_t n_large


cdef inline void note(Walk* walk, int32_t weight) noexcept nogil:
    """Know one more cell by its weight."""
    if weight >= walk.n_small and walk.counted[weight] == 0:
        walk.occurring[walk.n_occurring] = weight
        walk.n_occurring += 1
    walk.counted[weight] += 1
    walk.noted[walk.n_noted] = weight
    walk.n_noted += 1


cdef inline void forget(Walk* walk, int64_t n_noted) noexcept nogil:
    """Go back to so many noted cells."""
    cdef int32_t weight
    while walk.n_noted > n_noted:
        walk.n_noted -= 1
        weight = walk.noted[walk.n_noted]
        walk.counted[weight] -= 1
        if weight >= walk.n_small and walk.counted[weight] == 0:
            walk.n_occurring -= 1


cdef inline void write(Walk* walk, int64_t index, const uint16_t* absorbed) noexcept nogil:
    """Write down the counts of a set: how often each occurs."""
    cdef int64_t* found = walk.found + walk.n_found
    cdef int64_t* start = found
    cdef int64_t weight, multiplicity
    cdef int64_t k
    for weight in range(1, walk.n_small):
        multiplicity = <int64_t>walk.counted[weight] + absorbed[weight]
        found[0] = multiplicity << 32 | weight
        found += multiplicity != 0
    for k in range(walk.n_occurring):
        weight = walk.occurring[k]
        found[0] = <int64_t>walk.counted[weight] << 32 | weight
        found += 1
    walk.begins[index] = walk.n_found
    walk.n_found += found - start
    walk.ends_found[index] = walk.n_found


cdef inline void write_with(
    Walk* walk, int64_t index, const uint16_t* absorbed, const int32_t* weights, int64_t n,
) noexcept nogil:
    """The same for a set that has further cells."""
    cdef int64_t i
    cdef int32_t weight
    for i in range(n):
        weight = weights[i]
        if weight >= walk.length:
            walk.large_sets[walk.n_large] = index
            walk.large_counts[walk.n_large] = weight
            walk.n_large += 1
            continue
        if weight >= walk.n_small and walk.counted[weight] == 0:
            walk.occurring[walk.n_occurring] = weight
            walk.n_occurring += 1
        walk.counted[weight] += 1
    write(walk, index, absorbed)
    for i in range(n):
        weight = weights[i]
        if weight < walk.length:
            walk.counted[weight] -= 1
            if weight >= walk.n_small and walk.counted[weight] == 0:
                # Those that occur only here came last.
                walk.n_occurring -= 1


cdef inline const uint16_t* absorbed_by(Walk* walk, int64_t index) noexcept nogil:
    """What absorbed cells add to a set that has one of the lowest columns."""
    return walk.absorbed + (index & (N_BELOW - 1)) * SMALL if walk.has_absorbed else walk.nothing


cdef int64_t take(Walk* walk, int64_t level, int64_t n_cells, int64_t index) noexcept nogil:
    """Split the cells of `level` by its column; write down the set `index` unless negative."""
    cdef const int32_t* patterns = walk.patterns + level * walk.n_rows
    cdef const int32_t* weights = walk.weights + level * walk.n_rows
    cdef const int32_t* ends = walk.ends + level * walk.n_rows
    cdef int32_t* new_patterns = walk.patterns + (level - 1) * walk.n_rows
    cdef int32_t* new_weights = walk.weights + (level - 1) * walk.n_rows
    cdef int32_t* new_ends = walk.ends + (level - 1) * walk.n_rows
    cdef const int32_t* states = walk.states + walk.level_starts[level]
    cdef const int32_t* nexts = walk.nexts + walk.level_starts[level]
    cdef int64_t cell, i, k, n_touched, members, n_new = 0, start = 0
    cdef int32_t out = 0, state, position, weight
    for cell in range(n_cells):
        n_touched = 0
        for i in range(start, ends[cell]):
            state = states[patterns[i]]
            if walk.members[state] == 0:
                walk.touched[n_touched] = state
                n_touched += 1
            walk.members[state] += <int64_t>1 << 32 | weights[i]
        for k in range(n_touched):
            state = walk.touched[k]
            members = walk.members[state]
            walk.members[state] = 0
            weight = <int32_t>(members & COUNT)
            if members >> 32 == 1 and weight < walk.length:
                note(walk, weight)
                walk.positions[state] = -1
            else:
                walk.positions[state] = out
                out += <int32_t>(members >> 32)
                new_ends[n_new] = out
                walk.cell_weights[n_new] = weight
                n_new += 1
        for i in range(start, ends[cell]):
            state = states[patterns[i]]
            position = walk.positions[state]
            if position >= 0:
                new_patterns[position] = nexts[patterns[i]]
                new_weights[position] = weights[i]
                walk.positions[state] = position + 1
        start = ends[cell]
    if index >= 0:
        write_with(
            walk, index, absorbed_by(walk, index) if level <= FIRST_ABSORBING else walk.nothing,
            walk.cell_weights, n_new,
        )
    return n_new


cdef int64_t leave(Walk* walk, int64_t level, int64_t n_cells) noexcept nogil:
    """Leave the column of `level` out: rows that differed in it alone become one."""
    cdef const int32_t* patterns = walk.patterns + level * walk.n_rows
    cdef const int32_t* weights = walk.weights + level * walk.n_rows
    cdef const int32_t* ends = walk.ends + level * walk.n_rows
    cdef int32_t* new_patterns = walk.patterns + (level - 1) * walk.n_rows
    cdef int32_t* new_weights = walk.weights + (level - 1) * walk.n_rows
    cdef int32_t* new_ends = walk.ends + (level - 1) * walk.n_rows
    cdef const int32_t* nexts = walk.nexts + walk.level_starts[level]
    cdef int64_t cell, i, n_new = 0, start = 0
    cdef int32_t out = 0, begin, pattern, last
    for cell in range(n_cells):
        begin = out
        last = -1
        for i in range(start, ends[cell]):
            pattern = nexts[patterns[i]]
            if pattern == last:
                new_weights[out - 1] += weights[i]
            else:
                new_patterns[out] = pattern
                new_weights[out] = weights[i]
                out += 1
                last = pattern
        if out - begin == 1 and new_weights[begin] < walk.length:
            note(walk, new_weights[begin])
            out = begin
        else:
            new_ends[n_new] = out
            n_new += 1
        start = ends[cell]
    return n_new


cdef inline int64_t differing(uint64_t key, uint64_t other) noexcept nogil:
    """The columns, as a set, in which two keys differ."""
    cdef uint64_t x = key ^ other
    # The top bit of each byte that is not 0, then these bits side by side.
    x = (((x & 0x7F7F7F7F7F7F7F7Full) + 0x7F7F7F7F7F7F7F7Full) | x) & 0x8080808080808080ull
    return <int64_t>(((x >> 7) * 0x0102040810204080ull) >> 56)


cdef int64_t absorb(
    Walk* walk, int64_t level, int64_t n_cells, int64_t index,
) noexcept nogil:
    """Account for cells of few rows in all sets below at once; the other cells are left.

    Rows U of a cell end in one cell of S u T iff no column in which they differ is in T. With
    gains g(U) such that the sum of g over the subsets of any V is "one cell of the weight of V",
    the cell adds the sum of g(U) over all U that T does not split. Each g(U) is filed under the
    columns D in which the rows of U differ, and added to all T disjoint from D. Gains may be
    negative, and are numbers modulo 2^16; their sums are not negative, and below it.
    """
    cdef int32_t* patterns = walk.patterns + level * walk.n_rows
    cdef int32_t* weights = walk.weights + level * walk.n_rows
    cdef int32_t* ends = walk.ends + level * walk.n_rows
    cdef const uint64_t* keys = walk.keys + walk.level_starts[level]
    cdef int64_t n_below = (<int64_t>1) << level
    cdef int64_t cell, members, n_subsets, i, j, u, v, half, start = 0, n_left = 0, width = 0
    cdef int64_t n_absorbed = 0, _i
    cdef int32_t out = 0, weight
    cdef uint16_t sign, x
    cdef int32_t subset_weights[64]
    cdef int64_t columns[64]
    cdef int64_t lowest[64]
    cdef uint16_t signs[64]
    cdef int64_t apart[6]
    cdef uint16_t* gains
    cdef uint16_t* lower
    cdef uint16_t* upper
    for cell in range(n_cells):
        if ends[cell] - start <= MOST_ABSORBED:
            weight = 0
            for i in range(start, ends[cell]):
                weight += weights[i]
            if weight < walk.n_small and weight >= width:
                width = weight + 1
        start = ends[cell]
    if width == 0:
        return n_cells
    # A multiple of what processors add at once.
    width = (width + 7) & ~7
    memset(walk.gains, 0, n_below * width * sizeof(uint16_t))
    start = 0
    for cell in range(n_cells):
        members = ends[cell] - start
        n_subsets = 0
        if members == 2 and weights[start] + weights[start + 1] < walk.n_small and (
            n_absorbed < MOST_ROWS_ABSORBED - 1
        ):
            n_absorbed += 2
            gains = walk.gains
            gains[weights[start]] += 1
            gains[weights[start + 1]] += 1
            gains += width * differing(keys[patterns[start]], keys[patterns[start + 1]])
            gains[weights[start]] -= 1
            gains[weights[start + 1]] -= 1
            gains[weights[start] + weights[start + 1]] += 1
            start = ends[cell]
            continue
        if members <= min(MOST_ABSORBED, MOST_ROWS_ABSORBED - n_absorbed):
            n_subsets = (<int64_t>1) << members
            subset_weights[0] = 0
            columns[0] = 0
            signs[0] = 1
            for i in range(members):
                u = (<int64_t>1) << i
                for j in range(i):
                    apart[j] = differing(keys[patterns[start + i]], keys[patterns[start + j]])
                subset_weights[u] = weights[start + i]
                signs[u] = 65535
                lowest[u] = i
                columns[u] = 0
                for j in range(1, u):
                    subset_weights[u + j] = subset_weights[j] + weights[start + i]
                    signs[u + j] = -signs[j]
                    lowest[u + j] = lowest[j]
                    columns[u + j] = columns[j] | apart[lowest[j]]
            if subset_weights[n_subsets - 1] >= walk.n_small:
                n_subsets = 0
        if n_subsets == 0:
            for i in range(start, ends[cell]):
                patterns[out] = patterns[i]
                weights[out] = weights[i]
                out += 1
            start = ends[cell]
            ends[n_left] = out
            n_left += 1
            continue
        n_absorbed += members
        for u in range(1, n_subsets):
            gains = walk.gains + columns[u] * width
            sign = signs[u]
            v = u
            while v:
                gains[subset_weights[v]] += sign * signs[v]
                v = (v - 1) & u
        start = ends[cell]
    # From what is filed under D to what sets T get: sums over all D disjoint from T.
    half = width
    for _i in range(level):
        lower = walk.gains
        while lower < walk.gains + n_below * width:
            upper = lower + half
            for j in range(half):
                x = lower[j]
                lower[j] = x + upper[j]
                upper[j] = x
            lower += 2 * half
        half *= 2
    if not walk.has_absorbed:
        memset(walk.absorbed, 0, N_BELOW * SMALL * sizeof(uint16_t))
        walk.has_absorbed = True
    for u in range(1, n_below):
        upper = walk.absorbed + ((index & (N_BELOW - 1)) + u) * SMALL
        lower = walk.gains + u * width
        for j in range(width):
            upper[j] += lower[j]
    return n_left


cdef void visit(
    Walk* walk, int64_t level, int64_t n_cells, int64_t size, int64_t index,
) noexcept nogil:
    """Write down every set that adds columns below `level` to the present one."""
    cdef int64_t i, n_new, n_noted = walk.n_noted
    if level == 0 or size == walk.max_size:
        return
    if level == FIRST_ABSORBING:
        walk.has_absorbed = False
    if (level == FIRST_ABSORBING or level == LAST_ABSORBING) and level <= walk.n_keyed:
        n_cells = absorb(walk, level, n_cells, index)
    if n_cells == 0:
        if level <= FIRST_ABSORBING and walk.has_absorbed:
            for i in range(1, (<int64_t>1) << level):
                write(walk, index + i, absorbed_by(walk, index + i))
            return
        write(walk, index + 1, walk.nothing)
        for i in range(2, (<int64_t>1) << level):
            walk.begins[index + i] = walk.begins[index + 1]
            walk.ends_found[index + i] = walk.ends_found[index + 1]
        return
    if level == 1:
        # The patterns that are left are states of the one column that is left.
        write_with(
            walk, index + 1, absorbed_by(walk, index + 1),
            walk.weights + walk.n_rows, walk.ends[walk.n_rows + n_cells - 1],
        )
        return
    i = (<int64_t>1) << (level - 1)
    n_new = take(walk, level, n_cells, index + i)
    visit(walk, level - 1, n_new, size + 1, index + i)
    forget(walk, n_noted)
    n_new = leave(walk, level, n_cells)
    visit(walk, level - 1, n_new, size, index)
    forget(walk, n_noted)


cdef void visit_block(
    Walk* walk, int64_t n_columns, int64_t prefix, int64_t n_tail
) noexcept nogil:
    """The sets of one prefix, their columns from `n_tail` upward: `max_size` at most."""
    cdef int64_t level, n_cells = 1, size = 0, start, cell
    cdef const int32_t* ends
    for level in range(n_columns, n_tail, -1):
        if (prefix >> (level - 1 - n_tail)) & 1:
            size += 1
            n_cells = take(walk, level, n_cells, -1)
        else:
            n_cells = leave(walk, level, n_cells)
    ends = walk.ends + n_tail * walk.n_rows
    start = 0
    for cell in range(n_cells):
        walk.cell_weights[cell] = 0
        while start < ends[cell]:
            walk.cell_weights[cell] += walk.weights[n_tail * walk.n_rows + start]
            start += 1
    write_with(walk, 0, walk.nothing, walk.cell_weights, n_cells)
    visit(walk, n_tail, n_cells, size, 0)


def count_sets(
    const int32_t[::1] states, const int32_t[::1] nexts, const int64_t[::1] level_starts,
    const uint64_t[::1] keys, int64_t n_keyed, const int32_t[::1] weights, int64_t length,
    int64_t n_small, int64_t prefix, int64_t n_tail, int64_t max_size,
    int64_t[::1] found, int64_t[::1] begins, int64_t[::1] ends,
    int64_t[::1] large_sets, int64_t[::1] large_counts,
):
    """For every set of one block, how often each count of its observed joint states occurs.

    Parameters
    ----------
    states, nexts, level_starts
        The distinct rows: pattern i of level k (the columns 0 .. k-1) is entry
        ``level_starts[k] + i``, with its state in column k-1 and its pattern of level k-1.
        Patterns are sorted by column 0, then 1, and so on.
    keys, n_keyed
        The states of each pattern in columns 0 to 7, a byte each, lowest first; and how many of
        these columns are so encoded.
    weights : (n_rows,)
        Weight of each pattern of the last level; their sum is below 2**31.
    length : int
        Counts below it are found, the others are large.
    n_small : int
        Counts below it come first in what is found, in ascending order. At most `length`, and 64:
        the more, the longer it takes to look for them one by one.
    prefix, n_tail : int
        The columns from `n_tail` upward that all sets have, `max_size` at most; the lowest ones
        take every subset.
    max_size : int
        Sets of more columns are left out.
    found : (enough,), out
        Counts, and 2^32 times how often each occurs. Enough is the sum over the sets of the most
        distinct counts that one may have, and one more.
    begins, ends : (2 ** n_tail,), out
        Zero on entry. Where in `found` the counts of each set are; sets may share them.
    large_sets, large_counts : out
        Large counts one by one, and the sets of the block that they belong to.

    Returns
    -------
    int
        How many large counts there are.

    Notes
    -----
    One recursion over the columns, each taken or left: taking one splits the cells of the present
    partition, leaving it merges rows that nothing still to come tells apart. A cell of one merged
    row is never split again: from there on it is known only by its weight.
    """
    cdef int64_t n_columns = level_starts.shape[0] - 2
    cdef int64_t n_rows = weights.shape[0]
    cdef int64_t i, n_states = 1
    cdef bint failed
    cdef Walk walk
    with nogil:
        for i in range(states.shape[0]):
            n_states = max(n_states, states[i] + 1)
        memset(&walk, 0, sizeof(Walk))
        walk.states = &states[0]
        walk.nexts = &nexts[0]
        walk.level_starts = &level_starts[0]
        walk.keys = &keys[0]
        walk.n_keyed = n_keyed
        walk.length = length
        walk.max_size = max_size
        walk.n_rows = n_rows
        walk.n_small = n_small
        walk.found = &found[0]
        walk.begins = &begins[0]
        walk.ends_found = &ends[0]
        walk.large_sets = &large_sets[0] if large_sets.shape[0] else NULL
        walk.large_counts = &large_counts[0] if large_counts.shape[0] else NULL
        walk.patterns = <int32_t*>malloc((n_columns + 1) * n_rows * sizeof(int32_t))
        walk.weights = <int32_t*>malloc((n_columns + 1) * n_rows * sizeof(int32_t))
        walk.ends = <int32_t*>malloc((n_columns + 1) * n_rows * sizeof(int32_t))
        walk.members = <int64_t*>calloc(n_states, sizeof(int64_t))
        walk.positions = <int32_t*>malloc(n_states * sizeof(int32_t))
        walk.touched = <int32_t*>malloc(n_states * sizeof(int32_t))
        walk.cell_weights = <int32_t*>malloc(n_rows * sizeof(int32_t))
        walk.counted = <int32_t*>calloc(length, sizeof(int32_t))
        walk.occurring = <int32_t*>malloc(n_rows * sizeof(int32_t))
        walk.noted = <int32_t*>malloc(n_rows * sizeof(int32_t))
        walk.absorbed = <uint16_t*>malloc(N_BELOW * SMALL * sizeof(uint16_t))
        walk.gains = <uint16_t*>malloc(N_BELOW * SMALL * sizeof(uint16_t))
        walk.nothing = <uint16_t*>calloc(SMALL, sizeof(uint16_t))
        failed = (
            walk.patterns == NULL or walk.weights == NULL or walk.ends == NULL
            or walk.members == NULL or walk.positions == NULL
            or walk.touched == NULL or walk.cell_weights == NULL or walk.counted == NULL
            or walk.occurring == NULL or walk.noted == NULL or walk.absorbed == NULL
            or walk.gains == NULL or walk.nothing == NULL
        )
        if not failed:
            for i in range(n_rows):
                walk.patterns[n_columns * n_rows + i] = <int32_t>i
                walk.weights[n_columns * n_rows + i] = weights[i]
            walk.ends[n_columns * n_rows] = <int32_t>n_rows
            visit_block(&walk, n_columns, prefix, n_tail)
        free(walk.patterns)
        free(walk.weights)
        free(walk.ends)
        free(walk.members)
        free(walk.positions)
        free(walk.touched)
        free(walk.cell_weights)
        free(walk.counted)
        free(walk.occurring)
        free(walk.noted)
        free(walk.absorbed)
        free(walk.gains)
        free(walk.nothing)
    if failed:
        raise MemoryError(f"counting all sets of {n_columns} columns over {n_rows} rows")
    return walk.n_large


def list_new(
    const int64_t[::1] found, const int64_t[::1] begins, const int64_t[::1] ends,
    const int32_t[::1] signatures, uint8_t[:, ::1] known, int64_t first, int64_t start,
    int64_t[::1] places,
):
    """Counts that no set of their signature had before, as places in a table of terms.

    Parameters
    ----------
    found, begins, ends
        From `count_sets`.
    signatures : (n_sets,)
        Of the sets of the block.
    known : (n_signatures, length), in and out
        Which counts each signature had.
    first : int
        Smaller counts are known; at most the `n_small` of `count_sets`.
    start : int
        The first set to look at.
    places : out
        ``signature * length + count``; at least as many as distinct counts of one set.

    Returns
    -------
    n_places, next : int
        How many there are, and the set to go on from, which is `n_sets` at the end.
    """
    cdef int64_t length = known.shape[1], n_places = 0, s, i, n_sets = begins.shape[0]
    cdef int64_t signature, count
    cdef uint8_t* known_counts
    with nogil:
        for s in range(start, n_sets):
            if n_places + ends[s] - begins[s] > places.shape[0]:
                break
            signature = signatures[s]
            known_counts = &known[signature, 0]
            # Small counts come before all others.
            for i in range(ends[s] - 1, begins[s] - 1, -1):
                count = found[i] & COUNT
                if count < first:
                    break
                if not known_counts[count]:
                    known_counts[count] = 1
                    places[n_places] = signature * length + count
                    n_places += 1
        else:
            s = n_sets
    return n_places, s


def sum_layers(
    const int64_t[::1] found, const int64_t[::1] begins, const int64_t[::1] ends,
    const int64_t[::1] large_sets, const int64_t[:, ::1] large_terms,
    const int32_t[::1] signatures, const int64_t[:, :, ::1] terms, const double[:, ::1] scales,
    const double[:, ::1] constants, int64_t offset, double[:, :] sums,
):
    """For every set of one block and every layer, sum a function of its counts.

    Parameters
    ----------
    found, begins, ends
        From `count_sets`.
    large_sets, large_terms : (n_large,), (n_large, n_layers)
        Terms of large counts, their sets in ascending order.
    signatures : (n_sets,)
        Of the sets of the block.
    terms : (n_signatures, length, n_layers)
        f(count) as integers.
    scales, constants : (n_signatures, n_layers)
        A sum of integers is divided by the scale, and the constant is added.
    offset : int
        What number the first set of the block is.
    sums : (n_layers, at least offset + n_sets), out
    """
    cdef int64_t n_layers = terms.shape[2], n_sets = begins.shape[0]
    cdef int64_t s, i, k, multiplicity, total, large = 0, signature
    cdef const int64_t* table
    cdef const int64_t* row
    cdef int64_t* totals = <int64_t*>malloc(n_layers * sizeof(int64_t))
    if totals == NULL:
        raise MemoryError("sums of one set")
    with nogil:
        for s in range(n_sets):
            signature = signatures[s]
            table = &terms[signature, 0, 0]
            if n_layers == 1:
                total = 0
                for i in range(begins[s], ends[s]):
                    total += (found[i] >> 32) * table[found[i] & COUNT]
                totals[0] = total
            else:
                for k in range(n_layers):
                    totals[k] = 0
                for i in range(begins[s], ends[s]):
                    row = table + (found[i] & COUNT) * n_layers
                    multiplicity = found[i] >> 32
                    for k in range(n_layers):
                        totals[k] += multiplicity * row[k]
            while large < large_sets.shape[0] and large_sets[large] == s:
                for k in range(n_layers):
                    totals[k] += large_terms[large, k]
                large += 1
            for k in range(n_layers):
                sums[k, offset + s] = totals[k] / scales[signature, k] + constants[signature, k]
    free(totals)
