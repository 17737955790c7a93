"""Plots as SVG text."""

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import matplotlib
from matplotlib.figure import Figure

# Placeholder for the page's text colour, so that plots follow light and dark mode.
INK = "#000001"
# Distinguishable in light and dark mode, in print, and with red-green colour blindness.
BLUE, ORANGE, GREY = "#3a86c8", "#d9782a", "#8a8a8a"

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 1.3,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.4,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


def draw(title: str, paint: Callable[[Figure], None], width: float = 4.4, height: float = 3.2) -> str:
    """Return a plot as SVG text, in the page's text colour and with ids that no other plot has."""
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": title}):
        figure = Figure(figsize=(width, height), layout="constrained")
        paint(figure)
        buffer = StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
