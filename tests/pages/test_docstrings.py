"""Docstrings of everything public pass numpydoc's validation."""

import importlib
import inspect
import math
import re
from functools import cached_property

import pytest

import skbn

numpydoc = pytest.importorskip("numpydoc")
from numpydoc.docscrape import get_doc_object  # noqa: E402
from numpydoc.validate import validate  # noqa: E402

# See-also sections and extended summaries stand where they say something, not everywhere.
NOT_ASKED = {"SA01", "ES01"}
# What users receive or write beside what has a name in skbn: results, and searches of their own.
RECEIVED = (
    "skbn.search.climbing.Step",
    "skbn.theory.contingency.Margin",
    "skbn.networks.probability_table.CPT",
    "skbn.estimators.estimator.HistoryStep",
    "skbn.analysis.compare_graphs.Agreement",
    "skbn.posteriors.edge_posteriors.ParentSetPosterior",
    "skbn.graphs.graph.Move",
    "skbn.networks.network.BayesianNetwork",
    "skbn.inference.conditional_table.ConditionalTable",
    "skbn.networks.probability_table.Posterior",
    "skbn.search.searches.Search",
)
OBJECTS = {f"skbn.{name}": getattr(skbn, name) for name in skbn.__all__} | {
    path: getattr(importlib.import_module(path.rpartition(".")[0]), path.rpartition(".")[2])
    for path in RECEIVED
}


def members_of(cls):
    """Public methods and properties of a class, its own or those of other classes of ours."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), object)
        if name.startswith("_") or not owner.__module__.startswith("skbn"):
            continue
        member = inspect.getattr_static(cls, name)
        if isinstance(member, (classmethod, staticmethod)):
            member = member.__func__
        if inspect.isfunction(member) or isinstance(member, (property, cached_property)):
            yield name, member


MEMBERS = {
    f"{path}.{name}": member
    for path, one in OBJECTS.items() if inspect.isclass(one)
    for name, member in members_of(one)
}


def complaints(one, not_asked):
    # By object: the name of a function may be that of its module as well.
    found = validate(get_doc_object(one))["errors"]
    return [f"{code}: {text}" for code, text in found if code not in not_asked]


@pytest.mark.parametrize("path", OBJECTS)
def test_classes_and_functions(path):
    # The constructor of a protocol is not for calling.
    is_protocol = getattr(OBJECTS[path], "_is_protocol", False)
    assert not complaints(OBJECTS[path], NOT_ASKED | ({"PR01"} if is_protocol else set()))


@pytest.mark.parametrize("path", MEMBERS)
def test_methods_and_properties(path):
    assert not complaints(MEMBERS[path], NOT_ASKED | {"EX01"})


@pytest.mark.parametrize("path", OBJECTS | MEMBERS)
def test_entries_that_numpydoc_does_not_look_at(path):
    documented = get_doc_object((OBJECTS | MEMBERS)[path])
    for section in ("Attributes", "Raises", "Warns"):
        for entry in documented[section]:
            # numpydoc lists properties with the attributes, by their own docstrings.
            if entry.type or section != "Attributes":
                assert entry.desc and entry.desc[-1].endswith("."), (section, entry)


@pytest.mark.parametrize("path", OBJECTS | MEMBERS)
def test_defaults_are_those_of_the_signature(path):
    one = (OBJECTS | MEMBERS)[path]
    if isinstance(one, (property, cached_property)) or getattr(one, "_is_protocol", False):
        return
    documented = get_doc_object(one)["Parameters"]
    if not documented:  # exceptions, of which no signature is known, among them
        return
    parameters = inspect.signature(one).parameters
    for entry in documented:
        for name in entry.name.split(", "):
            has = parameters[name.lstrip("*")].default
            shown = "[]" if repr(has) == "<factory>" else repr(has)
            said = re.search(r"default=(.+)$", entry.type)
            if said is None:
                assert has in (inspect.Parameter.empty, None, ()), name
            else:
                assert shown == repr(eval(said[1], {"nan": math.nan})), name


def test_members_are_found():
    assert {
        "skbn.BayesNetClassifier.predict_proba",  # from another class of ours
        "skbn.BootstrapEdges.strength",
        "skbn.Contingency.from_array",
        "skbn.Contingency.n_samples",
        "skbn.TabuSearch.search",
        "skbn.networks.network.BayesianNetwork.posterior",
    } <= set(MEMBERS)
    assert not any("set_fit_request" in path or "get_params" in path for path in MEMBERS)
