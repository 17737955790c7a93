"""What all learners have in common: a scikit-learn classifier over online learners."""

import logging
import math
import warnings
from collections.abc import Callable
from copy import copy
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight

from saccade.exceptions import OtherVersionWarning
from saccade.kernels.reordering import shuffle
from saccade.kernels.state import EXPONENTIATED, STEP
from saccade.learners.alarms import CALLER, FEW, warn_if_level_not_held, warn_of_model, warn_of_scales
from saccade.learners.course import Course, Patience, take_loss
from saccade.learners.online import OnlineLearner, UpdateRule, new_learner
from saccade.learners.passes import Memory, new_memory
from saccade.learners.reading import ReadingMixin
from saccade.learners.record import TrainingRecord
from saccade.learners.remembered import Remembered, rows_known_by
from saccade.learners.scaling import Scaling
from saccade.learners.sketch import RowSketch
from saccade.learners.tables import rows_to_learn
from saccade.models.tables.encoding import Encoding
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

__all__ = ["AttentiveLearner"]

_log = logging.getLogger(__name__)
# Rows, and values in them, from which on margins are remembered.
FEWEST_ROWS, FEWEST_VALUES = 1_000, 500_000


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
    shards: int
    n_jobs: int | None
    random_state: Any

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
        "shards": [whole(1)],
        "n_jobs": [instance(Integral), NONE],
        "random_state": [RANDOM_STATE],
    }

    # Of the rows that are learned from; set by learning from files, before the first of them.
    _scaling: Scaling | None = None
    # Of the table that is learned from, where it has columns of texts; set like the scaling.
    _encoding: Encoding | None = None
    # Of the batches of files, while it learns from them in several passes.
    _memories: list[Memory] | None = None

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
            How much each example counts, relative to the mean so far; a row of weight 0 is passed over.
        """
        self._check_parameters()
        going_on = self.warm_start and hasattr(self, "_learners")
        self._encoding = self._encoding if going_on else None
        X, y = self._rows_to_learn(X, y, reset=not going_on)
        classes, codes = encode_labels(y)
        self._check_classes(classes)
        if going_on and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True goes on with the classes {self.classes_.tolist()}, but y has {classes.tolist()}. "
                "Pass y with the same classes, or set warm_start=False."
            )
        weight = self._weights(X, classes, codes, sample_weight, in_part=False)
        self._scaling = self._scaling if going_on else None
        seen = self._scaled(X)
        learners = self._continued_learners(X) if going_on else self._new_learners(X, classes)
        seed, first = learners[0].settings.seed, int(learners[0].counters[STEP])
        known_by = rows_known_by(X, codes) if self.warm_start else ""
        before = getattr(self, "_remembered", None) if going_on else None
        again = self.max_iter > 1 or self.warm_start
        memory = new_memory(len(learners), X.shape[0] if again and self._remembers(X.shape[0], X.size) else 0)
        if before is not None and before.known_by == known_by and before.margins.shape == memory.shape:
            memory = before.margins.copy()
        rows = np.arange(X.shape[0], dtype=np.uint32)
        course = Course(learners, memory, self.shards, self.n_jobs)
        patience = Patience(self.tol, self.n_iter_no_change)
        with Progress("rows", label="Learning", length=self.max_iter) as progress:
            for turn in range(self.max_iter):
                if self.shuffle:
                    shuffle(rows, seed, first + turn)
                self._go_over(course, seen, codes, rows, weight)
                course.grow_older()
                self.n_iter_ = turn + 1
                progress.advance(rows.size, turn + 1)
                if patience.is_over(take_loss(learners) / (rows.size * len(learners))):
                    break
        course.done()
        _log.info("learned from %d rows in %d passes, %.2f s", rows.size, self.n_iter_, progress.seconds)
        self._take(learners, classes, self._sketched(X, weight, going_on))
        self._remembered = Remembered(memory, known_by) if self.warm_start else None
        self._alarmed = warn_if_level_not_held(self._level, self.training_)
        warn_of_model(self, X, codes, weight)
        return self

    @all_or_nothing
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one pass over the rows, in their order; the first call needs all ``classes``.

        The same stream of rows gives the same bits, however it is split into calls. Rows are not known again, so that
        nothing is remembered of them, and they are learned from in one shard. Scales of features are looked at in the
        first call.
        """
        return self._learn_part(X, y, classes, sample_weight)

    def _learn_part(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        rows: NDArray[np.uint32] | None = None,
        memory: Memory | None = None,
    ) -> Self:
        """Learn from rows, in the order that is given, and with memory of them where there is some.

        Rows that come with an order are batches of files, which are encoded already where there is an encoding.
        """
        first = not hasattr(self, "_learners")
        self._check_parameters()
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" is not supported by partial_fit, which does not see all labels. Compute the '
                "weights with sklearn.utils.compute_class_weight on a sample and pass them as a dict."
            )
        if self._encoding is None or rows is None:
            X, y = self._rows_to_learn(X, y, reset=first)
        known = self._classes_for(y, classes, first)
        codes = np.searchsorted(known, y)
        if not np.array_equal(known[np.minimum(codes, len(known) - 1)], y):
            raise ValueError(f"y has labels that are not among the classes {known.tolist()} of the first call.")
        weight = self._weights(X, known, codes, sample_weight, in_part=True)
        learners = self._new_learners(X, known) if first else self._continued_learners(X)
        seen = self._scaled(X)
        in_turn = np.arange(X.shape[0], dtype=np.uint32) if rows is None else rows
        course = Course(learners, new_memory(len(learners), 0) if memory is None else memory, n_jobs=self.n_jobs)
        self._go_over(course, seen, codes, in_turn, weight)
        course.done()
        self._take(learners, known, self._sketched(X, weight, not first))
        self.n_iter_ = 1
        held = (self._level, self.training_, CALLER + 1)
        self._alarmed = getattr(self, "_alarmed", False) or warn_if_level_not_held(*held)
        if first:
            warn_of_scales(seen[: 2 * FEW], self._feature_names, CALLER + 1)
        return self

    @property
    def encoding_(self) -> Encoding | None:
        """What is learned from a table with text columns: ``str`` says it, and ``feature_names()`` names ``coef_``."""
        return self._encoding

    @property
    def _feature_names(self) -> NDArray[Any] | None:
        """The names of the features that have weights."""
        if self._encoding is not None:
            return np.array(self._encoding.feature_names(), dtype=object)
        return getattr(self, "feature_names_in_", None)

    def _rows_to_learn(self, X: Any, y: Any, *, reset: bool) -> tuple[Rows, Any]:
        """Return rows and labels that were checked; encoded, where there is an encoding."""
        if self._encoding is not None:
            return rows_to_learn(self, X, y)
        rows, labels = check_rows(self, X, y=y, reset=reset)
        return rows, labels

    @property
    def _level(self) -> float | None:
        return getattr(as_boundary(self.boundary), "delta", None)

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

    def _scaled(self, X: Rows) -> Rows:
        """Return rows as the learners see them."""
        return X if self._scaling is None else self._scaling.apply(X)

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
                scaling=self._scaling,
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
            weight = weight * self._class_weights(classes, np.bincount(codes, minlength=classes.size))[codes]
        return np.asarray(weight, dtype=np.float64)

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

    def _sketched(self, X: Rows, weight: NDArray[np.float64], going_on: bool) -> RowSketch:
        """Return the sketch of all rows so far; rows of weight 0 are none."""
        before = getattr(self, "_sketch", RowSketch()) if going_on else RowSketch()
        return before.add(X if weight.all() else X[weight > 0])

    def _take(self, learners: list[OnlineLearner], classes: NDArray[Any], sketch: RowSketch) -> None:
        """Make what was learned visible, all at once, so that a failure before this leaves the model as it was."""
        weights, intercepts = zip(*(learner.weights() for learner in learners), strict=True)
        self._learners, self._sketch = learners, sketch
        self.classes_ = classes
        self.coef_, self.intercept_ = np.array(weights), np.array(intercepts)
        self.t_ = int(learners[0].counters[STEP])
        self.training_ = TrainingRecord.of(learner.counters for learner in learners)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_saccade_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_saccade_version", "unknown")
        if version != __version__:
            warnings.warn(
                f"This {type(self).__name__} was pickled by saccade {version} and is loaded by {__version__}; it may "
                "behave differently or not at all. Fit it again, or load it with the version that wrote it.",
                OtherVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if self._encoding is not None:
            tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags
