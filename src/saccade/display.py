"""A certified model as a plot."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from saccade.promises.certificate import Certificate

__all__ = ["PlanDisplay"]


class PlanDisplay:
    """Plot of how soon the calibration rows of a certified model were decided.

    Parameters
    ----------
    n_read : array of shape (n_exits,)
        Number of features or trees read at each exit.
    undecided : array of shape (n_exits,)
        Share of rows still undecided after each exit.
    disagreement : array of shape (n_exits,)
        Share of all rows that left at or before each exit with another label than the full model's.
    noun : str
        What is read, for the axis.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier, PlanDisplay
    >>> X, y = make_classification(5000, 50, random_state=0)
    >>> display = PlanDisplay.from_estimator(AttentiveClassifier(delta=0.05, random_state=0).fit(X, y))
    >>> display.ax_.get_xlabel(), float(display.undecided[-1])
    ('features read', 0.0)
    """

    def __init__(
        self, n_read: ArrayLike, undecided: ArrayLike, disagreement: ArrayLike, noun: str = "features"
    ) -> None:
        self.n_read, self.undecided, self.disagreement = map(np.asarray, (n_read, undecided, disagreement))
        self.noun = noun

    @classmethod
    def from_estimator(cls, attentive: Any, *, ax: Any = None) -> Self:
        """Plot the plan of a fitted ``AttentiveClassifier``, on the given matplotlib axes if there are any."""
        check_is_fitted(attentive)
        certificate: Certificate = attentive.certificate_
        read, rows, wrong = np.array([[exit.read, exit.rows, exit.disagreements] for exit in certificate.by_stage]).T
        n = certificate.n_calibration
        return cls(read, 1 - rows.cumsum() / n, wrong.cumsum() / n, certificate.counted).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the plot; sets ``ax_`` and ``figure_``."""
        if ax is None:
            try:
                from matplotlib import pyplot
            except ModuleNotFoundError as missing:
                raise ModuleNotFoundError(
                    "Plots need matplotlib. Install it with: pip install 'saccade[plots]'", name=missing.name
                ) from missing
            _, ax = pyplot.subplots()
        ax.step(self.n_read, 100 * self.undecided, where="post", marker=".", label="undecided")
        ax.step(self.n_read, 100 * self.disagreement, where="post", marker=".", label="other label than the full model")
        ax.set(xlabel=f"{self.noun} read", ylabel="calibration rows (%)", ylim=(0, None))
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
