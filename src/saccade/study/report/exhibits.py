"""Elements of the page: a plot as SVG text, the table beside it, and sections of them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import matplotlib
from matplotlib.figure import Figure

# Placeholder for the page's text colour, so that plots follow light and dark mode.
INK = "#000001"
# Distinguishable in light and dark mode, in print, and with red-green colour blindness.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#3a86c8", "#d9782a", "#2f9e77", "#a06cc4", "#8a8a8a"
# The longest row, in characters, that fits beside a plot.
MOST_BESIDE = 62
COLORS = (BLUE, ORANGE, GREEN, PURPLE, GREY)

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


@dataclass(frozen=True)
class Table:
    """Cells as text, the first column of which names the row, and a sentence in plain words to read them by."""

    says: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def wide(self) -> bool:
        """Whether it needs the full width of the page."""
        return sum(max(map(len, column)) for column in zip(*self.rows, strict=True)) > MOST_BESIDE


@dataclass(frozen=True)
class Exhibit:
    """A plot, its caption, and its figures as a table."""

    title: str
    caption: str
    svg: str
    table: Table


@dataclass(frozen=True)
class Section:
    """A heading, some sentences, and exhibits."""

    name: str
    title: str
    text: Sequence[str]
    exhibits: Sequence[Exhibit]


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
