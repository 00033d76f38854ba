"""The uniformity measure of Steck (2008), Equations 4 and 5."""

from fractions import Fraction
from typing import Any

from skbn.theory.contingency import Contingency, as_contingency


def uniformity(counts: Any, n_parent_states: float | None = None) -> float:
    """How far two variables are from being additive given the parents (Eqs. 4 and 5).

    With p(a, b, pi) = counts / N and |.| numbers of joint states::

        U = |A,B,P| sum p(a,b,pi)^2 - |A,P| sum p(a,pi)^2 - |B,P| sum p(b,pi)^2 + |P| sum p(pi)^2

    U is what the mutual information is in the Akaike criterion when the equivalent sample size is
    large: the edge between A and B is then favoured if N U > d_F (`large_ess_favours_edge`).

    Parameters
    ----------
    counts : array-like of shape (|A|, |B|, observed parent states), or Contingency
        Counts of A, B and the parents, whole or fractional; shape (|A|, |B|) without parents. A
        `Contingency` comes from a table, by `contingency_table`.
    n_parent_states : int or float, default=None
        |P|, where there are more parent states than the array lists; 1e300 is legal.

    Returns
    -------
    float
        U, without unit; symmetric in A and B and never negative. Infinite if beyond every float.

    Notes
    -----
    Written in the conditional distributions of each parent state, U is a sum of squares::

        |A||B||P| sum_pi p(pi)^2 sum_ab
            [ p(a,b|pi) - p(a|pi)/|B| - p(b|pi)/|A| + 1/(|A||B|) ]^2

    so U = 0 iff the table of every occurring parent state is additive, p(a,b|pi) = p(a|pi)/|B| +
    p(b|pi)/|A| - 1/(|A||B|). Independence with one uniform marginal is a special case; dependent
    variables can have U = 0 as well (the second example), and independent variables with two
    skewed marginals have U > 0 (the third). The sums are taken in exact rational arithmetic and
    rounded once.

    References
    ----------
    H. Steck. Learning the Bayesian Network Structure: Dirichlet Prior versus Data. UAI 2008.

    Examples
    --------
    >>> from skbn import uniformity
    >>> uniformity([[50, 0], [0, 50]])
    1.0
    >>> uniformity([[40, 30], [20, 10]])
    0.0
    >>> round(uniformity([[81, 9], [9, 1]]), 4)
    0.4096
    """
    table = as_contingency(counts, n_parent_states)
    n, denominator = table.n_samples_exactly
    return float_of_fraction(
        table.n_parent_states * squared_deviation(table) / Fraction(n, denominator) ** 2
    )


def squared_deviation(table: Contingency) -> Fraction:
    """N^2 U / |P| = |A||B| sum n_ab,pi^2 - |A| sum n_a,pi^2 - |B| sum n_b,pi^2 + sum n_pi^2."""
    a, b = table.cardinality_a, table.cardinality_b
    squares = [margin.power_sum(2) for margin in table.margins]
    total = a * b * squares[0] - a * squares[1] - b * squares[2] + squares[3]
    return Fraction(total, table.n_samples_exactly[1] ** 2)


def float_of_fraction(value: Fraction) -> float:
    """The nearest float, infinite where the fraction is beyond every float."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
