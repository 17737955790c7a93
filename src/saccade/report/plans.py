"""A certified plan, drawn: how soon rows are decided, what is asked for first, what decides."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from saccade.attentive import AttentiveClassifier
from saccade.report.exhibits import BLUE, GREY, ORANGE

__all__ = ["plot_plan"]

# So many of the features that are asked for first are named.
NAMED = 20


def plot_plan(attentive: AttentiveClassifier, X: Any) -> Figure:
    """Draw the plan of a fitted ``AttentiveClassifier`` as it reads the rows of X; save it with ``savefig``."""
    plan, reading = attentive.plan_, attentive.read(X)
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    decided, asked, demanded = figure.subplots(1, 3)
    counts = np.sort(reading.n_read)
    decided.step(counts, 100 * np.arange(1, counts.size + 1) / counts.size, where="post", color=BLUE)
    decided.set(xscale="log", xlabel="features read", ylabel="rows decided (%)", ylim=(0, 101))
    decided.set_title(f"{counts.mean():.1f} of {plan.n_features:,} features per row", fontsize=9)
    first = plan.order[:NAMED]
    names = getattr(attentive, "feature_names_in_", np.arange(plan.n_features))[first]
    reached = [np.mean(reading.n_read > position) for position in range(first.size)]
    asked.barh(-np.arange(first.size), 100 * np.array(reached), color=BLUE)
    asked.set_yticks(-np.arange(first.size), [str(name) for name in names], fontsize=7)
    asked.set(xlabel="rows that are asked for it (%)", title="asked for first")
    demanded.set(xscale="log", xlabel="features read")
    if attentive.classes_.size == 2:
        demanded.plot(plan.checkpoints, plan.upper, color=BLUE, marker=".", label=str(attentive.classes_[1]))
        demanded.plot(plan.checkpoints, plan.lower, color=ORANGE, marker=".", label=str(attentive.classes_[0]))
        demanded.axhline(0, color=GREY, lw=0.5)
        demanded.set(ylabel="margin that decides")
        demanded.legend(frameon=False)
    else:
        demanded.plot(plan.checkpoints, plan.upper, color=BLUE, marker=".")
        demanded.set(ylabel="lead that decides")
    return figure
