"""Plots of a certified plan: share of rows decided, first features or trees of the order, thresholds."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from saccade.attentive import AttentiveClassifier
from saccade.showing.words import shortened
from saccade.study.report.exhibits import BLUE, GREY, ORANGE

__all__ = ["draw_thresholds", "plot_plan", "scale_by_count"]

# The first features or trees of the order that are named.
NAMED = 20
# So many are counted on a scale of equal steps.
FEW = 20
# Characters of a class's name in a legend.
LONGEST = 24


def plot_plan(attentive: AttentiveClassifier, X: Any) -> Figure:
    """Draw the plan of a fitted ``AttentiveClassifier`` as it reads the rows of X; save it with ``savefig``."""
    plan, reading = attentive.plan_, attentive.read(X)
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    decided, asked, thresholds = figure.subplots(1, 3)
    counts = np.sort(reading.n_read)
    decided.step(counts, 100 * np.arange(1, counts.size + 1) / counts.size, where="post", color=BLUE)
    decided.set(xscale="log", xlabel=f"{plan.noun} read", ylabel="rows decided (%)", ylim=(0, 101))
    decided.set_title(f"{counts.mean():.1f} of {plan.n_units:,} {plan.noun} per row", fontsize=9)
    first = plan.units[:NAMED]
    if plan.of_trees:
        names = [f"tree {tree}" for tree in first.tolist()]
    else:
        of_terms = getattr(attentive.additive_, "unit_names", None)  # which may be of several columns
        known = getattr(attentive, "feature_names_in_", range(plan.n_units)) if of_terms is None else of_terms
        names = [known[unit] for unit in first.tolist()]
    reached = [np.mean(reading.n_read > position) for position in range(first.size)]
    asked.barh(-np.arange(first.size), 100 * np.array(reached), color=BLUE)
    asked.set_yticks(-np.arange(first.size), [str(name) for name in names], fontsize=7, parse_math=False)
    asked.set(xlabel="rows that are asked for it (%)", title="asked for first")
    draw_thresholds(thresholds, attentive)
    return figure


def scale_by_count(axes: Axes, largest: int) -> float:
    """Let an axis show counts up to the largest, of many on a scale of logarithms; return where it begins."""
    if largest <= FEW:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return 0.0
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    return 0.9


def draw_thresholds(axes: Axes, attentive: AttentiveClassifier) -> None:
    """Draw the thresholds at each checkpoint, which needs no rows."""
    plan = attentive.plan_
    read = plan.units_among(plan.checkpoints)
    scale_by_count(axes, int(read[-1]))
    axes.set(xlabel=f"{plan.noun} read")
    if attentive.classes_.size == 2:
        low, high = (f"class {shortened(str(label), LONGEST)}" for label in attentive.classes_.tolist())
        axes.plot(read, plan.upper[0], color=BLUE, marker=".", label=high)
        axes.plot(read, plan.lower[0], color=ORANGE, marker=".", label=low)
        axes.axhline(0, color=GREY, lw=0.5)
        axes.set(ylabel="margin that decides")
        above = axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        for text in above.get_texts():
            text.set_parse_math(False)  # a dollar sign in a label is one
    else:
        axes.plot(read, plan.upper.T, color=BLUE, marker=".")
        axes.set(ylabel="lead that decides")
