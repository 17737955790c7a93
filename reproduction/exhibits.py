"""The parts of the page: plots as SVG, each beside a table of its figures, in sections."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.summaries import Summary

Paint = Callable[[Figure], None]

# Placeholder for the page's text colour, so that plots follow light and dark mode.
INK = "#000001"
# Distinguishable in light and dark mode, in print, and with red-green colour blindness.
COLORS = BLUE, ORANGE, GREEN, PURPLE, GREY = "#3a86c8", "#d9782a", "#2f9e77", "#a06cc4", "#8a8a8a"
# The longest row, in characters, that fits beside a plot.
MOST_BESIDE = 62
STYLE: dict[Any, Any] = {
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
    """Cells as text, with a sentence that explains them. The first cell of a row names it."""

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
    paint: Paint
    table: Table
    height: float = 3.2

    @property
    def svg(self) -> str:
        """The plot as SVG text, in the page's text colour and with ids that no other plot has."""
        with matplotlib.rc_context({**STYLE, "svg.hashsalt": self.title + self.caption}):
            figure = Figure(figsize=(4.4, self.height), layout="constrained")
            self.paint(figure)
            buffer = StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        svg = buffer.getvalue()
        svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
        svg = re.sub(r'<g id="[^"]*"', "<g", svg)
        svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
        return svg.replace("<svg ", f'<svg role="img" aria-label="{self.title}" ', 1)


@dataclass(frozen=True)
class Section:
    """A heading, some sentences, and exhibits."""

    name: str
    title: str
    text: Sequence[str]
    exhibits: Sequence[Exhibit]


def dots(figure: Figure, rows: Sequence[str], columns: dict[str, list[Summary]], xlabel: str) -> Axes:
    """Draw means and standard deviations: a row of dots per name, a colour per column."""
    axes = figure.subplots()
    places = -np.arange(len(rows))
    for k, (label, summaries) in enumerate(columns.items()):
        means, deviations = zip(*summaries, strict=True)
        axes.errorbar(
            *(means, places - 0.22 * (k - 1)),
            xerr=np.nan_to_num(deviations),
            fmt="o",
            ms=4,
            lw=1.2,
            color=COLORS[k],
            label=label,
        )
    axes.set_yticks(places, rows)
    axes.set(xlabel=xlabel)
    axes.grid(axis="x", lw=0.3)
    figure.legend(loc="outside upper right", ncols=len(columns))
    return axes


def bars(
    axes: Axes, x: Sequence[float], values: Sequence[Sequence[float]], color: str, label: str = "", style: str = "-"
) -> None:
    """Draw shares in per cent with their intervals, except zeros: a logarithmic axis has no place for them."""
    middle, low, high = 100 * np.array(values).T
    shown = np.where(middle > 0, middle, np.nan)
    axes.errorbar(x, shown, [shown - low, high - shown], color=color, label=label, ls=style, capsize=2, elinewidth=0.8)
