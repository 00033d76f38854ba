"""Decomposable scores as sums over counts.

The local score of a child given its parents is::

    sum_jk f(N_jk) - sum_j g(N_j) + c

with N_jk the number of rows in parent configuration j and child state k, N_j = sum_k N_jk, both
over observed states only. A score is a small object with three methods: f is `cell_terms`, g is
`parent_terms` and c is `constant`. All are in nats, and higher is better.

Of most scores f and g are one function of the counts of a *set* of variables and of its number of
states: a local score is the number of the set {child} u parents less that of the parents. Such a
score is a `SetScore`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from numbers import Real
from typing import ClassVar, NamedTuple

import numpy as np

from skbn.messages import brief
from skbn.scores.gamma import Tail


class Family(NamedTuple):
    """What a score may use of a child and its parents, beside the counts.

    Parameters
    ----------
    cardinality : int
        Number r of states of the child.
    n_parent_states : int
        Product q of the parents' cardinalities (1 without parents), as an exact integer.
    n_parents : int
        Number of parents.
    n_variables : int
        Number of variables of the network.
    n_samples : float
        Sum N of the weights of the rows.
    ess : float
        Equivalent sample size of the Dirichlet prior, in rows.
    n_observed_parent_states : int or None, default=None
        Number q~ of parent configurations that occur; None while terms are tabulated.

    Examples
    --------
    What BDeu adds to the count of every cell:

    >>> from skbn import Family
    >>> family = Family(
    ...     cardinality=2, n_parent_states=6, n_parents=2, n_variables=4, n_samples=100.0, ess=3.0
    ... )
    >>> family.ess / (family.cardinality * family.n_parent_states)
    0.25
    """

    cardinality: int
    n_parent_states: int
    n_parents: int
    n_variables: int
    n_samples: float
    ess: float
    n_observed_parent_states: int | None = None


class Score(ABC):
    """What a score is; write a class with these methods to bring your own.

    An object of a class with these three methods is accepted as ``score_type`` wherever a name
    is, whether the class is derived from this one or not; these are the attributes that it may
    set, and what they are if it does not.

    Attributes
    ----------
    tabulated : bool, default=False
        The terms depend on nothing but the count, the cardinalities, N and the ESS, which lets
        them be tabulated once per shape and summed natively; without it every family is evaluated
        on its own counts. The terms are one number per count, or one number for all of them.
    needs_whole_counts : bool, default=False
        Fractional weights are refused before anything is scored.
    uses_ess : bool, default=True
        False: the ESS does not enter, so that choosing one takes no further search.

    Examples
    --------
    The criterion of Hannan and Quinn, with ln ln N in place of the (ln N) / 2 of BIC:

    >>> import numpy as np
    >>> from skbn import Score, structure_score
    >>> class HannanQuinn:
    ...     tabulated = True
    ...     uses_ess = False
    ...     def cell_terms(self, counts, family):
    ...         return counts * np.log(counts)
    ...     def parent_terms(self, counts, family):
    ...         return counts * np.log(counts)
    ...     def constant(self, family):
    ...         n_parameters = (family.cardinality - 1) * family.n_parent_states
    ...         return -np.log(np.log(family.n_samples)) * n_parameters
    >>> isinstance(HannanQuinn(), Score)
    True
    >>> X = [["a", 0]] * 6 + [["b", 1]] * 2
    >>> round(structure_score(X, [("x0", "x1")], score_type=HannanQuinn()), 3)
    -6.695
    """

    __slots__ = ()
    METHODS: ClassVar[tuple[str, ...]] = ("cell_terms", "parent_terms", "constant")

    tabulated: ClassVar[bool] = False
    needs_whole_counts: ClassVar[bool] = False
    uses_ess: ClassVar[bool] = True
    # Whether ln N is a price, which weights that sum to one row or less would turn into a gain.
    takes_log_of_rows: ClassVar[bool] = False

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        if cls is not Score:
            return NotImplemented
        return all(callable(getattr(other, name, None)) for name in cls.METHODS)

    @abstractmethod
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        """Compute f(N_jk), what each count of a state of child and parents adds.

        Parameters
        ----------
        counts : ndarray of shape (n_counts,), float64
            Counts N_jk, all above zero and in no particular order; of a score that is
            ``tabulated`` those that may occur.
        family : Family
            Cardinalities, N and the ESS.

        Returns
        -------
        ndarray of shape (n_counts,), or float
            In nats, one number per count or one for all of them.
        """

    @abstractmethod
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        """Compute g(N_j), what each count of a parent configuration takes away.

        Parameters
        ----------
        counts : ndarray of shape (n_counts,), float64
            Counts N_j, all above zero and in no particular order; of a score that is
            ``tabulated`` those that may occur.
        family : Family
            Cardinalities, N and the ESS.

        Returns
        -------
        ndarray of shape (n_counts,), or float
            In nats, one number per count or one for all of them.
        """

    def constant(self, family: Family) -> float:
        """Compute c, what does not depend on the counts, for instance minus a penalty.

        Parameters
        ----------
        family : Family
            Cardinalities, N and the ESS.

        Returns
        -------
        float
            In nats, added once for each variable; minus infinity forbids the parents.
        """
        return 0.0


def terms_of(
    function: Callable[[np.ndarray, Family], np.ndarray], counts: np.ndarray, family: Family
) -> np.ndarray:
    """`cell_terms` or `parent_terms` as one float per count.

    Raises
    ------
    ValueError
        If they are neither one real number per count nor one for all.
    """
    came = function(counts, family)
    try:
        terms = None if came is None or np.iscomplexobj(came) else np.asarray(came, np.float64)
    except (TypeError, ValueError):
        terms = None
    if terms is not None and terms.shape == counts.shape:
        return terms
    if terms is None or terms.shape not in ((), (1,)):
        raise ValueError(
            f"{_name_of(function)} got {len(counts)} count(s) and returned {_described(came)}. "
            "Return one real number per count, in nats, or one for all of them."
        )
    return np.broadcast_to(terms, counts.shape)


def constant_of(score: Score, family: Family) -> float:
    """`constant` as a float.

    Raises
    ------
    ValueError
        If it is no real number.
    """
    came = score.constant(family)
    if not isinstance(came, Real) and not (isinstance(came, np.ndarray) and came.ndim == 0):
        raise ValueError(
            f"{_name_of(score.constant)} returned {_described(came)}. Return one real number, in "
            "nats, or -inf to forbid the parents."
        )
    return float(came)


def _name_of(method: Callable) -> str:
    """Class and name of a method, for messages."""
    name = getattr(method, "__qualname__", None) or repr(method)
    return name.rpartition("<locals>.")[2]


def _described(came: object) -> str:
    """What a method returned, for messages."""
    if isinstance(came, np.ndarray):
        return f"an array of shape {came.shape} and type {came.dtype}"
    return brief(came)


def has_constant(score: Score) -> bool:
    """Whether there is more to a score than its terms."""
    return type(score).constant is not Score.constant


def keyed(
    key: Callable[[Score, Family], Hashable],
    tail: Callable[[Score, Family], Tail | None] | None = None,
) -> Callable:
    """Mark `cell_terms` or `parent_terms` of a tabulated score with all that its values depend on.

    Where the keys of two families are equal, of one method or of both, so are the terms; they are
    then evaluated once. `tail` has the terms of large counts as a formula. A method that overrides
    a marked one is not marked itself, so that it need not know of this.
    """

    def mark(method: Callable) -> Callable:
        method.key, method.tail = key, tail
        return method

    return mark


def key_of(method: Callable, family: Family) -> Hashable:
    """What the terms of a `cell_terms` or `parent_terms` depend on."""
    key = getattr(method, "key", None)
    # Anything in the family: then the two methods have nothing in common.
    return (method.__name__, family) if key is None else key(method.__self__, family)


def tail_of(method: Callable, family: Family) -> Tail | None:
    """The formula of large counts that a `cell_terms` or `parent_terms` is marked with."""
    tail = getattr(method, "tail", None)
    return None if tail is None else tail(method.__self__, family)


class Formula(Score):
    """A score without parameters: all of one class are equal."""

    __slots__ = ()

    tabulated: ClassVar[bool] = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}()"


def _n_cells(family: Family) -> int:
    return family.cardinality * family.n_parent_states


class SetScore(Formula):
    """A score whose terms are one function of the counts of a set and its number of states.

    With S(V) the sum of `set_terms` over the counts of the joint states of the variables V, the
    local score is S({child} u parents) - S(parents) + constant.
    """

    __slots__ = ()

    @abstractmethod
    def set_terms(self, counts: np.ndarray, n_states: int, ess: float) -> np.ndarray:
        """Terms of the counts, above zero, of a set of variables with so many joint states."""

    @abstractmethod
    def set_terms_of_many(
        self, counts: np.ndarray, which: np.ndarray, log_states: np.ndarray, ess: float
    ) -> np.ndarray:
        """The same for whole counts, the i-th of a set of ``exp(log_states[which[i]])`` states."""

    def set_key(self, n_states: int) -> Hashable:
        """All that the terms depend on beside the ESS."""
        return n_states

    def set_tail(self, n_states: int, ess: float) -> Tail | None:
        """The terms of large counts as a formula, if there is one."""
        return None

    @keyed(
        lambda score, family: score.set_key(_n_cells(family)),
        lambda score, family: score.set_tail(_n_cells(family), family.ess),
    )
    def cell_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return self.set_terms(counts, _n_cells(family), family.ess)

    @keyed(
        lambda score, family: score.set_key(family.n_parent_states),
        lambda score, family: score.set_tail(family.n_parent_states, family.ess),
    )
    def parent_terms(self, counts: np.ndarray, family: Family) -> np.ndarray:
        return self.set_terms(counts, family.n_parent_states, family.ess)


def is_set_score(score: Score) -> bool:
    """Whether the terms are those of sets, which a subclass of a `SetScore` may have changed."""
    kind = type(score)
    return isinstance(score, SetScore) and (
        (kind.cell_terms, kind.parent_terms) == (SetScore.cell_terms, SetScore.parent_terms)
    )
