# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Kernels over all subsets of the variables: sums over counts, and dynamic programming.

A set is a number whose bit b stands for variable b. Subsets of the lowest variables, under one
choice of the others (the prefix), are contiguous, and every call works on one such block.
All kernels release the GIL and trust their caller.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset


# Cells of up to so many rows are absorbed when so many columns are left (at most 7).
cdef int64_t MOST_ABSORBED = 4
cdef int64_t FIRST_ABSORBING = 7
cdef int64_t LAST_ABSORBING = 4


cdef struct Walk:
    # The table: distinct rows in columns 0 .. k-1 are the patterns of level k. A pattern knows
    # its state in column k-1 and which pattern of level k-1 it becomes without that column.
    const int32_t* states
    const int32_t* nexts
    const int64_t* level_starts
    # The states of a pattern in columns 0 .. 7, a byte each; no more columns have keys than this.
    const uint64_t* keys
    int64_t n_keyed
    # Signatures number the multisets of cardinalities, and with them the products: adding column
    # b to a set adds strides[b]. From level k, reach holds what the columns below k can add.
    const int32_t* strides
    const int32_t* reach
    const int64_t* reach_starts
    const int32_t* tail_signatures
    const int64_t* terms
    int64_t length
    int64_t max_size
    # One node per level: cells as runs of (pattern, weight); and what retired cells add to every
    # set below, by signature.
    int64_t n_rows
    int64_t n_signatures
    int32_t* patterns
    int32_t* weights
    int32_t* ends
    int64_t* retired
    # Scratch: members and weight of each state of a cell; how many cells of a weight retire.
    int32_t* members
    int32_t* state_weights
    int32_t* positions
    int32_t* touched
    int32_t* retiring
    int32_t* retiring_weights
    int64_t n_retiring
    int64_t* gains
    # For levels that absorb: where in reach the signatures of the sets below are.
    uint8_t reached[8][128]
    int64_t* totals
    int64_t* large_sets
    int64_t* large_counts
    int64_t n_large


cdef inline int64_t term(
    Walk* walk, const int64_t* terms, int64_t count, int64_t index,
) noexcept nogil:
    """f(count), or 0 and a note to the caller where the tables end."""
    if count < walk.length:
        return terms[count]
    walk.large_sets[walk.n_large] = index
    walk.large_counts[walk.n_large] = count
    walk.n_large += 1
    return 0


cdef inline void retire(Walk* walk, int32_t weight) noexcept nogil:
    if walk.retiring[weight] == 0:
        walk.retiring_weights[walk.n_retiring] = weight
        walk.n_retiring += 1
    walk.retiring[weight] += 1


cdef void settle_retired(Walk* walk, int64_t level, int64_t signature) noexcept nogil:
    """Hand what is retired down from `level` to the next, with the cells that retire now."""
    cdef const int64_t* above = walk.retired + level * walk.n_signatures + signature
    cdef int64_t* below = walk.retired + (level - 1) * walk.n_signatures + signature
    cdef const int32_t* reach = walk.reach + walk.reach_starts[level - 1]
    cdef int64_t n_reach = walk.reach_starts[level] - walk.reach_starts[level - 1]
    cdef const int64_t* terms
    cdef int64_t j, k, total
    for j in range(n_reach):
        terms = walk.terms + (signature + reach[j]) * walk.length
        total = above[reach[j]]
        for k in range(walk.n_retiring):
            total += walk.retiring[walk.retiring_weights[k]] * terms[walk.retiring_weights[k]]
        below[reach[j]] = total
    for k in range(walk.n_retiring):
        walk.retiring[walk.retiring_weights[k]] = 0
    walk.n_retiring = 0


cdef int64_t take(
    Walk* walk, int64_t level, int64_t n_cells, int64_t signature, int64_t index, bint evaluate,
) noexcept nogil:
    """Split the cells of `level` by its column; `signature` is that of the set with it."""
    cdef const int32_t* patterns = walk.patterns + level * walk.n_rows
    cdef const int32_t* weights = walk.weights + level * walk.n_rows
    cdef const int32_t* ends = walk.ends + level * walk.n_rows
    cdef int32_t* new_patterns = walk.patterns + (level - 1) * walk.n_rows
    cdef int32_t* new_weights = walk.weights + (level - 1) * walk.n_rows
    cdef int32_t* new_ends = walk.ends + (level - 1) * walk.n_rows
    cdef const int32_t* states = walk.states + walk.level_starts[level]
    cdef const int32_t* nexts = walk.nexts + walk.level_starts[level]
    cdef const int64_t* terms = walk.terms + signature * walk.length
    cdef int64_t total = 0, cell, i, k, n_touched, n_new = 0, start = 0
    cdef int32_t out = 0, state, position
    for cell in range(n_cells):
        n_touched = 0
        for i in range(start, ends[cell]):
            state = states[patterns[i]]
            if walk.members[state] == 0:
                walk.touched[n_touched] = state
                n_touched += 1
            walk.members[state] += 1
            walk.state_weights[state] += weights[i]
        for k in range(n_touched):
            state = walk.touched[k]
            if walk.members[state] == 1 and walk.state_weights[state] < walk.length:
                retire(walk, walk.state_weights[state])
                walk.positions[state] = -1
            else:
                walk.positions[state] = out
                out += walk.members[state]
                new_ends[n_new] = out
                n_new += 1
                if evaluate:
                    total += term(walk, terms, walk.state_weights[state], index)
            walk.members[state] = 0
            walk.state_weights[state] = 0
        for i in range(start, ends[cell]):
            state = states[patterns[i]]
            position = walk.positions[state]
            if position >= 0:
                new_patterns[position] = nexts[patterns[i]]
                new_weights[position] = weights[i]
                walk.positions[state] = position + 1
        start = ends[cell]
    settle_retired(walk, level, signature)
    if evaluate:
        walk.totals[index] += total + walk.retired[(level - 1) * walk.n_signatures + signature]
    return n_new


cdef int64_t leave(Walk* walk, int64_t level, int64_t n_cells, int64_t signature) noexcept nogil:
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
            retire(walk, new_weights[begin])
            out = begin
        else:
            new_ends[n_new] = out
            n_new += 1
        start = ends[cell]
    settle_retired(walk, level, signature)
    return n_new


cdef inline int64_t differing(uint64_t key, uint64_t other) noexcept nogil:
    """The columns, as a set, in which two keys differ."""
    cdef uint64_t x = key ^ other
    # The top bit of each byte that is not 0, then these bits side by side.
    x = (((x & 0x7F7F7F7F7F7F7F7Full) + 0x7F7F7F7F7F7F7F7Full) | x) & 0x8080808080808080ull
    return <int64_t>(((x >> 7) * 0x0102040810204080ull) >> 56)


cdef int64_t absorb(
    Walk* walk, int64_t level, int64_t n_cells, int64_t signature, int64_t index,
) noexcept nogil:
    """Account for cells of few rows in all sets below at once; the other cells are left.

    Rows U of a cell end in one cell of S u T iff no column in which they differ is in T. With
    gains g(U) such that the sum of g over the subsets of any V is f(weight of V), the cell adds
    the sum of g(U) over all U that T does not split: for one row its own f, which goes to the
    retired ones, for more rows a gain filed under the columns D in which they differ, to be
    added to all T disjoint from D.
    """
    cdef int32_t* patterns = walk.patterns + level * walk.n_rows
    cdef int32_t* weights = walk.weights + level * walk.n_rows
    cdef int32_t* ends = walk.ends + level * walk.n_rows
    cdef const uint64_t* keys = walk.keys + walk.level_starts[level]
    cdef int64_t* retired = walk.retired + level * walk.n_signatures + signature
    cdef const int32_t* reach = walk.reach + walk.reach_starts[level]
    cdef int64_t n_reach = walk.reach_starts[level + 1] - walk.reach_starts[level]
    cdef int64_t n_below = (<int64_t>1) << level
    cdef int64_t cell, members, n_subsets, i, j, u, rest, start = 0, n_left = 0, total
    cdef int32_t out = 0
    cdef int32_t subset_weights[16]
    cdef int64_t columns[16]
    cdef int64_t lowest[16]
    cdef int64_t gain[16]
    cdef int64_t* gains
    cdef const int64_t* terms
    memset(walk.gains, 0, n_reach * n_below * sizeof(int64_t))
    for cell in range(n_cells):
        members = ends[cell] - start
        if members > MOST_ABSORBED or members < 2:
            n_subsets = 0
        else:
            n_subsets = (<int64_t>1) << members
            subset_weights[0] = 0
            for i in range(members):
                u = (<int64_t>1) << i
                for j in range(u):
                    subset_weights[u + j] = subset_weights[j] + weights[start + i]
                    lowest[u + j] = lowest[j] if j else i
                    columns[u + j] = columns[j] | differing(
                        keys[patterns[start + i]], keys[patterns[start + lowest[j]]]
                    ) if j else 0
            if subset_weights[n_subsets - 1] >= walk.length:
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
        for j in range(n_reach):
            terms = walk.terms + (signature + reach[j]) * walk.length
            gains = walk.gains + j * n_below
            for u in range(n_subsets):
                gain[u] = terms[subset_weights[u]]
            for i in range(members):
                for u in range(n_subsets):
                    if u >> i & 1:
                        gain[u] -= gain[u ^ ((<int64_t>1) << i)]
            for u in range(1, n_subsets):
                if u & (u - 1):
                    gains[columns[u]] += gain[u]
                else:
                    retired[reach[j]] += gain[u]
        start = ends[cell]
    for u in range(1, n_below):
        gains = walk.gains + walk.reached[level][u] * n_below
        rest = n_below - 1 - u
        total = 0
        i = rest
        while i:
            total += gains[i]
            i = (i - 1) & rest
        walk.totals[index + u] += total
    return n_left


cdef void visit(
    Walk* walk, int64_t level, int64_t n_cells, int64_t signature, int64_t size, int64_t index,
) noexcept nogil:
    """Sum the terms of every set that adds columns below `level` to the present one."""
    cdef int64_t i, total, n_new
    cdef const int64_t* terms
    cdef const int32_t* weights
    cdef const int64_t* retired
    if level == 0 or size == walk.max_size:
        return
    if (level == FIRST_ABSORBING or level == LAST_ABSORBING) and level <= walk.n_keyed:
        n_cells = absorb(walk, level, n_cells, signature, index)
    if n_cells == 0:
        retired = walk.retired + level * walk.n_signatures + signature
        for i in range(1, (<int64_t>1) << level):
            walk.totals[index + i] += retired[walk.tail_signatures[i]]
        return
    if level == 1:
        # The patterns that are left are states of the one column that is left.
        signature += walk.strides[0]
        terms = walk.terms + signature * walk.length
        weights = walk.weights + walk.n_rows
        total = walk.retired[walk.n_signatures + signature]
        for i in range(walk.ends[walk.n_rows + n_cells - 1]):
            total += term(walk, terms, weights[i], index + 1)
        walk.totals[index + 1] += total
        return
    i = (<int64_t>1) << (level - 1)
    n_new = take(
        walk, level, n_cells, signature + walk.strides[level - 1], index + i, True
    )
    visit(
        walk, level - 1, n_new, signature + walk.strides[level - 1], size + 1, index + i
    )
    n_new = leave(walk, level, n_cells, signature)
    visit(walk, level - 1, n_new, signature, size, index)


cdef void visit_block(
    Walk* walk, int64_t n_columns, int64_t prefix, int64_t n_tail
) noexcept nogil:
    """The sets of one prefix, their columns from `n_tail` upward."""
    cdef int64_t level, n_cells = 1, signature = 0, size = 0, total, start, i, cell
    cdef const int32_t* ends
    for level in range(n_columns, n_tail, -1):
        if (prefix >> (level - 1 - n_tail)) & 1:
            signature += walk.strides[level - 1]
            size += 1
            n_cells = take(walk, level, n_cells, signature, 0, False)
        else:
            n_cells = leave(walk, level, n_cells, signature)
    if size > walk.max_size:
        return
    total = walk.retired[n_tail * walk.n_signatures + signature]
    ends = walk.ends + n_tail * walk.n_rows
    start = 0
    for cell in range(n_cells):
        i = 0
        while start < ends[cell]:
            i += walk.weights[n_tail * walk.n_rows + start]
            start += 1
        total += term(walk, walk.terms + signature * walk.length, i, 0)
    walk.totals[0] += total
    visit(walk, n_tail, n_cells, signature, size, 0)


def sum_sets(
    const int32_t[::1] states, const int32_t[::1] nexts, const int64_t[::1] level_starts,
    const uint64_t[::1] keys, int64_t n_keyed, const int32_t[::1] weights, const int32_t[::1] strides,
    const int32_t[::1] reach, const int64_t[::1] reach_starts,
    const int32_t[::1] tail_signatures, const int64_t[:, ::1] terms,
    int64_t prefix, int64_t n_tail, int64_t max_size,
    int64_t[::1] totals, int64_t[::1] large_sets, int64_t[::1] large_counts,
):
    """For every set of one block, sum f over the counts of its observed joint states.

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
    strides, reach, reach_starts, tail_signatures
        What each column adds to the signature of a set; what subsets of the columns below k can
        add, entries ``reach_starts[k]`` to ``reach_starts[k + 1]``; what each subset of the
        lowest `n_tail` columns adds.
    terms : (n_signatures, length)
        f(n) for n = 0 .. length - 1 as integers, by signature; 0 at n = 0.
    prefix, n_tail : int
        The columns from `n_tail` upward that all sets have; the lowest ones take every subset.
    max_size : int
        Sets of more columns are left out.
    totals : (2 ** n_tail,), out
        Zero on entry. The sums, counts from `length` upward left out.
    large_sets, large_counts : out
        Those counts, and the entries of `totals` they belong to.

    Returns
    -------
    int
        How many large counts there are.

    Notes
    -----
    One recursion over the columns, each taken or left: taking one splits the cells of the present
    partition, leaving it merges rows that nothing still to come tells apart. A cell of one merged
    row is never split again: it retires and is known only by its weight.
    """
    cdef int64_t n_columns = strides.shape[0]
    cdef int64_t n_rows = weights.shape[0]
    cdef int64_t n_signatures = terms.shape[0]
    cdef int64_t i, j, level, n_states = 1
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
        walk.strides = &strides[0]
        walk.reach = &reach[0]
        walk.reach_starts = &reach_starts[0]
        walk.tail_signatures = &tail_signatures[0]
        walk.terms = &terms[0, 0]
        walk.length = terms.shape[1]
        walk.max_size = max_size
        walk.n_rows = n_rows
        walk.n_signatures = n_signatures
        walk.totals = &totals[0]
        walk.large_sets = &large_sets[0] if large_sets.shape[0] else NULL
        walk.large_counts = &large_counts[0] if large_counts.shape[0] else NULL
        walk.patterns = <int32_t*>malloc((n_columns + 1) * n_rows * sizeof(int32_t))
        walk.weights = <int32_t*>malloc((n_columns + 1) * n_rows * sizeof(int32_t))
        walk.ends = <int32_t*>malloc((n_columns + 1) * n_rows * sizeof(int32_t))
        walk.retired = <int64_t*>calloc((n_columns + 1) * n_signatures, sizeof(int64_t))
        walk.members = <int32_t*>calloc(n_states, sizeof(int32_t))
        walk.state_weights = <int32_t*>calloc(n_states, sizeof(int32_t))
        walk.positions = <int32_t*>malloc(n_states * sizeof(int32_t))
        walk.touched = <int32_t*>malloc(n_states * sizeof(int32_t))
        walk.gains = <int64_t*>malloc(
            min(n_signatures, <int64_t>1 << FIRST_ABSORBING)
            * (<int64_t>1 << FIRST_ABSORBING) * sizeof(int64_t)
        )
        walk.retiring = <int32_t*>calloc(walk.length, sizeof(int32_t))
        walk.retiring_weights = <int32_t*>malloc(walk.length * sizeof(int32_t))
        for level in range(1, min(n_keyed, n_tail) + 1):
            if level == FIRST_ABSORBING or level == LAST_ABSORBING:
                for i in range((<int64_t>1) << level):
                    j = reach_starts[level]
                    while reach[j] != tail_signatures[i]:
                        j += 1
                    walk.reached[level][i] = <uint8_t>(j - reach_starts[level])
        failed = (
            walk.patterns == NULL or walk.weights == NULL or walk.ends == NULL
            or walk.retired == NULL or walk.members == NULL or walk.state_weights == NULL
            or walk.positions == NULL or walk.touched == NULL or walk.retiring == NULL
            or walk.retiring_weights == NULL or walk.gains == NULL
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
        free(walk.retired)
        free(walk.members)
        free(walk.state_weights)
        free(walk.positions)
        free(walk.touched)
        free(walk.retiring)
        free(walk.retiring_weights)
        free(walk.gains)
    if failed:
        raise MemoryError(f"counting all sets of {n_columns} columns over {n_rows} rows")
    return walk.n_large


# Best local scores are worked out in pieces of so many bits, which stay in the first-level cache.
cdef int64_t PIECE = 10


cdef inline int64_t size_of(int64_t members) noexcept nogil:
    cdef int64_t n = 0
    while members:
        members &= members - 1
        n += 1
    return n


cdef void fill_unlimited(
    const double* plus, const double* minus, int64_t own, int64_t size, double* best,
) noexcept nogil:
    """best = max(best, plus - minus) for all sets of a piece that `own` is no member of."""
    cdef int64_t i, run, start, stop
    cdef double value
    if own < size and own >= 16:
        for run in range(size // (2 * own)):
            start = 2 * own * run
            for i in range(start, start + own):
                value = plus[i] - minus[i]
                best[i] = value if value > best[i] else best[i]
        return
    # Runs without a low bit would be short: sets with it are worked out as well, for nothing,
    # but the last ones, for which `plus` would be read past its end.
    stop = size - own if own < size else size
    for i in range(stop):
        value = plus[i] - minus[i]
        best[i] = value if value > best[i] else best[i]


cdef void fill_limited(
    const double* plus, const double* minus, int64_t allowed, int64_t required,
    int64_t max_size, double* best,
) noexcept nogil:
    """The same for subsets of `allowed` that hold `required` and have at most `max_size`."""
    cdef int64_t i = 0
    cdef double value
    while True:
        if (i & required) == required and size_of(i) <= max_size:
            value = plus[i] - minus[i]
            if value > best[i]:
                best[i] = value
        if i == allowed:
            break
        i = (i - allowed) & allowed


cdef void spread_piece(double* best, int64_t n_bits, int64_t left_out) noexcept nogil:
    """best[S] = max over the subsets of S, in place; the bit `left_out` is no member of any S."""
    cdef int64_t bit, half, run, i, size = (<int64_t>1) << n_bits
    cdef double* lower
    cdef double* upper
    for bit in range(n_bits):
        if bit == left_out:
            continue
        half = (<int64_t>1) << bit
        for run in range(size // (2 * half)):
            lower = best + 2 * half * run
            upper = lower + half
            for i in range(half):
                upper[i] = upper[i] if upper[i] > lower[i] else lower[i]


cdef void spread(double* best, int64_t n_bits, int64_t n_done, int64_t left_out) noexcept nogil:
    """The same from bit `n_done` on, the halves of the sets one after the other."""
    cdef int64_t half, i
    cdef double* upper
    if n_bits == n_done:
        return
    half = (<int64_t>1) << (n_bits - 1)
    spread(best, n_bits - 1, n_done, left_out)
    if n_bits - 1 == left_out:
        return
    upper = best + half
    for i in range(half):
        upper[i] = upper[i] if upper[i] > best[i] else best[i]
    spread(upper, n_bits - 1, n_done, left_out)


def fill_pieces(
    list numbers, const int32_t[::1] plus, const int32_t[::1] minus,
    const int64_t[::1] allowed, const int64_t[::1] required, int64_t max_parents,
    int64_t n_tail, int64_t prefix, int64_t start, int64_t stop, double[:, ::1] best,
):
    """Best local scores over those subsets of the sets of a block that differ in low bits.

    To be followed by `spread_block`. The sets of a block have the members `prefix` from bit
    `n_tail` upward; a piece of it is the sets that agree but for the lowest bits.

    Parameters
    ----------
    numbers, plus, minus
        The local score of c given P is
        ``numbers[plus[c]][P | 1 << c] - numbers[minus[c]][P]``; arrays of 2 ** n_variables.
    allowed, required, max_parents
        The parents of c come from the set ``allowed[c]``, hold ``required[c]``, and are at most
        so many.
    start, stop : int
        The pieces to fill, of `n_pieces`.
    best : (n_variables, at least 2 ** n_tail), out
        Minus infinity where no parent set is possible; not defined for sets with the child.

    Notes
    -----
    All children take their turn in one piece, as they read the same numbers.
    """
    cdef int64_t n_bits = min(PIECE, n_tail)
    cdef int64_t size = (<int64_t>1) << n_bits
    cdef int64_t n = best.shape[0]
    cdef int64_t low = size - 1
    cdef int64_t child, own, piece, first, fixed, part, members, n_members, i
    cdef int64_t low_allowed, low_required
    cdef const double[::1] array
    cdef const double* x
    cdef const double* y
    cdef const double** pointers = <const double**>malloc(len(numbers) * sizeof(double*))
    if pointers == NULL:
        raise MemoryError("pointers to the numbers of all sets")
    for i in range(len(numbers)):
        array = numbers[i]
        pointers[i] = &array[0]
    with nogil:
        for piece in range(start, stop):
            first = piece << n_bits
            # The members of all sets of the piece.
            fixed = (prefix << n_tail) | first
            for child in range(n):
                if not fixed >> child & 1:
                    for i in range(size):
                        best[child, first + i] = -INFINITY
            # All subsets of the prefix. Parents have exactly the members of `first` of the tail
            # beyond the piece: `spread_block` brings in the sets with more of them.
            part = 0
            while True:
                members = (part << n_tail) | first
                n_members = size_of(members)
                for child in range(n):
                    own = (<int64_t>1) << child
                    if (
                        fixed & own or members & ~allowed[child]
                        or required[child] & ~low & ~members or n_members > max_parents
                    ):
                        continue
                    low_allowed = allowed[child] & low
                    low_required = required[child] & low
                    x = pointers[plus[child]] + members + own
                    y = pointers[minus[child]] + members
                    if low_required == 0 and ((low_allowed | own) & low) == low and (
                        n_members + n_bits <= max_parents
                    ):
                        fill_unlimited(x, y, own, size, &best[child, first])
                    else:
                        fill_limited(
                            x, y, low_allowed, low_required, max_parents - n_members,
                            &best[child, first],
                        )
                if part == prefix:
                    break
                part = (part - prefix) & prefix
            for child in range(n):
                if not fixed >> child & 1:
                    spread_piece(&best[child, first], n_bits, child)
    free(pointers)


def n_pieces(int64_t n_tail):
    """How many pieces a block has."""
    return (<int64_t>1) << max(0, n_tail - PIECE)


def spread_block(double[::1] best, int64_t n_tail, int64_t child):
    """Take the maximum over all subsets of each set, pieces being done; in place, for one child."""
    with nogil:
        spread(&best[0], n_tail, min(PIECE, n_tail), child)


cdef inline void improve(
    const double* scores, const double* best, double* new_scores, uint8_t* sinks, uint8_t child,
    int64_t n, double tie,
) noexcept nogil:
    """Let `child` come last where that beats what the new scores have by more than a tie."""
    cdef int64_t i
    cdef double value
    for i in range(n):
        value = scores[i] + best[i]
        if value > new_scores[i] + tie:
            new_scores[i] = value
            sinks[i] = child


cdef void settle(
    double* scores, uint8_t* sinks, const double* best, int64_t stride, int64_t n_bits,
    double tie,
) noexcept nogil:
    """Give each set its best last variable among the lowest `n_bits`, in place."""
    cdef int64_t half
    if n_bits == 0:
        return
    half = (<int64_t>1) << (n_bits - 1)
    settle(scores, sinks, best, stride, n_bits - 1, tie)
    improve(
        scores, best + (n_bits - 1) * stride, scores + half, sinks + half,
        <uint8_t>(n_bits - 1), half, tie,
    )
    settle(scores + half, sinks + half, best + half, stride, n_bits - 1, tie)


def settle_piece(
    double[::1] scores, uint8_t[::1] sinks, const double[:, ::1] best, int64_t n_tail,
    int64_t prefix, int64_t n_bits, int64_t piece, double tie,
):
    """Best networks over the sets of one piece of a block, and what later blocks gain from them.

    Pieces come after those with fewer of their members; those with equally many do not meet.

    Parameters
    ----------
    scores : (2 ** n_variables,), in and out
        Score of the best network over each set. The empty set has 0, what is not reached yet
        minus infinity.
    sinks : (2 ** n_variables,), in and out
        The variable that is last in that network's order.
    best : (n_variables, at least 2 ** n_tail)
        Best local scores given subsets of each set of the block, for each child outside it.
    n_tail, prefix : int
        The block.
    n_bits, piece : int
        The sets of a piece differ in the lowest `n_bits` variables.
    tie : float
        Scores that differ by no more are equal.

    Notes
    -----
    Every set meets its possible last variables from the highest to the lowest, however the sets
    are cut into blocks and pieces, and of equal ones the first stays.
    """
    cdef int64_t n = (<int64_t>1) << n_bits
    cdef int64_t offset = piece << n_bits
    cdef int64_t base = (prefix << n_tail) | offset
    cdef int64_t child, own
    with nogil:
        for child in range(n_tail - 1, n_bits - 1, -1):
            own = (<int64_t>1) << child
            if offset & own:
                improve(
                    &scores[base ^ own], &best[child, offset ^ own], &scores[base], &sinks[base],
                    <uint8_t>child, n, tie,
                )
        settle(&scores[base], &sinks[base], &best[0, offset], best.shape[1], n_bits, tie)
        for child in range(n_tail, best.shape[0]):
            own = (<int64_t>1) << child
            if not base & own:
                improve(
                    &scores[base], &best[child, offset], &scores[base | own], &sinks[base | own],
                    <uint8_t>child, n, tie,
                )


def best_subset(
    const double[::1] plus, const double[::1] minus, int64_t child, int64_t candidates,
    int64_t required, int64_t max_parents, int64_t start, int64_t n_steps,
    int64_t best, double best_score, double tie,
):
    """The subset of `candidates` with the best local score, looking at `n_steps` from `start` on.

    Returns the best subset, its score (those passed in if none is better) and the subset to go on
    from, 0 when all were seen. A subset must beat those before it by more than `tie`.
    """
    cdef int64_t own = (<int64_t>1) << child
    cdef int64_t part = start, step
    cdef double value
    with nogil:
        for step in range(n_steps):
            if (part & required) == required and size_of(part) <= max_parents:
                value = plus[part | own] - minus[part]
                if value > best_score + tie:
                    best_score = value
                    best = part
            part = (part - candidates) & candidates
            if part == 0:
                break
    return best, best_score, part
