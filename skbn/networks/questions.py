"""What a BayesianNetwork is asked by name: read, answered on codes, and named again."""

from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, check_scalar

from skbn.graphs.equivalence import reachable
from skbn.messages import brief, first_few
from skbn.networks.evidence import Evidence, fill, find_columns, read_evidence, states_of
from skbn.networks.probability_table import Posterior


def ask_log_prob(network: Any, rows: Any) -> float | np.ndarray:
    """`BayesianNetwork.log_prob`."""
    known = read_evidence(rows, network.labels, network.categories)
    result = network.log_prob_codes(known.codes, known.missing)
    return result if known.table is not None else float(result[0])


def ask_posterior(network: Any, columns: Any, evidence: Any) -> Posterior:
    """`BayesianNetwork.posterior`."""
    wanted = places_of(network, columns)
    if not wanted:
        raise ValueError("columns must name a column at least, got none.")
    if len(set(wanted)) < len(wanted):
        twice = next(place for place in wanted if wanted.count(place) > 1)
        raise ValueError(f"columns names {brief(network.labels[twice])} twice. Name each once.")
    known = read_evidence(evidence, network.labels, network.categories)
    missing = known.missing.copy()
    if known.table is None:
        both = [place for place in wanted if not missing[place, 0]]
        if both:
            raise ValueError(
                f"Column {brief(network.labels[both[0]])} is both asked for and given. Take it out "
                "of the columns or out of the evidence."
            )
    missing[wanted] = True
    probabilities = network.inference.posterior(known.codes, missing, wanted)
    # Without zeros nothing is impossible, and what does not concern the columns is left alone.
    if any(np.isneginf(table.log_values).any() for table in network.tables):
        _require_possible(network, known, missing, network.log_prob_codes(known.codes, missing))
    return Posterior(
        tuple(network.labels[place] for place in wanted),
        tuple(network.categories[place] for place in wanted),
        _states_given(network, known, known.missing) if known.table is None else None,
        probabilities if known.table is not None else probabilities[0],
        None if known.table is None else known.table.index,
    )


def ask_most_probable(network: Any, evidence: Any) -> Any:
    """`BayesianNetwork.most_probable`."""
    known = read_evidence(evidence, network.labels, network.categories)
    codes = network.inference.most_probable(known.codes, known.missing)
    _require_possible(network, known, known.missing, network.log_prob_codes(codes))
    if known.table is not None:
        return fill(known, codes)
    return dict(zip(network.labels, states_of(codes[:, 0], network.categories), strict=True))


def ask_sample(
    network: Any, n_samples: int, evidence: Any, random_state: Any
) -> dict[Hashable, np.ndarray]:
    """`BayesianNetwork.sample`."""
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    known = read_evidence(evidence, network.labels, network.categories)
    if known.table is not None:
        raise TypeError(
            "sample draws given one row, a dictionary from column to state, but a table came. "
            "Take its rows one at a time."
        )
    _require_possible(
        network, known, known.missing, network.log_prob_codes(known.codes, known.missing)
    )
    rng = check_random_state(random_state)
    codes = network.inference.sample(known.codes, known.missing, int(n_samples), rng)
    return {
        label: levels[row]
        for label, levels, row in zip(network.labels, network.categories, codes, strict=True)
    }


def are_separated(network: Any, x: Any, y: Any, given: Any) -> bool:
    """`BayesianNetwork.d_separated`."""
    sides = {name: places_of(network, columns)
             for name, columns in (("x", x), ("y", y), ("given", given))}
    for name in ("x", "y"):
        if not sides[name]:
            raise ValueError(f"{name} must name a column at least, got none.")
    for one, other in (("x", "y"), ("x", "given"), ("y", "given")):
        both = set(sides[one]) & set(sides[other])
        if both:
            raise ValueError(
                "x, y and given must have no column in common, but "
                f"{brief(network.labels[min(both)])} is in {one} and {other}. Leave it out of one "
                "of them."
            )
    children: list[list[int]] = [[] for _ in network.labels]
    for child, parents in enumerate(network.parent_indices):
        for parent in parents:
            children[parent].append(child)
    reached = reachable(network.parent_indices, children, sides["x"], sides["given"])
    return not reached & set(sides["y"])


def places_of(network: Any, columns: Any) -> list[int]:
    """The places of one column or of several; a tuple that is a label is one."""
    try:
        # An array of one name is equal to that name, but has no hash.
        single = hash(columns) is not None and columns in network.labels
    except (TypeError, ValueError):
        single = False
    if single or isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        columns = [columns]
    return find_columns(list(columns), network.labels)


def _require_possible(
    network: Any, known: Evidence, missing: np.ndarray, log_prob: np.ndarray
) -> None:
    """Refuse evidence of probability 0, which is where `log_prob` is -inf."""
    impossible = np.flatnonzero(log_prob == -np.inf)
    if not len(impossible):
        return
    if known.table is not None:
        raise ValueError(
            f"{len(impossible)} row(s) of the evidence have probability 0 under this network, the "
            f"first is row {impossible[0]} (counted from 0). Correct these rows or leave them out."
        )
    # What is not needed for the contradiction is left out of the message.
    missing = missing.copy()
    for place in np.flatnonzero(~missing[:, 0]):
        missing[place] = True
        if network.log_prob_codes(known.codes, missing)[0] > -np.inf:
            missing[place] = False
    states = _states_given(network, known, missing)
    together = first_few(
        list(states.items()), between=" and ",
        write=lambda pair: f"{brief(pair[0])} = {brief(pair[1])}",
    )
    raise ValueError(
        f"The evidence has probability 0 under this network: {together} cannot occur"
        + (" together" if len(states) > 1 else "") + ". Correct it or leave it out."
    )


def _states_given(
    network: Any, known: Evidence, missing: np.ndarray
) -> dict[Hashable, Any]:
    """The evidence of a dictionary, by name."""
    places = [place for place in known.places if not missing[place, 0]]
    states = states_of(known.codes[places, 0], [network.categories[place] for place in places])
    return dict(zip([network.labels[place] for place in places], states, strict=True))
