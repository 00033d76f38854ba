"""A network for other programs: as a networkx graph, as Graphviz text."""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from skbn.parameters.conditional_table import ConditionalTable

if TYPE_CHECKING:
    import networkx


def networkx_graph(
    labels: Sequence[Hashable],
    categories: Sequence[np.ndarray],
    tables: Sequence[ConditionalTable],
) -> "networkx.DiGraph":
    """The graph of a network given by its parts, with its tables; see `BayesianNetwork`."""
    try:
        import networkx as nx
    except ImportError as error:
        raise ImportError("to_networkx needs networkx: pip install networkx.") from error
    graph = nx.DiGraph()
    for label, levels, table in zip(labels, categories, tables, strict=True):
        graph.add_node(
            label,
            states=levels.copy(),
            configurations=table.configurations.copy(),
            log_probabilities=table.log_rows(label),
        )
    for table in tables:
        for position, parent in enumerate(table.parents):
            graph.add_edge(labels[parent], labels[table.child], position=position)
    return graph


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
