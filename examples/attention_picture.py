"""Draw which pixels are read of an easy and of a hard digit, and their walks towards the boundary.

Needs matplotlib (``pip install saccade[plot]``). Writes docs/attention.png, or the file given as argument.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from saccade import Pegasos
from saccade.datasets import load_mnist


def main(path: str) -> None:
    X, y, X_test, y_test = load_mnist((2, 3))
    X, X_test = X / np.float32(255), X_test / np.float32(255)
    model = Pegasos(max_iter=5, random_state=0).fit(X, y)
    reading, plan = model.read(X_test), model._plans[0]
    threes = np.flatnonzero(reading.stopped & (reading.label == 3) & (y_test == 3))
    by_effort = threes[np.argsort(reading.n_read[threes], kind="stable")]
    easy, hard = by_effort[len(by_effort) // 50], by_effort[-len(by_effort) // 50]
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.1), width_ratios=[1, 1, 2.2], layout="constrained")
    for axis, row, color in zip(axes, (easy, hard), ("tab:blue", "tab:red"), strict=False):
        read = plan.order[: reading.n_read[row]]
        axis.imshow(X_test[row].reshape(28, 28), cmap="Greys", vmax=1.6)
        axis.scatter(read % 28, read // 28, s=7, color=color, alpha=0.8, linewidths=0)
        axis.set(xticks=[], yticks=[], title=f"{reading.n_read[row]} of 784 pixels")
        walk = plan.offset + np.cumsum(plan.weights * X_test[row][plan.order])
        axes[2].plot(np.arange(1, reading.n_read[row] + 1), walk[: reading.n_read[row]], color=color, lw=1.2)
        axes[2].plot(reading.n_read[row], walk[reading.n_read[row] - 1], "o", color=color, ms=5)
    axes[2].plot(plan.checkpoints, plan.upper, color="black", lw=1, label="stop: it is a 3")
    axes[2].plot(plan.checkpoints, plan.lower, color="black", lw=1, ls="--", label="stop: it is a 2")
    axes[2].set(xscale="log", xlim=(1, 800), ylim=(-4, 4), xlabel="pixels read", ylabel="margin so far")
    axes[2].legend(frameon=False, fontsize=8, loc="lower left")
    for side in ("top", "right"):
        axes[2].spines[side].set_visible(False)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/attention.png")
