"""What all learners have in common: a scikit-learn classifier over online learners."""

import logging
import math
from collections.abc import Callable
from copy import copy
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight

from saccade.exceptions import OtherVersionWarning, warn
from saccade.kernels.state import EXPONENTIATED, STEP
from saccade.kernels.walks import shuffle
from saccade.learners.course import Course, Patience, take_loss
from saccade.learners.online import OnlineLearner, UpdateRule, new_learner
from saccade.learners.passes import new_memory
from saccade.learners.reading import ReadingMixin
from saccade.learners.record import TrainingRecord, warn_if_level_not_held
from saccade.learners.remembered import Remembered, digest_of_rows
from saccade.planning.boundaries import Budget, as_boundary
from saccade.planning.orders import CODES
from saccade.reading.inputs import (
    Rows,
    check_rows,
    check_weights,
    encode_labels,
    raise_not_finite,
)
from saccade.reading.parameters import (
    BOOLEAN,
    NONE,
    RANDOM_STATE,
    Kinds,
    check_parameters,
    having,
    instance,
    real,
    text,
    whole,
)
from saccade.reading.progress import Progress
from saccade.reading.sources import column_source
from saccade.version import __version__

__all__ = ["AttentiveLearner", "Totals", "all_or_nothing", "totals"]

_log = logging.getLogger(__name__)
# Rows, and values in them, from which on margins are remembered.
FEWEST_ROWS, FEWEST_VALUES = 1_000, 500_000


# How many rows have a weight above 0, and the sum of the weights.
Totals = tuple[int, float]


def totals(weight: NDArray[np.float64], n_rows: int) -> Totals:
    """Return the totals of weights, which are all 1 where the array is empty."""
    return (int(np.count_nonzero(weight)), float(weight.sum())) if weight.size else (n_rows, float(n_rows))


def all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that fails leave the model as it was, the number and names of its features included."""

    @wraps(method)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapped


class AttentiveLearner(ReadingMixin, ClassifierMixin, BaseEstimator):
    """The common part of the learners; not for direct use.

    A learner reads the features of an example one after another and asks its boundary whether the margin is already
    clear. A clear example is filtered; the others are read to the end and may move the weights.
    """

    boundary: Any
    order: str
    max_iter: int
    tol: float | None
    n_iter_no_change: int
    average: bool
    fit_intercept: bool
    audit: float
    cost: str
    shuffle: bool
    class_weight: Any
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    _weighted: Totals = (0, 0.0)  # of the rows learned from so far

    _kinds: ClassVar[Kinds] = {
        "boundary": [instance(str), having("law", "limit")],
        "order": [text(CODES)],
        "max_iter": [whole(1)],
        "tol": [real(-math.inf), NONE],
        "n_iter_no_change": [whole(1)],
        "average": [BOOLEAN],
        "fit_intercept": [BOOLEAN],
        "audit": [real(0, 1, ends=True)],
        "cost": [text({"time", "features"})],
        "shuffle": [BOOLEAN],
        "class_weight": [instance(dict), text({"balanced"}), NONE],
        "warm_start": [BOOLEAN],
        "n_jobs": [instance(Integral), NONE],
        "random_state": [RANDOM_STATE],
    }

    def _update_rule(self) -> UpdateRule:
        """Return the learner's own rule."""
        raise TypeError(
            f"{type(self).__name__} is not for direct use: take Pegasos, Perceptron, PassiveAggressive or "
            "ExponentiatedGradient."
        )

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from the rows in up to ``max_iter`` passes.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (rows, features)
        y : array of shape (rows,)
        sample_weight : array of shape (rows,), optional
            How much each example counts, relative to the mean; a row of weight 0 is passed over.
        """
        self._check_parameters()
        going_on = self.warm_start and self._is_trained()
        X, y = check_rows(self, X, y=y, reset=not going_on)
        classes, codes = encode_labels(y)
        self._check_classes(classes)
        if going_on and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True goes on with the classes {self.classes_.tolist()}, but y has {classes.tolist()}. "
                "Pass y with the same classes, or set warm_start=False."
            )
        weight = self._weights(X, classes, codes, sample_weight, in_part=False)
        n_weighted, total = totals(weight, X.shape[0])
        weight = weight * (n_weighted / total)
        learners = self._continued_learners(X) if going_on else self._new_learners(X, classes)
        seed, first = learners[0].settings.seed, int(learners[0].counters[STEP])
        digest = digest_of_rows(X, codes) if self.warm_start else ""
        before = getattr(self, "_remembered", None) if going_on else None
        again = self.max_iter > 1 or self.warm_start
        memory = new_memory(len(learners), X.shape[0] if again and self._remembers(X.shape[0], X.size) else 0)
        if before is not None and before.digest == digest and before.margins.shape == memory.shape:
            memory = before.margins.copy()
        rows = np.arange(X.shape[0], dtype=np.uint32)
        course = Course(learners, memory, self.n_jobs)
        patience = Patience(self.tol, self.n_iter_no_change)
        with Progress("rows", label="Learning", length=self.max_iter) as progress:
            for turn in range(self.max_iter):
                if self.shuffle:
                    shuffle(rows, seed, first + turn)
                self._go_over(course, X, codes, rows, weight)
                course.grow_older()
                self.n_iter_ = turn + 1
                progress.advance(rows.size, turn + 1)
                if patience.is_over(take_loss(learners) / (n_weighted * len(learners))):
                    break
        course.done()
        _log.info("learned from %d rows in %d passes, %.2f s", rows.size, self.n_iter_, progress.seconds)
        self._take(learners, classes)
        self._weighted = n_weighted, total
        self._remembered = Remembered(memory, digest) if self.warm_start else None
        warn_if_level_not_held(self._level, self.training_)
        return self

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one pass over the rows, in their order; the first call needs all ``classes``.

        The same stream of rows gives the same bits, however it is split into calls. Rows are not recognised from one
        call to the next, so nothing is remembered of them. Sample weights count relative to their mean so far.
        """
        first = not self._is_trained()
        self._check_parameters()
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" is not supported by partial_fit, which does not see all labels. Compute the '
                "weights with sklearn.utils.compute_class_weight on a sample and pass them as a dict."
            )
        X, y = check_rows(self, X, y=y, reset=first)
        known = self._classes_for(y, classes, first)
        codes = np.searchsorted(known, y)
        if not np.array_equal(known[np.minimum(codes, len(known) - 1)], y):
            raise ValueError(f"y has labels that are not among the classes {known.tolist()} of the first call.")
        weight = self._weights(X, known, codes, sample_weight, in_part=True)
        weight, weighted = self._relative_to_mean_so_far(weight, X.shape[0])
        learners = self._new_learners(X, known) if first else self._continued_learners(X)
        course = Course(learners, new_memory(len(learners), 0), n_jobs=self.n_jobs)
        self._go_over(course, X, codes, np.arange(X.shape[0], dtype=np.uint32), weight)
        course.done()
        self._take(learners, known)
        self._weighted = weighted
        self.n_iter_ = 1
        warn_if_level_not_held(self._level, self.training_)
        return self

    @property
    def _level(self) -> float | None:
        return getattr(as_boundary(self.boundary), "delta", None)

    def _is_trained(self) -> bool:
        """Return whether there is a state from which training can go on."""
        if self._saved_plans is not None:
            raise ValueError(
                f"This {type(self).__name__} was loaded from a model file, which has no training state, so it cannot "
                "be trained further. Fit a new one. To go on later, save it with joblib."
            )
        return hasattr(self, "_learners")

    def _remembers(self, n_rows: int, n_values: int) -> bool:
        """Whether those of so many rows are skipped whose margin was clear in an earlier pass.

        Few rows move the weights in step, and not at random, and few values leave no time to save; of a sparse matrix
        the stored ones count.
        """
        attentive = as_boundary(self.boundary).law(0.0) is not None
        many = n_rows >= FEWEST_ROWS and n_values >= FEWEST_VALUES
        return attentive and self.cost == "time" and self.audit > 0 and many

    def _check_parameters(self) -> None:
        check_parameters(self, self._kinds)
        boundary = as_boundary(self.boundary)
        boundary.law(0.0)
        if isinstance(boundary, Budget) and self.order == "sorted":
            raise ValueError(
                "Budget cannot be learned with order='sorted': it would never read, and so never learn, the features "
                "that have no weight yet. Choose order='permuted', 'sampled' or 'natural'."
            )

    def _new_learners(self, X: Rows, classes: NDArray[Any]) -> list[OnlineLearner]:
        exponentiated = self._update_rule().code == EXPONENTIATED  # whose weights grow too far for single precision
        dtype = np.float32 if X.dtype == np.float32 and not exponentiated else np.float64
        return self._build(X.shape[1], np.dtype(dtype), self._seeds(1 if len(classes) == 2 else len(classes)))

    def _continued_learners(self, X: Rows) -> list[OnlineLearner]:
        """Return learners with the parameters as they are now and what has been learned so far."""
        old = self._learners
        new = self._build(X.shape[1], old[0].state.weights.dtype, [learner.settings.seed for learner in old])
        return [mine.go_on_from(theirs) for mine, theirs in zip(new, old, strict=True)]

    def _build(self, n_features: int, dtype: np.dtype[Any], seeds: list[int]) -> list[OnlineLearner]:
        return [
            new_learner(
                n_features,
                dtype,
                copy(as_boundary(self.boundary)),
                self.order,
                self._update_rule(),
                fit_intercept=self.fit_intercept,
                average=self.average,
                audit=self.audit,
                cost=self.cost,
                seed=seed,
                only_reject=len(seeds) > 1,
            )
            for seed in seeds
        ]

    def _seeds(self, count: int) -> list[int]:
        """Draw a seed for each learner from the random state, without the cost of making one from an integer."""
        if isinstance(self.random_state, Integral):
            drawn = np.random.SeedSequence(int(self.random_state)).generate_state(count) >> 1
        else:
            drawn = check_random_state(self.random_state).randint(2**31, size=count)
        return [int(seed) for seed in drawn]

    def _classes_for(self, y: NDArray[Any], classes: ArrayLike | None, first: bool) -> NDArray[Any]:
        if not first:
            known: NDArray[Any] = self.classes_
            if classes is not None and not np.array_equal(np.unique(classes), known):
                raise ValueError(
                    f"classes={np.unique(classes).tolist()} is not the same as on the last call to partial_fit: "
                    f"{known.tolist()}."
                )
            return known
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit: all labels that will ever come.")
        encode_labels(y)
        known = np.unique(classes)
        self._check_classes(known)
        return known

    def _check_classes(self, classes: NDArray[Any]) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes, but got {len(classes)} class: {classes.tolist()}."
            )

    def _weights(
        self,
        X: Rows,
        classes: NDArray[Any],
        codes: NDArray[np.integer],
        sample_weight: ArrayLike | None,
        *,
        in_part: bool,
    ) -> NDArray[np.float64]:
        """Return the weight of each row; an empty array where all weigh the same."""
        if sample_weight is None and self.class_weight is None:
            return np.empty(0)
        weight = check_weights(sample_weight, X.shape[0], may_all_be_zero=in_part)
        if self.class_weight is not None:
            by_class = self._class_weights(classes, np.bincount(codes, minlength=classes.size))
            weight = check_weights(weight * by_class[codes], X.shape[0], may_all_be_zero=in_part)
        return weight

    def _relative_to_mean_so_far(self, weight: NDArray[np.float64], n_rows: int) -> tuple[NDArray[np.float64], Totals]:
        """Return weights relative to the mean of all up to each row, and the totals after the last one."""
        count, total = self._weighted
        if weight.size == 0 and count == total:  # so far all weigh the same
            return weight, (count + n_rows, total + n_rows)
        weight = weight if weight.size else np.ones(n_rows)
        counts = count + np.cumsum(weight > 0)
        sums = np.cumsum(np.append(total, weight))[1:]  # one after another, so that any split gives the same bits
        relative = np.divide(weight * counts, sums, out=np.zeros(n_rows), where=sums > 0)
        return relative, (int(counts[-1]), float(sums[-1]))

    def _class_weights(self, classes: NDArray[Any], counts: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return how much a row of each class counts, where there are so many of it."""
        if self.class_weight == "balanced":
            return np.asarray(counts.sum() / (classes.size * counts))
        by_class: NDArray[np.float64] = compute_class_weight(self.class_weight, classes=classes, y=classes)
        if not (np.isfinite(by_class).all() and (by_class >= 0).all() and by_class.any()):
            raise ValueError(
                f"class_weight={self.class_weight!r}: expected finite weights of at least 0, not all of them 0."
            )
        return by_class

    def _go_over(
        self,
        course: Course,
        X: Rows,
        codes: NDArray[np.integer],
        rows: NDArray[np.uint32],
        weight: NDArray[np.float64],
    ) -> None:
        bad = course.go_over(X, codes, rows, weight)
        if bad >= 0:
            raise_not_finite(self, column_source(X), bad)

    def _take(self, learners: list[OnlineLearner], classes: NDArray[Any]) -> None:
        """Make what was learned visible, all at once, so that a failure before this leaves the model as it was."""
        weights, intercepts = zip(*(learner.weights() for learner in learners), strict=True)
        self._learners, self._saved_plans, self.classes_ = learners, None, classes
        self.coef_, self.intercept_ = np.array(weights), np.array(intercepts)
        self.t_ = int(learners[0].counters[STEP])
        self.training_ = TrainingRecord.of(learner.counters for learner in learners)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_saccade_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_saccade_version", "unknown")
        if version != __version__:
            warn(
                f"This {type(self).__name__} was pickled by saccade {version} and is loaded by {__version__}; it may "
                "behave differently or not at all. Fit it again, or load it with the version that wrote it.",
                OtherVersionWarning,
            )
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
