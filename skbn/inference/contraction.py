"""Carrying out an elimination on arrays: sums in probabilities, and sums or maxima in logarithms.

Factors have an axis per variable of their scope and a last axis for the rows, of length 1 where
they are the same for all. So every operation runs along many rows at once.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from skbn.counting.data import smallest_code_type
from skbn.inference.elimination import Plan, Step

# What is smaller than every float is lost; products of a few such parts are.
_LOST = 1e-305
# Largest loss, relative to the result, of what is trusted.
_LARGEST_LOSS = 1e-100


class Outcome(NamedTuple):
    """What is left of an elimination, over the kept variables and the rows.

    Attributes
    ----------
    table : ndarray of shape (cardinality of each kept variable, n_rows)
    log_scale : ndarray of shape (n_rows,)
        ln of what the table has to be multiplied by.
    lost : ndarray of shape (n_rows,), bool
        Rows in which numbers below the smallest float may have mattered.
    """

    table: np.ndarray
    log_scale: np.ndarray
    lost: np.ndarray


def sum_out(plan: Plan, factors: Sequence[np.ndarray], n_rows: int) -> Outcome:
    """Sum a product of factors over all variables of the plan but the kept ones.

    Each result is divided by its largest entry, row by row, so that products over hundreds of
    variables stay among the floats.

    Parameters
    ----------
    plan : Plan
    factors : sequence of ndarray
        Probabilities, 0 to 1, in the order of the plan's scopes.
    n_rows : int

    Returns
    -------
    Outcome
    """
    slots: list[tuple[np.ndarray, np.ndarray | float] | None]
    slots = [(factor, _LOST) for factor in factors]
    log_scale = np.zeros(n_rows)
    for step in plan.steps:
        product, loss = None, _LOST
        for slot, shape in zip(step.slots, step.shapes, strict=True):
            factor, its_loss = slots[slot]
            slots[slot] = None
            factor = factor.reshape(*shape, factor.shape[-1])
            product = factor if product is None else product * factor
            loss = loss + its_loss
        if product is None:
            product = np.ones((1,) * len(step.scope) + (1,))
        if step.variable >= 0:
            product = product.sum(axis=step.axis)
        scale = product.reshape(-1, product.shape[-1]).max(axis=0)
        with np.errstate(divide="ignore", over="ignore"):
            log_scale += np.log(scale)
            loss = loss / scale
        slots.append((product / np.where(scale > 0, scale, 1.0), loss))
    table, loss = slots[-1]
    # Everything that was summed out entirely is in `log_scale` by now.
    table = np.broadcast_to(table, (*table.shape[:-1], n_rows))
    return Outcome(table, log_scale, np.broadcast_to(~(loss <= _LARGEST_LOSS), n_rows))


def sum_out_logs(plan: Plan, factors: Sequence[np.ndarray], n_rows: int) -> Outcome:
    """As `sum_out`, from ln of every factor, and slower: nothing is lost."""
    table = _eliminate(plan, factors, lambda step, product: log_sum(product, step.axis))
    table = np.broadcast_to(table, (*table.shape[:-1], n_rows))
    log_scale = table.reshape(-1, n_rows).max(axis=0)
    shift = np.where(log_scale == -np.inf, 0.0, log_scale)
    return Outcome(np.exp(table - shift), log_scale, np.zeros(n_rows, dtype=bool))


def record_maxima(
    plan: Plan, factors: Sequence[np.ndarray]
) -> tuple[np.ndarray, list[tuple[Step, np.ndarray]]]:
    """Maximise a product of factors, given by their logarithms, over all variables of the plan.

    Returns
    -------
    log_maximum : ndarray of shape (n_rows,) or (1,)
    best : list of (Step, ndarray)
        For each step the best state of its variable, for all states of the rest of its scope.
    """
    best: list[tuple[Step, np.ndarray]] = []

    def maximise(step: Step, product: np.ndarray) -> np.ndarray:
        # All choices are kept until the last is made: as small integers.
        choice = product.argmax(axis=step.axis)
        best.append((step, choice.astype(smallest_code_type(product.shape[step.axis]))))
        return product.max(axis=step.axis)

    return _eliminate(plan, factors, maximise), best


def record_products(
    plan: Plan, factors: Sequence[np.ndarray]
) -> tuple[np.ndarray, list[tuple[Step, np.ndarray]]]:
    """Sum a product of factors, given by their logarithms, and keep what each step multiplied.

    Returns
    -------
    log_sum : ndarray of shape (n_rows,) or (1,)
    products : list of (Step, ndarray)
        ln of each step's product, over its whole scope.
    """
    products: list[tuple[Step, np.ndarray]] = []

    def keep(step: Step, product: np.ndarray) -> np.ndarray:
        products.append((step, product))
        return log_sum(product, step.axis)

    return _eliminate(plan, factors, keep), products


def _eliminate(
    plan: Plan,
    factors: Sequence[np.ndarray],
    reduce: Callable[[Step, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Add up logarithms step by step, and reduce the sum along the step's variable."""
    slots: list[np.ndarray | None] = list(factors)
    for step in plan.steps:
        total = np.zeros((1,) * (len(step.scope) + 1))
        for slot, shape in zip(step.slots, step.shapes, strict=True):
            factor = slots[slot]
            slots[slot] = None
            total = total + factor.reshape(*shape, factor.shape[-1])
        slots.append(reduce(step, total) if step.variable >= 0 else total)
    return slots[-1]


def log_sum(terms: np.ndarray, axis: int) -> np.ndarray:
    """ln of the sum of exp along an axis; -inf where all terms are -inf."""
    largest = terms.max(axis=axis, keepdims=True)
    shift = np.where(largest == -np.inf, 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(terms - shift).sum(axis=axis)) + shift.squeeze(axis)
