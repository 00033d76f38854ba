# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""The best of all moves that are valid in a graph, and who is an ancestor of whom after one.

Trusts its caller: square matrices of one size, nothing NaN. The GIL is released for large graphs
alone: for small ones to get it back takes longer than the work.
"""

# Python's own allocator that needs no GIL: tracemalloc sees it, and tests can have it fail.
from cpython.mem cimport (
    PyMem_RawCalloc as calloc, PyMem_RawFree as free, PyMem_RawMalloc as malloc,
    PyMem_RawRealloc as realloc,
)
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr

cdef enum:
    ADD = 0
    DELETE = 1
    REVERSE = 2

KINDS = ("add", "delete", "reverse")


# Matrices of so many rows take longer to look through than the GIL takes to get.
cdef int64_t LARGE = 200


cdef struct Graph:
    int64_t n
    const double* gains
    const uint8_t* adjacency
    const uint8_t* ancestors
    const uint8_t* allowed
    const uint8_t* required
    int64_t max_parents
    const int32_t* tabu
    int64_t n_tabu
    double exempt_above
    int32_t* n_parents
    # Of edges: a n + b for a -> b, ascending.
    int64_t* edges
    int64_t n_edges
    int64_t room


cdef bint list_edges(Graph* graph) noexcept nogil:
    """List the edges and count parents; False when memory ran out."""
    cdef int64_t a
    cdef const uint8_t* row
    cdef const uint8_t* found
    cdef int64_t* more
    graph.n_parents = <int32_t*>calloc(graph.n, sizeof(int32_t))
    graph.room = 4 * graph.n
    graph.edges = <int64_t*>malloc(graph.room * sizeof(int64_t))
    if graph.n_parents == NULL or graph.edges == NULL:
        return False
    for a in range(graph.n):
        row = graph.adjacency + a * graph.n
        found = <const uint8_t*>memchr(row, 1, graph.n)
        while found != NULL:
            if graph.n_edges == graph.room:
                graph.room *= 2
                more = <int64_t*>realloc(graph.edges, graph.room * sizeof(int64_t))
                if more == NULL:
                    return False
                graph.edges = more
            graph.edges[graph.n_edges] = found - graph.adjacency
            graph.n_edges += 1
            graph.n_parents[found - row] += 1
            found = <const uint8_t*>memchr(found + 1, 1, graph.n - (found + 1 - row))
    return True


cdef bint is_tabu(
    const Graph* graph, int32_t kind, int64_t a, int64_t b, double gain,
) noexcept nogil:
    cdef int64_t k
    if gain > graph.exempt_above:
        return False
    for k in range(graph.n_tabu):
        if (
            graph.tabu[3 * k] == kind and graph.tabu[3 * k + 1] == a
            and graph.tabu[3 * k + 2] == b
        ):
            return True
    return False


cdef bint may_toggle(const Graph* graph, int64_t a, int64_t b, double gain) noexcept nogil:
    """Whether a -> b may be added, or deleted where it is."""
    cdef int64_t edge = a * graph.n + b
    if graph.adjacency[edge]:
        return not graph.required[edge] and not is_tabu(graph, DELETE, a, b, gain)
    return (
        a != b and graph.allowed[edge] and not graph.ancestors[b * graph.n + a]
        and graph.n_parents[b] < graph.max_parents and not is_tabu(graph, ADD, a, b, gain)
    )


cdef bint may_reverse(const Graph* graph, int64_t a, int64_t b, double gain) noexcept nogil:
    """Whether the edge a -> b may be reversed: a reaches b by no longer path."""
    cdef int64_t n = graph.n, k
    if (
        graph.required[a * n + b] or not graph.allowed[b * n + a]
        or graph.n_parents[a] >= graph.max_parents or is_tabu(graph, REVERSE, a, b, gain)
    ):
        return False
    for k in range(n):
        # Another parent of b.
        if graph.adjacency[k * n + b] and graph.ancestors[a * n + k]:
            return False
    return True


cdef struct Found:
    # The largest gain, and the edges of the moves that tie with it: first those to toggle.
    double best
    int64_t* tied
    int64_t n_tied
    int64_t n_toggles
    int64_t room


cdef void release(Graph* graph, Found* found) noexcept nogil:
    free(graph.n_parents)
    free(graph.edges)
    free(found.tied)


cdef bint keep(Found* found, int64_t edge) noexcept nogil:
    """Append to the moves that tie; False when memory ran out."""
    cdef int64_t* more
    if found.n_tied == found.room:
        found.room = 2 * found.room + 16
        more = <int64_t*>realloc(found.tied, found.room * sizeof(int64_t))
        if more == NULL:
            return False
        found.tied = more
    found.tied[found.n_tied] = edge
    found.n_tied += 1
    return True


cdef bint search(const Graph* graph, double noise, Found* found) noexcept nogil:
    """Find the largest gain and then what ties with it; False when memory ran out.

    Few moves are better than all before them, so that few are looked at closely.
    """
    cdef int64_t n = graph.n, a, b, k
    cdef double gain, least, best = -INFINITY
    cdef const double* row
    for a in range(n):
        row = graph.gains + a * n
        for b in range(n):
            if row[b] > best and may_toggle(graph, a, b, row[b]):
                best = row[b]
    for k in range(graph.n_edges):
        a, b = graph.edges[k] // n, graph.edges[k] % n
        gain = graph.gains[a * n + b] + graph.gains[b * n + a]
        if gain > best and may_reverse(graph, a, b, gain):
            best = gain
    found.best = best
    found.n_toggles = 0
    if best == -INFINITY:
        return True
    least = best - noise
    for a in range(n):
        row = graph.gains + a * n
        for b in range(n):
            if row[b] >= least and may_toggle(graph, a, b, row[b]):
                if not keep(found, a * n + b):
                    return False
    found.n_toggles = found.n_tied
    for k in range(graph.n_edges):
        a, b = graph.edges[k] // n, graph.edges[k] % n
        gain = graph.gains[a * n + b] + graph.gains[b * n + a]
        if gain >= least and may_reverse(graph, a, b, gain):
            if not keep(found, a * n + b):
                return False
    return True


def best_moves(
    const double[:, ::1] gains, const uint8_t[:, ::1] adjacency, const uint8_t[:, ::1] ancestors,
    const uint8_t[:, ::1] allowed, const uint8_t[:, ::1] required, int64_t max_parents,
    double noise, const int32_t[:, ::1] tabu=None, double exempt_above=INFINITY,
):
    """The largest gain of a valid move, and all moves that come within `noise` of it.

    Parameters
    ----------
    gains : (n, n)
        Entry [a, b] is the gain of adding a -> b, or of deleting it where it is; that of reversing
        it is the sum of the entries [a, b] and [b, a].
    adjacency, ancestors : (n, n), 0 or 1
        Of the graph, row -> column.
    allowed, required : (n, n), 0 or 1
        Edges that may be added; edges that may not be deleted or reversed.
    max_parents : int
    noise : float
    tabu : (n_tabu, 3), optional
        Moves as (place in `KINDS`, a, b) that are passed over unless their gain is above
        `exempt_above`.

    Returns
    -------
    best : float
        Minus infinity if there is no move.
    moves : list of (place in `KINDS`, a, b)
        First the edges to add or delete, then those to reverse, each by a and then by b.
    """
    cdef Graph graph
    cdef Found found
    cdef int64_t n = gains.shape[0], a, b, k
    cdef bint done
    graph.n = n
    graph.gains = &gains[0, 0]
    graph.adjacency, graph.ancestors = &adjacency[0, 0], &ancestors[0, 0]
    graph.allowed, graph.required = &allowed[0, 0], &required[0, 0]
    graph.max_parents = max_parents
    graph.n_tabu = 0 if tabu is None else tabu.shape[0]
    graph.tabu = &tabu[0, 0] if graph.n_tabu else NULL
    graph.exempt_above = exempt_above if graph.n_tabu else -INFINITY
    graph.n_parents = NULL
    graph.edges = NULL
    graph.n_edges = 0
    found.tied = NULL
    found.n_tied = found.room = 0
    try:
        if n < LARGE:
            done = list_edges(&graph) and search(&graph, noise, &found)
        else:
            with nogil:
                done = list_edges(&graph) and search(&graph, noise, &found)
        if not done:
            raise MemoryError(f"looking for the best move between {n} variables")
        moves = []
        for k in range(found.n_tied):
            a, b = found.tied[k] // n, found.tied[k] % n
            if k >= found.n_toggles:
                moves.append((<int32_t>REVERSE, a, b))
            else:
                moves.append((<int32_t>DELETE if adjacency[a, b] else <int32_t>ADD, a, b))
        return found.best, moves
    finally:
        release(&graph, &found)


cdef void collect_ancestors(
    const uint8_t[:, ::1] adjacency, uint8_t[:, ::1] ancestors, int64_t b,
) noexcept nogil:
    """Find the ancestors of `b` anew from its parents and theirs."""
    cdef int64_t n = adjacency.shape[0], a, p
    for a in range(n):
        ancestors[a, b] = adjacency[a, b]
    for p in range(n):
        if adjacency[p, b]:
            for a in range(n):
                ancestors[a, b] |= ancestors[a, p]


def update_ancestors(
    const uint8_t[:, ::1] adjacency, uint8_t[:, ::1] ancestors, const int64_t[::1] variables,
):
    """Find the ancestors of `variables` anew from their parents and the ancestors of those.

    Parameters
    ----------
    adjacency : (n, n), 0 or 1
    ancestors : (n, n), 0 or 1, in and out
        The columns of `variables` are replaced.
    variables : (n_variables,)
        Parents before children.
    """
    cdef int64_t k
    for k in range(variables.shape[0]):
        collect_ancestors(adjacency, ancestors, variables[k])


def part_ancestors(
    const uint8_t[:, ::1] adjacency, uint8_t[:, ::1] ancestors, int64_t parent, int64_t child,
):
    """Find the ancestors of `child` and of its descendants anew once its edge from `parent` left.

    Parameters
    ----------
    adjacency : (n, n), 0 or 1
        Without the edge.
    ancestors : (n, n), 0 or 1, in and out
    """
    cdef int64_t n = adjacency.shape[0], a, b, k, n_affected = 0
    cdef int64_t* affected
    cdef int64_t* n_ancestors
    for a in range(n):
        if adjacency[a, child] and ancestors[parent, a]:
            # `parent` reaches `child` by a longer path, so nobody lost an ancestor.
            return
    affected = <int64_t*>malloc(2 * n * sizeof(int64_t))
    if affected == NULL:
        raise MemoryError(f"changing a graph of {n} variables")
    n_ancestors = affected + n
    # A variable has more ancestors than any of its own ancestors: an order parents first.
    for b in range(n):
        if b != child and not ancestors[child, b]:
            continue
        n_ancestors[b] = 0
        for a in range(n):
            n_ancestors[b] += ancestors[a, b]
        k = n_affected
        while k > 0 and n_ancestors[affected[k - 1]] > n_ancestors[b]:
            affected[k] = affected[k - 1]
            k -= 1
        affected[k] = b
        n_affected += 1
    for k in range(n_affected):
        collect_ancestors(adjacency, ancestors, affected[k])
    free(affected)


def join_ancestors(uint8_t[:, ::1] ancestors, int64_t parent, int64_t child):
    """Make `parent` and its ancestors ancestors of `child` and of its descendants.

    Parameters
    ----------
    ancestors : (n, n), 0 or 1, in and out
    """
    cdef int64_t n = ancestors.shape[0], a, b
    for a in range(n):
        if a == parent or ancestors[a, parent]:
            for b in range(n):
                ancestors[a, b] |= ancestors[child, b]
            ancestors[a, child] = 1
