"""Drawings of graphs for notebooks, as SVG and HTML text."""

import html
from collections.abc import Hashable, Sequence

import numpy as np

from skbn.drawing.graph_picture import FONT_SIZE, GraphPicture, picture_of
from skbn.drawing.layer_rows import NODE_HEIGHT
from skbn.messages import cut, first_few

# A notebook draws no more without being asked.
MOST_NODES, MOST_EDGES = 150, 400
_MARGIN = 6.0


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
