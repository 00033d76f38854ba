# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Counting kernels: joint states of columns of codes, and sums over their counts.

The only rule here is O(rows) memory: a table is indexed by joint state while it stays within a
few cells per row, and beyond that rows are grouped by the states that occur.
All kernels release the GIL and trust their caller: codes below their cardinality, shapes that fit.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t

# Tables up to this many cells are used whatever the number of rows (they stay in the L2 cache).
cdef int64_t SMALL_TABLE = 65536


cdef int64_t dense_limit(int64_t n_rows) noexcept nogil:
    """Largest table that is indexed directly: a few cells per row."""
    return max(SMALL_TABLE, 4 * n_rows)


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
    stamp = <int32_t*>malloc(cardinality * sizeof(int32_t))
    if start == NULL or order == NULL or table == NULL or stamp == NULL:
        free(start)
        free(order)
        free(table)
        free(stamp)
        return -1
    memset(stamp, 0xFF, cardinality * sizeof(int32_t))
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
        if stamp[cell] != labels[k]:
            stamp[cell] = labels[k]
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


cdef int64_t configurations(
    const code_t[:, ::1] codes, const int64_t[::1] cardinalities, const int32_t[::1] parents,
    int32_t* labels,
) noexcept nogil:
    """Number each row's parent configuration; all configurations if few, else the observed ones.

    Returns how many numbers there are, or -1 when memory ran out.
    """
    cdef int64_t n_rows = codes.shape[1]
    cdef int64_t n_labels = 1, cardinality, k, i
    cdef int64_t few = max(<int64_t>256, n_rows // 32)
    cdef int32_t r
    cdef const code_t* column
    memset(labels, 0, n_rows * sizeof(int32_t))
    for k in range(parents.shape[0]):
        cardinality = cardinalities[parents[k]]
        column = &codes[parents[k], 0]
        if cardinality <= few // n_labels:
            r = <int32_t>cardinality
            for i in range(n_rows):
                labels[i] = labels[i] * r + <int32_t>column[i]
            n_labels *= cardinality
        else:
            n_labels = refine(column, cardinality, labels, n_labels, n_rows)
            if n_labels < 0:
                return -1
    return n_labels


cdef struct Sink:
    # Counts too large for the tables, for the caller to evaluate: owner 2k is a cell of
    # candidate k, owner 2k + 1 a parent configuration.
    int32_t* owners
    int64_t* counts
    int64_t size


cdef inline int64_t look_up(
    const int64_t* table, int64_t length, int64_t count, int64_t owner, Sink* large,
) noexcept nogil:
    if count < length:
        return table[count]
    large.owners[large.size] = <int32_t>owner
    large.counts[large.size] = count
    large.size += 1
    return 0


cdef int64_t sum_table(
    const int32_t* table, int64_t n_configurations, int64_t cardinality,
    const int64_t* cell_terms, const int64_t* parent_terms, int64_t length,
    int64_t candidate, Sink* large,
) noexcept nogil:
    """sum over cells of f(N_jk) minus sum over configurations of g(N_j)."""
    cdef int64_t total = 0, j, k, count, parent_count
    for j in range(n_configurations):
        parent_count = 0
        for k in range(cardinality):
            count = table[k]
            parent_count += count
            total += look_up(cell_terms, length, count, 2 * candidate, large)
        total -= look_up(parent_terms, length, parent_count, 2 * candidate + 1, large)
        table += cardinality
    return total


cdef int64_t sum_grouped(
    const code_t* child, int64_t child_cardinality,
    const code_t* candidate_column, int64_t candidate_cardinality,
    const int32_t* configuration, int64_t n_configurations, const int32_t* weights,
    int32_t* labels, int32_t* counts, int64_t n_rows,
    const int64_t* cell_terms, const int64_t* parent_terms, int64_t length,
    int64_t candidate, Sink* large, bint* failed,
) noexcept nogil:
    """The same sums where a table of all states would be too large: observed states only."""
    cdef int64_t total = 0, i, n_labels
    for i in range(n_rows):
        labels[i] = configuration[i]
    n_labels = refine(candidate_column, candidate_cardinality, labels, n_configurations, n_rows)
    if n_labels < 0:
        failed[0] = True
        return 0
    count_labels(labels, n_labels, weights, counts, n_rows)
    for i in range(n_labels):
        total -= look_up(parent_terms, length, counts[i], 2 * candidate + 1, large)
    n_labels = refine(child, child_cardinality, labels, n_labels, n_rows)
    if n_labels < 0:
        failed[0] = True
        return 0
    count_labels(labels, n_labels, weights, counts, n_rows)
    for i in range(n_labels):
        total += look_up(cell_terms, length, counts[i], 2 * candidate, large)
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


cdef void count_four(
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


def sum_families(
    const code_t[:, ::1] codes, const int64_t[::1] cardinalities, const int32_t[::1] weights,
    int child, const int32_t[::1] parents, const int32_t[::1] candidates,
    const int32_t[::1] term_rows, const int64_t[:, ::1] cell_terms,
    const int64_t[:, ::1] parent_terms,
    int64_t[::1] totals, int32_t[::1] large_owners, int64_t[::1] large_counts,
):
    """Sum tabulated terms over the counts of `child` given `parents` and one more candidate.

    Parameters
    ----------
    codes : (n_variables, n_rows)
    cardinalities : (n_variables,)
    weights : (n_rows,) or None
        Whole weights; their sum is below 2**31.
    candidates : (n_candidates,)
        Variables; -1 stands for no further parent.
    term_rows : (n_candidates,)
        Row of the tables that a candidate uses.
    cell_terms, parent_terms : (n_tables, length)
        f(n) and g(n) for n = 0 .. length - 1 as integers (fixed point), both 0 at n = 0.
    totals : (n_candidates,), out
        sum f(N_jk) - sum g(N_j), over counts below `length`.
    large_owners, large_counts : out
        The counts from `length` upward: owner 2k for a cell of candidate k, 2k + 1 for a parent
        configuration. They must hold 2 * n_candidates * (total weight // length) entries.

    Returns
    -------
    int
        How many large counts there are.

    Notes
    -----
    Integer sums do not depend on the order of the terms, so neither does a score on the order of
    rows or the names of states.
    """
    cdef int64_t n_rows = codes.shape[1]
    cdef int64_t n_candidates = candidates.shape[0]
    cdef int64_t length = cell_terms.shape[1]
    cdef int64_t child_cardinality = cardinalities[child]
    cdef const int32_t* row_weights = NULL if weights is None else &weights[0]
    cdef int64_t n_configurations, n_base, limit, largest = 1, cells, i, k, slot, n_slots
    cdef int64_t cardinality
    cdef bint grouped = False, failed = False
    cdef int32_t* configuration = NULL
    cdef int32_t* base = NULL
    cdef int32_t* labels = NULL
    cdef int32_t* counts = NULL
    cdef int32_t* tables = NULL
    cdef code_t* nothing = NULL
    cdef const code_t* column
    cdef const code_t* columns[4]
    cdef int64_t waiting[4]
    cdef Sink large
    large.owners = &large_owners[0] if large_owners.shape[0] else NULL
    large.counts = &large_counts[0] if large_counts.shape[0] else NULL
    large.size = 0

    with nogil:
        limit = dense_limit(n_rows)
        configuration = <int32_t*>malloc(n_rows * sizeof(int32_t))
        nothing = <code_t*>calloc(n_rows, sizeof(code_t))
        if configuration == NULL or nothing == NULL:
            failed = True
        if not failed:
            n_configurations = configurations(codes, cardinalities, parents, configuration)
            failed = n_configurations < 0
        if not failed:
            if child_cardinality <= limit // n_configurations:
                n_base = n_configurations * child_cardinality
            else:
                n_base = limit + 1
            for k in range(n_candidates):
                cardinality = 1 if candidates[k] < 0 else cardinalities[candidates[k]]
                if n_base > limit // cardinality:
                    grouped = True
                else:
                    largest = max(largest, n_base * cardinality)
            if grouped:
                labels = <int32_t*>malloc(n_rows * sizeof(int32_t))
                counts = <int32_t*>malloc(n_rows * sizeof(int32_t))
                failed = labels == NULL or counts == NULL
            if n_base <= limit and not failed:
                base = <int32_t*>malloc(n_rows * sizeof(int32_t))
                tables = <int32_t*>malloc(4 * largest * sizeof(int32_t))
                failed = base == NULL or tables == NULL
                if not failed:
                    column = &codes[child, 0]
                    for i in range(n_rows):
                        base[i] = (
                            configuration[i] * <int32_t>child_cardinality + <int32_t>column[i]
                        )
        if not failed:
            n_slots = 0
            for k in range(n_candidates):
                cardinality = 1 if candidates[k] < 0 else cardinalities[candidates[k]]
                column = nothing if candidates[k] < 0 else &codes[candidates[k], 0]
                if n_base > limit // cardinality:
                    totals[k] = sum_grouped(
                        &codes[child, 0], child_cardinality, column, cardinality,
                        configuration, n_configurations, row_weights, labels, counts, n_rows,
                        &cell_terms[term_rows[k], 0], &parent_terms[term_rows[k], 0], length,
                        k, &large, &failed,
                    )
                    if failed:
                        break
                else:
                    columns[n_slots] = column
                    waiting[n_slots] = k
                    n_slots += 1
                if n_slots == 4 or (n_slots and k == n_candidates - 1):
                    for slot in range(n_slots):
                        cells = candidate_cells(waiting[slot], candidates, cardinalities, n_base)
                        memset(tables + slot * largest, 0, cells * sizeof(int32_t))
                    count_slots(
                        n_slots, base, <int32_t>n_base, row_weights, n_rows, columns, tables,
                        largest,
                    )
                    for slot in range(n_slots):
                        i = waiting[slot]
                        cells = candidate_cells(i, candidates, cardinalities, n_base)
                        totals[i] = sum_table(
                            tables + slot * largest, cells // child_cardinality,
                            child_cardinality, &cell_terms[term_rows[i], 0],
                            &parent_terms[term_rows[i], 0], length, i, &large,
                        )
                    n_slots = 0
        free(configuration)
        free(base)
        free(labels)
        free(counts)
        free(tables)
        free(nothing)
    if failed:
        raise MemoryError(f"counting families of variable {child} over {n_rows} rows")
    return large.size


cdef int64_t candidate_cells(
    int64_t k, const int32_t[::1] candidates, const int64_t[::1] cardinalities, int64_t n_base,
) noexcept nogil:
    return n_base if candidates[k] < 0 else n_base * cardinalities[candidates[k]]


cdef void count_slots(
    int64_t n_slots, const int32_t* base, int32_t n_base, const int32_t* weights, int64_t n_rows,
    const code_t** columns, int32_t* tables, int64_t stride,
) noexcept nogil:
    cdef int64_t i, slot
    cdef const code_t* column
    cdef int32_t* table
    if n_slots == 4:
        count_four(
            base, n_base, weights, n_rows, columns[0], columns[1], columns[2], columns[3],
            tables, tables + stride, tables + 2 * stride, tables + 3 * stride,
        )
        return
    for slot in range(n_slots):
        column = columns[slot]
        table = tables + slot * stride
        if weights == NULL:
            for i in range(n_rows):
                table[<int32_t>column[i] * n_base + base[i]] += 1
        else:
            for i in range(n_rows):
                table[<int32_t>column[i] * n_base + base[i]] += weights[i]
