"""The estimator: a table goes in, a network and its predictions come out."""

from collections.abc import Callable, Hashable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skbn.ess.coordinate_ascent import Ascent
from skbn.estimators.learning import Learning
from skbn.estimators.predictions import Predictions, undone_on_failure
from skbn.graphs.constraints import Constraints, read_graph_prior
from skbn.messages import brief, first_few, kept_short
from skbn.networks.network import BayesianNetwork
from skbn.networks.persistence import Persistent
from skbn.scores.by_name import SCORES, as_score
from skbn.scores.saturated import SaturatedFamilies
from skbn.search.climbing import SearchResult
from skbn.search.runs import FitProgress, draw_seeds
from skbn.search.searches import SEARCHES, ExactSearch, as_search
from skbn.tables.columns import apply_with_gaps
from skbn.tables.reading import (
    Reading,
    Table,
    append_variable,
    apply_categories_with_gaps,
    label_of_target,
    open_table,
    open_target,
    read_table,
)
from skbn.tables.templates import ColumnTemplate, TableTemplate


class HistoryStep(NamedTuple):
    """A move of a search, by column names, and the score of the graph that it led to.

    Parameters
    ----------
    kind : {"add", "delete", "reverse"}
        What the move did to the edge.
    parent, child : hashable
        Names of the columns that the edge led from and to before the move; an edge that was added
        leads from `parent` to `child`.
    score : float
        Score of the graph after the move, log graph prior included, in nats.

    Examples
    --------
    >>> from skbn import BayesNetStructureEstimator
    >>> X = [["a", 0], ["a", 0], ["b", 1], ["b", 1]] * 5
    >>> step = BayesNetStructureEstimator(random_state=0).fit(X).history_[0]
    >>> step.kind, step.parent, step.child, round(step.score, 2)
    ('add', 'x0', 'x1', -18.18)
    """

    kind: str
    parent: Hashable
    child: Hashable
    score: float


class BayesNetStructureEstimator(Predictions, Persistent, CallbackSupportMixin, BaseEstimator):
    """Learn the structure and the parameters of a Bayesian network from a table of categories.

    Parameters
    ----------
    score_type : str or score object, default="bdeu"
        What the search maximises: "bdeu", "loglik", "bic", "aic", "mdl", "k2", "bds", "bdj",
        "fnml" or "qnml"; see `skbn.scores`. An object with the methods of `skbn.Score` is a score
        of your own.
    ess : float, "analytic" or "marginal_likelihood", default=1.0
        Equivalent sample size of the Dirichlet prior, in rows: it enters the scores that have
        one, and the parameters unless `parameter_ess` is given. "analytic" chooses it together
        with the graph, by coordinate ascent from the optimum of BIC with the estimate of Steck
        (2008, Eq. 18); "marginal_likelihood" likewise, with the maximum of p(D | ess, G).
    search : str or search object, default="greedy"
        How graphs are searched: by single moves of edges ("greedy", "first_ascent", "tabu"), over
        orders of the variables ("order"), or exactly ("exact", up to about 25 columns). An object,
        such as ``TabuSearch(tabu_length=20)``, has parameters of its own.
    init : {"empty", "full", "random", "bic", "tree"} or graph, default="empty"
        Where the search starts: no edges; all edges in column order (`skbn.full_graph` gives
        another order); random edges, as many as columns; the optimum of BIC by the same search;
        the tree of greatest mutual information; or a graph: (parent, child) pairs of column names,
        an adjacency matrix, a networkx graph, a fitted estimator.
    n_restarts : int, default=0
        Further searches from random graphs. The best of all runs is kept.
    max_parents : int, default=None
        Largest number of parents of a variable.
    required_edges : iterable of (parent, child) names, default=None
        Edges that every graph has.
    forbidden_edges : iterable of (parent, child) names, default=None
        Edges that no graph has; the reverse of one is forbidden only if it is named too.
    tiers : iterable of groups of names, default=None
        No edge leads from a later group to an earlier one. Columns in no group are free.
    graph_prior : float or callable, default=None
        Log prior of graphs, in nats: a number, zero or above, is the penalty per edge; a function
        is called as ``graph_prior(variable, parents)`` with names, and its values are summed over
        the variables, -inf forbidding a set of parents. None is uniform.
    max_iter : int, default=None
        Largest number of moves of a search (for "order", of sweeps over all variables).
    parameter_ess : float, default=None
        Equivalent sample size for the conditional probabilities (Eq. 3); None takes `ess`.
    categories : "auto", list or dict, default="auto"
        The levels of the columns: read from the table, or given as one list per column, or as a
        dictionary from column name to list. A categorical dtype keeps its declared levels.
    handle_missing : {"error", "category"}, default="error"
        What missing cells (NaN, None, NA, null) are at fit: refused, or a level of their column,
        its last, which `categories_` and `sample` show as a missing value. At prediction missing
        cells are summed out, but in a column that has this level they are of it.
    handle_unknown : {"error", "missing"}, default="error"
        What values that `fit` did not know are at prediction: refused, or as if the cell were
        missing. So is an unknown y. A column all of another type, such as text where there were
        numbers, is refused all the same.
    n_jobs : int, default=None
        Number of threads for the restarts, or for an exact search.
    random_state : int, RandomState instance or None, default=None
        Decides ties and random graphs. Ties are common: a first edge scores the same in both
        directions. Pass a number for the same graph every time.
    verbose : int, default=0
        1 prints a line per run, and for an exact search one every 10 %; 2 prints the moves too.

    Attributes
    ----------
    network_ : BayesianNetwork
        Graph, conditional probabilities and state names.
    edges_ : list of (parent, child) names
        In column order of the parent, then of the child.
    adjacency_ : ndarray of shape (n_variables, n_variables), bool
        Row -> column.
    categories_ : list of ndarray
        The levels of every variable.
    classes_ : ndarray
        The levels of y, if there was one, as `numpy.unique` sorts them and a missing one last: the
        order of the columns of `predict_proba`. `categories_` and `network_` keep the order in
        which y declares them. Levels that cannot be compared, such as text beside numbers, stay
        in that order.
    ess_ : float
        The equivalent sample size of the score.
    ess_history_ : list of float
        The equivalent sample sizes on the way to it.
    structure_score_ : float
        Score of the graph with `ess_`, log graph prior included, in nats.
    history_ : list of HistoryStep
        The moves of the best run, (kind, parent, child, score); searches over orders have none.
    n_iter_ : int
        Number of moves of the best run (for "order", of sweeps; 1 for "exact").
    restart_scores_ : ndarray of shape (n_restarts + 1,)
        Final score of every run, the one from `init` first.
    restart_histories_ : list of list of HistoryStep
        The moves of every run, as in `history_`.
    restart_edges_ : list of list of (parent, child) names
        The graph of every run.
    n_evaluations_ : int
        How many families were counted, by this process: workers of other processes count their
        own, and threads that ask for the same at once may count it twice.
    n_features_in_ : int
        Number of columns of X, y not counted.
    feature_names_in_ : ndarray of str
        Names of the columns of X; only where all of them are strings.

    See Also
    --------
    BayesNetClassifier : The same model as a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from skbn import BayesNetStructureEstimator
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(500) < 0.3
    >>> wet = np.where(rng.random(500) < 0.9, rain, ~rain)
    >>> X = np.column_stack([rain, wet, rng.random(500) < 0.5])
    >>> bn = BayesNetStructureEstimator(ess=1.0, random_state=0).fit(X)
    >>> bn.edges_
    [('x0', 'x1')]
    >>> bn.predict_proba(X[:1])[0].round(2)
    array([[0.96, 0.04]])
    """

    _parameter_constraints: ClassVar[dict] = {
        "score_type": [
            StrOptions(set(SCORES)), HasMethods(["cell_terms", "parent_terms", "constant"])
        ],
        "ess": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"analytic", "marginal_likelihood"}),
        ],
        "search": [StrOptions(set(SEARCHES)), HasMethods(["search"])],
        "init": "no_validation",
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "max_parents": [Interval(Integral, 0, None, closed="left"), None],
        "required_edges": "no_validation",
        "forbidden_edges": "no_validation",
        "tiers": "no_validation",
        "graph_prior": [Interval(Real, None, None, closed="neither"), callable, None],
        "max_iter": [Interval(Integral, 0, None, closed="left"), None],
        "parameter_ess": [Interval(Real, 0, None, closed="neither"), None],
        "categories": [StrOptions({"auto"}), list, tuple, dict],
        "handle_missing": [StrOptions({"error", "category"})],
        "handle_unknown": [StrOptions({"error", "missing"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        score_type="bdeu",
        ess=1.0,
        search="greedy",
        init="empty",
        n_restarts=0,
        max_parents=None,
        required_edges=None,
        forbidden_edges=None,
        tiers=None,
        graph_prior=None,
        max_iter=None,
        parameter_ess=None,
        categories="auto",
        handle_missing="error",
        handle_unknown="error",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.score_type = score_type
        self.ess = ess
        self.search = search
        self.init = init
        self.n_restarts = n_restarts
        self.max_parents = max_parents
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.graph_prior = graph_prior
        self.max_iter = max_iter
        self.parameter_ess = parameter_ess
        self.categories = categories
        self.handle_missing = handle_missing
        self.handle_unknown = handle_unknown
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @undone_on_failure
    def fit(self, X, y=None, sample_weight=None):
        """Learn a network from a table.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Categories: integers, integer-valued floats, bools, strings, or a categorical dtype.
            Missing cells only with ``handle_missing="category"``.
        y : array-like of shape (n_samples,), default=None
            Joins the network as its last variable, named as the Series is, or as the column of a
            data frame of one, else "y".
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts; None counts each once. Rows of weight zero are dropped,
            levels included. Weights that are shares make next to no rows, which a `DataWarning`
            tells; BIC and MDL, with which ``ess="analytic"`` and ``init="bic"`` begin, refuse
            those that sum to 1 or less.

        Returns
        -------
        BayesNetStructureEstimator
            This estimator, fitted.

        Raises
        ------
        ValueError, TypeError
            For parameters that do not fit together, and for what is no table of categories: real
            numbers, infinities, missing cells that `handle_missing` does not allow. The message
            names the column and the cure.
        MemoryError
            If an exact search would not fit into memory; before it starts.

        Warns
        -----
        ConvergenceWarning
            If an `ess` that is to be chosen has no usable value on the way or lies at a bound, or
            if the choice cycles between graphs.
        DataWarning
            If columns look like measurements or identifiers, if the weights look like shares, and
            if the graph has families that the rows say next to nothing about; see the page on
            searching.
        """
        saturated = self._fit(X, y, sample_weight)
        saturated.warn("The graph has")
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, y, sample_weight) -> SaturatedFamilies:
        """As `fit`, but of what the graph has of such families others may warn."""
        table, target, reading = self._read(X, y, sample_weight)
        reading.warn_of_columns()
        learning = self._prepare(reading)
        told = {"estimator": self, "X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        # How many searches an ascent takes is not known ahead.
        context = self._init_callback_context(
            max_subtasks=None if isinstance(self.ess, str) else 1
        ).call_on_fit_task_begin(**told)
        if self.verbose or getattr(self, "_skl_callbacks", None):
            learning.progress = FitProgress(self, context, reading.labels, self.verbose)
        found = learning.learn(self.ess)
        self._keep(table, target, reading, learning, found)
        reading.warn_of_weights()
        context.call_on_fit_task_end(**told, reconstruction_attributes={})
        return learning.saturated([found.runs])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # As scikit-learn's encoders: text is read, but `string` would promise that any object is.
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = self.handle_missing == "category"
        return tags

    @property
    def _distribution(self) -> BayesianNetwork:
        return self.network_

    @property
    def _templates(self) -> tuple[TableTemplate, ColumnTemplate | None]:
        return self._x_template, self._y_template

    def _html_repr(self):
        """What notebooks show: scikit-learn's diagram, and the network once there is one."""
        diagram = super()._html_repr()
        network = getattr(self, "network_", None)
        return diagram if network is None else diagram + network._repr_html_()

    def _open(self, X, *, reset: bool) -> Table:
        """The table, with names and number of columns checked against `fit` unless `reset`."""
        table = open_table(X)
        with kept_short():
            validate_data(self, table.native, reset=reset, skip_check_array=True)
        if not reset and table.labels is not None and self._x_template.empty is not None:
            # scikit-learn compares names only where all are strings.
            fitted = list(self.network_.labels[: self.n_features_in_])
            if table.labels != fitted:
                pairs = zip(fitted, table.labels, strict=True)
                # Those that are in their places say nothing.
                had, come = zip(*(pair for pair in pairs if pair[:1] != pair[1:]), strict=True)
                raise ValueError(
                    "The columns must be those of fit, in the same order: fit had "
                    f"{first_few(had)}; now come {first_few(come)}."
                )
        return table

    def _check_y(self, y, table: Table):
        """y as one column with as many rows as X."""
        if y is None:
            return None
        return open_target(y, table.shape[0])

    def _read(self, X, y, sample_weight) -> tuple[Table, Any, Reading]:
        """The table and y as they came, and what they were read into."""
        table, label = self._open(X, reset=True), label_of_target(y)
        y = self._check_y(y, table)
        reading = read_table(
            table, y, sample_weight, self.categories, self.handle_missing, self._y_missing(), label
        )
        return table, y, reading

    def _levels(
        self, X, y=None, sample_weight=None, warn: bool = False
    ) -> dict[Hashable, np.ndarray]:
        """The levels of every variable, as fits of parts of the table should have them too.

        Such fits are silent about the columns; who asks for the levels may speak for them all.
        """
        _, _, reading = clone(self)._read(X, y, sample_weight)
        if warn:
            reading.warn_of_columns()
            reading.warn_of_weights()
        return dict(zip(reading.labels, reading.categories, strict=True))

    def _y_missing(self) -> str | None:
        """What missing cells of y are at fit, if not the same as those of X."""
        return None

    def _prepare(self, reading: Reading) -> Learning:
        """The search that the parameters describe."""
        search = as_search(self.search)
        if isinstance(search, ExactSearch):
            self._refuse_starts()
            # The estimator's own parameters count where those of the search are left alone.
            search = clone(search).set_params(
                n_jobs=self.n_jobs if search.n_jobs is None else search.n_jobs,
                verbose=search.verbose or self.verbose,
            )
        return Learning(
            data=reading.data,
            labels=reading.labels,
            score=as_score(self.score_type),
            search=search,
            constraints=Constraints.from_names(
                reading.labels,
                required_edges=self.required_edges,
                forbidden_edges=self.forbidden_edges,
                tiers=self.tiers,
                max_parents=self.max_parents,
            ),
            log_prior=read_graph_prior(self.graph_prior, reading.labels),
            init=self.init,
            seeds=draw_seeds(check_random_state(self.random_state), self.n_restarts),
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )

    def _keep(self, table: Table, y, reading: Reading, learning: Learning, found: Ascent):
        """Fit the parameters of the graph found and set the fitted attributes."""
        labels, categories = reading.labels, reading.categories
        runs, best = found.runs, found.runs.best
        parameter_ess = found.ess if self.parameter_ess is None else float(self.parameter_ess)
        tables = learning.tables(best.parents, parameter_ess)
        self.network_ = BayesianNetwork(labels, categories, tables)
        self.ess_ = found.ess
        self.ess_history_ = found.history
        self.categories_ = categories
        self.edges_ = self.network_.edges
        self.adjacency_ = self.network_.adjacency
        # An ascent ends with the ESS of the graph, which need not be the one that led to it.
        ascended = len(found.history) > 1
        self.structure_score_ = (
            learning.score_of(best.parents, found.ess) if ascended else best.score
        )
        self.restart_scores_ = np.array([run.score for run in runs.runs])
        self.restart_histories_ = [_named_history(run, labels) for run in runs.runs]
        self.restart_edges_ = [_named_edges(run, labels) for run in runs.runs]
        self.history_ = _named_history(best, labels)
        self.n_iter_ = best.n_iter
        self.n_evaluations_ = learning.n_evaluations
        self._x_template = TableTemplate.of(table.native)
        self._y_template = None if y is None else ColumnTemplate.of(y)
        return self

    def _fitter(self, X, y, sample_weight, grid) -> Callable[[float | str], Any]:
        """Function that fits a copy for one value of `ess`.

        The table is read once, and searches that can share counts over the `grid` do.
        """
        self._validate_params()
        table, y, reading = self._read(X, y, sample_weight)
        learning = self._prepare(reading)
        learning.expect(grid)

        def fit(ess: float | str):
            copy = clone(self).set_params(ess=ess)
            # Sets the number and names of the features.
            copy._open(table, reset=True)
            return copy._keep(table, y, reading, learning, learning.learn(ess))

        return fit

    def _refuse_starts(self) -> None:
        """Refuse parameters that an exact search would not heed."""
        init = brief(self.init) if isinstance(self.init, str) else "a graph"
        for name, given, default in (
            ("init", init, "'empty'"),
            ("n_restarts", str(self.n_restarts), "0"),
            ("max_iter", str(self.max_iter), "None"),
        ):
            if given != default:
                raise ValueError(
                    f"An exact search starts nowhere and is not repeated, but {name} is {given}. "
                    f"Leave {name} at {default}, or choose another search."
                )

    def _read_codes(self, X, y=None) -> tuple[np.ndarray, np.ndarray | None]:
        """Codes (n_variables, n_samples) of a table to predict, and where cells are missing.

        None is missing where all are there. If y is not given it is 0, and not called missing.
        """
        check_is_fitted(self, "network_")
        if y is not None and self._y_template is None:
            raise ValueError("y came to a network that was fitted without y. Fit it with y.")
        table = self._open(X, reset=False)
        codes, missing = apply_categories_with_gaps(
            table, table.names, self.categories_[: table.shape[1]], self.handle_unknown
        )
        if self._y_template is None:
            return codes, missing
        y_codes, y_gaps = np.zeros(table.shape[0], dtype=np.uint8), None
        if y is not None:
            y_codes, y_gaps = apply_with_gaps(
                self._check_y(y, table),
                self.network_.labels[-1],
                self.categories_[-1],
                self.handle_unknown,
            )
        if missing is not None or y_gaps is not None:
            here = np.zeros(codes.shape, dtype=bool) if missing is None else missing
            missing = np.vstack([here, np.zeros(len(y_codes), bool) if y_gaps is None else y_gaps])
        return append_variable(codes, y_codes), missing


def _named_history(run: SearchResult, labels: list[Hashable]) -> list[HistoryStep]:
    return [
        HistoryStep(move.kind, labels[move.parent], labels[move.child], score)
        for move, score in run.history
    ]


def _named_edges(run: SearchResult, labels: list[Hashable]) -> list[tuple[Hashable, Hashable]]:
    return [
        (labels[parent], labels[child])
        for child, parents in enumerate(run.parents)
        for parent in parents
    ]
