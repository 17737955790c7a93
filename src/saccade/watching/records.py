"""What a watch gives back: readings that say which rows were audited, and counts by class."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.asking.lazily import LazyReading
from saccade.reading.plan import Reading

__all__ = ["ClassWatch", "WatchedLazyReading", "WatchedReading"]


@dataclass(frozen=True, eq=False)
class WatchedReading(Reading):
    """A reading of which some rows were read in full as well: these have the full model's label and margin.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier, Watch
    >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
    >>> attentive = AttentiveClassifier(delta=0.1, random_state=0).fit(X, y)
    >>> reading = Watch(attentive, share=0.5, random_state=0).read(X)
    >>> bool((reading.label == attentive.read(X).label)[~reading.audited].all())
    True
    """

    audited: NDArray[np.bool_] = field(kw_only=True)  #: which rows were read in full as well


@dataclass(frozen=True, eq=False)
class WatchedLazyReading(LazyReading):
    """Rows that were fetched lazily, but for audited ones, of which everything was fetched.

    ``n_asked`` and ``spent`` of an audited row are those of the full read; ``audit_spent`` is what all audited rows
    cost beyond what would have decided them.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier, Watch
    >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
    >>> attentive = AttentiveClassifier(delta=0.1, random_state=0).fit(X, y)
    >>> watch = Watch(attentive, share=0.5, random_state=0)
    >>> found = watch.predict_lazily(lambda row, feature: X[row, feature], range(20))
    >>> found.n_asked[found.audited].tolist() == [20] * found.audited.sum(), found.audit_spent > 0
    (True, True)
    """

    audited: NDArray[np.bool_]  #: of which rows everything was fetched
    audit_spent: float  #: what that cost in all, beyond what would have decided them


@dataclass(frozen=True)
class ClassWatch:
    """One class among the audited rows; a class of which nothing is promised has the level 1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier, Watch
    >>> X, y = make_classification(4000, 20, n_informative=6, random_state=0)
    >>> watch = Watch(AttentiveClassifier(delta=0.1, random_state=0).fit(X, y), share=1.0)
    >>> labels = watch.predict(X)
    >>> [(seen.label, seen.delta, seen.full == labels.tolist().count(seen.label)) for seen in watch.by_class]
    [(0, 0.1, True), (1, 0.1, True)]
    """

    label: Any  #: the class
    delta: float  #: what is promised of it
    state: str  #: "holds", "open" or "broken"
    full: int  #: audited rows that the full model labels so
    here: int  #: those labelled so early
    lost: int  #: of the first, those with another label early
    false: int  #: of the second, those with another label from the full model
    lost_lower: float  #: bounds on the share that is lost
    lost_upper: float  #: the same, from above
    false_lower: float  #: bounds on the share that is false
    false_upper: float  #: the same, from above
