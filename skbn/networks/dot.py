"""A network for other programs: as a networkx graph, as Graphviz text."""

import json
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skbn.bif.writer import read_interval
from skbn.inference.conditional_table import ConditionalTable
from skbn.tables.values import array_of_levels, keys_of

if TYPE_CHECKING:
    import networkx

# Floats that the text of one probability takes the room of, with what it is made from.
_FLOATS_OF_TEXT = 12


def networkx_graph(
    labels: Sequence[Hashable],
    categories: Sequence[np.ndarray],
    tables: Sequence[ConditionalTable],
) -> "networkx.DiGraph":
    """The graph of a network given by its parts, with its tables; see `BayesianNetwork`.

    All data are text and whole numbers, which every file format of networkx takes.
    """
    try:
        import networkx as nx
    except ImportError as error:
        raise ImportError("to_networkx needs networkx: pip install networkx.") from error
    graph = nx.DiGraph()
    for label, levels, table in zip(labels, categories, tables, strict=True):
        graph.add_node(
            label,
            **_states(levels),
            configurations=json.dumps(table.configurations.tolist()),
            log_probabilities=json.dumps(table.log_rows(label, _FLOATS_OF_TEXT).tolist()),
        )
    for table in tables:
        for position, parent in enumerate(table.parents):
            graph.add_edge(labels[parent], labels[table.child], position=position)
    return graph


def levels_of(states: str, dtype: str | None = None) -> np.ndarray:
    """The levels that a node has as text.

    Raises
    ------
    ValueError, TypeError
        For what is no JSON list, or does not fit the type.
    """
    names = json.loads(states, object_hook=lambda found: read_interval(found["interval"]))
    levels = array_of_levels(names)
    return levels if dtype is None else levels.astype(dtype)


def _states(levels: np.ndarray) -> dict[str, Any]:
    """The data of a node that `levels_of` reads: text, or an array where text would lose a type."""
    try:
        data = {"states": json.dumps(levels.tolist(), default=_interval)}
    except TypeError:
        return {"states": levels.copy()}
    if levels_of(data["states"]).dtype != levels.dtype:
        data["dtype"] = levels.dtype.str
    again = levels_of(**data)
    exact = keys_of(again) == keys_of(levels) and (
        list(map(type, again.tolist())) == list(map(type, levels.tolist()))
    )
    return data if exact else {"states": levels.copy()}


def _interval(value: Any) -> dict[str, str]:
    if type(value).__name__ != "Interval":
        raise TypeError(f"{type(value).__name__} is not for JSON")
    return {"interval": str(value)}


def dot_text(labels: Sequence[Hashable], edges: Sequence[tuple[int, int]]) -> str:
    """Graphviz text of a graph over `labels`, with edges by index."""
    texts = [_escaped(str(label)) for label in labels]
    # Labels that read alike, as 5 and "5" do, stay different nodes.
    alike = len(set(texts)) < len(texts)
    names = [f"n{place}" if alike else f'"{text}"' for place, text in enumerate(texts)]
    lines = ["digraph {"]
    for name, text in zip(names, texts, strict=True):
        plain = name == f'"{text}"' and not set(text) & set("\\&")
        label = "" if plain else f' [label="{text.replace("&", "&amp;")}"]'
        lines.append(f"  {name}{label};")
    lines += [f"  {names[parent]} -> {names[child]};" for parent, child in edges]
    return "\n".join([*lines, "}", ""])


def _escaped(text: str) -> str:
    """The inside of a quoted string of Graphviz."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\u2400")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n")
    return text.encode("utf-8", "replace").decode()
