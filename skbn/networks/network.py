"""The fitted Bayesian network: a graph, its parameters and the names of columns and states."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skbn.counting.data import CategoricalData, smallest_code_type
from skbn.graphs.equivalence import cpdag_of
from skbn.graphs.graph import CycleError, topological_order
from skbn.inference.conditional_table import ConditionalTable, fit_tables
from skbn.inference.inference import Inference, refuse_answer
from skbn.messages import brief
from skbn.networks.evidence import find_columns
from skbn.networks.persistence import Persistent
from skbn.networks.probability_table import CPT, Posterior
from skbn.networks.questions import (
    are_separated,
    ask_log_prob,
    ask_most_probable,
    ask_posterior,
    ask_sample,
)

if TYPE_CHECKING:
    import networkx

# Rows are taken in blocks of about this many numbers, which stay in the processor's cache.
_BLOCK = 2**15


@dataclass(frozen=True, eq=False, repr=False)
class BayesianNetwork(Persistent):
    """A discrete Bayesian network with its parameters; holds no training rows.

    Parameters
    ----------
    labels : sequence of hashable
        Column labels, all different.
    categories : sequence of ndarray
        Names of the states of each variable, in the order of their codes.
    tables : sequence of ConditionalTable
        One per variable, in the order of the labels.
    file_states : sequence of (sequence of str), optional
        What the BIF file that the network was read from calls the states, for the next such file.

    Attributes
    ----------
    labels, categories, tables : tuple
        The parameters, as tuples.
    parent_indices : tuple of tuple of int
        Indices of the parents of each variable, increasing.

    Raises
    ------
    ValueError
        If labels repeat, if the arguments do not fit each other, or if the graph has a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn.counting.data import CategoricalData
    >>> from skbn.networks.network import BayesianNetwork
    >>> codes = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]], dtype=np.uint8)
    >>> data = CategoricalData.from_codes(codes, [2, 2])
    >>> network = BayesianNetwork.from_data(
    ...     data,
    ...     parents=[(), (0,)],
    ...     ess=1.0,
    ...     labels=["rain", "wet"],
    ...     categories=[np.array(["no", "yes"]), np.array(["no", "yes"])],
    ... )
    >>> network
    BayesianNetwork(2 variables, 1 edge)
    >>> network.edges
    [('rain', 'wet')]
    >>> network.cpt("wet")
    P(wet | rain)
    rain      no     yes
    no    0.6429  0.3571
    yes   0.0714  0.9286
    """

    labels: Sequence[Hashable]
    categories: Sequence[np.ndarray]
    tables: Sequence[ConditionalTable]
    file_states: Sequence[Sequence[str]] | None = None

    def __post_init__(self) -> None:
        derive = {name: tuple(getattr(self, name)) for name in ("labels", "categories", "tables")}
        derive["parent_indices"] = tuple(table.parents for table in derive["tables"])
        derive["_places"] = {label: place for place, label in enumerate(derive["labels"])}
        for name, value in derive.items():
            object.__setattr__(self, name, value)
        self._check()
        children: list[list[int]] = [[] for _ in self.labels]
        for child, parents in enumerate(self.parent_indices):
            for parent in parents:
                children[parent].append(child)
        object.__setattr__(self, "_children", tuple(map(tuple, children)))
        try:
            order = topological_order(self.adjacency)
        except CycleError as error:
            raise CycleError(error.cycle, self.labels) from None
        object.__setattr__(self, "_order", tuple(order))

    @classmethod
    def from_data(
        cls,
        data: CategoricalData,
        parents: Sequence[Sequence[int]],
        ess: float,
        *,
        labels: Sequence[Hashable],
        categories: Sequence[np.ndarray],
    ) -> "BayesianNetwork":
        """Fit the parameters of Equation 3 (Steck 2008) for a given graph.

        Parameters
        ----------
        data : CategoricalData
            Codes of the rows and their weights.
        parents : sequence of (sequence of int)
            Indices of the parents of each variable, in any order.
        ess : float
            Equivalent sample size of the parameters' prior, in rows, above zero.
        labels : sequence of hashable
            Names of the variables, all different.
        categories : sequence of ndarray
            Names of the states of each variable, in the order of their codes.

        Returns
        -------
        BayesianNetwork
            Holds the parameters, none of the rows.
        """
        return cls(labels, categories, fit_tables(data, parents, ess))

    def __repr__(self) -> str:
        n_variables, n_edges = len(self.labels), sum(map(len, self.parent_indices))
        return (
            f"BayesianNetwork({n_variables} variable{'s' * (n_variables != 1)}, "
            f"{n_edges} edge{'s' * (n_edges != 1)})"
        )

    @property
    def edges(self) -> list[tuple[Hashable, Hashable]]:
        """Pairs (parent, child) of labels, in column order of the parent, then of the child."""
        return [(self.labels[parent], self.labels[child]) for parent, child in self._edge_indices()]

    def _edge_indices(self) -> list[tuple[int, int]]:
        return [
            (parent, child)
            for parent, children in enumerate(self._children)
            for child in children
        ]

    @property
    def adjacency(self) -> np.ndarray:
        """Boolean (n_variables, n_variables); True where the row is a parent of the column."""
        matrix = np.zeros((len(self.labels), len(self.labels)), dtype=bool)
        for child, parents in enumerate(self.parent_indices):
            matrix[list(parents), child] = True
        return matrix

    def cpdag(self) -> np.ndarray:
        """Find the essential graph: what all equivalent graphs have in common.

        Returns
        -------
        ndarray of shape (n_variables, n_variables), bool
            Row -> column. Edges that hold in both directions have one direction in some equivalent
            graphs and the other in the rest; the data cannot tell them apart.
        """
        return cpdag_of(self.adjacency)

    def parents(self, x: Hashable) -> list[Hashable]:
        """List the parents of a column.

        Parameters
        ----------
        x : hashable
            Label of the column.

        Returns
        -------
        list of hashable
            Labels, in column order.
        """
        return [self.labels[parent] for parent in self.parent_indices[self._place(x)]]

    def children(self, x: Hashable) -> list[Hashable]:
        """List the children of a column.

        Parameters
        ----------
        x : hashable
            Label of the column.

        Returns
        -------
        list of hashable
            Labels, in column order.
        """
        return [self.labels[child] for child in self._children[self._place(x)]]

    def markov_blanket(self, x: Hashable) -> list[Hashable]:
        """List the parents, the children and the children's other parents of a column.

        Given these, the column is independent of every other.

        Parameters
        ----------
        x : hashable
            Label of the column.

        Returns
        -------
        list of hashable
            Labels, in column order.
        """
        place = self._place(x)
        blanket = {*self.parent_indices[place], *self._children[place]}
        for child in self._children[place]:
            blanket.update(self.parent_indices[child])
        return [self.labels[other] for other in sorted(blanket - {place})]

    def cpt(self, x: Hashable) -> CPT:
        """Look up the conditional probability table of a column given its parents, by name.

        Parameters
        ----------
        x : hashable
            Label of the column.

        Returns
        -------
        CPT
            Prints as a table; ``to_frame()`` makes a data frame of it.
        """
        place = self._place(x)
        table = self.tables[place]
        names = [
            self.categories[parent][codes]
            for parent, codes in zip(table.parents, table.configurations.T, strict=True)
        ]
        return CPT(
            variable=x,
            states=self.categories[place],
            parents=tuple(self.parents(x)),
            configurations=list(zip(*names, strict=True)) if names else [()],
            table=table,
        )

    def d_separated(self, x: Any, y: Any, given: Any = ()) -> bool:
        """Tell whether the graph says that `x` and `y` are independent given `given`.

        Parameters
        ----------
        x, y : column or collection of columns
            The columns in question, one or more on either side.
        given : column or collection of columns, default=()
            The columns that are known.

        Returns
        -------
        bool
            True if every trail between a column of `x` and one of `y` is blocked. The parameters
            may make columns independent that are not d-separated.

        Raises
        ------
        ValueError
            For unknown columns, for an empty `x` or `y`, and for a column in two of the three.
        """
        return are_separated(self, x, y, given)

    def log_prob(self, rows: Any) -> float | np.ndarray:
        """Compute the log-probability of what is known, everything else summed out.

        Parameters
        ----------
        rows : dict, data frame or array-like of shape (n_rows, n_variables)
            A dictionary from column to state is one row. Otherwise a table: the columns of a data
            frame, or of a dictionary of arrays, are found by name, in any order, and may be some
            of the network's; an array has all. Missing cells (NaN, None, null) are summed out,
            unless missing is a level of the column.

        Returns
        -------
        float for a dictionary of states, else ndarray of shape (n_rows,)
            In nats; minus infinity for what is impossible.

        Raises
        ------
        ValueError
            For unknown columns and states, and where summing out takes a table of more than 2**25
            entries.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbn import BayesNetStructureEstimator
        >>> X = (load_iris().data > [5.8, 3.0, 4.3, 1.3]).astype(int)
        >>> network = BayesNetStructureEstimator(random_state=0).fit(X).network_
        >>> round(network.log_prob({"x0": 1, "x3": 1}), 3)
        -0.882
        """
        return ask_log_prob(self, rows)

    def posterior(self, columns: Any, evidence: Any = None) -> Posterior:
        """Compute P(columns | evidence), exactly.

        Parameters
        ----------
        columns : column or sequence of columns
            What is asked for; of several columns the joint distribution.
        evidence : dict, data frame or array-like of shape (n_rows, n_variables), optional
            What is known, as in `log_prob`. Every row of a table is evidence of its own; cells of
            `columns` are then not read.

        Returns
        -------
        Posterior
            ``probabilities`` is the array, with an axis per column, after one for the rows of a
            table; ``to_frame()`` has the names, and so has ``print``.

        Raises
        ------
        ValueError
            For unknown columns and states, for a column that is both asked for and in the
            dictionary, for evidence of probability 0, and where a table of more than 2**25 entries
            would be needed.
        MemoryError
            If there is no room for the probabilities of all rows and states.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbn import BayesNetStructureEstimator
        >>> X = (load_iris().data > [5.8, 3.0, 4.3, 1.3]).astype(int)
        >>> network = BayesNetStructureEstimator(random_state=0).fit(X).network_
        >>> network.posterior("x2", {"x0": 1})
        P(x2 | x0=1)
             0       1
        0.0648  0.9352
        >>> network.posterior(["x0", "x2"]).probabilities.round(2)
        array([[0.45, 0.08],
               [0.03, 0.44]])
        """
        return ask_posterior(self, columns, evidence)

    def most_probable(self, evidence: Any = None) -> Any:
        """Find the most probable completion of what is known, exactly: all gaps of a row at once.

        Parameters
        ----------
        evidence : dict, data frame or array-like of shape (n_rows, n_variables), optional
            What is known, as in `log_prob`.

        Returns
        -------
        dict, or the kind of table given
            A dictionary of states gets one with every column. A table gets one with its columns
            and rows, their gaps filled; columns that it does not have are completed with them, but
            not returned. Of equally probable completions always the same is taken.

        Raises
        ------
        ValueError
            For unknown columns and states, for evidence of probability 0, and where a table of
            more than 2**25 entries would be needed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbn import BayesNetStructureEstimator
        >>> X = (load_iris().data > [5.8, 3.0, 4.3, 1.3]).astype(int)
        >>> network = BayesNetStructureEstimator(random_state=0).fit(X).network_
        >>> network.most_probable({"x0": 1})
        {'x0': 1, 'x1': 1, 'x2': 1, 'x3': 1}
        >>> network.most_probable([[0, 1, None, 0], [None, 0, 1, 1]]).tolist()
        [[0, 1, 0, 0], [1, 0, 1, 1]]
        """
        return ask_most_probable(self, evidence)

    def sample(
        self, n_samples: int = 1, evidence: Any = None, random_state: Any = None
    ) -> dict[Hashable, np.ndarray]:
        """Draw rows, given what is known: exact, and without rejecting any.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows.
        evidence : dict from column to state, optional
            What is known; every row has these states.
        random_state : int, RandomState instance or None, default=None
            Decides which rows are drawn.

        Returns
        -------
        dict from column to ndarray of shape (n_samples,)
            All columns, those of the evidence included. ``pandas.DataFrame`` and its likes take
            it as it is.

        Raises
        ------
        ValueError
            For unknown columns and states, for evidence of probability 0, and where a table of
            more than 2**25 entries would be needed.
        TypeError
            For a table as evidence.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from skbn import BayesNetStructureEstimator
        >>> X = (load_iris().data > [5.8, 3.0, 4.3, 1.3]).astype(int)
        >>> network = BayesNetStructureEstimator(random_state=0).fit(X).network_
        >>> draws = network.sample(1000, {"x0": 1}, random_state=0)
        >>> round(float(draws["x2"].mean()), 2)
        0.93
        """
        return ask_sample(self, n_samples, evidence, random_state)

    def to_bif(
        self, path_or_file: Any = None, *, default_rows: bool = False, portable: bool = False
    ) -> str:
        """Write the network in the BIF format, which bnlearn, pgmpy, pyAgrum and others read.

        Parameters
        ----------
        path_or_file : str, path or file object, default=None
            Where to write the text as well, as UTF-8; compressed where a path ends in ".gz".
        default_rows : bool, default=False
            Write a row for each observed parent configuration and one default for all others, in
            place of a row for every configuration. That is the only way for tables with very many
            configurations, and keeps apart what was observed; but pgmpy and bnlearn cannot read
            it.
        portable : bool, default=False
            Write only what every one of these programs reads: leave out variables of one state,
            which pyAgrum refuses, and bnlearn where they are parents; and use plain names, as
            pyAgrum needs them, also for states that a file called otherwise.

        Returns
        -------
        str
            The text, whether it was written to a file or not.

        Raises
        ------
        ValueError
            If more than four million probabilities would have to be written, and if `portable`
            leaves no variable.
        MemoryError
            With `default_rows`, if there is no room for those of the observed configurations.
        TypeError
            If a name is neither text, a number, a truth value, None nor an interval of pandas.

        See Also
        --------
        skbn.read_bif : Gives the same network back.

        Notes
        -----
        Other programs find plain names: letters, digits and underscores, with what comes nearest
        in place of others ("< 5" is "lt_5"), and distinct even where case is ignored. States that
        came from a BIF file keep the names that they had there, wherever bnlearn and pgmpy read
        them. Properties, which others skip, hold the names that had to be changed and the types of
        those that are no text. Probabilities are written in full, also those smaller than every
        float.

        Examples
        --------
        >>> import io
        >>> from skbn import BayesNetStructureEstimator, read_bif
        >>> bn = BayesNetStructureEstimator().fit([["yes", "< 5"], ["no", "> 5"]])
        >>> text = bn.network_.to_bif()
        >>> print(text.partition("probability")[0].rstrip())
        network unknown {
        }
        variable x0 {
          type discrete [ 2 ] { no, yes };
        }
        variable x1 {
          type discrete [ 2 ] { lt_5, gt_5 };
          property skbn_states = str:%3C%205 str:%3E%205;
        }
        >>> read_bif(io.StringIO(text)).cpt("x1").states
        array(['< 5', '> 5'], dtype=object)
        """
        # Files and drawings are imported when they are asked for.
        from skbn.bif.files import write_text
        from skbn.bif.writer import bif_text

        text = bif_text(
            self.labels,
            self.categories,
            self.tables,
            self.file_states,
            default_rows=default_rows,
            portable=portable,
        )
        if path_or_file is not None:
            write_text(text, path_or_file)
        return text

    def _repr_svg_(self) -> str | None:
        """The drawing that notebooks show."""
        from skbn.drawing.picture import network_svg

        return network_svg(self.labels, self.categories, self._edge_indices())

    def _repr_html_(self) -> str:
        from skbn.drawing.picture import network_html

        return network_html(repr(self), self._repr_svg_())

    def to_networkx(self) -> "networkx.DiGraph":
        """Make a graph for networkx, with states and probabilities as data of nodes and edges.

        Returns
        -------
        networkx.DiGraph
            Nodes are column labels, in column order, with `states`, `configurations` (the number
            of each parent's state, per observed configuration) and `log_probabilities` (a row per
            configuration, in nats), all as JSON text, so that every format of networkx can hold
            them. Edges have the `position` of the parent among the columns of the child's
            configurations. States that JSON cannot give back, as dates, stay an array.

        Raises
        ------
        MemoryError
            If there is no room for all probabilities of the observed configurations.

        See Also
        --------
        skbn.from_networkx : Gives the same network back.

        Examples
        --------
        >>> import json
        >>> from skbn import BayesNetStructureEstimator
        >>> bn = BayesNetStructureEstimator(init=[("x1", "x0")], max_iter=0)
        >>> graph = bn.fit([["yes", "wet"], ["no", "dry"]]).network_.to_networkx()
        >>> graph.nodes["x0"]["states"]
        '["no", "yes"]'
        >>> json.loads(graph.nodes["x0"]["configurations"])
        [[0], [1]]
        """
        from skbn.networks.dot import networkx_graph

        return networkx_graph(self.labels, self.categories, self.tables)

    def to_dot(self) -> str:
        """Write the graph as text for Graphviz.

        Returns
        -------
        str
            A digraph in the DOT language: the names of the columns and the edges.

        Examples
        --------
        >>> from skbn import BayesNetStructureEstimator
        >>> bn = BayesNetStructureEstimator(init=[("x1", "x0")], max_iter=0)
        >>> bn = bn.fit([["yes", "wet"], ["no", "dry"]])
        >>> print(bn.network_.to_dot())
        digraph {
          "x0";
          "x1";
          "x1" -> "x0";
        }
        <BLANKLINE>
        """
        from skbn.networks.dot import dot_text

        return dot_text(self.labels, self._edge_indices())

    def log_prob_codes(
        self, codes: np.ndarray, missing: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute ln p of what rows have.

        Parameters
        ----------
        codes : ndarray of shape (n_variables, n_rows), unsigned integers
            The place of each cell's state in `categories`.
        missing : ndarray of shape (n_variables, n_rows), bool, optional
            Cells to be summed out; their codes are not read.

        Returns
        -------
        ndarray of shape (n_rows,)
            In nats.
        """
        if missing is not None and (with_gaps := missing.any(axis=0)).any():
            result = np.empty(codes.shape[1])
            result[~with_gaps] = self.log_prob_codes(codes[:, ~with_gaps])
            result[with_gaps] = self.inference.log_prob(
                codes[:, with_gaps], missing[:, with_gaps]
            )
            return result
        result = np.zeros(codes.shape[1])
        for rows in _blocks(codes.shape[1], 1):
            for table in self.tables:
                result[rows] += table.log_prob(codes[:, rows])
        return result

    def conditional_codes(
        self, codes: np.ndarray, variable: int, missing: np.ndarray | None = None
    ) -> np.ndarray:
        """Compute P(`variable` | what else each row has).

        Parameters
        ----------
        codes : ndarray of shape (n_variables, n_rows), unsigned integers
            The place of each cell's state in `categories`. Row `variable` is not read.
        variable : int
            Index of the variable asked for.
        missing : ndarray of shape (n_variables, n_rows), bool, optional
            Cells that the row does not have; their codes are not read.

        Returns
        -------
        ndarray of shape (n_rows, r)
            Rows sum to 1. Where every state has probability 0 by its own table or those of its
            children, which the parameters of Equation 3 never give, the states are uniform.

        Raises
        ------
        MemoryError
            If there is no room for the result.
        """
        cardinality = self.tables[variable].cardinality
        refuse_answer([self.labels[variable]], cardinality, codes.shape[1])
        result = np.empty((codes.shape[1], cardinality))
        if missing is not None:
            # What lies outside the Markov blanket does not matter if that is complete.
            blanket = [self._places[label] for label in self.markov_blanket(self.labels[variable])]
            with_gaps = missing[blanket].any(axis=0)
            if with_gaps.any():
                result[~with_gaps] = self.conditional_codes(codes[:, ~with_gaps], variable)
                result[with_gaps] = self.inference.posterior(
                    codes[:, with_gaps], missing[:, with_gaps], [variable]
                )
                return result
        for rows in _blocks(codes.shape[1], cardinality):
            result[rows] = _softmax(self._blanket_terms(codes[:, rows], variable))
        return result

    def marginal_log_prob_codes(self, codes: np.ndarray, variable: int) -> np.ndarray:
        """Compute ln p of the columns other than `variable`, which is summed out.

        Parameters
        ----------
        codes : ndarray of shape (n_variables, n_rows), unsigned integers
            The place of each cell's state in `categories`. Row `variable` is not read.
        variable : int
            Index of the variable that is summed out.

        Returns
        -------
        ndarray of shape (n_rows,)
            In nats.
        """
        concerned = {variable, *self._children[variable]}
        others = [table for table in self.tables if table.child not in concerned]
        result = np.empty(codes.shape[1])
        for rows in _blocks(codes.shape[1], self.tables[variable].cardinality):
            block = codes[:, rows]
            result[rows] = _log_sum_exp(self._blanket_terms(block, variable))
            for table in others:
                result[rows] += table.log_prob(block)
        return result

    def sample_codes(
        self, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        """Draw rows, every variable after its parents.

        Parameters
        ----------
        n_samples : int
            How many rows.
        rng : numpy.random.Generator or numpy.random.RandomState
            Where the random numbers come from, one per cell.

        Returns
        -------
        ndarray of shape (n_variables, n_samples), unsigned integers
            Parent configurations that were not observed draw uniformly.
        """
        largest = max((table.cardinality for table in self.tables), default=1)
        codes = np.empty((len(self.tables), n_samples), dtype=smallest_code_type(largest))
        for variable in self._order:
            table = self.tables[variable]
            # Drawn at once for all rows, so that the sample does not depend on the blocks.
            uniforms = rng.random(n_samples)
            for rows in _blocks(n_samples, table.cardinality):
                codes[variable, rows] = table.draw(codes[:, rows], uniforms[rows])
        return codes

    @property
    def inference(self) -> Inference:
        """The engine that answers about rows of codes with gaps."""
        return Inference(self.tables, self._order, self.labels)

    def _blanket_terms(self, codes: np.ndarray, variable: int) -> np.ndarray:
        """The part of ln p(row) that depends on `variable`, for each of its states."""
        terms = self.tables[variable].log_prob_each(codes, variable)
        for child in self._children[variable]:
            terms = terms + self.tables[child].log_prob_each(codes, variable)
        return terms

    def _place(self, x: Hashable) -> int:
        return find_columns([x], self.labels)[0]

    def _check(self) -> None:
        n = len(self.labels)
        if len(self._places) < n:
            repeated = next(x for i, x in enumerate(self.labels) if self._places[x] != i)
            raise ValueError(f"Two columns are called {brief(repeated)}; labels must differ.")
        if not n == len(self.categories) == len(self.tables):
            raise ValueError(
                f"labels, categories and tables must be equally many, got {n}, "
                f"{len(self.categories)} and {len(self.tables)}."
            )
        for place, (label, table) in enumerate(zip(self.labels, self.tables, strict=True)):
            if table.child != place:
                raise ValueError(
                    f"The table at position {place} ({brief(label)}) is that of variable "
                    f"{table.child}; give the tables in the order of the labels."
                )
            members = (table.child, *table.parents)
            expected = (table.cardinality, *table.parent_cardinalities)
            for member, cardinality in zip(members, expected, strict=True):
                if len(self.categories[member]) != cardinality:
                    raise ValueError(
                        f"Column {brief(self.labels[member])} has {len(self.categories[member])} "
                        f"categories, but {cardinality} states in the table of {brief(label)}."
                    )


def _blocks(n_rows: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // width)
    return (slice(start, start + step) for start in range(0, n_rows, step))


def _softmax(terms: np.ndarray) -> np.ndarray:
    """exp of each row's terms, divided by their sum; uniform where all terms are -inf."""
    largest = terms.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        weights = np.exp(np.where(largest == -np.inf, 0.0, terms - largest))
    return weights / weights.sum(axis=1, keepdims=True)


def _log_sum_exp(terms: np.ndarray) -> np.ndarray:
    """ln of the sum of exp over each row; -inf where all terms are -inf."""
    largest = terms.max(axis=1)
    shift = np.where(largest == -np.inf, 0.0, largest)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(terms - shift[:, None]).sum(axis=1)) + shift
