"""The drawing of a graph as shapes, and as SVG."""

import html
import unicodedata
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from skbn.drawing.layout import NODE_HEIGHT, GraphLayout, lay_out
from skbn.messages import cut, first_few

FONT_SIZE = 10.0
# Letters in a node; of names that begin alike, how many of the beginning and before they differ,
# and at how many places they are told apart before they are numbered.
_LONGEST_TEXT, _BEGINNING, _CONTEXT, _MOST_PLACES = 26, 8, 2, 3
_PADDING = 16.0
_THINNEST, _THICKEST, _USUAL = 0.7, 4.2, 1.2
_INK = "#4d5968"
_NARROW, _WIDE = set("iljtfrI.,:;|!'`()[]{} "), set("mwMW@%&—")
# A notebook draws no more without being asked.
MOST_NODES, MOST_EDGES = 150, 400
_MARGIN = 6.0


class NodeLook(NamedTuple):
    """Fill and outline of a node."""

    fill: str
    line: str


class EdgeLook(NamedTuple):
    """Colour of an edge, its width in points, and lengths of dashes and gaps (none: solid)."""

    colour: str
    width: float
    dashes: tuple[float, ...] = ()

# The colours of edges can be told apart by the colour-blind, and the dashes in grey.
_PLAIN = NodeLook("#f3f6fa", "#7a8899")

_TARGET = NodeLook("#f2a33a", "#9c5c00")

_BLANKET = NodeLook("#fde7c4", "#c58b2c")

KINDS = {
    "kept": EdgeLook("#2f3640", 1.4),
    "reversed": EdgeLook("#e69f00", 1.8),
    "extra": EdgeLook("#c8378f", 1.8, (6.0, 2.0, 1.5, 2.0)),
    "missing": EdgeLook("#0072b2", 1.3, (3.0, 2.5)),
}

_KIND_TEXTS = {
    "kept": "in both",
    "reversed": "reversed",
    "extra": "only learned",
    "missing": "only in reference",
}


class LegendEntry(NamedTuple):
    """A line of the legend: a node's look or an edge's, and what it means."""

    text: str
    look: NodeLook | EdgeLook


@dataclass(frozen=True, eq=False)
class GraphPicture:
    """A graph as it is drawn.

    Attributes
    ----------
    layout : GraphLayout
    texts : list of str
        What stands in the nodes; long names are cut.
    nodes : list of NodeLook
    edges : list of EdgeLook
    legend : list of LegendEntry
    """

    layout: GraphLayout
    texts: list[str]
    nodes: list[NodeLook]
    edges: list[EdgeLook]
    legend: list[LegendEntry]

    def heads(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each edge its curve, cut where the arrow's head begins, and the head's corners."""
        return [
            _with_head(curve, 5.0 + 1.3 * look.width)
            for curve, look in zip(self.layout.curves, self.edges, strict=True)
        ]


def picture_of(
    labels: Sequence[Hashable],
    edges: Sequence[tuple[int, int]],
    *,
    target: int | None = None,
    kinds: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    weight_name: str = "weight",
) -> GraphPicture:
    """Lay out a graph and choose its looks.

    Parameters
    ----------
    labels : sequence
        Names of the nodes.
    edges : sequence of (parent, child)
        By index.
    target : int, default=None
        A node to colour, with its Markov blanket in a lighter tone.
    kinds : sequence of {"kept", "reversed", "extra", "missing"}, default=None
        What each edge is beside a reference graph.
    weights : sequence of float, default=None
        Widths of the edges: in proportion up to 1, and to the square root of what is larger.
        Those that are not above 0 are dotted.
    weight_name : str
        What the weights are, for the legend.
    """
    texts = short_texts(labels)
    layout = lay_out([_width(text) + _PADDING for text in texts], edges)
    looks = [EdgeLook(_INK, _USUAL)] * len(edges) if kinds is None else [KINDS[k] for k in kinds]
    legend = []
    nodes = [_PLAIN] * len(texts)
    if target is not None:
        real = [edge for place, edge in enumerate(edges)
                if kinds is None or kinds[place] != "missing"]
        for node in _blanket(target, real):
            nodes[node] = _BLANKET
        nodes[target] = _TARGET
        legend += [LegendEntry("target", _TARGET), LegendEntry("its Markov blanket", _BLANKET)]
    if kinds is not None:
        legend += [
            LegendEntry(f"{_KIND_TEXTS[kind]}: {list(kinds).count(kind)}", look)
            for kind, look in KINDS.items()
        ]
    if weights is not None:
        # Edges that only the reference has were given no weight.
        own = [place for place in range(len(edges)) if kinds is None or kinds[place] != "missing"]
        numbers = np.asarray(weights, dtype=np.float64)[own]
        weighted, entries = _weighted([looks[place] for place in own], numbers, weight_name)
        for place, look in zip(own, weighted, strict=True):
            looks[place] = look
        legend += entries
    return GraphPicture(layout, texts, nodes, looks, legend)


def short_texts(labels: Sequence[Hashable]) -> list[str]:
    """Labels on one line each, cut where they are long, but so that different ones stay different.

    Of those that begin alike the beginning is shown and, after dots, where they differ.

    Examples
    --------
    >>> short_texts(["age", "share of households with a car", "share of households with a dog"])
    ['age', 'share of…holds with a car', 'share of…holds with a dog']
    """
    texts = [_on_one_line(str(label)) for label in labels]
    shown = [_cut(text, _LONGEST_TEXT) for text in texts]
    places: list[list[int]] = [[] for _ in texts]
    for _ in range(_MOST_PLACES):
        for group in _alike(shown, texts):
            letters = zip(*(texts[member] for member in group), strict=False)
            place = len(list(takewhile(lambda same: len(set(same)) == 1, letters)))
            for member in group:
                places[member].append(place)
                shown[member] = _around(texts[member], places[member])
    for group in _alike(shown, texts):
        for member in group:
            number = f" #{member}"
            shown[member] = _cut(texts[member], _LONGEST_TEXT - len(number)) + number
    return shown


def _on_one_line(text: str) -> str:
    return "".join(
        " " if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") else sign for sign in text
    )


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _around(text: str, places: list[int]) -> str:
    """The beginning of a text, and some letters around these places."""
    width = (_LONGEST_TEXT - _BEGINNING - 1) // len(places) - 1
    starts = [min(place - _CONTEXT, len(text) - width) for place in places]
    parts = [text[:_BEGINNING], *(text[start : start + width] for start in starts)]
    return "…".join(parts) + "…" * (starts[-1] + width < len(text))


def _alike(shown: list[str], texts: list[str]) -> list[list[int]]:
    """Groups of different texts that are shown alike, by index."""
    members: dict[str, list[int]] = {}
    for member, text in enumerate(shown):
        members.setdefault(text, []).append(member)
    return [group for group in members.values() if len({texts[member] for member in group}) > 1]


def _width(text: str) -> float:
    """About the width of a text without serifs, in points."""
    units = 0.0
    for sign in text:
        if unicodedata.east_asian_width(sign) in "WF":
            units += 1.05
        elif sign in _NARROW:
            units += 0.36
        elif sign in _WIDE:
            units += 0.95
        else:
            units += 0.72 if sign.isupper() else 0.62
    return units * FONT_SIZE


def _blanket(target: int, edges: Sequence[tuple[int, int]]) -> set[int]:
    children = {b for a, b in edges if a == target}
    found = {a for a, b in edges if b == target or b in children}
    return (found | children) - {target}


def _weighted(
    looks: list[EdgeLook], weights: np.ndarray, name: str
) -> tuple[list[EdgeLook], list[LegendEntry]]:
    known = weights[np.isfinite(weights)]
    largest = float(known.max(initial=0.0))
    shares = np.where(weights > 0, weights, 0.0) / max(largest, 1.0)
    shares = np.nan_to_num(np.minimum(shares, 1.0))
    widths = shares if largest <= 1 else np.sqrt(shares)
    widths = _THINNEST + (_THICKEST - _THINNEST) * widths
    changed = [
        look._replace(width=float(width), dashes=look.dashes if weight > 0 else (1.0, 2.5))
        for look, width, weight in zip(looks, widths, weights, strict=True)
    ]
    if not largest > 0:
        return changed, []
    entries = [
        LegendEntry(f"{name} {value:.3g}", EdgeLook(_INK, float(width)))
        for value, width in ((known[known > 0].min(), widths[weights > 0].min()),
                             (largest, widths[np.isfinite(weights)].max()))
    ]
    if (known <= 0).any():
        entries.append(LegendEntry(f"{name} not above 0", EdgeLook(_INK, _THINNEST, (1.0, 2.5))))
    return changed, entries if entries[0].text != entries[1].text else entries[1:]


def _with_head(curve: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    tip = curve[-1]
    direction = tip - curve[-2]
    direction = direction / max(float(np.hypot(*direction)), 1e-9)
    base = tip - length * direction
    side = 0.38 * length * np.array([-direction[1], direction[0]])
    cut = curve.copy()
    cut[-2:] -= 0.9 * length * direction
    return cut, np.array([tip, base + side, base - side])


def network_svg(
    labels: Sequence[Hashable],
    categories: Sequence[np.ndarray],
    edges: Sequence[tuple[int, int]],
    target: int | None = None,
) -> str | None:
    """The drawing of a network, its states as tooltips; None if that would be too large."""
    if not labels or len(labels) > MOST_NODES or len(edges) > MOST_EDGES:
        return None
    hints = [
        f"{label}: {first_few(levels, 20, write=lambda level: cut(str(level)))}"
        for label, levels in zip(labels, categories, strict=True)
    ]
    return svg_text(picture_of(labels, edges, target=target), hints)


def network_html(title: str, svg: str | None) -> str:
    """A drawing below its title, or what to do where there is no drawing."""
    if svg is None:
        body = "<p>Not drawn here; <code>skbn.NetworkDisplay.from_graph</code> does it.</p>"
    else:
        body = svg
    return f'<div style="overflow:auto"><p>{html.escape(title)}</p>{body}</div>'


def svg_text(picture: GraphPicture, hints: Sequence[str]) -> str:
    """A picture as SVG; the legend is left out.

    Parameters
    ----------
    picture : GraphPicture
    hints : sequence of str
        Tooltips of the nodes.
    """
    width, height = (length + 2 * _MARGIN for length in picture.layout.size)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-_MARGIN:.0f} {-_MARGIN:.0f} {width:.1f} {height:.1f}" role="img" '
        'style="background:#fff;max-width:100%;height:auto" '
        f'font-family="Helvetica,Arial,sans-serif" font-size="{FONT_SIZE:g}">'
    ]
    for (curve, head), look in zip(picture.heads(), picture.edges, strict=True):
        dashes = f' stroke-dasharray="{" ".join(map(str, look.dashes))}"' if look.dashes else ""
        lines += [
            f'<path d="M{_pair(curve[0])}C{" ".join(map(_pair, curve[1:]))}" fill="none" '
            f'stroke="{look.colour}" stroke-width="{look.width:.2f}"{dashes}/>',
            f'<polygon points="{" ".join(map(_pair, head))}" fill="{look.colour}"/>',
        ]
    layout = picture.layout
    for (x, y), own, text, look, hint in zip(
        layout.centres, layout.widths, picture.texts, picture.nodes, hints, strict=True
    ):
        lines.append(
            f'<g><title>{_escaped(hint)}</title><rect x="{x - own / 2:.1f}" '
            f'y="{y - NODE_HEIGHT / 2:.1f}" width="{own:.1f}" height="{NODE_HEIGHT:g}" rx="8" '
            f'fill="{look.fill}" stroke="{look.line}"/><text x="{x:.1f}" '
            f'y="{y + 0.35 * FONT_SIZE:.1f}" text-anchor="middle" fill="#1b2129">'
            f"{_escaped(text)}</text></g>"
        )
    return "".join([*lines, "</svg>"])


def _pair(point: np.ndarray) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _escaped(text: str) -> str:
    """Text for XML, which takes neither control characters nor lone surrogates."""
    kept = "".join(
        sign if sign in "\t\n" or (sign >= " " and not "\ud800" <= sign <= "\udfff"
                                   and sign not in "\ufffe\uffff") else "\ufffd"
        for sign in text
    )
    return html.escape(kept)
