"""What a `DataWarning` must tell of a problem, by hand."""

import numpy as np
from checks import require

NUMBERS = ("small", "sparse", "large", "decimal", "fraction")
DECLARED = ("category", "ordered", "enum", "text enum", "Categorical", "dictionary",
            "real dictionary")
LONGEST = 2000
COLUMNS, FAMILIES, WEIGHTS = "measurements or identifiers", "say next to nothing", "sums to"


def check_lengths(told):
    """No message is long, and none of its kind comes twice."""
    for text in told:
        require(len(text) < LONGEST, "a warning of", len(text), "letters:", text[:300])
    for words in (COLUMNS, FAMILIES, WEIGHTS):
        texts = _of(told, words)
        require(len(texts) <= 1, "one thing is told several times:", texts)


def check_columns(told, problem, levels_given=(), y=None, has_y=False):
    """Columns of many levels that nobody declared; the last, if it is y, where `y` is its name."""
    rows, total = _rows_and_total(problem)
    expected = []
    for j, name in enumerate(problem.names):
        declared = problem.dress.styles[j] in DECLARED
        if has_y and j == problem.n_columns - 1:
            name, declared = y, y is None
        if declared or name in levels_given:
            continue
        r = len(np.unique(problem.codes[rows, j]))
        least = 30 if problem.dress.kinds[j] in NUMBERS else 2
        if r > 20 and max(len(rows), total) < least * r:
            expected.append((name, r))
    _require_told(told, COLUMNS, bool(expected), expected)
    for text in _of(told, COLUMNS):
        numbers = ", ".join(str(r) for _, r in expected[:6])
        require(f"with {numbers}" in text, "of", expected, "is told", text)
        require(f"in {len(rows):,} rows" in text, len(rows), "rows, and told is", text)


def check_families(told, problem, parents):
    """Families with hardly a row to a configuration; of whole weights alone."""
    rows, total = _rows_and_total(problem)
    if not problem.whole:
        return
    found = []
    for child, given in enumerate(parents):
        n_found = len(np.unique(problem.codes[np.ix_(rows, list(given))], axis=0)) if given else 1
        if n_found > 20 and total < 2 * n_found:
            found.append((child, given, n_found))
    _require_told(told, FAMILIES, bool(found), found)


def check_weights(told, problem, score_type=None):
    """Shares, which BIC and MDL do not take."""
    rows, total = _rows_and_total(problem)
    n, weights = len(rows), problem.weights
    n_distinct = len(np.unique(problem.codes[rows], axis=0))
    at_most_a_row = total < 1 - 1e-9 or (n_distinct > 1 and total <= 1 + 1e-9)
    if score_type in ("bic", "mdl"):
        require(not at_most_a_row, score_type, "takes weights that sum to", total)
    if weights is not None:
        least = max(min(3.0, n / 2), n / 100)
        if not (abs(total - 1) < 1e-5 or abs(total - least) < 1e-9 * least):
            _require_told(told, WEIGHTS, total < 1 or total < least, (total, n))


def _rows_and_total(problem):
    """The rows of weight above zero, and the sum of the weights."""
    if problem.weights is None:
        return np.arange(problem.n_rows), float(problem.n_rows)
    weights = np.asarray(problem.weights, dtype=float)
    return np.flatnonzero(weights > 0), float(weights.sum())


def _of(told, words):
    return [text for text in told if words in text]


def _require_told(told, words, wanted, why):
    texts = _of(told, words)
    require(bool(texts) == wanted, "told is" if texts else "not told is", f"{words!r}:", why, texts)
