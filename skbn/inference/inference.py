"""Exact answers of a network about rows with gaps: sums, maxima and draws over what is missing."""

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import NoReturn

import numpy as np

from skbn.inference.conditional_table import ConditionalTable, readable_count
from skbn.inference.contraction import (
    Outcome,
    record_maxima,
    record_products,
    sum_out,
    sum_out_logs,
)
from skbn.inference.elimination import LARGEST_TABLE, WideTableError
from skbn.inference.row_groups import Families, Job, group_rows
from skbn.messages import first_few
from skbn.resources import refuse_array

# Rows are taken in blocks whose largest table has about this many numbers, and at most so many.
_BLOCK = 2**16
_MOST_ROWS = 2**12
# So many are grouped at a time, so that what says which cells are missing stays small.
_CHUNK = 2**17
# Numbers in the posterior of several columns for all rows of a table.
_LARGEST_ANSWER = 2**27
# Arrays have at most 64 axes, and the first is for the rows.
_MOST_ASKED = 63
_MOST_NAMED = 20


class Inference:
    """Answers about rows of codes in which cells are missing.

    Every method takes `codes` of shape (n_variables, n_rows), unsigned integers, and `missing`, a
    boolean matrix of the same shape; codes of missing cells are not read.

    Parameters
    ----------
    tables : sequence of ConditionalTable
    order : sequence of int
        All variables, parents before children.
    labels : sequence of hashable
        What messages call the variables.
    """

    def __init__(
        self,
        tables: Sequence[ConditionalTable],
        order: Sequence[int],
        labels: Sequence[Hashable],
    ) -> None:
        self.tables = tables
        self.labels = labels
        self.families = Families(tables, order)
        self._probabilities: dict[int, np.ndarray] = {}

    def log_prob(self, codes: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """ln of the probability of what each row has, the rest summed out.

        Returns
        -------
        ndarray of shape (n_rows,)
            In nats.

        Raises
        ------
        ValueError
            If summing out needs a table of more than 2**25 entries.
        """
        codes = self._settled(codes, missing)
        result = np.zeros(codes.shape[1])
        for rows in _chunks(codes.shape[1]):
            self._add_log_prob(codes[:, rows], missing[:, rows], result[rows])
        return result

    def _add_log_prob(self, codes: np.ndarray, missing: np.ndarray, result: np.ndarray) -> None:
        jobs, direct = self._group(missing)
        for table, rows in zip(self.tables, direct, strict=True):
            if rows.all():
                result += table.log_prob(codes)
            elif rows.any():
                result[rows] += table.log_prob(codes[:, rows])
        for job in jobs:
            for rows, outcome in self._sums(job, codes, missing):
                result[rows] += outcome.log_scale

    def posterior(
        self, codes: np.ndarray, missing: np.ndarray, variables: Sequence[int]
    ) -> np.ndarray:
        """P(variables | what else each row has).

        Parameters
        ----------
        codes, missing
        variables : sequence of int
            Different; their own codes are not read.

        Returns
        -------
        ndarray of shape (n_rows, cardinality of each variable in the order given)
            Sums to 1 over the variables. Where what the row has is impossible, which the parameters
            of Equation 3 never give, it is some distribution.

        Raises
        ------
        ValueError
            If it needs a table of more than 2**25 entries.
        MemoryError
            If there is no room for the result.
        """
        asked = sorted(variables)
        self._require_narrow(asked, codes.shape[1])
        codes = self._settled(codes, missing)
        kept = [variable for variable in asked if self.families.cardinalities[variable] > 1]
        result = np.ones((codes.shape[1], *(self.families.cardinalities[v] for v in kept)))
        for rows in _chunks(codes.shape[1]):
            gone = missing[:, rows].copy()
            gone[kept] = True
            if kept:
                self._write_posterior(codes[:, rows], gone, kept, result[rows])
        result = result.reshape(-1, *(self.families.cardinalities[v] for v in asked))
        return result.transpose(0, *(1 + asked.index(variable) for variable in variables))

    def _write_posterior(
        self, codes: np.ndarray, missing: np.ndarray, kept: list[int], result: np.ndarray
    ) -> None:
        jobs, _ = self._group(missing, kept)
        sizes = result.shape[1:]
        for job in jobs:
            for rows, outcome in self._sums(job, codes, missing):
                flat = outcome.table.reshape(-1, len(rows))
                total = flat.sum(axis=0)
                possible = total > 0
                shares = np.divide(flat, total, where=possible, out=np.full(flat.shape, np.nan))
                shares[:, ~possible] = 1.0 / len(flat)
                result[rows] = np.moveaxis(shares.reshape(*sizes, -1), -1, 0)

    def most_probable(self, codes: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Codes with each row's gaps filled so that the whole row is as probable as can be.

        Returns
        -------
        ndarray of shape (n_variables, n_rows), as `codes`
            Of equally probable completions one is taken, always the same.

        Raises
        ------
        ValueError
            If it needs a table of more than 2**25 entries.
        """
        codes = self._settled(codes, missing)
        result = codes.copy()
        for rows in _chunks(codes.shape[1]):
            self._write_most_probable(codes[:, rows], missing[:, rows], result[:, rows])
        return result

    def _write_most_probable(
        self, codes: np.ndarray, missing: np.ndarray, result: np.ndarray
    ) -> None:
        jobs, _ = self._group(missing, prune=False)
        for job in jobs:
            for rows, factors in self._blocks(job, codes, missing, logs=True):
                _, best = record_maxima(job.plan, factors)
                states: dict[int, np.ndarray] = {}
                for step, choice in reversed(best):
                    others = [states[other] for other in step.scope if other != step.variable]
                    row = np.arange(len(rows)) if choice.shape[-1] > 1 else 0
                    state = choice[(*others, row)]
                    states[step.variable] = np.broadcast_to(state, len(rows))
                for variable, state in states.items():
                    gone = missing[variable, rows]
                    result[variable, rows[gone]] = state[gone]

    def sample(
        self, codes: np.ndarray, missing: np.ndarray, n_samples: int,
        rng: np.random.Generator | np.random.RandomState,
    ) -> np.ndarray:
        """Draw the missing cells of one row, given the others, `n_samples` times.

        Parameters
        ----------
        codes, missing : ndarray of shape (n_variables, 1)
            Of probability above zero.
        n_samples : int
        rng : numpy.random.Generator or numpy.random.RandomState

        Returns
        -------
        ndarray of shape (n_variables, n_samples), as `codes`

        Raises
        ------
        ValueError
            If it needs a table of more than 2**25 entries.
        """
        codes = self._settled(codes, missing)
        result = np.repeat(codes, n_samples, axis=1)
        jobs, _ = self._group(missing)
        drawn = ~missing[:, 0]
        for job in jobs:
            if job.plan.n_entries > 4 * LARGEST_TABLE:
                # Every table is kept until its variable is drawn.
                self._refuse(WideTableError(job.plan.n_entries, job.free))
            for _, factors in self._blocks(job, codes, missing, logs=True):
                _, products = record_products(job.plan, factors)
                for step, product in reversed(products):
                    others = [result[other] for other in step.scope if other != step.variable]
                    terms = np.moveaxis(product, step.axis, 0)[(slice(None), *others, 0)]
                    terms = terms.reshape(len(terms), -1)
                    ladder = np.exp(terms - terms.max(axis=0)).cumsum(axis=0)
                    above = rng.random(n_samples) * ladder[-1] >= ladder[:-1]
                    result[step.variable] = above.sum(axis=0)
                    drawn[step.variable] = True
        # Nothing that is known depends on the others: they follow their parents.
        for variable in self.families.order:
            if not drawn[variable]:
                result[variable] = self.tables[variable].draw(result, rng.random(n_samples))
        return result

    def _settled(self, codes: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """The codes, where what is missing and has a single state has that."""
        gone = [variable for variable in self.families.constant if missing[variable].any()]
        if not gone:
            return codes
        codes = codes.copy()
        codes[gone] = 0
        return codes

    def _group(
        self, missing: np.ndarray, kept: Sequence[int] = (), prune: bool = True
    ) -> tuple[list[Job], np.ndarray]:
        try:
            return group_rows(self.families, missing, kept, prune=prune)
        except WideTableError as error:
            self._refuse(error)

    def _require_narrow(self, kept: Sequence[int], n_rows: int) -> None:
        size = math.prod(self.families.cardinalities[variable] for variable in kept)
        if size > LARGEST_TABLE:
            self._refuse(WideTableError(size, kept))
        if len(kept) > _MOST_ASKED:
            raise ValueError(
                f"The joint distribution of {len(kept)} columns was asked for, and an array has an "
                f"axis for each of {_MOST_ASKED} at most. Leave out the columns of a single state."
            )
        if len(kept) > 1 and size * n_rows > _LARGEST_ANSWER:
            raise ValueError(
                f"The joint distribution of {len(kept)} columns has {size:,} entries for each of "
                f"{n_rows:,} rows, and at most {_LARGEST_ANSWER:,} are allocated. Ask for fewer "
                "columns or rows at a time."
            )
        refuse_answer([self.labels[variable] for variable in kept], size, n_rows)

    def _refuse(self, error: WideTableError) -> NoReturn:
        """Say by name what would be too wide."""
        names = [self.labels[variable] for variable in error.variables]
        raise ValueError(
            f"The {len(names)} columns {first_few(names, _MOST_NAMED)} must be treated together, "
            f"which takes a table of {readable_count(error.size)} entries or more; at most "
            f"{LARGEST_TABLE:,} are allocated. Give the states of some of these columns, ask for "
            "fewer of them, or learn a sparser network, for example with max_parents."
        ) from error

    def _sums(
        self, job: Job, codes: np.ndarray, missing: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Outcome]]:
        """Block by block, the rows of a job and what they sum to."""
        for rows, factors in self._blocks(job, codes, missing):
            outcome = sum_out(job.plan, factors, len(rows))
            lost = np.flatnonzero(outcome.lost)
            if len(lost):
                again = Job(rows[lost], job.free, job.evidence, job.families, job.plan)
                # No more rows than those of one block.
                ((_, logs),) = self._blocks(again, codes, missing, logs=True)
                exact = sum_out_logs(job.plan, logs, len(lost))
                outcome = Outcome(outcome.table.copy(), outcome.log_scale, outcome.lost)
                outcome.table[..., lost] = exact.table
                outcome.log_scale[lost] = exact.log_scale
            yield rows, outcome

    def _blocks(
        self, job: Job, codes: np.ndarray, missing: np.ndarray, logs: bool = False
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Block by block, the rows of a job and the factors of its plan."""
        free = set(job.free)
        values = [self._values(family, logs) for family in job.families]
        # Tables of which no member is known are the same in all rows.
        same = [
            values[place].take(self.tables[family].cells(codes[:, :1], free))
            if free.issuperset(self.families.members[family]) else None
            for place, family in enumerate(job.families)
        ]
        possible, impossible = (0.0, -np.inf) if logs else (1.0, 0.0)
        step = min(_MOST_ROWS, max(1, _BLOCK // job.plan.largest))
        for start in range(0, len(job.rows), step):
            rows = job.rows[start : start + step]
            block = codes[:, rows]
            factors = [
                value.take(self.tables[family].cells(block, free)) if fixed is None else fixed
                for value, family, fixed in zip(values, job.families, same, strict=True)
            ]
            for variable in job.evidence:
                states = np.arange(self.families.cardinalities[variable])[:, None]
                allowed = (states == block[variable]) | missing[variable, rows]
                factors.append(np.where(allowed, possible, impossible))
            yield rows, factors

    def _values(self, family: int, logs: bool) -> np.ndarray:
        if logs:
            return self.tables[family].log_values
        if family not in self._probabilities:
            self._probabilities[family] = np.exp(self.tables[family].log_values)
        return self._probabilities[family]


def refuse_answer(names: Sequence[Hashable], n_states: int, n_rows: int) -> None:
    """Refuse the probabilities of the states of these columns in so many rows without room."""
    refuse_array(
        n_states * n_rows,
        f"The probabilities of the {n_states:,} states of {first_few(names)} in {n_rows:,} rows "
        "take",
        "Ask for fewer rows at a time, or leave out columns that are different in nearly every "
        "row, such as identifiers; predict takes little memory.",
    )


def _chunks(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + _CHUNK) for start in range(0, n_rows, _CHUNK))
