"""Multisets of cardinalities: all that a score sees of which variables a set has."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

# What each product of cardinalities takes in lists.
_BYTES = 500


class Signatures:
    """Numbers of the multisets of cardinalities that sets of variables have.

    The product of the cardinalities of a set, and with it every term of a score, depends on its
    signature alone, and there are far fewer signatures than sets.

    Attributes
    ----------
    classes : list of int
        The distinct cardinalities, in ascending order.
    class_of : list of int
        Position in `classes` of each variable's cardinality.
    strides : list of int
        What one more variable of each class adds to the signature of a set.
    n : int
        Number of signatures.
    """

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self.classes = sorted(set(cardinalities))
        self.class_of = [self.classes.index(r) for r in cardinalities]
        self.multiplicities = [self.class_of.count(k) for k in range(len(self.classes))]
        self.strides = []
        self.n = 1
        for multiplicity in self.multiplicities:
            self.strides.append(self.n)
            self.n *= multiplicity + 1

    @property
    def memory(self) -> int:
        """Bytes that the lists of all signatures take."""
        return _BYTES * self.n

    @cached_property
    def members(self) -> list[list[int]]:
        """For every signature, how many variables of each class a set has."""
        every = [[]]
        for multiplicity in self.multiplicities:
            every = [[*counts, count] for count in range(multiplicity + 1) for counts in every]
        return every

    @cached_property
    def sizes(self) -> list[int]:
        """For every signature, how many variables a set has."""
        return [sum(counts) for counts in self.members]

    @cached_property
    def states(self) -> list[int]:
        """For every signature, the product of the cardinalities, as an exact integer."""
        every = [1]
        for r, multiplicity in zip(self.classes, self.multiplicities, strict=True):
            every = [r**count * states for count in range(multiplicity + 1) for states in every]
        return every

    def of_subsets(self, n_variables: int) -> np.ndarray:
        """Signatures of all subsets of the first variables; bit b of the index is variable b."""
        signatures = np.zeros(1, dtype=np.int32)
        for b in range(n_variables):
            more = signatures + np.int32(self.strides[self.class_of[b]])
            signatures = np.concatenate([signatures, more])
        return signatures
