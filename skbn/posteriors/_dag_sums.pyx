# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True
"""Kernels of the sums over all directed acyclic graphs and over all orders of the variables.

A set is a number whose bit b stands for variable b. What belongs to a child and a set without it
is stored at the set's number with the child's bit taken out. A number of any size is a mantissa
in [1, 2), or 0, and a power of two; sums with terms of both signs are pairs of doubles (an
unevaluated sum, about 106 bits). All kernels release the GIL and trust their caller.
"""

from libc.math cimport INFINITY, exp, floor
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

# The power of two of 0. Sums of a few of them, or with any other, stay far below all others.
cdef int64_t NOTHING = -((<int64_t>1) << 56)
# Below a power of two times this, nothing is left of the smaller of two terms.
cdef int64_t NEGLIGIBLE = 64
cdef double LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first of so few bits that its multiples up to 2^20 are exact.
cdef double LN2_HIGH = 6.93147180369123816490e-01
cdef double LN2_LOW = 1.90821492927058770002e-10
cdef uint64_t UPPER_BITS = ~(((<uint64_t>1) << 27) - 1)
# More variables than the tables of all sets could ever be held for.
cdef enum:
    MOST = 64


cdef struct Pair:
    double hi
    double lo


cdef inline double power_of_two(int64_t exponent) noexcept nogil:
    """2 ** exponent, for exponents from -1022 to 1023."""
    cdef uint64_t bits = <uint64_t>(exponent + 1023) << 52
    cdef double value
    memcpy(&value, &bits, sizeof(value))
    return value


cdef inline int64_t exponent_of(double value) noexcept nogil:
    """The power of two of a normal number."""
    cdef uint64_t bits
    memcpy(&bits, &value, sizeof(bits))
    return <int64_t>(bits >> 52 & 2047) - 1023


cdef inline double upper_half(double value) noexcept nogil:
    """The upper 26 bits of a number; the rest has 27."""
    cdef uint64_t bits
    memcpy(&bits, &value, sizeof(bits))
    bits &= UPPER_BITS
    memcpy(&value, &bits, sizeof(value))
    return value


cdef inline Pair plus(Pair a, Pair b) noexcept nogil:
    """a + b, to about 2^-104 of |a| + |b|."""
    cdef Pair result
    cdef double total = a.hi + b.hi
    cdef double part = total - a.hi
    cdef double error = (a.hi - (total - part)) + (b.hi - part)
    error += a.lo + b.lo
    result.hi = total + error
    result.lo = error - (result.hi - total)
    return result


cdef inline Pair times(Pair a, Pair b) noexcept nogil:
    """a b. The error of the product of the leading parts is exact, as Dekker found."""
    cdef Pair result
    cdef double product = a.hi * b.hi
    cdef double a_upper = upper_half(a.hi), b_upper = upper_half(b.hi)
    cdef double a_lower = a.hi - a_upper, b_lower = b.hi - b_upper
    cdef double error = a_lower * b_lower - (
        ((product - a_upper * b_upper) - a_lower * b_upper) - a_upper * b_lower
    )
    error += a.hi * b.lo + a.lo * b.hi
    result.hi = product + error
    result.lo = error - (result.hi - product)
    return result


cdef inline Pair times_double(
    Pair a, double b, double b_upper, double b_lower
) noexcept nogil:
    cdef Pair result
    cdef double product = a.hi * b
    cdef double a_upper = upper_half(a.hi)
    cdef double a_lower = a.hi - a_upper
    cdef double error = a_lower * b_lower - (
        ((product - a_upper * b_upper) - a_lower * b_upper) - a_upper * b_lower
    )
    error += a.lo * b
    result.hi = product + error
    result.lo = error - (result.hi - product)
    return result


cdef inline Pair scaled(Pair a, double factor) noexcept nogil:
    """a times a power of two."""
    a.hi *= factor
    a.lo *= factor
    return a


cdef inline int64_t without(int64_t members, int64_t variable) noexcept nogil:
    """The number of a set with the bit of a variable taken out."""
    cdef int64_t low = members & (((<int64_t>1) << variable) - 1)
    return low | (members >> (variable + 1) << variable)


cdef inline void add_to(
    double* mantissa, int64_t* power, double more, int64_t its_power
) noexcept nogil:
    """Add a number of any size to another; both are positive or 0."""
    cdef int64_t shift
    cdef double total
    if more == 0.0:
        return
    shift = its_power - power[0]
    if shift > NEGLIGIBLE or mantissa[0] == 0.0:
        mantissa[0] = more
        power[0] = its_power
        return
    if shift < -NEGLIGIBLE:
        return
    total = mantissa[0] + more * power_of_two(shift)
    shift = exponent_of(total)
    mantissa[0] = total * power_of_two(-shift)
    power[0] += shift


def exponentials(const double[::1] logs, double[::1] mantissas, int64_t[::1] powers):
    """exp of logarithms of any size; minus infinity gives 0."""
    cdef int64_t i, shift
    cdef double value, whole
    with nogil:
        for i in range(logs.shape[0]):
            if logs[i] == -INFINITY:
                mantissas[i] = 0.0
                powers[i] = NOTHING
                continue
            whole = floor(logs[i] * LOG2_E)
            value = exp((logs[i] - whole * LN2_HIGH) - whole * LN2_LOW)
            shift = exponent_of(value)
            mantissas[i] = value * power_of_two(-shift)
            powers[i] = <int64_t>whole + shift


def sum_over_subsets(double[::1] mantissas, int64_t[::1] powers):
    """Replace f(S) by the sum of f over the subsets of S, in place."""
    cdef int64_t size = mantissas.shape[0], half = 1, run, i
    with nogil:
        while half < size:
            for run in range(size // (2 * half)):
                for i in range(2 * half * run, 2 * half * run + half):
                    add_to(&mantissas[i + half], &powers[i + half], mantissas[i], powers[i])
            half *= 2


def sum_over_supersets(double[::1] mantissas, int64_t[::1] powers):
    """Replace f(S) by the sum of f over the sets that hold S, in place."""
    cdef int64_t size = mantissas.shape[0], half = 1, run, i
    with nogil:
        while half < size:
            for run in range(size // (2 * half)):
                for i in range(2 * half * run, 2 * half * run + half):
                    add_to(&mantissas[i], &powers[i], mantissas[i + half], powers[i + half])
            half *= 2


cdef inline void add_product(
    double* total, int64_t* power, double a, int64_t a_power, double b, int64_t b_power
) noexcept nogil:
    cdef double product = a * b
    cdef int64_t shift
    if product != 0.0:
        shift = exponent_of(product)
        add_to(total, power, product * power_of_two(-shift), a_power + b_power + shift)


def sum_orders_below(
    const double[:, ::1] families, const int64_t[:, ::1] family_powers,
    int64_t start, int64_t stop, double[::1] sums, int64_t[::1] powers,
):
    """Weights of all orders of each set, for the sets from `start` to `stop`; smaller ones first.

    The weight of an order is the product of ``families[j, predecessors of j]``. The empty set has
    weight 1, set by the caller.
    """
    cdef int64_t members, left, own, child, place
    cdef double total
    cdef int64_t power
    with nogil:
        for members in range(start, stop):
            total = 0.0
            power = NOTHING
            for child in range(families.shape[0]):
                own = (<int64_t>1) << child
                if members & own:
                    left = members ^ own
                    place = without(left, child)
                    add_product(
                        &total, &power, sums[left], powers[left],
                        families[child, place], family_powers[child, place],
                    )
            sums[members] = total
            powers[members] = power


def sum_orders_above(
    const double[:, ::1] families, const int64_t[:, ::1] family_powers,
    int64_t start, int64_t stop, double[::1] sums, int64_t[::1] powers,
):
    """Weights of all orders of the variables outside each set, which precedes them.

    For the sets below `start` down to `stop`, larger ones first. The set of all variables has
    weight 1, set by the caller.
    """
    cdef int64_t members, own, child, place
    cdef double total
    cdef int64_t power
    with nogil:
        for members in range(start - 1, stop - 1, -1):
            total = 0.0
            power = NOTHING
            for child in range(families.shape[0]):
                own = (<int64_t>1) << child
                if not members & own:
                    place = without(members, child)
                    add_product(
                        &total, &power, sums[members | own], powers[members | own],
                        families[child, place], family_powers[child, place],
                    )
            sums[members] = total
            powers[members] = power


cdef struct Free:
    # The variables outside a set that can come next, with what their parents inside weigh.
    int64_t n
    int64_t bit[MOST]
    int64_t variable[MOST]
    double weight[MOST]
    double upper[MOST]
    double lower[MOST]
    int64_t power[MOST]


cdef void look_up(
    Free* free, const double[:, ::1] families, const int64_t[:, ::1] family_powers,
    int64_t members, int64_t n_bits,
) noexcept nogil:
    """The variables below `n_bits` outside a set whose family sums there are not 0."""
    cdef int64_t child, place, k = 0
    for child in range(n_bits):
        if members >> child & 1:
            continue
        place = without(members, child)
        if families[child, place] == 0.0:
            continue
        free.variable[k] = child
        free.bit[k] = (<int64_t>1) << child
        free.weight[k] = families[child, place]
        free.upper[k] = upper_half(free.weight[k])
        free.lower[k] = free.weight[k] - free.upper[k]
        free.power[k] = family_powers[child, place]
        k += 1
    free.n = k


def sum_dags_above(
    const int64_t[::1] sets, const double[:, ::1] families, const int64_t[:, ::1] family_powers,
    const int64_t[::1] below, const int64_t[::1] above, int64_t floor_power,
    double[::1] high, double[::1] low, const double[::1] below_high, const double[::1] below_low,
    int64_t top, double[:, ::1] last,
):
    """Weights of all ways to complete a graph over each set; larger sets come first.

    B(U) = sum over nonempty T outside U of (-1)^(|T|+1) B(U + T) prod of families[j, U], j in T:
    inclusion and exclusion over the variables whose parents are all in U.

    Parameters
    ----------
    sets : (n_sets,)
        Of one size, so that none needs the result of another.
    families, family_powers : (n_variables, 2 ** (n_variables - 1))
        Weights of all parent sets within a set, for each child outside it.
    below, above : (2 ** n_variables,)
        Powers of two of the orders' weights, within a set and after it. `above` is the unit of B.
    floor_power : int
        Terms below this power of two, with everything within the set and after, are left out.
    high, low : (2 ** n_variables,), in and out
        B. That of the set of all variables is 1, set by the caller.
    below_high, below_low : (2 ** n_variables,), or empty
        R, the weights of all graphs over each set, in units of 2 ** `below`.
    top : int
        The unit of `last` is 2 ** top.
    last : (n_variables, 2 ** (n_variables - 1)), out, or empty
        ``last[j, U]``: weight of the graphs in which U is all that does not descend from j.
    """
    cdef Free free
    cdef int64_t depth, k, reached, power, i, members, room, n = families.shape[0]
    cdef int64_t[MOST] chosen, place, powers
    cdef int64_t[MOST] union_
    cdef Pair[MOST] product, subtotal, share
    cdef Pair term, inside
    cdef bint with_last = last.shape[0] > 0
    cdef double factor
    with nogil:
        for i in range(sets.shape[0]):
            members = sets[i]
            if with_last:
                for k in range(n):
                    if not members >> k & 1:
                        last[k, without(members, k)] = 0.0
            if below[members] + above[members] < floor_power:
                high[members] = low[members] = 0.0
                continue
            room = floor_power - below[members]
            look_up(&free, families, family_powers, members, n)
            for k in range(free.n):
                share[k].hi = share[k].lo = 0.0
            depth = 0
            union_[0] = members
            powers[0] = -above[members]
            # The sign of a single variable is +.
            product[0].hi = -1.0
            product[0].lo = 0.0
            subtotal[0].hi = subtotal[0].lo = 0.0
            place[0] = free.n
            while True:
                if place[depth] == 0:
                    # All that goes beyond this choice is summed up.
                    if depth == 0:
                        break
                    k = chosen[depth]
                    share[k] = plus(share[k], subtotal[depth])
                    depth -= 1
                    subtotal[depth] = plus(subtotal[depth], subtotal[depth + 1])
                    continue
                place[depth] -= 1
                k = place[depth]
                reached = union_[depth] | free.bit[k]
                power = powers[depth] + free.power[k]
                # More variables never weigh more: nothing beyond counts either.
                if power + above[members] + above[reached] < room:
                    continue
                product[depth + 1] = times_double(
                    product[depth], -free.weight[k], -free.upper[k], -free.lower[k]
                )
                term.hi = high[reached]
                term.lo = low[reached]
                term = times(product[depth + 1], term)
                factor = power_of_two(max(-1022, power + above[reached]))
                depth += 1
                subtotal[depth] = scaled(term, factor)
                chosen[depth] = k
                place[depth] = k
                union_[depth] = reached
                powers[depth] = power
            # Below zero by rounding alone.
            high[members] = subtotal[0].hi if subtotal[0].hi > 0.0 else 0.0
            low[members] = subtotal[0].lo if subtotal[0].hi > 0.0 else 0.0
            if with_last:
                inside.hi = below_high[members]
                inside.lo = below_low[members]
                factor = power_of_two(max(-1022, below[members] + above[members] - top))
                for k in range(free.n):
                    term = times(share[k], inside)
                    if term.hi > 0.0:
                        last[free.variable[k], without(members, free.variable[k])] = (
                            term.hi * factor
                        )


def sum_dags_below(
    int64_t target, const int64_t[::1] sources, int64_t n_low,
    const double[:, ::1] families, const int64_t[:, ::1] family_powers,
    const int64_t[::1] below, const int64_t[::1] above, int64_t floor_power,
    double[::1] high, double[::1] low,
):
    """Weights of all graphs over each set, as far as some smaller sets contribute to them.

    R(S) = sum over nonempty T in S of (-1)^(|T|+1) R(S - T) prod of families[j, S - T], j in T:
    inclusion and exclusion over the variables without children.

    Parameters
    ----------
    target : int
        The sets to be added to have these members from bit `n_low` upward.
    sources : (n_sources,)
        The contributing sets have these, subsets of `target`; itself must come last.
    families, family_powers, below, above, floor_power
        As in `sum_dags_above`. `below` is the unit of R.
    high, low : (2 ** n_variables,), in and out
        R, 0 before the first contribution. That of the empty set is 1, set by the caller.
    """
    cdef Free free
    cdef int64_t s, i, child, place_of, depth, k, source, members, first, reached, power
    cdef int64_t base_power, joining, n = families.shape[0]
    cdef int64_t[MOST] place, powers
    cdef int64_t[MOST] union_
    cdef Pair[MOST] product
    cdef Pair start, term, sum_
    cdef double weight, upper
    with nogil:
        for s in range(sources.shape[0]):
            source = sources[s]
            joining = target ^ source
            for i in range((<int64_t>1) << n_low):
                members = source << n_low | i
                # What is too small to matter got nothing.
                if high[members] == 0.0:
                    continue
                # All variables by which the blocks differ join.
                start.hi = -high[members]
                start.lo = -low[members]
                base_power = below[members]
                for child in range(n_low, n):
                    if not joining >> (child - n_low) & 1:
                        continue
                    place_of = without(members, child)
                    weight = -families[child, place_of]
                    upper = upper_half(weight)
                    start = times_double(start, weight, upper, weight - upper)
                    base_power += family_powers[child, place_of]
                    if weight == 0.0:
                        break
                first = target << n_low | i
                if start.hi == 0.0 or base_power + above[first] < floor_power:
                    continue
                if joining:
                    term = scaled(start, power_of_two(max(-1022, base_power - below[first])))
                    sum_.hi = high[first]
                    sum_.lo = low[first]
                    sum_ = plus(sum_, term)
                    high[first] = sum_.hi
                    low[first] = sum_.lo
                look_up(&free, families, family_powers, members, n_low)
                depth = 0
                union_[0] = first
                powers[0] = base_power
                product[0] = start
                place[0] = free.n
                while True:
                    if place[depth] == 0:
                        if depth == 0:
                            break
                        depth -= 1
                        continue
                    place[depth] -= 1
                    k = place[depth]
                    reached = union_[depth] | free.bit[k]
                    power = powers[depth] + free.power[k]
                    if power + above[reached] < floor_power:
                        continue
                    term = times_double(
                        product[depth], -free.weight[k], -free.upper[k], -free.lower[k]
                    )
                    depth += 1
                    product[depth] = term
                    place[depth] = k
                    union_[depth] = reached
                    powers[depth] = power
                    term = scaled(term, power_of_two(max(-1022, power - below[reached])))
                    sum_.hi = high[reached]
                    sum_.lo = low[reached]
                    sum_ = plus(sum_, term)
                    high[reached] = sum_.hi
                    low[reached] = sum_.lo


def source_weights(
    int64_t members, const double[:, ::1] families, const int64_t[:, ::1] family_powers,
    const int64_t[::1] below, const int64_t[::1] above, int64_t floor_power,
    const double[::1] high, const double[::1] low, double[::1] first, double[::1] second,
):
    """Weights of the completions over a set, by which variables have all their parents in it.

    Parameters
    ----------
    members : int
        The set U.
    families, family_powers, below, above, floor_power, high, low
        As in `sum_dags_above`, with B done.
    first, second : (2 ** n_outside,), out
        ``first[T]``: weight of the completions in which exactly the variables T, numbered among
        those outside U, have all parents in U; in units of 2 ** above[U]. `second` is a room.
    """
    cdef Free free
    cdef int64_t depth, k, reached, power, room, i, half, run, number, child
    cdef int64_t n = families.shape[0], size = first.shape[0]
    cdef int64_t[MOST] place, powers, position, numbers
    cdef int64_t[MOST] union_
    cdef Pair[MOST] product
    cdef Pair term, other
    with nogil:
        look_up(&free, families, family_powers, members, n)
        for i in range(size):
            first[i] = second[i] = 0.0
        # Where the variables stand among all outside; those without a possible parent set are
        # none of `free`.
        number = 0
        k = 0
        for child in range(n):
            if members >> child & 1:
                continue
            if k < free.n and free.variable[k] == child:
                position[k] = (<int64_t>1) << number
                k += 1
            number += 1
        room = floor_power - below[members]
        depth = 0
        union_[0] = members
        numbers[0] = 0
        powers[0] = 0
        product[0].hi = 1.0
        product[0].lo = 0.0
        place[0] = free.n
        while True:
            if place[depth] == 0:
                if depth == 0:
                    break
                depth -= 1
                continue
            place[depth] -= 1
            k = place[depth]
            reached = union_[depth] | free.bit[k]
            power = powers[depth] + free.power[k]
            if power + above[reached] < room:
                continue
            product[depth + 1] = times_double(
                product[depth], -free.weight[k], -free.upper[k], -free.lower[k]
            )
            depth += 1
            place[depth] = k
            union_[depth] = reached
            powers[depth] = power
            numbers[depth] = numbers[depth - 1] | position[k]
            term.hi = high[reached]
            term.lo = low[reached]
            term = scaled(
                times(product[depth], term),
                power_of_two(max(-1022, power + above[reached] - above[members])),
            )
            first[numbers[depth]] = term.hi
            second[numbers[depth]] = term.lo
        half = 1
        while half < size:
            for run in range(size // (2 * half)):
                for i in range(2 * half * run, 2 * half * run + half):
                    term.hi = first[i]
                    term.lo = second[i]
                    other.hi = first[i + half]
                    other.lo = second[i + half]
                    # (-1)^|T| taken along: what lacks the variable changes its sign in the end.
                    term = plus(term, other)
                    first[i] = term.hi
                    second[i] = term.lo
            half *= 2
        for i in range(size):
            number = i
            power = 0
            while number:
                number &= number - 1
                power ^= 1
            if power:
                first[i] = -first[i]
            if first[i] < 0.0:
                first[i] = 0.0
        first[0] = 0.0
