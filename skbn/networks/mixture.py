"""Several networks over the same variables, each with a weight, that predict as one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from skbn.inference.conditional_table import ConditionalTable
from skbn.inference.inference import refuse_answer
from skbn.messages import brief
from skbn.networks.network import BayesianNetwork
from skbn.resources import refuse_array

# Numbers of all networks for one block of rows.
_BLOCK = 2**20
# The same where rows have gaps: planning how to sum them out pays for many rows only.
_CHUNK = 2**24


@dataclass(frozen=True, eq=False, repr=False)
class NetworkMixture:
    """A weighted mean of the joint distributions of several networks.

    Parameters
    ----------
    networks : sequence of BayesianNetwork
        Over the same variables. Where several share a conditional table, as one object, it is
        read once for all of them.
    weights : ndarray of shape (n_networks,)
        Above zero; they sum to 1.
    """

    networks: Sequence[BayesianNetwork]
    weights: np.ndarray

    def __post_init__(self) -> None:
        place: dict[int, int] = {}
        tables: list[ConditionalTable] = []
        columns = []
        for network in self.networks:
            for table in network.tables:
                if id(table) not in place:
                    place[id(table)] = len(tables)
                    tables.append(table)
                columns.append(place[id(table)])
        n_variables = len(self.networks[0].tables)
        ends = n_variables * np.arange(len(self.networks) + 1)
        use = csr_array(
            (np.ones(len(columns)), columns, ends), shape=(len(self.networks), len(tables))
        )
        object.__setattr__(self, "_tables", tables)
        # Which tables each network has: 1 at [network, table].
        object.__setattr__(self, "_use", use)

    def __repr__(self) -> str:
        return f"NetworkMixture({len(self.networks)} networks)"

    def log_prob_codes(
        self, codes: np.ndarray, missing: np.ndarray | None = None
    ) -> np.ndarray:
        """ln p of what rows have; as `BayesianNetwork.log_prob_codes`."""
        result = np.empty(codes.shape[1])
        if missing is not None and missing.any():
            for rows in self._chunks(codes.shape[1]):
                result[rows] = self._mean(self._each_log_prob(codes[:, rows], missing[:, rows]))
            return result
        for rows in self._blocks(codes.shape[1], 1):
            of_tables = np.stack([table.log_prob(codes[:, rows]) for table in self._tables])
            result[rows] = self._mean(self._use @ of_tables)
        return result

    def conditional_codes(
        self, codes: np.ndarray, variable: int, missing: np.ndarray | None = None
    ) -> np.ndarray:
        """P(`variable` | what else each row has); as `BayesianNetwork.conditional_codes`.

        Networks count by how well they explain the other columns, as the joint distribution has
        it, not by their weights alone.
        """
        cardinality = self.networks[0].tables[variable].cardinality
        refuse_answer([self.networks[0].labels[variable]], cardinality, codes.shape[1])
        result = np.empty((codes.shape[1], cardinality))
        if missing is not None and np.delete(missing, variable, axis=0).any():
            for rows in self._chunks(codes.shape[1]):
                result[rows] = self._conditional(codes[:, rows], variable, missing[:, rows])
            return result
        for rows in self._blocks(codes.shape[1], cardinality):
            result[rows] = softmax(self._log_joint(codes[:, rows], variable), axis=1)
        return result

    def marginal_log_prob_codes(self, codes: np.ndarray, variable: int) -> np.ndarray:
        """ln p of the other columns; as `BayesianNetwork.marginal_log_prob_codes`."""
        cardinality = self.networks[0].tables[variable].cardinality
        result = np.empty(codes.shape[1])
        for rows in self._blocks(codes.shape[1], cardinality):
            result[rows] = logsumexp(self._log_joint(codes[:, rows], variable), axis=1)
        return result

    def sample_codes(self, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
        """Rows, each from a network drawn by weight; as `BayesianNetwork.sample_codes`."""
        drawn = rng.choice(len(self.networks), size=n_samples, p=self.weights)
        parts, places = [], []
        for k in np.unique(drawn):
            chosen = np.flatnonzero(drawn == k)
            parts.append(self.networks[k].sample_codes(len(chosen), rng))
            places.append(chosen)
        return np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate(places))]

    def _conditional(self, codes: np.ndarray, variable: int, missing: np.ndarray) -> np.ndarray:
        """`conditional_codes` where other columns may be missing."""
        others = missing.copy()
        others[variable] = True
        of_networks = self._each_log_prob(codes, others)
        weights = softmax(of_networks + np.log(self.weights)[:, None], axis=0)
        conditionals = (
            network.conditional_codes(codes, variable, missing) for network in self.networks
        )
        return sum(
            weight[:, None] * each for weight, each in zip(weights, conditionals, strict=True)
        )

    def _each_log_prob(self, codes: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """ln p of what rows have by each network, (n_networks, n_rows)."""
        return np.stack([network.log_prob_codes(codes, missing) for network in self.networks])

    def _log_joint(self, codes: np.ndarray, variable: int) -> np.ndarray:
        """ln p(row) with every state of one variable, (n_rows, r)."""
        touches = np.array([
            variable == table.child or variable in table.parents for table in self._tables
        ])
        n_rows, first = codes.shape[1], self.networks[0]
        n_states = first.tables[variable].cardinality
        refuse_array(
            3 * max(len(self._tables), len(self.networks)) * n_rows * n_states,
            f"The probabilities of the {n_states:,} states of {brief(first.labels[variable])} by "
            f"each of {len(self.networks)} networks take",
            "Draw fewer graphs (n_graphs), or leave out columns that are different in nearly every "
            "row, such as identifiers.",
        )
        each = np.stack([
            table.log_prob_each(codes, variable)
            for table, touched in zip(self._tables, touches, strict=True) if touched
        ])
        log_joint = (self._use[:, np.flatnonzero(touches)] @ each.reshape(len(each), -1)).reshape(
            len(self.networks), n_rows, -1
        )
        if not touches.all():
            others = np.stack([
                table.log_prob(codes)
                for table, touched in zip(self._tables, touches, strict=True) if not touched
            ])
            log_joint += (self._use[:, np.flatnonzero(~touches)] @ others)[:, :, None]
        return self._mean(log_joint)

    def _mean(self, log_prob: np.ndarray) -> np.ndarray:
        """ln of the weighted mean over the networks, the first axis."""
        log_weights = np.log(self.weights).reshape(-1, *[1] * (log_prob.ndim - 1))
        return logsumexp(log_prob + log_weights, axis=0)

    def _chunks(self, n_rows: int) -> Iterator[slice]:
        """Rows that are worked on together where every network sums out what is missing."""
        step = max(1, _CHUNK // len(self.networks))
        return (slice(start, start + step) for start in range(0, n_rows, step))

    def _blocks(self, n_rows: int, width: int) -> Iterator[slice]:
        held = max(len(self._tables), len(self.networks))
        step = max(1, _BLOCK // (width * held))
        return (slice(start, start + step) for start in range(0, n_rows, step))
