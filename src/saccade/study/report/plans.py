"""Plots of a certified plan: share of rows decided, first features or trees of the order, thresholds."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from saccade.attentive import AttentiveClassifier
from saccade.study.report.exhibits import BLUE, GREY, ORANGE

__all__ = ["plot_plan", "plot_thresholds"]

# The first features or trees of the order that are named.
NAMED = 20


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
    asked.set_yticks(-np.arange(first.size), [str(name) for name in names], fontsize=7)
    asked.set(xlabel="rows that are asked for it (%)", title="asked for first")
    _draw_thresholds(thresholds, attentive)
    return figure


def plot_thresholds(attentive: AttentiveClassifier) -> Figure:
    """Draw the thresholds at each checkpoint, which needs no rows."""
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    _draw_thresholds(figure.subplots(), attentive)
    return figure


def _draw_thresholds(axes: Any, attentive: AttentiveClassifier) -> None:
    plan = attentive.plan_
    axes.set(xscale="log", xlabel=f"{plan.noun} read")
    read = plan.units_among(plan.checkpoints)
    if attentive.classes_.size == 2:
        axes.plot(read, plan.upper[0], color=BLUE, marker=".", label=str(attentive.classes_[1]))
        axes.plot(read, plan.lower[0], color=ORANGE, marker=".", label=str(attentive.classes_[0]))
        axes.axhline(0, color=GREY, lw=0.5)
        axes.set(ylabel="margin that decides")
        axes.legend(frameon=False)
    else:
        axes.plot(read, plan.upper.T, color=BLUE, marker=".")
        axes.set(ylabel="lead that decides")
