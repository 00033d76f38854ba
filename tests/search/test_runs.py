"""What a fit tells while it runs: scikit-learn's callbacks and printed lines."""

import re

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import FitCallback, ProgressBar
from sklearn.model_selection import GridSearchCV, KFold

from skbn import BayesNetClassifier, BayesNetStructureEstimator, ESSSearchCV

FOLDS = KFold(3, shuffle=True, random_state=0)


def table(n_columns=5, n_rows=80):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(n_rows, n_columns))
    X[:, 1] = np.where(rng.random(n_rows) < 0.8, X[:, 0], X[:, 1])
    X[:3] = np.arange(3)[:, None]
    return X


class Note:
    """Notes every task that begins or ends."""

    def __init__(self, stops_at=None):
        self.begun, self.ended, self.hooks, self.fitted = [], [], [], None
        self.stops_at = stops_at

    def setup(self, estimator, context):
        self.hooks.append("setup")

    def teardown(self, estimator, context):
        self.hooks.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append((context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.ended.append((context.task_name, context.task_id))
        self.fitted = fitted_estimator
        return (context.task_name, context.task_id) == self.stops_at


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_fit_tells_of_its_runs(n_jobs):
    note = Note()
    assert isinstance(note, FitCallback)
    model = BayesNetStructureEstimator(n_restarts=2, n_jobs=n_jobs, random_state=0)
    model.set_callbacks(note).fit(table())
    assert note.begun[:2] == [("fit", 0), ("search (ess=1)", 0)]
    assert note.ended[-2:] == [("search (ess=1)", 0), ("fit", 0)]
    assert sorted(note.begun[2:]) == sorted(note.ended[:-2]) == [("run", k) for k in range(3)]
    assert note.hooks == ["setup", "teardown"]
    # Ready to predict when the last task ends.
    assert note.fitted.edges_ == model.edges_
    assert note.fitted.score(table()) == model.score(table())


def test_an_ascent_tells_of_every_search():
    note = Note()
    model = BayesNetStructureEstimator(search="exact", ess="analytic").set_callbacks(note)
    model.fit(table())
    searches = [name for name, _ in note.begun if name.startswith("search")]
    # The optimum of BIC, then one for every ess but the last.
    assert len(searches) == len(model.ess_history_)
    assert sorted(note.begun) == sorted(note.ended)


def test_an_exact_search_tells_how_much_is_done():
    note = Note()
    BayesNetClassifier(search="exact").set_callbacks(note).fit(table(), table()[:, 0])
    assert note.begun.count(("run", 0)) == 1
    parts = [number for name, number in note.ended if name == "part"]
    assert parts == list(range(20))


def woven_table():
    """Each column follows two before it, so that a random order is far from the best."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(500, 12))
    for j in range(2, 12):
        X[:, j] = np.where(rng.random(500) < 0.8, (X[:, j - 1] + X[:, j - 2]) % 3, X[:, j])
    return X[:, rng.permutation(12)]


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_an_order_search_tells_of_its_sweeps(n_jobs, capsys):
    note = Note()
    model = BayesNetStructureEstimator(
        search="order", n_restarts=2, n_jobs=n_jobs, random_state=0, verbose=1)
    model.set_callbacks(note).fit(woven_table())
    assert note.begun.count(("run", 0)) == 1
    lines = capsys.readouterr().out.splitlines()
    n_sweeps = 0
    for run, score in enumerate(model.restart_scores_):
        of_run = [line for line in lines if line.startswith(f"ess 1, run {run}: ")]
        told = [re.fullmatch(
            rf"ess 1, run {run}: (first order|sweep (\d+)), score (-\d+\.\d{{4}}), "
            r"([\d,]+) families counted, \d+\.\d s", line) for line in of_run[:-1]]
        assert [line[1] for line in told] == [
            "first order", *(f"sweep {k}" for k in range(1, len(told)))]
        scores = [float(line[3]) for line in told]
        assert scores == sorted(scores)
        counted = [int(line[4].replace(",", "")) for line in told]
        assert counted[0] >= 12 * 12
        # Threads count together, and may miss some of what another counts just now.
        assert n_jobs or counted == sorted(counted)
        # What the last sweep leaves, the run ends with.
        assert scores[-1] == pytest.approx(score, abs=1e-3)
        assert of_run[-1].endswith(f"after {len(told) - 1} rounds")
        n_sweeps += len(told) - 1
    assert n_sweeps >= 6
    assert n_jobs or counted[-1] <= model.n_evaluations_
    sweeps = [number for name, number in note.ended if name == "sweep"]
    assert len(sweeps) == n_sweeps and sweeps.count(0) == 3
    assert sorted(note.begun) == sorted(note.ended)


def test_sweeps_are_told_while_a_run_goes_on(capsys):
    class Impatient(Note):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "sweep":
                raise KeyboardInterrupt

    model = BayesNetStructureEstimator(search="order", random_state=0, verbose=1)
    with pytest.raises(KeyboardInterrupt):
        model.set_callbacks(Impatient()).fit(woven_table())
    assert "first order" in capsys.readouterr().out


def test_a_callback_can_stop_the_restarts():
    X = table()
    stopped = BayesNetStructureEstimator(n_restarts=9, random_state=0)
    stopped.set_callbacks(Note(stops_at=("run", 2))).fit(X)
    assert len(stopped.restart_scores_) == 3
    full = BayesNetStructureEstimator(n_restarts=9, random_state=0).fit(X)
    assert stopped.restart_scores_.tolist() == full.restart_scores_[:3].tolist()


def test_callbacks_are_torn_down_when_a_fit_fails():
    note = Note()

    class Broken(Note):
        def on_fit_task_end(self, estimator, context):
            raise RuntimeError("no more")

    model = BayesNetStructureEstimator().set_callbacks(note, Broken())
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(table())
    assert note.hooks == ["setup", "teardown"]
    assert not hasattr(model, "network_")


def test_callbacks_change_no_result_and_survive_cloning():
    X = table()
    plain = BayesNetStructureEstimator(n_restarts=4, random_state=0).fit(X)
    note = Note()
    followed = clone(BayesNetStructureEstimator(n_restarts=4, random_state=0).set_callbacks(note))
    assert followed.fit(X).edges_ == plain.edges_
    assert followed.restart_scores_.tolist() == plain.restart_scores_.tolist()
    assert note.begun


def test_a_search_for_the_ess_tells_of_folds_and_candidates():
    note = Note()
    search = ESSSearchCV(BayesNetStructureEstimator(random_state=0), [1.0, 10.0], cv=FOLDS)
    search.set_callbacks(note).fit(table())
    assert note.begun[0] == note.ended[-1] == ("fit", 0)
    names = [name for name, _ in note.begun]
    assert names.count("fold") == 3
    assert names.count("ess=1") == names.count("ess=10") == 3
    # Three folds and the whole table.
    assert names.count("analytic") == names.count("marginal_likelihood") == 4
    assert names.count("refit") == 1
    assert sorted(note.begun) == sorted(note.ended)
    assert note.hooks == ["setup", "teardown"]
    assert note.fitted.best_score_ == search.best_score_


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_progress_bars_from_everywhere(backend, capsys):
    pytest.importorskip("rich")
    X = table()
    bars = ProgressBar(max_propagation_depth=None)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        BayesNetStructureEstimator(n_restarts=3).set_callbacks(bars).fit(X)
        assert "run" not in capsys.readouterr().err
        ESSSearchCV(BayesNetStructureEstimator(), [1.0, 3.0], cv=FOLDS).set_callbacks(bars).fit(X)
        assert "fold #2" in capsys.readouterr().out
        GridSearchCV(BayesNetStructureEstimator(), {"ess": [1.0, 3.0]}, cv=FOLDS).set_callbacks(
            bars
        ).fit(X)
    assert "search (ess=" in capsys.readouterr().out


def test_verbose_prints_moves_when_asked(capsys):
    X = table()
    model = BayesNetStructureEstimator(verbose=2, random_state=0).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.history_) + 1
    for line, step in zip(lines, model.history_, strict=False):
        assert f"{step.kind} {step.parent!r} -> {step.child!r}" in line
