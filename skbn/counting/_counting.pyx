# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Counting kernels: joint states of columns of codes, and sums over their counts.

The only rule here is O(rows) memory: a table is indexed by joint state while it stays within a
few cells per row, and beyond that rows are grouped by the states that occur.
All kernels release the GIL and trust their caller: codes below their cardinality, shapes that fit.
"""

# Python's own allocator that needs no GIL: tracemalloc sees it, and tests can have it fail.
from cpython.mem cimport PyMem_RawCalloc as calloc, PyMem_RawFree as free, PyMem_RawMalloc as malloc
from libc.math cimport fabs, log, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uintptr_t
from libc.string cimport memset

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t

# Tables up to this many cells are used whatever the number of rows (they stay in the L2 cache).
cdef int64_t SMALL_TABLE = 65536
# Cells are numbered by 32-bit integers.
cdef int64_t LARGEST_TABLE = 2147483647
# Up to this many parent configurations are numbered whether they occur or not.
cdef int64_t FEW = 256


cdef int64_t dense_limit(int64_t n_rows) noexcept nogil:
    """Largest table that is indexed directly: a few cells per row."""
    return min(max(SMALL_TABLE, 4 * n_rows), LARGEST_TABLE)


cdef int64_t refine(
    const code_t* column, int64_t cardinality, int32_t* labels, int64_t n_labels, int64_t n_rows,
) noexcept nogil:
    """Split each class of rows by a further column; `labels` is renumbered in place.

    Returns the number of classes, or -1 when memory ran out.
    """
    cdef int64_t i, k, cell, n_new = 0
    cdef int64_t n_cells
    cdef int32_t* table
    cdef int32_t* start
    cdef int32_t* order
    cdef int32_t* stamp

    if cardinality <= dense_limit(n_rows) // n_labels:
        n_cells = n_labels * cardinality
        table = <int32_t*>calloc(n_cells, sizeof(int32_t))
        if table == NULL:
            return -1
        for i in range(n_rows):
            cell = labels[i] * cardinality + <int64_t>column[i]
            if table[cell] == 0:
                n_new += 1
                table[cell] = <int32_t>n_new
            labels[i] = table[cell] - 1
        free(table)
        return n_new

    # Rows class by class (a counting sort); within a class a stamp per state tells new from old.
    start = <int32_t*>calloc(n_labels + 1, sizeof(int32_t))
    order = <int32_t*>malloc(n_rows * sizeof(int32_t))
    table = <int32_t*>malloc(cardinality * sizeof(int32_t))
    # Not written to where no state occurs: there may be far more states than rows.
    stamp = <int32_t*>calloc(cardinality, sizeof(int32_t))
    if start == NULL or order == NULL or table == NULL or stamp == NULL:
        free(start)
        free(order)
        free(table)
        free(stamp)
        return -1
    for i in range(n_rows):
        start[labels[i] + 1] += 1
    for k in range(n_labels):
        start[k + 1] += start[k]
    for i in range(n_rows):
        k = labels[i]
        order[start[k]] = <int32_t>i
        start[k] += 1
    for i in range(n_rows):
        k = order[i]
        cell = <int64_t>column[k]
        if stamp[cell] != labels[k] + 1:
            stamp[cell] = labels[k] + 1
            table[cell] = <int32_t>n_new
            n_new += 1
        # The class of row k is read above for the last time: each row is met once.
        labels[k] = table[cell]
    free(start)
    free(order)
    free(table)
    free(stamp)
    return n_new


def joint_labels(
    const code_t[:, ::1] codes, const int64_t[::1] cardinalities, const int32_t[::1] variables,
    int32_t[::1] labels, int64_t stop_above=-1,
):
    """Number the observed joint states of `variables`: 0, 1, ... in order of first occurrence.

    `labels` (out) gets one number per row. Returns how many there are; once that exceeds
    `stop_above` (when not negative) the remaining variables are left out.
    """
    cdef int64_t n_rows = codes.shape[1]
    cdef int64_t n_labels = 1, k
    with nogil:
        memset(&labels[0], 0, n_rows * sizeof(int32_t))
        for k in range(variables.shape[0]):
            n_labels = refine(
                &codes[variables[k], 0], cardinalities[variables[k]], &labels[0], n_labels, n_rows
            )
            if n_labels < 0 or (stop_above >= 0 and n_labels > stop_above):
                break
    if n_labels < 0:
        raise MemoryError(f"counting joint states of {n_rows} rows")
    return n_labels


def joint_cells(
    const code_t[:, ::1] codes, const int64_t[::1] cardinalities, const int32_t[::1] variables,
    int32_t[::1] cells,
):
    """Number all joint states of `variables`, the last one running fastest.

    `cells` (out) gets one number per row; the product of the cardinalities is below 2**31.
    """
    cdef int64_t n_rows = codes.shape[1], i, k
    cdef int32_t cardinality
    cdef const code_t* column
    with nogil:
        memset(&cells[0], 0, n_rows * sizeof(int32_t))
        for k in range(variables.shape[0]):
            column = &codes[variables[k], 0]
            cardinality = <int32_t>cardinalities[variables[k]]
            for i in range(n_rows):
                cells[i] = cells[i] * cardinality + <int32_t>column[i]


cdef int64_t configurations(
    const code_t[:, ::1] codes, const int64_t[::1] cardinalities, const int32_t[::1] parents,
    int64_t left_out, int32_t* labels, bint* plain,
) noexcept nogil:
    """Number each row's configuration of `parents` but the one at place `left_out`.

    While they are few all configurations are numbered, the last parent running fastest (`plain`
    stays true); else only those that occur. Returns how many numbers there are, or -1 when memory
    ran out.
    """
    cdef int64_t n_rows = codes.shape[1]
    cdef int64_t n_labels = 1, cardinality, k, i
    cdef int64_t few = max(FEW, n_rows // 32)
    cdef int32_t r
    cdef const code_t* column
    plain[0] = True
    memset(labels, 0, n_rows * sizeof(int32_t))
    for k in range(parents.shape[0]):
        if k == left_out:
            continue
        cardinality = cardinalities[parents[k]]
        column = &codes[parents[k], 0]
        if cardinality <= few // n_labels:
            r = <int32_t>cardinality
            for i in range(n_rows):
                labels[i] = labels[i] * r + <int32_t>column[i]
            n_labels *= cardinality
        else:
            plain[0] = False
            n_labels = refine(column, cardinality, labels, n_labels, n_rows)
            if n_labels < 0:
                return -1
    return n_labels


cdef struct Terms:
    # f and g by count, in fixed point, for one candidate. Counts from `known` upward that hold 0
    # have not been evaluated yet; counts from `length` upward never are kept. From `known` upward
    # a tail, if there is one, says what they are.
    const int64_t* cells
    const int64_t* parents
    const double* cell_tail
    const double* parent_tail
    int64_t known
    int64_t length


cdef struct Sink:
    # Counts that the tables do not know, for the caller to evaluate: owner 2k is a cell of
    # candidate k, owner 2k + 1 a parent configuration.
    int32_t* owners
    int64_t* counts
    int64_t size


cdef inline int64_t look_up(
    const int64_t* table, const double* tail, const Terms* terms, int64_t count, int64_t owner,
    Sink* unknown,
) noexcept nogil:
    cdef double n, x, square, rest
    if count < terms.known or (count < terms.length and table[count] != 0):
        return table[count]
    if tail != NULL:
        n = <double>count
        x = n + tail[0]
        square = 1.0 / (x * x)
        rest = (x - tail[1]) * log(x) + (tail[2] + tail[3] * n)
        rest += tail[4] / x * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260)))
        if fabs(rest) <= tail[5] * n:
            return <int64_t>rint(rest * tail[6])
    unknown.owners[unknown.size] = <int32_t>owner
    unknown.counts[unknown.size] = count
    unknown.size += 1
    return 0


cdef void choose_terms(
    Terms* terms, int64_t k, const uintptr_t[:, ::1] term_tables, const int64_t[::1] which,
    const double[:, :, ::1] tails,
) noexcept nogil:
    """Take the terms of candidate k; a tail that begins with NaN is none."""
    terms.cells = <const int64_t*>term_tables[k, 0]
    terms.parents = <const int64_t*>term_tables[k, 1]
    terms.cell_tail = terms.parent_tail = NULL
    if which is not None:
        if tails[which[k], 0, 0] == tails[which[k], 0, 0]:
            terms.cell_tail = &tails[which[k], 0, 0]
        if tails[which[k], 1, 0] == tails[which[k], 1, 0]:
            terms.parent_tail = &tails[which[k], 1, 0]


cdef int64_t sum_table(
    const int32_t* table, int64_t n_configurations, int64_t cardinality, const Terms* terms,
    int64_t candidate, Sink* unknown,
) noexcept nogil:
    """sum over cells of f(N_jk) minus sum over configurations of g(N_j)."""
    cdef int64_t total = 0, _j, k, count, parent_count
    for _j in range(n_configurations):
        parent_count = 0
        for k in range(cardinality):
            count = table[k]
            parent_count += count
            total += look_up(terms.cells, terms.cell_tail, terms, count, 2 * candidate, unknown)
        total -= look_up(
            terms.parents, terms.parent_tail, terms, parent_count, 2 * candidate + 1, unknown
        )
        table += cardinality
    return total


cdef int64_t sum_labels(
    const code_t* child, int64_t child_cardinality, int32_t* labels, int64_t n_labels,
    const int32_t* weights, int32_t* counts, int64_t n_rows,
    const Terms* terms, int64_t candidate, Sink* unknown, bint* failed,
) noexcept nogil:
    """The same sums for numbered configurations, where a table of all cells would be too large."""
    cdef int64_t total = 0, i
    count_labels(labels, n_labels, weights, counts, n_rows)
    for i in range(n_labels):
        total -= look_up(
            terms.parents, terms.parent_tail, terms, counts[i], 2 * candidate + 1, unknown
        )
    n_labels = refine(child, child_cardinality, labels, n_labels, n_rows)
    if n_labels < 0:
        failed[0] = True
        return 0
    count_labels(labels, n_labels, weights, counts, n_rows)
    for i in range(n_labels):
        total += look_up(terms.cells, terms.cell_tail, terms, counts[i], 2 * candidate, unknown)
    return total


cdef void count_labels(
    const int32_t* labels, int64_t n_labels, const int32_t* weights, int32_t* counts,
    int64_t n_rows,
) noexcept nogil:
    cdef int64_t i
    memset(counts, 0, n_labels * sizeof(int32_t))
    if weights == NULL:
        for i in range(n_rows):
            counts[labels[i]] += 1
    else:
        for i in range(n_rows):
            counts[labels[i]] += weights[i]


cdef void count_cells(
    const int32_t* base, int32_t n_base, const int32_t* weights, int64_t n_rows,
    const code_t* column, int32_t* table,
) noexcept nogil:
    cdef int64_t i
    if weights == NULL:
        for i in range(n_rows):
            table[<int32_t>column[i] * n_base + base[i]] += 1
    else:
        for i in range(n_rows):
            table[<int32_t>column[i] * n_base + base[i]] += weights[i]


cdef void count_cells_of_four(
    const int32_t* base, int32_t n_base, const int32_t* weights, int64_t n_rows,
    const code_t* a, const code_t* b, const code_t* c, const code_t* d,
    int32_t* table_a, int32_t* table_b, int32_t* table_c, int32_t* table_d,
) noexcept nogil:
    """Fill four tables in one pass: a store to one does not wait for the load of another."""
    cdef int64_t i
    cdef int32_t cell, weight
    if weights == NULL:
        for i in range(n_rows):
            cell = base[i]
            table_a[<int32_t>a[i] * n_base + cell] += 1
            table_b[<int32_t>b[i] * n_base + cell] += 1
            table_c[<int32_t>c[i] * n_base + cell] += 1
            table_d[<int32_t>d[i] * n_base + cell] += 1
    else:
        for i in range(n_rows):
            cell = base[i]
            weight = weights[i]
            table_a[<int32_t>a[i] * n_base + cell] += weight
            table_b[<int32_t>b[i] * n_base + cell] += weight
            table_c[<int32_t>c[i] * n_base + cell] += weight
            table_d[<int32_t>d[i] * n_base + cell] += weight


cdef void sum_out(
    const int32_t* table, int64_t n_outer, int64_t n_states, int64_t n_inner, int32_t* out,
) noexcept nogil:
    """Sum a table of shape (n_outer, n_states, n_inner) over its middle axis."""
    cdef int64_t _outer, _state, inner
    memset(out, 0, n_outer * n_inner * sizeof(int32_t))
    for _outer in range(n_outer):
        for _state in range(n_states):
            for inner in range(n_inner):
                out[inner] += table[inner]
            table += n_inner
        out += n_inner


cdef class _Scratch:
    """Buffers of one call, freed with it."""

    cdef int32_t* joining
    cdef int32_t* configuration
    cdef int32_t* base
    cdef int32_t* labels
    cdef int32_t* counts
    cdef int32_t* own
    cdef int32_t* tables
    cdef int32_t* marginal

    def __dealloc__(self):
        free(self.joining)
        free(self.configuration)
        free(self.base)
        free(self.labels)
        free(self.counts)
        free(self.own)
        free(self.tables)
        free(self.marginal)


def sum_families(
    const code_t[:, ::1] codes, const int64_t[::1] cardinalities, const int32_t[::1] weights,
    const code_t[:, ::1] packed_codes, const int64_t[::1] packed_cardinalities,
    const int32_t[::1] pack_starts,
    int child, const int32_t[::1] parents, const int32_t[::1] candidates,
    const uintptr_t[:, ::1] term_tables,
    int64_t known, int64_t length,
    int64_t[::1] totals, int32_t[::1] unknown_owners, int64_t[::1] unknown_counts,
    const int64_t[::1] which=None, const double[:, :, ::1] tails=None,
):
    """Sum tabulated terms over the counts of `child` given `parents`, changed by each candidate.

    Parameters
    ----------
    codes : (n_variables, n_rows)
    cardinalities : (n_variables,)
    weights : (n_rows,) or None
        Whole weights; their sum is below 2**31.
    packed_codes : (n_packs, n_rows)
        Joint codes of packs of variables, the last one running fastest; counted in one pass over
        the rows, and then summed out for each member.
    packed_cardinalities : (n_packs,)
    pack_starts : (n_packs + 1,)
        Pack p holds the variables pack_starts[p] .. pack_starts[p + 1] - 1.
    candidates : (n_candidates,)
        Variables: one that is no parent joins the parents, one that is leaves them, and `child`
        itself stands for the parents as they are.
    term_tables : (n_candidates, 2)
        Addresses of int64 tables of f(n) and g(n), n = 0 .. length - 1, in fixed point.
        They are 0 at n = 0, and where 0 from n = `known` upward, not evaluated yet.
    totals : (n_candidates,), out
        sum f(N_jk) - sum g(N_j), over counts that the tables know.
    unknown_owners, unknown_counts : out
        The other counts: owner 2k for a cell of candidate k, 2k + 1 for a parent configuration.
        They must hold 2 * n_candidates * min(n_rows, total weight // known) entries.
    which : (n_candidates,), optional
        The shape of each candidate, for the tails.
    tails : (n_shapes, 2, 7), optional
        What f and g are from `known` upward: shift, half, constant, linear, series, bound and
        scale of `skbn.scores.gamma`, or NaN where there is no such formula.

    Returns
    -------
    int
        How many unknown counts there are.

    Notes
    -----
    Integer sums do not depend on the order of the terms, so neither does a score on the order of
    rows or the names of states.
    """
    cdef int64_t n_rows = codes.shape[1]
    cdef int64_t n_variables = codes.shape[0]
    cdef int64_t n_candidates = candidates.shape[0]
    cdef int64_t n_packs = packed_codes.shape[0]
    cdef int64_t child_cardinality = cardinalities[child]
    cdef const int32_t* row_weights = NULL if weights is None else &weights[0]
    cdef const code_t* child_column = &codes[child, 0]
    cdef int64_t n_configurations = 0, n_base = 0, limit = dense_limit(n_rows)
    cdef int64_t stride = 0, cardinality, size, i, k, slot, place, pack, member, n_slots, n_inner
    cdef bint plain = True, still_plain = True, failed = False, has_own = False, wanted
    cdef const code_t* columns[4]
    cdef int64_t waiting[4]
    cdef int32_t* table
    cdef Terms terms
    cdef Sink unknown
    cdef _Scratch scratch = _Scratch()
    cdef int32_t* joining

    unknown.owners = &unknown_owners[0] if unknown_owners.shape[0] else NULL
    unknown.counts = &unknown_counts[0] if unknown_counts.shape[0] else NULL
    unknown.size = 0
    terms.known = known
    terms.length = length

    with nogil:
        scratch.joining = <int32_t*>malloc(n_variables * sizeof(int32_t))
        scratch.configuration = <int32_t*>malloc(n_rows * sizeof(int32_t))
        scratch.labels = <int32_t*>malloc(n_rows * sizeof(int32_t))
        scratch.counts = <int32_t*>malloc(max(n_rows, FEW) * sizeof(int32_t))
        joining = scratch.joining
        if (
            joining == NULL or scratch.configuration == NULL or scratch.labels == NULL
            or scratch.counts == NULL
        ):
            failed = True
        if not failed:
            # The candidate that each variable is if it joins, -1 for all others.
            memset(joining, 0xFF, n_variables * sizeof(int32_t))
            for k in range(n_candidates):
                joining[candidates[k]] = <int32_t>k
            joining[child] = -1
            for k in range(parents.shape[0]):
                joining[parents[k]] = -1
            n_configurations = configurations(
                codes, cardinalities, parents, -1, scratch.configuration, &plain
            )
            failed = n_configurations < 0
        if not failed and child_cardinality <= limit // n_configurations:
            n_base = n_configurations * child_cardinality
            # Tables of the packs that fit; one of n_base cells at least, for sums over parents.
            stride = n_base
            for pack in range(n_packs):
                if packed_cardinalities[pack] <= limit // n_base:
                    stride = max(stride, n_base * packed_cardinalities[pack])
            scratch.base = <int32_t*>malloc(n_rows * sizeof(int32_t))
            scratch.own = <int32_t*>malloc(n_base * sizeof(int32_t))
            scratch.tables = <int32_t*>malloc(4 * stride * sizeof(int32_t))
            scratch.marginal = <int32_t*>malloc(stride * sizeof(int32_t))
            failed = (
                scratch.base == NULL or scratch.own == NULL or scratch.tables == NULL
                or scratch.marginal == NULL
            )
            if not failed:
                for i in range(n_rows):
                    scratch.base[i] = (
                        scratch.configuration[i] * <int32_t>child_cardinality
                        + <int32_t>child_column[i]
                    )

        # Variables that join: four packs at a time, or by numbered configurations.
        n_slots = 0
        for pack in range(n_packs):
            if failed:
                break
            wanted = False
            for member in range(pack_starts[pack], pack_starts[pack + 1]):
                wanted = wanted or joining[member] >= 0
            if wanted and n_base > 0 and packed_cardinalities[pack] <= limit // n_base:
                columns[n_slots] = &packed_codes[pack, 0]
                waiting[n_slots] = pack
                n_slots += 1
            elif wanted:
                for member in range(pack_starts[pack], pack_starts[pack + 1]):
                    k = joining[member]
                    if k < 0 or failed:
                        continue
                    for i in range(n_rows):
                        scratch.labels[i] = scratch.configuration[i]
                    size = refine(
                        &codes[member, 0], cardinalities[member], scratch.labels,
                        n_configurations, n_rows,
                    )
                    failed = size < 0
                    if not failed:
                        choose_terms(&terms, k, term_tables, which, tails)
                        totals[k] = sum_labels(
                            child_column, child_cardinality, scratch.labels, size, row_weights,
                            scratch.counts, n_rows, &terms, k, &unknown, &failed,
                        )
            if n_slots == 4 or (n_slots > 0 and pack == n_packs - 1):
                for slot in range(n_slots):
                    memset(
                        scratch.tables + slot * stride, 0,
                        n_base * packed_cardinalities[waiting[slot]] * sizeof(int32_t),
                    )
                if n_slots == 4:
                    count_cells_of_four(
                        scratch.base, <int32_t>n_base, row_weights, n_rows,
                        columns[0], columns[1], columns[2], columns[3],
                        scratch.tables, scratch.tables + stride,
                        scratch.tables + 2 * stride, scratch.tables + 3 * stride,
                    )
                else:
                    for slot in range(n_slots):
                        count_cells(
                            scratch.base, <int32_t>n_base, row_weights, n_rows, columns[slot],
                            scratch.tables + slot * stride,
                        )
                if not has_own:
                    sum_out(
                        scratch.tables, 1, packed_cardinalities[waiting[0]], n_base, scratch.own
                    )
                    has_own = True
                for slot in range(n_slots):
                    # `table` is over the members still to come, of `size` joint states.
                    table = scratch.tables + slot * stride
                    size = packed_cardinalities[waiting[slot]]
                    for member in range(
                        pack_starts[waiting[slot]], pack_starts[waiting[slot] + 1]
                    ):
                        cardinality = cardinalities[member]
                        n_inner = size // cardinality
                        k = joining[member]
                        if k >= 0:
                            choose_terms(&terms, k, term_tables, which, tails)
                            if n_inner > 1:
                                sum_out(table, cardinality, n_inner, n_base, scratch.marginal)
                            totals[k] = sum_table(
                                table if n_inner == 1 else scratch.marginal,
                                cardinality * n_configurations, child_cardinality, &terms, k,
                                &unknown,
                            )
                        fold(table, cardinality, n_inner * n_base)
                        size = n_inner
                n_slots = 0

        # The parents as they are, and without one of them.
        if n_base > 0 and not has_own and not failed:
            count_labels(scratch.base, n_base, row_weights, scratch.own, n_rows)
        for k in range(n_candidates):
            if failed:
                break
            if joining[candidates[k]] >= 0:
                continue
            choose_terms(&terms, k, term_tables, which, tails)
            place = place_of(candidates[k], parents)
            if place < 0 and n_base > 0:
                totals[k] = sum_table(
                    scratch.own, n_configurations, child_cardinality, &terms, k, &unknown
                )
            elif plain and n_base > 0:
                n_inner = child_cardinality
                for i in range(place + 1, parents.shape[0]):
                    n_inner *= cardinalities[parents[i]]
                cardinality = cardinalities[parents[place]]
                sum_out(
                    scratch.own, n_base // n_inner // cardinality, cardinality, n_inner,
                    scratch.marginal,
                )
                totals[k] = sum_table(
                    scratch.marginal, n_configurations // cardinality, child_cardinality, &terms,
                    k, &unknown,
                )
            else:
                size = configurations(
                    codes, cardinalities, parents, place, scratch.labels, &still_plain
                )
                failed = size < 0
                if not failed:
                    totals[k] = sum_labels(
                        child_column, child_cardinality, scratch.labels, size, row_weights,
                        scratch.counts, n_rows, &terms, k, &unknown, &failed,
                    )
    if failed:
        raise MemoryError(f"counting families of variable {child} over {n_rows} rows")
    return unknown.size


def locate_unknown_terms(
    const int32_t[::1] owners, const int64_t[::1] counts, const int64_t[::1] which,
    const int64_t[::1] functions, int64_t[::1] numbers, double[::1] floats,
):
    """Say of each count that `sum_families` did not know which function its term is one of.

    Parameters
    ----------
    owners, counts : (n_unknown,)
        As `sum_families` gave them.
    which : (n_candidates,)
        The shape of each candidate.
    functions : (2 * n_shapes,)
        The number of f of shape k at 2 k, that of its g at 2 k + 1.
    numbers : (n_unknown,), out
    floats : (n_unknown,), out
        The counts.
    """
    cdef int64_t i
    with nogil:
        for i in range(owners.shape[0]):
            numbers[i] = functions[2 * which[owners[i] >> 1] + (owners[i] & 1)]
            floats[i] = <double>counts[i]


def add_unknown_terms(
    const int32_t[::1] owners, const int64_t[::1] counts, const double[::1] terms,
    const int64_t[::1] which, const double[::1] slopes, const double[::1] scales,
    const double[::1] bounds, const uintptr_t[:, ::1] term_tables, int64_t length,
    int64_t[::1] totals, uint8_t[::1] too_large,
):
    """Add terms that `sum_families` did not know to its sums, and keep them in the tables.

    Parameters
    ----------
    owners, counts : (n_unknown,)
        As `sum_families` gave them.
    terms : (n_unknown,)
        f or g of the counts.
    which : (n_candidates,)
        The shape of each candidate.
    slopes, scales, bounds : (2 * n_shapes,)
        A term less `slope` times its count, times `scale`, is what the tables hold. It can be part
        of a sum of integers if, before it is scaled, it is at most `bound` times the count. Those
        of f of shape k are at 2 k, those of its g at 2 k + 1.
    term_tables : (n_shapes, 2)
        Addresses of the tables of each shape, as in `sum_families`.
    length : int
        Of the tables; longer counts are not kept.
    totals : (n_candidates,), in and out
    too_large : (n_candidates,), in and out
        Set to 1 for the candidates with a term that does not fit.

    Returns
    -------
    bool
        Whether there is such a candidate.
    """
    cdef int64_t i, k, owner, value
    cdef int64_t* table
    cdef double rest
    cdef bint found = False
    with nogil:
        for i in range(owners.shape[0]):
            k = owners[i] >> 1
            owner = 2 * which[k] + (owners[i] & 1)
            rest = terms[i] - slopes[owner] * <double>counts[i]
            if not fabs(rest) <= bounds[owner] * <double>counts[i]:
                too_large[k] = 1
                found = True
                continue
            value = <int64_t>rint(rest * scales[owner])
            if counts[i] < length:
                table = <int64_t*>term_tables[which[k], owner & 1]
                table[counts[i]] = value
            totals[k] += -value if owner & 1 else value
    return found


cdef void fold(int32_t* table, int64_t n_states, int64_t n_inner) noexcept nogil:
    """Sum a table of shape (n_states, n_inner) over its first axis, in place."""
    cdef int64_t _state, inner
    cdef int32_t* block = table
    for _state in range(1, n_states):
        block += n_inner
        for inner in range(n_inner):
            table[inner] += block[inner]


cdef int64_t place_of(int32_t variable, const int32_t[::1] parents) noexcept nogil:
    cdef int64_t k
    for k in range(parents.shape[0]):
        if parents[k] == variable:
            return k
    return -1
